package environment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/internal/wholefile"
)

// Release is a package of the managed environment in another version.
type Release struct{ Package, Version string }

func (r Release) String() string { return r.Package + " " + r.Version }

// Packages are those whose version may be another one: what the lock was made from.
func (m *Maker) Packages() []string {
	var out []string
	for _, r := range m.asked() {
		out = append(out, r.name)
	}
	return out
}

// Locked is the version of a package in the managed environment; "" is none.
func (m *Maker) Locked(name string) string {
	for _, r := range ParseLock(m.lock) {
		if r.Name == Normalize(name) {
			return r.Version
		}
	}
	return ""
}

type asked struct{ name, marker string }

// asked reads what the lock was made from, without versions.
func (m *Maker) asked() []asked {
	var out []asked
	for line := range strings.Lines(string(m.wanted)) {
		line, _, _ = strings.Cut(line, "#")
		head, marker, _ := strings.Cut(line, ";")
		name, _, _ := strings.Cut(head, "==")
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, asked{name, strings.TrimSpace(marker)})
		}
	}
	return out
}

// Basis names all that environments of this program with other releases have in common:
// the lock that they were made from, and the runner.
func (m *Maker) Basis() (string, error) {
	files, err := read(m.sources)
	if err != nil {
		return "", err
	}
	return hash(m.lock) + "-" + contentHash(files), nil
}

// Releases lists the releases of a package from one to another, oldest first, as far
// as the index has them for this machine and Python; pre-releases and yanked ones are
// left out. uv has no command that lists them, so it is asked for the newest below the
// one before, again and again: the index is in its cache after the first time.
func (m *Maker) Releases(ctx context.Context, name, first, last string) ([]string, error) {
	var out []string
	err := m.working(ctx, func(b *build, uv string) error {
		ask := func(condition string) (string, error) { return b.newest(ctx, uv, name, condition) }
		oldest, err := ask("==" + first)
		if err != nil {
			return err
		}
		at, err := ask("==" + last)
		for err == nil && at != oldest {
			out = append(out, at)
			at, err = ask(">=" + oldest + ",<" + at)
		}
		if IsKind(err, Unsupported) && len(out) > 0 {
			return &Error{Kind: Unsupported, Problem: fmt.Sprintf("%s %s is not older than %s", name, first, last), Hint: "name the older release first"}
		}
		out = append(out, oldest)
		return err
	})
	slices.Reverse(out)
	return out, err
}

// newest is the newest release of a package that meets a condition.
func (b *build) newest(ctx context.Context, uv, name, condition string) (string, error) {
	text, err := b.resolve(ctx, uv, name+condition+"\n", nil, "--no-deps", "--prerelease", "disallow")
	if err != nil {
		return "", absent(name+condition, err, b.folders.SetupLog())
	}
	list := ParseLock(text)
	if len(list) != 1 {
		return "", fmt.Errorf("uv named %d packages for %s%s", len(list), name, condition)
	}
	return list[0].Version, nil
}

// With returns a Maker of an environment that is the managed one with another release
// of a package. Of the others those have another version which cannot stay beside it;
// uv decides which. What it decided is kept, so that the same release is the same
// environment tomorrow.
func (m *Maker) With(ctx context.Context, r Release) (*Maker, error) {
	if m.Locked(r.Package) == r.Version {
		return m, nil
	}
	other := *m
	other.release = r
	err := m.working(ctx, func(b *build, uv string) error {
		path := filepath.Join(b.folders.environments(), "locks", fmt.Sprintf("%s-%s-%s-%s.lock", Normalize(r.Package), r.Version, hash(m.lock), b.python.tag()))
		text, err := os.ReadFile(path)
		if err == nil && len(ParseLock(text)) > 0 {
			other.lock = text
			return nil
		}
		other.lock, err = b.resolve(ctx, uv, m.replaced(r), m.lock, "--generate-hashes")
		if err != nil {
			return absent(r.String(), err, b.folders.SetupLog())
		}
		return replaceFile(path, other.lock)
	})
	return &other, err
}

// replaced is what the lock was made from, with one release and no other versions: the
// lock itself says which are preferred.
func (m *Maker) replaced(r Release) string {
	var b strings.Builder
	for _, a := range m.asked() {
		b.WriteString(a.name)
		if Normalize(a.name) == Normalize(r.Package) {
			b.WriteString("==" + r.Version)
		}
		if a.marker != "" {
			b.WriteString(" ; " + a.marker)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// resolve lets uv choose versions for what is wanted; those of preferred are kept
// where they can be.
func (b *build) resolve(ctx context.Context, uv, wanted string, preferred []byte, options ...string) ([]byte, error) {
	tmp, err := os.MkdirTemp(b.folders.Cache, "resolve-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	in, out := filepath.Join(tmp, "wanted.in"), filepath.Join(tmp, "chosen.lock")
	err = errors.Join(wholefile.Write(in, []byte(wanted), wholefile.Options{}), wholefile.Write(out, preferred, wholefile.Options{}))
	if err != nil {
		return nil, err
	}
	settings := b.settings(ctx)
	argv := []string{uv, "pip", "compile", "--quiet", "--python", b.python.Path, "--only-binary", ":all:",
		"--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links", in, "--output-file", out}
	argv = append(append(argv, options...), settings.findLinks()...)
	if _, err := b.do(ctx, settings.variables(lookup(b.environ)), nil, argv...); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// unsolved is what uv says where the index answered and has nothing that fits.
var unsolved = regexp.MustCompile(`(?i)no solution found|was not found in the package registry|no versions? of|requirements are unsatisfiable`)

// absent tells a release that cannot be installed from an index that cannot be asked.
func absent(what string, err error, log string) error {
	var failed *failure
	explained := explain("looking for "+what, err, log)
	if errors.As(err, &failed) && unsolved.MatchString(failed.tail) && !IsKind(explained, NoNetwork) && !IsKind(explained, Certificate) && !IsKind(explained, Refused) {
		return &Error{Kind: Unsupported, Problem: fmt.Sprintf("%s cannot be installed with this Python: %s", what, shorten(failed.tail)), Err: err}
	}
	return explained
}

// shorten is what uv said, on one line of bounded length.
func shorten(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\r│╰─▶×", r) }), " ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + " …"
	}
	return text
}

// working calls do with uv, under the lock.
func (m *Maker) working(ctx context.Context, do func(b *build, uv string) error) error {
	if err := m.folders.Create(); err != nil {
		return err
	}
	held, err := m.alone(ctx)
	if err != nil {
		return explain("looking for releases", err, "")
	}
	defer held.Close()
	log, err := os.OpenFile(m.folders.SetupLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return explain("looking for releases", err, "")
	}
	defer log.Close()
	b := &build{Maker: m, log: log}
	if b.python, err = FindPython(ctx, lookup(b.environ)("ASSAY_PYTHON")); err != nil {
		return err
	}
	uv, err := b.boot(ctx)
	if err != nil {
		return err
	}
	return do(b, uv)
}
