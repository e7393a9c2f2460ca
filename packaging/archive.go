package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// file is one of an archive.
type file struct {
	name string
	data []byte
	runs bool
}

func (f file) mode() os.FileMode {
	if f.runs {
		return 0o755
	}
	return 0o644
}

// archive packs a build as its system's users expect: zip for Windows, else tar.gz.
func (o order) archive(b build) error {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("assay-%s-%s-%s", o.version, b.os, b.arch)
	if b.duckdb {
		name += "-duckdb"
	}
	files := append([]file{{b.exe(), program, true}}, b.beside...)
	for i := range files {
		files[i].name = name + "/" + files[i].name
	}
	pack, ending := writeTar, ".tar.gz"
	if b.os == "windows" {
		pack, ending = writeZip, ".zip"
	}
	f, err := os.Create(filepath.Join(o.out, name+ending))
	if err != nil {
		return err
	}
	return errors.Join(pack(f, files, o.at), f.Close())
}

func writeTar(w io.Writer, files []file, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode())
		in, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := in.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// wheel has wheel.py pack one.
func (o order) wheel(ctx context.Context, b build) error {
	cmd := exec.CommandContext(ctx, o.python, filepath.Join(o.root, "packaging", "wheel.py"), b.path, "--tag", b.tags, "--version", pep440(o.version), "--out", o.out)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", o.at.Unix()))
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("wheel for %s: %w\n%s", b.target, err, said)
	}
	return nil
}

// described is what git describe prints after a tag that is not the commit's own.
var described = regexp.MustCompile(`^(.*)-(\d+)-(g[0-9a-f]+(?:-dirty)?)$`)

// plainVersion is a version that wheels may have as it is.
var plainVersion = regexp.MustCompile(`^\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?$`)

// pep440 writes a version of git describe by the rules for wheels: v0.1.0 is
// 0.1.0, twelve commits later 0.1.0.post12+g1cfd705d, and where there is no tag
// 0.0.0+1cfd705d.
func pep440(version string) string {
	local := func(s string) string { return strings.ReplaceAll(s, "-", ".") }
	v := strings.TrimPrefix(version, "v")
	if m := described.FindStringSubmatch(v); m != nil && plainVersion.MatchString(m[1]) {
		return fmt.Sprintf("%s.post%s+%s", m[1], m[2], local(m[3]))
	}
	if tag, dirty := strings.CutSuffix(v, "-dirty"); dirty && plainVersion.MatchString(tag) && strings.Contains(tag, ".") {
		return tag + "+dirty"
	}
	if plainVersion.MatchString(v) && strings.Contains(v, ".") {
		return v
	}
	return "0.0.0+" + local(v)
}
