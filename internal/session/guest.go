package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"assay/internal/browser"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/journal"
	"assay/internal/lab"
	"assay/internal/pages"
	"assay/internal/platform"
	"assay/internal/progress"
	"assay/runtimes/web/page"
)

// Guests is what machines need on which somebody opens a page of ours in a
// browser of their own.
type Guests struct {
	Pages  *pages.Host
	Engine string // the version of ONNX Runtime Web that their pages load
}

// Guests opens the web environment and serves its pages, once. No browser of
// this machine is looked for.
func (s *Session) Guests(ctx context.Context) (*Guests, error) { return s.guests.Get(ctx) }

func (s *Session) serveGuests(ctx context.Context) (*Guests, error) {
	env, err := s.webPackages.Get(ctx)
	if err != nil {
		return nil, err
	}
	host, err := pages.Serve(nil, pages.Files{Page: page.Files(), Package: packages(env)})
	if err != nil {
		return nil, err
	}
	return &Guests{host, env.Versions["onnxruntime-web"]}, nil
}

// Guest is such a machine: its browser runs cells, and everything else of them
// (recipe, export, reference, verdict) happens here.
type Guest struct {
	Report   detect.Report  // the machine and what its browser has, as the browser told
	Told     any            // what else its page told of it: kept in the journal beside the report
	Browser  string         // its kind, as in a target
	Browsers pages.Browsers // opens pages there
}

// webLab is the command of a guest's runs.
const webLab = "web-lab"

// RecordGuest runs a plan in a guest's browser. Its journal lies in dir
// and is the guest's: the host is that machine, and so is the detection.
func (s *Session) RecordGuest(ctx context.Context, plan cell.Plan, g Guest, dir string, on progress.Listener) (err error) {
	if err := s.Ready(ctx, plan); err != nil {
		return err
	}
	h := s.Header(plan, webLab)
	h.Host = g.Report.Host
	seen, err := json.Marshal(struct {
		detect.Report
		Guest any `json:"guest,omitempty"`
	}{g.Report, g.Told})
	if err != nil {
		return fmt.Errorf("what the guest's browser reported: %w", err)
	}
	j, err := journal.Create(dir, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if _, err := j.AppendDetection(time.Now().UTC(), seen); err != nil {
		return err
	}
	if err := s.carryGuest(ctx, plan, g, &recorder{journal: j, on: on}); err != nil {
		return err
	}
	return j.End()
}

// CarryGuest runs a plan in a guest's browser for somebody who keeps the results elsewhere.
func (s *Session) CarryGuest(ctx context.Context, plan cell.Plan, g Guest, on progress.Listener) error {
	return s.carryGuest(ctx, plan, g, on)
}

// GuestTargets are all that cells can run on in a guest's browser.
func (s *Session) GuestTargets(ctx context.Context, g Guest) ([]Has, error) {
	guests, err := s.Guests(ctx)
	if err != nil {
		return nil, err
	}
	w := &web{browsers: []browser.Options{{Kind: g.Browser}}, report: g.Report, host: guests.Pages}
	return found(g.Report, w, visited{web: w}), nil
}

// carryGuest runs one cell at a time: a guest has one page to show them in.
func (s *Session) carryGuest(ctx context.Context, plan cell.Plan, g Guest, on progress.Listener) error {
	r, err := s.runner(ctx, false)
	if err != nil {
		return err
	}
	guests, err := s.Guests(ctx)
	if err != nil {
		return err
	}
	at := place{
		runner: pages.Runner{Inner: r, Host: guests.Pages, In: g.Browsers}, workers: 1, past: lab.Past{Why: "times of guests are not looked up"}, of: g.Report.Host.ID + "/",
		machine: visited{
			web:  &web{browsers: []browser.Options{{Kind: g.Browser}}, report: g.Report, host: guests.Pages},
			here: machine{report: detect.Judge(s.Sighting(), nil), root: s.o.Machine.Root},
		},
	}
	return s.carry(ctx, plan, r, at, ofGuest{on})
}

// visited answers the lab for a guest. Memory is this machine's, where the
// models are exported.
type visited struct {
	web  *web
	here machine
}

// Presence looks the target up in what the guest's browser has.
func (v visited) Presence(t platform.Target) lab.Presence {
	t = t.Normal()
	if !t.Engine.Traits().Pages {
		return lab.Presence{Reason: fmt.Sprintf("%s does not run in a browser", t)}
	}
	here := v.web.presence(t)
	here.Threads = 0 // ONNX Runtime chooses in the page: the child here has other cores
	return here
}

// FreeBytes is what children here may use.
func (v visited) FreeBytes() int64 { return v.here.FreeBytes() }

// ofPage are the phases that the guest's page spent; the others are this machine's.
var ofPage = []string{"load", "fetch", "create", "warm", "first", "warmup", "run"}

// ofGuest leaves out of results what was seen of this machine, not of the
// guest's.
type ofGuest struct{ on progress.Listener }

// Hear passes on what is true of the guest.
func (o ofGuest) Hear(e progress.Event) error {
	if e.Kind == progress.KindFinished {
		e = progress.Finished(guestsOwn(*e.Result))
	}
	return o.on.Hear(e)
}

func guestsOwn(r cell.Result) cell.Result {
	c := r.Context
	r.Context = cell.Context{
		Versions: c.Versions, EnvironmentID: c.EnvironmentID,
		InputsInside: c.InputsInside, AttnImpl: c.AttnImpl, EngineSettings: c.EngineSettings, Precisions: c.Precisions,
		Browser: c.Browser,
	}
	if c.Browser != nil {
		r.Context.Threads = c.Browser.Threads
	}
	r.Memory, r.HarnessCPUFraction, r.OverheadMS = nil, nil, nil
	maps.DeleteFunc(r.PhasesMS, func(name string, _ float64) bool { return !slices.Contains(ofPage, name) })
	return r
}
