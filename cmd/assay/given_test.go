package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/internal/input"
)

// TestOddFiles: naming something that cannot be what is wanted is wrong usage, whatever lies there, and the sentence says
// what to name; no token of an address is in it.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) error { return os.WriteFile(at(name), []byte(text), 0o600) }
	huge, err := os.Create(at("huge"))
	if err = errors.Join(err, huge.Truncate(64<<20), huge.Close(), os.Mkdir(at("folder"), 0o700), write("empty", ""), write("text", "no atlas"),
		write("bytes", "\xff\xfe\x00"), write("unsigned", "x"), write("signed", "x"), write("signed.minisig", "no signature")); err != nil {
		t.Fatal(err)
	}
	files := []string{"", "-", at("none"), at("folder"), at("empty"), at("text"), at("bytes"), at("huge"), at("text/inside"), at("unsigned"), at("signed"), os.DevNull, "a\x00b", strings.Repeat("long/", 2000)}
	if os.Symlink("loop", at("loop")) == nil {
		files = append(files, at("loop"))
	}
	const key = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
	for _, x := range []struct {
		args  []string
		names []string
		says  []string // one of them
	}{
		{[]string{"atlas", "update", "--key", key}, append(files, "https://hush:hush@host:port/a?hush", "ftp://hush@host/a"), []string{": name ", "nothing is installed", "cannot be used"}},
		{[]string{"atlas", "verify", "--key", key}, files, []string{": name ", "nothing is installed"}},
		{[]string{"atlas", "verify", "--no-setup", "--key", key}, []string{"https://hush:hush@host/a?hush"}, []string{": name "}},
		{[]string{"atlas", "diff", "embedded"}, files, []string{": name "}},
		{[]string{"contribute", "--check"}, files, []string{": name ", "is refused: it is not a contribution"}},
		{[]string{"can-i-use", "--in"}, append(files, "-"), []string{": name ", "names no model that can be told"}},
		{[]string{"atlas", "verify", at("signed"), "--key"}, files, []string{"not a public key", "no publisher's key is known"}},
	} {
		for _, name := range x.names {
			e, out := inside()
			e.getenv = func(name string) string { return map[string]string{"ASSAY_HOME": at("home")}[name] }
			want := exitUsage
			if name == at("folder") && x.args[0] == "can-i-use" {
				want = exitOK
			}
			status := run(context.Background(), e, append(x.args, name))
			said := out.String()
			told := false
			for _, s := range x.says {
				told = told || strings.Contains(said, s)
			}
			if status != want || !told || strings.Contains(said, "hush") || strings.Count(said, "\n") != 1 {
				t.Errorf("%q %.80q: status %d, want %d: %s", x.args, name, status, want, said)
			}
		}
	}
}

// TestUnusable: what breaks while it is read is no fault of the user's.
func TestUnusable(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		err    error
		status int
		says   string
	}{
		{&os.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, exitUsage, "x may not be read by you: change its permissions, or name it"},
		{&os.PathError{Op: "open", Path: "x", Err: syscall.ELOOP}, exitUsage, "x is a link that leads back to itself: name it"},
		{&os.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}, exitUsage, "there is no x: name it"},
		{&input.SpecialError{Path: "x", Kind: "a socket"}, exitUsage, "x is a socket: name it"},
		{&os.PathError{Op: "read", Path: "x", Err: syscall.EIO}, 0, "x cannot be read: "},
	} {
		err := unusable("x", "it", x.err)
		status := (*statusError)(nil)
		if errors.As(err, &status) != (x.status != 0) || x.status != 0 && status.status != x.status || !strings.HasPrefix(err.Error(), x.says) {
			t.Errorf("%v: %v", x.err, err)
		}
	}
}
