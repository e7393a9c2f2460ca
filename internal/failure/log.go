package failure

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxLog is how many bytes of a log a failure keeps.
const MaxLog = 64 << 10

// fullLog is what the child printed, then its traceback: bounded, readable as
// text, and without secrets.
func fullLog(e Evidence) string {
	text := e.Log
	if e.Traceback != "" && !strings.Contains(text, strings.TrimSpace(e.Traceback)) {
		text = strings.TrimRight(text, "\n") + "\n" + e.Traceback
	}
	return bound(scrub(strings.TrimLeft(text, "\n")), MaxLog)
}

// bound keeps the head and, since the end tells most, a larger tail.
func bound(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const room = 64 // for the line that says what is missing
	head := text[:most/4]
	tail := text[len(text)-(most*3/4-room):]
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRuneInString(head); r != utf8.RuneError || size != 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for range utf8.UTFMax - 1 {
		if tail != "" && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
	}
	return fmt.Sprintf("%s\n… %d bytes left out …\n%s", head, len(text)-len(head)-len(tail), tail)
}

var (
	escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b.`)
	// A bar that redraws itself: what was drawn over is not kept.
	redrawn = regexp.MustCompile(`(?m)^[^\n]*\r([^\r\n]*)$`)
	control = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)
)

// clean makes what a program sent to a terminal plain text.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = escapes.ReplaceAllString(text, "")
	text = redrawn.ReplaceAllString(text, "$1")
	return control.ReplaceAllString(text, "")
}

// secrets are what must not leave the machine: whose it is, and what opens
// doors. What remains still tells what kind of thing stood there.
var secrets = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(^|[^\w.])(?:/home/[\w.-]+|/Users/[\w.-]+|/root)(/|\b)`), "${1}~${2}"},
	{regexp.MustCompile(`[A-Za-z]:\\Users\\[^\\\s'"]+`), "~"},
	{regexp.MustCompile(`\b(hf|ghp|gho|ghs|github_pat|glpat|sk|api_org)([_-])[A-Za-z0-9_-]{16,}`), "${1}${2}…"},
	{regexp.MustCompile(`(?i)\b(authorization: *(?:bearer|basic)|bearer) +[\w.~+/=-]{8,}`), "${1} …"},
	{regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`), "${1}…"},
	{regexp.MustCompile(`(?i)\b(\w*(?:token|secret|password|api_key|apikey))=[^\s&'"]+`), "${1}=…"},
	{regexp.MustCompile(`(https?://)[^\s/@'"]+@`), "${1}…@"},
	{regexp.MustCompile(`(https?://[^\s?'"<>]+)\?[^\s'"<>]*(?:Signature|Expires|sig)=[^\s'"<>]*`), "${1}?…"},
}

// scrub takes user names and secrets out of text.
func scrub(text string) string {
	for _, s := range secrets {
		text = s.re.ReplaceAllString(text, s.with)
	}
	return text
}
