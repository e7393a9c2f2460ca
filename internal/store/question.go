package store

import (
	"fmt"
	"slices"

	"assay/internal/cell"
	"assay/internal/platform"
)

// Question is a query about results without SQL; what is empty chooses all.
type Question struct {
	Model    string // a type or a checkpoint
	Platform string
	Verdict  string
	Limit    int // how many rows at most, the newest first
}

// Filters reports whether it asks for some results only.
func (q Question) Filters() bool { return q != Question{Limit: q.Limit} }

// Check refuses words that no result can have.
func (q Question) Check() error {
	if q.Platform != "" {
		if _, err := platform.Parse(q.Platform); err != nil {
			return err
		}
	}
	if q.Verdict != "" && !slices.Contains(cell.Verdicts(), cell.Verdict(q.Verdict)) {
		return fmt.Errorf("unknown verdict %q: the verdicts are %s", q.Verdict, platform.Join(cell.Verdicts()))
	}
	return nil
}

// SQL is the question as a statement, and its values.
func (q Question) SQL() (string, []any) {
	sql := "select timestamp, model_id, hardware, size, dtype, batch, verdict, evidence, inference_time, memory_usage, imported, error from hardware_results where true"
	var args []any
	if q.Model != "" {
		// A checkpoint is found without its owner and its revision, a folder by its own name.
		sql += " and lower(?) in (lower(model_type), lower(model_id), lower(split_part(model_id, '@', 1)), lower(string_split(split_part(model_id, '@', 1), '/')[-1]))"
		args = append(args, q.Model)
	}
	for _, x := range []struct{ column, value string }{{"hardware", q.Platform}, {"verdict", q.Verdict}} {
		if x.value != "" {
			sql += " and " + x.column + " = ?"
			args = append(args, x.value)
		}
	}
	return sql + fmt.Sprintf(" order by timestamp desc, id desc limit %d", q.Limit), args
}
