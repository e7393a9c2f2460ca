package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"assay/internal/cell"
	"assay/internal/filelock"
	"assay/internal/input"
	"assay/internal/wholefile"
)

// Book is the file in which chosen workgroup sizes are kept, per browser,
// adapter and kernel. The file need not exist.
type Book struct{ Path string }

// BookIn is the book in a data folder.
func BookIn(data string) Book { return Book{filepath.Join(data, "web-tuning.json")} }

// Size is the workgroup size that a kernel has in a browser on an adapter.
type Size struct {
	Browser   string         `json:"browser"`
	Version   string         `json:"version"` // of the browser that was measured; another one takes the size too
	Adapter   Adapter        `json:"adapter"`
	Kernel    string         `json:"kernel"`
	Shape     map[string]int `json:"shape"`
	Workgroup int            `json:"workgroup"`
	Default   int            `json:"default"`
	Against   string         `json:"against"` // the size that was compared with the default
	Ratio     float64        `json:"ratio"`   // its median over the default's, within Lo and Hi
	Lo        float64        `json:"lo"`
	Hi        float64        `json:"hi"`
	Differs   bool           `json:"differs"`
	Evidence  cell.Evidence  `json:"evidence"`
	TunedAt   time.Time      `json:"tuned_at"`
}

// Kept is what a row of a workgroup's search gives to keep; ok is false where
// it shows nothing.
func Kept(row Row, k Kernel, s Setting, now time.Time) (size Size, ok bool) {
	n, err := strconv.Atoi(row.Chosen)
	if err != nil || s.Adapter == nil || row.Lo == nil {
		return size, false
	}
	return Size{
		s.Browser, s.Version, *s.Adapter, k.Name, k.Shape, n, DefaultSize, row.B.Name,
		*row.Ratio, *row.Lo, *row.Hi, row.Differs, s.Evidence, now.UTC(),
	}, true
}

func (s Size) replaces(o Size) bool {
	return s.Browser == o.Browser && s.Adapter == o.Adapter && s.Kernel == o.Kernel
}

// contents is how a book is written.
type contents struct {
	Schema int    `json:"schema"`
	Sizes  []Size `json:"sizes"`
}

// Read returns what is kept. A book that is not there is empty.
func (b Book) Read() ([]Size, error) {
	text, err := os.ReadFile(b.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the tuned sizes: %w", err)
	}
	var c contents
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; remove it, and tune again", b.Path, input.InWords(err))
	}
	if c.Schema != Schema {
		return nil, fmt.Errorf("%s has schema %d, and this Assay reads %d: update Assay, or remove the file and tune again", b.Path, c.Schema, Schema)
	}
	return c.Sizes, nil
}

// For returns what is kept of a browser's adapters; never nil.
func (b Book) For(browser string) ([]Size, error) {
	all, err := b.Read()
	return slices.DeleteFunc(append([]Size{}, all...), func(s Size) bool { return s.Browser != browser }), err
}

// Chosen are the sizes for one browser and adapter, by kernel.
func (b Book) Chosen(s Setting) (map[string]int, error) {
	kept, err := b.For(s.Browser)
	out := map[string]int{}
	for _, size := range kept {
		if s.Adapter != nil && size.Adapter == *s.Adapter {
			out[size.Kernel] = size.Workgroup
		}
	}
	return out, err
}

// lockLimit bounds how long another Assay may write the book.
const lockLimit = 10 * time.Second

// Keep writes sizes down, in place of what was kept of the same kernels there.
func (b Book) Keep(ctx context.Context, sizes ...Size) error {
	if len(sizes) == 0 {
		return nil
	}
	lock, err := filelock.Wait(ctx, b.Path+".lock", filelock.Exclusive, lockLimit, func() {})
	if err != nil {
		return fmt.Errorf("save the tuned sizes: %w", err)
	}
	defer lock.Close()
	all, err := b.Read()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(old Size) bool {
		return slices.ContainsFunc(sizes, func(s Size) bool { return s.replaces(old) })
	})
	text, err := json.MarshalIndent(contents{Schema, append(all, sizes...)}, "", " ")
	if err != nil {
		return err
	}
	return wholefile.Write(b.Path, append(text, '\n'), wholefile.Options{Sync: true})
}
