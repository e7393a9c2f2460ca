package weights

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/hub"
	"assay/internal/safetensors"
)

// OfFolder is the size of the weights in a folder, by their headers; config is the
// text of the config.json beside them. Pickles are not looked into: theirs is worked out from
// the bytes and the dtype that the configuration names. A folder without weights, or
// with damaged ones, is unknown.
func OfFolder(folder string, config []byte) Size {
	found, err := hub.Inspect(folder, hub.Want{Pickle: true})
	if err != nil {
		return Size{}
	}
	s := Size{Stored: found.Bytes, Source: "by the headers of its files"}
	if found.Format == hub.Pickle {
		s.Source = "by the bytes of its files"
		if each := storedBytes(config); each > 0 {
			s.Parameters, s.About = found.Bytes/each, true
		}
		return s
	}
	var all []safetensors.Tensor
	for _, h := range found.Headers {
		all = append(all, h.Tensors...)
	}
	s.Parameters, s.Packed = count(all, readQuantised(config))
	return s
}

// storedBytes are those of a parameter, by the dtype that a configuration names.
func storedBytes(config []byte) int64 {
	var c struct {
		DType string `json:"dtype"`
		Torch string `json:"torch_dtype"`
	}
	if json.Unmarshal(config, &c) != nil {
		return 0
	}
	return map[string]int64{"float32": 4, "float16": 2, "bfloat16": 2}[cmp.Or(c.DType, c.Torch)]
}

// quantised is what a configuration says about packed weights.
type quantised struct {
	Method string
	Bits   uint64 // 0 is unknown
}

func readQuantised(config []byte) quantised {
	var c struct {
		Quantised *struct {
			Method string `json:"quant_method"`
			Bits   uint64 `json:"bits"`
			Four   bool   `json:"load_in_4bit"`
			Eight  bool   `json:"load_in_8bit"`
			Groups map[string]struct {
				Weights struct {
					Bits uint64 `json:"num_bits"`
				} `json:"weights"`
			} `json:"config_groups"`
		} `json:"quantization_config"`
	}
	if json.Unmarshal(config, &c) != nil || c.Quantised == nil {
		return quantised{}
	}
	q := quantised{c.Quantised.Method, c.Quantised.Bits}
	switch {
	case q.Bits > 0:
	case c.Quantised.Four, q.Method == "mxfp4":
		q.Bits = 4
	case c.Quantised.Eight:
		q.Bits = 8
	}
	for _, g := range c.Quantised.Groups {
		q.Bits = max(q.Bits, g.Weights.Bits)
	}
	if q.Bits > 32 || q.Bits > 0 && 32%q.Bits != 0 && q.Bits != 3 {
		q.Bits = 0
	}
	return q
}

// beside are the last parts of the names of tensors that packed weights need and that
// are no parameters.
var beside = []string{"scales", "qzeros", "zeros", "g_idx", "absmax", "quant_map", "nested_absmax", "nested_quant_map", "SCB", "weight_format",
	"weight_scale", "weight_scale_inv", "weight_scale_2", "input_scale", "weight_zero_point", "weight_shape", "weight_g_idx"}

var floats = []string{"F64", "F32", "F16", "BF16"}

// count adds up the parameters of tensors, and says how packed weights are stored;
// 0 parameters where that cannot be told, "" where nothing is packed.
func count(all []safetensors.Tensor, q quantised) (parameters int64, packed string) {
	integers := slices.ContainsFunc(all, packs)
	told := true
	for _, t := range all {
		n, each := elements(t), uint64(1)
		switch last := t.Name[strings.LastIndex(t.Name, ".")+1:]; {
		case integers && (slices.Contains(beside, last) || strings.Contains(t.Name, "quant_state") || strings.HasSuffix(last, "_scales")):
			continue
		case packs(t):
			each, told = perElement(t, q.Bits), told && perElement(t, q.Bits) > 0
		case !slices.Contains(floats, t.DType):
			continue // positions and other tables
		}
		parameters += int64(n * each)
	}
	if !integers {
		return parameters, ""
	}
	packed = cmp.Or(q.Method, "packed")
	if q.Bits > 0 {
		packed += fmt.Sprintf(", %d bits", q.Bits)
	}
	if !told {
		parameters = 0
	}
	return parameters, packed
}

// packs reports whether a tensor holds weights in less than 16 bits each.
func packs(t safetensors.Tensor) bool {
	last := t.Name[strings.LastIndex(t.Name, ".")+1:]
	switch t.DType {
	case "I32", "U32":
		return last == "qweight" || last == "weight_packed" || last == "weight"
	case "I8", "U8":
		return last == "qweight" || last == "weight_packed" || last == "weight" || strings.HasSuffix(last, "_blocks")
	}
	return strings.HasPrefix(t.DType, "F8_E4") || strings.HasPrefix(t.DType, "F8_E5") || t.DType == "F4" || strings.HasPrefix(t.DType, "F6")
}

// perElement is how many parameters an element of a packed tensor holds; 0 where
// that is not known.
func perElement(t safetensors.Tensor, bits uint64) uint64 {
	switch t.DType {
	case "I32", "U32":
		if bits == 0 {
			return 0
		}
		return 32 / bits // 3 bits leave some unused
	case "U8", "I8":
		switch {
		case bits == 0 && t.DType == "U8":
			return 0
		case bits > 0 && bits < 8:
			return 8 / bits
		}
	}
	return 1 // the shape counts them
}

func elements(t safetensors.Tensor) uint64 {
	n := uint64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}
