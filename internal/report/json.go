package report

import (
	"encoding/json"
	"io"
)

// writeJSON prints a value for programs: raw numbers, indented, and the few
// characters that HTML minds left as they are.
func writeJSON[T any](w io.Writer, v T) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
