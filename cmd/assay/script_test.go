package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/internal/hub/hubtest"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts of testdata/script, in parallel, each with
// folders of its own. No script needs torch.
func TestScripts(t *testing.T) {
	t.Parallel()
	machines, err := filepath.Abs("../../internal/detect/testdata/machines")
	if err != nil {
		t.Fatal(err)
	}
	hub := testHub(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for name, value := range variables(t, e.WorkDir) {
				e.Setenv(name, value)
			}
			e.Setenv("MACHINES", machines)
			e.Setenv("HF_ENDPOINT", hub.URL)
			e.Setenv("HUB", hub.URL)
			e.Setenv("TOKEN", hubtest.Token)
			forbidInstalling(t, e)
			return os.MkdirAll(e.Getenv("TMPDIR"), 0o755)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": exitStatus,
			"field":  field,
			"same":   same,
			"lines":  lines,
			"xml":    isXML,
		},
	})
}

// forbidInstalling keeps a script from installing the Python environment, gigabytes
// of it: no package is to be found, and one that was installed is a fault.
func forbidInstalling(t *testing.T, e *testscript.Env) {
	for name, value := range map[string]string{"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.DevNull, "UV_NO_INDEX": "1", "UV_OFFLINE": "1"} {
		e.Setenv(name, value)
	}
	data := filepath.Join(e.Getenv("ASSAY_HOME"), "data")
	e.Defer(func() {
		for _, pattern := range []string{"boot/*/bin/uv", "environments/*/assay.json"} {
			if found, err := filepath.Glob(filepath.Join(data, pattern)); err != nil || len(found) > 0 {
				t.Errorf("a script installed %v, %v", found, err)
			}
		}
	})
}

// exitStatus is "status N program arg…": the exit status must be N.
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: status N program [arg…]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// field is "field FILE path want": the JSON value at a path such as
// results.0.failure.class, printed as JSON or as the bare string. With "!" it
// must not be that. "len" is a list's length.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] field FILE path want")
	}
	if got := valueAt(ts, args[0], args[1]); (got == args[2]) == neg {
		ts.Fatalf("%s is %s, compared with %s", args[1], got, args[2])
	}
}

// same is "same A B path": both hold the same JSON value there.
func same(ts *testscript.TestScript, _ bool, args []string) {
	if a, b := valueAt(ts, args[0], args[2]), valueAt(ts, args[1], args[2]); a != b {
		ts.Fatalf("%s is\n%s\nin %s and\n%s\nin %s", args[2], a, args[0], b, args[1])
	}
}

func valueAt(ts *testscript.TestScript, file, path string) string {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(file)), &v); err != nil {
		ts.Fatalf("%s is not JSON: %v", file, err)
	}
	got, err := look(v, strings.Split(path, "."))
	if err != nil {
		ts.Fatalf("%s: %v", path, err)
	}
	return got
}

func look(v any, path []string) (string, error) {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[key]
			if !ok {
				return "", fmt.Errorf("there is no %q", key)
			}
			v = next
		case []any:
			if key == "len" {
				v = len(x)
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				return "", fmt.Errorf("%q is not an index into a list of %d", key, len(x))
			}
			v = x[i]
		default:
			return "", fmt.Errorf("%q of what is neither object nor list", key)
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// lines is "lines FILE N": FILE holds N lines, each a JSON object.
func lines(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	n := 0
	for line := range strings.Lines(text) {
		n++
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("line %d is not a JSON object: %v", n, err)
		}
	}
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d lines, want %s", n, args[1])
	}
}

// isXML is "xml FILE": FILE is one well-formed XML document.
func isXML(ts *testscript.TestScript, _ bool, args []string) {
	d := xml.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	elements := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			ts.Fatalf("%s: %v", args[0], err)
		}
		if _, ok := token.(xml.StartElement); ok {
			elements++
		}
	}
	if elements == 0 {
		ts.Fatalf("%s holds no element", args[0])
	}
}
