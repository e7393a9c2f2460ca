package detect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// The two files of a captured machine. The tree is one archive and not a
// folder, because PCI slots have colons in their names, which neither Windows
// nor Go's module archives take.
const (
	manifestFile = "manifest.json"
	treeFile     = "root.txtar"
)

// manifest is what of a captured machine is not a file.
type manifest struct {
	Schema   int               `json:"schema"`
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	Native   Native            `json:"native"`
	Env      map[string]string `json:"environment"`
	Paths    map[string]string `json:"paths"`    // programs found in PATH
	Commands map[string]string `json:"commands"` // and what they printed
	Links    map[string]string `json:"links"`    // and the last part of what they point to
	Dirs     []string          `json:"dirs"`     // folders that are empty in the archive
	Answers  Answers           `json:"answers"`  // of the second pass; null when it was not made
}

// Capture writes a fixture of a machine into a folder, which it makes: what the
// probes read of it and what the children answered, without serial numbers,
// names and addresses. [Open] reads it back.
func Capture(dir string, m *Machine, answers Answers) error {
	return capture(dir, m, answers, newScrubber())
}

func capture(dir string, m *Machine, answers Answers, s *scrubber) error {
	if err := refuseFull(dir); err != nil {
		return err
	}
	recording := *m
	recording.log, recording.pci, recording.ran = newRecorder(), nil, nil
	Look(&recording)

	head, archive := scrubbed(recording.log, s)
	head.Schema, head.OS, head.Arch, head.Native = Schema, m.OS, m.Arch, m.Native
	head.Answers = scrubAnswers(answers, s)
	data, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the captured machine as JSON: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the folder for the captured machine: %w", err)
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, manifestFile), append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, treeFile), txtar.Format(archive), 0o644))
	if err != nil {
		return fmt.Errorf("cannot write the captured machine: %w", err)
	}
	return nil
}

// refuseFull protects a folder that holds something else.
func refuseFull(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look into %s: %w", dir, err)
	}
	for _, e := range entries {
		if e.Name() != manifestFile && e.Name() != treeFile {
			return fmt.Errorf("%s holds other files (%s): name an empty or a new folder", dir, e.Name())
		}
	}
	return nil
}

// scrubbed turns a record into the two parts of a fixture. It goes by the order
// of names, so that two captures of a machine have the same stand-ins.
func scrubbed(r *recorder, s *scrubber) (manifest, *txtar.Archive) {
	head := manifest{Env: s.strings(r.envs), Paths: s.strings(r.paths), Commands: map[string]string{}, Links: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(r.commands)) {
		name, _, _ := strings.Cut(key, " ")
		head.Commands[key] = s.text(keepLines(name, r.commands[key]))
	}
	s.learnGroups(keepLines(cgroupFile, r.files[cgroupFile]))
	files := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		files[s.path(name)] = s.file(name, r.files[name])
	}
	for name := range r.nodes {
		if _, read := r.files[name]; !read {
			files[s.path(name)] = ""
		}
	}
	for name, base := range r.links {
		head.Links[s.text(name)] = s.text(base)
	}
	archive := &txtar.Archive{Comment: []byte("What Assay's probes read of a machine; see manifest.json.\n")}
	dirs := map[string]bool{}
	for name := range r.dirs {
		dirs[s.path(name)] = true
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(files)), maps.Keys(dirs))
	slices.Sort(names)
	for _, name := range slices.Compact(slices.Clone(names)) {
		switch {
		case isParent(name, names): // it is made by what lies in it
		case dirs[name]:
			head.Dirs = append(head.Dirs, name)
		default:
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(ending(files[name]))})
		}
	}
	return head, archive
}

// isParent reports whether some other name lies below this one.
func isParent(name string, sorted []string) bool {
	i, _ := slices.BinarySearch(sorted, name+"/")
	return i < len(sorted) && strings.HasPrefix(sorted[i], name+"/")
}

func ending(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

func scrubAnswers(answers Answers, s *scrubber) Answers {
	if answers == nil {
		return nil
	}
	out := Answers{}
	for _, probe := range slices.Sorted(maps.Keys(answers)) {
		a := answers[probe]
		clean := Answer{Absent: s.text(a.Absent), Error: s.text(a.Error)}
		if a.Data != nil {
			clean.Data = s.json(a.Data)
		}
		out[probe] = clean
	}
	return out
}
