package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"assay/internal/dash"
	"assay/internal/input"
	"assay/internal/store"
)

// The limits of a question in SQL. DuckDB does not count what a single value takes, and cannot be
// interrupted while it makes one, so a question has a process of its own, which the system
// limits (on Linux) and which is killed when its time is up.
const (
	mostRows      = 10_000
	mostBytes     = 16 << 20
	databaseTakes = "512MiB"
	processTakes  = 1 << 30 // all of it
	longest       = 64 << 10
)

// exceeded is said of a process that the system's limit ended.
const exceeded = "the question takes more memory than it may have"

// places is what tells where the database or other things of this machine lie, and what runs a text as SQL, in which
// such names could be put together.
var places = regexp.MustCompile(`(?i)\b(duckdb_databases|database_list|pragma_database_list|duckdb_settings|pg_settings|current_setting)\b|\b(query|query_table)"?\s*(\(|/\*|--)`)

// Query answers one SELECT in a process of its own, which opens the database read-only and without
// access to files or networks. Who asks is not told where the database lies.
func (p Past) Query(ctx context.Context, sql string) ([]byte, error) {
	if m := places.FindStringSubmatch(sql); m != nil {
		return nil, &dash.WrongError{Err: fmt.Errorf("%s may not be used over HTTP, where nobody is told where files lie: leave it out", m[1]+m[2])}
	}
	st, err := p.Home.Store()
	if err != nil {
		return nil, err
	}
	text, err := p.ask(ctx, st, sql)
	return text, hidden(err, filepath.Dir(st.Path()))
}

// hidden takes a folder out of an error.
func hidden(err error, folder string) error {
	if err == nil || !strings.Contains(err.Error(), folder) {
		return err
	}
	told := errors.New(strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), ""))
	wrong, later := (*dash.WrongError)(nil), (*dash.LaterError)(nil)
	switch {
	case errors.As(err, &wrong):
		return &dash.WrongError{Err: told}
	case errors.As(err, &later):
		return &dash.LaterError{Err: told}
	}
	return told
}

// ask starts the process and hears it out.
func (p Past) ask(ctx context.Context, st *store.Store, sql string) ([]byte, error) {
	// What the journals hold is stored here, without those limits, and what is wrong with the database is said here.
	if _, err := st.Query(ctx, "SELECT 1"); err != nil {
		return nil, asked(err)
	}
	cmd, err := p.Asker(ctx)
	if err != nil {
		return nil, err
	}
	out, said := &first{most: mostBytes + longest}, &first{most: longest}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = strings.NewReader(sql), out, said, time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var answer reply
	switch bad := json.Unmarshal(out.kept.Bytes(), &answer); {
	case err == nil && bad == nil && answer == reply{}:
		return out.kept.Bytes(), nil
	case bad == nil && answer.Wrong != "":
		return nil, &dash.WrongError{Err: errors.New(answer.Wrong)}
	case bad == nil && answer.Later != "":
		return nil, &dash.LaterError{Err: errors.New(answer.Later)}
	case bad == nil && answer.Broke != "":
		return nil, errors.New(answer.Broke)
	case ended(err, said.kept.String()):
		return nil, &dash.WrongError{Err: &store.LimitError{Why: exceeded}}
	}
	return nil, fmt.Errorf("the process that answers questions in SQL ended (%w): %s", err, strings.TrimSpace(said.kept.String()))
}

// reply is what the process prints in the place of an answer.
type reply struct {
	Wrong string `json:"wrong,omitempty"` // the asker's to change
	Later string `json:"later,omitempty"` // something is in use
	Broke string `json:"broke,omitempty"`
}

// Answer is what that process does: it reads a question and prints its answer, or a reply.
func (p Past) Answer(ctx context.Context, question io.Reader, w io.Writer) error {
	sql, err := input.All(ctx, "the question", question, longest)
	if err != nil {
		return err
	}
	if err := limitProcess(processTakes); err != nil {
		return err
	}
	text, err := p.within(ctx, string(sql))
	if err == nil {
		_, err = w.Write(text)
		return err
	}
	answer := reply{Broke: err.Error()}
	wrong, later := (*dash.WrongError)(nil), (*dash.LaterError)(nil)
	switch {
	case errors.As(err, &wrong):
		answer = reply{Wrong: err.Error()}
	case errors.As(err, &later):
		answer = reply{Later: err.Error()}
	}
	return json.NewEncoder(w).Encode(answer)
}

func (p Past) within(ctx context.Context, sql string) ([]byte, error) {
	st, err := p.Home.Store()
	if err != nil {
		return nil, err
	}
	text, err := st.Answer(ctx, sql, store.Limits{Rows: mostRows, Bytes: mostBytes, Memory: databaseTakes})
	return text, asked(err)
}

// asked marks what the asker can change.
func asked(err error) error {
	bad, wrong, limit, without := (*store.StatementError)(nil), (*store.SQLError)(nil), (*store.LimitError)(nil), (*store.MissingError)(nil)
	if errors.As(err, &bad) || errors.As(err, &wrong) || errors.As(err, &limit) || errors.As(err, &without) {
		return &dash.WrongError{Err: err}
	}
	return later(err)
}

// ended tells by how a process ended, and by its last words, whether it had no memory left: Go's, C++'s,
// or a signal of the system.
func ended(err error, said string) bool {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return false
	}
	for _, words := range []string{"out of memory", "cannot allocate memory", "bad_alloc", "Failed to allocate", "failed to create new OS thread", "Cannot allocate"} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return killed(exit)
}

// first keeps the first bytes written to it, and takes no more.
type first struct {
	kept bytes.Buffer
	most int
}

func (f *first) Write(b []byte) (int, error) {
	if f.kept.Len()+len(b) > f.most {
		f.kept.Write(b[:f.most-f.kept.Len()])
		return 0, errors.New("more was written than is taken")
	}
	return f.kept.Write(b)
}
