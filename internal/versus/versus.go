// Package versus times two sides against each other in one run: their repeats are
// interleaved one by one, in a shuffled order in which either side comes first as
// often as the other, so that a slow minute of the machine is inside both.
//
// There are two stages. Every pair gets the repeats of its timing; the pairs that a
// screen takes for changed get ten fresh repeats a side, and only those decide. What
// runs a repeat is an Arm (a session, with its environment and its settings); the
// trials of an arm are an interface, so that the stages are tested on simulated
// machines too.
package versus

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/measure"
)

// Trial is a checked cell whose repeats are run one at a time; see lab.Trial.
type Trial interface {
	// Open reports whether repeats can be run.
	Open() bool
	// Repeats is how many the timing asks for.
	Repeats() int
	// Done is how many have given samples.
	Done() int
	// Repeat runs one more.
	Repeat(ctx context.Context) error
	// Medians are those of the repeats from one on, each as a list of one.
	Medians(from int) [][]float64
	// Result is what the repeats from one on say together.
	Result(from int, side string) cell.Result
}

// Arm checks a cell on one side.
type Arm func(ctx context.Context, c cell.Cell) (Trial, error)

// Pair is a cell on both sides.
type Pair struct{ A, B cell.Cell }

// Options are what the stages need beside the arms.
type Options struct {
	Order  *rand.Rand // shuffles; nil is one of its own
	Record func(cell.Result) error
	Note   func(string)
	Host   cell.Host
	Run    string
	Across []string // fields that may differ
	Now    time.Time
}

// block is how many pairs are interleaved, as in a plan.
const block = 8

// duel is a pair under way.
type duel struct {
	trials [2]Trial
	first  [2]cell.Result // of the first stage
}

var letters = [2]string{"a", "b"}

// Run times all pairs, and those again that seem to differ.
func Run(ctx context.Context, a, b Arm, pairs []Pair, o Options) (compare.Report, error) {
	o.Order = cmp.Or(o.Order, shuffler())
	var all []*duel
	for some := range slices.Chunk(pairs, block) {
		duels, err := o.begin(ctx, [2]Arm{a, b}, some)
		if err != nil {
			return compare.Report{}, err
		}
		if err := o.rounds(ctx, duels, func(d *duel) int { return d.planned() }); err != nil {
			return compare.Report{}, err
		}
		for _, d := range duels {
			for i, t := range d.trials {
				d.first[i] = t.Result(0, letters[i])
				if err := o.Record(d.first[i]); err != nil {
					return compare.Report{}, err
				}
			}
		}
		all = append(all, duels...)
	}
	options := compare.Options{Across: o.Across, Now: o.Now}
	report := compare.OfPairs(o.entries(all), options)
	fresh, err := o.confirm(ctx, all, report.Candidates())
	if err != nil {
		return report, err
	}
	report.Confirm(fresh, options)
	return report, nil
}

// shuffler is what shuffles where the caller does not say.
func shuffler() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // an order of repeats is no secret
}

// begin checks both sides of each pair.
func (o Options) begin(ctx context.Context, arms [2]Arm, pairs []Pair) ([]*duel, error) {
	var out []*duel
	for _, p := range pairs {
		d := &duel{}
		for i, c := range []cell.Cell{p.A, p.B} {
			t, err := arms[i](ctx, c)
			if err != nil {
				return nil, err
			}
			d.trials[i] = t
		}
		out = append(out, d)
	}
	return out, nil
}

// planned is how many repeats both sides get.
func (d *duel) planned() int { return min(d.trials[0].Repeats(), d.trials[1].Repeats()) }

func (d *duel) open() bool { return d.trials[0].Open() && d.trials[1].Open() }

