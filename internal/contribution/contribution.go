// Package contribution makes one file of what a user's own results add to the atlas,
// for people to read and then to send: results that contradict it, and results of what
// it does not know, or knows less surely.
//
// A file has no host's, user's or folder's name in it. Texts that come from elsewhere
// (notes, details of failures, versions) go through Scrub, which puts a word in the
// place of every path, address and name; of the machine there are the facts that a result
// depends on and nothing that tells one machine from another of its kind. Validate refuses a file
// in which Scrub would still change anything, so that whoever receives one need not trust who made it.
package contribution

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/input"
	"assay/internal/platform"
)

// Schema is the version of the file.
const Schema = 1

// Kind is what every file says it is.
const Kind = "assay contribution"

// Most is how many bytes a file may have.
const Most = 16 << 20

// Why a result is in the file.
const (
	Contradicts = "contradicts" // the atlas says something else
	Extends     = "extends"     // the atlas knows nothing, or less surely
)

// File is a contribution.
type File struct {
	Schema  int      `json:"schema"`
	Kind    string   `json:"kind"`
	Assay   string   `json:"assay"` // version that made it
	Results []Result `json:"results"`
}

// Result is what one result says about a type, tiny and with random weights, beside
// what the atlas says.
type Result struct {
	Type     string            `json:"type"`
	Why      string            `json:"why"`
	Atlas    string            `json:"atlas"` // its verdict and evidence: "works, measured"
	Target   string            `json:"target"`
	DType    platform.DType    `json:"dtype"`
	Verdict  cell.Verdict      `json:"verdict"`
	Evidence cell.Evidence     `json:"evidence"`
	Note     string            `json:"note,omitempty"`
	Class    cell.FailureClass `json:"class,omitempty"`
	Detail   string            `json:"detail,omitempty"`
	// Placement counts operations by device, Error is the largest, of the largest value.
	Placement map[string]int    `json:"placement,omitempty"`
	Error     *float64          `json:"error,omitempty"`
	Tolerance float64           `json:"tolerance,omitempty"`
	SNRdB     *float64          `json:"snr_db,omitempty"`
	Versions  map[string]string `json:"versions"`
	Host      Host              `json:"host"`
	Day       string            `json:"day"` // 2026-11-17
}

// Host is the machine: its kind, and nothing that tells it from another of the kind.
type Host struct {
	OS        string   `json:"os"`
	Arch      string   `json:"arch"`
	CPU       string   `json:"cpu"`
	Cores     int      `json:"cores"`
	MemoryGiB int      `json:"memory_gib"`
	Devices   []string `json:"devices,omitempty"`
}

// Own are a type's own results, with the machine of each.
type Own struct {
	Model   atlas.Model
	Results []atlas.Own
	Hosts   []cell.Host // in the order of the results
}

// Make is the contribution of own results: of each type, target and dtype the newest
// one that says more than the atlas. What was imported is somebody else's to give.
func Make(book *atlas.Book, own []Own, scrub Scrubber, version string) (File, error) {
	ordinary, err := words(book)
	if err != nil {
		return File{}, err
	}
	scrub = scrub.sparing(ordinary)
	f := File{Schema: Schema, Kind: Kind, Assay: scrub.Line(version), Results: []Result{}}
	for _, o := range own {
		known, err := book.Claims(o.Model.Type)
		if err != nil {
			return f, err
		}
		for _, r := range newest(o) {
			before := at(known, r.claim.Column)
			if why := adds(r.claim, before); why != "" {
				f.Results = append(f.Results, scrub.result(o.Model.Type, why, before, r))
			}
		}
	}
	return f, f.check()
}

// mine is a claim of an own result, and where it ran.
type mine struct {
	claim atlas.Claim
	host  cell.Host
}

// newest are the newest claims of each target and dtype.
func newest(o Own) []mine {
	var out []mine
	for i, r := range o.Results {
		claims := o.Model.OwnClaims([]atlas.Own{r})
		if r.Imported || len(claims) != 1 {
			continue
		}
		m := mine{claims[0].Claim, o.Hosts[i]}
		j := slices.IndexFunc(out, func(x mine) bool { return x.claim.Column == m.claim.Column })
		switch {
		case j < 0:
			out = append(out, m)
		case !m.claim.At.Before(out[j].claim.At):
			out[j] = m
		}
	}
	return out
}

func at(known []atlas.Claim, c atlas.Column) atlas.Claim {
	for _, k := range known {
		if k.Column == c {
			return k
		}
	}
	return atlas.Unknown(c, "the atlas does not have this column")
}

