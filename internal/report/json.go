package report

import (
	"io"

	"assay/internal/clean"
)

// writeJSON prints a value for programs: raw numbers, indented.
func writeJSON[T any](w io.Writer, v T) error {
	return clean.WriteJSON(w, v, "  ")
}
