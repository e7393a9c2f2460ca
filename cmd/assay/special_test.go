package main

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/cell"

	"github.com/spf13/pflag"
)

// TestSpecialFlags: each setting that only some engines have has a flag, which
// sets it and no other, and which a plan file says itself.
func TestSpecialFlags(t *testing.T) {
	t.Parallel()
	for _, s := range cell.SpecialSettings() {
		var got, want cell.Special
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		addSpecial(fs, &got)
		last := s.Values[len(s.Values)-1]
		*s.Of(&want) = last
		args := []string{"--" + s.Flag, last}
		if s.Switch != "" {
			args = args[:1]
		}
		if err := fs.Parse(args); err != nil || got != want {
			t.Errorf("%v: %+v, %v", args, got, err)
		}
		if !slices.Contains(settings, s.Flag) {
			t.Errorf("--%s goes with --plan, which says it for each cell", s.Flag)
		}
		if s.Help == "" || !strings.Contains(fs.FlagUsages(), s.Help) {
			t.Errorf("--%s says nothing about itself", s.Flag)
		}
	}
	var got cell.Special
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	addSpecial(fs, &got)
	if err := fs.Parse([]string{"--warm=false"}); err != nil || got != (cell.Special{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := fs.Parse([]string{"--warm=perhaps"}); err == nil {
		t.Error("--warm=perhaps is taken")
	}
}
