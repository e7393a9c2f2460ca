package session

import (
	"context"
	"encoding/json"
	"fmt"

	"assay/internal/platform"
	"assay/internal/runner"
)

// Catalog reads the model types of the environment's transformers.
func (s *Session) Catalog(ctx context.Context) (json.RawMessage, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return nil, err
	}
	answer, raised, err := ask(ctx, r, runner.Job{Kind: runner.CatalogJob})
	if raised != nil {
		err = fmt.Errorf("the types cannot be read: %s: %s", raised.Type, raised.Message)
	}
	return answer, err
}

// ask runs a job that is a question. Without an answer there is an exception
// or an error.
func ask(ctx context.Context, r runner.Runner, job runner.Job) (answer json.RawMessage, raised *runner.Failure, err error) {
	exit, err := r.Run(ctx, job, func(e runner.Event) {
		switch e := e.(type) {
		case runner.Again:
			answer, raised = nil, nil
		case runner.Data:
			answer = e.Data
		case runner.Failure:
			raised = &e
		}
	})
	if err == nil && raised == nil && answer == nil {
		err = fmt.Errorf("the child %s", exit)
	}
	return answer, raised, err
}

// deciding are the libraries that decide what a cell's result is beside those of
// the engines, by the names that runners report.
var deciding = []string{"python", "transformers", "diffusers", "timm", "onnx", "onnxscript"}

// Versions are those that decide whether an old result still speaks: a cell
// done with the same ones need not be done again.
func (s *Session) Versions(ctx context.Context) (map[string]string, error) {
	r, err := s.runner(ctx, false)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"assay": s.o.Version}
	for _, name := range append(platform.Libraries(), deciding...) {
		if v := r.Hello().Versions[name]; v != "" {
			out[name] = v
		}
	}
	return out, nil
}
