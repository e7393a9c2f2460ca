package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"assay/internal/input"
)

// Tensor is where and how a tensor lies in a file.
type Tensor struct {
	Name  string
	DType string
	Shape []uint64
	// Begin and End are its bytes, counted from the end of the header.
	Begin, End uint64
}

// Header is what a file says it holds.
type Header struct {
	Tensors  []Tensor          // in the order of their bytes
	Metadata map[string]string // free text, such as {"format": "pt"}
}

// bitsOf are the format's dtypes. Those of less than a byte are packed.
var bitsOf = map[string]uint64{
	"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
	"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
	"F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}

// Open reads and checks the header of the file at path.
func Open(path string) (Header, error) {
	f, err := input.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Header{}, err
	}
	h, err := Read(f, info.Size())
	if bad := (*Error)(nil); errors.As(err, &bad) {
		bad.Path = path
	}
	return h, err
}

// Read reads and checks the header of a file of size bytes. What is wrong with
// it is an *Error.
func Read(r io.Reader, size int64) (Header, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Header{}, cut("is not a safetensors file: it has %d bytes, fewer than the eight that it begins with", size)
	}
	n := binary.LittleEndian.Uint64(head[:])
	switch {
	case n > MaxHeader:
		return Header{}, wrong("is not a safetensors file: its header would have %d bytes, more than the format's %d", n, MaxHeader)
	case int64(n) > size-8:
		return Header{}, cut("is cut off: its header has %d bytes, and the file only %d", n, size)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, fmt.Errorf("read the header: %w", err)
	}
	h, bad := parse(text)
	if bad == nil {
		bad = h.laid(uint64(size) - 8 - n)
	}
	if bad != nil {
		return Header{}, bad
	}
	return h, nil
}

func cut(format string, args ...any) *Error {
	e := wrong(format, args...)
	e.Cut = true
	return e
}

// place is a tensor as the header writes it.
type place struct {
	DType   *string   `json:"dtype"`
	Shape   *[]uint64 `json:"shape"`
	Offsets *[]uint64 `json:"data_offsets"`
}

// parse reads the header's JSON. Names that come twice are refused: readers
// would not agree which one counts.
func parse(text []byte) (Header, *Error) {
	var h Header
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return h, wrong("has a header that is not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return h, wrong("has a header that is not JSON: %v", err)
		}
		if seen[name] {
			return h, wrong("names the tensor %.80q twice", name)
		}
		seen[name] = true
		if bad := h.entry(d, name); bad != nil {
			return h, bad
		}
	}
	if _, err := d.Token(); err != nil {
		return h, wrong("has a header that is not JSON: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return h, wrong("has text after its header's end")
	}
	return h, nil
}

func (h *Header) entry(d *json.Decoder, name string) *Error {
	if name == "__metadata__" {
		if err := d.Decode(&h.Metadata); err != nil {
			return wrong("has metadata that is not text: %v", err)
		}
		return nil
	}
	var p place
	if err := d.Decode(&p); err != nil {
		return wrong("describes the tensor %.80q wrongly: %v", name, err)
	}
	if p.DType == nil || p.Shape == nil || p.Offsets == nil || len(*p.Offsets) != 2 {
		return wrong("describes the tensor %.80q without its dtype, shape or place", name)
	}
	t := Tensor{Name: name, DType: *p.DType, Shape: *p.Shape, Begin: (*p.Offsets)[0], End: (*p.Offsets)[1]}
	if bad := t.check(); bad != nil {
		return bad
	}
	h.Tensors = append(h.Tensors, t)
	return nil
}

// check compares the tensor's bytes with its dtype and shape.
func (t Tensor) check() *Error {
	each, known := bitsOf[t.DType]
	if !known {
		return wrong("holds the tensor %.80q in %.20q, which is not a dtype of the format", t.Name, t.DType)
	}
	total := each
	for _, n := range t.Shape {
		over, product := bits.Mul64(total, n)
		if total = product; over != 0 {
			return wrong("holds the tensor %.80q with the shape %v, more than any file has", t.Name, t.Shape)
		}
	}
	if t.Begin > t.End || total%8 != 0 || t.End-t.Begin != total/8 {
		return wrong("gives the tensor %.80q (%s, %v) the bytes %d to %d, which do not fit", t.Name, t.DType, t.Shape, t.Begin, t.End)
	}
	return nil
}

// laid checks that the tensors fill the data without a gap or an overlap.
func (h *Header) laid(data uint64) *Error {
	slices.SortFunc(h.Tensors, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), cmp.Compare(a.Name, b.Name))
	})
	at := uint64(0)
	for _, t := range h.Tensors {
		if t.Begin != at {
			return wrong("has a gap or an overlap before the tensor %.80q", t.Name)
		}
		at = t.End
	}
	switch {
	case at > data:
		return cut("is cut off: its tensors have %d bytes, and %d are there", at, data)
	case at < data:
		return wrong("has %d bytes after its last tensor", data-at)
	}
	return nil
}
