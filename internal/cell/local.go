package cell

import (
	"strings"

	"assay/internal/platform"
)

// Travels reports whether any machine can run the cell: it names nothing
// that is only on one of them.
func (c Cell) Travels() bool { return len(c.LocalPaths()) == 0 }

// LocalPaths are what keeps a cell on the machine that it was planned on: its own
// config.json or ONNX file, its own folder of weights. None for a cell that
// travels. A plan may come from another system, so paths of both kinds are known.
func (c Cell) LocalPaths() []string {
	var out []string
	switch {
	case c.Engine == platform.Noop: // it reads nothing
		return nil
	case c.Type == ONNX && c.Checkpoint != "": // it holds its own weights
		return []string{c.Checkpoint}
	case isPath(c.Checkpoint):
		out = append(out, c.Checkpoint)
	}
	if c.Weights != "" && c.Weights != Random && c.Weights != Hub {
		out = append(out, c.Weights)
	}
	return out
}

// isPath tells a path from a checkpoint's name, which begins with a letter or a
// digit and has at most one slash.
func isPath(checkpoint string) bool {
	return strings.HasPrefix(checkpoint, ".") || strings.HasPrefix(checkpoint, "/") || strings.HasPrefix(checkpoint, "~") ||
		strings.ContainsAny(checkpoint, `\:`) || strings.Count(checkpoint, "/") > 1
}
