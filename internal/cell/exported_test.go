package cell

import "testing"

// TestRescued: what is counted is a default with wrong numbers that another
// setting makes right, not one that was refused, nor one that nothing helped.
func TestRescued(t *testing.T) {
	t.Parallel()
	wrong, refused := ExportTry{"onnx", "its numbers are wrong by 0.5"}, ExportTry{"onnx", "no conversion rule"}
	right, off := &Numerics{Pass: true}, &Numerics{}
	for name, tc := range map[string]struct {
		export   *Exported
		numerics *Numerics
		want     bool
	}{
		"torch":                   {nil, right, false},
		"the default":             {&Exported{}, right, false},
		"refused":                 {&Exported{Earlier: []ExportTry{refused}}, right, false},
		"refused, a second wrong": {&Exported{Earlier: []ExportTry{refused, wrong}}, right, false},
		"wrong":                   {&Exported{Earlier: []ExportTry{wrong}}, right, true},
		"wrong, a second refused": {&Exported{Earlier: []ExportTry{wrong, refused}}, right, true},
		"nothing helped":          {&Exported{Earlier: []ExportTry{wrong}}, off, false},
		"not compared":            {&Exported{Earlier: []ExportTry{wrong}}, nil, false},
	} {
		if got := (Result{Export: tc.export, Numerics: tc.numerics}).Rescued(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
