package environment

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Version{
		"3.11.7": {3, 11, 7}, "2.15.0+cu132": {2, 15, 0}, "2.4": {2, 4, 0}, "5.0.0rc1": {5, 0, 0}, "3": {3, 0, 0}, "2.5.0a0+git1": {2, 5, 0},
	} {
		if got, err := ParseVersion(in); err != nil || got != want {
			t.Errorf("ParseVersion(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "x", "3..1", "+cu1"} {
		if got, err := ParseVersion(in); err == nil {
			t.Errorf("ParseVersion(%q) = %v, want an error", in, got)
		}
	}
}

func TestVersionOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.IntRange(0, 40)
		v := Version{part.Draw(t, "a"), part.Draw(t, "b"), part.Draw(t, "c")}
		w := Version{part.Draw(t, "d"), part.Draw(t, "e"), part.Draw(t, "f")}
		if v.Less(w) && w.Less(v) || v != w && !v.Less(w) && !w.Less(v) {
			t.Fatalf("%v and %v are not ordered", v, w)
		}
		if back, err := ParseVersion(v.String()); err != nil || back != v {
			t.Fatalf("%v became %v (%v)", v, back, err)
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	f.Add("3.11.7")
	f.Add("2.15.0+cu132")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVersion(s)
		if err == nil && (v.Major < 0 || v.Minor < 0 || v.Patch < 0) {
			t.Errorf("ParseVersion(%q) = %v", s, v)
		}
	})
}

// pythons answers like a machine with these interpreters by name.
type pythons map[string]string

func (m pythons) ask(_ context.Context, argv ...string) (Python, error) {
	number, there := m[argv[0]]
	if !there {
		return Python{}, &exec.Error{Name: argv[0], Err: exec.ErrNotFound}
	}
	if number == "broken" {
		return Python{}, errors.New(argv[0] + " does not start: exit status 127")
	}
	v, err := ParseVersion(number)
	return Python{Path: "/usr/bin/" + argv[0], Number: number, Version: v, Bits: 64, Name: "CPython"}, err
}

func TestChoosePython(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		has  pythons
		path string
		kind Kind
		says string
	}{
		{"the usual one", pythons{"python3": "3.12.1"}, "/usr/bin/python3", "", ""},
		{"an old default, a new one beside it", pythons{"python3": "3.9.2", "python3.12": "3.12.1"}, "/usr/bin/python3.12", "", ""},
		{"a default that is too new", pythons{"python3": "3.16.0", "python3.13": "3.13.2"}, "/usr/bin/python3.13", "", ""},
		{"a shim that leads nowhere", pythons{"python3": "broken", "python": "3.11.0"}, "/usr/bin/python", "", ""},
		{"only old ones", pythons{"python3": "3.8.1", "python": "2.7.18"}, "", OldPython, "is Python 3.8.1, and Assay needs 3.11"},
		{"only a new one", pythons{"python3": "3.15.0"}, "", Unsupported, "up to Python 3.14"},
		{"a broken and an old one", pythons{"python3": "broken", "python": "2.7.18"}, "", OldPython, "2.7.18"},
		{"a broken one", pythons{"python3": "broken"}, "", BrokenPython, "does not start"},
		{"none", pythons{}, "", NoPython, "no Python was found"},
	} {
		got, err := choose(t.Context(), candidates("linux"), c.has.ask)
		if got.Path != c.path {
			t.Errorf("%s: chose %q, want %q", c.name, got.Path, c.path)
		}
		if c.kind == "" && err != nil || c.kind != "" && (!IsKind(err, c.kind) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: error %v, want kind %q with %q", c.name, err, c.kind, c.says)
		}
	}
}

func TestUnfitPython(t *testing.T) {
	t.Parallel()
	good := Python{Path: "p", Number: "3.12.0", Version: Version{3, 12, 0}, Bits: 64, Name: "CPython"}
	if err := good.fit(); err != nil {
		t.Errorf("a good Python: %v", err)
	}
	small, other := good, good
	small.Bits, other.Name = 32, "PyPy"
	for _, p := range []Python{small, other} {
		if err := p.fit(); !IsKind(err, Unsupported) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestAskWhatIsNoPython(t *testing.T) {
	t.Parallel()
	if _, err := Ask(t.Context(), "go"); err == nil || !strings.Contains(err.Error(), "go does not start") {
		t.Errorf("asking go: %v", err)
	}
	if _, err := Ask(t.Context(), "no-such-program-here"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("asking nothing: %v", err)
	}
}
