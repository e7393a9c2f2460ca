package pytests

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// report is pytest's JUnit file, as far as it is read.
type report struct {
	Cases []testcase `xml:"testsuite>testcase"`
}

type testcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Seconds float64  `xml:"time,attr"`
	Failure *message `xml:"failure"`
	Error   *message `xml:"error"`
	Skipped *message `xml:"skipped"`
}

type message struct {
	Text string `xml:"message,attr"`
}

// read folds the cases of a report into a result for each file. A file of which
// the report says nothing has failed: pytest found no test in it.
func read(text []byte, files []string) ([]Result, error) {
	var all report
	if err := xml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("pytest's report: %w", err)
	}
	of := map[string]*Result{}
	out := make([]Result, len(files))
	for i, f := range files {
		out[i].File = f
		of[strings.TrimSuffix(f, ".py")] = &out[i]
	}
	for _, c := range all.Cases {
		r := of[module(c)]
		if r == nil {
			continue
		}
		r.Seconds += c.Seconds
		r.add(c)
	}
	for i := range out {
		if r := &out[i]; r.Passed+r.Failed+r.Skipped == 0 {
			r.Failed, r.Why = 1, "pytest found no test in it"
		}
	}
	return out, nil
}

// module is the module of a case; one that could not be imported has it as its
// name.
func module(c testcase) string {
	if c.Class == "" {
		return c.Name
	}
	return c.Class[strings.LastIndex(c.Class, ".")+1:]
}

func (r *Result) add(c testcase) {
	why := ""
	switch {
	case c.Failure != nil:
		r.Failed++
		why = c.Failure.Text
	case c.Error != nil:
		r.Failed++
		why = c.Error.Text
	case c.Skipped != nil:
		r.Skipped++
		why = c.Skipped.Text
	default:
		r.Passed++
	}
	// A failure is told rather than what was skipped before it.
	if why != "" && (r.Why == "" || c.Skipped == nil && r.Failed == 1) {
		r.Why = c.Name + ": " + strings.TrimSpace(strings.SplitN(why, "\n", 2)[0])
	}
}
