package environment

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestEnviron(t *testing.T) {
	t.Parallel()
	outer := []string{"PATH=/bin", "PYTHONPATH=/theirs", "PYTHONHOME=/x", "OPENBLAS_NUM_THREADS=8", "PYTHONDONTWRITEBYTECODE=1", "HF_TOKEN=hf_x"}
	managed := lookup(Environment{PythonPath: "/runner", Managed: true, environ: outer}.Environ(t.Context()))
	for name, want := range map[string]string{
		"PATH": "/bin", "PYTHONPATH": "/runner", "PYTHONHOME": "", "OPENBLAS_NUM_THREADS": "1", "PYTHONNOUSERSITE": "1",
		"PYTHONDONTWRITEBYTECODE": "", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
	} {
		if got := managed(name); got != want {
			t.Errorf("managed: %s=%q, want %q", name, got, want)
		}
	}
	user := lookup(Environment{PythonPath: "/runner", environ: outer}.Environ(t.Context()))
	if got, want := user("PYTHONPATH"), "/runner"+string(filepath.ListSeparator)+"/theirs"; got != want {
		t.Errorf("user: PYTHONPATH=%q, want %q", got, want)
	}
	if user("PYTHONNOUSERSITE") != "" {
		t.Error("the user's environment was cut off from what it did not ask to be")
	}
	if user("HF_HUB_OFFLINE") != "1" || user("HF_TOKEN") != "" {
		t.Error("the runner can reach the Hub, or has the user's token")
	}
	if !slices.Contains(outer, "PYTHONHOME=/x") {
		t.Error("the process's own variables were changed")
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	cmd := Environment{Python: "/env/bin/python", PythonPath: "/runner"}.Command(t.Context(), "-m", "assay_runner", "zygote")
	if want := []string{"/env/bin/python", "-m", "assay_runner", "zygote"}; !slices.Equal(cmd.Args, want) {
		t.Errorf("Args = %q, want %q", cmd.Args, want)
	}
	if lookup(cmd.Env)("PYTHONPATH") != "/runner" {
		t.Errorf("the command does not see the runner: %q", cmd.Env)
	}
}

func TestOn(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"": false, "0": false, "False": false, "no": false, "1": true, "true": true, "yes": true} {
		if got := On(value); got != want {
			t.Errorf("On(%q) = %v", value, got)
		}
	}
}