// rounds runs n repeats of each side of each pair, interleaved. A pair of which one
// side cannot go on gets no more.
func (o Options) rounds(ctx context.Context, duels []*duel, n func(*duel) int) error {
	orders := map[*duel][]int{}
	most := 0
	for _, d := range duels {
		orders[d] = Balanced(o.Order, n(d))
		most = max(most, n(d))
	}
	for round := range most {
		for _, d := range duels {
			if round >= n(d) || !d.open() {
				continue
			}
			first := orders[d][round]
			for _, side := range []int{first, 1 - first} {
				if err := d.trials[side].Repeat(ctx); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Balanced says for n rounds which side comes first: either as often as the other, in
// a shuffled order.
func Balanced(random *rand.Rand, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i % 2
	}
	if n%2 == 1 && random.IntN(2) == 1 { // neither side is favoured by an odd number
		out[n-1] = 1 - out[n-1]
	}
	random.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func (o Options) entries(all []*duel) []compare.Pair {
	out := make([]compare.Pair, len(all))
	for i, d := range all {
		out[i] = compare.Pair{
			A: compare.Entry{Result: &d.first[0], Run: o.Run, Host: o.Host},
			B: compare.Entry{Result: &d.first[1], Run: o.Run, Host: o.Host},
		}
	}
	return out
}

// confirm gives the candidates fresh repeats.
func (o Options) confirm(ctx context.Context, all []*duel, candidates []compare.Again) ([]compare.Fresh, error) {
	wanted := map[cell.Key]bool{}
	for _, c := range candidates {
		wanted[c.A.Key()] = true
	}
	all = slices.DeleteFunc(slices.Clone(all), func(d *duel) bool { return !wanted[d.first[0].Cell.Key()] || !d.open() })
	if len(all) > 0 {
		o.Note(fmt.Sprintf("%s may differ: %d fresh repeats a side decide", cells(len(all)), measure.ConfirmRepeats))
	}
	var out []compare.Fresh
	for some := range slices.Chunk(all, block) {
		from := map[*duel][2]int{}
		for _, d := range some {
			from[d] = [2]int{d.trials[0].Done(), d.trials[1].Done()}
		}
		if err := o.rounds(ctx, some, func(*duel) int { return measure.ConfirmRepeats }); err != nil {
			return nil, err
		}
		for _, d := range some {
			f, err := o.fresh(d.first[0].Cell, d.trials, from[d])
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// fresh is what the repeats of both sides from some on came to, which is recorded.
func (o Options) fresh(c cell.Cell, trials [2]Trial, from [2]int) (compare.Fresh, error) {
	f := compare.Fresh{Cell: c, A: trials[0].Medians(from[0]), B: trials[1].Medians(from[1])}
	for i, t := range trials {
		r := t.Result(from[i], letters[i])
		if err := o.Record(r); err != nil {
			return f, err
		}
		f.Now = &r // side b's is the last
	}
	return f, nil
}

// Both gives candidates fresh repeats on both sides, interleaved.
func Both(ctx context.Context, a, b Arm, candidates []compare.Again, o Options) ([]compare.Fresh, error) {
	o.Order = cmp.Or(o.Order, shuffler())
	if len(candidates) > 0 {
		o.Note(fmt.Sprintf("%s may differ: %d fresh repeats a side decide", cells(len(candidates)), measure.ConfirmRepeats))
	}
	var out []compare.Fresh
	for some := range slices.Chunk(candidates, block) {
		var pairs []Pair
		for _, c := range some {
			pairs = append(pairs, Pair{c.A, c.B})
		}
		duels, err := o.begin(ctx, [2]Arm{a, b}, pairs)
		if err != nil {
			return nil, err
		}
		if err := o.rounds(ctx, duels, func(*duel) int { return measure.ConfirmRepeats }); err != nil {
			return nil, err
		}
		for i, d := range duels {
			f, err := o.fresh(some[i].A, d.trials, [2]int{})
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// Again gives candidates fresh repeats on the new side alone, to be compared with what is
// stored of the old one.
func Again(ctx context.Context, b Arm, candidates []compare.Again, o Options) ([]compare.Fresh, error) {
	if len(candidates) > 0 {
		o.Note(fmt.Sprintf("%s may differ: %d fresh repeats of the new side decide", cells(len(candidates)), measure.ConfirmRepeats))
	}
	var out []compare.Fresh
	for some := range slices.Chunk(candidates, block) {
		var trials []Trial
		for _, c := range some {
			t, err := b(ctx, c.B)
			if err != nil {
				return nil, err
			}
			trials = append(trials, t)
		}
		for range measure.ConfirmRepeats {
			for _, t := range trials {
				if err := t.Repeat(ctx); err != nil {
					return nil, err
				}
			}
		}
		for i, t := range trials {
			r := t.Result(0, "")
			if err := o.Record(r); err != nil {
				return nil, err
			}
			f := compare.Fresh{Cell: some[i].A, B: t.Medians(0), Now: &r}
			for _, ms := range some[i].MediansA {
				f.A = append(f.A, []float64{ms})
			}
			out = append(out, f)
		}
	}
	return out, nil
}

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}
