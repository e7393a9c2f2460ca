// Package dash is the server behind assay serve: the HTTP API with its description,
// the guards in front of it, and the files of the dashboard's pages.
//
// New makes a Server of Options: where past results come from (Past), what carries
// runs out (Lab), the pool of loaded models (Models), and the pages. Everything
// outside comes in through these; the package opens no database, starts no process
// and knows no folder but that of reports.
//
// A request passes the guards (guard.go) and reaches an operation, which is a
// function from a typed input to a typed answer (answer.go). The same Go types give
// the API's description, OpenAPI 3.1 at /openapi.json (schema.go). Answers are the
// JSON that the commands print with --json, requests are those of package plan.
//
// Questions about past results are answered from memory: a snapshot (snapshot.go)
// of all results is made when a journal has changed, and the answers made of it are
// kept with it. Runs that the server started are package live's, and their events
// go out as server-sent events (events.go).
package dash

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/atlas"
	"assay/internal/catalog"
	"assay/internal/cell"
	"assay/internal/compare"
	"assay/internal/detect"
	"assay/internal/fleet"
	"assay/internal/live"
	"assay/internal/matrix"
	"assay/internal/modelpage"
	"assay/internal/plan"
	"assay/internal/platform"
	"assay/internal/pool"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Stored is a result with its id, its run and its host.
type Stored struct {
	ID       string
	Run      string
	Host     string
	Imported bool
	Result   cell.Result
}

// Run is one that is stored.
type Run struct {
	ID        string    `json:"id"`
	StartedAt time.Time `json:"started_at"`
	Command   string    `json:"command"`
	Name      string    `json:"name"` // that the user gave it
	Imported  bool      `json:"imported"`
	Results   int       `json:"results"`
	Host      cell.Host `json:"host"`
}

// Comparison is what is to be compared, in the words of assay compare.
type Comparison struct {
	A, B   string
	Since  string
	Across []string
}

// Past are the stored results. All methods may be called at the same time.
type Past interface {
	// Stamp changes whenever results do; it is cheap.
	Stamp() (string, error)
	// Results are all, the newest first, of each repeat only the median, and the
	// hosts that they came from.
	Results(context.Context) ([]Stored, []cell.Host, error)
	// Runs are all, the newest first.
	Runs(context.Context) ([]Run, error)
	// Whole is one result with its samples and log; false where there is none.
	Whole(ctx context.Context, id string) (Stored, bool, error)
	// Logs are the results of a run with their logs.
	Logs(ctx context.Context, run string) ([]Stored, error)
	// Compare says what changed between two sides. What the asker got wrong is a
	// *WrongError. No file counts as a side.
	Compare(context.Context, Comparison) (compare.Report, error)
	// Query answers one SELECT, as {"schema":1,"rows":[…]}. What the asker got wrong
	// is a *WrongError.
	Query(ctx context.Context, sql string) ([]byte, error)
}

// Lab carries runs out on this machine.
type Lab interface {
	// Begin makes a plan of a request. What the asker got wrong is a *plan.RequestError.
	Begin(ctx context.Context, r plan.Request, name string) (live.Work, error)
	// Detect is what this machine has. It installs nothing.
	Detect(context.Context) (detect.Report, error)
	// Ask is a model of the catalogue as the atlas is asked about it.
	Ask(ctx context.Context, name string) (atlas.Model, error)
	// Visit opens the way to a page of a browser, which leave gives back.
	Visit(ctx context.Context, t platform.Target) (address string, leave func() error, err error)
	// Page is everything known about one model, of which past gives the results. It installs nothing.
	Page(ctx context.Context, look plan.Look, past func(modelType string) []matrix.Observation) (modelpage.Page, error)
}

// Caller runs loaded models.
type Caller interface {
	Call(context.Context, pool.Request) (pool.Answer, error)
	Status() pool.Status
	Release(key string) error
}

// WrongError is a question that cannot be answered as it is: the asker's to change.
type WrongError struct{ Err error }

func (e *WrongError) Error() string { return e.Err.Error() }
func (e *WrongError) Unwrap() error { return e.Err }

// LaterError is what may be answered later: something is in use now.
type LaterError struct{ Err error }

