package detect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Child asks one probe in a process of its own and returns what it printed. It
// must end soon after ctx does, with nothing of the child left.
type Child func(ctx context.Context, probe string) ([]byte, error)

// Question is a probe of the second pass and how long it may take.
type Question struct {
	Probe string
	Limit time.Duration
}

// Questions returns the probes of the second pass. Importing torch takes up to
// ten seconds on a slow disk.
func Questions() []Question {
	return []Question{
		{"nvml", 5 * time.Second},
		{"torch", 20 * time.Second},
		{"openvino", 10 * time.Second},
		{"onnxruntime", 10 * time.Second},
	}
}

// Confirm asks all the questions, each in its own child, in parallel. A
// child that fails or takes too long gives an answer that says so.
func Confirm(ctx context.Context, child Child, questions []Question) Answers {
	answers := make([]Answer, len(questions))
	var group sync.WaitGroup
	for i, q := range questions {
		group.Go(func() { answers[i] = ask(ctx, child, q) })
	}
	group.Wait()
	all := Answers{}
	for i, q := range questions {
		all[q.Probe] = answers[i]
	}
	return all
}

func ask(ctx context.Context, child Child, q Question) Answer {
	limited, cancel := context.WithTimeout(ctx, q.Limit)
	defer cancel()
	out, err := child(limited, q.Probe)
	switch {
	case ctx.Err() != nil:
		return Answer{Error: "detection was stopped"}
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return Answer{Error: fmt.Sprintf("no answer within %s", q.Limit)}
	case err != nil:
		return Answer{Error: err.Error()}
	}
	return parseAnswer(out)
}
