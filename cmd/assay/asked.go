package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/detect"
	"assay/internal/gist"
	"assay/internal/hub"
	"assay/internal/input"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/weights"
)

// askedModel is the model that a user named. The type of one that only the Hub has
// is known where its configuration is in the Hugging Face cache.
func (a *app) askedModel(ctx context.Context, cat *catalog.Catalog, name string) (atlas.Model, error) {
	c, entry, err := plan.Look{Model: name, Batch: 1}.Cell(cat)
	unknown, ambiguous := (*catalog.UnknownModelError)(nil), (*catalog.AmbiguousError)(nil)
	folder := ""
	switch {
	case errors.As(err, &unknown) && strings.Contains(name, "/"), errors.As(err, &ambiguous), err != nil && strings.Contains(name, "@") && !plan.IsPath(name):
		var missing error
		if folder, missing = a.cachedFolder(name); missing != nil && ambiguous != nil {
			return atlas.Model{}, err
		} else if missing != nil {
			return atlas.Model{}, usage("the type of %s is not known here (%w): name its type, or the path of its config.json", name, missing)
		}
		c, entry, err = plan.Look{Model: filepath.Join(folder, "config.json"), Batch: 1}.Cell(cat)
		c.Checkpoint, _, _ = strings.Cut(name, "@")
	case err == nil && plan.IsPath(name):
		folder = filepath.Dir(c.Checkpoint)
	}
	if err != nil {
		return atlas.Model{}, err
	}
	m := atlas.Model{Name: name, Type: entry.Type, Task: entry.Task, Checkpoint: c.Checkpoint}
	if m.Checkpoint != "" {
		m.Weights = a.weightsOf(ctx, cat, m, folder)
	}
	return m, nil
}

// weightsOf is the size of a checkpoint's weights: of one whose model was counted, of the
// files in its folder or in the cache, or by its configuration.
func (a *app) weightsOf(ctx context.Context, cat *catalog.Catalog, m atlas.Model, folder string) weights.Size {
	for _, k := range cat.CheckpointsOf(m.Type) {
		if k.Name == m.Checkpoint && folder == "" {
			return weights.Size{Parameters: k.Parameters, Source: "counted on the model"}
		}
	}
	if folder == "" {
		var err error
		if folder, err = a.cachedFolder(m.Checkpoint); err != nil {
			return weights.Size{}
		}
	}
	config := filepath.Join(folder, "config.json")
	if plan.IsPath(m.Checkpoint) {
		config = m.Checkpoint
	}
	text, err := input.Read(ctx, config, nil, 8<<20)
	if err != nil {
		return weights.Size{}
	}
	if s := weights.OfFolder(folder, text); s.Known() {
		return s
	}
	return weights.OfConfig(text)
}

// cachedFolder is where a published model's config.json is in the cache. The
// network is not asked.
func (a *app) cachedFolder(name string) (string, error) {
	ref, err := hub.ParseRef(name)
	if err != nil {
		return "", err
	}
	h, err := (&hubFlags{}).open(a.env, a.say)
	if err != nil {
		return "", err
	}
	s, err := h.Cached(ref, hub.Want{ConfigOnly: true})
	return s.Folder, err
}

// ownResults are the user's of these models' types, and what was last detected here.
// Where there are none nothing is opened, and where they cannot be read the atlas
// answers alone.
func (a *app) ownResults(models []atlas.Model) ([]atlas.Own, *gist.Machine) {
	dir, err := a.home().Journals()
	if err != nil {
		return nil, nil
	}
	g, err := gist.Open(dir)
	if err != nil {
		a.say(fmt.Sprintf("your own results are left out: %v", err))
		return nil, nil
	}
	defer g.Close()
	var types []string
	seen := map[string]bool{}
	for _, m := range models {
		if m.Type != "" && !seen[m.Type] {
			seen[m.Type] = true
			types = append(types, m.Type)
		}
	}
	results, err := g.Of(types...)
	if err != nil {
		a.say(fmt.Sprintf("your own results are left out: %v", err))
		return nil, g.Machine()
	}
	for _, p := range g.Problems() {
		a.say("not all of your own results can be read: " + p)
	}
	own := make([]atlas.Own, len(results))
	for i, r := range results {
		own[i] = atlas.Own{Result: r.Result, Host: r.Host.ID, Imported: r.Imported}
	}
	return own, g.Machine()
}

// room says how much memory the device of a target has: what the user says, else
// what this machine has now, or had when it was last detected. Browsers and
// phones are not asked.
func (a *app) room(detected *gist.Machine, named int64) func(string) atlas.Room {
	machine := a.machine
	if machine == nil {
		machine = detect.Live()
	}
	host := detect.MemoryOf(machine).Usable
	if detected != nil && !near(detected.MemoryBytes, host) {
		detected = nil // a data folder that several machines share
	}
	return func(name string) atlas.Room {
		t, err := platform.ParseTarget(name)
		switch {
		case err != nil:
			return atlas.Room{}
		case named > 0:
			return atlas.Room{Bytes: named, Device: "the device"}
		case t.Engine.Traits().Pages:
			return atlas.Room{}
		case t.Platform == platform.CPU, t.Platform == platform.OpenVINO && t.Device == "CPU":
			return atlas.Room{Bytes: host, Device: "this machine"}
		case detected == nil:
			return atlas.Room{}
		}
		for _, d := range detected.Devices {
			if d.Platform == string(t.Platform) && (d.ID == t.Device || t.Device == "") && !d.Software && d.MemoryBytes != nil {
				return atlas.Room{Bytes: *d.MemoryBytes, Device: d.Name}
			}
		}
		return atlas.Room{}
	}
}

// near reports whether two sizes of a host's memory are one machine's: the kernel's own
// share varies.
func near(a, b int64) bool {
	return a-b < b/16 && b-a < b/16
}
