package dash

import (
	"fmt"
	"strings"

	"assay/internal/cell"
	"assay/internal/plan"
)

// commandOf is the command line that runs a result's cell again.
func commandOf(r cell.Result) string {
	c := r.Cell.Normal()
	command := "test"
	if r.Timing != "" && r.Timing != cell.Functional {
		command = "bench"
	}
	words := []string{"assay", command, quoted(c.Model()), "--platform", quoted(c.Target), "--dtype", string(c.DType)}
	add := func(flag string, value any, usual bool) {
		if !usual {
			words = append(words, "--"+flag, quoted(fmt.Sprint(value)))
		}
	}
	add("size", c.Size, c.Size == cell.Tiny && c.Checkpoint == "" || c.Size == cell.Full && c.Checkpoint != "")
	add("weights", c.Weights, c.Weights == cell.Random && c.Checkpoint == "")
	add("task", c.Task, c.Task == "" || c.Checkpoint != "")
	add("batch", c.Batch, c.Batch <= 1)
	add("seq", c.Seq, c.Seq == 0)
	add("image", c.Image, c.Image == 0)
	add("seed", c.Seed, c.Seed == 0)
	add("threads", c.Threads, c.Threads == 0)
	add("mode", c.Mode, c.Mode == cell.Infer)
	add("tokens", c.Tokens, c.Tokens == 0)
	return strings.Join(words, " ")
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// again is a request for the cells of a plan.
func again(p cell.Plan, cells []cell.Cell) plan.Request {
	return plan.Request{Cells: cells, How: plan.How{
		Timing: p.Timing, Strict: p.Strict, NoAdapt: p.NoAdapt, NoFallback: p.NoFallback, Laws: p.Laws, Scripts: p.Scripts,
		TimeoutS: p.TimeoutS, WaitQuietS: p.WaitQuietS, MaxTempC: p.MaxTempC, Pin: p.Pin, Repeats: p.Repeats,
	}}
}
