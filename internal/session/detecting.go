package session

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"assay/internal/browser"
	"assay/internal/cell"
	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/journal"
)

// Asking is how much a detection does beside looking at the machine.
type Asking struct {
	Look       bool         // nothing: start no child
	Fresh      bool         // ask again instead of using what is kept
	Forget     bool         // forget what jobs have shown of the processor
	Browsers   bool         // start browsers; without it, what they said last counts
	NoBrowsers bool         // leave browsers out
	Warn       func(string) // hears what went wrong beside; nil is nobody
}

// Detect is what both passes find, the second one without a runner: each engine
// is asked in its own child. It installs nothing; without an environment
// there is less to tell.
func (s *Session) Detect(ctx context.Context, how Asking) (detect.Report, error) {
	if how.Look {
		return detect.JudgeFirst(s.Sighting()), nil
	}
	answers, err := s.answers(ctx, how)
	if err != nil {
		return detect.Report{}, err
	}
	return detect.Judge(s.Sighting(), answers), ctx.Err()
}

// Capture writes a fixture of the machine into a folder.
func (s *Session) Capture(ctx context.Context, dir string, how Asking) error {
	how.Fresh = true
	answers, err := s.answers(ctx, how)
	if err != nil {
		return err
	}
	return detect.Capture(dir, s.o.Machine, answers)
}

// KeptBrowsers are the versions of browsers that are known without starting
// one; where that cannot be told, none.
func (s *Session) KeptBrowsers(ctx context.Context) map[string]string {
	answers, err := s.askBrowsers(ctx, Asking{})
	if err != nil {
		return nil
	}
	return answers.BrowserVersions()
}

// Here is what a look at this machine tells without asking any engine: who it
// is, and what is not there. Imported results are checked against it.
func (s *Session) Here() journal.Here {
	r := detect.JudgeFirst(s.Sighting())
	h := journal.Here{Host: r.Host.ID, Absent: map[string]bool{}}
	for _, p := range r.Platforms {
		h.Absent[string(p.Platform)] = p.Status == detect.Absent && !p.Seen
	}
	return h
}

// JournalDetection journals a detection in a folder, so that it can be asked for.
func (s *Session) JournalDetection(dir string, r detect.Report) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	run := cell.Run{ID: journal.NewRunID(now), StartedAt: now, Command: "detect", Assay: s.o.Version}
	j, err := journal.Create(dir, journal.Header{Schema: journal.Schema, Run: run, Host: r.Host})
	if err != nil {
		return err
	}
	_, err = j.AppendDetection(now, body)
	if err == nil {
		err = j.End()
	}
	return errors.Join(err, j.Close())
}

// answers are those of the second pass: of the engines and the browsers; nil
// where neither are.
func (s *Session) answers(ctx context.Context, how Asking) (detect.Answers, error) {
	if s.o.Answers != nil {
		return s.o.Answers, nil
	}
	answers, err := s.askEngines(ctx, how)
	if err != nil || how.NoBrowsers {
		return answers, err
	}
	browsers, err := s.askBrowsers(ctx, how)
	if err != nil || len(browsers) == 0 {
		return answers, err
	}
	maps.Copy(browsers, answers)
	return browsers, nil
}

// askEngines asks the environment; nil where none is installed.
func (s *Session) askEngines(ctx context.Context, how Asking) (detect.Answers, error) {
	env, err := s.o.Environments.Present(ctx)
	if environment.IsKind(err, environment.Forbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cache := detect.NewCache(s.cache(""), env.Python, s.Sighting())
	cache.Fresh = how.Fresh
	if how.Forget {
		if err := env.ForgetInstructions(); err != nil && how.Warn != nil {
			how.Warn("warning: what is known about the processor's instruction sets was kept: " + err.Error())
		}
	}
	executes := env.Instructions(ctx) // before the questions, which have limits of their own
	return detect.Confirm(ctx, cache.Around(detect.PythonChild(env.Command)), detect.Questions()).WithInstructions(executes), nil
}

// askBrowsers asks the installed browsers and the one of the web environment.
func (s *Session) askBrowsers(ctx context.Context, how Asking) (detect.Answers, error) {
	web, err := s.o.Environments.PresentWeb()
	if err != nil && !errors.Is(err, environment.ErrNoWeb) {
		return nil, err
	}
	return browser.Asking{Machine: s.o.Machine, Web: web, Cache: s.cache(""), Fresh: how.Fresh, Kept: !how.Browsers}.Answers(ctx), nil
}
