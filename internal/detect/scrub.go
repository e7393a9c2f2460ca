package detect

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// scrubber takes out of a capture what names a machine or a person. The same
// thing becomes the same stand-in everywhere, so that a variable that names a
// GPU by its UUID still names that GPU.
type scrubber struct {
	words  []string // user and host names
	home   string
	seen   map[string]string
	groups map[string]string // parts of control groups' paths
}

// newScrubber knows the names of this machine and its user.
func newScrubber() *scrubber {
	s := &scrubber{seen: map[string]string{}}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		s.words = append(s.words, name, short)
	}
	if u, err := user.Current(); err == nil {
		s.words = append(s.words, filepath.Base(strings.ReplaceAll(u.Username, `\`, "/")))
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		s.home = home
	}
	return s
}

// identifiers are things of a known form, most specific first.
var identifiers = []struct {
	form *regexp.Regexp
	as   string // printed with a number
}{
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "00000000-0000-0000-0000-%012d"},
	{regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`), "00:00:00:00:00:%02d"},
	{regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b`), "2001:db8::%d"},
	{regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){2,6}:[0-9a-f:]*`), "2001:db8::%d"},
	{regexp.MustCompile(`(?i)\bi-[0-9a-f]{8,17}\b`), "i-%08d"},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{16,64}\b`), "%016d"},
}

var (
	// dottedQuad is an address when no digit or dot stands beside it: driver
	// and firmware versions have three or five parts.
	dottedQuad = regexp.MustCompile(`(^|[^0-9.])((?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3})($|[^0-9.])`)
	// keyedSecret is a line or field that names a serial number.
	keyedSecret = regexp.MustCompile(`(?im)^(\s*"?(?:[\w .-]*serial[\w .-]*|unique_id|hive_id|product_uuid|asset_tag)"?\s*[:= ]\s*).*$`)
	homePath    = regexp.MustCompile(`(/home/|/Users/|\\Users\\|/var/home/)[^/\\\s":;]+`)
)

// text scrubs free text.
func (s *scrubber) text(in string) string {
	if in == azureTag {
		return in
	}
	out := keyedSecret.ReplaceAllString(in, "${1}0")
	for _, id := range identifiers {
		out = id.form.ReplaceAllStringFunc(out, func(found string) string { return s.standIn(found, id.as) })
	}
	for range 2 { // neighbours share the character between them
		out = dottedQuad.ReplaceAllString(out, "${1}192.0.2.1${3}")
	}
	if s.home != "" {
		out = strings.ReplaceAll(out, s.home+"/", "/home/user/")
	}
	out = homePath.ReplaceAllString(out, "${1}user")
	return s.names(out)
}

// names replaces user and host names where they stand as words. Short or
// general ones are left: they name nobody.
func (s *scrubber) names(in string) string {
	general := map[string]bool{"root": true, "user": true, "localhost": true, "linux": true, "runner": true, "ubuntu": true}
	for _, w := range s.words {
		if len(w) < 3 || general[strings.ToLower(w)] {
			continue
		}
		form := regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(w) + `($|[^\w-])`)
		in = form.ReplaceAllString(in, "${1}name${2}")
	}
	return in
}

func (s *scrubber) standIn(found, as string) string {
	if strings.Trim(found, "0123456789") == "" {
		return found // a plain number: a size, not a name
	}
	key := strings.ToLower(found)
	if known, ok := s.seen[key]; ok {
		return known
	}
	for _, made := range s.seen {
		if made == found {
			return found // a stand-in already
		}
	}
	s.seen[key] = fmt.Sprintf(as, len(s.seen)+1)
	return s.seen[key]
}

// json scrubs every string of a JSON document, not the keys.
func (s *scrubber) json(in json.RawMessage) json.RawMessage {
	var value any
	if json.Unmarshal(in, &value) != nil {
		return nil
	}
	out, err := json.Marshal(s.value(value))
	if err != nil {
		return nil
	}
	return out
}

func (s *scrubber) value(v any) any {
	switch v := v.(type) {
	case string:
		return s.text(v)
	case []any:
		for i := range v {
			v[i] = s.value(v[i])
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = s.value(v[key])
		}
	}
	return v
}

func (s *scrubber) strings(in map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		out[key] = s.text(in[key])
	}
	return out
}

// kept says which lines of a file or a command are kept, where probes need
// only some of what may tell more.
var kept = map[string]*regexp.Regexp{
	"proc/self/status": regexp.MustCompile(`^Cpus_allowed_list:`),
	"proc/meminfo":     regexp.MustCompile(`^MemTotal:`),
	cgroupFile:         regexp.MustCompile(`^\d+:([^:]*,)?(cpu|memory)?(,[^:]*)?:`),
	"ioreg":            regexp.MustCompile(`"gpu-core-count"`),
	"sys/class/dmi/id/chassis_asset_tag": regexp.MustCompile(
		`^(` + regexp.QuoteMeta(azureTag) + `|OracleCloud\.com)$`),
}

// cpuLines are those that differ between processors and matter.
var cpuLines = regexp.MustCompile(`^(processor|physical id|core id)\s*:`)

// shortened are files of which parts of lines are dropped.
var shortened = map[string]func(string) string{
	"proc/cpuinfo":               keepProcessors,
	"proc/driver/nvidia/version": dropBuilder,
	"proc/sys/kernel/osrelease":  commonRelease,
}

// keepLines drops what no probe needs.
func keepLines(name, content string) string {
	if shorten := shortened[name]; shorten != nil {
		return shorten(content)
	}
	form := kept[name]
	if form == nil {
		return content
	}
	return filterLines(content, form)
}

// keepProcessors keeps the first processor whole: the others have the same
// flags, and a large machine has hundreds.
func keepProcessors(content string) string {
	blocks := strings.Split(strings.TrimSpace(content), "\n\n")
	for i := 1; i < len(blocks); i++ {
		blocks[i] = filterLines(blocks[i], cpuLines)
	}
	return strings.Join(blocks, "\n\n")
}

func filterLines(content string, form *regexp.Regexp) string {
	var lines []string
	for line := range strings.SplitSeq(content, "\n") {
		if form.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
