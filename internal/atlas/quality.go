package atlas

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"assay/internal/cell"
	"assay/internal/platform"
)

// complete is the share of planned types with an answer from which on shares are shown: below it
// they would say more about what was run than about what works.
const complete = 0.9

// Quality is how well an atlas is founded.
type Quality struct {
	Transformers string            `json:"transformers"`
	Types        int               `json:"types"`
	NoRecipe     int               `json:"no_recipe"` // of them: unknown everywhere, because nobody knows how to run these
	Claims       int               `json:"claims"`    // types x columns, unknown among them
	Known        int               `json:"known"`
	Oldest       time.Time         `json:"oldest,omitzero"`
	Newest       time.Time         `json:"newest,omitzero"`
	Platforms    []PlatformQuality `json:"platforms"`
}

// PlatformQuality counts the types of a platform by the strongest evidence that is known of
// each, whatever its verdict, engine and dtype.
type PlatformQuality struct {
	Platform   platform.Name         `json:"platform"`
	Types      int                   `json:"types"`
	Planned    int                   `json:"planned"`  // all but those that nobody knows how to run
	Answered   int                   `json:"answered"` // with a verdict: unknown is none, whatever its reason
	ByEvidence map[cell.Evidence]int `json:"by_evidence"`
	// Shares are of Types, and there only where Answered is nine tenths of Planned.
	Shares map[cell.Evidence]float64 `json:"shares,omitempty"`
	Oldest time.Time                 `json:"oldest,omitzero"`
	Newest time.Time                 `json:"newest,omitzero"`
}

// NoRecipe begins the reason of what is unknown because nobody knows how to run it.
const NoRecipe = "no recipe is known: "

// Quality counts the claims of all types.
func (b *Book) Quality() (Quality, error) {
	q := Quality{Transformers: b.Transformers, Types: b.Types()}
	for _, p := range platform.Names() {
		q.Platforms = append(q.Platforms, PlatformQuality{Platform: p, Types: q.Types, ByEvidence: map[cell.Evidence]int{}})
	}
	for name := range b.lines {
		claims, err := b.Claims(name)
		if err != nil {
			return q, err
		}
		q.count(claims)
	}
	for i := range q.Platforms {
		q.Platforms[i].share(q.NoRecipe)
	}
	return q, nil
}

// count adds the claims of a type.
func (q *Quality) count(claims []Claim) {
	best, without := map[platform.Name]cell.Evidence{}, false
	for _, c := range claims {
		q.Claims++
		t, err := platform.ParseTarget(c.Target)
		if err != nil {
			continue // check refuses such columns
		}
		if !c.Known() {
			without = without || strings.HasPrefix(c.Note, NoRecipe)
			continue
		}
		q.Known++
		span(&q.Oldest, &q.Newest, c.At)
		i := slices.IndexFunc(q.Platforms, func(p PlatformQuality) bool { return p.Platform == t.Platform })
		span(&q.Platforms[i].Oldest, &q.Platforms[i].Newest, c.At)
		if old, ok := best[t.Platform]; !ok || c.Evidence.Strength() > old.Strength() {
			best[t.Platform] = c.Evidence
		}
	}
	if len(best) == 0 && without {
		q.NoRecipe++
	}
	for i, p := range q.Platforms {
		if e, ok := best[p.Platform]; ok {
			p.ByEvidence[e]++
			q.Platforms[i].Answered++
		}
	}
}

func span(oldest, newest *time.Time, at time.Time) {
	if oldest.IsZero() || at.Before(*oldest) {
		*oldest = at
	}
	if at.After(*newest) {
		*newest = at
	}
}

func (p *PlatformQuality) share(noRecipe int) {
	p.Planned = p.Types - noRecipe
	if p.Planned == 0 || float64(p.Answered) < complete*float64(p.Planned) {
		return
	}
	p.Shares = map[cell.Evidence]float64{}
	for e, n := range p.ByEvidence {
		p.Shares[e] = float64(n) / float64(p.Types)
	}
}

// kinds are the kinds of evidence in the order in which they are shown; none is what fails before it runs, or
// cannot be run there.
var kinds = []cell.Evidence{cell.Measured, cell.Emulated, cell.Compiled, cell.Derived, cell.None}

func kindWord(e cell.Evidence) string {
	if e == cell.None {
		return "could not be run"
	}
	return string(e)
}

// String is the platform's row for people.
func (p PlatformQuality) String() string {
	if p.Shares == nil {
		return fmt.Sprintf("incomplete, %d of %d", p.Answered, p.Planned)
	}
	var parts []string
	for _, e := range kinds {
		if n := p.ByEvidence[e]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %.1f %% (%d of %d)", kindWord(e), 100*p.Shares[e], n, p.Types))
		}
	}
	if rest := p.Types - p.Answered; rest > 0 {
		parts = append(parts, fmt.Sprintf("unknown %.1f %% (%d of %d)", 100*float64(rest)/float64(p.Types), rest, p.Types))
	}
	return strings.Join(parts, ", ")
}

// WriteText prints the quality, a row for each platform.
func (q Quality) WriteText(w io.Writer, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "platform\tof %d types, by the strongest evidence\tage in days\n", q.Types)
	for _, p := range q.Platforms {
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Platform, p, age(p.Oldest, p.Newest, now))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d claims are known. For %d types no recipe is known: they are unknown everywhere.\nA share is shown where 90 %% of the other %d have an answer; unknown is none.\n",
		q.Known, q.Claims, q.NoRecipe, q.Types-q.NoRecipe)
	return err
}

func age(oldest, newest, now time.Time) string {
	if newest.IsZero() {
		return ""
	}
	days := func(t time.Time) int { return int(now.Sub(t).Hours() / 24) }
	if days(oldest) == days(newest) {
		return fmt.Sprint(days(newest))
	}
	return fmt.Sprintf("%d to %d", days(newest), days(oldest))
}
