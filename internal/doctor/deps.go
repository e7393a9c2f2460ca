package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/instructions"
	"assay/internal/platform"
)

// Deps are the outside things that checks look at. All may be called once or
// not at all, one after the other.
type Deps struct {
	Folders environment.Folders
	// Free returns the bytes free on the disk of a folder.
	Free func(dir string) (uint64, string, error)
	// Need is how much must be free to make the environment.
	Need uint64
	// Python finds the Python that the managed environment is made from.
	Python func(ctx context.Context) (environment.Python, error)
	// Environment returns the environment in use, without installing.
	Environment func(ctx context.Context) (environment.Environment, error)
	// Inspect looks closely at a managed environment.
	Inspect func(environment.Environment) (environment.Content, error)
	// Libraries imports torch and transformers in a child.
	Libraries func(ctx context.Context, env environment.Environment) (Libraries, error)
	// Instructions returns the processor, and what was found of the instruction
	// sets that it announces.
	Instructions func(ctx context.Context, env environment.Environment) (instructions.Processor, instructions.Finding)
	// Driver returns the version of NVIDIA's kernel driver; "" is none.
	Driver func() string
	// Seen is what a first look at this machine shows, without any library.
	Seen func() detect.Sighting
	// OpenKFD opens and closes AMD's compute driver.
	OpenKFD func() error
	// Getenv reads the environment.
	Getenv func(string) string
	// Limits returns the limits of this process; unknown ones are absent.
	Limits func() Limits
	// Platform asks a probe of detection's second pass, in a child, and returns
	// what that and the files of this machine say of a platform.
	Platform func(ctx context.Context, env environment.Environment, name platform.Name, probe string) detect.Platform
	// NPM finds the npm that the web environment is made with, in words.
	NPM func(ctx context.Context) (string, error)
	// Web returns the web environment, without installing.
	Web func() (environment.Web, error)
	// InspectWeb returns the damaged files of a web environment.
	InspectWeb func(environment.Web) ([]string, error)
	// BrowserLibraries returns what the packed Chromium needs and this system
	// lacks, and what of that is not packed with it either.
	BrowserLibraries func(ctx context.Context, web environment.Web) (missing, unmet []string, err error)
	// Now is the clock.
	Now func() time.Time

	// Hello starts the runner and returns what it says of itself.
	Hello func(ctx context.Context, env environment.Environment) (Greeting, error)
	// Atlas says what is published of a platform, "" for all of them.
	Atlas func(asked platform.Name) (string, error)
	// Database opens the database for reading and describes it in words.
	Database func(ctx context.Context) (string, error)
	// Journals reads all journals and describes them in words.
	Journals func(ctx context.Context) (string, error)

	asked platform.Name
}

// Greeting is what a runner says of itself, in words.
type Greeting struct {
	Words string
	Slow  string // why its children start slowly; "" when they do not
}

// Libraries is what a child that imported torch and transformers saw.
type Libraries struct {
	Torch        string   `json:"torch"`
	Transformers string   `json:"transformers"`
	CUDA         string   `json:"cuda"` // the CUDA that torch was built for; "" is none
	HIP          string   `json:"hip"`
	MPS          MPS      `json:"mps"`
	Devices      []string `json:"devices"` // the GPUs that torch can use
	Problem      string   `json:"problem"` // why it can use none, in torch's words
	Seconds      float64  `json:"-"`       // the imports took
}

// MPS is torch's word on Apple's GPUs.
type MPS struct {
	Built     bool `json:"built"`     // for macOS on Apple silicon
	Available bool `json:"available"` // and there is a GPU that it may use
}

// Limits are the limits of this process.
type Limits struct {
	Files  *uint64 // open files
	Shared *uint64 // bytes free in /dev/shm
}

