// Package sides finds what users name to be compared: runs, names, baselines, files,
// targets, hosts, versions and dates, each as a [compare.Side].
//
// What a word means is decided by a table (kinds): a prefix such as "target:" says
// it, and without one the first kind of the table that knows the word. The order of
// the table is the order of precedence that the help of compare tells.
package sides

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/internal/baseline"
	"assay/internal/compare"
	"assay/internal/history"
	"assay/internal/platform"
)

// Finder finds sides in a user's data.
type Finder struct {
	Past      *history.History
	Baselines baseline.Folder
	// Since leaves out stored results that are older; zero leaves none out.
	Since time.Time
	// NoFiles takes no word for a file's name: whoever asks over a network reads no disk.
	NoFiles bool
}

// Error says that a word names nothing that could be compared: the user's mistake.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// EmptyError says that what was named holds no results: nothing can be compared.
type EmptyError struct{ Text string }

func (e *EmptyError) Error() string { return e.Text }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// kind is one of the things that a side may be.
type kind struct {
	name string
	help string
	// find returns the side, or nil where the word is nothing of the kind.
	find func(ctx context.Context, f Finder, word string) (*compare.Side, error)
}

// kinds in their order of precedence.
func kinds() []kind {
	return []kind{
		{"baseline", "a baseline (assay baseline ls)", findBaseline},
		{"name", "runs that were given a name with --as; of each cell the newest result", findName},
		{"run", "a run's id or its beginning; latest, previous; ID#a and ID#b are the sides of bench --ab", findRun},
		{"file", "a journal, an exported baseline, or what test --json and bench --json print", findFile},
		{"target", "a target: platform[:device][/engine][@browser]", findTarget},
		{"host", "a host's id or its beginning (assay query shows them)", findHost},
		{"version", "PACKAGE=VERSION: results that were made with it", findVersion},
		{"date", "YYYY-MM-DD: results of that day, in UTC", findDate},
	}
}

// Help is the table in words, for the help of a command.
func Help() string {
	var b strings.Builder
	for _, k := range kinds() {
		fmt.Fprintf(&b, "  %-9s %s\n", k.name+":", k.help)
	}
	return b.String()
}

// Find is the side that a word names.
func (f Finder) Find(ctx context.Context, word string) (compare.Side, error) {
	if prefix, rest, ok := strings.Cut(word, ":"); ok {
		if i := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == prefix }); i >= 0 {
			return f.of(ctx, kinds()[i], rest)
		}
	}
	for _, k := range kinds() {
		side, err := k.find(ctx, f, word)
		if err != nil {
			return compare.Side{}, err
		}
		if side != nil {
			return f.checked(*side)
		}
	}
	if f.NoFiles {
		return compare.Side{}, wrong("%q is neither a baseline, a name, a run, a target, a host, a version nor a date", word)
	}
	return compare.Side{}, wrong("%q is neither a baseline, a name, a run, a file, a target, a host, a version nor a date: see assay compare --help", word)
}

func (f Finder) of(ctx context.Context, k kind, word string) (compare.Side, error) {
	side, err := k.find(ctx, f, word)
	if err != nil {
		return compare.Side{}, err
	}
	if side == nil {
		return compare.Side{}, wrong("there is no %s %q: it takes %s", k.name, word, k.help)
	}
	return f.checked(*side)
}

// checked refuses a side without results: nothing can be compared with it.
func (f Finder) checked(s compare.Side) (compare.Side, error) {
	if len(s.Entries) == 0 {
		since := ""
		if !f.Since.IsZero() {
			since = " since " + f.Since.UTC().Format(time.DateOnly)
		}
		return s, &EmptyError{fmt.Sprintf("nothing could be compared: there are no results of the %s %s%s", s.Kind, s.Name, since)}
	}
	return s, nil
}

// stored is a side of chosen results.
func (f Finder) stored(ctx context.Context, name, kind string, filter history.Chosen) (*compare.Side, error) {
	if filter.Since.Before(f.Since) {
		filter.Since = f.Since
	}
	entries, err := f.Past.Entries(ctx, filter)
	return &compare.Side{Name: name, Kind: kind, Entries: entries}, err
}

func findBaseline(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	if !f.Baselines.Has(word) {
		return nil, nil
	}
	side, err := f.Baselines.Read(ctx, word)
	return &side, err
}

