//go:build cgo

package store

import (
	"context"
	"encoding/json"

	"assay/internal/cell"
	"assay/internal/journal"
	"assay/internal/platform"
)

// insertRun adds the run of a journal that is new.
func (s *session) insertRun(ctx context.Context, h journal.Header) error {
	host, err := json.Marshal(h.Host)
	if err != nil {
		return err
	}
	plan := any(nil)
	if h.Plan != nil {
		b, err := json.Marshal(h.Plan)
		if err != nil {
			return err
		}
		plan = string(b)
	}
	return s.exec(ctx, "INSERT INTO runs VALUES (?, ?, false, ?, ?, ?, ?, ?, ?, ?, ?)",
		h.Run.ID, instant(h.Run.StartedAt), text(h.Run.Command), text(h.Run.Assay), text(h.Run.PlanHash), hostID(h, h.Imported), string(host), plan, h.Imported, text(h.Run.Name))
}

// lineIDs adds the ids of a run's lines that are loaded already.
func (s *session) lineIDs(ctx context.Context, runID string, seen map[string]bool) error {
	return s.rows(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		seen[id] = true
		return err
	}, "SELECT id FROM results WHERE run_id = ? UNION ALL SELECT DISTINCT regexp_extract(id, '^[^.]*[.][^.]*') FROM detections WHERE run_id = ?",
		runID, runID)
}

// detected reports whether a detection of the run is loaded already.
func (s *session) detected(ctx context.Context, runID string) (bool, error) {
	found := false
	err := s.rows(ctx, func(scan func(...any) error) error { return scan(&found) },
		"SELECT count(*) > 0 FROM detections WHERE run_id = ?", runID)
	return found, err
}

// addResult adds a result's rows.
func (p *pending) addResult(h journal.Header, line journal.Line) {
	p.bytes += len(line.Body)
	p.add("results", resultRow(h, line))
	for i, o := range line.Result.Outputs {
		p.add("outputs", row{{"result_id", line.ID}, {"position", int32(i + 1)}, {"name", text(o.Name)}, {"shape", o.Shape}, {"dtype", text(o.DType)}})
	}
	if line.Result.Latency == nil {
		return
	}
	device := line.Result.Latency.DeviceSamples
	for i, ms := range line.Result.Latency.SamplesMS {
		var byDevice any
		if i < len(device) {
			byDevice = device[i]
		}
		p.add("timings", row{{"result_id", line.ID}, {"repeat", int32(i + 1)}, {"ms", ms}, {"device_ms", byDevice}})
	}
}

// resultRow is the row of one attempt.
func resultRow(h journal.Header, line journal.Line) row {
	r := line.Result
	id := row{{"id", line.ID}, {"run_id", h.Run.ID}, {"host_id", hostID(h, line.Imported)}, {"imported", line.Imported}}
	rest := row{
		{"subject_hash", text(r.SubjectHash)}, {"verdict", text(r.Verdict)}, {"evidence", text(r.Evidence)},
		{"timing", text(r.Timing)}, {"side", text(r.Side)}, {"note", text(r.Note)},
		{"phases_ms", dictionary(r.PhasesMS)}, {"energy_j", maybe(r.EnergyJ)},
		{"harness_cpu_fraction", maybe(r.HarnessCPUFraction)}, {"overhead_ms", maybe(r.OverheadMS)},
		{"parameters", whole(r.Parameters)}, {"attempts", int32(r.Attempts)}, {"versions", dictionary(r.Context.Versions)},
		{"started_at", instant(r.StartedAt)}, {"result", lean(line.Body)},
	}
	for _, part := range []row{cellColumns(r.Cell), movedColumns(r), failureColumns(r), numericColumns(r), latencyColumns(r), modeColumns(r), memoryColumns(r), rest} {
		id = append(id, part...)
	}
	return id
}

