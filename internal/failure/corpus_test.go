package failure

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"assay/internal/cell"
)

var update = flag.Bool("update", false, "rewrite the expected detail and hint of every file of the corpus")

// sample is a file of the corpus: a header of fields, a blank line, and what
// was captured, as a txtar archive of message, traceback and log.
type sample struct {
	path   string
	fields []string // "key: value", in the file's order
	body   string   // everything after the header, as it stands
	Evidence
	class, detail, hint, source string
}

// corpus reads all samples.
func corpus(t testing.TB) []sample {
	t.Helper()
	paths, err := filepath.Glob("testdata/logs/*/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var all []sample
	for _, path := range paths {
		s, err := readSample(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, s)
	}
	return all
}

func readSample(path string) (sample, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return sample{}, err
	}
	// A child that printed nothing has a header alone.
	head, body, _ := strings.Cut(string(b), "\n\n")
	s := sample{path: path, fields: strings.Split(strings.TrimSpace(head), "\n"), body: body}
	for _, f := range s.fields {
		key, value, _ := strings.Cut(f, ":")
		if err := s.set(key, strings.TrimSpace(value)); err != nil {
			return sample{}, err
		}
	}
	for _, f := range txtar.Parse([]byte(body)).Files {
		text := strings.TrimSuffix(string(f.Data), "\n")
		switch f.Name {
		case "message":
			s.Message = text
		case "traceback":
			s.Traceback = text
		case "log":
			s.Log = text
		default:
			return sample{}, fmt.Errorf("unknown part %q", f.Name)
		}
	}
	return s, nil
}

func (s *sample) set(key, value string) (err error) {
	switch key {
	case "class":
		s.class = value
	case "detail":
		s.detail = value
	case "hint":
		s.hint = value
	case "source":
		s.source = value
	case "versions", "how":
	case "exception":
		s.Exception = value
	case "bases":
		s.Bases = strings.Fields(value)
	case "phase":
		s.Phase = value
	case "platform":
		s.Platform = value
	case "dtype":
		s.DType = value
	case "engine":
		s.Engine = value
	case "cache":
		s.Cache = value
	case "killed":
		s.Killed = value
	case "oom_killed":
		s.OOMKilled, err = strconv.ParseBool(value)
	case "status":
		s.ExitStatus, err = strconv.Atoi(value)
	case "signal":
		i := slices.IndexFunc(ends, func(e end) bool { return e.name == value })
		if i < 0 {
			return fmt.Errorf("unknown signal %q", value)
		}
		s.Signal = ends[i].signal
	default:
		return fmt.Errorf("unknown field %q", key)
	}
	return err
}

// write puts what was found into the file as what is expected.
func (s sample) write(got cell.Failure) error {
	for i, f := range s.fields {
		switch key, _, _ := strings.Cut(f, ":"); key {
		case "detail":
			s.fields[i] = "detail: " + got.Detail
		case "hint":
			s.fields[i] = "hint: " + got.Hint
		}
	}
	text := strings.Join(s.fields, "\n") + "\n"
	if s.body != "" {
		text += "\n" + s.body
	}
	return os.WriteFile(s.path, []byte(text), 0o644)
}

func TestCorpus(t *testing.T) {
	for _, s := range corpus(t) {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(s.path), "testdata/logs/"), ".txt"), func(t *testing.T) {
			got := Classify(s.Evidence)
			if *update && string(got.Class) == s.class {
				if err := s.write(got); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := cell.Failure{Class: cell.FailureClass(s.class), Detail: s.detail, Hint: s.hint, Log: got.Log}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got; -update rewrites detail and hint)\n%s", d)
			}
		})
	}
}

