// Package doctor checks that everything Assay needs on this machine is there
// and in order, and says what to do about what is not.
//
// A check is a row of a table (checks.go): a name, the platforms it is about,
// and a function from Deps to a Finding. Deps holds every outside thing as a
// function, so that a test is a machine made of closures; Live fills in what
// needs only the standard library and the environment, and main adds what is
// in packages that doctor does not know: the runner's hello, the database, the
// journals. A check whose function is not given is left out.
//
// Doctor installs nothing and changes nothing. A Report has two printers that
// are twins: WriteText and, by its JSON tags, encoding/json.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/platform"
)

// Status says how a check went.
type Status string

// The statuses. Skipped means that there was nothing to check, because another
// check failed first or because this machine has no such thing.
const (
	OK      Status = "ok"
	Warn    Status = "warn" // Assay works, with a limit
	Fail    Status = "fail" // something Assay does will not work
	Skipped Status = "skipped"
)

// Finding is the result of one check.
type Finding struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"` // what the user can do
}

// Report is the result of all checks.
type Report struct {
	Schema   int       `json:"schema"`
	Platform string    `json:"platform,omitempty"` // the one asked for; "" is all
	OK       bool      `json:"ok"`                 // nothing fails
	Checks   []Finding `json:"checks"`
}

// Check is a row of the table of checks.
type Check struct {
	Name      string
	Platforms []platform.Name // whom it is about; none means everybody
	// Run looks and tells. It gets nothing it must close and changes nothing.
	Run func(ctx context.Context, d *Deps) Finding
	// Given reports whether the functions Run needs are there; nil means they are.
	Given func(d *Deps) bool
}

// Run carries the checks out in their order. asked is the platform the user
// named, "" for all; a platform that is asked for and absent is a failure, not
// asked for it is only told.
func Run(ctx context.Context, d Deps, asked platform.Name) Report {
	d.asked = asked
	r := Report{Schema: 1, Platform: string(asked), OK: true}
	for _, c := range Checks() {
		if c.Given != nil && !c.Given(&d) {
			continue
		}
		if asked != "" && len(c.Platforms) > 0 && !slices.Contains(c.Platforms, asked) {
			continue
		}
		f := c.Run(ctx, &d)
		if ctx.Err() != nil {
			f = skipped("interrupted")
		}
		f.Name = c.Name
		r.OK = r.OK && f.Status != Fail
		r.Checks = append(r.Checks, f)
	}
	return r
}

// WriteText prints the report for people.
func (r Report) WriteText(w io.Writer) error {
	marks := map[Status]string{OK: "ok", Warn: "warn", Fail: "FAIL", Skipped: "-"}
	var b strings.Builder
	for _, f := range r.Checks {
		fmt.Fprintf(&b, "%-5s %-14s %s\n", marks[f.Status], f.Name, f.Detail)
		if f.Do != "" {
			fmt.Fprintf(&b, "%-5s %-14s → %s\n", "", "", f.Do)
		}
	}
	b.WriteString(r.verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) verdict() string {
	count := map[Status]int{}
	for _, f := range r.Checks {
		count[f.Status]++
	}
	switch {
	case count[Fail] > 0:
		return fmt.Sprintf("%d of %d checks fail\n", count[Fail], len(r.Checks))
	case count[Warn] > 0:
		return fmt.Sprintf("all in order; warnings: %d\n", count[Warn])
	}
	return "all in order\n"
}

func ok(format string, args ...any) Finding {
	return Finding{Status: OK, Detail: fmt.Sprintf(format, args...)}
}

func skipped(format string, args ...any) Finding {
	return Finding{Status: Skipped, Detail: fmt.Sprintf(format, args...)}
}

func warn(do, format string, args ...any) Finding {
	return Finding{Status: Warn, Detail: fmt.Sprintf(format, args...), Do: do}
}

func fail(do, format string, args ...any) Finding {
	return Finding{Status: Fail, Detail: fmt.Sprintf(format, args...), Do: do}
}
