package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Limits on what a server may say.
const (
	maxList  = 64 << 20 // bytes of a list of files
	maxFiles = 100_000
	maxFile  = 4 << 40 // bytes of a file
)

// remote is a file as the server describes it.
type remote struct {
	Name string
	Size int64  // -1 is not said
	Tag  string // its name in the cache; "" is not said
	Sum  checksum
}

// listing is a model at one commit.
type listing struct {
	Commit string
	Files  []remote
}

// etag is what may become a file's name in the cache.
var etag = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// parseListing reads the Hub's answer about a model. Names that could lead out
// of the model's folder are refused, whether or not they are wanted.
func parseListing(b []byte) (listing, error) {
	var answer struct {
		Sha      string
		Siblings []struct {
			Rfilename string
			Size      *int64
			BlobID    string `json:"blobId"`
			LFS       *struct {
				Sha256 string
				Size   *int64
			}
		}
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return listing{}, fmt.Errorf("a list of files that cannot be parsed (%w)", err)
	}
	if !commitID.MatchString(answer.Sha) {
		return listing{}, fmt.Errorf("%s for a commit", quoted(answer.Sha))
	}
	if len(answer.Siblings) > maxFiles {
		return listing{}, fmt.Errorf("a list of %d files", len(answer.Siblings))
	}
	l := listing{Commit: answer.Sha}
	for _, s := range answer.Siblings {
		r := remote{Name: s.Rfilename, Size: -1, Tag: s.BlobID}
		if s.Size != nil {
			r.Size = *s.Size
		}
		if s.LFS != nil {
			r.Tag = s.LFS.Sha256
			if s.LFS.Size != nil {
				r.Size = *s.LFS.Size
			}
		}
		if err := r.check(); err != nil {
			return listing{}, err
		}
		l.Files = append(l.Files, r)
	}
	return l, nil
}

// check refuses what cannot become a file here, and finds the checksum.
func (r *remote) check() error {
	if !safeName(r.Name) {
		return fmt.Errorf("the file name %s, which is not valid", quoted(r.Name))
	}
	if r.Tag != "" && !etag.MatchString(r.Tag) {
		return fmt.Errorf("the tag %s for %s", quoted(r.Tag), quoted(r.Name))
	}
	if r.Size < -1 || r.Size > maxFile {
		return fmt.Errorf("%d bytes for the size of %s", r.Size, quoted(r.Name))
	}
	r.Sum = sumOf(r.Tag)
	return nil
}

// safeName tells a path that stays within its folder on any system.
func safeName(name string) bool {
	if name == "" || len(name) > 1024 || !filepath.IsLocal(name) || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || strings.ContainsRune(`\:*?"<>|`, c) }) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || len(part) > 255 {
			return false
		}
	}
	return true
}

// list asks which files a model has.
func (h *Hub) list(ctx context.Context, ref Ref) (listing, error) {
	var l listing
	err := h.patiently(ctx, ref, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		resp, err := h.get(ctx, h.url("api/models/"+ref.Model+"/revision/"+url.PathEscape(ref.revision())+"?blobs=true"), nil)
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return false, h.refusal(resp, ref, "")
		}
		b, err := io.ReadAll(io.LimitReader(&watched{resp.Body, cancel, h.o.Patience.Stall}, maxList+1))
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if err != nil {
			return false, &again{err: err}
		}
		if len(b) > maxList {
			err = fmt.Errorf("a list of more than %d MB", maxList>>20)
		} else {
			l, err = parseListing(b)
		}
		if err != nil {
			return false, h.strange(err)
		}
		return false, nil
	})
	return l, err
}

// complete asks for what the list does not say of a file: some mirrors leave
// sizes and tags out of it.
func (h *Hub) complete(ctx context.Context, ref Ref, commit string, f *remote) error {
	if f.Size >= 0 && f.Tag != "" {
		return nil
	}
	return h.patiently(ctx, ref, func(ctx context.Context) (bool, error) {
		resp, err := h.head(ctx, h.fileURL(ref, commit, f.Name))
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 400 {
			return false, h.refusal(resp, ref, f.Name)
		}
		describe(resp.Header, f)
		if err := f.check(); err != nil {
			return false, h.strange(err)
		}
		if f.Size < 0 || f.Tag == "" {
			return false, h.strange(fmt.Errorf("neither size nor tag of %s", quoted(f.Name)))
		}
		return false, nil
	})
}

// describe reads a file's size and tag from the headers of an answer. Those of
// a file that lies elsewhere carry Linked in their names.
func describe(head http.Header, f *remote) {
	for _, name := range []string{"X-Linked-Size", "Content-Length"} {
		if n, err := strconv.ParseInt(head.Get(name), 10, 64); err == nil && f.Size < 0 {
			f.Size = n
		}
	}
	for _, name := range []string{"X-Linked-Etag", "ETag"} {
		if v := head.Get(name); v != "" && f.Tag == "" {
			f.Tag = strings.Trim(strings.TrimPrefix(v, "W/"), `"`)
		}
	}
}
