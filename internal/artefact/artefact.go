package artefact

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/exports"
)

// Artefact is one exported model.
type Artefact struct {
	Model    string        `json:"model"`
	Format   string        `json:"format"`
	DType    string        `json:"dtype"`
	Folder   string        `json:"folder"`
	Files    []string      `json:"files"`
	Verdict  cell.Verdict  `json:"verdict"`
	Evidence cell.Evidence `json:"evidence"`
	Run      string        `json:"run"` // how it is run
}

// OccupiedError says that a folder has something in it already.
type OccupiedError struct{ Folder string }

func (e *OccupiedError) Error() string {
	return e.Folder + " already contains files: use --force to overwrite them, or another --out"
}

// Writer writes artefacts of one format into folders below Out.
type Writer struct {
	Out    string
	Format Format
	Force  bool // write over what is there
	Cache  exports.Cache
}

// Folder is where a cell's files go. Cells that differ in settings have folders
// of their own.
func (w Writer) Folder(c cell.Cell) string {
	parts := []string{baseName(c), w.Format.Name, string(c.DType)}
	if c.Batch > 1 {
		parts = append(parts, fmt.Sprintf("b%d", c.Batch))
	}
	if c.Seq > 0 {
		parts = append(parts, fmt.Sprintf("s%d", c.Seq))
	}
	if c.Image > 0 {
		parts = append(parts, fmt.Sprintf("i%d", c.Image))
	}
	return filepath.Join(w.Out, strings.Join(parts, "-"))
}

func baseName(c cell.Cell) string { return strings.ReplaceAll(c.Model(), "/", "--") }

// CheckFree says before anything is run that a cell's folder is occupied.
func (w Writer) CheckFree(cells []cell.Cell) error {
	for _, c := range cells {
		if err := w.checkFree(w.Folder(c)); err != nil {
			return err
		}
	}
	return nil
}

func (w Writer) checkFree(folder string) error {
	if found, err := os.ReadDir(folder); err == nil && len(found) > 0 && !w.Force {
		return &OccupiedError{folder}
	}
	return nil
}

// WriteAll exports the results that passed their check.
func (w Writer) WriteAll(results []cell.Result) ([]Artefact, error) {
	out := []Artefact{}
	for _, r := range results {
		if r.Export == nil || r.Verdict != cell.Works && r.Verdict != cell.Partial {
			continue
		}
		a, err := w.write(r)
		if err != nil {
			return out, err
		}
		out = append(out, a)
	}
	return out, nil
}

// write copies what the engine reads, and from the exported graph what a check
// elsewhere needs.
func (w Writer) write(r cell.Result) (Artefact, error) {
	folder := w.Folder(r.Cell)
	if err := os.RemoveAll(folder); err != nil {
		return Artefact{}, fmt.Errorf("clear %s: %w", folder, err)
	}
	names, err := w.Cache.Copy(r.Export.Prepared, folder)
	if err != nil {
		return Artefact{}, err
	}
	if r.Export.Prepared != r.Export.Key {
		wanted := []string{"inputs.npz", "reference.npz", exports.ManifestName}
		if w.Format.same && !slices.Contains(names, exports.GraphName) {
			wanted = append(wanted, exports.GraphName, exports.GraphName+".data")
		}
		more, err := w.Cache.CopySome(r.Export.Key, folder, wanted...)
		if err != nil {
			return Artefact{}, err
		}
		names = append(names, more...)
	}
	if err := writeCheck(folder, r); err != nil {
		return Artefact{}, err
	}
	names = append(names, checkName)
	slices.Sort(names)
	return Artefact{r.Cell.Model(), w.Format.Name, string(r.Cell.DType), folder, slices.Compact(names), r.Verdict, r.Evidence, w.Format.Usage(r)}, nil
}

// checkName is the file that holds the result of the check.
const checkName = "check.json"

func writeCheck(folder string, r cell.Result) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, checkName), append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the check: %w", err)
	}
	return nil
}

// WriteParts writes a model that was exported in parts, and returns the folder.
func (w Writer) WriteParts(c cell.Cell, key string) (string, error) {
	folder := filepath.Join(w.Out, baseName(c)+"-onnx-parts")
	if err := w.checkFree(folder); err != nil {
		return folder, err
	}
	if err := os.RemoveAll(folder); err != nil {
		return folder, fmt.Errorf("clear %s: %w", folder, err)
	}
	_, err := w.Cache.Copy(key, folder)
	return folder, err
}
