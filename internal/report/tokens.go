package report

import (
	"fmt"
	"strings"

	"assay/internal/cell"
)

// tokenWords are the numbers of a generation: what the first token took, what
// each later one did, and how many a second that makes.
func tokenWords(g cell.Generation) []string {
	out := []string{fmt.Sprintf("%d+%d tokens", g.PromptTokens, g.NewTokens)}
	if g.TTFT != nil {
		out = append(out, "first "+Milliseconds(g.TTFT.Median))
	}
	if g.TPOT != nil {
		out = append(out, "then "+Milliseconds(g.TPOT.Median)+" each")
	}
	if g.TokensPerS != nil {
		out = append(out, fmt.Sprintf("%.4g tokens/s", *g.TokensPerS))
	}
	return out
}

// stepWords are what the parts of a step of training took.
func stepWords(t cell.Training) []string {
	return partWords(t.Parts, "forward", "backward", "step")
}

// requestWords are what the parts of a request took.
func requestWords(q cell.Requests) []string {
	return partWords(q.Parts, "preprocess", "model", "postprocess")
}

// companyWords are how much slower a model is beside others.
func companyWords(i cell.Interference) string {
	between := ""
	if i.Lo != nil && i.Hi != nil {
		between = fmt.Sprintf(" [%.2f, %.2f]", *i.Lo, *i.Hi)
	}
	return fmt.Sprintf("%.2f×%s its time alone (%s), beside %s", i.Ratio, between, Milliseconds(i.AloneMS), strings.Join(i.Beside, ", "))
}

// moveWords are what the ways to a device and back take, and what stays there.
func moveWords(m cell.Moves) []string {
	to, back := m.ToMS, m.BackMS
	if there, ok := m.Parts["to_device"]; ok {
		to, back = there.Median, m.Parts["back"].Median
	}
	out := []string{fmt.Sprintf("%s to the device, %s back", Milliseconds(to), Milliseconds(back))}
	if left := m.Left(); left != nil {
		out = append(out, fmt.Sprintf("%s left of %s", Bytes(max(*left, 0)), Bytes(m.ModelBytes)))
	}
	return out
}

func partWords(parts map[string]cell.Spread, names ...string) []string {
	var out []string
	for _, part := range names {
		if s, ok := parts[part]; ok {
			out = append(out, part+" "+Milliseconds(s.Median))
		}
	}
	return out
}
