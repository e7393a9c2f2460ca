package skills

import (
	"slices"

	"assay/internal/generate/pytext"
)

// answer is what a task gives, in its natural form.
type answer struct {
	Does  string // what the skill does, in the third person
	Says  string // what run returns, a sentence
	Gives string // its type in Python
	// Piece makes the answer of one item's outputs; generates says that ids
	// are generated instead, and become a text.
	Piece     string
	generates bool
	apart     string   // why items do not run together; "" where they do
	pieces    []string // functions that it needs
	methods   []string
}

// answerOf is the answer of a recipe's task. Who hears and takes ids too writes
// down what is said word by word.
func answerOf(r recipe) answer {
	a, ok := answers[r.Task]
	if !ok {
		a = arrays
	}
	if a.Piece == heard.Piece && slices.ContainsFunc(r.Inputs, func(in input) bool { return in.Kind == "ids" }) {
		a = written.that(heard.Does)
	}
	if own, ok := special[r.Type]; ok {
		a = own
	}
	return a
}

// The kinds of answers.
var (
	words    = answer{Does: "finds the words that fit in place of a mask", Says: "The likeliest words for the mask of a text (its end, where it has none), the best first.", Gives: "list[dict[str, Any]]", Piece: "words", pieces: []string{"text"}, methods: []string{"decoded"}}
	labels   = answer{Does: "classifies", Says: "The likeliest labels, the best first.", Gives: "list[dict[str, Any]]", Piece: "labels", methods: []string{"label"}}
	tokens   = answer{Does: "labels every word of a text", Says: "The likeliest label of each token.", Gives: "list[dict[str, Any]]", Piece: "tokens", pieces: []string{"text"}, methods: []string{"decoded", "label"}}
	span     = answer{Does: "finds the answer to a question in a text", Says: "The part of the text that answers best, and its position among the tokens.", Gives: "dict[str, Any]", Piece: "span", pieces: []string{"text"}, methods: []string{"decoded"}}
	heard    = answer{Does: "writes down what is said", Says: "What is said.", Gives: "str", Piece: "transcription"}
	fit      = answer{Does: "says how well a text fits", Says: "How well a text fits, and of several how likely each is.", Gives: "float | list[dict[str, Any]]", Piece: "similarity", apart: "each text is compared with each of the others"}
	vector   = answer{Does: "turns its input into a vector", Says: "The vector: the mean of the model's output over its tokens or places.", Gives: "np.ndarray", Piece: "embedding"}
	boxes    = answer{Does: "finds objects in an image", Says: "What is where: labels, scores, boxes (left, top, right, bottom) in pixels.", Gives: "list[dict[str, Any]]", Piece: "boxes", methods: []string{"label"}}
	segments = answer{Does: "labels every part of an image", Says: "The number of the label at each place.", Gives: "np.ndarray", Piece: "segments"}
	arrays   = answer{Does: "computes its outputs", Says: "Every output by its name.", Gives: "dict[str, np.ndarray]", Piece: "arrays"}
	written  = answer{Does: "continues a text", Says: "What the model writes.", Gives: "str", generates: true, pieces: []string{"text"}, methods: []string{"decoded"}}
)

// answers are the answers of tasks; others give all their outputs by name.
var answers = map[string]answer{
	"fill-mask":                      words,
	"text-generation":                written,
	"text2text-generation":           written.that("answers a text with a text"),
	"image-text-to-text":             written.that("answers a question about an image"),
	"automatic-speech-recognition":   heard,
	"image-classification":           labels.that("says what an image shows"),
	"video-classification":           labels.that("says what happens in a video"),
	"audio-classification":           labels.that("says what is heard"),
	"visual-question-answering":      labels.that("answers a question about an image"),
	"token-classification":           tokens,
	"question-answering":             span,
	"document-question-answering":    span.that("finds the answer to a question in a document"),
	"zero-shot-image-classification": fit,
	"feature-extraction":             vector,
	"text-encoding":                  vector,
	"visual-document-retrieval":      vector,
	"pretraining":                    vector,
	"backbone":                       vector,
	"object-detection":               boxes,
	"zero-shot-object-detection":     boxes.that("finds in an image what a text names"),
	"image-segmentation":             segments,
}

