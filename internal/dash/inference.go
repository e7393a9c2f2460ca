package dash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"assay/internal/cell"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/pool"

	"github.com/danielgtaylor/huma/v2"
)

// Loading is how a model is loaded, in the words of assay.load.
type Loading struct {
	Platform string `json:"platform,omitempty" maxLength:"100" doc:"auto, or a target: platform[:device][/engine][@browser]" default:"auto"`
	DType    string `json:"dtype,omitempty" maxLength:"20"`
	Weights  string `json:"weights,omitempty" enum:"random,hub" doc:"default: hub for a checkpoint whose weights are in the Hugging Face cache, else random"`
	Size     string `json:"size,omitempty" enum:"tiny,full"`
	Fallback *bool  `json:"fallback,omitempty" doc:"whether the next platform is tried where the asked one cannot run the model (default true)"`
}

// Natural is an input: a text, or an object with text, image, video or audio. Images
// and sounds are files in base64.
type Natural = any

// RunInput asks for one output.
type RunInput struct {
	ModelPath
	Body struct {
		Loading
		Input  Natural        `json:"input,omitempty" doc:"a text, or an object with text, image, video or audio; images and sounds are files in base64"`
		Arrays map[string]any `json:"arrays,omitempty" doc:"the model's inputs by name, as nested lists, in the place of input"`
	}
}

// BatchInput asks for several.
type BatchInput struct {
	ModelPath
	Body struct {
		Loading
		Inputs []Natural `json:"inputs" minItems:"1" maxItems:"256"`
	}
}

// GenerateInput asks for a text that goes on.
type GenerateInput struct {
	ModelPath
	Body struct {
		Loading
		Input        Natural `json:"input"`
		MaxNewTokens int     `json:"max_new_tokens,omitempty" minimum:"1" maximum:"4096" doc:"default 16"`
	}
}

// Output is what a model gave.
type Output struct {
	Schema int `json:"schema"`
	pool.Answer
}

func (s *Server) inference() {
	post := func(op, summary string) operation {
		return operation{method: "POST", path: "/v1/models/{model}/" + op, id: op + "-model", summary: summary, tag: "models", most: mostBody}
	}
	answering(s, post("run", "Run a model on one input"), func(ctx context.Context, in *RunInput) (*Output, error) {
		if (in.Body.Input == nil) == (len(in.Body.Arrays) == 0) {
			return nil, &WrongError{errors.New("give input or arrays, one of them")}
		}
		return s.call(ctx, in.Model, in.Body.Loading, pool.Run, map[string]any{"input": in.Body.Input, "arrays": in.Body.Arrays})
	})
	answering(s, post("batch", "Run a model on several inputs"), func(ctx context.Context, in *BatchInput) (*Output, error) {
		return s.call(ctx, in.Model, in.Body.Loading, pool.Batch, map[string]any{"inputs": in.Body.Inputs})
	})
	answering(s, post("generate", "Let a model continue a text"), func(ctx context.Context, in *GenerateInput) (*Output, error) {
		return s.call(ctx, in.Model, in.Body.Loading, pool.Generate, map[string]any{"input": in.Body.Input, "max_new_tokens": in.Body.MaxNewTokens})
	})
	answering(s, operation{method: "GET", path: "/v1/pool", id: "get-pool", summary: "The models that are loaded", tag: "pool"}, func(context.Context, *struct{}) (*pool.Status, error) {
		status := s.o.Models.Status()
		return &status, nil
	})
	answering(s, operation{method: "DELETE", path: "/v1/pool/{key}", id: "release-model", summary: "Release a model that nobody uses", tag: "pool"}, func(_ context.Context, in *struct {
		Key string `path:"key" maxLength:"500"`
	}) (*Released, error) {
		return &Released{cell.Schema, in.Key}, s.o.Models.Release(in.Key)
	})
}

// Released is a model that was.
type Released struct {
	Schema int    `json:"schema"`
	Key    string `json:"key"`
}

// mostDepth is how deep lists of an input lie in each other, far below what the other side can read.
const mostDepth = 32

// depth is how deep lists and objects lie in each other.
func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			deepest = max(deepest, 1+depth(x))
		}
	case []any:
		for _, x := range v {
			deepest = max(deepest, 1+depth(x))
		}
	}
	return deepest
}

// call has the pool run a request.
func (s *Server) call(ctx context.Context, model string, l Loading, op pool.Op, args map[string]any) (*Output, error) {
	if filepath.IsAbs(model) || plan.IsPath(model) || strings.Contains(model, "..") {
		return nil, huma.Error404NotFound(fmt.Sprintf("%q is a path: over HTTP only models of the catalogue and of the Hub can be named", model))
	}
	if p := l.Platform; p != "" && p != plan.Auto {
		if _, err := platform.ParseTarget(p); err != nil {
			return nil, &WrongError{err}
		}
	}
	if depth(args) > mostDepth {
		return nil, &WrongError{fmt.Errorf("an input has lists in lists %d deep at most", mostDepth)}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	a, err := s.o.Models.Call(ctx, pool.Request{
		Model: model, Platform: l.Platform, DType: l.DType, Weights: l.Weights, Size: l.Size, NoFallback: l.Fallback != nil && !*l.Fallback, Op: op, Args: text,
	})
	return &Output{cell.Schema, a}, err
}
