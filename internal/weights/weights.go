// Package weights says how large a model's weights are, without loading them and
// without a library: what a checkpoint's publisher counts, what the headers of its
// safetensors files add up to, or what its config.json works out to, for the
// types whose layers are of a known form.
//
// A Size has the number of parameters and, where files are there, the bytes as they
// are stored. Packed weights (GPTQ, AWQ, bitsandbytes, MXFP4) hold several
// parameters in an element: they are counted as what they stand for, and are
// as large as they are stored. What cannot be worked out is not guessed: a Size
// without parameters and bytes is unknown.
package weights

import (
	"fmt"

	"assay/internal/platform"
)

// Size is how large weights are; the zero value is unknown.
type Size struct {
	Parameters int64  `json:"parameters,omitempty"`
	Stored     int64  `json:"stored_bytes,omitempty"` // of the files; 0 where none are there
	Packed     string `json:"packed,omitempty"`       // how quantised weights are stored: gptq, 4 bits
	Source     string `json:"source,omitempty"`       // what this is known from
	About      bool   `json:"about,omitempty"`        // worked out, and right within some percent
}

// bytesOf are the bytes of a parameter. Quantised to 8 bits is one, whatever
// activations are.
var bytesOf = map[platform.DType]float64{
	platform.FP32: 4, platform.FP16: 2, platform.BF16: 2, platform.INT8: 1, platform.A16W8: 1, platform.W8: 1, platform.W4: 0.5,
}

// Known reports whether anything is.
func (s Size) Known() bool { return s.Parameters > 0 || s.Stored > 0 }

// In is how many bytes the weights take in a dtype; 0 is unknown. Packed weights
// stay as they are stored: nothing here unpacks them.
func (s Size) In(d platform.DType) int64 {
	if s.Packed != "" {
		return s.Stored
	}
	return int64(float64(s.Parameters) * bytesOf[d])
}

// String is the size for people.
func (s Size) String() string {
	if !s.Known() {
		return "size not checked"
	}
	text := ""
	if s.About {
		text = "about "
	}
	if s.Parameters > 0 {
		text += Count(s.Parameters) + " parameters"
	}
	switch {
	case s.Packed != "" && s.Parameters > 0:
		text += fmt.Sprintf(", %s as stored (%s)", Bytes(s.Stored), s.Packed)
	case s.Packed != "" || s.Parameters == 0:
		text += fmt.Sprintf("%s as stored", Bytes(s.Stored))
		if s.Packed != "" {
			text += " (" + s.Packed + ")"
		}
	default:
		text += fmt.Sprintf(", %s in fp32, %s in fp16", Bytes(s.In(platform.FP32)), Bytes(s.In(platform.FP16)))
	}
	return text + " (" + s.Source + ")"
}

// Count is a number of parameters for people.
func Count(n int64) string {
	f := float64(n)
	switch {
	case n >= 999_500_000:
		return fmt.Sprintf("%.3g billion", f/1e9)
	case n >= 999_500:
		return fmt.Sprintf("%.3g million", f/1e6)
	}
	return fmt.Sprint(n)
}

// Bytes is a size for people, in units of a thousand as devices are sold.
func Bytes(n int64) string {
	f := float64(n)
	switch {
	case n >= 99_950_000_000:
		return fmt.Sprintf("%.0f GB", f/1e9)
	case n >= 99_950_000:
		return fmt.Sprintf("%.1f GB", f/1e9)
	case n >= 999_500:
		return fmt.Sprintf("%.0f MB", f/1e6)
	}
	return fmt.Sprintf("%.0f kB", f/1e3)
}
