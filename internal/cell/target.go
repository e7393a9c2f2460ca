package cell

import (
	"fmt"
	"strings"

	"assay/internal/platform"
)

// split returns the cell with a target that stands in its platform, such as
// cuda:1/onnxruntime, put into the fields that are meant. Those that are
// filled beside it must say the same.
func (c Cell) split() (Cell, error) {
	whole := string(c.Platform)
	if !strings.ContainsAny(whole, ":/@") {
		return c, nil
	}
	t, err := platform.SplitTarget(whole)
	if err != nil {
		return c, err
	}
	c.Platform = t.Platform
	for _, part := range []struct {
		name    string
		written string
		beside  string
		put     func(string)
	}{
		{"device", t.Device, c.Device, func(s string) { c.Device = s }},
		{"engine", string(t.Engine), string(c.Engine), func(s string) { c.Engine = platform.Engine(s) }},
		{"browser", t.Browser, c.Browser, func(s string) { c.Browser = s }},
	} {
		switch {
		case part.written == "":
		case part.beside != "" && part.beside != part.written:
			return c, fmt.Errorf("platform %q contradicts %s %q beside it: give one of them", whole, part.name, part.beside)
		default:
			part.put(part.written)
		}
	}
	return c, nil
}
