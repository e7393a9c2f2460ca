package matrix

import (
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Wasm is the column of what ran on the processor inside a browser. It is a
// target of the CPU, and yet another thing: what torch does there says nothing
// of a page. It stands beside the eight platforms where somebody tried it.
const Wasm platform.Name = "cpu/wasm"

// columns are the eight platforms, and Wasm and those of torch's plug-ins where
// there is something of them.
func columns(observations []Observation) []platform.Name {
	names := platform.Names()
	for _, more := range append([]platform.Name{Wasm}, platform.Plugins()...) {
		if slices.ContainsFunc(observations, func(x Observation) bool { return columnOf(x.Cell) == more }) {
			names = append(names, more)
		}
	}
	return names
}

// columnOf says in which column a cell's result belongs.
func columnOf(c cell.Cell) platform.Name {
	if c.Engine == platform.Wasm {
		return Wasm
	}
	return c.Platform
}

// Title is a column's name as people write it.
func Title(column platform.Name) string {
	if column == Wasm {
		return "WebAssembly (browser)"
	}
	p, _ := platform.Get(column)
	return p.Title
}
