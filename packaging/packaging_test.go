package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"
	"github.com/google/go-cmp/cmp"
)

var day = time.Date(2026, 11, 18, 1, 2, 3, 0, time.UTC)

func TestPEP440(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v0.1.0": "0.1.0", "0.1.0": "0.1.0", "v1.2.0rc1": "1.2.0rc1",
		"v0.1.0-12-g1cfd705d": "0.1.0.post12+g1cfd705d", "v0.1.0-12-g1cfd705d-dirty": "0.1.0.post12+g1cfd705d.dirty", "v0.1.0-dirty": "0.1.0+dirty",
		"1cfd705d": "0.0.0+1cfd705d", "12345678": "0.0.0+12345678", "1cfd705d-dirty": "0.0.0+1cfd705d.dirty", "unknown": "0.0.0+unknown",
	} {
		if got := pep440(version); got != want {
			t.Errorf("%s becomes %s, want %s", version, got, want)
		}
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"-version is missing":          {},
		`unknown target "plan9/arm"`:   {"-version", "1.0", "-only", "plan9/arm"},
		"thesis.tex is not one of the": {"-version", "1.0", "-out", other},
	} {
		err := run(t.Context(), args, func(string) string { return "1700000000" }, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
	if err := run(t.Context(), []string{"-version", "1.0"}, func(string) string { return "" }, io.Discard); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Error(err)
	}
}

// TestArchives: twice the same bytes, whatever the clock says.
func TestArchives(t *testing.T) {
	t.Parallel()
	files := []file{{"a/assay", []byte("program"), true}, {"a/LICENSE", []byte("text"), false}}
	for name, pack := range map[string]func(io.Writer, []file, time.Time) error{"tar": writeTar, "zip": writeZip} {
		var first, second, third bytes.Buffer
		for b, at := range map[*bytes.Buffer]time.Time{&first: day, &second: day, &third: day.Add(time.Hour)} {
			if err := pack(b, files, at); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) || bytes.Equal(first.Bytes(), third.Bytes()) {
			t.Errorf("%s: the same input gives other bytes, or another date the same", name)
		}
	}
}

// TestSums: what is signed is what lies there, and only the right key signs.
func TestSums(t *testing.T) {
	t.Parallel()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	encrypted, err := minisign.EncryptKey("secret", private)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	o := order{out: t.TempDir(), version: "1.0", key: key, secret: "secret"}
	if err := os.WriteFile(key, encrypted, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.out, componentsFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	names, err := o.writeSums()
	if d := cmp.Diff([]string{componentsFile, sumsFile, signatureFile}, names); d != "" || err != nil {
		t.Fatalf("%v: %s", err, d)
	}
	sums, signature := read(t, o.out, sumsFile), read(t, o.out, signatureFile)
	if !minisign.Verify(public, sums, signature) || minisign.Verify(public, append(sums, ' '), signature) {
		t.Error("the signature is not one of the checksums")
	}
	o.secret = "wrong"
	if err := o.sign(sums); err == nil || !strings.Contains(err.Error(), "MINISIGN_PASSWORD") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestComponents: the list has what this very program was linked from.
func TestComponents(t *testing.T) {
	t.Parallel()
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := order{out: t.TempDir(), version: "1.0", at: day}
	builds := []build{{target: targets[0], path: itself}, {target: targets[1], path: itself}}
	if err := o.writeComponents(builds); err != nil {
		t.Fatal(err)
	}
	var list struct {
		BOMFormat  string
		Components []struct {
			PURL       string
			Properties []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(read(t, o.out, componentsFile), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, c := range list.Components {
		name, _, _ := strings.Cut(c.PURL, "@")
		found[name] += len(c.Properties)
	}
	if list.BOMFormat != "CycloneDX" || found["pkg:golang/std"] != 2 || found["pkg:golang/github.com/CycloneDX/cyclonedx-go"] != 3 {
		t.Errorf("%s with %v", list.BOMFormat, found)
	}
}

func read(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sumsOf are the files of a folder by what is in them.
func sumsOf(t testing.TB, dir string) map[string][32]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][32]byte{}
	for _, e := range entries {
		out[e.Name()] = sha256.Sum256(read(t, dir, e.Name()))
	}
	return out
}

// TestStops: a stopped program builds nothing.
func TestStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := order{out: t.TempDir(), version: "1.0", at: day, root: ".."}
	if err := o.fill(ctx, io.Discard); err == nil {
		t.Error("it went on")
	}
}
