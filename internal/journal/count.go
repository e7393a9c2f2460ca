package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Count tells how many journals a folder has, and how many lines of results and
// detections. The first problem that it meets is its error.
func Count(dir string) (files, lines int, err error) {
	found, err := filepath.Glob(filepath.Join(dir, "*"+Extension))
	if err != nil {
		return 0, 0, err
	}
	for _, f := range found {
		n, err := countLines(f)
		if err != nil {
			return 0, 0, err
		}
		lines += n
	}
	return len(found), lines, nil
}

func countLines(path string) (int, error) {
	r, err := Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer r.Close()
	n := 0
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, err
		}
		n++
	}
	if problems := r.Problems(); len(problems) > 0 {
		return n, problems[0]
	}
	return n, nil
}
