package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/hub/hubtest"
)

// TestFaults: what servers do to a large file, and what comes of it.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		faults []hubtest.Fault
		kind   Kind   // "" is a file that arrives
		says   string // in the error, or on the way
		ranges string // of the last request
	}{
		{"stops in mid-file", []hubtest.Fault{{Cut: 100_000}}, "", "", "bytes=100000-"},
		{"stops again and again", []hubtest.Fault{{Cut: 90_000}, {Cut: 90_000}, {Cut: 90_000}, {Cut: 90_000}}, "", "", "bytes=360000-"},
		{"stalls", []hubtest.Fault{{Cut: 100_000, Stall: time.Minute}}, "", "", "bytes=100000-"},
		{"stalls for ever", []hubtest.Fault{{Cut: 100_000, Stall: time.Minute}, {Cut: 1, Stall: time.Minute}, {Slow: 400 * time.Millisecond}, {Slow: 400 * time.Millisecond}, {Slow: 400 * time.Millisecond}}, Unreachable, "cannot load owner/name", ""},
		{"ignores ranges", []hubtest.Fault{{Cut: 100_000}, {Whole: true}}, "", "", "bytes=100000-"},
		{"another range", []hubtest.Fault{{Cut: 100_000}, {Elsewhere: true}}, "", "cannot be resumed", ""},
		{"range refused", []hubtest.Fault{{Cut: 100_000}, {Status: 416}}, "", "cannot be resumed", ""},
		{"wrong bytes once", []hubtest.Fault{{Other: true}}, "", "its checksum differs", ""},
		{"wrong bytes after a stop", []hubtest.Fault{{Cut: 100_000}, {Other: true}}, "", "its checksum differs", ""},
		{"wrong bytes always", []hubtest.Fault{{Other: true}, {Other: true}}, Damaged, "is not as published", ""},
		{"more than it said", []hubtest.Fault{{Longer: 10}, {Longer: 10}}, Damaged, "more than the size", ""},
		{"less than it said", []hubtest.Fault{{Cut: 5}, {Status: 500}, {Status: 500}, {Status: 500}}, Unreachable, "500", ""},
		{"busy, then not", []hubtest.Fault{{Status: 429, RetryAfter: "0"}, {Status: 503}}, "", "", ""},
		{"busy with a date", []hubtest.Fault{{Status: 429, RetryAfter: "Mon, 02 Jan 2006 15:04:05 GMT"}}, "", "", ""},
		{"busy for an hour", []hubtest.Fault{{Status: 429, RetryAfter: "3600"}}, Unreachable, "wait for 1h0m", ""},
		{"gone", []hubtest.Fault{{Status: 404}}, NotFound, "model.safetensors", ""},
		{"forbidden", []hubtest.Fault{{Status: 403}}, Refused, "HF_TOKEN", ""},
		{"a teapot", []hubtest.Fault{{Status: 418}}, BadServer, "418", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, map[string]*hubtest.Model{org: small()})
			f.server.Break("model.safetensors", c.faults...)
			s, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
			if c.kind != "" {
				refuses(t, err, c.kind, c.says)
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, f.said())
			}
			same(t, s, f.server.Models[org].Files, "model.safetensors")
			if !strings.Contains(f.said(), c.says) {
				t.Errorf("it did not say %q:\n%s", c.says, f.said())
			}
			if last := f.server.Requests()[len(f.server.Requests())-1]; c.ranges != "" && last.Range != c.ranges {
				t.Errorf("the last request was %+v", last)
			}
			if left, _ := filepath.Glob(filepath.Join(f.cache, "*", "blobs", "*.incomplete")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestWrongPartsAreRemoved: what an unlucky program left is not built upon.
func TestWrongPartsAreRemoved(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]string{"other bytes": strings.Repeat("x", 1000), "too long": strings.Repeat("x", 1_000_000), "nothing": ""} {
		f := newFixture(t, map[string]*hubtest.Model{org: small()})
		l, err := f.list(t.Context(), Ref{Model: org})
		if err != nil {
			t.Fatal(err)
		}
		blobs := filepath.Join(f.cache, "models--owner--name", "blobs")
		if err := os.MkdirAll(blobs, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, r := range l.Files {
			if err := os.WriteFile(filepath.Join(blobs, r.Tag+".incomplete"), []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		same(t, s, f.server.Models[org].Files, "config.json", "model.safetensors")
	}
}

// TestACutBlob: a file of the cache whose size is not the published one is loaded
// again.
func TestACutBlob(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	s, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(s.Folder, "model.safetensors"), 1000); err != nil {
		t.Fatal(err)
	}
	off, _ := f.client(t, func(o *Options) { o.Forbidden = "--offline" })
	_, err = off.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, Damaged, "is cut off")
	if s, err = f.Fetch(t.Context(), Ref{Model: org}, Want{}); err != nil {
		t.Fatal(err)
	}
	same(t, s, f.server.Models[org].Files, "model.safetensors")
}

func TestUnwritable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()})
	if err := os.WriteFile(f.cache, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	_, err := f.Fetch(t.Context(), Ref{Model: org}, Want{})
	refuses(t, err, Disk, "cannot be written", "HF_HUB_CACHE")
}

func TestProgress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, map[string]*hubtest.Model{org: small()}, func(o *Options) { o.Every = 10 * time.Millisecond })
	f.server.Break("model.safetensors", hubtest.Fault{Cut: 200_000, Stall: 80 * time.Millisecond})
	if _, err := f.Fetch(t.Context(), Ref{Model: org}, Want{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(f.said(), "loading owner/name: 200.0 kB of 400.1 kB, 0 of 1 files, ") {
		t.Errorf("said %s", f.said())
	}
}
