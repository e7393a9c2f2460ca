package journal

import "context"

// Whole is all that a file holds.
type Whole struct {
	Header   Header
	Lines    []Line
	Problems []Problem // lines that could not be used
}

// ReadAll reads a file that the user named: a journal, or the JSON that test and
// bench print. Nothing is imported.
func ReadAll(ctx context.Context, path string) (Whole, error) {
	s, err := readSource(ctx, path, path)
	if err != nil {
		return Whole{}, err
	}
	out := Whole{Header: s.header, Problems: s.problems}
	for _, l := range s.lines {
		out.Lines = append(out.Lines, l.line)
	}
	return out, nil
}
