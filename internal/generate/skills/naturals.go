package skills

import (
	"fmt"
	"slices"
	"strings"
)

// The natural forms of what a model is asked.
const (
	text  = "text"
	image = "image"
	audio = "audio"
	video = "video"
	// question is a question with the documents that answer it.
	question = "question"
	// number is that of a class; noise is all that some pipelines are given.
	number = "number"
	noise  = "noise"
)

// natural is a form in which people have what they ask a model.
type natural struct {
	takes     string // its type in Python
	example   string // an expression that makes one
	other     string // another one
	argument  string // of the command line, to see
	help      string // what the argument is
	reads     string // how the argument becomes what is asked
	plain     string // how random weights are given it, in words
	processor string // under which name a processor of several things takes it
	gathers   string // and what it is given
	pieces    []string
}

var naturals = map[string]natural{
	text: {
		takes: "str", example: `"Assay runs a model where it should run."`, other: `"Something else is written here."`,
		argument: `"some text"`, help: "a text", reads: "%s",
		plain: "bytes as ids, repeated or cut to %s", processor: "text", gathers: "%s", pieces: []string{"ids"},
	},
	image: {
		takes: "Any", example: "np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)", other: "255 - example()%s",
		argument: "picture.png", help: "the path of an image", reads: "%s",
		plain: "pixels from -1 to 1", processor: "images", gathers: "_picture(%s)", pieces: []string{"picture", "pixels"},
	},
	audio: {
		takes: "Any", example: "np.sin(np.arange(RATE) * 440 * 2 * np.pi / RATE)", other: "example()%s[::-1] ** 3",
		argument: "sound.wav", help: "the path of a wav file", reads: "%s",
		plain: "samples or their spectrum", processor: "audio", gathers: "_sound(%s).numpy()", pieces: []string{"sound"},
	},
	question: {
		takes: "dict", example: `{"question": "What runs it?", "documents": ["Assay runs it.", "It rains."]}`,
		other:    `{**example(), "question": "Who asks?"}`,
		argument: `"some question" "a document" "another"`, help: "a question", reads: `{"question": %s, "documents": asked.documents}`, pieces: []string{"rag ids"},
	},
	number: {
		takes: "int", example: "1", other: "2", argument: "7", help: "the number of a class", reads: "int(%s)",
	},
	noise: {
		takes: "int", example: "0", other: "1", argument: "0", help: "the number of the noise", reads: "int(%s)",
	},
	video: {
		takes: "list", example: "[np.full((64, 64, 3), 16 * i, np.uint8) for i in range(8)]", other: "[255 - frame for frame in example()%s]",
		argument: "frames/", help: "a folder of frames", reads: "sorted(Path(%s).iterdir())",
		plain: "frames from -1 to 1", processor: "videos", gathers: "[_picture(f) for f in %s]", pieces: []string{"picture", "pixels", "frames"},
	},
}

// rates are the samples in a second of types that do not hear 16000.
var rates = map[string]int{"clap": 48000, "encodec": 24000, "mimi": 24000, "dac": 44100}

func rate(modelType string) int {
	if r, ok := rates[modelType]; ok {
		return r
	}
	return 16000
}

// reader says how an input of a model is made of something natural.
type reader struct {
	names  []string
	kind   string               // of the recipe's input
	fits   func(in shaped) bool // nil: always
	source string               // "" where it is the same whatever is asked
	piece  string               // the function that makes it
}

// readers are tried in order; an input that none fits has no natural form, and
// its model is given tensors by name.
var readers = []reader{
	{names: []string{"input_ids", "inputs", "qformer_input_ids", "protein_input_ids"}, kind: "ids", fits: row, source: text, piece: "ids"},
	{names: []string{"pixel_values", "pixel_values_videos"}, kind: "float", fits: framed, source: video, piece: "frames"},
	{names: []string{"pixel_values", "image", "high_res_pixel_values", "hidden_states", "prompt_pixel_values"}, kind: "float", fits: coloured, source: image, piece: "pixels"},
	{names: []string{"pixel_values", "flattened_patches"}, kind: "float", source: image, piece: "patches"},
	{names: []string{"input_values"}, kind: "float", fits: wave, source: audio, piece: "samples"},
	{names: []string{"input_values", "input_features", "audio_mel", "spectrogram", "mel_spectrogram"}, kind: "float", fits: plane, source: audio, piece: "spectrum"},
	{names: []string{"hidden_states"}, kind: "float", fits: cut, source: image, piece: "patches"},
	{names: []string{"decoder_input_ids"}, kind: "ids", fits: row},
	{names: []string{"bbox"}, kind: "ids"},
	{names: []string{"bbox"}, kind: "float"},
	{kind: "ids", fits: constant},
	{kind: "ones"},
	{kind: "zeros"},
	{kind: "value"},
	{kind: "range"},
}

