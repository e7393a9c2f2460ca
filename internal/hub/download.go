package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"assay/internal/filelock"
)

// lockLimit is how long another program may take to load a file before this
// one stops waiting for it.
const lockLimit = 24 * time.Hour

var errStalled = errors.New("the server stopped midway and sent nothing more")

// load brings one file into the cache, unless it is there. fresh says that it
// was not.
func (h *Hub) load(ctx context.Context, ref Ref, commit string, f remote, p *progress) (fresh bool, err error) {
	blob := h.cache.blob(ref.Model, f.Tag)
	if has(blob, f.Size) {
		return false, nil
	}
	release, err := h.locked(ctx, ref, f)
	if err != nil {
		return false, err
	}
	defer release()
	if has(blob, f.Size) { // loaded by whoever held the lock
		p.bytes.Add(f.Size)
		return false, nil
	}
	for try := 1; ; try++ {
		err = h.whole(ctx, ref, commit, f, blob, p)
		if !IsKind(err, Damaged) || try == 2 {
			return err == nil, err
		}
		h.o.Say(err.Error() + "; downloading it again from the start")
	}
}

// locked keeps other programs from loading the same file. Its files are those
// of Hugging Face's own library.
func (h *Hub) locked(ctx context.Context, ref Ref, f remote) (release func(), err error) {
	path := h.cache.lock(ref.Model, f.Tag)
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(h.cache.blob(ref.Model, f.Tag))} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, unwritable(err)
		}
	}
	lock, err := filelock.Wait(ctx, path, filelock.Exclusive, lockLimit, func() {
		h.o.Say(fmt.Sprintf("%s: another program is loading %s; waiting for it", ref, f.Name))
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, unwritable(err)
	}
	return func() { lock.Close() }, nil
}

// whole loads a file to its end, checks it against its checksum and puts it in
// its place. What is wrong is removed; what is only cut stays, to be continued.
func (h *Hub) whole(ctx context.Context, ref Ref, commit string, f remote, blob string, p *progress) error {
	path := blob + ".incomplete"
	part, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return unwritable(err)
	}
	defer part.Close()
	err = h.patiently(ctx, ref, func(ctx context.Context) (bool, error) {
		return h.stretch(ctx, ref, commit, f, part, p)
	})
	if err != nil && !IsKind(err, Damaged) {
		return err
	}
	same := false
	if err == nil {
		if same, err = f.Sum.matches(part); err != nil {
			return unwritable(err)
		}
	}
	if !same {
		p.bytes.Add(-length(part))
		if gone := os.Remove(path); gone != nil {
			return unwritable(gone)
		}
		if err == nil {
			err = &Error{Kind: Damaged, Problem: fmt.Sprintf("%s of %s is not as published: its checksum differs", quoted(f.Name), ref),
				Hint: "run again; if it persists, the server or something in between changes files"}
		}
		return err
	}
	if err := errors.Join(part.Sync(), part.Close(), os.Rename(path, blob)); err != nil {
		return unwritable(err)
	}
	return nil
}

// length is how much of a file is there; 0 when nobody knows.
func length(f *os.File) int64 {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// stretch loads from where the file ends, as far as one answer goes. The tag
// is part of the file's name, so what is there was meant to be the same bytes;
// whether it is, the checksum tells.
func (h *Hub) stretch(ctx context.Context, ref Ref, commit string, f remote, part *os.File, p *progress) (moved bool, err error) {
	at := length(part)
	if at > f.Size {
		at = 0
	}
	if at == f.Size && at > 0 {
		return false, cutTo(part, at)
	}
	header := http.Header{}
	if at > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := h.get(ctx, h.fileURL(ref, commit, f.Name), header)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	begin, err := h.begins(resp, ref, f, at)
	if err != nil {
		return false, err
	}
	if begin < at {
		p.bytes.Add(begin - at)
	}
	if err := cutTo(part, begin); err != nil {
		return false, err
	}
	n, err := h.copy(part, &watched{resp.Body, cancel, h.o.Patience.Stall}, f.Size-begin, p)
	if cause := context.Cause(ctx); cause != nil {
		err = &again{err: cause}
	}
	if err == nil && n < f.Size-begin {
		err = &again{err: io.ErrUnexpectedEOF}
	}
	return begin+n > at, err // a server that begins again each time and is cut has moved nothing
}

// begins is the byte that an answer begins with: where it was asked to, or 0
// when the server has sent the whole file instead.
func (h *Hub) begins(resp *http.Response, ref Ref, f remote, at int64) (int64, error) {
	switch resp.StatusCode {
	case http.StatusOK:
		return 0, nil
	case http.StatusPartialContent:
		if got := resp.Header.Get("Content-Range"); strings.HasPrefix(got, fmt.Sprintf("bytes %d-", at)) && strings.HasSuffix(got, fmt.Sprintf("/%d", f.Size)) {
			return at, nil
		}
	case http.StatusRequestedRangeNotSatisfiable:
	default:
		return 0, h.refusal(resp, ref, f.Name)
	}
	return 0, &Error{Kind: Damaged, Problem: fmt.Sprintf("%s of %s cannot be resumed: the server has a different file of that name", quoted(f.Name), ref)}
}

// cutTo leaves the first n bytes of a file and goes to their end.
func cutTo(f *os.File, n int64) error {
	err := f.Truncate(n)
	if err == nil {
		_, err = f.Seek(n, io.SeekStart)
	}
	if err != nil {
		return unwritable(err)
	}
	return nil
}

// copy writes at most n bytes. A server that sends more has another file.
func (h *Hub) copy(to *os.File, from io.Reader, n int64, p *progress) (int64, error) {
	written := int64(0)
	buffer := make([]byte, 256<<10)
	for {
		got, err := from.Read(buffer)
		if written+int64(got) > n {
			return written, &Error{Kind: Damaged, Problem: "the server sent more than the size that it announced"}
		}
		if _, err := to.Write(buffer[:got]); err != nil {
			return written, unwritable(err)
		}
		written += int64(got)
		p.bytes.Add(int64(got))
		switch {
		case errors.Is(err, io.EOF):
			return written, nil
		case err != nil:
			return written, &again{err: err}
		}
	}
}

// watched is a body that ends when nothing comes for a while.
type watched struct {
	body   io.Reader
	cancel context.CancelCauseFunc
	stall  time.Duration
}

func (w *watched) Read(b []byte) (int, error) {
	timer := time.AfterFunc(w.stall, func() { w.cancel(errStalled) })
	defer timer.Stop()
	return w.body.Read(b)
}

// unwritable is an error of the disk that the cache is on.
func unwritable(err error) error {
	e := &Error{Kind: Disk, Problem: "the Hugging Face cache cannot be written: " + err.Error(), Hint: "check its folder, or set HF_HUB_CACHE to another", Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Hint = NoSpace, "make room, or set HF_HUB_CACHE to a folder on another disk; what was loaded is kept"
	case errors.Is(err, fs.ErrPermission):
		e.Hint = "make its folder writable, or set HF_HUB_CACHE to another"
	}
	return e
}
