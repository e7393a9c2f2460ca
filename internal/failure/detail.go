package failure

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxDetail is how many characters a detail has at most.
const maxDetail = 200

// normals are what differs between two machines that fail alike: they are cut
// out of details, in this order.
var normals = []struct {
	re   *regexp.Regexp
	with string
}{
	// Files of installed packages are named from the package on.
	{regexp.MustCompile(`(?:[A-Za-z]:)?[\w.~+@/\\-]*[/\\](?:site|dist)-packages[/\\]`), ""},
	{regexp.MustCompile(` at 0x[0-9a-fA-F]+`), ""},
	{regexp.MustCompile(`0x[0-9a-fA-F]{4,}`), "0x…"},
	// ONNX Runtime counts its errors and names its own source and function before it says what is wrong.
	{regexp.MustCompile(`Can't create a session\. ERROR_CODE: \d+, ERROR_MESSAGE: `), ""},
	{regexp.MustCompile(`\S+\.(?:cc|h):\d+ .{1,300}? was false\. (\S)`), "${1}"},
	// Of other paths only the last part says something. A backslash belongs to a
	// path only behind a drive or a home: elsewhere it escapes, as in "\ufffd".
	{regexp.MustCompile(`(^|[\s'"(<=:])~?/(?:[\w.+@~-]+/)+([\w.+@~-]+)`), "${1}…/${2}"},
	{regexp.MustCompile(`(^|[\s'"(<=:])(?:[A-Za-z]:|~)[/\\](?:[\w.+@~-]+[/\\])+([\w.+@~-]+)`), "${1}…/${2}"},
	{regexp.MustCompile(` \(Request ID: [^)]*\)`), ""},
	{regexp.MustCompile(`</torch_[\d_]+>`), "</torch_…>"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

// normal takes out of a line what belongs to one machine.
func normal(line string) string {
	line = scrub(line)
	for _, n := range normals {
		line = n.re.ReplaceAllString(line, n.with)
	}
	return strings.TrimSpace(line)
}

// assertion is what a kernel prints, once for each thread, when a check in it
// fails: the file, the kernel, the thread and the check.
var assertion = regexp.MustCompile("(?m)^\\S*?([\\w.-]+):\\d+: .+: block: .+, thread: .+ Assertion `(.+)` failed")

// failedCheck is the check behind a device-side assert: the exception says only
// that there was one, and the log which.
func failedCheck(f finding, log string) string {
	m := assertion.FindStringSubmatch(log)
	if m == nil || !strings.Contains(f.line, "device-side assert") {
		return ""
	}
	return m[1] + ": " + m[2]
}

// joined puts the place behind what happened there. The line is shortened so
// that the place is never cut off.
func joined(line, place string) string {
	if place == "" {
		return line
	}
	place = " (" + place + ")"
	return cut(line, maxDetail-utf8.RuneCountInString(place)) + place
}

func short(line string) string { return cut(line, maxDetail) }

// cut shortens a line to n characters, at a word's end where one is near.
func cut(line string, n int) string {
	runes := []rune(line)
	if n = max(n, 20); len(runes) <= n {
		return line
	}
	kept := string(runes[:n-1])
	if i := strings.LastIndexByte(kept, ' '); i > len(kept)*3/4 {
		kept = kept[:i]
	}
	return strings.TrimRight(kept, " ,;:") + "…"
}

// firstLine is the first line that holds something. A line that only leads to
// the next has it added.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	line, rest, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	if strings.HasSuffix(line, ":") || strings.HasSuffix(line, "!") {
		next, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		return strings.TrimSpace(line + " " + strings.TrimSpace(next))
	}
	return line
}

// lastLine is the last line that holds something.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// lineAt is the whole line around an offset, as firstLine gives it.
func lineAt(text string, at int) string {
	return firstLine(text[strings.LastIndexByte(text[:at], '\n')+1:])
}
