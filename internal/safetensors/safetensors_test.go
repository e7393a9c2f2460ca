package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file is a safetensors file with this header and n bytes of data.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

const twoTensors = `{"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,2],"data_offsets":[12,20]},"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}`

func TestRead(t *testing.T) {
	t.Parallel()
	b := file(twoTensors, 20)
	h, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Tensors) != 2 || h.Tensors[0].Name != "a" || h.Tensors[1].Name != "b" || h.Metadata["format"] != "pt" {
		t.Errorf("got %+v", h)
	}
}

func TestReadAccepts(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"no tensors":       file(`{}`, 0),
		"padded":           file(`{}      `, 0),
		"a scalar":         file(`{"x":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, 8),
		"an empty tensor":  file(`{"x":{"dtype":"F64","shape":[0,9],"data_offsets":[0,0]}}`, 0),
		"packed half byte": file(`{"x":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 2),
	} {
		if _, err := Read(bytes.NewReader(b), int64(len(b))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	long := binary.LittleEndian.AppendUint64(nil, 1000)
	absurd := binary.LittleEndian.AppendUint64(nil, math.MaxUint64)
	one := func(place string, n int) []byte { return file(`{"x":`+place+`}`, n) }
	for _, c := range []struct {
		name string
		file []byte
		says string
		cut  bool
	}{
		{"nothing", nil, "0 bytes", true},
		{"seven bytes", make([]byte, 7), "7 bytes", true},
		{"header beyond the file", append(long, '{'), "header has 1000 bytes", true},
		{"absurd length", append(absurd, '{', '}'), "more than the format's", false},
		{"data cut", file(twoTensors, 19), "cut off: its tensors have 20 bytes, and 19 are there", true},
		{"bytes at the end", file(twoTensors, 21), "1 bytes after", false},
		{"not JSON", file(`{"x`, 0), "not JSON", false},
		{"a list", file(`[]`, 0), "not a JSON object", false},
		{"unended", file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`, 1), "not JSON", false},
		{"two objects", file(`{}{}`, 0), "text after", false},
		{"twice", file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), "twice", false},
		{"metadata of numbers", file(`{"__metadata__":{"a":1}}`, 0), "not text", false},
		{"no shape", one(`{"dtype":"U8","data_offsets":[0,1]}`, 1), "without", false},
		{"three offsets", one(`{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}`, 1), "without", false},
		{"unknown dtype", one(`{"dtype":"F128","shape":[1],"data_offsets":[0,16]}`, 16), "not a dtype", false},
		{"negative shape", one(`{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}`, 1), "wrongly", false},
		{"shape overflows", one(`{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}`, 0), "more than any file", false},
		{"wrong size", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,4]}`, 4), "do not fit", false},
		{"backwards", one(`{"dtype":"U8","shape":[1],"data_offsets":[1,0]}`, 1), "do not fit", false},
		{"half a byte", one(`{"dtype":"F4","shape":[1],"data_offsets":[0,0]}`, 0), "do not fit", false},
		{"a gap", one(`{"dtype":"U8","shape":[1],"data_offsets":[1,2]}`, 2), "gap", false},
		{"overlap", file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), "overlap", false},
	} {
		_, err := Read(bytes.NewReader(c.file), int64(len(c.file)))
		bad := (*Error)(nil)
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, c.says) || bad.Cut != c.cut {
			t.Errorf("%s: got %v, want %q (cut %v)", c.name, err, c.says, c.cut)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, file(twoTensors, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.HasPrefix(err.Error(), path+" is cut off") {
		t.Errorf("got %v", err)
	}
}

func TestReadIndex(t *testing.T) {
	t.Parallel()
	x, err := ReadIndex(strings.NewReader(`{"metadata":{"total_size":8},"weight_map":{"a":"m-2.safetensors","b":"m-1.safetensors","c":"m-2.safetensors"}}`))
	if err != nil || !slices.Equal(x.Files(), []string{"m-1.safetensors", "m-2.safetensors"}) {
		t.Errorf("got %v, %v", x, err)
	}
	for text, says := range map[string]string{
		``: "not an index", `[]`: "not an index", `{}`: "empty", `{"weight_map":{}}`: "empty", `{"weight_map":{"a":1}}`: "not an index",
		`{"weight_map":{"a":"../m"}}`: "not a file beside", `{"weight_map":{"a":"/m"}}`: "not a file beside",
		`{"weight_map":{"a":"d\\m"}}`: "not a file beside", `{"weight_map":{"a":""}}`: "not a file beside", `{"weight_map":{"a":".."}}`: "not a file beside",
		`{"weight_map":{"a":"c:m"}}`: "not a file beside", `{"weight_map":{"a":"` + strings.Repeat("m", 256) + `"}}`: "not a file beside",
	} {
		if _, err := ReadIndex(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60s: got %v, want %q", text, err, says)
		}
	}
}

func TestIndexAgainstHeaders(t *testing.T) {
	t.Parallel()
	x := Index{map[string]string{"a": "1", "b": "2"}}
	held := func(names ...string) (h Header) {
		for _, n := range names {
			h.Tensors = append(h.Tensors, Tensor{Name: n})
		}
		return h
	}
	if err := x.Check(map[string]Header{"1": held("a"), "2": held("b", "more")}); err != nil {
		t.Error(err)
	}
	if err := x.Check(map[string]Header{"1": held("a", "b"), "2": held()}); err == nil || !strings.Contains(err.Error(), `"b" into 2`) {
		t.Errorf("got %v", err)
	}
}

// FuzzRead: whatever the file, what is accepted fills it exactly.
func FuzzRead(f *testing.F) {
	f.Add(file(twoTensors, 20))
	f.Add(file(`{"x":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 2))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 127, '{'})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		end := uint64(0)
		for _, tensor := range h.Tensors {
			if tensor.Begin != end || tensor.End < tensor.Begin {
				t.Fatalf("not one after the other: %+v", h.Tensors)
			}
			end = tensor.End
		}
		if n := binary.LittleEndian.Uint64(b); end+n+8 != uint64(len(b)) {
			t.Fatalf("%d bytes of header and %d of data in a file of %d", n, end, len(b))
		}
	})
}

// FuzzReadIndex: whatever the index, the files it names lie beside it.
func FuzzReadIndex(f *testing.F) {
	f.Add([]byte(`{"weight_map":{"a":"m.safetensors"}}`))
	f.Add([]byte(`{"weight_map":{"a":"../../etc/passwd"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ReadIndex(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, name := range x.Files() {
			if filepath.Dir(filepath.Join("folder", name)) != "folder" {
				t.Fatalf("%q lies elsewhere", name)
			}
		}
	})
}
