package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"assay/internal/cell"
	"assay/internal/wholefile"

	"github.com/andybalholm/brotli"
)

// Packed ends the name of a compressed journal: one to be published.
const Packed = Extension + ".br"

// errPacked says that a packed journal is read from its start only.
var errPacked = errors.New("a packed journal cannot be read from the middle")

// unpack is what a journal's lines are read from.
func unpack(path string, f *os.File) io.Reader {
	if strings.HasSuffix(path, Packed) {
		return io.LimitReader(brotli.NewReader(f), maxImport)
	}
	return f
}

// Pack writes a journal compressed, for others to read and import. What belongs
// to the machine alone is left out: the output of children, which names files
// there. So is the plan, whose cells are in the results. A journal with damaged
// lines is refused.
func Pack(src, dst string) (err error) {
	r, err := Open(src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return wholefile.Stream(dst, wholefile.Options{Mode: 0o644}, func(f *os.File) error {
		w := brotli.NewWriterOptions(f, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
		return errors.Join(packLines(w, r), w.Close())
	})
}

func packLines(w io.Writer, r *Reader) error {
	head := headerLine(r.header)
	head.ID, head.Plan, head.Imported = r.header.Run.ID+".0", nil, r.header.Imported
	for line := head; ; {
		b, err := line.encode(MaxLine)
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			return err
		}
		next, err := r.Next()
		if errors.Is(err, io.EOF) {
			return damage(r)
		}
		if err == nil {
			line, err = published(next)
		}
		if err != nil {
			return err
		}
	}
}

// damage is the first line of a journal that could not be read. A torn one at
// the end was never acknowledged.
func damage(r *Reader) error {
	if len(r.problems) == 0 || r.torn && len(r.problems) == 1 {
		return nil
	}
	return fmt.Errorf("%s cannot be packed: %w", r.path, r.problems[0])
}

func published(l Line) (wire, error) {
	w := wire{Kind: l.Kind, ID: l.ID, Detection: l.Detection, Imported: l.Imported}
	if !l.At.IsZero() {
		w.At = &l.At
	}
	if l.Result == nil {
		return w, nil
	}
	body, err := compact(withoutLog(*l.Result))
	w.Result = body
	return w, err
}

func withoutLog(r cell.Result) cell.Result {
	if r.Failure != nil {
		failure := *r.Failure
		failure.Log = ""
		r.Failure = &failure
	}
	return r
}
