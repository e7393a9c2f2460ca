package coordinator

import (
	"context"
	"encoding/json"

	"assay/internal/cell"
	"assay/internal/fleet"
	"assay/internal/fleet/health"
	"assay/internal/platform"
)

// Outliers compares what workers on machines of the same kind gave for the same cells: the newest of each, of all that
// the ledger holds, late answers and health checks too.
func (x *Coordinator) Outliers(ctx context.Context) ([]fleet.Outlier, error) {
	type place struct{ worker, host, cell string }
	hosts := map[string]cell.Host{}
	newest := map[place]health.Sample{}
	err := x.ledger.Each(ctx, func(e fleet.Event) {
		worker := e.Name
		switch e.Kind {
		case fleet.KindWorker:
			hosts[e.Worker.Worker] = e.Worker.Host
			return
		case fleet.KindAccepted, fleet.KindLate:
			worker = e.Attempt.Worker
		case fleet.KindHealthy, fleet.KindBan:
		default:
			return
		}
		host := hosts[worker]
		if e.Host != nil {
			host = *e.Host
		}
		for _, body := range e.Results {
			r, ok := compared(body)
			at := place{worker, host.ID, r.Cell.Hash}
			if old, there := newest[at]; ok && (!there || !r.StartedAt.Before(old.Result.StartedAt)) {
				newest[at] = health.Sample{Worker: worker, Host: host, Result: r}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	samples := make([]health.Sample, 0, len(newest))
	for _, s := range newest {
		samples = append(samples, s)
	}
	out := []fleet.Outlier{}
	for _, o := range health.Outliers(samples) {
		out = append(out, fleet.Outlier{Worker: o.Worker, Cell: o.Cell, Others: o.Others, Ratio: o.Ratio, P: o.P, Why: o.Why})
	}
	return out, nil
}

// compared is what of a result is compared; no-ops say nothing.
func compared(body json.RawMessage) (cell.Result, bool) {
	var r cell.Result
	if json.Unmarshal(body, &r) != nil || r.Cell.Engine == platform.Noop {
		return r, false
	}
	out := cell.Result{Cell: r.Cell, SubjectHash: r.SubjectHash, Verdict: r.Verdict, Evidence: r.Evidence, Failure: r.Failure, StartedAt: r.StartedAt}
	if r.Latency != nil {
		out.Latency = &cell.Latency{SamplesMS: r.Latency.SamplesMS}
	}
	return out, true
}
