// Package failure says why a cell failed: one of the fixed classes, a line of
// detail, a hint of what to do, and the log.
//
// What is known about a child that did not do its work is an Evidence: the
// exception it reported, how it ended, what it printed, and what was done to
// it. Classify asks a short list of judges in turn, the surest first:
//
//   - what Assay itself saw or did: the runner was lost, the protocol was
//     broken, the child was killed for its time or memory;
//   - the type of the exception, by a table (types.go); an exception that only
//     wraps another gives way to what it wraps (traceback.go);
//   - what the exception says, by an ordered table of patterns (patterns.go);
//   - what a child printed that died without a report, by the rows of the same
//     table that are marked for logs: a warning in a log proves nothing, so
//     only lines that a program prints when it gives up are;
//   - the signal or status it ended with (ends.go);
//   - the phase it was in, and in the end: the model's own code.
//
// Three classes mean that something other than the model broke: the machine
// (environment, driver), or Assay itself and what it takes of libraries that
// they do not promise (harness). OfMachine tells them apart, and nothing of them
// is ever counted against a model.
//
// Each class has a hint, with finer rows for what is often seen (hints.go).
// Details and logs are cleaned of machine paths, addresses, user names and
// tokens (detail.go, log.go), so that two machines word the same failure the same way.
//
// The tables are tested by a corpus of logs under testdata/logs: every file is
// classified, and every row is needed by some file. A failure that is classed
// wrongly is a file to add there, then a row here.
package failure

import (
	"strings"

	"assay/internal/cell"
)

// Evidence is what is known about a child that did not do its work. Zero fields
// mean that nothing is known about them.
type Evidence struct {
	Exception string   // the exception's dotted name, without a module for Python's own
	Bases     []string // of its base classes, nearest first
	Message   string   // of the exception; without one, a sentence of whoever asks
	Traceback string   // as Python prints it, with what it was caused by

	Phase         string // the phase the child was in
	Signal        int    // the signal that ended the child, by this system's numbers
	ExitStatus    int
	Killed        string // why Assay had it killed: timeout, memory, cancel
	OOMKilled     bool   // the kernel says that it killed the child for memory
	Lost          string // why the runner is gone, or there never was a child
	ProtocolError string // how the child broke the protocol
	Log           string // what the child printed

	Platform string
	Engine   string
	DType    string
	Cache    string // of a generation's past: "" is the library's own choice
}

// finding is what a judge found: a class, and the line that tells most.
type finding struct {
	class cell.FailureClass
	line  string
}

// judges are asked in this order; the first that finds something decides.
var judges = []func(Evidence) (finding, bool){lost, killed, raised, told, printed, ended}

// Classify says why the child failed. It always finds a class, a detail and a
// hint.
func Classify(e Evidence) cell.Failure {
	e = tidy(e)
	f := judge(e)
	detail := short(joined(normal(joinLine(f.line, failedCheck(f, e.Log))), where(e)))
	log := fullLog(e)
	return cell.Failure{Class: f.class, Detail: detail, Hint: hint(f.class, hintText(e, f), log), Log: log}
}

// Of makes a failure of a class that was not found from a child's
// end, such as a wrong output. It has no log.
func Of(class cell.FailureClass, detail string) cell.Failure {
	return OfLog(class, detail, "")
}

// OfCell is Of where it is known what was asked for: nobody is told to do what
// was done.
func OfCell(class cell.FailureClass, detail string, c cell.Cell) cell.Failure {
	f := Of(class, detail)
	f.Hint = hint(class, normal(clean(detail))+asked(string(c.Platform), string(c.DType), string(c.Engine), c.Cache), "")
	return f
}

// OfLog is Of where something was printed too.
func OfLog(class cell.FailureClass, detail, log string) cell.Failure {
	line, log := normal(clean(detail)), fullLog(tidy(Evidence{Log: log}))
	return cell.Failure{Class: class, Detail: short(line), Hint: hint(class, line, log), Log: log}
}

// OfMachine says whether a class means that the machine broke, or Assay. Such a failure
// is never counted against the model.
func OfMachine(class cell.FailureClass) bool {
	return class == cell.Environment || class == cell.Driver || class == cell.Harness
}

func judge(e Evidence) finding {
	for _, j := range judges {
		if f, ok := j(e); ok {
			return f
		}
	}
	return unknown(e)
}

// unknown is what is left when no judge knew: in some phases that is a class
// of its own, elsewhere it is the model's own code.
func unknown(e Evidence) finding {
	class, ok := phaseClasses[e.Phase]
	if !ok {
		class = cell.ModelError
	}
	return finding{class, e.said()}
}

// phaseClasses are the classes of failures that nothing else is known about.
var phaseClasses = map[string]cell.FailureClass{
	"import":   cell.Environment, // a package that does not load is not the model's doing
	"recipe":   cell.Environment, // what was never built says nothing about the model
	"download": cell.MissingWeights,
	"read":     cell.MissingWeights,
	"convert":  cell.Export,
	"compile":  cell.Export,
}

// lost judges what Assay saw go wrong around the child.
func lost(e Evidence) (finding, bool) {
	switch {
	case e.Lost != "":
		return finding{cell.Environment, "the runner was lost: " + firstLine(e.Lost)}, true
	case e.ProtocolError != "" && e.Exception == "":
		return finding{cell.Environment, "the child broke the protocol: " + firstLine(e.ProtocolError)}, true
	}
	return finding{}, false
}

// kills are the reasons Assay has for killing a child.
var kills = map[string]finding{
	"timeout": {cell.Timeout, "no answer within its time limit"},
	"memory":  {cell.OutOfMemory, "it took more memory than the cell may have, and was stopped"},
	"cancel":  {cell.Environment, "cancelled before it was done"},
}

// killed judges what Assay did itself: that is known, not guessed.
func killed(e Evidence) (finding, bool) {
	f, ok := kills[e.Killed]
	if !ok {
		return finding{}, false
	}
	if e.Message != "" && e.Exception == "" {
		f.line = firstLine(e.Message)
	}
	if e.Phase != "" {
		f.line += " in phase " + e.Phase
	}
	return f, true
}

// told judges a message that came without an exception.
func told(e Evidence) (finding, bool) {
	if e.Exception != "" || e.Message == "" {
		return finding{}, false
	}
	return match(inMessage, e.Message)
}

// printed judges by the log of a child that died without reporting why.
func printed(e Evidence) (finding, bool) {
	if e.Exception != "" || (e.Signal == 0 && e.ExitStatus == 0) {
		return finding{}, false
	}
	return match(inLog, e.Log)
}

// said is the exception, or else the message, in one line.
func (e Evidence) said() string {
	if e.Exception == "" {
		return firstLine(e.Message)
	}
	return thrown{kind: e.Exception, message: e.Message}.String()
}

// tidy bounds and cleans what came from outside, once for all judges.
func tidy(e Evidence) Evidence {
	for _, s := range []*string{&e.Message, &e.Traceback, &e.Log, &e.Lost, &e.ProtocolError} {
		*s = clean(bound(*s, 2*MaxLog))
	}
	for _, s := range []*string{&e.Exception, &e.Phase} {
		*s = firstLine(clean(bound(*s, maxName)))
	}
	e.Exception = strings.TrimPrefix(e.Exception, "builtins.")
	return e
}

// maxName is how many bytes of an exception's or a phase's name are kept.
const maxName = 512
