package plan

import (
	"reflect"
	"slices"

	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/platform"
)

// Request is what somebody asks for. The zero value of a field is its default.
type Request struct {
	// The models: Models holds what Planner.Models can find, too.
	catalog.Selector
	Settings
	How
	// Cells say everything themselves: neither models nor settings go with them.
	Cells []cell.Cell `json:"cells,omitempty"`
}

// Settings are what models are run with. Lists are crossed with each other.
type Settings struct {
	Targets []string `json:"targets,omitempty"` // auto, all, or targets; none is auto
	Size    string   `json:"size,omitempty"`    // "" is tiny for a type, full for a checkpoint
	Weights string   `json:"weights,omitempty"` // random, hub or a folder; "" is hub where the cache has them
	DTypes  []string `json:"dtypes,omitempty"`  // none is the platform's own
	Batches []int    `json:"batches,omitempty"` // none is 1
	Seqs    []int    `json:"seqs,omitempty"`    // none is the recipe's
	Image   int      `json:"image,omitempty"`   // 0 is the recipe's
	Seed    int      `json:"seed,omitempty"`
	Threads int      `json:"threads,omitempty"` // 0 is the device's setting
	Mode    string   `json:"mode,omitempty"`
	Prompts []int    `json:"prompts,omitempty"` // lengths in tokens, of mode generate: the same as Seqs
	Tokens  int      `json:"tokens,omitempty"`  // that mode generate adds; 0 is cell.DefaultTokens
	Procs   int      `json:"procs,omitempty"`   // that share the work; 0 is one
	cell.Special
}

// How is how a plan is run: what a cell.Plan says beside its cells.
type How struct {
	Timing     cell.Timing `json:"timing,omitempty"` // "" is functional
	Strict     bool        `json:"strict,omitempty"`
	NoAdapt    bool        `json:"no_adapt,omitempty"`
	NoFallback bool        `json:"no_fallback,omitempty"`
	Laws       bool        `json:"laws,omitempty"`
	Scripts    bool        `json:"scripts,omitempty"`
	TimeoutS   float64     `json:"timeout_s,omitempty"`
	WaitQuietS float64     `json:"wait_quiet_s,omitempty"`
	MaxTempC   float64     `json:"max_temp_c,omitempty"`
	Pin        string      `json:"pin,omitempty"`
	Repeats    int         `json:"repeats,omitempty"`
}

// TakesFile refuses models beside a plan file, which names its cells itself.
func (r Request) TakesFile() error {
	if !r.Empty() {
		return refuse("--plan already names the cells: models and selectors cannot be used with it")
	}
	return nil
}

// WithFile is the request for a plan file's cells, carried out as both say: the
// file is timed if it asks to be, otherwise as r says; what either is strict in
// is strict; a limit or a number of repeats of r's is taken before the file's.
func (r Request) WithFile(file cell.Plan) (Request, error) {
	if err := r.TakesFile(); err != nil {
		return Request{}, err
	}
	how := r.How
	if file.Timing != "" && file.Timing != cell.Functional {
		how.Timing = file.Timing
	}
	how.Strict = how.Strict || file.Strict
	how.NoAdapt = how.NoAdapt || file.NoAdapt
	how.NoFallback = how.NoFallback || file.NoFallback
	how.Laws, how.Scripts = how.Laws || file.Laws, how.Scripts || file.Scripts
	if how.TimeoutS == 0 {
		how.TimeoutS = file.TimeoutS
	}
	if how.WaitQuietS == 0 {
		how.WaitQuietS = file.WaitQuietS
	}
	if how.MaxTempC == 0 {
		how.MaxTempC = file.MaxTempC
	}
	if how.Pin == "" {
		how.Pin = file.Pin
	}
	if how.Repeats == 0 {
		how.Repeats = file.Repeats
	}
	return Request{How: how, Cells: file.Cells}, nil
}

// Check refuses numbers and dtypes that mean nothing, and settings beside cells that have
// their own.
func (r Request) Check() error {
	for _, n := range []struct {
		name   string
		values []int
		least  int
	}{{"batch", r.Batches, 1}, {"seq", r.Seqs, 1}, {"image", []int{r.Image}, 0}, {"seed", []int{r.Seed}, 0},
		{"threads", []int{r.Threads}, 0}, {"prompt", r.Prompts, 1}, {"tokens", []int{r.Tokens}, 0}, {"procs", []int{r.Procs}, 0}, {"repeats", []int{r.Repeats}, 0}} {
		for _, v := range n.values {
			if v < n.least {
				return refuse("--%s %d: it must be at least %d", n.name, v, n.least)
			}
		}
	}
	for _, d := range r.DTypes {
		if _, err := platform.ParseDType(d); err != nil {
			return &RequestError{err}
		}
	}
	if len(r.Prompts) > 0 && r.Mode != cell.Generate {
		return refuse("--prompt is for mode generate: use --seq, or add --mode generate")
	}
	if len(r.Prompts) > 0 && len(r.Seqs) > 0 {
		return refuse("--prompt and --seq are the same in mode generate: give one of them")
	}
	alone := r.Empty() && reflect.ValueOf(r.Settings).IsZero()
	if len(r.Cells) > 0 && !alone {
		return refuse("the cells say everything themselves: models and settings cannot be used with them")
	}
	return nil
}

// settings is into how many cells spread makes one model on one target.
func (r Request) settings() int {
	return max(1, len(r.DTypes)) * max(1, len(r.Batches)) * max(1, len(r.Seqs)+len(r.Prompts))
}

// spread is one model on one target with each of the asked settings.
func (r Request) spread(c cell.Cell) []cell.Cell {
	c.Image, c.Seed, c.Threads = r.Image, r.Seed, r.Threads
	c.Mode, c.Special, c.Tokens, c.Procs = r.Mode, r.Special, r.Tokens, r.Procs
	var out []cell.Cell
	for _, d := range orDefault(r.DTypes, "") {
		for _, b := range orDefault(r.Batches, 1) {
			for _, n := range orDefault(slices.Concat(r.Seqs, r.Prompts), 0) {
				c.DType, c.Batch, c.Seq = platform.DType(d), b, n // names are checked by the plan
				out = append(out, c)
			}
		}
	}
	return out
}

func orDefault[T any](values []T, none T) []T {
	if len(values) == 0 {
		return []T{none}
	}
	return values
}
