package dash

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"assay/internal/clean"
	"assay/internal/live"
	"assay/internal/plan"
	"assay/internal/pool"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// body is an answer as it is sent, plain and packed.
type body struct {
	plain []byte
	etag  string
	pack  func() []byte // gzip, made when first needed
}

// leastPacked is from how many bytes on packing pays.
const leastPacked = 1400

// jsonBody is a value as the commands print it.
func jsonBody(v any) (*body, error) {
	var b bytes.Buffer
	if err := clean.WriteJSON(&b, v, ""); err != nil {
		return nil, err
	}
	return newBody(unmarked(b.Bytes())), nil
}

// marks are what begins and ends markup. In JSON they are only inside strings.
var marks = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`)

// unmarked is JSON that nobody can take for a page, whatever names are in it.
func unmarked(text []byte) []byte {
	if !bytes.ContainsAny(text, "<>&") {
		return text
	}
	return []byte(marks.Replace(string(text)))
}

func newBody(plain []byte) *body {
	sum := sha256.Sum256(plain)
	b := &body{plain: plain, etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	b.pack = sync.OnceValue(func() []byte {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // a level that there is
		if _, err := w.Write(plain); err != nil || w.Close() != nil {
			return nil
		}
		return packed.Bytes()
	})
	return b
}

// send writes the answer in the form that the client takes; nothing where it has it.
func (b *body) send(w http.ResponseWriter, r *http.Request, kind string) {
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache") // it may be kept, and is asked about each time
	}
	h.Set("ETag", b.etag)
	h.Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("If-None-Match"), b.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", kind)
	out := b.plain
	if len(out) >= leastPacked && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if packed := b.pack(); packed != nil {
			h.Set("Content-Encoding", "gzip")
			out = packed
		}
	}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(out) // who is gone needs no answer
	}
}

// operation describes one of the API's.
type operation struct {
	method, path, id, summary, tag string
	status                         int // of success; 0 is 200
	most                           int64
}

func (o operation) huma(api huma.API, answer reflect.Type, kind string) huma.Operation {
	if o.status == 0 {
		o.status = http.StatusOK
	}
	schema := &huma.Schema{Type: huma.TypeString}
	if answer != nil {
		schema = api.OpenAPI().Components.Schemas.Schema(answer, true, o.id)
	}
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Tags: []string{o.tag}, DefaultStatus: o.status, MaxBodyBytes: o.most, BodyReadTimeout: readLimit,
		Responses: map[string]*huma.Response{statusText(o.status): {
			Description: http.StatusText(o.status), Content: map[string]*huma.MediaType{kind: {Schema: schema}},
		}},
	}
	return op
}

func statusText(status int) string {
	return string([]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)})
}

// streamed is an answer that writes itself.
type streamed struct {
	Body func(huma.Context)
}

const jsonKind = "application/json"

// answering registers an operation whose answer is a value, in JSON.
func answering[In, Out any](s *Server, o operation, do func(context.Context, *In) (*Out, error)) {
	described := o.huma(s.api, reflect.TypeFor[Out](), jsonKind)
	huma.Register(s.api, described, func(ctx context.Context, in *In) (*streamed, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, asProblem(err)
		}
		b, err := jsonBody(out)
		if err != nil {
			return nil, asProblem(err)
		}
		return b.stream(described.DefaultStatus, jsonKind), nil
	})
}

// keeping registers an operation whose answer is made of the snapshot alone and is
// kept with it, under a name that the input gives.
func keeping[In, Out any](s *Server, o operation, name func(*In) string, do func(context.Context, *snapshot, *In) (*Out, error)) {
	described := o.huma(s.api, reflect.TypeFor[Out](), jsonKind)
	huma.Register(s.api, described, func(ctx context.Context, in *In) (*streamed, error) {
		snap, err := s.snapshots.get(ctx)
		if err != nil {
			return nil, asProblem(err)
		}
		b, err := snap.answer(o.id+" "+name(in)+" "+s.today(), func() (*body, error) {
			out, err := do(context.WithoutCancel(ctx), snap, in)
			if err != nil {
				return nil, err
			}
			return jsonBody(out)
		})
		if err != nil {
			return nil, asProblem(err)
		}
		return b.stream(described.DefaultStatus, jsonKind), nil
	})
}

// today is the day: ages are counted in it, so that an answer is of one.
func (s *Server) today() string { return s.o.Now().UTC().Format(time.DateOnly) }

func (b *body) stream(status int, kind string) *streamed {
	return &streamed{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		if status == http.StatusOK && r.Method == http.MethodGet {
			b.send(w, r, kind)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(b.plain) // who is gone needs no answer
	}}
}

// asProblem is an error as the API answers it: what the asker has to change is a 4xx.
func asProblem(err error) error {
	var (
		already huma.StatusError
		wrong   *WrongError
		request *plan.RequestError
		busy    *pool.BusyError
		refused *pool.RefusedError
		later   *LaterError
	)
	switch {
	case errors.As(err, &already):
		return err
	case errors.As(err, &refused):
		return huma.NewError(refusals[refused.Kind], clean.Text(inFields(err.Error(), nil)))
	case errors.As(err, &wrong), errors.As(err, &request):
		return huma.Error422UnprocessableEntity(clean.Text(inFields(err.Error(), ofRuns)))
	case errors.As(err, &busy):
		status := http.StatusServiceUnavailable
		if busy.Queue {
			status = http.StatusTooManyRequests
		}
		return huma.ErrorWithHeaders(huma.NewError(status, clean.Text(err.Error())), http.Header{"Retry-After": {busy.RetryAfter()}})
	case errors.As(err, &later):
		return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(clean.Text(err.Error())), http.Header{"Retry-After": {"5"}})
	case errors.Is(err, live.ErrFull):
		return huma.ErrorWithHeaders(huma.Error429TooManyRequests(err.Error()), http.Header{"Retry-After": {"30"}})
	case errors.Is(err, live.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return huma.Error503ServiceUnavailable(err.Error())
	}
	return huma.Error500InternalServerError(clean.Text(err.Error()))
}

// refusals are the statuses of what a model cannot do.
var refusals = map[pool.Kind]int{
	pool.UnknownModel: http.StatusNotFound, pool.Unavailable: http.StatusConflict, pool.Unsupported: http.StatusUnprocessableEntity,
	pool.BadInput: http.StatusUnprocessableEntity, pool.TooLarge: http.StatusInsufficientStorage, pool.Broke: http.StatusBadGateway, pool.Slow: http.StatusGatewayTimeout,
}