// that is the same answer with other words for what is done.
func (a answer) that(does string) answer {
	a.Does = does
	return a
}

// embeddings are the outputs that stand for the whole input, the best first.
var embeddings = []string{"pooler_output", "image_embeds", "text_embeds", "audio_embeds", "video_embeds", "embeddings", "last_hidden_state"}

// next is what a model gives that continues texts, where its generate does not
// run at this size.
var next = words.that("finds the words that may continue a text")

// special are the types whose answer is not that of their task.
var special = map[string]answer{
	"blt":                           next,   // generate asks for a number of layers that its configuration has not
	"hrm_text":                      next,   // generate runs over the end of its cache
	"rwkv":                          next,   // generate carries its state from call to call
	"xlstm":                         next,   // generate keeps the state of a batch for the next one
	"voxtral_realtime":              arrays, // generate writes no more tokens than there is sound for
	"qwen2_5_omni_bigvgan":          vocoder,
	"fastspeech2_conformer_hifigan": vocoder,
	"speecht5_hifigan":              vocoder,
	"univnet":                       vocoder,
	"bridgetower_vision_model":      arrays, // its output has an axis of layers first
	"dac":                           codec,
	"encodec":                       codec,
	"mimi":                          codec,
	"xcodec":                        codec,
	"pop2piano":                     arrays,                                            // generate needs a table of composers that comes with the checkpoint
	"mgp-str":                       arrays.that("reads a word in an image"),           // by three readings: characters, pieces, words
	"videoprism":                    vector,                                            // what it gives are chances over the texts of a batch: 1 for one text
	"pp_lcnet":                      vector,                                            // its class gives scores as a hidden state
	"pp_doclayout_v4":               arrays.that("finds the parts of a page"),          // as shapes of five corners
	"sam3":                          arrays.that("finds in an image what a text says"), // masks beside boxes
	"sam3_lite_text":                arrays.that("finds in an image what a text says"),
	"pp_ocrv5_mobile_det":           textMap,
	"pp_ocrv5_server_det":           textMap,
	"pp_ocrv6_medium_det":           textMap,
	"pp_ocrv6_small_det":            textMap,
	"pp_ocrv6_tiny_det":             textMap,
}

// codec is the answer of models that write a sound down and make it again.
var codec = arrays.that("encodes audio and decodes it again")

// vocoder is the answer of models that make sound of a spectrum.
var vocoder = arrays.that("makes audio from a spectrum")

// textMap is the answer of detectors that say where text is, point by point.
var textMap = arrays.that("finds where text is in an image")

// random are the types whose forward draws numbers: a batch draws others than
// its items alone.
var random = []string{"diffusion_gemma", "informer", "vits", "vit_mae", "vibevoice_acoustic_tokenizer", "vibevoice_asr", "univnet", "qwen2_5_omni_token2wav"}

// blank are the types whose library leaves some weights as zeros, or as memory
// was: what the names of those hold, which are drawn then. Where the gates before
// experts are zeros, all experts are equal, and each device chooses others.
var blank = map[string]pytext.Tuple{
	"afmoe":                      {"router.gate.weight"},
	"ernie4_5_moe":               {"mlp.gate.weight"},
	"qwen3_omni_moe":             {".experts.", "mlp.gate.weight"},
	"qwen3_omni_moe_talker_text": {".experts.", "mlp.gate.weight"},
}

// wordless are the types whose codebooks are zeros until they are trained: every
// sound is written down alike.
var wordless = []string{"encodec", "mimi", "xcodec"}

// asRead are the types whose configuration must be as one that was read from a
// file, with lists where its class has tuples: the model joins the two.
var asRead = []string{"vitmatte"}

// saturated are the types whose tiny model gives one label all chances, or both
// the same, whatever it is shown: its layers have no statistics of pictures yet.
var saturated = []string{"efficientnet", "resnet", "timm_wrapper"}

// faint are the types whose tiny model's random weights let nothing of a picture
// through to the last layer, whatever it shows: how much theirs are widened.
var faint = map[string]float64{"efficientnet": 100, "slanet": 10}

// unheard are the types whose tiny model chooses the same tokens whatever the
// text says, and gives no number but the sound that it makes of them.
var unheard = []string{"bark"}
