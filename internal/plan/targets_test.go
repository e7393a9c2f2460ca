package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/internal/platform"

	"github.com/google/go-cmp/cmp"
)

// TestAuto: auto goes to the best device of the machine that it is asked on, by
// the family of each model, and says so once of each target.
func TestAuto(t *testing.T) {
	t.Parallel()
	for machine, want := range map[string][]string{
		"h200":     {"bert on cuda fp32 tiny random", "vit on cuda fp32 tiny random"},
		"epyc-vm":  {"bert on cpu fp32 tiny random", "vit on cpu fp32 tiny random"},
		"apple-m3": {"bert on mps fp32 tiny random", "vit on mps fp32 tiny random"},
	} {
		p, said := planner(t, captured(t, machine))
		for range 2 { // the second plan of one asker says nothing new
			got, err := p.Plan(t.Context(), asking([]string{"bert", "vit"}, "auto"))
			if err != nil {
				t.Fatalf("%s: %v", machine, err)
			}
			if diff := cmp.Diff(want, lines(got.Cells)); diff != "" {
				t.Errorf("%s: %s", machine, diff)
			}
		}
		target := strings.Fields(want[0])[2]
		if len(*said) != 1 || !strings.HasPrefix((*said)[0], "platform auto is "+target+" here: ") || !strings.HasSuffix((*said)[0], "(--platform names another)") {
			t.Errorf("%s: said %q", machine, *said)
		}
		if got, err := p.Plan(t.Context(), asking([]string{"bert"})); err != nil || got.Cells[0].Target != target {
			t.Errorf("%s: no target at all: %+v, %v", machine, got, err)
		}
	}
}

// TestAutoRuledOut: what is known to fail somewhere goes to the next platform of the
// family's order, and where it fails everywhere to the first.
func TestAutoRuledOut(t *testing.T) {
	t.Parallel()
	p, said := planner(t, captured(t, "h200"))
	p.RuledOut = func(modelType string, at platform.Target) string {
		if modelType == "vit" && at.Platform == platform.CUDA || modelType == "t5" {
			return "it fails there"
		}
		return ""
	}
	got, err := p.Plan(t.Context(), asking([]string{"bert", "vit", "t5"}, "auto"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Cells {
		if (c.Platform == platform.CUDA) != (c.Type != "vit") {
			t.Errorf("%s goes to %s", c.Type, c.Target)
		}
	}
	if all := strings.Join(*said, "\n"); !strings.Contains(all, "platform auto passes over cuda for vit: it fails there") {
		t.Errorf("%s", all)
	}
}

// TestAutoNowhere: a machine that can run nothing is not a fault of the request's.
func TestAutoNowhere(t *testing.T) {
	t.Parallel()
	p, _ := planner(t, captured(t, "empty"))
	_, err := p.Plan(t.Context(), asking([]string{"bert"}, "auto"))
	if wrong := (*RequestError)(nil); err == nil || errors.As(err, &wrong) || !strings.Contains(err.Error(), "no platform is present") {
		t.Errorf("%v", err)
	}
}

// TestAll: every platform, and no browser whose adapter is software.
func TestAll(t *testing.T) {
	t.Parallel()
	for _, software := range []bool{false, true} {
		m := captured(t, "h200")
		m.software = software
		p, _ := planner(t, m)
		got, err := p.Plan(t.Context(), asking([]string{"bert"}, "all"))
		if err != nil {
			t.Fatal(err)
		}
		var on []platform.Name
		for _, c := range got.Cells {
			on = append(on, c.Platform)
		}
		want := platform.Names()
		if software {
			want = slices.DeleteFunc(want, func(n platform.Name) bool { return n == platform.WebGPU })
		}
		if diff := cmp.Diff(want, on); diff != "" {
			t.Errorf("software %v: %s", software, diff)
		}
	}
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	present := func() ([]platform.Name, error) { return captured(t, "h200").report.Present(), nil }
	for _, tc := range []struct{ names, want string }{
		{"cuda,cpu,cuda", "cpu, cuda"},
		{"auto", "cpu, cuda"},
		{"all,auto", "cpu, cuda, mps, openvino, qnn, rocm, webgpu, webnn"},
		{"abacus", "(or all, or auto)"},
		{"", "names no platform"},
	} {
		got, err := Platforms(strings.FieldsFunc(tc.names, func(r rune) bool { return r == ',' }), present)
		wrong := (*RequestError)(nil)
		if platform.Join(got) != tc.want && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, %v; want %s", tc.names, got, err, tc.want)
		}
	}
	broken := errors.New("the machine cannot be asked")
	if _, err := Platforms([]string{"auto"}, func() ([]platform.Name, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
