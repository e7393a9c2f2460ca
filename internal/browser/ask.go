package browser

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"assay/internal/detect"
	"assay/internal/environment"
)

// Asking is what the second pass of detection needs to ask browsers.
type Asking struct {
	Machine *detect.Machine
	Web     environment.Web // the zero Web when there is none
	Cache   string          // the folder of kept answers
	Fresh   bool            // ask again, and keep the new answers
	Kept    bool            // start nothing: give only the answers that are kept
}

// Answers asks every browser of the machine what it can do, in parallel, each
// within its limit. Where there is no browser it gives none.
//
// The answers of a browser are kept until it changes, or for a day.
func (a Asking) Answers(ctx context.Context) detect.Answers {
	found := Find(ctx, a.Machine, a.Web)
	seen := detect.Look(a.Machine)
	children := map[string]detect.Child{detect.WebProbe: a.webChild}
	var browsers []detect.Browser
	for _, o := range found {
		cache := detect.NewCache(a.Cache, o.Path, seen)
		cache.Key, cache.Fresh = cache.Key+"-"+pageVersion(), a.Fresh && !a.Kept
		children[detect.BrowserProbe+o.Kind] = cache.Around(a.child(o))
		browsers = append(browsers, detect.Browser{Name: o.Kind, Path: o.Path})
	}
	route := func(ctx context.Context, probe string) ([]byte, error) { return children[probe](ctx, probe) }
	answers := detect.Confirm(ctx, route, detect.BrowserQuestions(browsers))
	if a.Kept {
		maps.DeleteFunc(answers, func(_ string, said detect.Answer) bool { return said.Error != "" })
	}
	return answers
}

// pageVersion differs when what is asked does.
func pageVersion() string {
	sum := sha256.Sum256(probePage)
	return hex.EncodeToString(sum[:4])
}

// webChild answers for the web environment. Nothing is installed for it.
func (a Asking) webChild(context.Context, string) ([]byte, error) {
	const runtime = "onnxruntime-web"
	version := a.Web.Versions[runtime]
	if version == "" {
		return json.Marshal(map[string]string{"absent": environment.ErrNoWeb.Error()})
	}
	return json.Marshal(map[string]string{runtime: version})
}

// child answers for one browser.
func (a Asking) child(o Options) detect.Child {
	return func(ctx context.Context, _ string) ([]byte, error) {
		if a.Kept {
			return nil, errors.New("it may not be started")
		}
		answer, err := Probe(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("%s did not answer: %w", o.Kind, err)
		}
		return json.Marshal(answer)
	}
}
