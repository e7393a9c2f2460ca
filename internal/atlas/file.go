package atlas

import (
	"bufio"
	"bytes"
	_ "embed" // the atlas
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"assay/internal/cell"

	"github.com/andybalholm/brotli"
)

//go:embed data/atlas.jsonl.br
var embedded []byte

// largest bounds what a file may unpack to.
const largest = 64 << 20

// head is the first line of the file. What many claims share stands here once.
type head struct {
	Schema       int                 `json:"schema"`
	Transformers string              `json:"transformers"`
	Diffusers    string              `json:"diffusers"`
	Columns      []Column            `json:"columns"`
	Runs         []Run               `json:"runs"`
	Versions     []map[string]string `json:"versions"`
	Reasons      []string            `json:"reasons"` // of what is unknown
}

// line is a type.
type line struct {
	Type   string  `json:"type"`
	Claims []entry `json:"claims"`
}

// entry is a claim in the file. Run, Versions and Reason count from one in the
// lists of the head; zero is none.
type entry struct {
	Verdict   cell.Verdict      `json:"v,omitempty"` // "" is unknown
	Evidence  cell.Evidence     `json:"e,omitempty"`
	Note      string            `json:"note,omitempty"`
	Class     cell.FailureClass `json:"class,omitempty"`
	Detail    string            `json:"detail,omitempty"`
	Placement map[string]int    `json:"nodes,omitempty"`
	LeftOver  map[string]int    `json:"left,omitempty"`
	Error     *float64          `json:"err,omitempty"`
	Tolerance float64           `json:"tol,omitempty"`
	SNRdB     *float64          `json:"snr,omitempty"`
	Versions  int               `json:"with,omitempty"`
	Run       int               `json:"run,omitempty"`
	At        int64             `json:"at,omitempty"` // seconds since 1970
	Reason    int               `json:"why,omitempty"`
}

// list gives each different value its place.
type list[T any] struct {
	values []T
	places map[string]int
}

// place is that of a value, counted from one.
func (l *list[T]) place(v T) (int, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	if l.places == nil {
		l.places = map[string]int{}
	}
	if l.places[string(b)] == 0 {
		l.values = append(l.values, v)
		l.places[string(b)] = len(l.values)
	}
	return l.places[string(b)], nil
}

func at[T any](values []T, place int) (v T, err error) {
	if place < 0 || place > len(values) {
		return v, fmt.Errorf("damaged: it has no value %d of %d", place, len(values))
	}
	if place == 0 {
		return v, nil
	}
	return values[place-1], nil
}

// Encode is the file of an atlas: the same bytes for the same claims. One with
// anything wrong in it is refused.
func (a Atlas) Encode() ([]byte, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	var runs list[Run]
	var with list[map[string]string]
	var why list[string]
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	for _, row := range a.Rows {
		l := line{Type: row.Type}
		for _, c := range row.Claims {
			e, err := pack(c, &runs, &with, &why)
			if err != nil {
				return nil, err
			}
			l.Claims = append(l.Claims, e)
		}
		if err := out.Encode(l); err != nil {
			return nil, err
		}
	}
	var file bytes.Buffer
	w := brotli.NewWriterOptions(&file, brotli.WriterOptions{Quality: brotli.BestCompression, LGWin: 24})
	err := json.NewEncoder(w).Encode(head{Schema, a.Transformers, a.Diffusers, a.Columns, runs.values, with.values, why.values})
	if err == nil {
		_, err = body.WriteTo(w)
	}
	if err = errors.Join(err, w.Close()); err == nil && file.Len() > Most {
		err = fmt.Errorf("the atlas takes %d bytes, more than %d", file.Len(), Most)
	}
	return file.Bytes(), err
}

