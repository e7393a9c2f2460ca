package cell

import (
	"encoding/json"
	"fmt"
)

// Key says which cells are the same. Two cells have one key when they differ in
// nothing but what is derived from them and what the caller said does not matter.
// It may be compared and be the key of a map.
//
// A field that is added to Cell tells cells apart until somebody says that it
// may be ignored: nothing is left out by being forgotten.
type Key struct{ of Cell }

// Any is a part of a cell that may be ignored.
type Any func(*Cell)

// AnyPlatform ignores the platform and its device, but not the engine.
func AnyPlatform(c *Cell) { c.Platform, c.Device = "", "" }

// AnyTarget ignores where a cell runs: platform, device, engine and browser.
func AnyTarget(c *Cell) { c.Platform, c.Device, c.Engine, c.Browser = "", "", "", "" }

// AnyDevice ignores which of a platform's devices, or which browser, it is.
func AnyDevice(c *Cell) { c.Device, c.Browser = "", "" }

// AnyCheckpoint ignores whose configuration it is, beside the type.
func AnyCheckpoint(c *Cell) { c.Checkpoint, c.Revision = "", "" }

// AnyCheckpointIfTiny ignores it at size tiny: such a result is the type's, whatever
// checkpoint was named.
func AnyCheckpointIfTiny(c *Cell) {
	if c.Size == Tiny {
		AnyCheckpoint(c)
	}
}

// AnyWeights ignores where weights come from, and the seed of drawn ones.
func AnyWeights(c *Cell) { c.Weights, c.Seed = "", 0 }

// AnyTask ignores the head.
func AnyTask(c *Cell) { c.Task = "" }

// AnyDType ignores what it computes in.
func AnyDType(c *Cell) { c.DType = "" }

// AnyBatch ignores how many samples are given at once.
func AnyBatch(c *Cell) { c.Batch = 0 }

// AnyInput ignores the size of one sample.
func AnyInput(c *Cell) { c.Seq, c.Image = 0, 0 }

// AnyThreads ignores how many threads it may use.
func AnyThreads(c *Cell) { c.Threads = 0 }

// AnySpecial ignores the settings that only some engines have.
func AnySpecial(c *Cell) { c.Special = Special{} }

// Key returns what the cell is the same by, ignoring the named parts.
func (c Cell) Key(ignoring ...Any) Key {
	c = c.filled().bare()
	for _, ignore := range ignoring {
		ignore(&c)
	}
	return Key{c}
}

// bare is the cell without what follows from its other fields.
func (c Cell) bare() Cell {
	c.Class, c.Family, c.Target, c.Hash = "", "", "", ""
	return c
}

// Cell is what the key holds: a cell without what follows from its other fields
// and what was ignored.
func (k Key) Cell() Cell { return k.of }

// String gives keys an order: by type first, then by the other fields.
func (k Key) String() string {
	b, err := json.Marshal(k.of)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return string(b)
}

// Beside are the settings beside model, target, dtype and head that are not the
// usual ones, for people: "batch 8", "mode generate".
func (c Cell) Beside() []string {
	var out []string
	for _, n := range []struct {
		name     string
		v, usual int
	}{{"batch", c.Batch, 1}, {"seq", c.Seq, 0}, {"image", c.Image, 0}, {"tokens", c.Tokens, 0}, {"procs", c.Procs, 0}} {
		if n.v != n.usual && n.v != 0 {
			out = append(out, fmt.Sprintf("%s %d", n.name, n.v))
		}
	}
	if c.Mode != "" && c.Mode != Infer {
		out = append(out, "mode "+c.Mode)
	}
	for _, s := range special {
		if v := *s.Of(&c.Special); v != "" && v != s.Values[0] {
			out = append(out, s.Name+" "+v)
		}
	}
	return out
}
