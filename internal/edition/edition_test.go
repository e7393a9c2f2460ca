package edition

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/atlas"
	"assay/internal/cell"
	"assay/internal/platform"

	"aead.dev/minisign"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// small is an atlas of one type, whose version tells it from others.
func small(t testing.TB, version string) []byte {
	t.Helper()
	c := atlas.Column{Target: "cuda", DType: platform.FP32}
	file, err := atlas.Atlas{Transformers: version, Columns: []atlas.Column{c}, Rows: []atlas.Row{{Type: "bert", Claims: []atlas.Claim{{
		Column: c, Verdict: cell.Works, Evidence: cell.Measured, Versions: map[string]string{"torch": version},
		Run: &atlas.Run{ID: "20261117T120000Z-aaaaaa"}, At: time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)}}}}}.Encode()
	must(t, err)
	return file
}

func keys(t testing.TB) (minisign.PublicKey, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	must(t, err)
	return public, private
}

func verified(t testing.TB, version string) Verified {
	t.Helper()
	public, private := keys(t)
	file := small(t, version)
	v, err := Verify(file, minisign.Sign(private, file), public)
	must(t, err)
	return v
}

// loaded is the release of the edition in use; "" is none.
func loaded(t testing.TB, s Shelf) string {
	t.Helper()
	b, err := s.Load()
	if err != nil || b == nil {
		return ""
	}
	return b.Transformers
}

// Only what a trusted key signed, byte by byte, and what is an atlas, is taken.
func TestVerify(t *testing.T) {
	t.Parallel()
	public, private := keys(t)
	other, stranger := keys(t)
	file := small(t, "1")
	signature := minisign.Sign(private, file)
	if v, err := Verify(file, signature, other, public); err != nil || v.Book == nil || v.Quality.Known != 1 || v.Key == "" {
		t.Errorf("%+v, %v", v, err)
	}
	changed := bytes.Clone(file)
	changed[len(changed)/2] ^= 1
	junk := []byte("this is no atlas")
	for name, x := range map[string]struct {
		file, signature []byte
		keys            []Key
	}{
		"no key":         {file, signature, nil},
		"another key":    {file, signature, []Key{other}},
		"a stranger's":   {file, minisign.Sign(stranger, file), []Key{public}},
		"changed":        {changed, signature, []Key{public}},
		"half":           {file[:len(file)/2], signature, []Key{public}},
		"no signature":   {file, nil, []Key{public}},
		"half signature": {file, signature[:len(signature)/2], []Key{public}},
		"signed junk":    {junk, minisign.Sign(private, junk), []Key{public}},
	} {
		if v, err := Verify(x.file, x.signature, x.keys...); err == nil || v.Book != nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// An edition is in use when all of it is there, and until then the one before it.
func TestInstall(t *testing.T) {
	t.Parallel()
	s := Shelf{filepath.Join(t.TempDir(), "atlas")}
	if loaded(t, s) != "" {
		t.Error("an edition of nothing")
	}
	first, second := verified(t, "1"), verified(t, "2")
	must(t, s.Install(first))
	if loaded(t, s) != "1" {
		t.Error("the first is not in use")
	}
	// Killed at any byte of any file of the second, under its temporary or its own name.
	for n := range len(second.file) {
		must(t, os.WriteFile(filepath.Join(s.Dir, "."+second.Hash+".new-1"), second.file[:n], 0o600))
		must(t, os.WriteFile(s.path(second.Hash), second.file[:n], 0o600))
		if loaded(t, s) != "1" {
			t.Fatalf("killed at byte %d, the first is lost", n)
		}
	}
	for n := range len(second.Hash) {
		must(t, os.WriteFile(filepath.Join(s.Dir, ".current.new-1"), []byte(second.Hash[:n]), 0o600))
		if loaded(t, s) != "1" {
			t.Fatalf("killed at byte %d of the name, the first is lost", n)
		}
	}
	must(t, s.Install(second))
	if loaded(t, s) != "2" {
		t.Error("the second is not in use")
	}
	// What was changed on the disk is not used, and no reason to answer nothing.
	must(t, os.WriteFile(s.path(second.Hash), small(t, "3"), 0o600))
	if b, err := s.Load(); err == nil || b != nil {
		t.Error("a changed file was used")
	}
	must(t, os.Remove(s.path(second.Hash)))
	if b, err := s.Load(); err == nil || b != nil {
		t.Error("a file that is gone was used")
	}
	must(t, s.Reset())
	if b, err := s.Load(); err != nil || b != nil {
		t.Errorf("after a reset: %v, %v", b, err)
	}
	if err := s.Install(Verified{Hash: strings.Repeat("0", 64)}); err == nil {
		t.Error("what nobody verified was installed")
	}
	must(t, Shelf{filepath.Join(t.TempDir(), "none")}.Reset())
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	public, _ := keys(t)
	text, err := public.MarshalText()
	must(t, err)
	path := filepath.Join(t.TempDir(), "key.pub")
	must(t, os.WriteFile(path, text, 0o600))
	for _, s := range []string{string(text), public.String(), path} {
		if k, err := ParseKey(s); err != nil || !k.Equal(public) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"", "nonsense", filepath.Dir(path)} {
		if _, err := ParseKey(s); err == nil {
			t.Errorf("%q is a key", s)
		}
	}
}
