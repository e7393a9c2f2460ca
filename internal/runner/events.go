package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
)

// Hello is what a runner says of itself when it is ready.
type Hello struct {
	Protocol int               `json:"protocol"`
	Runner   string            `json:"runner"`
	PID      int               `json:"pid"` // of the process that makes the children
	Versions map[string]string `json:"versions"`
	Start    string            `json:"start"`   // fork or spawn
	Missing  map[string]string `json:"missing"` // what could not be imported → why
	// Private are names that the runner uses of libraries and that these lack, with what for.
	Private map[string]string `json:"private"`
	Notes   []string          `json:"notes"` // what a user should know of this runner
}

// Event is something that a job's child did: Started, Phase, Timed,
// PointDone, Failure or Data; or Again, when another child takes over. A consumer switches on its type.
type Event interface{ event() }

// Started says that the child exists. It comes first.
type Started struct {
	PID  int `json:"pid"`
	PGID int `json:"pgid"`
	// Before is how many jobs the same child has carried out; 0 is a fresh one.
	Before int `json:"before,omitempty"`
}

// Phase says that a phase of the job ended.
type Phase struct {
	Name string  `json:"name"`
	MS   float64 `json:"ms"`
}

// Timed says that the timed phase of a point begins or ends.
type Timed struct {
	State string `json:"state"` // begin or end
	// RunnerCPUS is the CPU time that the runner itself has used so far; nil is unknown.
	RunnerCPUS *float64 `json:"runner_cpu_s"`
}

// PointDone says that a point of the job is finished. It stands even if the
// child dies later.
type PointDone struct {
	Index  int             `json:"index"`
	Report json.RawMessage `json:"report"`
}

// Decode reads the report. It is not read earlier so that a report with a
// wrong field fails its own job and not the whole runner.
func (p PointDone) Decode() (Report, error) {
	var r Report
	if err := json.Unmarshal(p.Report, &r); err != nil {
		return Report{}, fmt.Errorf("the report of point %d does not follow the protocol: %w", p.Index, err)
	}
	return r, nil
}

// Failure says that an exception ended the job or one of its points.
type Failure struct {
	Index     *int     `json:"index"` // nil when it ended the job
	Phase     string   `json:"phase"` // "" outside any phase
	Type      string   `json:"type"`  // the exception's dotted name
	Bases     []string `json:"bases"` // of its base classes, nearest first
	Message   string   `json:"message"`
	Traceback string   `json:"traceback"`
}

// Data is the answer of a job that is a question.
type Data struct {
	Data json.RawMessage `json:"data"`
}

func (Started) event()   {}
func (Phase) event()     {}
func (Timed) event()     {}
func (PointDone) event() {}
func (Failure) event()   {}
func (Data) event()      {}

// Exit says how a job's child ended. When it is there, the child and its
// whole process group are gone.
type Exit struct {
	Status   int    `json:"status"` // exit status; 0 when a signal ended it, -1 when it never began
	Signal   int    `json:"signal"` // the signal that ended it, or 0
	Usage    *Usage `json:"usage"`  // nil where the system does not tell
	Killed   string `json:"killed"` // why Assay had it killed, or ""
	Log      string `json:"log"`    // head and tail of what it printed, at most 64 KiB
	LogBytes int64  `json:"log_bytes"`
	// ProtocolError says how the child broke the protocol, or "".
	ProtocolError string `json:"protocol_error"`
	// StartError says why there was no child at all, or "".
	StartError string `json:"start_error"`
}

// Usage is what the child and its own children used, by the system's account.
type Usage struct {
	UserS       float64 `json:"user_s"`
	SystemS     float64 `json:"system_s"`
	MaxRSSBytes *int64  `json:"max_rss_bytes"`
}

// Outcome is how a child ended, in one word.
type Outcome string

// The outcomes, in the order in which they are tried.
const (
	NotStarted  Outcome = "not-started"  // the machine could not make a child
	BadProtocol Outcome = "bad-protocol" // it wrote what is not a message, and was killed
	Killed      Outcome = "killed"       // at our wish; Exit.Killed says why
	Signalled   Outcome = "signalled"    // a crash, an abort, or the kernel's out-of-memory killer
	Failed      Outcome = "failed"       // a status other than 0
	Finished    Outcome = "finished"
)

// Outcome tells the ways to end apart.
func (e Exit) Outcome() Outcome {
	switch {
	case e.StartError != "":
		return NotStarted
	case e.ProtocolError != "":
		return BadProtocol
	case e.Killed != "":
		return Killed
	case e.Signal != 0:
		return Signalled
	case e.Status != 0:
		return Failed
	}
	return Finished
}

// String says how the child ended, for logs and details.
func (e Exit) String() string {
	switch e.Outcome() {
	case NotStarted:
		return "never started: " + e.StartError
	case BadProtocol:
		return "broke the protocol: " + e.ProtocolError
	case Killed:
		return "was killed: " + e.Killed
	case Signalled:
		return fmt.Sprintf("ended by signal %d (%v)", e.Signal, syscall.Signal(e.Signal))
	}
	return fmt.Sprintf("ended with status %d", e.Status)
}

// message is one line from the runner: whose it is, and one of hello, exit
// and event.
type message struct {
	id    string
	hello *Hello
	exit  *Exit
	event Event
}

// decoders has one row for each ev that belongs to a job.
var decoders = map[string]func([]byte) (Event, error){
	"started": decodeAs[Started],
	"phase":   decodeAs[Phase],
	"timed":   decodeAs[Timed],
	"point":   decodeAs[PointDone],
	"failure": decodeAs[Failure],
	"data":    decodeAs[Data],
}

func decodeAs[T Event](line []byte) (Event, error) {
	var e T
	err := json.Unmarshal(line, &e)
	return e, err
}

// decode reads one line. It is strict about what a message is (an object,
// with a known ev and the right types) and tolerant of fields it does not know.
func decode(line []byte) (message, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(line, " \t\r"), []byte("{")) {
		return message{}, fmt.Errorf("%s is not a JSON object", excerpt(line))
	}
	var head struct{ Ev, ID string }
	if err := json.Unmarshal(line, &head); err != nil {
		return message{}, fmt.Errorf("%s is not a message: %w", excerpt(line), err)
	}
	m := message{id: head.ID}
	var err error
	switch decoder, known := decoders[head.Ev]; {
	case head.Ev == "hello":
		m.hello = &Hello{}
		return m, wrapDecode(head.Ev, json.Unmarshal(line, m.hello))
	case head.ID == "":
		return message{}, fmt.Errorf("%s has no id", excerpt(line))
	case head.Ev == "exit":
		m.exit = &Exit{}
		err = json.Unmarshal(line, m.exit)
	case known:
		m.event, err = decoder(line)
	default:
		err = errors.New("unknown ev")
	}
	return m, wrapDecode(head.Ev, err)
}

func wrapDecode(ev string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("message %s: %w", excerpt([]byte(ev)), err)
}

// excerpt quotes enough of a line to recognise it.
func excerpt(line []byte) string {
	const most = 80
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