func (e *LaterError) Error() string { return e.Err.Error() }
func (e *LaterError) Unwrap() error { return e.Err }

// Options are set once.
type Options struct {
	Version string
	Catalog *catalog.Catalog
	Past    Past
	Lab     Lab
	Models  Caller
	Gauge   *live.Gauge // nil tells nothing of the machine while a run goes
	// Site are the pages: index.html and what it loads.
	Site fs.FS
	// Data makes the files under /data/ that pages read; nil has none. A name that
	// it does not know is an fs.ErrNotExist.
	Data func(name string, own []matrix.Observation, now time.Time) ([]byte, error)
	// Reports is the folder of saved reports.
	Reports string
	// Token is what every request must bring; "" lets everybody in who reaches the
	// server, which is for 127.0.0.1.
	Token string
	// Names are those under which the server may be addressed, beside localhost and
	// addresses of numbers.
	Names []string
	// Fleet asks a coordinator how its fleet is; nil where none was named.
	Fleet func(context.Context) (fleet.Status, error)
	// WebLab is the address of the web lab; "" without one.
	WebLab string
	Now    func() time.Time
	// Say hears what the user of the terminal should know.
	Say func(string)
}

// Server answers. Make it with New and close it.
type Server struct {
	o       Options
	api     huma.API
	mux     *http.ServeMux
	handler http.Handler
	runs    *live.Runs
	started time.Time
	context context.Context //nolint:containedctx // the server's life, ended by Close
	cancel  context.CancelFunc
	work    sync.WaitGroup

	snapshots snapshots
	detected  detected
	files     bodies
	visits    visits
	viewers   atomic.Int64
	fleetSeen fleetSeen
	asking    chan struct{} // one question in SQL at a time
	answerIn  time.Duration // how long one may take
	waitFor   time.Duration // how long one waits for others
}

// New makes a server; it listens to nothing yet.
func New(o Options) *Server {
	s := &Server{o: o, runs: live.NewRuns(o.Now), started: o.Now().UTC(), asking: make(chan struct{}, 1), answerIn: queryLimit, waitFor: queryPatience}
	s.detected.asking = make(lock, 1)
	s.context, s.cancel = context.WithCancel(context.Background())
	s.snapshots.past, s.snapshots.now = o.Past, o.Now
	mux := http.NewServeMux()
	s.api = humago.New(mux, s.config())
	s.routes()
	nullable(s.api.OpenAPI().Components.Schemas)
	mux.HandleFunc("GET /data/{path...}", s.data)
	mux.HandleFunc("GET /", s.page)
	mux.HandleFunc("/", s.notHere)
	s.mux = mux
	s.handler = s.guarded(mux)
	if o.Gauge != nil {
		s.work.Go(func() { o.Gauge.Tell(s.context, sampleEvery, s.runs.Logs) })
	}
	s.work.Go(s.watchJournals)
	s.work.Go(func() { _, _ = s.snapshots.get(s.context) }) // so that the first asker does not wait; whoever asks is told what is wrong
	return s
}

// sampleEvery is how often the machine's state is told while a run goes.
const sampleEvery = 500 * time.Millisecond

// Handler answers requests, guards included.
func (s *Server) Handler() http.Handler { return s.handler }

// Close cancels the runs in progress, ends all viewers and waits for both.
func (s *Server) Close() error {
	s.cancel()
	err := errors.Join(s.runs.Close(), s.visits.close())
	s.work.Wait()
	return err
}

// The limits of a connection. Answers have no limit of their own, since events go on:
// each single write has (see paced).
const (
	headerLimit = 10 * time.Second
	readLimit   = 60 * time.Second
	idleLimit   = 2 * time.Minute
	mostHeader  = 128 << 10 // a report of a thousand models is asked for in an address
)

// server is a server of the pages and the API with every limit set.
func (s *Server) server() *http.Server {
	return &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerLimit, ReadTimeout: readLimit, IdleTimeout: idleLimit, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return s.context },
	}
}

// Serve answers on a listener until Close is called on what it returns.
func (s *Server) Serve(l net.Listener) *http.Server {
	server := s.server()
	s.work.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) && s.o.Say != nil {
			s.o.Say("the server ended: " + err.Error())
		}
	})
	return server
}
