package store

import (
	"time"

	"assay/internal/cell"
	"assay/internal/journal"
)

// Stored is a result and where it came from.
type Stored struct {
	ID     string
	RunID  string
	HostID string
	// Imported says that it came from elsewhere; its host's id says so too.
	Imported bool
	Result   cell.Result
}

// Filter chooses results; what is empty chooses all.
type Filter struct {
	IDs       []string
	Runs      []string
	Names     []string // that users gave runs
	Hosts     []string
	Types     []string
	Models    []string // checkpoint, or type where there is none
	Families  []string
	Platforms []string // as asked, see cell.Cell.Platform
	Targets   []string // whole ones, as asked
	Sizes     []string
	Verdicts  []cell.Verdict
	Evidence  []cell.Evidence
	Timings   []cell.Timing
	Cells     []string          // hashes of cells as they were asked for
	Versions  map[string]string // of the software that results were made with
	Since     time.Time
	Before    time.Time
	Sides     []string // of interleaved comparisons
	Limit     int      // 0 is no limit
	// Samples brings the raw samples along; without it they are nil.
	Samples bool
	// Medians brings of each repeat the median alone, in the place of its samples.
	Medians bool
}

// RunRow is a run that the store knows.
type RunRow struct {
	ID        string
	StartedAt time.Time
	Command   string
	Name      string // that the user gave it
	Imported  bool
	Results   int
	Host      cell.Host // as the run saw it; its id says whether it was imported
}

// importedHost begins the id of a host that is known by what was imported. It
// is what keeps such results from ever being taken for this machine's, whoever
// asks for a host's own: to resume, to compare, to show.
const importedHost = "imported:"

func hostID(h journal.Header, imported bool) string {
	if imported {
		return importedHost + h.Host.ID
	}
	return h.Host.ID
}