func pack(c Claim, runs *list[Run], with *list[map[string]string], why *list[string]) (e entry, err error) {
	if !c.Known() {
		e.Reason, err = why.place(c.Note)
		return e, err
	}
	e = entry{Verdict: c.Verdict, Evidence: c.Evidence, Note: c.Note, Class: c.Class, Detail: c.Detail, Placement: c.Placement,
		LeftOver: c.LeftOver, Error: c.Error, Tolerance: c.Tolerance, SNRdB: c.SNRdB, At: c.At.Unix()}
	e.Run, err = runs.place(*c.Run)
	if err == nil {
		e.Versions, err = with.place(c.Versions)
	}
	return e, err
}

// Book is an atlas that was opened: types are read when they are asked for.
type Book struct {
	head
	lines map[string][]byte
}

// Embedded is the atlas of the program.
var Embedded = sync.OnceValues(func() (*Book, error) {
	b, err := Open(bytes.NewReader(embedded))
	if err != nil {
		return nil, fmt.Errorf("the embedded atlas: %w", err)
	}
	return b, nil
})

// File is the atlas of the program as it stands in a file.
func File() []byte { return slices.Clone(embedded) }

// Open opens an atlas file. Half of one is an error.
func Open(r io.Reader) (*Book, error) {
	in := bufio.NewReader(io.LimitReader(brotli.NewReader(r), largest))
	b := &Book{lines: map[string][]byte{}}
	first, err := in.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if err := json.Unmarshal(first, &b.head); err != nil {
		return nil, fmt.Errorf("its first line is damaged: %w", err)
	}
	if b.Schema != Schema {
		return nil, fmt.Errorf("it has schema %d, and this Assay reads %d", b.Schema, Schema)
	}
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 {
			return b, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
		name, ok := named(text)
		if !ok {
			return nil, fmt.Errorf("line %d is damaged", len(b.lines)+2)
		}
		b.lines[name] = text
	}
}

// named is the type that a line is about, read without the rest of it: a type has
// no character that JSON escapes.
func named(text []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"type":"`))
	name, _, found := bytes.Cut(rest, []byte{'"'})
	return string(name), ok && found
}

// Columns are those of every type.
func (b *Book) Columns() []Column { return b.head.Columns }

// Types is how many there are.
func (b *Book) Types() int { return len(b.lines) }

// Names are the types.
func (b *Book) Names() []string { return slices.Sorted(maps.Keys(b.lines)) }

// Claims are those of a type, one for each column. A type that the atlas does not
// have is unknown everywhere.
func (b *Book) Claims(modelType string) ([]Claim, error) {
	text, ok := b.lines[modelType]
	claims := make([]Claim, len(b.head.Columns))
	if !ok {
		for i, c := range b.head.Columns {
			claims[i] = Unknown(c, "the atlas does not have this type")
		}
		return claims, nil
	}
	var l line
	err := json.Unmarshal(text, &l)
	if err == nil && len(l.Claims) != len(claims) {
		err = fmt.Errorf("%d claims for %d columns", len(l.Claims), len(claims))
	}
	for i := 0; err == nil && i < len(claims); i++ {
		claims[i], err = b.unpack(modelType, b.head.Columns[i], l.Claims[i])
	}
	if err != nil {
		return nil, fmt.Errorf("the atlas is damaged at %s: %w", modelType, err)
	}
	return claims, nil
}

func (b *Book) unpack(modelType string, column Column, e entry) (Claim, error) {
	if e.Verdict == "" {
		why, err := at(b.Reasons, e.Reason)
		c := Unknown(column, why)
		return c, errors.Join(err, c.check(column))
	}
	c := Claim{Column: column, Verdict: e.Verdict, Evidence: e.Evidence, Of: subject(cell.Cell{Type: modelType, Size: cell.Tiny, Weights: cell.Random}),
		Note: e.Note, Class: e.Class, Detail: e.Detail, Placement: e.Placement, LeftOver: e.LeftOver,
		Error: e.Error, Tolerance: e.Tolerance, SNRdB: e.SNRdB, At: time.Unix(e.At, 0).UTC()}
	run, err := at(b.Runs, e.Run)
	if err != nil {
		return c, err
	}
	c.Run = &run
	c.Versions, err = at(b.Versions, e.Versions)
	return c, errors.Join(err, c.check(column))
}
