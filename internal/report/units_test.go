package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"pgregory.net/rapid"

	"assay/internal/cell"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{Milliseconds(0.00042), "0.42 µs"},
		{Milliseconds(0.84), "840 µs"},
		{Milliseconds(0.9999), "1.00 ms"},
		{Milliseconds(8.214), "8.21 ms"},
		{Milliseconds(999.7), "1.00 s"},
		{Milliseconds(61_000), "61.0 s"},
		{Milliseconds(600_000), "10.0 min"},
		{Bytes(0), "0 B"},
		{Bytes(999), "999 B"},
		{Bytes(438_123_456), "438 MB"},
		{Bytes(141_000_000_000), "141 GB"},
		{Count(109_514_298), "110 M"},
		{Count(42), "42"},
		{rate(cell.Throughput{Value: 1590}), "1.59 k/s"},
		{Times(9.814), "9.81×"},
		{Times(0.5), "0.50×"},
		{Age(12), "just now"},
		{Age(600), "10 min"},
		{Age(26 * 3600), "26 h"},
		{Age(5 * 86400), "5 days"},
		{power(6.2e-7, 1), "6.2e-7"},
		{power(1e-3, 0), "1e-3"},
		{power(1.5e12, 1), "1.5e12"},
		{power(0, 1), "0.0"},
		{power(3, 1), "3.0"},
		{interval(8.2, ptr(8.02), ptr(8.6)), "[8.02–8.60]"},
		{interval(0.82, ptr(0.802), ptr(1.2)), "[802–1200]"},
		{interval(8.2, nil, nil), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func ptr(v float64) *float64 { return &v }

// Whatever the time, it is short and has its unit.
func TestMillisecondsAreShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Milliseconds(rapid.Float64Range(1e-4, 5e6).Draw(t, "ms"))
		if len([]rune(s)) > 9 || !strings.Contains(s, " ") {
			t.Fatalf("%q", s)
		}
	})
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	if got := oneLine("a\n\tb\x1b[31m red\x1b[0m\x00 \u202e c\r"); strings.ContainsAny(got, "\n\t\x1b\x00\r\u202e") || !strings.HasPrefix(got, "a b red") {
		t.Errorf("%q", got)
	}
}

func FuzzOneLine(f *testing.F) {
	f.Add("ImportError: x\n\x1b]0;title\x07")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range oneLine(s) {
			if r < ' ' || r == 0x7f {
				t.Fatalf("%q lets %q through", s, r)
			}
		}
	})
}

// Colours reach a terminal, and nothing else.
func TestColours(t *testing.T) {
	t.Parallel()
	d := fixtureDocument(nil)
	for name, tt := range map[string]struct {
		wrap func(*bytes.Buffer) *colorprofile.Writer
		want bool
	}{
		"terminal": {func(b *bytes.Buffer) *colorprofile.Writer {
			return &colorprofile.Writer{Forward: b, Profile: colorprofile.ANSI}
		}, true},
		"file": {func(b *bytes.Buffer) *colorprofile.Writer {
			return Terminal(b, []string{"TERM=xterm-256color"}).(*colorprofile.Writer)
		}, false},
		"terminal by its environment": {func(b *bytes.Buffer) *colorprofile.Writer {
			return Terminal(b, []string{"TERM=xterm-256color", "TTY_FORCE=1"}).(*colorprofile.Writer)
		}, true},
		"terminal with NO_COLOR": {func(b *bytes.Buffer) *colorprofile.Writer {
			return Terminal(b, []string{"TERM=xterm-256color", "TTY_FORCE=1", "NO_COLOR=1"}).(*colorprofile.Writer)
		}, false},
	} {
		var b bytes.Buffer
		if err := Write(tt.wrap(&b), Text, d); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "\x1b[32m"); got != tt.want {
			t.Errorf("%s: coloured = %v", name, got)
		}
	}
	var b bytes.Buffer
	if err := Write(&b, Text, d); err != nil || strings.Contains(b.String(), "\x1b") {
		t.Errorf("a plain writer gets escape sequences (%v)", err)
	}
}

func TestParseMetric(t *testing.T) {
	t.Parallel()
	for _, m := range Metrics() {
		if got, err := ParseMetric(strings.ToUpper(string(m))); err != nil || got != m {
			t.Errorf("%s: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMetric("speed"); err == nil || !strings.Contains(err.Error(), "speedup") {
		t.Errorf("%v", err)
	}
}
