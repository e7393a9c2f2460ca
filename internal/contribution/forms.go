package contribution

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// form is what is taken out of a text, and the word in its place. The first group, if it has one, stays before it.
type form struct {
	form *regexp.Regexp
	as   string
	// keep tells what looks like it and is nothing of the kind; before is the text before it. nil keeps nothing.
	keep func(before, found string) bool
}

// secrets and addresses whose form tells them.
var forms = []form{
	{regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://[^\s"'<>]*`), "(address)", nil},
	{regexp.MustCompile(`\b(?:hf_[A-Za-z0-9]{12,}|gh[pousr]_[A-Za-z0-9]{12,}|github_pat_\w{12,}|glpat-[\w-]{12,}|xox[abeps]-[\w-]{8,}|AKIA[0-9A-Z]{12,}|eyJ[\w-]{8,}\.[\w.-]+)`), "(secret)", nil},
	{regexp.MustCompile(`\bsk-[\w-]{12,}`), "(secret)", func(_, found string) bool { return !strings.ContainsAny(found, "0123456789") }},
	{regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}`), "(secret)", func(_, found string) bool { return !strings.ContainsAny(found, "0123456789=") }},
	{regexp.MustCompile(`(?i)([\w-]*(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)["']?\s?[=:]\s?["']?)[^\s"',;()\[\]{}<>]{3,}`), "(secret)", isConstant},
	{regexp.MustCompile(`(?i)([\w-]*token["']?\s?[=:]\s?["']?)[^\s"',;()\[\]{}<>]{12,}`), "(secret)", func(_, found string) bool { return !strings.ContainsAny(found, "0123456789") }},
	{regexp.MustCompile(`[\w.+-]+@[\w.-]*\w`), "(address)", isRelease},
	{regexp.MustCompile(`(?i)\bhost(?:name)?\s?=\s?["']?[\w.-]+`), "(name)", isConstant},
	{regexp.MustCompile(`(?i)\bhost(?:name)?\s?:\s?[\w.-]*(?:[a-z][\w.-]*[\d-]|\d[\w.-]*[a-z])[\w.-]*`), "(name)", nil},
	{regexp.MustCompile(`(?i)(\b(?:connect|connected|connecting|connection|route|bind|bound|listening)\s(?:to|from|with|on)\s|\b(?:resolve|reach|peer|host|server|machine)\s)[\w-]*[a-z][\w-]*:\d{2,5}\b`), "(address)", nil},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b`), "(address)", nil},
	{regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?`), "(address)", isVersion},
	{regexp.MustCompile(`[\w:.%]*:[\w.%]*:[\w:.%]*`), "(address)", isNotIPv6},
	{regexp.MustCompile(`[A-Za-z0-9_][\w-]*(?:\.[\w-]+)+(?::\d+)?`), "(address)", isNoHost},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "(id)", nil},
}

func (f form) replace(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range f.form.FindAllStringSubmatchIndex(text, -1) {
		start := m[0]
		if len(m) > 2 && m[3] > start {
			start = m[3]
		}
		if f.keep != nil && f.keep(text[:start], text[start:m[1]]) {
			continue
		}
		out.WriteString(text[at:start] + f.as)
		at = m[1]
	}
	return out.String() + text[at:]
}

var constants = []string{"none", "null", "true", "false", "cpu", "cuda", "device", "default", "auto", "required", "missing"}

// isConstant tells a setting's ordinary value.
func isConstant(_, found string) bool {
	value := strings.ToLower(strings.Trim(found[strings.LastIndexAny(found, "= ")+1:], `"'.`))
	return slices.Contains(constants, value) || strings.Trim(value, "0123456789") == ""
}

var release = regexp.MustCompile(`@(?:v?\d+(?:\.\d+){0,2}|0x[0-9a-f]+|main|latest|next)$`)

// isRelease tells a package with its version, and an object with where it lies.
func isRelease(_, found string) bool { return release.MatchString(found) }

var versionBefore = regexp.MustCompile(`(?i)(?:\b(?:version|release|driver|cudnn|qnn|qairt|sdk|build|chrome|chromium|edge|runtime|openvino|firmware)s?\s?[:=]?\s?|[=<>~!]=\s?|[\w.@+-])$`)

// isVersion tells a version of four numbers from an address.
func isVersion(before, found string) bool {
	address, _, _ := strings.Cut(found, ":")
	_, err := netip.ParseAddr(address)
	return err != nil || versionBefore.MatchString(before)
}

// isNotIPv6 tells names of C++ and slices from addresses.
func isNotIPv6(_, found string) bool {
	a, err := netip.ParseAddr(strings.TrimRight(found, ".%"))
	if err != nil {
		a, err = netip.ParseAddr(strings.TrimSuffix(found, ":"))
	}
	return err != nil || !a.Is6() || !strings.ContainsAny(found, "0123456789") || strings.HasPrefix(found, "c10::")
}

var (
	privately = []string{"local", "internal", "lan", "corp", "home", "cluster", "intranet", "localdomain", "localhost", "private"}
	publicly  = []string{"com", "org", "edu", "gov", "mil", "example", "invalid", "test"}
	sometimes = []string{"net", "io", "dev", "cloud", "ai", "de", "fr", "uk", "eu", "ch", "nl", "jp", "cn", "us", "tech", "app"}
	// modules begin the names of Python's packages and of objects, whose parts look like a host's.
	modules = strings.Fields("accelerate aten builtins cls com concurrent config ctx diffusers distributed google importlib jax keras math model module multiprocessing nn np numpy onnx onnxruntime openvino optimum os " +
		"pandas prim pytorch qnn scipy self skimage sklearn sys tensorflow threading timm tokenizers torch torchaudio torchvision transformers triton")
)

// isNoHost tells modules, attributes, files and numbers with points in them from hosts.
func isNoHost(before, found string) bool {
	name, port, _ := strings.Cut(strings.ToLower(found), ":")
	labels := strings.Split(name, ".")
	last := labels[len(labels)-1]
	odd := slices.ContainsFunc(labels, func(l string) bool { // node17, gpu-1
		return strings.ContainsAny(l, "0123456789-") && strings.Trim(l, "0123456789.") != ""
	})
	switch {
	case strings.ContainsAny(name, "_") && last != "local" && last != "internal", strings.HasSuffix(before, "."), strings.HasSuffix(before, "_"):
		return true
	case slices.Contains(modules, labels[0]) && port == "":
		return true
	case slices.Contains(privately, last), slices.Contains(publicly, last):
		return false
	}
	return !slices.Contains(sometimes, last) || !odd && port == ""
}
