package main

import (
	"fmt"
	"strconv"

	"assay/internal/cell"

	"github.com/spf13/pflag"
)

// addSpecial adds a flag for each setting that only some engines have.
func addSpecial(fs *pflag.FlagSet, into *cell.Special) {
	for _, s := range cell.SpecialSettings() {
		if s.Switch == "" {
			fs.StringVar(s.Of(into), s.Flag, "", s.Help)
			continue
		}
		fs.Var(&switchValue{s.Of(into), s.Switch}, s.Flag, s.Help)
		fs.Lookup(s.Flag).NoOptDefVal = "true"
	}
}

// specialFlags are the names of those flags.
func specialFlags() []string {
	var out []string
	for _, s := range cell.SpecialSettings() {
		out = append(out, s.Flag)
	}
	return out
}

// switchValue is a flag that is given or not, and stands for a setting's value.
type switchValue struct {
	into *string
	on   string
}

func (v *switchValue) String() string {
	return strconv.FormatBool(v.into != nil && *v.into == v.on && v.on != "")
}

func (v *switchValue) Type() string { return "bool" }

func (v *switchValue) Set(text string) error {
	given, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*v.into = ""
	if given {
		*v.into = v.on
	}
	return nil
}
