package doctor

import (
	"context"
	"strings"
	"testing"

	"assay/internal/environment"
)

// TestPrivateNamesAreNamed: what Assay uses of libraries that they do not promise
// to keep, and that is gone, is told before a cell stumbles over it.
func TestPrivateNamesAreNamed(t *testing.T) {
	t.Parallel()
	env := environment.Environment{
		ID: "user-1", Python: "/theirs", Versions: map[string]string{"torch": "2.4.0", "transformers": "4.51.3"},
		Private: map[string]string{"transformers.masking_utils.is_tracing": "masks", "transformers.exporters.utils._PATCHES": "patches"},
	}
	d := &Deps{Environment: func(context.Context) (environment.Environment, error) { return env, nil }}
	found := checkEnvironment(t.Context(), d)
	for _, want := range []string{"2 names", "transformers.exporters.utils._PATCHES (patches)", "and 1 more"} {
		if found.Status != Warn || found.Do == "" || !strings.Contains(found.Detail, want) {
			t.Errorf("%q is missing in %+v", want, found)
		}
	}
	env.Private = nil
	if found := checkEnvironment(t.Context(), d); found.Status != OK {
		t.Errorf("%+v", found)
	}
}
