// Package trial runs the tests of generated files, under pytest or in a browser,
// and compares their outcome with the stored results of their models.
package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/internal/cell"
	"assay/internal/generate/folder"
	"assay/internal/generate/skills"
	"assay/internal/platform"
	"assay/internal/pytests"
)

// Model is a model whose test was run, or is to be.
type Model struct {
	Model    string `json:"model"`
	Task     string `json:"task"`
	Pipeline string `json:"pipeline"`
	Device   string `json:"device"`
	pytests.File
	Trial skills.Trial `json:"-"` // of a skill, in a browser
	// Stored is what is stored of the model there; "" where nothing is.
	Stored cell.Verdict `json:"stored,omitempty"`
	// Disagrees is how the outcome differs from what is stored; "" where they
	// agree, or nothing is stored.
	Disagrees string `json:"disagrees,omitempty"`
}

// isPending reports whether nothing is said of the test yet.
func (m *Model) isPending() bool { return m.Idle() && len(m.Skipped) == 0 }

// skip says why the test is not run.
func (m *Model) skip(why string) {
	m.File = pytests.File{Name: m.Name, Skipped: []pytests.Case{{Test: "(page)", Why: why}}, Failed: []pytests.Case{}}
}

// OfFolder are the models that have files in a folder, to be run.
func OfFolder(models []folder.Model) []Model {
	var out []Model
	for _, m := range models {
		out = append(out, Model{
			Model: m.Entry.Type, Task: cmp.Or(m.Task, m.Entry.Task), Pipeline: m.Entry.Pipeline,
			File: pytests.File{Name: m.Test}, Trial: m.Trial,
		})
	}
	return out
}

// On are the models as they are run on a device.
func On(device string, models []Model) []Model {
	out := slices.Clone(models)
	for i := range out {
		out[i].Device = device
	}
	return out
}

// Devices are what tests are run on, one after the other: a test of a model takes
// all of them at once, one of a skill each by itself.
func Devices(list string, each bool) ([]string, error) {
	for _, name := range strings.Split(list, ",") {
		if name == "auto" {
			continue
		}
		p, err := platform.Parse(strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("--device: %w (or auto)", err)
		}
		if p.Name.IsPlugin() {
			return nil, fmt.Errorf("--device: %s is reached by a plug-in of torch, and generated files do not run there", p.Name)
		}
	}
	names := strings.Split(strings.ToLower(strings.ReplaceAll(list, " ", "")), ",")
	if each {
		return names, nil
	}
	return []string{strings.Join(names, ",")}, nil
}

// InPages reports whether a device's skills run in a browser.
func InPages(device string) bool {
	p, ok := platform.Get(platform.Name(device))
	return ok && p.Engines[0].Traits().Pages
}
