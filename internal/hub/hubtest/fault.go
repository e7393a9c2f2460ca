package hubtest

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Fault is one faulty answer.
type Fault struct {
	Status     int           // instead of the file
	RetryAfter string        // with the status
	Cut        int           // bytes after which the connection breaks; 0 is never
	Stall      time.Duration // how long nothing comes after Cut bytes, before it breaks
	Whole      bool          // ranges are ignored
	Other      bool          // as many bytes, and others
	Longer     int           // bytes more than there are
	Elsewhere  bool          // a range that begins somewhere else
	Slow       time.Duration // before the answer begins
}

// Break makes the next answers for a file faulty, one after the other; those
// after them are as they should be. "list" is the list of a model's files.
func (s *Server) Break(name string, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[name] = append(s.faults[name], faults...)
}

// fault takes the next one for a file.
func (s *Server) fault(name string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.faults[name]
	if len(f) == 0 {
		return Fault{}, false
	}
	s.faults[name] = f[1:]
	return f[0], true
}

// send answers with a file, or with its next fault.
func (s *Server) send(w http.ResponseWriter, r *http.Request, name string, b []byte) {
	if r.Method == http.MethodGet {
		if f, broken := s.fault(name); broken {
			f.answer(w, r, b)
			return
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

func (f Fault) answer(w http.ResponseWriter, r *http.Request, b []byte) {
	time.Sleep(f.Slow)
	if f.Status != 0 {
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		http.Error(w, "not now", f.Status)
		return
	}
	from := 0
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil || f.Whole {
		from = 0
	}
	if f.Elsewhere {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from+1, len(b)-1, len(b)))
		w.WriteHeader(http.StatusPartialContent)
		return
	}
	body := bytes.Clone(b)
	if f.Other {
		body = bytes.ToUpper(bytes.Repeat([]byte("damage"), len(b)/6+1))[:len(b)]
	}
	body = append(body, make([]byte, f.Longer)...)[from:]
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(b)-1, len(b)))
		w.WriteHeader(http.StatusPartialContent)
	}
	if f.Cut > 0 {
		body = body[:min(f.Cut, len(body))]
	}
	_, _ = w.Write(body)
	if f.Cut > 0 {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(f.Stall):
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}
}
