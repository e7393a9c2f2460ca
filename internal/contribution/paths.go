package contribution

import (
	"regexp"
	"slices"
	"strings"

	"assay/internal/platform"
)

// piece is a word with a slash in it, as far as a path without spaces goes.
var piece = regexp.MustCompile(`(?:[A-Za-z]:[\\/]|[^\s"'(),;:=\[\]{}<>|]*[/\\])[^\s"'(),;\[\]{}<>|]*`)

// quoted is a text in quotes with a slash in it.
var quoted = regexp.MustCompile(`"[^"\n]*[/\\][^"\n]*"|'[^'\n]*[/\\][^'\n]*'`)

// paths takes paths out of a text. One with spaces in it is taken as far as it can be told to go.
func paths(text string) string {
	text = replaced(quoted, text, func(text string, start, end int) (string, int) {
		inner := text[start+1 : end-1]
		if start > 0 && isLetter(text[start-1]) || end < len(text) && isLetter(text[end]) || innocent(inner) {
			return text[start:end], end // an apostrophe, or no path
		}
		if words := strings.Fields(inner); !slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, `/\`) && !innocent(w) }) {
			return text[start:end], end
		}
		return standIn(inner), end
	})
	return replaced(piece, text, func(text string, start, end int) (string, int) {
		found := text[start:end]
		closed := strings.TrimRight(found, ":.!?")
		if innocent(closed) {
			return found, end
		}
		if rooted(found) || strings.Count(found, "/")+strings.Count(found, `\`) > 1 {
			if closed == found && standIn(found) == "(path)" && !ending.MatchString(found) {
				end = beyond(text, end)
				return "(path)", end
			}
		}
		return standIn(closed) + found[len(closed):], end
	})
}

// replaced replaces what a form finds; with gives what stands in its place, and where it goes on.
func replaced(form *regexp.Regexp, text string, with func(text string, start, end int) (string, int)) string {
	var out strings.Builder
	at := 0
	for at < len(text) {
		m := form.FindStringIndex(text[at:])
		if m == nil || m[1] == m[0] {
			break
		}
		word, end := with(text, at+m[0], at+m[1])
		out.WriteString(text[at:at+m[0]] + word)
		at = end
	}
	return out.String() + text[at:]
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 }

// rooted reports whether a path begins where no word does.
func rooted(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, `\\`) || strings.HasPrefix(p, ".") || len(p) > 1 && p[1] == ':'
}

// ending is that of a file: a path ends there.
var ending = regexp.MustCompile(`(?i)\.(?:bin|c|cc|ckpt|conf|cpp|cu|dll|dylib|gguf|h|html|ini|ipynb|jpe?g|js|jsonl?|log|lock|md|mlmodelc?|mlpackage|npy|npz|onnx|data|out|pb|png|pth?|py|pyc|safetensors|sh|so|sock|toml|ts|txt|wav|whl|xml|ya?ml|zip|gz)(?:\.\d+)*(?::\d+)*$`)

// Words with which a sentence goes on after a path: stops are in no folder's name, and links may be.
var (
	stops = strings.Fields("already are because before cannot can't could couldn't did didn't does doesn't during exceeds exist exists failed failing fails had has have if instead into is isn't must no not returned says should since so than that then there " +
		"too was were when where which while will without would wrong")
	links = strings.Fields("a after an and as at but by can due for from in it line may missing of on or the to with within")
)

var spaced = regexp.MustCompile(`\S+`)

// beyond is where a path ends whose first piece does, as far as that can be told: it goes on to a later piece or to the
// ending of a file, and else to the first word with which a sentence goes on.
func beyond(text string, end int) int {
	rest := text[end:]
	if stop := strings.IndexAny(rest, "\"'<>|(,;"); stop >= 0 {
		rest = rest[:stop]
	}
	if stop := strings.Index(rest, ": "); stop >= 0 {
		rest = rest[:stop]
	}
	last, taken, linked := 0, 0, false // where the last piece or file ends, and what may be the path's
	for _, w := range spaced.FindAllStringIndex(rest, -1) {
		word := strings.TrimRight(rest[w[0]:w[1]], ":.!?")
		slash := strings.ContainsAny(word, `/\`) && !innocent(word)
		switch {
		case slices.Contains(stops, word), slash && rooted(word):
			return end + max(last, taken)
		case slash, ending.MatchString(word) && !linked:
			last, linked = w[0]+len(word), false
		case slices.Contains(links, word):
			linked = true
			continue
		}
		if capital := strings.ToLower(word[:min(1, len(word))]) != word[:min(1, len(word))]; !linked || capital {
			taken, linked = w[0]+len(word), false
		}
	}
	return end + max(last, taken)
}

// library is a file of a library, whose name tells where a model failed.
var library = regexp.MustCompile(`^(?:modeling|modular|configuration|image_processing|processing|masking|activations|cache)_?\w*\.py(?::\d+)?$`)

// installed is a file of an installed package.
var installed = regexp.MustCompile(`[/\\](?:site|dist)-packages[/\\].*[/\\](\w+\.py(?::\d+)?)$`)

// standIn stands in the place of a path: the name of a library's file, or a word.
func standIn(p string) string {
	if last := p[strings.LastIndexAny(p, `/\`)+1:]; library.MatchString(last) {
		return last
	}
	if m := installed.FindStringSubmatch(p); m != nil {
		return m[1]
	}
	return "(path)"
}

var (
	// ratio is a slash between numbers, with their units.
	ratio = regexp.MustCompile(`^[~≈]?\d+(?:\.\d+)?(?:e[+-]?\d+)?[%A-Za-z]{0,3}/\d+(?:\.\d+)?(?:e[+-]?\d+)?[%A-Za-z]{0,3}$`)
	// rate is so much for each of something.
	rate = regexp.MustCompile(`^(?:\d[\d.]*)?(?i:[kmgt]?i?b|[kmgt]?flops?|[kmgt]?ops?|tokens?|bytes|images?|samples?|steps?|it|iterations?|ms|us|s|seconds|calls|requests|frames|params)/(?i:s|sec|second|ms|us|min|h|tokens?|steps?|it|iter|iteration|ops?|images?|samples?|batch|layer|node|call|request|frame|core|thread)$`)
	// escape is a character that cannot be shown as it is.
	escape = regexp.MustCompile(`^[^\\/]*(?:\\(?:[ntr0"'](?:[^\\/A-Za-z][^\\/]*)?|x[0-9A-Fa-f]{2}[^\\/]*|u[0-9A-Fa-f]{4}[^\\/]*))+$`)
	// node is an operation of a graph, by the modules that it came from.
	node = regexp.MustCompile(`^/(?:[a-z_][a-z0-9_]*(?:\.\d+)?/)*(?:` + operations + `)(?:_\d+)?(?:_output_\d+)?$`)
	// disk is a folder in which people keep theirs.
	disk = regexp.MustCompile(`(?i)^/(?:home|users?|root|mnt|media|tmp|var|opt|srv|data|scratch|workspaces?|work|projects?|nfs|private|etc|usr|volumes|storage|share|export)/`)
)

const operations = `Add|And|ArgMax|AveragePool|BatchNormalization|Cast|Clip|Concat|Constant|ConstantOfShape|Conv|ConvTranspose|Cos|CumSum|DequantizeLinear|Div|DynamicQuantizeLinear|Einsum|Equal|Erf|Exp|Expand|Flatten|Gather|GatherElements|GatherND|Gelu|Gemm|GlobalAveragePool|Greater|GridSample|Identity|If|InstanceNormalization|LayerNormalization|Less|Log|Loop|MatMul|MatMulInteger|MaxPool|Mul|Neg|NonZero|Not|OneHot|Or|Pad|Pow|QuantizeLinear|Range|ReduceMax|ReduceMean|ReduceMin|ReduceSum|Relu|Reshape|Resize|ScatterElements|ScatterND|Shape|Sigmoid|Sin|Slice|Softmax|Split|Sqrt|Squeeze|Sub|Tanh|Tile|TopK|Transpose|Trilu|Unsqueeze|Where`

// either are words that a slash stands between where it means or, by or and.
var either = strings.Fields("a amd64 and apple arm arm64 backward bf16 bfloat16 bias bottom class client clip component context cpu cuda decoder decoding device diffusers down dst dtype either encoder encoding eval " +
	"false float float16 float32 float64 forward fp16 fp32 fp64 fp8 gpu height hip host i ids image images in inference input inputs int int16 int32 int4 int64 int8 ip k kernel key keys label layer left linux load logits macos mask " +
	"max mean min mode model mps n name no none npu null o off on onnx op ops or out output outputs padding prefill prompt pytorch python q read right rocm rows save scale server shape size src std store stride student tcp teacher tensor text " +
	"token tokenizer tokens top torch train training transformers true type u8 udp uint8 uint4 up v value values video web webgpu webnn weight weights width windows with without write x x64 x86 y yes z")

// innocent reports whether a slash in a word is no path's.
func innocent(word string) bool {
	switch {
	case ratio.MatchString(word), rate.MatchString(word), escape.MatchString(word), node.MatchString(word) && !disk.MatchString(word):
		return true
	case strings.ContainsAny(word, ` \`) || !strings.Contains(word, "/") || rooted(word):
		return false
	}
	if t, err := platform.ParseTarget(word); err == nil && t.Device == "" {
		return true
	}
	parts := strings.Split(strings.ToLower(word), "/")
	return !slices.ContainsFunc(parts, func(p string) bool { return !slices.Contains(either, p) })
}
