package session

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/journal"
	"assay/internal/platform"
)

// TestDetect: what is detected is the machine of the session, by both passes or
// by the first alone.
func TestDetect(t *testing.T) {
	t.Parallel()
	s := New(capturedOptions(t, "h200"))
	defer s.Close()
	for _, c := range []struct {
		how  Asking
		want detect.Status
	}{{Asking{}, detect.Present}, {Asking{Look: true}, detect.Unknown}} {
		r, err := s.Detect(t.Context(), c.how)
		if err != nil {
			t.Fatal(err)
		}
		if cuda, _ := r.Get(platform.CUDA); cuda.Status != c.want || r.Host.ID != s.Host().ID {
			t.Errorf("%+v: cuda is %s on %s, want %s on %s", c.how, cuda.Status, r.Host.ID, c.want, s.Host().ID)
		}
	}
}

// TestDetectWithoutAnEnvironment: where nothing is installed the first pass still
// answers; a Python that does not start is an error.
func TestDetectWithoutAnEnvironment(t *testing.T) {
	t.Parallel()
	o := capturedOptions(t, "epyc-vm")
	o.Answers = nil
	for _, c := range []struct {
		kind  environment.Kind
		fails bool
	}{{environment.Forbidden, false}, {environment.NoPython, true}} {
		o.Environments = absent{err: &environment.Error{Kind: c.kind, Problem: "there is none"}}
		s := New(o)
		r, err := s.Detect(t.Context(), Asking{NoBrowsers: true})
		if (err != nil) != c.fails || err == nil && len(r.Platforms) != len(platform.Names()) {
			t.Errorf("%s: %d platforms, %v", c.kind, len(r.Platforms), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// absent are environments of which none is there.
type absent struct {
	faked
	err error
}

func (a absent) Present(context.Context) (environment.Environment, error) {
	return environment.Environment{}, a.err
}

// TestCaptureGivenMachine: a capture of a machine is detected as that machine.
func TestCaptureGivenMachine(t *testing.T) {
	t.Parallel()
	s := New(capturedOptions(t, "mi300x"))
	defer s.Close()
	dir := filepath.Join(t.TempDir(), "again")
	if err := s.Capture(t.Context(), dir, Asking{}); err != nil {
		t.Fatal(err)
	}
	again, err := detect.Captured(dir)
	if err != nil {
		t.Fatal(err)
	}
	if rocm, _ := again.Get(platform.ROCm); rocm.Status != detect.Present {
		t.Errorf("rocm is %s in the capture", rocm.Status)
	}
}

// TestHere: imported results are held against the machine of the session.
func TestHere(t *testing.T) {
	t.Parallel()
	for name, absent := range map[string]bool{"h200": false, "apple-m3": true} {
		s := New(capturedOptions(t, name))
		here := s.Here()
		if here.Host != s.Host().ID || here.Absent["cuda"] != absent || here.Absent["cpu"] {
			t.Errorf("%s: %+v", name, here)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKeptBrowsers: no browser is started, and what cannot be told is nothing.
func TestKeptBrowsers(t *testing.T) {
	t.Parallel()
	o := capturedOptions(t, "epyc-vm")
	o.Environments = faked{}
	s := New(o)
	defer s.Close()
	if got := s.KeptBrowsers(t.Context()); len(got) != 0 {
		t.Errorf("a machine without browsers has %v", got)
	}
	o.Environments = noWeb{}
	broken := New(o)
	defer broken.Close()
	if got := broken.KeptBrowsers(t.Context()); got != nil {
		t.Errorf("where that cannot be told, %v", got)
	}
}

// noWeb is a home in which the web environment cannot be looked for.
type noWeb struct{ faked }

func (noWeb) PresentWeb() (environment.Web, error) {
	return environment.Web{}, errors.New("no permission")
}

// TestJournalDetection: a detection is a journal of its own, ended, of the host
// that was detected.
func TestJournalDetection(t *testing.T) {
	t.Parallel()
	o := capturedOptions(t, "h200")
	o.Version = "1.2.3"
	s := New(o)
	defer s.Close()
	r, err := s.Detect(t.Context(), Asking{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.JournalDetection(dir, r); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+journal.Extension))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	j, err := journal.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if h := j.Header(); h.Host.ID != r.Host.ID || h.Run.Command != "detect" || h.Run.Assay != "1.2.3" {
		t.Errorf("%+v", h)
	}
	for _, want := range []journal.Kind{journal.KindDetection, journal.KindEnd} {
		if line, err := j.Next(); err != nil || line.Kind != want {
			t.Errorf("%s, %v, want %s", line.Kind, err, want)
		}
	}
}