// adds is why a claim says more than the atlas does; "" where it does not.
func adds(own, known atlas.Claim) string {
	switch stronger := own.Evidence.Strength() - known.Evidence.Strength(); {
	case !own.Known() || len(own.Versions) == 0 || own.At.IsZero() || own.Evidence == cell.Predicted:
		return ""
	case !known.Known():
		return Extends
	case own.Verdict != known.Verdict && stronger >= 0:
		return Contradicts
	case stronger > 0:
		return Extends
	}
	return ""
}

func (s Scrubber) result(modelType, why string, known atlas.Claim, m mine) Result {
	c, h := m.claim, m.host
	r := Result{
		Type: modelType, Why: why, Atlas: fmt.Sprintf("%s, %s", known.Verdict, known.Evidence),
		Target: c.Target, DType: c.DType, Verdict: c.Verdict, Evidence: c.Evidence, Note: s.Line(c.Note), Class: c.Class, Detail: s.Line(c.Detail),
		Error: c.Error, Tolerance: c.Tolerance, SNRdB: c.SNRdB, Versions: map[string]string{}, Day: c.At.Format(time.DateOnly),
		Host: Host{OS: s.Line(h.OS), Arch: s.Line(h.Arch), CPU: s.Line(h.CPU), Cores: h.Cores, MemoryGiB: cell.MemoryClass(h.MemoryBytes)},
	}
	for device, n := range c.Placement {
		if r.Placement == nil {
			r.Placement = map[string]int{}
		}
		r.Placement[s.Line(device)] += n
	}
	for name, v := range c.Versions {
		r.Versions[s.Line(name)] = s.version(v)
	}
	for _, d := range h.Devices {
		r.Host.Devices = append(r.Host.Devices, s.Line(d))
	}
	return r
}

// Validate reads a file that somebody made, and refuses one that is not whole, that has
// what no contribution has, or in which a path, an address or a name is left.
func Validate(text []byte, cat *catalog.Catalog) (File, error) {
	if len(text) > Most {
		return File{}, fmt.Errorf("it has more than %d MB", Most>>20)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var f File
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("it is not a contribution: %w", input.InWords(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return f, errors.New("there is text after its end")
	}
	wrong := []error{f.check()}
	for i, r := range f.Results {
		if _, ok := cat.Get(r.Type); !ok {
			wrong = append(wrong, fmt.Errorf("result %d: the catalogue has no type %q", i+1, r.Type))
		}
	}
	return f, errors.Join(append(wrong, cleared(text))...)
}

var day = regexp.MustCompile(`^20\d\d-[01]\d-[0-3]\d$`)

// check says what is wrong with the contents.
func (f File) check() error {
	var wrong []error
	if f.Schema != Schema || f.Kind != Kind {
		wrong = append(wrong, fmt.Errorf("it is a %q of schema %d, not a %q of schema %d", f.Kind, f.Schema, Kind, Schema))
	}
	seen := map[string]bool{}
	for i, r := range f.Results {
		if err := r.check(); err != nil {
			wrong = append(wrong, fmt.Errorf("result %d (%s on %s): %w", i+1, r.Type, r.Target, err))
		}
		key := r.Type + " " + r.Target + " " + string(r.DType)
		if seen[key] {
			wrong = append(wrong, fmt.Errorf("result %d: %s comes twice", i+1, key))
		}
		seen[key] = true
	}
	return errors.Join(wrong...)
}

func (r Result) check() error {
	result := cell.Result{Cell: cell.Cell{Type: r.Type, Target: r.Target, DType: r.DType}.Normal(), Verdict: r.Verdict, Evidence: r.Evidence}
	if r.Class != "" {
		result.Failure = &cell.Failure{Class: r.Class}
	}
	if err := result.Known(); err != nil {
		return err
	}
	target, err := platform.ParseTarget(r.Target)
	switch {
	case err != nil:
		return err
	case target.String() != r.Target:
		return fmt.Errorf("the target is written %s", target)
	case r.Why != Contradicts && r.Why != Extends:
		return fmt.Errorf("%q is no reason to be here", r.Why)
	case r.Verdict == cell.Unknown || r.Evidence == cell.Predicted || r.Evidence == cell.None && r.Verdict != cell.Unavailable:
		return fmt.Errorf("it says nothing: %s, %s", r.Verdict, r.Evidence)
	case r.Verdict == cell.Fails && r.Class == "":
		return errors.New("it fails for no reason")
	case len(r.Versions) == 0:
		return errors.New("it has no versions")
	case !day.MatchString(r.Day):
		return fmt.Errorf("%q is not a day", r.Day)
	}
	return nil
}
