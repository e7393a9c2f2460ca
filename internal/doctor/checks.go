package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/environment"
	"assay/internal/platform"
)

// Checks is the table of checks, in the order in which they are run:
// what others stand on comes first.
func Checks() []Check {
	return []Check{
		{Name: "folders", Run: checkFolders},
		{Name: "disk", Run: checkDisk},
		{Name: "clock", Run: checkClock},
		{Name: "limits", Run: checkLimits},
		{Name: "shared memory", Run: checkShared},
		{Name: "python", Run: checkPython},
		{Name: "environment", Run: checkEnvironment},
		{Name: "packages", Run: checkPackages},
		{Name: "instructions", Platforms: []platform.Name{platform.CPU, platform.OpenVINO}, Run: checkInstructions},
		{Name: "libraries", Run: checkLibraries},
		{Name: "runner", Run: checkRunner, Given: func(d *Deps) bool { return d.Hello != nil }},
		{Name: "atlas", Run: checkAtlas, Given: func(d *Deps) bool { return d.Atlas != nil }},
		{Name: "database", Run: checkDatabase, Given: func(d *Deps) bool { return d.Database != nil }},
		{Name: "journals", Run: checkJournals, Given: func(d *Deps) bool { return d.Journals != nil }},
		{Name: "cuda driver", Platforms: []platform.Name{platform.CUDA}, Run: checkDriver},
		{Name: "cuda torch", Platforms: []platform.Name{platform.CUDA}, Run: checkTorchCUDA},
		{Name: "openvino", Platforms: []platform.Name{platform.OpenVINO}, Run: ofOpenVINO(checkOpenVINO)},
		{Name: "openvino drivers", Platforms: []platform.Name{platform.OpenVINO}, Run: ofOpenVINO(checkOpenVINODrivers)},
		{Name: "openvino dtypes", Platforms: []platform.Name{platform.OpenVINO}, Run: ofOpenVINO(checkOpenVINOPrecision)},
		{Name: "qnn", Platforms: []platform.Name{platform.QNN}, Run: checkQNN},
		{Name: "rocm driver", Platforms: []platform.Name{platform.ROCm}, Run: checkKFD},
		{Name: "rocm torch", Platforms: []platform.Name{platform.ROCm}, Run: checkTorchROCm},
		{Name: "rocm variables", Platforms: []platform.Name{platform.ROCm}, Run: checkVariablesROCm},
		{Name: "mps system", Platforms: []platform.Name{platform.MPS}, Run: checkMacOS},
		{Name: "mps torch", Platforms: []platform.Name{platform.MPS}, Run: checkTorchMPS},
		{Name: "mps fallback", Platforms: []platform.Name{platform.MPS}, Run: checkFallbackMPS},
		{Name: "core ml", Platforms: []platform.Name{platform.MPS}, Run: checkCoreML},
		{Name: "npm", Platforms: inBrowsers, Run: checkNPM},
		{Name: "web", Platforms: inBrowsers, Run: checkWeb},
		{Name: "browsers", Platforms: inBrowsers, Run: checkBrowsers},
		{Name: "web libraries", Platforms: inBrowsers, Run: checkBrowserLibraries},
	}
}

const moveHome = "make it writable, or set ASSAY_HOME to another folder"

// checkFolders writes and removes a file in each folder that exists, or in the
// nearest one above it that does.
func checkFolders(_ context.Context, d *Deps) Finding {
	for _, dir := range []string{d.Folders.Data, d.Folders.Cache, d.Folders.Config} {
		if err := tryWrite(nearest(dir)); err != nil {
			return fail(moveHome, "%s cannot be written: %v", dir, err)
		}
	}
	return ok("%s, %s, %s are writable", d.Folders.Data, d.Folders.Cache, d.Folders.Config)
}

func checkDisk(ctx context.Context, d *Deps) Finding {
	free, _, err := d.Free(d.Folders.Data)
	if err != nil {
		return fail(moveHome, "the disk of %s cannot be looked at: %v", d.Folders.Data, err)
	}
	need := d.Need
	if _, err := d.Environment(ctx); err == nil {
		need = 1e9 // the environment is there; journals and the database are small
	}
	if free < need {
		return fail("make room, or set ASSAY_HOME to a folder on another disk",
			"%s are free on the disk of %s, and %s are needed", environment.Gigabytes(free), d.Folders.Data, environment.Gigabytes(need))
	}
	return ok("%s are free on the disk of %s", environment.Gigabytes(free), d.Folders.Data)
}

// epoch is before any use of Assay: a clock that shows less was never set.
var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// checkClock compares the clock with the time that the disk gives a new file:
// they differ when the disk is another machine's and one clock is wrong.
func checkClock(_ context.Context, d *Deps) Finding {
	now := d.Now()
	if now.Before(epoch) {
		return fail("set the system's clock: results carry the time at which they were made", "the clock says %s", now.UTC().Format(time.DateTime))
	}
	stamp, err := fileTime(nearest(d.Folders.Data))
	if err != nil {
		return skipped("no file could be written to compare with: %v", err)
	}
	if apart := stamp.Sub(now).Abs(); apart > 5*time.Second {
		return warn("set the clock of this machine or of the file server", "the clock and the disk of %s are %v apart", d.Folders.Data, apart.Round(time.Second))
	}
	return ok("%s", now.UTC().Format(time.DateTime+" UTC"))
}

func checkLimits(_ context.Context, d *Deps) Finding {
	files := d.Limits().Files
	if files == nil {
		return skipped("this system reports no limit on open files")
	}
	if *files < 1024 {
		return warn("raise it: ulimit -n 4096", "only %d files may be open at once", *files)
	}
	return ok("%d files may be open at once", *files)
}

