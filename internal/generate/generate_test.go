package generate

import (
	"strings"
	"testing"
)

// text is a file as a template writes it, sealed.
func text(body string) string {
	stamp := Stamp{Kind: "test", Model: "bert", Versions: "transformers 5.0", Template: 3, Platforms: []string{"cpu", "cuda"}}
	return Seal("# " + stamp.String() + "\n" + body + "\n# " + KeepFrom + " yours\n# " + KeepTo + "\nlast\n")
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	written := text("x = 1")
	tests := []struct {
		name, text string
		edited, ok bool
	}{
		{"as it was written", written, false, true},
		{"edited", strings.Replace(written, "x = 1", "x = 2", 1), true, true},
		{"edited behind the marked lines", strings.Replace(written, "last", "new", 1), true, true},
		{"edited between the marked lines", Keep(written, keeping("y = 3\n")), false, true},
		{"its digest changed", strings.Replace(written, "sha256:", "sha256:f", 1), true, true},
		{"with another stamp", strings.Replace(written, "template 3", "template 4", 1), true, true},
		{"somebody's own", "import torch\n", false, false},
		{"empty", "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stamp, edited, ok := Origin(tt.text)
			if ok != tt.ok || edited != tt.edited {
				t.Errorf("generated %v, edited %v, want %v, %v", ok, edited, tt.ok, tt.edited)
			}
			if ok && (stamp.Kind != "test" || stamp.Model != "bert" || strings.Join(stamp.Platforms, ",") != "cpu,cuda") {
				t.Errorf("its stamp is %+v", stamp)
			}
		})
	}
}

func keeping(lines string) string {
	return strings.Replace(text("old"), "# "+KeepTo, lines+"# "+KeepTo, 1)
}

func TestSealIsOfTheText(t *testing.T) {
	t.Parallel()
	if a, b := text("x = 1"), text("x = 2"); sealed.FindString(a) == sealed.FindString(b) {
		t.Errorf("two texts have the digest %s", sealed.FindString(a))
	}
	if a, b := text("x = 1"), text("x = 1"); a != b {
		t.Errorf("one text is sealed in two ways:\n%s\n%s", a, b)
	}
}

func TestMarkedLinesSurvive(t *testing.T) {
	t.Parallel()
	old := keeping("def test_mine():\n    assert 1\n")
	made := Keep(text("brand new"), old)
	for _, want := range []string{"brand new", "def test_mine():\n    assert 1\n# " + KeepTo, "last\n"} {
		if !strings.Contains(made, want) {
			t.Errorf("%q is not in\n%s", want, made)
		}
	}
	if again := Keep(made, made); again != made {
		t.Errorf("kept again it is\n%s", again)
	}
	if kept := Keep(text("brand new"), "no marks"); kept != text("brand new") {
		t.Errorf("a file without marks changed it to\n%s", kept)
	}
}
