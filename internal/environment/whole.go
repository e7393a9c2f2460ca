package environment

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Content is what is found when a managed environment is looked at closely.
type Content struct {
	Packages int
	Files    int
	Damaged  []string // files that are gone or have another size, relative to site-packages
	Lacking  []string // locked packages, needed everywhere, that are not there
}

// Whole reports that nothing is wrong.
func (c Content) Whole() bool { return len(c.Damaged) == 0 && len(c.Lacking) == 0 && c.Packages > 0 }

// Inspect compares a managed environment with its lock and every installed
// file with the size that its package recorded for it. It takes a moment.
func (m *Maker) Inspect(env Environment) (Content, error) {
	if !env.Managed {
		return Content{}, errors.New("only Assay's own environment can be inspected")
	}
	site, err := sitePackages(filepath.Dir(filepath.Dir(env.Python)))
	if err != nil {
		return Content{}, err
	}
	records, err := filepath.Glob(filepath.Join(site, "*.dist-info", "RECORD"))
	if err != nil {
		return Content{}, err
	}
	var c Content
	have := map[string]string{}
	for _, record := range records {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(filepath.Dir(record)), ".dist-info"), "-")
		have[Normalize(name)] = version
		if err := c.addRecord(site, record); err != nil {
			return Content{}, err
		}
	}
	c.Packages = len(records)
	for _, r := range ParseLock(m.lock) {
		if r.Marker == "" && have[r.Name] != r.Version {
			c.Lacking = append(c.Lacking, r.Name+" "+r.Version)
		}
	}
	slices.Sort(c.Damaged)
	return c, nil
}

func sitePackages(dir string) (string, error) {
	for _, pattern := range []string{"lib/python3*/site-packages", "Lib/site-packages"} {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err == nil && len(found) > 0 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%s holds no packages", dir)
}

// addRecord checks the files of one package.
func (c *Content) addRecord(site, record string) error {
	text, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	files, err := parseRecord(text)
	if err != nil {
		return fmt.Errorf("%s: %w", record, err)
	}
	for _, f := range files {
		c.Files++
		is, err := os.Stat(filepath.Join(site, filepath.FromSlash(f.path)))
		if err != nil || is.Size() != f.size {
			c.Damaged = append(c.Damaged, f.path)
		}
	}
	return nil
}

type recorded struct {
	path string
	size int64
}

// parseRecord reads a package's RECORD: path, hash and size, comma separated.
// Files without a size (the RECORD itself, bytecode) are left out.
func parseRecord(text []byte) ([]recorded, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = 3
	r.ReuseRecord = true
	var files []recorded
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("not a record of installed files: %w", err)
		}
		if size, err := strconv.ParseInt(row[2], 10, 64); err == nil {
			files = append(files, recorded{row[0], size})
		}
	}
}
