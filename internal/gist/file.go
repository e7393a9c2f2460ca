package gist

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"assay/internal/wholefile"
)

// most bounds the first line of an index: a few hundred bytes for each journal.
const most = 64 << 20

var errDamaged = errors.New("the index of own results is damaged")

// readHead opens the file and reads its first line. One that is missing, or that is
// not whole, is as good as none.
func (g *Gist) readHead() {
	f, err := os.Open(g.path())
	if err == nil {
		g.head, g.start, err = parseHead(f)
		g.file = f
	}
	if err != nil {
		_ = g.Close() // nothing was written
		g.head, g.start = head{}, 0
	}
}

func parseHead(f *os.File) (h head, start int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return h, 0, err
	}
	first, err := bufio.NewReaderSize(io.LimitReader(f, most), 64<<10).ReadBytes('\n')
	if err != nil {
		return h, 0, err
	}
	if err := json.Unmarshal(first, &h); err != nil {
		return h, 0, err
	}
	start = int64(len(first))
	whole := h.Schema == Schema && start+h.Body == info.Size()
	for _, b := range h.Types {
		whole = whole && b.At >= 0 && b.Bytes >= 0 && b.At <= h.Body && b.Bytes <= h.Body-b.At
	}
	if !whole {
		return h, 0, errDamaged
	}
	return h, start, nil
}

// ofType are the lines of a type, read where they are not in memory yet.
func (g *Gist) ofType(t string) ([]line, error) {
	if lines, ok := g.lines[t]; ok {
		return lines, nil
	}
	b, ok := g.head.Types[t]
	if !ok || g.file == nil {
		return nil, nil
	}
	text := make([]byte, b.Bytes)
	if _, err := g.file.ReadAt(text, g.start+b.At); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	var out []line
	for l := range bytes.Lines(text) {
		var read line
		if err := json.Unmarshal(l, &read); err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		out = append(out, read)
	}
	g.lines[t] = out
	return out, nil
}

// forgetIf forgets the lines of a journal that was read before.
func (g *Gist) forgetIf(before known) error {
	if before.Run == "" {
		return nil
	}
	return g.forget(before.File)
}

// forget leaves out the lines of a journal.
func (g *Gist) forget(file string) error {
	g.stale = true
	for _, t := range g.Types() {
		lines, err := g.ofType(t)
		if err != nil {
			return err
		}
		g.lines[t] = slices.DeleteFunc(lines, func(l line) bool { return l.File == file })
	}
	return nil
}

// write writes the file, complete or not at all. Nothing depends on it: one that
// could not be written is made by the next question.
func (g *Gist) write() {
	text, err := g.encode()
	if err == nil {
		err = g.Close() // all of it is in memory now, and some systems replace no open file
	}
	if err == nil {
		_ = wholefile.Write(g.path(), text, wholefile.Options{}) // see above
	}
}

func (g *Gist) encode() ([]byte, error) {
	h, body := g.head, bytes.Buffer{}
	h.Schema, h.Types = Schema, map[string]block{}
	out := json.NewEncoder(&body)
	for _, t := range g.Types() {
		lines, err := g.ofType(t)
		if err != nil {
			return nil, err
		}
		b := block{At: int64(body.Len())}
		for _, l := range lines {
			if err := out.Encode(l); err != nil {
				return nil, err
			}
		}
		if b.Bytes = int64(body.Len()) - b.At; b.Bytes > 0 {
			h.Types[t] = b
		}
	}
	h.Body = int64(body.Len())
	first, err := json.Marshal(h)
	return append(append(first, '\n'), body.Bytes()...), err
}
