package weblab

import "regexp"

// unknownVersion stands where a browser does not say its own.
const unknownVersion = "unknown"

// brands are names that browsers give themselves, the particular before the
// general: every one of Chromium's family says Chromium too.
var brands = []struct{ brand, kind string }{
	{"Microsoft Edge", "edge"},
	{"Opera", "opera"},
	{"Samsung Internet", "samsung"},
	{"Brave", "brave"},
	{"Vivaldi", "vivaldi"},
	{"Google Chrome", "chrome"},
	{"HeadlessChrome", "chromium"},
	{"Chromium", "chromium"},
}

// agents tell browsers by their user agents, the first that fits: most claim
// to be several. On iPhones all of them are Safari inside.
var agents = []struct {
	form *regexp.Regexp
	kind string
}{
	{regexp.MustCompile(`Edg(?:A|iOS)?/([\d.]+)`), "edge"},
	{regexp.MustCompile(`(?:OPR|OPT)/([\d.]+)`), "opera"},
	{regexp.MustCompile(`SamsungBrowser/([\d.]+)`), "samsung"},
	{regexp.MustCompile(`(?:Firefox|FxiOS)/([\d.]+)`), "firefox"},
	{regexp.MustCompile(`CriOS/([\d.]+)`), "chrome"},
	{regexp.MustCompile(`HeadlessChrome/([\d.]+)`), "chromium"},
	{regexp.MustCompile(`Chrome/([\d.]+)`), "chrome"},
	{regexp.MustCompile(`Version/([\d.]+).* Safari/`), "safari"},
}

// systems are the browsers' words for systems, in Go's.
var systems = map[string]string{
	"Android": "android", "Windows": "windows", "macOS": "darwin", "Linux": "linux",
	"Chrome OS": "chromeos", "Chromium OS": "chromeos", "iOS": "ios",
}

// systemsByAgent tell systems by user agents, the first that fits. An iPad says
// that it is a Macintosh; no Macintosh has a screen to touch. Versions are not
// read here: browsers have frozen them.
var systemsByAgent = []struct {
	form  *regexp.Regexp
	touch int // fingers that its screen must feel
	os    string
}{
	{regexp.MustCompile(`iPhone|iPad|iPod`), 0, "ios"},
	{regexp.MustCompile(`Macintosh`), 2, "ios"},
	{regexp.MustCompile(`Android`), 0, "android"},
	{regexp.MustCompile(`Windows`), 0, "windows"},
	{regexp.MustCompile(`CrOS`), 0, "chromeos"},
	{regexp.MustCompile(`Macintosh`), 0, "darwin"},
	{regexp.MustCompile(`Linux`), 0, "linux"},
}

// architectures are the browsers' words for processors and their bits, in Go's.
var architectures = map[[2]string]string{
	{"x86", "64"}: "amd64", {"x86", "32"}: "386", {"arm", "64"}: "arm64", {"arm", "32"}: "arm",
}

// architecturesByAgent are those that a user agent gives away. A Macintosh
// always says Intel, whatever it has.
var architecturesByAgent = []struct {
	form *regexp.Regexp
	arch string
}{
	{regexp.MustCompile(`iPhone|iPad`), "arm64"},
	{regexp.MustCompile(`x86_64|Win64|x64|amd64`), "amd64"},
	{regexp.MustCompile(`(?i)aarch64|arm64`), "arm64"},
	{regexp.MustCompile(`armv\d`), "arm"},
	{regexp.MustCompile(`i[3-6]86`), "386"},
}

// models are the devices that a user agent names.
var models = regexp.MustCompile(`iPhone|iPad`)
