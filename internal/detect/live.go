package detect

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Live returns the machine this program runs on.
func Live() *Machine {
	return &Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH,
		Root:    os.DirFS(rootFolder()),
		Env:     os.LookupEnv,
		Find:    findProgram,
		Command: runCommand,
		Native:  native(),
	}
}

// rootFolder is the system drive on Windows, where a file system has no one root.
func rootFolder() string {
	if runtime.GOOS != "windows" {
		return "/"
	}
	if drive := os.Getenv("SystemDrive"); drive != "" {
		return drive + `\`
	}
	return `C:\`
}

func findProgram(name string) (string, bool) {
	p, err := exec.LookPath(name)
	if err != nil {
		return "", false
	}
	if abs, err := filepath.Abs(p); err == nil {
		p = abs
	}
	return p, true
}

func runCommand(ctx context.Context, name string, args ...string) ([]byte, error) {
	return exec.CommandContext(ctx, name, args...).Output()
}
