package dash

import (
	"context"
	"errors"

	"assay/internal/cell"
)

var errFileSide = errors.New("a side must not be a file: over HTTP runs, names, baselines, hosts, targets, versions and days can be compared")

func get(path, id, summary, tag string) operation {
	return operation{method: "GET", path: path, id: id, summary: summary, tag: tag}
}

func post(path, id, summary, tag string, status int) operation {
	return operation{method: "POST", path: path, id: id, summary: summary, tag: tag, status: status}
}

// routes registers every operation.
func (s *Server) routes() {
	nothing := func(*struct{}) string { return "" }
	answering(s, get("/v1/version", "get-version", "What this server is", "server"), s.about)
	keeping(s, get("/v1/overview", "get-overview", "What changed, and how much is known", "results"), nothing, s.overview)
	keeping(s, get("/v1/matrix", "get-matrix", "Models by platforms, as assay matrix show --json", "results"), (*MatrixQuery).name, s.matrix)
	keeping(s, get("/v1/platforms", "list-platforms", "The eight platforms, and what is stored of each", "results"), nothing, s.platforms)
	keeping(s, get("/v1/hosts", "list-hosts", "The machines that results came from", "results"), nothing, s.hosts)
	keeping(s, get("/v1/trends", "get-trends", "How the speed of cells went over time, as assay query history --json", "results"), (*TrendsQuery).name, s.trends)
	answering(s, get("/v1/results", "list-results", "Stored results, the newest first, without samples", "results"), s.results)
	answering(s, get("/v1/results/{id}", "get-result", "One result with its samples, log, versions and command", "results"), s.result)
	answering(s, get("/v1/compare", "compare", "What changed between two sides, as assay compare --json", "results"), s.compare)
	s.query(post("/v1/query", "query", "One SELECT over the stored results, as assay query --json", "results", 200))
	answering(s, get("/v1/can-i-use", "can-i-use", "What is known about models already, as assay can-i-use --json", "models"), s.canIUse)
	answering(s, get("/v1/models", "list-models", "The catalogue, as assay models --json", "models"), s.models)
	answering(s, get("/v1/models/{model}", "get-model", "Everything known about one model, as assay models show --json", "models"), s.model)
	answering(s, get("/v1/detect", "detect", "What this machine has, as assay detect --json", "server"), s.detect)
	answering(s, get("/v1/runs", "list-runs", "Runs, the newest first", "runs"), s.listRuns)
	answering(s, post("/v1/runs", "start-run", "Start a run", "runs", 202), s.startRun)
	answering(s, get("/v1/runs/{id}", "get-run", "A run with its results, and how far it is", "runs"), s.run)
	answering(s, post("/v1/runs/{id}/cancel", "cancel-run", "Cancel a run; what was finished is kept", "runs", 202), s.cancelRun)
	answering(s, post("/v1/runs/{id}/retry", "retry-run", "Run the cells of a run again", "runs", 202), s.retryRun)
	s.logs(get("/v1/runs/{id}/log", "get-log", "The end of what a run said", "runs"))
	s.events(get("/v1/runs/{id}/events", "watch-run", "What happens in a run, as server-sent events", "runs"),
		get("/v1/events", "watch", "What happens in all runs, as server-sent events", "runs"))
	answering(s, get("/v1/fleet", "get-fleet", "How the fleet is that the server was started with: workers, sweeps, what waits", "server"), s.fleet)
	answering(s, get("/v1/live", "list-live", "The runs that are in progress or wait", "runs"), s.live)
	answering(s, post("/v1/visits", "open-page", "Open a page of a browser, for a program on this machine, which must hold it within a minute", "pages", 201), s.visit)
	s.holding(get("/v1/visits/{id}/hold", "hold-page", "Hold a page as long as this connection lasts; the page is given back when it ends", "pages"))
	answering(s, operation{method: "DELETE", path: "/v1/visits/{id}", id: "close-page", summary: "Give a page back", tag: "pages"}, s.leave)
	s.inference()
	s.reports()
}

// Live are the runs in progress.
type Live struct {
	Schema int          `json:"schema"`
	Runs   []InProgress `json:"runs"`
}

func (s *Server) live(context.Context, *struct{}) (*Live, error) {
	out := &Live{Schema: cell.Schema, Runs: []InProgress{}}
	for _, r := range s.runs.List() {
		if status := r.Status(); !status.State.Over() {
			of := r.Report().Run
			out.Runs = append(out.Runs, InProgress{of.ID, of.Name, of.StartedAt, status})
		}
	}
	return out, nil
}
