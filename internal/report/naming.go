package report

import (
	"assay/internal/cell"
	"assay/internal/matrix"
)

// called names a cell's model in results and progress. Cells of the noop engine
// differ in nothing but their task.
func called(c cell.Cell) string {
	if matrix.IsNoop(c) && c.Task != "" {
		return c.Type + " " + c.Task
	}
	return oneLine(matrix.Name(c.Model()))
}

// label is the row's name; a checkpoint that is called like its type says so.
func label(r matrix.Row) string {
	name := oneLine(matrix.Name(r.Model))
	if r.Checkpoint != "" && name == r.Type {
		return name + " (full)"
	}
	return name
}
