package matrix

import (
	"path"
	"strings"

	"assay/internal/cell"
	"assay/internal/platform"
)

// configuration is the file by which a model of the user's own is named.
const configuration = "config.json"

// Name is how people are shown a model: its type or checkpoint as it is, and of
// a folder only the folder's own name, because the way to it is private. Values
// for programs keep the whole.
func Name(model string) string {
	slashed := strings.ReplaceAll(model, `\`, "/")
	if path.Base(slashed) == configuration {
		slashed = path.Dir(slashed)
	} else if !absolute(slashed) {
		return model // owner/name is a checkpoint's name, not a path
	}
	if base := path.Base(slashed); base != "/" && base != "." {
		return base
	}
	return model
}

// absolute knows the paths of every system: results come from other machines.
func absolute(slashed string) bool {
	return path.IsAbs(slashed) || len(slashed) > 2 && slashed[1] == ':' && slashed[2] == '/'
}

// OfModels leaves out the results of the noop engine: they tell whether children
// are started, watched and ended as they should be, and nothing of any model.
// Nor does a cell that asked for what its model cannot have.
func OfModels(observations []Observation) []Observation {
	return filter(observations, func(x Observation) bool { return !IsNoop(x.Cell) && x.Suits() })
}

// IsNoop reports whether the cell runs no model.
func IsNoop(c cell.Cell) bool { return c.Normal().Engine == platform.Noop }
