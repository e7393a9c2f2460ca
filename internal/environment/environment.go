package environment

import (
	"context"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/instructions"
)

// Environment is an installed set of Python packages together with the
// runner's sources. It is a value: it may be copied and used from several
// goroutines.
type Environment struct {
	ID         string            `json:"id"`          // names the set of packages; differs when they differ
	Python     string            `json:"python"`      // absolute path of the interpreter
	PythonPath string            `json:"python_path"` // folder that holds assay_runner
	Managed    bool              `json:"managed"`     // Assay's own, not the user's
	Versions   map[string]string `json:"versions"`    // by package, and "python"
	Missing    []string          `json:"missing"`     // what the runner could use and is not there
	// Private are names that libraries do not promise to keep, that the runner
	// uses and that these libraries lack, with what it uses them for.
	Private map[string]string `json:"private,omitempty"`
	environ []string
	host    *host // nil where the processor is not looked at
}

// Command returns a command that starts the environment's Python with these
// arguments, killed when ctx ends. The caller sets streams and process attributes.
func (e Environment) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.Python, args...)
	cmd.Env = e.Environ(ctx)
	return cmd
}

// Group is Command for what starts programs of its own: it runs in a group of
// processes that is killed whole when ctx ends. Linux also kills it when the
// thread that started it ends: whoever runs it stays on that (runtime.LockOSThread).
func (e Environment) Group(ctx context.Context, args ...string) *exec.Cmd {
	cmd := e.Command(ctx, args...)
	inGroup(cmd)
	return cmd
}

// Environ returns the environment variables for the environment's Python: those
// of the process that children may see (allowed.go), with those that must hold for
// a measurement set over them. Every
// child of Assay gets them here, so that none is given instructions which this
// processor announces and cannot execute; ctx bounds finding that out.
func (e Environment) Environ(ctx context.Context) []string {
	set := map[string]string{
		"PYTHONPATH": e.PythonPath,
		// The current folder must not shadow modules: a user's own random.py.
		"PYTHONSAFEPATH":   "1",
		"PYTHONUNBUFFERED": "1",
		"PYTHONUTF8":       "1",
		// numpy starts OpenBLAS threads at import, and a process with threads
		// must not fork.
		"OPENBLAS_NUM_THREADS":              "1",
		"TOKENIZERS_PARALLELISM":            "false",
		"HF_HUB_DISABLE_TELEMETRY":          "1",
		"DO_NOT_TRACK":                      "1",
		"PYTHONHOME":                        "",
		"PYTHONSTARTUP":                     "",
		"PYTHONINSPECT":                     "",
		"PYTHONOPTIMIZE":                    "", // assertions are part of the runner
		"PYTHONDONTWRITEBYTECODE":           "", // bytecode beside the sources makes the next start faster
		"PYTHONPYCACHEPREFIX":               "", // would hide the bytecode compiled at setup
		"TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
	}
	// What a cell needs is on disk before it runs: no runner asks the Hub, and
	// none needs the user's token, least of all a model's own code.
	for _, name := range []string{"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_IMPLICIT_TOKEN"} {
		set[name] = "1"
	}
	for _, name := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"} {
		set[name] = ""
	}
	if lowered := e.Instructions(ctx).Lowered; lowered != "" {
		set[instructions.Variable] = lowered
	}
	get := lookup(e.environ)
	if e.Managed {
		set["PYTHONNOUSERSITE"] = "1"
	} else if old := get("PYTHONPATH"); old != "" {
		set["PYTHONPATH"] += string(filepath.ListSeparator) + old
	}
	return overlay(e.environ, set)
}

// On reports whether a variable's value means yes.
func On(value string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(value))
}

// overlay returns environ with the variables of set; an empty value removes one.
func overlay(environ []string, set map[string]string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, there := set[name]
		return there
	})
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] != "" {
			out = append(out, name+"="+set[name])
		}
	}
	return out
}

func lookup(environ []string) func(string) string {
	return func(name string) string {
		// The last one wins, as in exec.Cmd.
		for _, kv := range slices.Backward(environ) {
			if n, v, ok := strings.Cut(kv, "="); ok && n == name {
				return v
			}
		}
		return ""
	}
}