func row(in shaped) bool { return len(in.sides) == 2 && in.sides[0] == 1 }

// coloured fits pictures: three colours before height and width.
func coloured(in shaped) bool {
	n := len(in.sides)
	return n >= 4 && in.sides[n-3] == 3 && in.sides[n-1] < 16*in.sides[n-2] && in.dividedFirst()
}

// framed fits a row of images where the model takes them for a video: four and
// more of them, where fewer are views of one image.
func framed(in shaped) bool {
	return len(in.sides) == 5 && in.sides[1] >= 4 && in.sides[2] == 3 && in.dividedFirst()
}

// wave fits samples of a sound, as against what was made of it.
func wave(in shaped) bool { return len(in.sides) > 0 && in.sides[len(in.sides)-1] >= 1000 }

// cut fits a picture that was cut into patches before.
func cut(in shaped) bool { return len(in.sides) == 2 && in.sides[1] >= 500 }

// constant fits ids of which there is only one, beside those that are placed.
func constant(in shaped) bool { return in.High == in.Low+1 }

func plane(in shaped) bool { return len(in.sides) >= 2 }

// views are the types that take four and more views of one picture.
var views = []string{"perception_lm", "colmodernvbert"}

// read is an input with what makes it.
type read struct {
	shaped
	reader
}

// readAll says how each input is made, and false where one has no natural form.
func readAll(r recipe, inputs []shaped) ([]read, bool) {
	var out []read
	for _, in := range inputs {
		i := slices.IndexFunc(readers, func(rd reader) bool {
			if rd.source == video && slices.Contains(views, r.Type) {
				return false
			}
			named := len(rd.names) == 0 || slices.Contains(rd.names, in.Name)
			return named && rd.kind == in.Kind && (rd.fits == nil || rd.fits(in))
		})
		if i < 0 {
			return nil, false
		}
		out = append(out, read{in, readers[i]})
	}
	return out, true
}

// made is the expression in Python that makes an input of x; several says
// that x has several natural things, by name.
func (in read) made(several bool) string {
	of := "x"
	if several {
		of = fmt.Sprintf("x[%q]", in.source)
	}
	switch {
	case in.source == "":
		return in.fixed()
	case in.piece == "ids":
		return fmt.Sprintf("_ids(%s, %d)", of, in.sides[1])
	}
	made := fmt.Sprintf("_%s(%s, %s)", in.piece, of, sides(in.sides))
	if in.Grid > 0 {
		return fmt.Sprintf("_gridded(%s, %d)", made, in.Grid)
	}
	return made
}

// fixed is the expression of an input that is the same whatever is asked, or
// drawn where it is not a natural one.
func (in shaped) fixed() string {
	of := map[string]string{
		"ones":  "torch.ones(%s, dtype=torch.%s)",
		"zeros": "torch.zeros(%s, dtype=torch.%s)",
	}
	switch {
	case of[in.Kind] != "":
		return fmt.Sprintf(of[in.Kind], sides(in.sides), in.DType)
	case in.Kind == "range":
		return fmt.Sprintf("torch.arange(%d, dtype=torch.%s).expand(%s)", in.sides[len(in.sides)-1], in.DType, sides(in.sides))
	case in.Kind == "value":
		return fmt.Sprintf("torch.tensor(FIXED[%q]%s)", in.Name, map[bool]string{true: ", dtype=torch.float32"}[in.DType == "float32"])
	case in.Name == "bbox" && in.Kind == "ids":
		return fmt.Sprintf("torch.tensor([0, 0, 40, 40]).expand(%s)", sides(in.sides))
	case in.Name == "bbox":
		return fmt.Sprintf("torch.tensor([0.0, 0.0, 1.0, 1.0]).expand(%s)", sides(in.sides))
	case in.Name == "decoder_input_ids" || constant(in):
		return fmt.Sprintf("torch.full((%s), %d)", tuple(in.sides), in.Low)
	case in.Kind == "ids":
		return fmt.Sprintf("torch.randint(%d, %d, (%s))", in.Low, in.High, tuple(in.sides))
	}
	return fmt.Sprintf("torch.rand(%s) * 2 - 1", sides(in.sides))
}

func sides(n []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ", "), "[]") }

// tuple is the inside of a tuple in Python, where one number needs a comma.
func tuple(n []int) string {
	if len(n) == 1 {
		return sides(n) + ","
	}
	return sides(n)
}
