package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// webSize was measured on the locked packages, with the packed Chromium.
var webSize = Size{Load: 0.17e9, Disk: 0.55e9, Need: 1e9}

// SetupWeb makes the web environment if it is not there, and returns it. When
// several processes call it, one makes it and the others wait.
func (m *Maker) SetupWeb(ctx context.Context) (Web, error) {
	const step = "making the web environment"
	if err := m.folders.Create(); err != nil {
		return Web{}, err
	}
	held, err := m.alone(ctx)
	if err != nil {
		return Web{}, explain(step, err, "")
	}
	defer held.Close() // lets the lock go
	if found, err := m.FindWeb(); err == nil {
		return found, nil // made while this process waited
	}
	log, err := os.Create(m.folders.SetupLog())
	if err != nil {
		return Web{}, explain(step, err, "")
	}
	defer log.Close()
	b := &webBuild{build: &build{Maker: m, log: log, start: time.Now()}}
	if err := b.run(ctx); err != nil {
		return Web{}, explainNPM(step, err, m.folders.SetupLog())
	}
	return m.FindWeb()
}

// webBuild is one making of the web environment, under the lock.
type webBuild struct {
	*build
	npm npm
}

func (b *webBuild) run(ctx context.Context) error {
	b.sweep(b.folders.environments())
	var err error
	if b.npm, err = findNPM(ctx, b.environ); err != nil {
		return err
	}
	b.say(fmt.Sprintf("using npm %s (%s)", b.npm.version, b.npm.path))
	if err := checkRoom(b.folders.environments(), b.folders.Cache, webSize.Need); err != nil {
		return err
	}
	dir, err := b.webDir()
	if err != nil {
		return err
	}
	if err := b.beside(dir, func(tmp string) error { return b.fill(ctx, tmp) }); err != nil {
		return err
	}
	b.say(fmt.Sprintf("the web environment is ready (%.0f s): %s", time.Since(b.start).Seconds(), dir))
	return nil
}

// fill installs every list into its folder and writes the manifest.
func (b *webBuild) fill(ctx context.Context, tmp string) error {
	is := webManifest{Schema: 1, Versions: map[string]string{"npm": b.npm.version}, Files: map[string]int64{}}
	b.say(fmt.Sprintf("installing packages: about %s to download, %s on disk", Gigabytes(webSize.Load), Gigabytes(webSize.Disk)))
	for _, folder := range sortedKeys(b.web) {
		versions, err := b.install(ctx, b.web[folder], filepath.Join(tmp, folder))
		if err != nil {
			return err
		}
		maps.Copy(is.Versions, versions)
	}
	if _, packed := b.web[chromiumFolder]; packed {
		b.say("unpacking Chromium")
		if err := unpackChromium(filepath.Join(tmp, chromiumFolder)); err != nil {
			return err
		}
		is.Versions["chromium"] = is.Versions[chromiumPackage]
	}
	if err := sizesOf(tmp, is.Files); err != nil {
		return err
	}
	is.Created, is.Seconds = time.Now().UTC().Truncate(time.Second), time.Since(b.start).Seconds()
	text, err := json.MarshalIndent(is, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(tmp, manifestName), append(text, '\n'))
}

// install lets npm fill a folder, and returns the versions of what was asked for.
func (b *webBuild) install(ctx context.Context, list fs.FS, dir string) (map[string]string, error) {
	files, err := read(list)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := f.write(dir); err != nil {
			return nil, err
		}
	}
	p := newProgress(b.say, "")
	_, err = job{b.npm.install(dir), b.npm.environ(b.environ, b.folders), b.log, nil}.run(ctx)
	p.stop()
	if err != nil {
		return nil, err
	}
	return installed(dir)
}

// installed reads what npm put into a folder for each direct dependency.
func installed(dir string) (map[string]string, error) {
	var list struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := readJSON(filepath.Join(dir, "package.json"), &list); err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for name, wanted := range list.Dependencies {
		var is struct {
			Version string `json:"version"`
		}
		if err := readJSON(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"), &is); err != nil {
			return nil, fmt.Errorf("npm did not install %s: %w", name, err)
		}
		if wanted == is.Version {
			versions[name] = is.Version // the others are folders of our own
		}
	}
	return versions, nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// sizesOf lists the files below a folder.
func sizesOf(dir string, sizes map[string]int64) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		sizes[filepath.ToSlash(name)] = info.Size()
		return err
	})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
