package hub

import (
	"fmt"
	"io"
	"net/http"
)

// refusals are the answers that say no. The first row whose status and code
// fit is taken; 0 and "" fit all. The code is the header X-Error-Code.
var refusals = []struct {
	status int
	code   string
	kind   Kind
	what   string // of the model
	hint   func(h *Hub, ref Ref) string
}{
	{0, "GatedRepo", Gated, "is gated", (*Hub).hintGated},
	{0, "DisabledRepo", Refused, "was disabled by the Hub", nil},
	{0, "RevisionNotFound", NotFound, "has no such revision", hint("name a branch, a tag or a commit of it")},
	{0, "EntryNotFound", NotFound, "has no such file", hint("name another model or revision")},
	{0, "RepoNotFound", NotFound, "is not there, or is private", (*Hub).hintToken},
	{http.StatusUnauthorized, "", Refused, "is not there, or is private", (*Hub).hintToken},
	{http.StatusForbidden, "", Refused, "is not public", (*Hub).hintToken},
	{http.StatusNotFound, "", NotFound, "is not there", hint("check its name and HF_ENDPOINT")},
	{0, "", BadServer, "is not available", hint("check HF_ENDPOINT: this is not how a Hub answers")},
}

func hint(text string) func(*Hub, Ref) string { return func(*Hub, Ref) string { return text } }

func (h *Hub) hintGated(ref Ref) string {
	page := h.o.Endpoint.JoinPath(ref.Model).Redacted()
	if h.o.Token == "" {
		return "accept its terms at " + page + " and set HF_TOKEN to your token"
	}
	return "accept its terms at " + page + ", and make sure that your token may read gated models"
}

func (h *Hub) hintToken(Ref) string {
	if h.o.Token == "" {
		return "check its name; if it is private, set HF_TOKEN to a token"
	}
	return "check its name, and whether your token may read it"
}

// refusal is the error of an answer that says no. file is what was asked for;
// "" is the model itself.
func (h *Hub) refusal(resp *http.Response, ref Ref, file string) error {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	what := ref.String()
	if file != "" {
		what = fmt.Sprintf("%s (its file %s)", ref, quoted(file))
	}
	for _, r := range refusals {
		if (r.status != 0 && r.status != resp.StatusCode) || (r.code != "" && r.code != resp.Header.Get("X-Error-Code")) {
			continue
		}
		e := &Error{Kind: r.kind, Problem: fmt.Sprintf("%s %s (%s answers %d)", what, r.what, h.o.Endpoint.Host, resp.StatusCode)}
		if r.hint != nil {
			e.Hint = r.hint(h, ref)
		}
		return e
	}
	panic("the last row fits all")
}
