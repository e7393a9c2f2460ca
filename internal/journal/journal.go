// Package journal keeps results as they are finished: append-only files of
// JSON lines, one file per run. The journal is the truth; the store is an index
// over it that can be rebuilt at any time.
//
// A file begins with a header line that names the run and the host. Then come
// detections and results in the order in which they were finished, each with
// an id that begins with the run's. An end line says that the run was not cut
// short.
//
//	{"schema":1,"kind":"run","id":"20261115T043000Z-k3x9qa.0","run":{…},"host":{…},"plan":{…}}
//	{"kind":"detection","id":"20261115T043000Z-k3x9qa.1","at":"…","detection":{…}}
//	{"kind":"result","id":"20261115T043000Z-k3x9qa.2","result":{…}}
//	{"kind":"end","id":"20261115T043000Z-k3x9qa.3"}
//
// A Writer acknowledges a line only once it is on the disk, and holds a lock
// so that one run has one writer. Because lines are only ever appended, the
// worst that a kill or a power cut can leave is one torn line at the end, which
// a Reader reports and the next writer cuts away. Import brings the file of
// another machine, or the JSON that test and bench print, into a folder of
// journals; doing it twice changes nothing. Each line that it adds is marked as
// imported and stays so: it did not happen here.
//
// Nothing here needs cgo: the static worker writes journals too.
package journal

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/cell"
)

// Schema is the version of the journal's lines, in every header.
const Schema = 1

// MaxLine is the longest line, in bytes, that is written or read: well over
// what the repeats of one cell can bring through the runner protocol.
const MaxLine = 128 << 20

// Extension ends the name of every journal.
const Extension = ".jsonl"

// Kind is what a line holds. Readers pass over kinds they do not know.
type Kind string

// The kinds of lines.
const (
	KindRun       Kind = "run"
	KindDetection Kind = "detection"
	KindResult    Kind = "result"
	KindEnd       Kind = "end"
)

// Header is the first line: whose results these are.
type Header struct {
	Schema int
	Run    cell.Run
	Host   cell.Host
	Plan   *cell.Plan // nil where the run had none, or it came without
	// Imported says that the whole run came from elsewhere.
	Imported bool
}

// Line is one complete line of a journal after its header.
type Line struct {
	Kind      Kind
	ID        string
	At        time.Time       // of a detection
	Result    *cell.Result    // of a result
	Detection json.RawMessage // of a detection: the object that detect --json prints
	Body      json.RawMessage // of a result: as written, with fields this version may not know
	Number    int             // counts from 1; the header is 1
	Imported  bool            // it came from elsewhere: this Assay did not see it happen
}

// wire is a line as it stands in the file.
type wire struct {
	Schema    int             `json:"schema,omitempty"`
	Kind      Kind            `json:"kind"`
	ID        string          `json:"id"`
	At        *time.Time      `json:"at,omitempty"`
	Run       *cell.Run       `json:"run,omitempty"`
	Host      *cell.Host      `json:"host,omitempty"`
	Plan      *cell.Plan      `json:"plan,omitempty"`
	Detection json.RawMessage `json:"detection,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Imported  bool            `json:"imported,omitempty"`
}

// encode makes the line's bytes, newline included. Its strings are left as
// they are (no HTML escapes), so that logs stay readable in the file.
func (w wire) encode(limit int) ([]byte, error) {
	b, err := compact(w)
	if err != nil {
		return nil, fmt.Errorf("journal line %s: %w", w.ID, err)
	}
	if len(b) > limit {
		return nil, &LongError{ID: w.ID, Bytes: len(b), Limit: limit}
	}
	return b, nil
}

func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// NewRunID makes the id of a run that starts at t. Ids sort by time, and two
// runs of the same second differ.
func NewRunID(t time.Time) string {
	return t.UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:6])
}

// Path is where the journal of a run lies in a folder of journals.
func Path(dir, runID string) string { return filepath.Join(dir, runID+Extension) }

// checkRunID keeps ids that come from elsewhere from naming other files.
func checkRunID(id string) error {
	ok := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_'
	}
	if id == "" || len(id) > 100 || strings.IndexFunc(id, func(r rune) bool { return !ok(r) }) >= 0 {
		return fmt.Errorf("%.120q is not a run's id: ids are up to 100 letters, digits, dashes and underscores", id)
	}
	return nil
}
