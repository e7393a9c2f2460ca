package plan

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/cell"
	"assay/internal/hub"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	t.Parallel()
	got := Names([]string{"bert,vit", "clip whisper", "./a folder, of mine", "owner/name"})
	want := []string{"bert", "vit", "clip", "whisper", "./a folder, of mine", "owner/name"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLocalModels: models of the user's own, which do not travel.
func TestLocalModels(t *testing.T) {
	t.Parallel()
	bare := folder(t, map[string]string{"config.json": bertConfig})
	whole := folder(t, map[string]string{"config.json": bertConfig, "model.safetensors": safetensors()})
	pickled := folder(t, map[string]string{"config.json": bertConfig, "pytorch_model.bin": "pickled"})
	own := folder(t, map[string]string{"config.json": `{"model_type":"mine","auto_map":{"AutoModel":"modeling_mine.M"}}`})
	graphs := folder(t, map[string]string{"model.onnx": "a graph", "empty.onnx": ""})
	config, graph := filepath.Join(bare, "config.json"), filepath.Join(graphs, "model.onnx")
	for name, tc := range map[string]struct {
		model, target, size, weights string
		allow                        hub.Want
		want                         string // of the cell, or of the error
	}{
		"a config.json":                 {model: config, want: config + " on cpu fp32 full random"},
		"a folder without weights":      {model: bare, want: config + " on cpu fp32 full random"},
		"a folder with them":            {model: whole, want: filepath.Join(whole, "config.json") + " on cpu fp32 full " + whole},
		"its weights are not wanted":    {model: whole, weights: cell.Random, want: filepath.Join(whole, "config.json") + " on cpu fp32 full random"},
		"others' weights":               {model: bare, weights: whole, want: config + " on cpu fp32 full " + whole},
		"a checkpoint with own weights": {model: "bert-base-uncased", weights: whole, want: "google-bert/bert-base-uncased on cpu fp32 full " + whole},
		"published weights of a folder": {model: bare, weights: cell.Hub, want: "--weights hub needs a checkpoint's name"},
		"a folder made tiny":            {model: bare, size: cell.Tiny, want: "for a tiny one name its type, bert"},
		"pickles":                       {model: pickled, want: "--allow-pickle"},
		"pickles that are allowed":      {model: pickled, allow: hub.Want{Pickle: true}, want: filepath.Join(pickled, "config.json") + " on cpu fp32 full " + pickled},
		"a model's own code":            {model: own, want: "--trust-remote-code"},
		"code that is trusted":          {model: own, allow: hub.Want{Code: true}, want: filepath.Join(own, "config.json") + " on cpu fp32 full random"},
		"a graph":                       {model: graph, want: graph + " on cpu/onnxruntime fp32 full " + graphs},
		"a graph on OpenVINO":           {model: graph, target: "openvino", want: graph + " on openvino fp32 full " + graphs},
		"a graph where none can run":    {model: graph, target: "mps", want: "has no engine that runs one"},
		"an empty graph":                {model: filepath.Join(graphs, "empty.onnx"), want: "is empty"},
		"a tiny graph":                  {model: graph, size: cell.Tiny, want: "has one size: its own"},
		"a graph's weights":             {model: graph, weights: whole, want: "contains its own weights"},
	} {
		p, _ := planner(t, nil)
		p.Allow = tc.allow
		ask := asking([]string{tc.model}, orDefault(strings.Fields(tc.target), "cpu")...)
		ask.Size, ask.Weights = tc.size, tc.weights
		got, err := p.Plan(t.Context(), ask)
		wrong := (*RequestError)(nil)
		switch {
		case errors.As(err, &wrong) && strings.Contains(err.Error(), tc.want):
		case err != nil || len(got.Cells) != 1 || line(got.Cells[0]) != tc.want:
			t.Errorf("%s: %v, %v; want %s", name, lines(got.Cells), err, tc.want)
		case got.Cells[0].Travels():
			t.Errorf("%s: it lies here and is said to travel", name)
		}
	}
}

// TestPublished: a model's own weights are used where they are at hand; nothing
// is loaded that was not asked for.
func TestPublished(t *testing.T) {
	t.Parallel()
	here := folder(t, map[string]string{"config.json": bertConfig})
	there := folder(t, map[string]string{"config.json": `{"model_type":"gpt2"}`})
	own := folder(t, map[string]string{"config.json": `{"model_type":"mine","auto_map":{"AutoModel":"modeling_mine.M"}}`})
	books := shelf{
		cached:    map[string]string{"owner/here": here, "google-bert/bert-base-uncased": here},
		published: map[string]string{"owner/here": here, "owner/there": there, "owner/own": own, "google-bert/bert-base-uncased": here},
	}
	for name, tc := range map[string]struct {
		model, weights string
		want           string // of the cell, or of the error
		said           string
	}{
		"one that is at hand":              {model: "owner/here", want: "owner/here on cpu fp32 full hub"},
		"with a revision":                  {model: "owner/here@v1", want: "owner/here@v1 on cpu fp32 full hub"},
		"random weights of it":             {model: "owner/here", weights: cell.Random, want: "owner/here on cpu fp32 full random"},
		"one that is not":                  {model: "owner/there", want: "neither in the catalogue nor in the Hugging Face cache"},
		"one that is not, and is wanted":   {model: "owner/there", weights: cell.Hub, want: "owner/there on cpu fp32 full hub"},
		"code of its own":                  {model: "owner/own", weights: cell.Random, want: "--trust-remote-code"},
		"the catalogue's, at hand":         {model: "bert-base-uncased", want: "google-bert/bert-base-uncased on cpu fp32 full hub"},
		"the catalogue's, with a revision": {model: "bert-base-uncased@main", want: "google-bert/bert-base-uncased@main on cpu fp32 full hub"},
		"the catalogue's, not at hand":     {model: "whisper-tiny", want: "openai/whisper-tiny on cpu fp32 full random", said: "openai/whisper-tiny: its own weights are not in the Hugging Face cache"},
		"no name of the Hub":               {model: "owner/na--me", want: "is not the name of a model on the Hub"},
	} {
		p, said := planner(t, nil)
		p.Hub = func() (Hub, error) { return books, nil }
		ask := asking([]string{tc.model}, "cpu")
		ask.Weights = tc.weights
		got, err := p.Plan(t.Context(), ask)
		wrong := (*RequestError)(nil)
		switch {
		case errors.As(err, &wrong) && strings.Contains(err.Error(), tc.want):
		case err != nil || len(got.Cells) != 1 || line(got.Cells[0]) != tc.want:
			t.Errorf("%s: %v, %v; want %s", name, lines(got.Cells), err, tc.want)
		case !got.Cells[0].Travels():
			t.Errorf("%s: it is said not to travel", name)
		}
		if text := strings.Join(*said, "\n"); !strings.HasPrefix(text, tc.said) || (text == "") != (tc.said == "") {
			t.Errorf("%s: said %q", name, text)
		}
	}
	p, _ := planner(t, nil)
	p.Hub = func() (Hub, error) { return books, nil }
	ask := asking([]string{"owner/nobody"}, "cpu")
	ask.Weights = cell.Hub
	_, err := p.Plan(t.Context(), ask)
	if wrong := (*RequestError)(nil); errors.As(err, &wrong) || !hub.IsKind(err, hub.NotFound) {
		t.Errorf("what the Hub does not have is not a fault of the request's words: %v", err)
	}
}

// TestCheckpoint: what is loaded ahead of its use.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	cat := load(t)
	for _, tc := range []struct{ name, revision, want string }{
		{"bert", "", "google-bert/bert-base-uncased"},
		{"bert-base-uncased", "v2", "google-bert/bert-base-uncased@v2"},
		{"bert-base-uncased@v1", "v2", "google-bert/bert-base-uncased@v1"},
		{"owner/name", "", "owner/name"},
		{"bertt", "", "unknown model"},
		{"bert@v1", "", "has no revisions"},
		{"owner/name", "a b", "is not a revision"},
		{"../etc", "", "is not"},
	} {
		ref, err := Checkpoint(cat, tc.name, tc.revision)
		wrong := (*RequestError)(nil)
		if errors.As(err, &wrong) && strings.Contains(err.Error(), tc.want) {
			continue
		}
		if err != nil || ref.String() != tc.want {
			t.Errorf("%s, %q: %s, %v; want %s", tc.name, tc.revision, ref, err, tc.want)
		}
	}
}
