package session

import (
	"context"

	"assay/internal/platform"
	"assay/internal/tune"
)

// Tune asks questions of browsers while nothing else is timed on the machine.
// With kernels, Assay's own are asked about too, and their best sizes kept.
func (s *Session) Tune(ctx context.Context, targets []platform.Target, questions []tune.Question, kernels bool, repeats int, say func(string)) (tune.Report, error) {
	release, err := s.Alone(ctx, say)
	if err != nil {
		return tune.NewReport(), err
	}
	defer release()
	var book *tune.Book
	if kernels {
		b := tune.BookIn(s.o.Folders.Data)
		book = &b
	}
	bench := &tune.Bench{Repeats: repeats, Say: say, Open: func(ctx context.Context, t platform.Target) (tune.Page, error) { return s.Page(ctx, t) }}
	return bench.AskAll(ctx, targets, questions, book)
}
