package environment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Version is a Python version.
type Version struct{ Major, Minor, Patch int }

// The managed environment is made from a Python from MinPython to MaxPython:
// for these the locked packages have wheels. The runner itself works in the
// user's own from MinUserPython on; boards such as the Jetson have no newer one.
var (
	MinPython     = Version{3, 11, 0}
	MaxPython     = Version{3, 14, 0}
	MinUserPython = Version{3, 10, 0}
)

// ParseVersion reads "3.11.7"; what follows the third number is left alone.
func ParseVersion(s string) (Version, error) {
	parts := strings.SplitN(strings.TrimSpace(s), ".", 3)
	var v Version
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if i >= len(parts) {
			break
		}
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a version: want numbers such as 3.11.7", s)
		}
		*to = n
	}
	return v, nil
}

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Short is the version as people say it: 3.11.
func (v Version) Short() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// tooNew reports that no wheels are known for v.
func (v Version) tooNew() bool {
	return v.Major > MaxPython.Major || v.Major == MaxPython.Major && v.Minor > MaxPython.Minor
}

// Python is an interpreter on this machine.
type Python struct {
	Path    string  `json:"path"` // the interpreter itself, never a shim
	Version Version `json:"-"`
	Number  string  `json:"version"`
	Bits    int     `json:"bits"`
	Name    string  `json:"name"` // CPython, PyPy
}

// question works in every Python since 2.6.
const question = `import json, platform, struct, sys
print(json.dumps({"path": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3],
 "bits": 8 * struct.calcsize("P"), "name": platform.python_implementation()}))`

// Ask starts an interpreter and returns what it says of itself.
func Ask(ctx context.Context, argv ...string) (Python, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:len(argv):len(argv)], "-c", question)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return Python{}, fmt.Errorf("%s does not start: %w%s", strings.Join(argv, " "), err, quoteLast(stderr.String()))
	}
	var p Python
	if err := json.Unmarshal(out, &p); err != nil || p.Path == "" {
		return Python{}, fmt.Errorf("%s is not a Python: it printed %.60q", strings.Join(argv, " "), out)
	}
	p.Version, err = ParseVersion(p.Number)
	return p, err
}

func quoteLast(stderr string) string {
	if s := lastLine(stderr); s != "" {
		return " (" + s + ")"
	}
	return ""
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}

// candidates are the names under which a Python may be found. The first that
// is new enough, and not too new, is taken.
func candidates(goos string) [][]string {
	names := [][]string{{"python3"}, {"python3.13"}, {"python3.12"}, {"python3.11"}, {"python3.14"}, {"python"}}
	if goos == "windows" {
		return append([][]string{{"py", "-3"}, {"python"}}, names...)
	}
	return names
}

// FindPython returns a Python fit to make the managed environment from. named,
// if not "", is the user's choice (ASSAY_PYTHON), and nothing else is tried.
func FindPython(ctx context.Context, named string) (Python, error) {
	if named != "" {
		p, err := Ask(ctx, named)
		if err != nil {
			return Python{}, &Error{Kind: NoPython, Err: err, Problem: err.Error(), Hint: "ASSAY_PYTHON must name a Python " + MinPython.Short() + " or newer"}
		}
		return p, p.fit()
	}
	return choose(ctx, candidates(runtime.GOOS), Ask)
}

// choose asks each candidate and keeps the best of the reasons against them.
func choose(ctx context.Context, names [][]string, ask func(context.Context, ...string) (Python, error)) (Python, error) {
	var unfit error
	for _, argv := range names {
		p, err := ask(ctx, argv...)
		switch {
		case ctx.Err() != nil:
			return Python{}, ctx.Err()
		case errors.Is(err, exec.ErrNotFound):
			continue
		case err != nil:
			err = &Error{Kind: BrokenPython, Err: err, Problem: err.Error(), Hint: installPython}
		default:
			err = p.fit()
		}
		if err == nil {
			return p, nil
		}
		if unfit == nil || IsKind(unfit, BrokenPython) {
			unfit = err
		}
	}
	if unfit == nil {
		unfit = &Error{Kind: NoPython, Problem: "no Python was found", Hint: installPython}
	}
	return Python{}, unfit
}

var installPython = fmt.Sprintf("install Python %s to %s, or name one with ASSAY_PYTHON", MinPython.Short(), MaxPython.Short())

// fit says in a sentence why the managed environment cannot be made from p.
func (p Python) fit() error {
	for _, row := range []struct {
		unfit   bool
		kind    Kind
		problem string
	}{
		{p.Version.Less(MinPython), OldPython, fmt.Sprintf("%s is Python %s, and Assay needs %s or newer", p.Path, p.Number, MinPython.Short())},
		{p.Version.tooNew(), Unsupported, fmt.Sprintf("%s is Python %s, and the locked packages support up to Python %s", p.Path, p.Number, MaxPython.Short())},
		{p.Bits != 64, Unsupported, fmt.Sprintf("%s is a %d-bit Python, and torch needs a 64-bit one", p.Path, p.Bits)},
		{p.Name != "CPython", Unsupported, fmt.Sprintf("%s is %s, and torch needs CPython", p.Path, p.Name)},
	} {
		if row.unfit {
			return &Error{Kind: row.kind, Problem: row.problem, Hint: installPython}
		}
	}
	return nil
}

// tag names the versions that can share an environment: cp311.
func (p Python) tag() string { return fmt.Sprintf("cp%d%d", p.Version.Major, p.Version.Minor) }
