package mentions

import (
	"slices"
	"strings"
)

// standard is the model of a pipeline that names none. Type is empty where the
// catalogue does not have the model's.
type standard struct{ Name, Type string }

// standards are those of a library, by task.
type standards struct {
	library string
	release string // that has them
	models  map[string]standard
	aliases map[string]string // other names of tasks
	// former are tasks that releases before this one had: which model they take depends on the release.
	former []string
}

// of is the standard model of a task. A task of a former release has none that can be told, and is a task all the same.
func (s standards) of(task string) (model standard, known bool) {
	if meant, ok := s.aliases[task]; ok {
		task = meant
	}
	task, _, _ = strings.Cut(task, "_") // translation_en_to_fr
	model, known = s.models[task]
	return model, known || slices.Contains(s.former, task)
}

var pythonStandards = standards{
	library: "transformers",
	release: "5.22.2",
	aliases: map[string]string{"sentiment-analysis": "text-classification", "ner": "token-classification", "text-to-speech": "text-to-audio"},
	former: []string{"conversational", "image-to-image", "image-to-text", "question-answering", "summarization", "text2text-generation", "translation",
		"visual-question-answering", "vqa"},
	models: map[string]standard{
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
	},
}

var scriptStandards = standards{
	library: "transformers.js",
	release: "4.3.1",
	aliases: map[string]string{"sentiment-analysis": "text-classification", "ner": "token-classification", "asr": "automatic-speech-recognition",
		"text-to-speech": "text-to-audio", "embeddings": "feature-extraction"},
	models: map[string]standard{
		"audio-classification":           {"Xenova/wav2vec2-base-superb-ks", "wav2vec2"},
		"automatic-speech-recognition":   {"Xenova/whisper-tiny.en", "whisper"},
		"background-removal":             {"Xenova/modnet", ""},
		"depth-estimation":               {"onnx-community/depth-anything-v2-small", "depth_anything"},
		"document-question-answering":    {"Xenova/donut-base-finetuned-docvqa", "vision-encoder-decoder"},
		"feature-extraction":             {"onnx-community/all-MiniLM-L6-v2-ONNX", "bert"},
		"fill-mask":                      {"onnx-community/ettin-encoder-32m-ONNX", "modernbert"},
		"image-classification":           {"Xenova/vit-base-patch16-224", "vit"},
		"image-feature-extraction":       {"onnx-community/dinov3-vits16-pretrain-lvd1689m-ONNX", "dinov3_vit"},
		"image-segmentation":             {"Xenova/detr-resnet-50-panoptic", "detr"},
		"image-to-image":                 {"Xenova/swin2SR-classical-sr-x2-64", "swin2sr"},
		"image-to-text":                  {"Xenova/vit-gpt2-image-captioning", "vision-encoder-decoder"},
		"object-detection":               {"Xenova/detr-resnet-50", "detr"},
		"question-answering":             {"Xenova/distilbert-base-cased-distilled-squad", "distilbert"},
		"summarization":                  {"Xenova/distilbart-cnn-6-6", "bart"},
		"text-classification":            {"Xenova/distilbert-base-uncased-finetuned-sst-2-english", "distilbert"},
		"text-generation":                {"onnx-community/Qwen3-0.6B-ONNX", "qwen3"},
		"text-to-audio":                  {"onnx-community/Supertonic-TTS-ONNX", ""},
		"text2text-generation":           {"Xenova/flan-t5-small", "t5"},
		"token-classification":           {"Xenova/bert-base-multilingual-cased-ner-hrl", "bert"},
		"translation":                    {"Xenova/t5-small", "t5"},
		"zero-shot-audio-classification": {"Xenova/clap-htsat-unfused", "clap"},
		"zero-shot-classification":       {"Xenova/distilbert-base-uncased-mnli", "distilbert"},
		"zero-shot-image-classification": {"Xenova/clip-vit-base-patch32", "clip"},
		"zero-shot-object-detection":     {"Xenova/owlvit-base-patch32", "owlvit"},
	},
}
