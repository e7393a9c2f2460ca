package detect

import (
	"encoding/json"
	"fmt"
	"maps"

	"assay/internal/instructions"
	"assay/internal/platform"
)

// Answers holds what the children said, by probe. A probe that is not there
// was not asked.
type Answers map[string]Answer

// Answer is one child's. Exactly one field is set.
type Answer struct {
	Data   json.RawMessage `json:"data,omitempty"`
	Absent string          `json:"absent,omitempty"` // the library is not there, and why
	Error  string          `json:"error,omitempty"`  // there was no answer: a time-out, a crash, garbage
	// Skipped says that the child was left out on purpose, whatever the
	// environment has; it is never written down.
	Skipped bool `json:"-"`
}

// parseAnswer reads what a child printed: one JSON object.
func parseAnswer(out []byte) Answer {
	var head struct {
		Absent string `json:"absent"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(out, &head); err != nil {
		return Answer{Error: fmt.Sprintf("its answer is not a JSON object: %v", err)}
	}
	if head.Absent != "" || head.Error != "" {
		return Answer{Absent: head.Absent, Error: head.Error}
	}
	var compact json.RawMessage
	if err := json.Unmarshal(out, &compact); err != nil || compact[0] != '{' {
		return Answer{Error: "its answer is not a JSON object"}
	}
	return Answer{Data: compact}
}

// into decodes the answer's data; false when there is none of that form.
func (a Answer) into(v any) bool {
	return a.Data != nil && json.Unmarshal(a.Data, v) == nil
}

// instructionsAnswer is the answer that comes of no question: the environment's
// own finding, by which its children live.
const instructionsAnswer = "instructions"

// WithInstructions adds what was found of the instruction sets that the processor
// announces. A finding of nothing adds nothing.
func (a Answers) WithInstructions(f instructions.Finding) Answers {
	if len(f.Died) == 0 {
		return a
	}
	data, err := json.Marshal(f)
	if err != nil {
		return a // strings and numbers always marshal
	}
	out := Answers{instructionsAnswer: {Data: data}}
	maps.Copy(out, a)
	return out
}

// instructions is the finding among the answers; the zero one where there is none.
func (a Answers) instructions() instructions.Finding {
	f, err := instructions.Decode(a[instructionsAnswer].Data)
	if err != nil {
		return instructions.Finding{}
	}
	return f
}

// The answers of the four probes. Unknown values are null and stay nil.
type (
	nvmlAnswer struct {
		Driver  string `json:"driver"`
		CUDA    string `json:"cuda"`
		Devices []struct {
			Name        string `json:"name"`
			UUID        string `json:"uuid"`
			MemoryBytes *int64 `json:"memory_bytes"`
			Capability  []int  `json:"capability"`
		} `json:"devices"`
	}

	torchAnswer struct {
		Version   string        `json:"version"`
		CUDA      string        `json:"cuda"` // version built for; "" when none
		HIP       string        `json:"hip"`
		CuDNN     string        `json:"cudnn"`
		Devices   []torchDevice `json:"devices"`
		CUDAError string        `json:"cuda_error"`
		MPS       struct {
			Built     bool   `json:"built"`
			Available bool   `json:"available"`
			MaxBytes  *int64 `json:"recommended_max_bytes"`
		} `json:"mps"`
		XPU     []pluginDevice                 `json:"xpu"`
		Plugins map[platform.Name]pluginAnswer `json:"plugins"` // those whose package is installed
	}

	pluginAnswer struct {
		Package  string         `json:"package"`
		Software bool           `json:"software"` // its device is the processor
		Devices  []pluginDevice `json:"devices"`
		Error    string         `json:"error"`
	}

	pluginDevice struct {
		Name        string `json:"name"`
		MemoryBytes *int64 `json:"memory_bytes"`
	}

	torchDevice struct {
		Index       int    `json:"index"`
		Name        string `json:"name"`
		MemoryBytes *int64 `json:"memory_bytes"`
		Capability  []int  `json:"capability"`
		Arch        string `json:"arch"` // gfx942 on ROCm
		BF16        *bool  `json:"bf16"`
		Half        *bool  `json:"half"` // a small fp16 product came out right on the device; nil: not tried
		HalfError   string `json:"half_error"`
	}

	openvinoAnswer struct {
		Version string `json:"version"`
		Devices []struct {
			ID           string   `json:"id"`
			Name         string   `json:"name"`
			Capabilities []string `json:"capabilities"`
			MemoryBytes  *int64   `json:"memory_bytes"`
		} `json:"devices"`
	}

	ortAnswer struct {
		Version   string   `json:"version"`
		Providers []string `json:"providers"`
		QNN       struct {
			Version  string   `json:"version"`
			Absent   string   `json:"absent"`
			Error    string   `json:"error"`
			Library  bool     `json:"library"`
			Emulator bool     `json:"emulator"`
			Devices  []string `json:"devices"`
		} `json:"qnn"`
	}
)
