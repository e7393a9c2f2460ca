package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"assay/internal/filelock"
)

// build is one making of the managed environment, under the lock.
type build struct {
	*Maker
	python Python
	log    io.Writer
	start  time.Time
}

// Setup makes the managed environment if it is not there, and returns it. When
// several processes call it, one makes it and the others wait.
func (m *Maker) Setup(ctx context.Context) (Environment, error) {
	if err := m.folders.Create(); err != nil {
		return Environment{}, err
	}
	held, err := m.alone(ctx)
	if err != nil {
		return Environment{}, explain("making the Python environment", err, "")
	}
	defer held.Close() // lets the lock go
	if env, err := m.Find(ctx); err == nil {
		return env, nil // made while this process waited
	}
	log, err := os.Create(m.folders.SetupLog())
	if err != nil {
		return Environment{}, explain("making the Python environment", err, "")
	}
	defer log.Close()
	b := &build{Maker: m, log: log, start: time.Now()}
	return b.run(ctx)
}

// patience is how long one process waits for another that makes the environment.
const patience = 24 * time.Hour

// alone takes the lock under which environments are made.
func (m *Maker) alone(ctx context.Context) (*os.File, error) {
	dir := m.folders.environments()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	waiting := func() { m.say("another assay is making the environment; waiting for it") }
	return filelock.Wait(ctx, filepath.Join(dir, ".lock"), filelock.Exclusive, patience, waiting)
}

// run does the steps in order. Each says what it does before it does it.
func (b *build) run(ctx context.Context) (Environment, error) {
	b.sweep(b.folders.environments())
	b.sweep(b.folders.boot())
	var err error
	if b.python, err = FindPython(ctx, lookup(b.environ)("ASSAY_PYTHON")); err != nil {
		return Environment{}, err
	}
	b.say(fmt.Sprintf("using Python %s (%s)", b.python.Number, b.python.Path))
	if err := checkRoom(b.folders.environments(), b.uvCache(), b.size.Need); err != nil {
		return Environment{}, err
	}
	uv, err := b.boot(ctx)
	if err != nil {
		return Environment{}, err
	}
	dir := filepath.Join(b.folders.environments(), hash(b.lock)+"-"+b.python.tag())
	err = b.beside(dir, func(tmp string) error { return b.install(ctx, uv, tmp) })
	if err != nil {
		return Environment{}, explain("making the Python environment", err, b.folders.SetupLog())
	}
	b.say(fmt.Sprintf("the Python environment is ready (%.0f s): %s", time.Since(b.start).Seconds(), dir))
	return b.load(dir)
}

// install fills the folder tmp: an environment, its packages, its manifest.
func (b *build) install(ctx context.Context, uv string, tmp string) error {
	settings := b.settings(ctx)
	vars := settings.variables(lookup(b.environ))
	if _, err := b.do(ctx, vars, nil, uv, "venv", "--quiet", "--no-project", "--allow-existing", "--relocatable", "--python", b.python.Path, tmp); err != nil {
		return err
	}
	lock := filepath.Join(tmp, "requirements.lock")
	if err := replaceFile(lock, b.lock); err != nil {
		return err
	}
	b.say(b.announce())
	argv := []string{uv, "pip", "install", "--python", pythonIn(tmp), "--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement", lock}
	then := ""
	if b.release == (Release{}) { // a release that is tried once needs little of it
		argv, then = append(argv, "--compile-bytecode"), "; compiling bytecode, so that each start is twice as fast"
	}
	p := newProgress(b.say, then)
	_, err := b.do(ctx, vars, p.line, append(argv, settings.findLinks()...)...)
	p.stop()
	if err != nil {
		return err
	}
	return b.finish(ctx, uv, tmp)
}

// announce says what is installed, and how much that is where it is known.
func (b *build) announce() string {
	if b.release != (Release{}) {
		return fmt.Sprintf("installing %s into an environment of its own; what is in uv's cache is linked", b.release)
	}
	return fmt.Sprintf("installing packages: about %s to download, %s on disk", Gigabytes(b.size.Load), Gigabytes(b.size.Disk))
}

// finish asks the new environment what it holds and writes its manifest.
func (b *build) finish(ctx context.Context, uv string, tmp string) error {
	runner, err := unpack(b.sources, b.folders.sources())
	if err != nil {
		return err
	}
	b.say("checking the environment")
	has, err := inventory(ctx, Environment{Python: pythonIn(tmp), PythonPath: runner, Managed: true, environ: b.inherited()})
	if err != nil {
		return err
	}
	version, err := b.do(ctx, nil, nil, uv, "--version")
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(manifest{Schema: 1, Lock: hash(b.lock), Python: b.python, UV: strings.TrimSpace(version),
		Versions: has.Versions, Missing: has.Missing, Private: has.Private, Created: time.Now().UTC().Truncate(time.Second), Seconds: time.Since(b.start).Seconds()}, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(tmp, manifestName), append(text, '\n'))
}

// do runs a program with the user's variables and those given.
func (b *build) do(ctx context.Context, vars map[string]string, line func(string), argv ...string) (string, error) {
	set := map[string]string{"UV_CACHE_DIR": b.uvCache(), "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1",
		"NO_COLOR": "1", "LC_ALL": "C.UTF-8", "PYTHONHOME": "", "PYTHONPATH": "", "VIRTUAL_ENV": "", "PIP_REQUIRE_VIRTUALENV": "",
		"PIP_TARGET": "", "PIP_PREFIX": "", "PIP_USER": ""}
	if lookup(b.environ)("UV_SYSTEM_CERTS") == "" {
		set["UV_SYSTEM_CERTS"] = "1" // as pip does; SSL_CERT_FILE goes before
	}
	for name, value := range vars {
		set[name] = value
	}
	return job{argv, overlay(b.environ, set), b.log, line}.run(ctx)
}

// uvCache is uv's own cache, shared with the user's other uses of uv, unless
// ASSAY_HOME moved everything.
func (b *build) uvCache() string {
	get := lookup(b.environ)
	if dir := get("UV_CACHE_DIR"); dir != "" {
		return dir
	}
	if b.folders.Moved {
		return filepath.Join(b.folders.Cache, "uv")
	}
	// uv's default, named so that its disk can be looked at.
	if runtime.GOOS == "windows" {
		return filepath.Join(get("LOCALAPPDATA"), "uv", "cache")
	}
	return filepath.Join(filepath.Dir(b.folders.Cache), "uv")
}

// building marks the folders that are not whole yet.
const building = ".building-"

// beside lets fill make a folder next to dir and gives it dir's name when it
// is whole. What had that name before was not usable, and goes.
func (b *build) beside(dir string, fill func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), building+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// sweep removes what a killed build left. The lock is held: nobody builds.
func (b *build) sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, building+"*"))
	for _, tmp := range left {
		b.say("removing what an interrupted setup left: " + tmp)
		_ = os.RemoveAll(tmp)
	}
}
