// Package stored gives the dashboard's server the user's stored results: it asks the
// store by the packages that the commands ask it by.
package stored

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"assay/internal/baseline"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/dash"
	"assay/internal/history"
	"assay/internal/home"
	"assay/internal/journal"
	"assay/internal/sides"
	"assay/internal/store"
)

// Past are the results in a user's home.
type Past struct {
	Home      home.Home
	Baselines baseline.Folder
	Now       func() time.Time
	// Asker is this program as a process that calls Answer.
	Asker func(context.Context) (*exec.Cmd, error)
}

var _ dash.Past = Past{}

// Stamp is made of the journals' names, sizes and times.
func (p Past) Stamp() (string, error) {
	_, dir, err := p.Home.Paths()
	if err != nil {
		return "", err
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the folder of journals: %w", err)
	}
	var b strings.Builder
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), journal.Extension) {
			continue
		}
		if info, err := f.Info(); err == nil { // one that is gone by now is no journal
			fmt.Fprintf(&b, "%s %d %d\n", f.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String(), nil
}

// Results are all.
func (p Past) Results(ctx context.Context) ([]dash.Stored, []cell.Host, error) {
	h, err := p.Home.History()
	if err != nil {
		return nil, nil, err
	}
	list, hosts, err := h.All(ctx)
	return given(list), hosts, later(err)
}

func given(list []history.Kept) []dash.Stored {
	out := make([]dash.Stored, len(list))
	for i, x := range list {
		out[i] = dash.Stored{ID: x.ID, Run: x.RunID, Host: x.HostID, Imported: x.Imported, Result: x.Result}
	}
	return out
}

// Runs are all.
func (p Past) Runs(ctx context.Context) ([]dash.Run, error) {
	h, err := p.Home.History()
	if err != nil {
		return nil, err
	}
	runs, err := h.Runs(ctx)
	err = later(err)
	out := make([]dash.Run, len(runs))
	for i, r := range runs {
		out[i] = dash.Run{ID: r.ID, StartedAt: r.StartedAt.UTC(), Command: r.Command, Name: r.Name, Imported: r.Imported, Results: r.Results, Host: r.Host}
	}
	return out, err
}

// Whole is one result.
func (p Past) Whole(ctx context.Context, id string) (dash.Stored, bool, error) {
	h, err := p.Home.History()
	if err != nil {
		return dash.Stored{}, false, err
	}
	list, err := h.Whole(ctx, []string{id}, nil)
	if err != nil || len(list) == 0 {
		return dash.Stored{}, false, later(err)
	}
	return given(list)[0], true, nil
}

// Logs are the results of a run.
func (p Past) Logs(ctx context.Context, run string) ([]dash.Stored, error) {
	h, err := p.Home.History()
	if err != nil {
		return nil, err
	}
	list, err := h.Whole(ctx, nil, []string{run})
	return given(list), later(err)
}

// later marks what another program keeps from being answered now.
func later(err error) error {
	if busy := (*store.BusyError)(nil); errors.As(err, &busy) {
		return &dash.LaterError{Err: err}
	}
	return err
}

// Compare compares as the command does.
func (p Past) Compare(ctx context.Context, c dash.Comparison) (compare.Report, error) {
	was, is, err := p.two(ctx, c)
	wrong, empty := (*sides.Error)(nil), (*sides.EmptyError)(nil)
	if errors.As(err, &wrong) || errors.As(err, &empty) {
		return compare.Report{}, &dash.WrongError{Err: err}
	}
	if err != nil {
		return compare.Report{}, later(err)
	}
	across := slices.Concat(c.Across, sides.Implied(was, is))
	return compare.Compare(was, is, compare.Options{Across: across, Now: p.Now().UTC(), Stored: true}), nil
}

func (p Past) two(ctx context.Context, c dash.Comparison) (was, is compare.Side, err error) {
	h, err := p.Home.History()
	if err != nil {
		return was, is, err
	}
	find := sides.Finder{Past: h, Baselines: p.Baselines, NoFiles: true}
	if c.A == "" && c.B == "" && c.Since != "" {
		return find.Around(ctx, c.Since)
	}
	if c.A == "" || c.B == "" {
		return was, is, &dash.WrongError{Err: errors.New("give two sides, a and b, such as previous and latest, or since alone")}
	}
	if c.Since != "" {
		if find.Since, err = sides.ParseDate(c.Since); err != nil {
			return was, is, err
		}
	}
	if was, err = find.Find(ctx, c.A); err != nil {
		return was, is, err
	}
	is, err = find.Find(ctx, c.B)
	return was, is, err
}
