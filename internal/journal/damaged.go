package journal

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"assay/internal/cell"
	"assay/internal/input"
)

// UnknownHost is the host of lines whose journal has lost its header.
const UnknownHost = "unknown"

// Salvage opens a journal whose header cannot be read. Its name says which run
// it is of, and each of its lines says so too, so that those that are whole still
// count; on which host they ran is lost. The error is why the file was not a
// journal where no line of it is.
func Salvage(path string, why error) (*Reader, error) {
	id := strings.TrimSuffix(filepath.Base(path), Extension)
	foreign := (*ForeignError)(nil)
	if !errors.As(why, &foreign) || checkRunID(id) != nil {
		return nil, why
	}
	if whole, err := anyLine(path, id); err != nil || !whole {
		return nil, errors.Join(why, err)
	}
	r, err := headless(path, id)
	if err != nil {
		return nil, err
	}
	r.problem(errors.New("its header is damaged: it is not known on which host the lines after it ran"))
	return r, nil
}

// headless is a reader of such a file, behind its first line.
func headless(path, id string) (*Reader, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, file: f, in: bufio.NewReaderSize(f, 64<<10), limit: MaxLine,
		header: Header{Schema: Schema, Run: cell.Run{ID: id}, Host: cell.Host{ID: UnknownHost}}}
	long := (*LongError)(nil)
	if _, err := r.readLine(); err != nil && !errors.As(err, &long) && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func anyLine(path, id string) (bool, error) {
	r, err := headless(path, id)
	if err != nil {
		return false, err
	}
	defer r.Close()
	_, err = r.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// Lines are the ids of a journal's good lines, and whether others are damaged.
func Lines(path string) (ids []string, damaged bool, err error) {
	r, err := Open(path)
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return ids, len(r.Problems()) > 0, nil
		}
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, line.ID)
	}
}
