package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"assay/internal/cell"
)

// JUnit prints the results as JUnit XML when the run is done: a suite for each
// target, a test case for each cell. Unavailable is skipped, and so is what should
// work: no test of it ran. The machine's own failures are errors, the model's are
// failures.
func JUnit(w io.Writer) Results { return &junit{w: w, suites: map[string]*junitSuite{}} }

type junit struct {
	w      io.Writer
	order  []string
	suites map[string]*junitSuite
}

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Skipped  int           `xml:"skipped,attr"`
	Time     string        `xml:"time,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"timestamp,attr,omitempty"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Time      string        `xml:"time,attr,omitempty"`
	Failure   *junitMessage `xml:"failure,omitempty"`
	Error     *junitMessage `xml:"error,omitempty"`
	Skipped   *junitMessage `xml:"skipped,omitempty"`
	Out       string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func (p *junit) Result(r cell.Result) {
	s := p.suites[r.Cell.Target]
	if s == nil {
		s = &junitSuite{Name: xmlText(r.Cell.Target)}
		if !r.StartedAt.IsZero() {
			s.Time = r.StartedAt.UTC().Format(time.RFC3339)
		}
		p.suites[r.Cell.Target] = s
		p.order = append(p.order, r.Cell.Target)
	}
	s.add(r)
}

func (s *junitSuite) add(r cell.Result) {
	c := r.Cell
	test := junitCase{
		Name:      xmlText(called(c) + " " + setting(c)),
		ClassName: xmlText("assay." + strings.ReplaceAll(c.Target, ".", "_")),
		Time:      spent(r),
		Out:       xmlText(strings.Join(facts(r), "  ")),
	}
	s.Tests++
	switch {
	case r.Verdict == cell.Unavailable:
		s.Skipped++
		test.Skipped = &junitMessage{Message: xmlText(r.Note)}
	case r.Shown() != r.Verdict:
		s.Skipped++
		test.Skipped = &junitMessage{Message: xmlText(strings.TrimSuffix(fmt.Sprintf("%s (%s): %s", r.Shown().Word(), r.Evidence, oneLine(r.Note)), ": "))}
	case r.Broke():
		s.Errors++
		test.Error = junitFailure(*r.Failure)
	case r.Verdict == cell.Fails && r.Failure != nil:
		s.Failures++
		test.Failure = junitFailure(*r.Failure)
	case r.Verdict == cell.Fails:
		s.Failures++
		test.Failure = &junitMessage{Message: xmlText(r.Note)}
	}
	s.Cases = append(s.Cases, test)
}

func junitFailure(f cell.Failure) *junitMessage {
	return &junitMessage{
		Message: xmlText(fmt.Sprintf("%s: %s", f.Class, oneLine(f.Detail))),
		Type:    string(f.Class),
		Text:    xmlText(strings.TrimSpace(f.Hint + "\n\n" + f.Log)),
	}
}

// spent is the time of all phases, in seconds; "" where none was timed.
func spent(r cell.Result) string {
	if len(r.PhasesMS) == 0 {
		return ""
	}
	ms := 0.0
	for _, v := range r.PhasesMS {
		ms += v
	}
	return fmt.Sprintf("%.3f", ms/1e3)
}

func (p *junit) Done(s Summary) error {
	all := junitSuites{Name: "assay", Time: fmt.Sprintf("%.3f", s.Elapsed.Seconds())}
	for _, target := range p.order {
		suite := p.suites[target]
		all.Suites = append(all.Suites, suite)
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
	}
	if _, err := io.WriteString(p.w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	e := xml.NewEncoder(p.w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("write JUnit report: %w", err)
	}
	_, err := io.WriteString(p.w, "\n")
	return err
}

// xmlText leaves out what XML 1.0 cannot hold: a child's log may hold anything.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r != utf8.RuneError && unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
}