func cellColumns(c cell.Cell) row {
	// The hash is that of the cell as it was asked for. What the lab filled in
	// later, such as the default task, would give another.
	asked := c.Hash
	c = c.Normal()
	if asked != "" {
		c.Hash = asked
	}
	return row{
		{"cell_hash", c.Hash}, {"type", c.Type}, {"checkpoint", text(c.Checkpoint)}, {"model", c.Model()}, {"class", text(c.Class)},
		{"task", text(c.Task)}, {"family", text(c.Family)}, {"target", c.Target}, {"platform", string(c.Platform)},
		{"device", text(c.Device)}, {"engine", text(c.Engine)}, {"browser", text(c.Browser)}, {"size", c.Size}, {"weights", c.Weights},
		{"dtype", string(c.DType)}, {"batch", int32(c.Batch)}, {"seq", whole(c.Seq)}, {"image", whole(c.Image)},
		{"threads", whole(c.Threads)}, {"seed", int64(c.Seed)}, {"mode", c.Mode},
		{"scenario", text(c.Scenario)}, {"shapes", text(c.Shapes)}, {"via", text(c.Via)},
		{"start", text(c.Start)}, {"front_end", text(c.FrontEnd)}, {"block", text(c.Block)}, {"accuracy", text(c.Accuracy)},
		{"tokens", whole(c.Tokens)}, {"cache", text(c.Cache)},
		{"optimizer", text(c.Optimizer)}, {"activations", text(c.Activations)}, {"mixed", text(c.Mixed)},
		{"adapters", text(c.Adapters)}, {"parallel", text(c.Parallel)}, {"procs", whole(c.Procs)}, {"company", text(c.Company)},
	}
}

// movedColumns are what fallback and adaptation made of what was asked.
func movedColumns(r *cell.Result) row {
	return row{
		{"requested_target", text(r.Requested.Target)},
		{"actual_target", of(r.Actual, func(s *cell.Settings) string { return s.Target })},
		{"actual_platform", of(r.Actual, func(s *cell.Settings) string { return platformOf(s.Target) })},
		{"actual_dtype", of(r.Actual, func(s *cell.Settings) string { return s.DType })},
		{"actual_batch", of(r.Actual, func(s *cell.Settings) int32 { return int32(s.Batch) })},
		{"actual_seq", of(r.Actual, func(s *cell.Settings) int32 { return int32(s.Seq) })},
		{"actual_image", of(r.Actual, func(s *cell.Settings) int32 { return int32(s.Image) })},
		{"fallback_to", of(r.Fallback, func(f *cell.Fallback) string { return f.To })},
		{"fallback_from", of(r.Fallback, func(f *cell.Fallback) string { return f.From })},
		{"fallback_reason", of(r.Fallback, func(f *cell.Fallback) string { return f.Reason })},
	}
}

func platformOf(target string) string {
	t, err := platform.ParseTarget(target)
	if err != nil {
		return ""
	}
	return string(t.Platform)
}

func failureColumns(r *cell.Result) row {
	return row{
		{"failure_class", of(r.Failure, func(f *cell.Failure) string { return string(f.Class) })},
		{"failure_detail", of(r.Failure, func(f *cell.Failure) string { return f.Detail })},
		{"failure_hint", of(r.Failure, func(f *cell.Failure) string { return f.Hint })},
	}
}

func numericColumns(r *cell.Result) row {
	return row{
		{"max_abs", of(r.Numerics, func(n *cell.Numerics) *float64 { return n.MaxAbs })},
		{"max_rel", of(r.Numerics, func(n *cell.Numerics) *float64 { return n.MaxRel })},
		{"tolerance", of(r.Numerics, func(n *cell.Numerics) float64 { return n.Tolerance })},
		{"numerics_pass", of(r.Numerics, func(n *cell.Numerics) bool { return n.Pass })},
	}
}

