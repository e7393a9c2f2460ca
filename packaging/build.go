package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// target is a system and a processor, as Go and as wheels call them.
type target struct{ os, arch, tags string }

func (t target) String() string { return t.os + "/" + t.arch }

// exe is what the program is called there.
func (t target) exe() string {
	if t.os == "windows" {
		return "assay.exe"
	}
	return "assay"
}

// targets are all that are made. A program for Linux is static, so it runs with
// glibc and with musl; Go needs macOS 12.
var targets = []target{
	{"linux", "amd64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{"linux", "arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
	{"darwin", "amd64", "macosx_12_0_x86_64"},
	{"darwin", "arm64", "macosx_12_0_arm64"},
	{"windows", "amd64", "win_amd64"},
	{"windows", "arm64", "win_arm64"},
}

func parseTargets(only string) ([]target, error) {
	if only == "" {
		return targets, nil
	}
	var out []target
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown target %q: the targets are %v", name, targets)
		}
		out = append(out, targets[i])
	}
	return out, nil
}

// build is a program and what lies beside it.
type build struct {
	target
	duckdb bool
	path   string
	beside []file // by their names in an archive
}

// build builds every program; this system's own writes completions and manual
// pages, which are the same for all.
func (o order) build(ctx context.Context, work string, stdout io.Writer) ([]build, error) {
	own := target{os: runtime.GOOS, arch: runtime.GOARCH}
	helper := build{target: own, path: filepath.Join(work, "own", own.exe())}
	if err := o.compile(ctx, helper); err != nil {
		return nil, err
	}
	beside, err := o.beside(ctx, helper.path, work)
	if err != nil {
		return nil, err
	}
	var builds []build
	for _, t := range o.targets {
		builds = append(builds, build{target: t, path: filepath.Join(work, t.os+"-"+t.arch, t.exe()), beside: beside})
	}
	if o.duckdb {
		builds = append(builds, build{target: own, duckdb: true, path: filepath.Join(work, "duckdb", own.exe()), beside: beside})
	}
	for _, b := range builds {
		fmt.Fprintf(stdout, "build %s%s\n", b.target, map[bool]string{true: " with DuckDB"}[b.duckdb])
		if err := o.compile(ctx, b); err != nil {
			return nil, err
		}
	}
	return builds, nil
}

// compile builds a program that tells nothing of where it was built.
func (o order) compile(ctx context.Context, b build) error {
	path, err := filepath.Abs(b.path)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.version="+o.version, "-o", path, "./cmd/assay")
	cmd.Dir = o.root
	cgo := "CGO_ENABLED=0"
	if b.duckdb {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(os.Environ(), cgo, "GOOS="+b.os, "GOARCH="+b.arch, "GOFLAGS=-mod=readonly")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build for %s: %w\n%s", b.target, err, out)
	}
	return nil
}

// beside are the files that every archive has besides the program.
func (o order) beside(ctx context.Context, program, work string) ([]file, error) {
	out := []file{}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(o.root, name))
		if err != nil {
			return nil, err
		}
		out = append(out, file{name: name, data: data})
	}
	for shell, name := range map[string]string{"bash": "assay.bash", "zsh": "_assay", "fish": "assay.fish"} {
		data, err := exec.CommandContext(ctx, program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completions for %s: %w", shell, err)
		}
		out = append(out, file{name: "completions/" + name, data: data})
	}
	pages := filepath.Join(work, "man1")
	cmd := exec.CommandContext(ctx, program, "man", "--out", pages)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", o.at.Unix()))
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("manual pages: %w\n%s", err, said)
	}
	err := fs.WalkDir(os.DirFS(pages), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(pages, name))
		out = append(out, file{name: "man/man1/" + name, data: data})
		return err
	})
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return out, err
}
