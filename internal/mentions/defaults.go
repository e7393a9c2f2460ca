package mentions

// standard is the model of a pipeline that names none.
type standard struct{ Name, Type string }

// defaults are those of transformers 5.22.2, by task, with the types of the models.
var defaults = map[string]standard{
	"any-to-any":                     {"google/gemma-3n-E4B-it", "gemma3n"},
	"audio-classification":           {"superb/wav2vec2-base-superb-ks", "wav2vec2"},
	"automatic-speech-recognition":   {"facebook/wav2vec2-base-960h", "wav2vec2"},
	"depth-estimation":               {"Intel/dpt-large", "dpt"},
	"document-question-answering":    {"impira/layoutlm-document-qa", "layoutlm"},
	"feature-extraction":             {"distilbert/distilbert-base-cased", "distilbert"},
	"fill-mask":                      {"distilbert/distilroberta-base", "roberta"},
	"image-classification":           {"google/vit-base-patch16-224", "vit"},
	"image-feature-extraction":       {"google/vit-base-patch16-224", "vit"},
	"image-segmentation":             {"facebook/detr-resnet-50-panoptic", "detr"},
	"image-text-to-text":             {"Qwen/Qwen3-VL-2B-Instruct", "qwen3_vl"},
	"keypoint-matching":              {"magic-leap-community/superglue_outdoor", "superglue"},
	"mask-generation":                {"facebook/sam-vit-huge", "sam"},
	"object-detection":               {"facebook/detr-resnet-50", "detr"},
	"table-question-answering":       {"google/tapas-base-finetuned-wtq", "tapas"},
	"text-classification":            {"distilbert/distilbert-base-uncased-finetuned-sst-2-english", "distilbert"},
	"text-generation":                {"HuggingFaceTB/SmolLM3-3B", "smollm3"},
	"text-to-audio":                  {"suno/bark-small", "bark"},
	"token-classification":           {"dbmdz/bert-large-cased-finetuned-conll03-english", "bert"},
	"video-classification":           {"MCG-NJU/videomae-base-finetuned-kinetics", "videomae"},
	"zero-shot-audio-classification": {"laion/clap-htsat-fused", "clap"},
	"zero-shot-classification":       {"facebook/bart-large-mnli", "bart"},
	"zero-shot-image-classification": {"openai/clip-vit-base-patch32", "clip"},
	"zero-shot-object-detection":     {"google/owlvit-base-patch32", "owlvit"},
}

var aliases = map[string]string{"sentiment-analysis": "text-classification", "ner": "token-classification", "text-to-speech": "text-to-audio"}

// canonical is a task by its own name.
func canonical(task string) string {
	if meant, ok := aliases[task]; ok {
		return meant
	}
	return task
}