func checkShared(_ context.Context, d *Deps) Finding {
	free := d.Limits().Shared
	if free == nil {
		return skipped("this system has no /dev/shm")
	}
	if *free < 256e6 {
		return warn("give the container more: docker run --shm-size=1g", "/dev/shm has %.0f MB free", float64(*free)/1e6)
	}
	return ok("/dev/shm has %s free", environment.Gigabytes(*free))
}

// hint takes a problem and what to do apart, where the error has both.
func hint(err error, otherwise string) (problem, do string) {
	var known *environment.Error
	if errors.As(err, &known) {
		return known.Problem, known.Hint
	}
	return err.Error(), otherwise
}

func checkPython(ctx context.Context, d *Deps) Finding {
	p, err := d.Python(ctx)
	if err == nil {
		return ok("Python %s (%s)", p.Number, p.Path)
	}
	problem, do := hint(err, "install Python 3.11 or newer")
	if _, missing := d.Environment(ctx); missing == nil {
		return warn(do, "%s; the installed environment works without it", problem)
	}
	return fail(do, "%s", problem)
}

func checkEnvironment(ctx context.Context, d *Deps) Finding {
	env, err := d.Environment(ctx)
	if errors.Is(err, environment.ErrAbsent) {
		return fail("run assay setup", "the managed environment of this version is not installed")
	}
	if err != nil {
		problem, do := hint(err, "run assay setup")
		return fail(do, "%s", problem)
	}
	what := "the user's own"
	if env.Managed {
		what = "managed"
	}
	detail := fmt.Sprintf("%s, %s (%s)", what, env.ID, env.Python)
	for _, name := range []string{"torch", "transformers"} {
		if env.Versions[name] == "" {
			return fail(env.Python+" -m pip install "+name, "%s: %s is absent", detail, name)
		}
	}
	if gone := slices.Sorted(maps.Keys(env.Private)); len(gone) > 0 {
		return warn("use the managed environment, or releases nearer to its own", "%s: its libraries lack %d names that Assay uses, so that some cells end as harness: %s (%s)%s",
			detail, len(gone), gone[0], env.Private[gone[0]], more(len(gone)-1))
	}
	return ok("%s", detail)
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

const again = "remove its folder and run assay setup"

func checkPackages(ctx context.Context, d *Deps) Finding {
	env, err := d.Environment(ctx)
	if err != nil {
		return skipped("there is no environment")
	}
	if !env.Managed {
		return skipped("the user's own environment is used as is: %s", versions(env))
	}
	c, err := d.Inspect(env)
	if err != nil {
		return fail(again, "%v", err)
	}
	if !c.Whole() {
		return fail(again, "%d files are damaged%s, %d locked packages are absent%s", len(c.Damaged), first(c.Damaged), len(c.Lacking), first(c.Lacking))
	}
	return ok("%d packages, %d files, all as locked: %s", c.Packages, c.Files, versions(env))
}

func versions(env environment.Environment) string {
	var s []string
	for _, name := range []string{"torch", "transformers", "timm"} {
		if v := env.Versions[name]; v != "" {
			s = append(s, name+" "+v)
		}
	}
	return strings.Join(s, ", ")
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + names[0] + ")"
}

func checkLibraries(ctx context.Context, d *Deps) Finding {
	env, err := d.Environment(ctx)
	if err != nil {
		return skipped("there is no environment")
	}
	lib, err := d.Libraries(ctx, env)
	if err != nil {
		return fail("see what "+env.Python+" -c 'import torch, transformers' says", "torch and transformers cannot be imported: %v", err)
	}
	return ok("torch %s and transformers %s imported in %.1f s", lib.Torch, lib.Transformers, lib.Seconds)
}

func checkRunner(ctx context.Context, d *Deps) Finding {
	env, err := d.Environment(ctx)
	if err != nil {
		return skipped("there is no environment")
	}
	said, err := d.Hello(ctx, env)
	if err != nil {
		return fail("run again with -v; if the environment is your own, try without --python", "the runner does not start: %v", err)
	}
	if said.Slow != "" {
		return warn("use another version of that package, remove it if nothing needs it, or use Assay's own environment (omit --python)", "%s; nothing can be preloaded: %s", said.Words, said.Slow)
	}
	return ok("%s", said.Words)
}

func checkDatabase(ctx context.Context, d *Deps) Finding {
	said, err := d.Database(ctx)
	if err != nil {
		return fail("do as it says: the journals still hold every result", "the database cannot be read: %v", err)
	}
	return ok("%s", said)
}

// checkAtlas tells what was published, which is no check of this machine.
func checkAtlas(_ context.Context, d *Deps) Finding {
	said, err := d.Atlas(d.asked)
	if err != nil {
		return warn("run assay atlas reset to use the one that the program carries", "the atlas cannot be read: %v", err)
	}
	return ok("%s", said)
}

func checkJournals(ctx context.Context, d *Deps) Finding {
	said, err := d.Journals(ctx)
	if err != nil {
		return fail("move the journal it names away and run assay db rebuild", "a journal cannot be read: %v", err)
	}
	return ok("%s", said)
}

// tryWrite puts a file into dir and takes it away again.
func tryWrite(dir string) error {
	_, err := fileTime(dir)
	return err
}

// fileTime returns the time that the disk of dir gives a new file.
func fileTime(dir string) (stamp time.Time, err error) {
	f, err := os.CreateTemp(dir, ".assay-doctor-*")
	if err != nil {
		return time.Time{}, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.WriteString("x"); err != nil {
		return time.Time{}, err
	}
	is, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return is.ModTime(), nil
}

// nearest returns dir or the closest folder above it that exists.
func nearest(dir string) string {
	for {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
