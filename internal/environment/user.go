package environment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// least are the oldest versions of packages that the runner works with.
var least = []struct {
	name    string
	version Version
}{
	{"torch", Version{2, 4, 0}},
	{"transformers", Version{4, 51, 0}},
}

// User returns the user's own environment: the interpreter at path, with
// whatever packages it has. Packages that are absent are not an error, they are in
// Missing; ones that are too old are.
func (m *Maker) User(ctx context.Context, path string) (Environment, error) {
	p, err := Ask(ctx, path)
	if err != nil {
		return Environment{}, &Error{Kind: NoPython, Err: err, Problem: err.Error(),
			Hint: "--python takes the path of a Python interpreter, such as venv/bin/python"}
	}
	if p.Version.Less(MinUserPython) {
		return Environment{}, &Error{Kind: OldPython, Problem: fmt.Sprintf("%s is Python %s, and Assay's runner needs %s or newer", path, p.Number, MinUserPython.Short()),
			Hint: "name a newer one with --python"}
	}
	runner, err := unpack(m.sources, m.folders.sources())
	if err != nil {
		return Environment{}, err
	}
	env := Environment{Python: p.Path, PythonPath: runner, environ: m.inherited()}
	has, err := inventory(ctx, env)
	if err != nil {
		return Environment{}, explain("asking "+path+" for its packages", err, "")
	}
	env.Versions, env.Missing, env.Private = has.Versions, has.Missing, has.Private
	env.ID = "user-" + env.fingerprint()
	return m.hosted(env, true), tooOld(path, env.Versions)
}

// Bare returns the Python that the user named, else any of this machine with
// the runner's sources and no package at all: enough for jobs that do nothing.
// It installs nothing, and tries no instruction sets: nothing is computed.
func (m *Maker) Bare(ctx context.Context, c Choice) (Environment, error) {
	if c.Python != "" {
		env, err := m.User(ctx, c.Python)
		return m.hosted(env, false), err
	}
	p, err := FindPython(ctx, lookup(m.environ)("ASSAY_PYTHON"))
	if err != nil {
		return Environment{}, err
	}
	runner, err := unpack(m.sources, m.folders.sources())
	if err != nil {
		return Environment{}, err
	}
	env := Environment{Python: p.Path, PythonPath: runner, Versions: map[string]string{"python": p.Number}, environ: m.inherited()}
	env.ID = "bare-" + env.fingerprint()
	return m.hosted(env, false), nil
}

// tooOld says in a sentence which package is below its least version. A
// version that cannot be read (a local build's) is taken on trust.
func tooOld(path string, versions map[string]string) error {
	for _, row := range least {
		v, err := ParseVersion(versions[row.name])
		if err == nil && v.Less(row.version) {
			return &Error{Kind: OldPackage, Problem: fmt.Sprintf("%s has %s %s, and Assay needs %s or newer", path, row.name, versions[row.name], row.version.Short()),
				Hint: fmt.Sprintf("update it (%s -m pip install -U %s), or omit --python to use Assay's own environment", path, row.name)}
		}
	}
	return nil
}

// fingerprint differs when the interpreter or a package does.
func (e Environment) fingerprint() string {
	h := sha256.New()
	fmt.Fprintln(h, filepath.Clean(e.Python))
	for _, name := range slices.Sorted(maps.Keys(e.Versions)) {
		fmt.Fprintln(h, name, e.Versions[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// holdings are the packages that an environment has and has not.
type holdings struct {
	Versions map[string]string `json:"versions"`
	Missing  []string          `json:"missing"`
	Private  map[string]string `json:"private"`
}

// inventory asks the runner, inside the environment, for the versions of the
// packages it can use. Nothing heavy is imported, so it takes a moment only.
func inventory(ctx context.Context, env Environment) (holdings, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := env.Command(ctx, "-m", "assay_runner", "version")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = errors.New("it gave no answer within a minute")
		}
		return holdings{}, &failure{cmd.Args, err, stderr.String()}
	}
	return parseHoldings(stdout.Bytes(), cmd)
}

func parseHoldings(out []byte, cmd *exec.Cmd) (holdings, error) {
	var has holdings
	if err := json.Unmarshal(out, &has); err != nil || has.Versions["python"] == "" {
		return holdings{}, fmt.Errorf("%s printed %.80q instead of a list of versions", strings.Join(cmd.Args, " "), out)
	}
	return has, nil
}
