package environment

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// boot returns uv of the locked version, installed by the user's own pip into
// a small environment of its own. A Python without venv gets it through its
// pip alone, and one without pip uses a uv that is already on the machine.
func (b *build) boot(ctx context.Context) (string, error) {
	dir := filepath.Join(b.folders.boot(), hash(b.lockUV)+"-"+b.python.tag())
	if uv := uvIn(dir); uv != "" {
		return uv, nil
	}
	b.say("installing uv")
	err := b.bootInto(ctx, dir, b.bootVenv)
	if IsKind(err, BrokenPython) {
		b.say("this Python has no venv; trying its pip alone")
		if b.bootInto(ctx, dir, b.bootTarget) == nil {
			return uvIn(dir), nil
		}
		if uv, missing := exec.LookPath("uv"); missing == nil {
			b.say("using this machine's uv: " + uv)
			return uv, nil
		}
	}
	return uvIn(dir), err
}

// bootInto installs uv into dir in one of the ways.
func (b *build) bootInto(ctx context.Context, dir string, way func(ctx context.Context, tmp string) error) error {
	err := b.beside(dir, func(tmp string) error {
		err := way(ctx, tmp)
		if err == nil && uvIn(tmp) == "" {
			err = errors.New("pip did not install uv")
		}
		return err
	})
	if err != nil {
		return explain("installing uv", err, b.folders.SetupLog())
	}
	return nil
}

// bootVenv makes an environment with a pip of its own.
func (b *build) bootVenv(ctx context.Context, tmp string) error {
	if _, err := b.do(ctx, nil, nil, b.python.Path, "-m", "venv", "--clear", tmp); err != nil {
		return err
	}
	return b.pipInstall(ctx, tmp, pythonIn(tmp), "-m", "pip", "install")
}

// bootTarget installs with the pip of the user's Python, into a folder.
func (b *build) bootTarget(ctx context.Context, tmp string) error {
	return b.pipInstall(ctx, tmp, b.python.Path, "-m", "pip", "install", "--target", tmp)
}

func (b *build) pipInstall(ctx context.Context, tmp string, argv ...string) error {
	lock := filepath.Join(tmp, "boot.lock")
	if err := replaceFile(lock, b.lockUV); err != nil {
		return err
	}
	argv = append(argv, "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement", lock)
	_, err := b.do(ctx, nil, nil, argv...)
	return err
}

// settings returns pip's settings. A Python without pip has none.
func (b *build) settings(ctx context.Context) pipSettings {
	out, err := b.do(ctx, nil, nil, b.python.Path, "-m", "pip", "config", "list", "--disable-pip-version-check")
	if err != nil {
		return pipSettings{}
	}
	return parsePipConfig(out)
}

func uvIn(dir string) string {
	for _, path := range []string{filepath.Join(dir, scripts(), "uv"+exe()), filepath.Join(dir, "bin", "uv"+exe())} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

func pythonIn(dir string) string { return filepath.Join(dir, scripts(), "python"+exe()) }

func scripts() string {
	if runtime.GOOS == "windows" {
		return "Scripts"
	}
	return "bin"
}

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