func latencyColumns(r *cell.Result) row {
	l := r.Latency
	return row{
		{"repeats", of(l, func(l *cell.Latency) int32 { return int32(l.Repeats) })},
		{"iterations", of(l, func(l *cell.Latency) int32 { return int32(l.N) })},
		{"median_ms", of(l, func(l *cell.Latency) float64 { return l.MedianMS })},
		{"lo_ms", of(l, func(l *cell.Latency) *float64 { return l.LoMS })},
		{"hi_ms", of(l, func(l *cell.Latency) *float64 { return l.HiMS })},
		{"p90_ms", of(l, func(l *cell.Latency) *float64 { return l.P90MS })},
		{"p95_ms", of(l, func(l *cell.Latency) *float64 { return l.P95MS })},
		{"p99_ms", of(l, func(l *cell.Latency) *float64 { return l.P99MS })},
		{"cv_within", of(l, func(l *cell.Latency) *float64 { return l.CVWithin })},
		{"cv_between", of(l, func(l *cell.Latency) *float64 { return l.CVBetween })},
		{"stable", of(l, func(l *cell.Latency) bool { return l.Stable })},
		{"device_ms", of(l, func(l *cell.Latency) *float64 { return l.DeviceMS })},
		{"items_per_s", of(r.Throughput, func(t *cell.Throughput) float64 { return t.Value })},
	}
}

// modeColumns are what generations and steps of training took.
func modeColumns(r *cell.Result) row {
	median := func(s *cell.Spread) *float64 {
		if s == nil {
			return nil
		}
		return &s.Median
	}
	in := func(parts map[string]cell.Spread, name string) *float64 {
		if s, ok := parts[name]; ok {
			return &s.Median
		}
		return nil
	}
	part := func(name string) func(*cell.Training) *float64 {
		return func(t *cell.Training) *float64 { return in(t.Parts, name) }
	}
	around := func(name string) func(*cell.Requests) *float64 {
		return func(q *cell.Requests) *float64 { return in(q.Parts, name) }
	}
	return row{
		{"ttft_ms", of(r.Generation, func(g *cell.Generation) *float64 { return median(g.TTFT) })},
		{"tpot_ms", of(r.Generation, func(g *cell.Generation) *float64 { return median(g.TPOT) })},
		{"tokens_per_s", of(r.Generation, func(g *cell.Generation) *float64 { return g.TokensPerS })},
		{"forward_ms", of(r.Training, part("forward"))}, {"backward_ms", of(r.Training, part("backward"))}, {"step_ms", of(r.Training, part("step"))},
		{"preprocess_ms", of(r.Pipeline, around("preprocess"))}, {"model_ms", of(r.Pipeline, around("model"))}, {"postprocess_ms", of(r.Pipeline, around("postprocess"))},
		{"interference", of(r.Interference, func(i *cell.Interference) float64 { return i.Ratio })}, {"efficiency", of(r.Ranks, func(k *cell.Ranks) *float64 { return k.Efficiency })},
	}
}

func memoryColumns(r *cell.Result) row {
	return row{
		{"host_baseline_bytes", of(r.Memory, func(m *cell.Memory) *int64 { return m.HostBaselineBytes })},
		{"host_peak_bytes", of(r.Memory, func(m *cell.Memory) *int64 { return m.HostPeakBytes })},
		{"device_baseline_bytes", of(r.Memory, func(m *cell.Memory) *int64 { return m.DeviceBaselineBytes })},
		{"device_peak_bytes", of(r.Memory, func(m *cell.Memory) *int64 { return m.DevicePeakBytes })},
		{"framework_peak_bytes", of(r.Memory, func(m *cell.Memory) *int64 { return m.FrameworkPeakBytes })},
	}
}

// lean is a result without its raw samples. It works on the text, so that
// fields this version does not know are kept.
func lean(body json.RawMessage) json.RawMessage {
	var result, latency map[string]json.RawMessage
	if json.Unmarshal(body, &result) != nil || json.Unmarshal(result["latency"], &latency) != nil || latency == nil {
		return body
	}
	latency["samples_ms"] = json.RawMessage("null")
	delete(latency, "device_samples_ms")
	b, err := json.Marshal(latency)
	if err != nil {
		return body
	}
	result["latency"] = b
	var tokens map[string]json.RawMessage
	if json.Unmarshal(result["generation"], &tokens) == nil && tokens != nil {
		delete(tokens, "streams_ms")
		if b, err = json.Marshal(tokens); err != nil {
			return body
		}
		result["generation"] = b
	}
	if b, err = json.Marshal(result); err != nil {
		return body
	}
	return b
}
