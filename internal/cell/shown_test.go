package cell

import "testing"

func TestShown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		verdict  Verdict
		evidence Evidence
		want     Verdict
		word     string
	}{
		{Works, Measured, Works, "works"},
		{Works, Emulated, Works, "works"},
		{Works, Compiled, ShouldWork, "should work"},
		{Works, Derived, ShouldWork, "should work"},
		{Works, Predicted, ShouldWork, "should work"},
		{Partial, Derived, ShouldWorkPartly, "should work partly"},
		{Partial, Measured, Partial, "partial"},
		{Fails, Derived, Fails, "fails"},
		{Unavailable, None, Unavailable, "unavailable"},
	} {
		if got := Shown(tc.verdict, tc.evidence); got != tc.want || got.Word() != tc.word {
			t.Errorf("%s, %s is shown as %s, %q, want %s", tc.verdict, tc.evidence, got, got.Word(), tc.want)
		}
	}
}
