package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/internal/compare"
	"assay/internal/filelock"
)

// aaSetting is the first line of a file of comparisons.
type aaSetting struct {
	Schema       int     `json:"schema"`
	Machine      string  `json:"machine"` // in words
	Key          string  `json:"key"`     // of the machine
	Torch        string  `json:"torch"`
	Transformers string  `json:"transformers"`
	Type         string  `json:"type"`
	Batch        int     `json:"batch"`
	Threads      int     `json:"threads"`
	Timing       string  `json:"timing"`
	LeastS       float64 `json:"least_s"` // that a repeat times
	Repeats      int     `json:"repeats"` // of a side, before confirmation
}

// aaTally is one comparison.
type aaTally struct {
	against
	ID      uint64               `json:"id,string"` // by which a merged file's are known
	At      time.Time            `json:"at"`
	Verdict compare.SpeedVerdict `json:"verdict"`
	Ratio   float64              `json:"ratio"`
	Finds   *float64             `json:"finds"`   // the smallest change that it could have found
	Varies  float64              `json:"varies"`  // side a's repeats, as a share
	Repeats int                  `json:"repeats"` // of a side, with those of the confirmation
	Lanes   int                  `json:"lanes"`   // comparisons at a time
	Load    *float64             `json:"load"`    // runnable processes over the last minute; null where the system does not tell
}

// steady is how much the repeats of a cell may vary whose slow-downs must be found.
const steady = 0.015

// aaTallies are the comparisons of a file. Several lanes may add to it.
type aaTallies struct {
	setting aaSetting

	mu   sync.Mutex
	list []aaTally
	has  map[uint64]bool // by ID
	runs map[against]int // under way
	file *os.File
	lost error // a line was not written whole, and none may follow it
}

// openAATallies opens a file of comparisons, or begins one. A last line that was cut
// short goes; anything else that cannot be read, another setting, and another run that
// adds to the same file, is an error.
func openAATallies(path string, now aaSetting, say func(string)) (*aaTallies, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	t := &aaTallies{setting: now, has: map[uint64]bool{}, runs: map[against]int{}}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if err := filelock.Try(file, filelock.Exclusive); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another run adds to it, or its lock could not be taken: wait for that run, or name another file with -state and merge it later: %w", path, err), file.Close())
	}
	t.file = file
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	found, err := t.read(text[:whole])
	if err == nil {
		t.keep(found)
		err = file.Truncate(int64(whole))
	}
	if err == nil && whole == 0 {
		err = t.line(now)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	if len(t.list) > 0 {
		say(fmt.Sprintf("%d comparisons are in %s", len(t.list), path))
	}
	return t, nil
}

// read are the comparisons of a file of the same setting.
func (t *aaTallies) read(text []byte) (out []aaTally, err error) {
	for i, line := range slices.Collect(bytes.Lines(text)) {
		if i > 0 {
			var one aaTally
			if err := json.Unmarshal(line, &one); err != nil {
				return nil, fmt.Errorf("line %d is no comparison: %w", i+1, err)
			}
			out = append(out, one)
			continue
		}
		var is aaSetting
		if err := json.Unmarshal(line, &is); err != nil {
			return nil, fmt.Errorf("the first line is no setting: %w", err)
		}
		if is != t.setting {
			return nil, fmt.Errorf("its comparisons are of %+v, and these would be of %+v: name another file with -state", is, t.setting)
		}
	}
	return out, nil
}

// keep takes note of those that are not there yet.
func (t *aaTallies) keep(list []aaTally) (added []aaTally) {
	for _, x := range list {
		if !t.has[x.ID] {
			t.has[x.ID] = true
			t.list, added = append(t.list, x), append(added, x)
		}
	}
	return added
}

// merge adds what other files hold. A comparison that is there already is not counted twice.
func (t *aaTallies) merge(paths []string, say func(string)) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := t.read(text[:bytes.LastIndexByte(text, '\n')+1])
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		added := t.keep(found)
		for _, x := range added {
			if err := t.line(x); err != nil {
				return err
			}
		}
		say(fmt.Sprintf("%d of the %d comparisons in %s are new", len(added), len(found), path))
	}
	return nil
}

func (t *aaTallies) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil || t.lost != nil {
		return errors.Join(err, t.lost)
	}
	_, t.lost = t.file.Write(append(text, '\n'))
	return t.lost
}

// add keeps a comparison that was taken, and says how many there are and how many are left.
func (t *aaTallies) add(one aaTally, wanted map[against]int) (made, left int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[one.against]--
	t.keep([]aaTally{one})
	for _, n := range t.lacking(wanted) {
		left += n
	}
	return len(t.list), left, t.line(one)
}

// drop gives up a comparison that was taken.
func (t *aaTallies) drop(kind against) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[kind]--
}

func (t *aaTallies) close() error { return t.file.Close() }

func (t *aaTallies) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.list)
}

func (t *aaTallies) of(kind against) []aaTally {
	return slices.DeleteFunc(slices.Clone(t.list), func(x aaTally) bool { return x.against != kind })
}

// left is how many comparisons of each kind there are to make.
func (t *aaTallies) left(wanted map[against]int) map[against]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lacking(wanted)
}

func (t *aaTallies) lacking(wanted map[against]int) map[against]int {
	out := maps.Clone(wanted)
	for _, x := range t.list {
		out[x.against]--
	}
	maps.DeleteFunc(out, func(_ against, n int) bool { return n <= 0 })
	return out
}

// take is the kind of comparison that is furthest behind, those under way counted; false when
// none is left.
func (t *aaTallies) take(wanted map[against]int) (kind against, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	lacking, most := t.lacking(wanted), 0.0
	for _, k := range append([]against{{}}, plants...) {
		if share := float64(lacking[k]-t.runs[k]) / float64(max(wanted[k], 1)); share > most {
			kind, most = k, share
		}
	}
	if most == 0 {
		return kind, false
	}
	t.runs[kind]++
	return kind, true
}
