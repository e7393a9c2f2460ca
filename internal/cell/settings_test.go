package cell

import (
	"reflect"
	"strings"
	"testing"

	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestEverySpecialSettingHasARow: a field without a row would have no flag and
// no check, and two rows may not share one.
func TestEverySpecialSettingHasARow(t *testing.T) {
	t.Parallel()
	var s Special
	for i, x := range SpecialSettings() {
		if got := *x.Of(&s); got != "" {
			t.Errorf("%s shares its field with the setting %s", x.Name, got)
		}
		*x.Of(&s) = x.Name
		if x.Name == "" || x.Flag == "" || x.Help == "" || len(x.Values) < 2 || strings.HasPrefix(x.Flag, "--") {
			t.Errorf("row %d is not whole: %+v", i, x)
		}
	}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s has no row", v.Type().Field(i).Name)
		}
	}
}

// TestSomeEngineHasEverySetting: what no engine has nobody can use.
func TestSomeEngineHasEverySetting(t *testing.T) {
	t.Parallel()
	for _, x := range SpecialSettings() {
		for _, value := range x.Values[1:] {
			has := 0
			for _, e := range platform.Engines() {
				if x.has(e.Traits(), value) {
					has++
				}
			}
			if has == 0 || has == len(platform.Engines()) {
				t.Errorf("%d engines have the %s %s", has, x.Name, value)
			}
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	want := []string{"concurrent", "dynamic", "transformers.js", "warm", "front end in page", "block 128", "accuracy 4", "cache off", "sgd", "activations recomputed", "mixed fp16", "lora", "layers"}
	if d := cmp.Diff(want, everySpecial().Words()); d != "" {
		t.Error(d)
	}
	if words := (Special{}).Words(); words != nil {
		t.Errorf("nothing is set, and it says %v", words)
	}
}
