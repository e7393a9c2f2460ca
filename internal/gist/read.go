package gist

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"assay/internal/cell"
	"assay/internal/input"
	"assay/internal/journal"
)

// read reads a journal: from where the last reading ended if it only grew, else
// from its beginning.
func (g *Gist) read(name string, info fs.FileInfo, before known) (known, int64, error) {
	path := filepath.Join(g.dir, name)
	k := known{File: name, Size: info.Size(), Modified: info.ModTime()}
	r, err := journal.Open(path)
	switch {
	case errors.Is(err, journal.ErrEmpty):
		return k, 0, g.forgetIf(before)
	case errors.Is(err, fs.ErrNotExist):
		return k, 0, g.forgetIf(before)
	case err != nil:
		k.Problem, k.Problems = err.Error(), 1
		return k, 0, g.forgetIf(before)
	}
	defer r.Close()
	start := int64(0)
	if before.Run == r.Header().Run.ID && before.Offset <= info.Size() && tail(path, before.Offset) == before.Tail && before.Tail != "" {
		k.Problem, k.Problems, start = before.Problem, before.Problems, before.Offset
		if err := r.Resume(before.Offset, before.Lines); err != nil {
			return k, 0, err
		}
	} else if err := g.forgetIf(before); err != nil {
		return k, 0, err
	}
	k.Run, k.Host = r.Header().Run.ID, r.Header().Host
	if err := g.take(name, r); err != nil {
		k.Problem, k.Problems = err.Error(), k.Problems+1
	}
	k.problems(r)
	k.Offset, k.Lines = r.Offset(), r.Number()
	k.Tail = tail(path, k.Offset)
	return k, k.Offset - start, nil
}

// problems adds those of a reader. A torn last line is none: its run may still be
// writing it, and it is read when it is whole.
func (k *known) problems(r *journal.Reader) {
	all := r.Problems()
	if r.Torn() && len(all) > 0 {
		all = all[:len(all)-1]
	}
	if len(all) > 0 && k.Problem == "" {
		k.Problem = all[0].Error()
	}
	k.Problems += len(all)
}

// take adds the lines that a reader still has.
func (g *Gist) take(name string, r *journal.Reader) error {
	for {
		l, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case l.Kind == journal.KindResult:
			err = g.add(name, l)
		case l.Kind == journal.KindDetection && !l.Imported:
			g.detected(l)
		}
		if err != nil {
			return err
		}
	}
}

func (g *Gist) add(name string, l journal.Line) error {
	b, err := json.Marshal(short(*l.Result))
	if err != nil {
		return fmt.Errorf("line %d: %w", l.Number, err)
	}
	t := l.Result.Cell.Type
	lines, err := g.ofType(t)
	if err != nil {
		return err
	}
	g.lines[t] = append(lines, line{name, l.Imported, b})
	return nil
}

// short is a result without its log, samples, outputs and times.
func short(r cell.Result) cell.Result {
	s := cell.Result{Cell: r.Cell, Content: r.Content, Verdict: r.Verdict, Evidence: r.Evidence, Note: r.Note, Timing: r.Timing,
		Fallback: r.Fallback, Parameters: r.Parameters, StartedAt: r.StartedAt, Context: cell.Context{Versions: r.Context.Versions}}
	if b := r.Context.Browser; b != nil {
		s.Context.Browser = &cell.Browser{Name: b.Name, Version: b.Version}
	}
	if f := r.Failure; f != nil {
		s.Failure = &cell.Failure{Class: f.Class, Detail: f.Detail}
	}
	if n := r.Numerics; n != nil {
		s.Numerics = &cell.Numerics{MaxRel: n.MaxRel, Tolerance: n.Tolerance, SNRdB: n.SNRdB, Pass: n.Pass}
	}
	if p := r.Placement; p != nil {
		s.Placement = &cell.Placement{Device: p.Device, Nodes: p.Nodes, LeftOver: p.LeftOver}
	}
	return s
}

// detected keeps the newest detection's memory.
func (g *Gist) detected(l journal.Line) {
	if g.head.Machine != nil && l.At.Before(g.head.Machine.At) {
		return
	}
	var report struct {
		Host struct {
			MemoryBytes int64 `json:"memory_bytes"`
		}
		Platforms []struct {
			Platform string
			Devices  []Device
		}
	}
	if json.Unmarshal(l.Detection, &report) != nil {
		return
	}
	m := &Machine{At: l.At, MemoryBytes: report.Host.MemoryBytes}
	for _, p := range report.Platforms {
		for _, d := range p.Devices {
			d.Platform = p.Platform
			m.Devices = append(m.Devices, d)
		}
	}
	g.head.Machine = m
}

// tailBytes is how much before an offset decides whether a journal only grew.
const tailBytes = 4096

// tail is the hash of the last bytes before an offset; "" where they are not there.
func tail(path string, offset int64) string {
	f, err := input.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, min(offset, tailBytes))
	if _, err := f.ReadAt(b, offset-int64(len(b))); err != nil || len(b) == 0 {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}
