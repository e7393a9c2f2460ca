package expression

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var names = map[string]int{"batch": 2, "seq": 16, "image": 32}

// The tables are those of the runner's test_expressions.py: both must compute
// alike, and refuse alike.

func TestValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"3": 3, "seq": 16, "batch*seq": 32, "(image//8)*(image//8)+1": 17, "seq - 2*3": 10, "7": 7,
		"(1-seq)//2": -8, "seq//(0-3)": -6,
	} {
		if got, err := Evaluate(text, names); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestEverythingElseIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "unknown", "seq//0", "seq**9", "seq/2", "seq////2", "seq%2", "seq/*2*/", "__import__('os')", "seq.real", "1.5",
		"True", "None", "2.0", strings.Repeat("(", 90), strings.Repeat("9", 150), "[1]", "seq if 1 else 2", "lambda: 1",
		"-seq", "10000000*10000000*1000", "seq+" + strings.Repeat("1+", 120) + "1",
	} {
		if got, err := Evaluate(text, names); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}

// TestDivisionRoundsDown: q = x//y is the number with q*y <= x < (q+1)*y, the
// signs turned where y is negative.
func TestDivisionRoundsDown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.IntRange(-1000, 1000).Draw(t, "x")
		y := rapid.IntRange(-50, 50).Filter(func(y int) bool { return y != 0 }).Draw(t, "y")
		q, err := Evaluate("x//y", map[string]int{"x": x, "y": y})
		if err != nil {
			t.Fatal(err)
		}
		if rest := x - q*y; rest != 0 && (rest < 0) != (y < 0) || max(rest, -rest) >= max(y, -y) {
			t.Fatalf("%d//%d is %d", x, y, q)
		}
	})
}