func findName(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	runs, err := f.Past.Runs(ctx)
	if err != nil || word == "" || !slices.ContainsFunc(runs, func(r history.Run) bool { return r.Name == word }) {
		return nil, err
	}
	return f.stored(ctx, word, "name", history.Chosen{Names: []string{word}})
}

func findRun(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	id, side, _ := strings.Cut(word, "#")
	runs, err := f.Past.Runs(ctx)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r history.Run) bool { return r.Results == 0 })
	recent := map[string]int{"latest": 0, "previous": 1}
	if at, ok := recent[id]; ok {
		if at >= len(runs) {
			return nil, wrong("there is no %s run: the database holds %d", id, len(runs))
		}
		id = runs[at].ID
	}
	var found []string
	for _, r := range runs {
		if r.ID == id {
			found = []string{id}
			break
		}
		if len(id) >= 8 && strings.HasPrefix(r.ID, id) { // a day, at least
			found = append(found, r.ID)
		}
	}
	switch {
	case len(found) == 0:
		return nil, nil
	case len(found) > 1:
		return nil, wrong("%q begins the ids of %d runs, such as %s and %s: write more of it", id, len(found), found[0], found[1])
	}
	name, filter := found[0], history.Chosen{Runs: found}
	if side != "" {
		name, filter.Sides = name+"#"+side, []string{side}
	}
	return f.stored(ctx, name, "run", filter)
}

func findFile(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	if f.NoFiles {
		return nil, nil
	}
	info, err := os.Stat(word)
	if err != nil || info.IsDir() {
		return nil, nil //nolint:nilerr // a word that is no file's name may be something else
	}
	side, err := baseline.ReadFile(ctx, word, word, "file")
	if err != nil {
		return nil, &Error{err.Error()}
	}
	return &side, nil
}

func findTarget(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	t, err := platform.ParseTarget(word)
	if err != nil {
		return nil, nil //nolint:nilerr // it may be something else
	}
	return f.stored(ctx, word, "target", history.Chosen{Targets: []string{t.Normal().String()}})
}

func findHost(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	runs, err := f.Past.Runs(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range runs {
		short := strings.TrimPrefix(r.Host.ID, "imported:")
		if r.Host.ID == word || short == word || len(word) >= 4 && strings.HasPrefix(short, word) {
			ids = append(ids, r.Host.ID)
		}
	}
	slices.Sort(ids)
	switch ids = slices.Compact(ids); {
	case len(ids) == 0:
		return nil, nil
	case len(ids) > 1:
		return nil, wrong("%q is the beginning of several hosts: %s", word, strings.Join(ids, ", "))
	}
	return f.stored(ctx, ids[0], "host", history.Chosen{Hosts: ids})
}

func findVersion(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	name, version, ok := strings.Cut(word, "=")
	if !ok || name == "" || version == "" {
		return nil, nil
	}
	return f.stored(ctx, word, "version", history.Chosen{Versions: map[string]string{name: version}})
}

var day = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

func findDate(ctx context.Context, f Finder, word string) (*compare.Side, error) {
	if !day.MatchString(word) {
		return nil, nil
	}
	from, err := ParseDate(word)
	if err != nil {
		return nil, err
	}
	return f.stored(ctx, word, "date", history.Chosen{Since: from, Before: from.AddDate(0, 0, 1)})
}

// Around are all stored results before a moment, and all since.
func (f Finder) Around(ctx context.Context, word string) (before, since compare.Side, err error) {
	at, err := ParseDate(word)
	if err != nil {
		return before, since, err
	}
	a, err := f.stored(ctx, "before "+word, "date", history.Chosen{Before: at})
	if err != nil {
		return before, since, err
	}
	b, err := f.stored(ctx, "since "+word, "date", history.Chosen{Since: at})
	return *a, *b, err
}

// ParseDate reads a day, or a moment, in UTC.
func ParseDate(word string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", time.RFC3339} {
		if t, err := time.Parse(layout, word); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, wrong("%q is not a date: write 2026-11-15, or 2026-11-15T14:30 in UTC", word)
}

// Implied are the fields that differ because the two sides were chosen by them.
func Implied(a, b compare.Side) []string {
	if a.Kind != b.Kind {
		return nil
	}
	return map[string][]string{"target": {"target"}, "host": {"host", "driver"}}[a.Kind]
}