// Live returns the Deps of the machine that look has seen. Database and Journals
// are the caller's to add.
func Live(folders environment.Folders, m *environment.Maker, getenv func(string) string, c environment.Choice, look func() detect.Sighting) Deps {
	c.NoSetup = true
	open := func(ctx context.Context) (environment.Environment, error) { return m.Open(ctx, c) }
	return Deps{
		Folders: folders,
		Free:    environment.Free,
		Need:    environment.Sizes().Need,
		Python: func(ctx context.Context) (environment.Python, error) {
			return environment.FindPython(ctx, getenv("ASSAY_PYTHON"))
		},
		Environment:  once(open),
		Hello:        hello,
		Inspect:      m.Inspect,
		Libraries:    onceLibraries(),
		Instructions: liveInstructions,
		Driver:       func() string { return look().Platforms[platform.CUDA].Driver },
		Seen:         look,
		Platform:     judged(look),
		OpenKFD:      openKFD,
		Getenv:       getenv,
		Limits:       limits,
		NPM:          m.NPM,
		Web:          m.FindWeb,
		InspectWeb:   m.InspectWeb,
		Now:          time.Now,
		BrowserLibraries: func(ctx context.Context, web environment.Web) ([]string, []string, error) {
			missing, err := web.MissingLibraries(ctx)
			if err != nil {
				return nil, nil, err
			}
			unmet, err := web.UnmetLibraries(ctx)
			return missing, unmet, err
		},
	}
}

// judged keeps the answers of probes: several checks ask the same.
func judged(look func() detect.Sighting) func(context.Context, environment.Environment, platform.Name, string) detect.Platform {
	answers := map[string]detect.Answers{}
	return func(ctx context.Context, env environment.Environment, name platform.Name, probe string) detect.Platform {
		if answers[probe] == nil {
			only := slices.DeleteFunc(detect.Questions(), func(q detect.Question) bool { return q.Probe != probe })
			answers[probe] = detect.Confirm(ctx, detect.PythonChild(env.Command), only)
		}
		p, _ := detect.Judge(look(), answers[probe]).Get(name)
		return p
	}
}

// openKFD asks for what AMD's runtime asks for: to read and write.
func openKFD() error {
	f, err := os.OpenFile("/dev/kfd", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// libraries are those of the environment in use, or why there are none.
func (d *Deps) libraries(ctx context.Context) (Libraries, string) {
	env, err := d.Environment(ctx)
	if err != nil {
		return Libraries{}, "there is no environment"
	}
	lib, err := d.Libraries(ctx, env)
	if err != nil {
		return Libraries{}, "torch cannot be imported"
	}
	return lib, ""
}

// once keeps the answer: several checks ask, and each asking starts a process.
func once(open func(context.Context) (environment.Environment, error)) func(context.Context) (environment.Environment, error) {
	var do sync.Once
	var env environment.Environment
	var err error
	return func(ctx context.Context) (environment.Environment, error) {
		do.Do(func() { env, err = open(ctx) })
		return env, err
	}
}

func onceLibraries() func(context.Context, environment.Environment) (Libraries, error) {
	var do sync.Once
	var lib Libraries
	var err error
	return func(ctx context.Context, env environment.Environment) (Libraries, error) {
		do.Do(func() { lib, err = importLibraries(ctx, env) })
		return lib, err
	}
}

const libraries = `import json, sys
import torch, transformers
out = {"torch": torch.__version__, "transformers": transformers.__version__,
       "cuda": torch.version.cuda or "", "hip": getattr(torch.version, "hip", None) or "", "devices": [], "problem": "",
       "mps": {"built": torch.backends.mps.is_built(), "available": torch.backends.mps.is_available()}}
try:
    if torch.cuda.is_available():
        out["devices"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    elif out["cuda"] or out["hip"]:
        torch.cuda.init()
except Exception as e:
    out["problem"] = str(e).splitlines()[0]
sys.__stdout__.write(json.dumps(out))`

// importLimit is how long the imports may take; a cold disk needs a while.
const importLimit = 3 * time.Minute

// importLibraries runs in a child, so that nothing a library does at import
// reaches this process.
func importLibraries(ctx context.Context, env environment.Environment) (Libraries, error) {
	ctx, cancel := context.WithTimeout(ctx, importLimit)
	defer cancel()
	cmd := env.Command(ctx, "-c", libraries) // before the clock: it may have to try the processor first
	start := time.Now()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return Libraries{}, fmt.Errorf("the imports did not finish within %v", importLimit)
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return Libraries{}, fmt.Errorf("%s (%w)", lines[len(lines)-1], err)
	}
	var lib Libraries
	if err := json.Unmarshal(stdout.Bytes(), &lib); err != nil {
		return Libraries{}, fmt.Errorf("the child printed %.80q: %w", stdout.String(), err)
	}
	lib.Seconds = time.Since(start).Seconds()
	return lib, nil
}