// Every class has at least three samples, or as many as there are of its kind, each lies in its class's folder and
// says where it came from.
func TestCorpusIsWide(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, s := range corpus(t) {
		if dir := filepath.Base(filepath.Dir(s.path)); dir != s.class {
			t.Errorf("%s is of class %s", s.path, s.class)
		}
		if s.source != "captured" && s.source != "message as documented" {
			t.Errorf("%s: source %q", s.path, s.source)
		}
		if s.source == "captured" {
			count[s.class]++
		}
	}
	for _, c := range cell.Classes() {
		least := 3
		if c == cell.BeyondAssay { // which Assay says itself, in one sentence
			least = 2
		}
		if n := count[string(c)]; n < least {
			t.Errorf("%s has %d captured samples, want %d", c, n, least)
		}
	}
}

// No two samples are alike once their digits are taken out.
func TestCorpusHasNoTwins(t *testing.T) {
	t.Parallel()
	digits := regexp.MustCompile(`\d+`)
	seen := map[string]string{}
	for _, s := range corpus(t) {
		key := digits.ReplaceAllString(s.Exception+"\n"+s.body, "")
		if s.body == "" {
			key = digits.ReplaceAllString(strings.Join(s.fields, "\n"), "") // ended without a word
		}
		if twin, ok := seen[key]; ok {
			t.Errorf("%s and %s are alike", s.path, twin)
		}
		seen[key] = s.path
	}
}

// Samples hold nothing of the machine they were captured on.
func TestCorpusIsNeutral(t *testing.T) {
	t.Parallel()
	for _, s := range corpus(t) {
		for _, place := range regexp.MustCompile(`(?:^|[\s"'(<])(/(?:root|Users|work|mnt|opt)\b[^\s"']*|/(?:home|tmp)/[^\s"'/]+)`).FindAllStringSubmatch(s.body, -1) {
			if !slices.Contains([]string{"/home/user"}, place[1]) {
				t.Errorf("%s names %s", s.path, place[1])
			}
		}
	}
}

// Every row of a table is the one that decides for some sample: none is dead,
// and none hides behind a broader one.
func TestEveryRowIsNeeded(t *testing.T) {
	t.Parallel()
	hitPattern, hitKind, hitAdvice := map[int]bool{}, map[string]bool{}, map[int]bool{}
	see := func(e Evidence) {
		f := judge(e)
		hitAdvice[adviceFor(f.class, hintText(e, f))] = true
		for _, x := range chain(e) {
			if k, ok := kindOf(x); ok {
				hitKind[k.name] = true
			}
		}
	}
	for _, s := range corpus(t) {
		e := tidy(s.Evidence)
		see(e)
		for _, i := range deciding(e) {
			hitPattern[i] = true
		}
	}
	for _, u := range unitEvidence {
		see(tidy(u.Evidence))
	}
	for i, p := range patterns {
		if !hitPattern[i] {
			t.Errorf("no sample needs the pattern for %s: %s", p.class, p.what)
		}
	}
	for _, k := range kinds {
		if !hitKind[k.name] {
			t.Errorf("no sample needs the exception %s", k.name)
		}
	}
	for i, a := range advices {
		if !hitAdvice[i] {
			t.Errorf("no sample gets the hint %q", a.text)
		}
	}
}

// adviceFor is the place in the table of the hint that is given.
func adviceFor(class cell.FailureClass, text string) int {
	return slices.IndexFunc(advices, func(a advice) bool {
		return a.class == class && (a.re == nil || a.re.MatchString(text))
	})
}

// deciding lists the patterns that gave the finding: each the first to fit a
// text the judges look at, and of the class that was found.
func deciding(e Evidence) []int {
	var found []int
	class := judge(e).class
	try := func(where place, text string) {
		i := slices.IndexFunc(patterns, func(p pattern) bool { return p.where&where != 0 && p.re.MatchString(text) })
		if i >= 0 && patterns[i].class == class {
			found = append(found, i)
		}
	}
	if e.Exception == "" {
		try(inLog, e.Log)
		return found
	}
	for _, x := range chain(e) {
		try(inMessage, x.message)
		try(inFrames, x.frames)
	}
	return found
}
