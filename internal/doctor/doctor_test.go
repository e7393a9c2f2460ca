package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/detect"
	"assay/internal/environment"
	"assay/internal/instructions"
	"assay/internal/platform"
)

func number(n uint64) *uint64 { return &n }

// everyBuild is what no torch is, built for all: a machine on which every check
// has something to look at.
var everyBuild = Libraries{Torch: "2.15.0", Transformers: "5.22.2", CUDA: "13.2", HIP: "6.4", MPS: MPS{true, true}, Devices: []string{"a GPU"}, Seconds: 4.2}

func saw(system, version string, mps, rocm detect.Seen) func() detect.Sighting {
	return func() detect.Sighting {
		s := detect.Sighting{OS: system, Platforms: map[platform.Name]detect.Seen{platform.MPS: mps, platform.ROCm: rocm}}
		s.Kernel = version
		return s
	}
}

// healthy is a machine on which all is in order.
func healthy(t *testing.T) Deps {
	t.Helper()
	dir := t.TempDir()
	env := environment.Environment{ID: "abc-cp312", Python: "/env/bin/python", Managed: true,
		Versions: map[string]string{"torch": "2.15.0", "transformers": "5.22.2", "coremltools": "9.0"}}
	said := func(what string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return what, nil }
	}
	return Deps{
		Folders: environment.Folders{Data: dir, Cache: dir + "/not/yet", Config: dir},
		Free:    func(string) (uint64, string, error) { return 50e9, "1", nil },
		Need:    7e9,
		Python: func(context.Context) (environment.Python, error) {
			return environment.Python{Path: "/usr/bin/python3", Number: "3.12.1"}, nil
		},
		Environment: func(context.Context) (environment.Environment, error) { return env, nil },
		Inspect: func(environment.Environment) (environment.Content, error) {
			return environment.Content{Packages: 64, Files: 1000}, nil
		},
		Libraries: func(context.Context, environment.Environment) (Libraries, error) {
			return everyBuild, nil
		},
		Instructions: func(context.Context, environment.Environment) (instructions.Processor, instructions.Finding) {
			return instructions.Processor{Flags: "avx512f amx_tile"}, instructions.Finding{}
		},
		Driver:  func() string { return "580.82.07" },
		Seen:    saw("darwin", "15.5", detect.Seen{Hardware: []string{"Apple M3 GPU"}}, detect.Seen{Hardware: []string{"AMD Instinct MI300X"}}),
		OpenKFD: func() error { return nil },
		Platform: lists(detect.Platform{Status: detect.Present, Engine: &detect.Engine{Name: platform.EngOpenVINO, Version: "2026.4.1"},
			Devices: []detect.Device{{ID: "CPU", Name: "AMD EPYC", Features: []string{"bf16", "fp32", "int8"}}}}),
		NPM:        func(context.Context) (string, error) { return "npm 11.2.0 (/usr/bin/npm)", nil },
		Web:        func() (environment.Web, error) { return pages, nil },
		InspectWeb: func(environment.Web) ([]string, error) { return nil, nil },
		BrowserLibraries: func(context.Context, environment.Web) ([]string, []string, error) {
			return []string{"libnss3.so"}, nil, nil
		},
		Getenv: func(string) string { return "" },
		Limits: func() Limits { return Limits{number(20000), number(8e9)} },
		Now:    time.Now,
		Hello: func(context.Context, environment.Environment) (Greeting, error) {
			return Greeting{Words: "python runner, protocol 1"}, nil
		},
		Atlas:    func(platform.Name) (string, error) { return "published results of 3 types", nil },
		Database: said("12 results"),
		Journals: said("3 journals"),
	}
}

// pages is a web environment with a Chromium.
var pages = environment.Web{Dir: "/web", Versions: map[string]string{"onnxruntime-web": "1.30.0", "@huggingface/transformers": "4.3.1", "chromium": "153.0.0"}}

func noWeb() (environment.Web, error) { return environment.Web{}, environment.ErrNoWeb }

func noNPM(context.Context) (string, error) {
	return "", &environment.Error{Kind: environment.NoNPM, Problem: "there is no npm", Hint: "install Node.js"}
}

// lists is a machine whose platform detection sees as given.
func lists(p detect.Platform) func(context.Context, environment.Environment, platform.Name, string) detect.Platform {
	return func(context.Context, environment.Environment, platform.Name, string) detect.Platform { return p }
}

var noOpenVINO = detect.Platform{Status: detect.Absent, Evidence: []detect.Evidence{{Source: "missing", Detail: "No module named 'openvino'"}}}

var noQNN = detect.Platform{Status: detect.Absent, Hint: "reinstall onnxruntime-qnn", Evidence: []detect.Evidence{{Source: "missing", Detail: "onnxruntime-qnn has no HTP library"}}}

// withQNN is a machine with QNN's emulator, or with its device.
func withQNN(software bool) detect.Platform {
	return detect.Platform{Status: detect.Present, Engine: &detect.Engine{Name: platform.EngQNN, Version: "2.7.0"},
		Devices: []detect.Device{{ID: "sc8380xp", Name: "Snapdragon X (SC8380XP) Hexagon NPU", Software: software}}}
}

// bare is an environment with torch alone.
func bare(context.Context) (environment.Environment, error) {
	return environment.Environment{Python: "/env/bin/python", Versions: map[string]string{"torch": "2.15.0"}}, nil
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	r := Run(t.Context(), healthy(t), "")
	for _, f := range r.Checks {
		if f.Status != OK || f.Detail == "" || f.Do != "" {
			t.Errorf("%+v", f)
		}
	}
	if !r.OK || len(r.Checks) != len(Checks()) {
		t.Errorf("OK %v with %d of %d checks", r.OK, len(r.Checks), len(Checks()))
	}
}

// TestSick breaks one thing at a time and looks at what is found.
func TestSick(t *testing.T) {
	t.Parallel()
	broken := errors.New("it is broken")
	absent := func() string { return "" }
	none := saw("linux", "6.8", detect.Seen{}, detect.Seen{})
	for _, c := range []struct {
		name   string
		check  string
		asked  platform.Name
		sicken func(*Deps)
		want   Status
		says   string
	}{
		{"unwritable folder", "folders", "", func(d *Deps) { d.Folders.Config = "/proc/1/nothing" }, Fail, "cannot be written"},
		{"little room, environment there", "disk", "", func(d *Deps) { d.Free = free(2e9) }, OK, "2.0 GB"},
		{"no room at all", "disk", "", func(d *Deps) { d.Free = free(1e8) }, Fail, "0.1 GB are free"},
		{"little room, no environment", "disk", "", func(d *Deps) { d.Free = free(2e9); d.Environment = noEnvironment }, Fail, "7.0 GB are needed"},
		{"a clock never set", "clock", "", func(d *Deps) { d.Now = func() time.Time { return time.Unix(0, 0) } }, Fail, "1970"},
		{"a clock that is wrong", "clock", "", func(d *Deps) { d.Now = func() time.Time { return time.Now().Add(time.Hour) } }, Warn, "apart"},
		{"few files", "limits", "", func(d *Deps) { d.Limits = func() Limits { return Limits{Files: number(256)} } }, Warn, "256"},
		{"no limits known", "limits", "", func(d *Deps) { d.Limits = func() Limits { return Limits{} } }, Skipped, ""},
		{"a container's shared memory", "shared memory", "", func(d *Deps) { d.Limits = func() Limits { return Limits{Shared: number(64e6)} } }, Warn, "64 MB"},
		{"no python, environment there", "python", "", func(d *Deps) { d.Python = noPython }, Warn, "works without"},
		{"no python", "python", "", func(d *Deps) { d.Python = noPython; d.Environment = noEnvironment }, Fail, "no Python was found"},
		{"no environment", "environment", "", func(d *Deps) { d.Environment = noEnvironment }, Fail, "not installed"},
		{"no torch", "environment", "", func(d *Deps) { d.Environment = without("torch") }, Fail, "torch is absent"},
		{"damaged files", "packages", "", func(d *Deps) {
			d.Inspect = func(environment.Environment) (environment.Content, error) {
				return environment.Content{Packages: 64, Damaged: []string{"torch/_C.so"}}, nil
			}
		}, Fail, "1 files are damaged (torch/_C.so)"},
		{"amx announced and not executed", "instructions", "", func(d *Deps) { d.Instructions = withoutAMX("AVX512_CORE_FP16") }, Warn,
			"torch bf16 died of SIGILL; AMX is off: this processor announces it and cannot execute it; every child runs with ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16; its CPUID ends at leaf 0x1c"},
		{"nothing helps", "instructions", platform.OpenVINO, func(d *Deps) { d.Instructions = withoutAMX("") }, Fail, "no lower set of instructions helps"},
		{"the user's own level", "instructions", "", func(d *Deps) {
			d.Instructions = withoutAMX("AVX2")
			d.Getenv = func(name string) string { return map[string]string{"ONEDNN_MAX_CPU_ISA": "AVX2"}[name] }
		}, OK, "ONEDNN_MAX_CPU_ISA=AVX2 is set by you and left alone"},
		{"a level that is none", "instructions", "", func(d *Deps) {
			d.Getenv = func(name string) string { return map[string]string{"DNNL_MAX_CPU_ISA": "FOO"}[name] }
		}, Warn, "DNNL_MAX_CPU_ISA=FOO is set by you, but oneDNN has no such level"},
		{"a level in small letters", "instructions", "", func(d *Deps) {
			d.Getenv = func(name string) string { return map[string]string{"ONEDNN_MAX_CPU_ISA": "avx512_core_amx"}[name] }
		}, OK, "left alone"},
		{"nothing was tried", "instructions", "", func(d *Deps) { d.Instructions = untried(instructions.Finding{}) }, Warn,
			"could not be checked (openvino int8: it took too long, torch bf16: raised an exception)"},
		{"one died and no level gave an answer", "instructions", "", func(d *Deps) {
			d.Instructions = untried(instructions.Finding{Died: []instructions.Death{{Engine: "torch", DType: "bf16", Signal: int(syscall.SIGILL)}}})
		}, Warn, "torch bf16 died of SIGILL; whether a lower set of instructions helps is not known"},
		{"one is not installed", "instructions", "", func(d *Deps) {
			d.Instructions = func(context.Context, environment.Environment) (instructions.Processor, instructions.Finding) {
				return instructions.Processor{Flags: "amx_tile"}, instructions.Finding{Skipped: map[string]string{"openvino int8": instructions.Absent}}
			}
		}, OK, "every instruction set it announces works"},
		{"nothing announced", "instructions", "", func(d *Deps) {
			d.Instructions = func(context.Context, environment.Environment) (instructions.Processor, instructions.Finding) {
				return instructions.Processor{Flags: "avx2"}, instructions.Finding{}
			}
		}, Skipped, "announces no instruction sets that need checking"},
		{"no environment to try in", "instructions", "", func(d *Deps) { d.Environment = noEnvironment }, Skipped, "no environment"},
		{"imports fail", "libraries", "", func(d *Deps) { d.Libraries = noLibraries(broken) }, Fail, "it is broken"},
		{"runner does not start", "runner", "", func(d *Deps) {
			d.Hello = func(context.Context, environment.Environment) (Greeting, error) { return Greeting{}, broken }
		}, Fail, "it is broken"},
		{"a package starts threads", "runner", "", func(d *Deps) {
			d.Hello = func(context.Context, environment.Environment) (Greeting, error) {
				return Greeting{Words: "protocol 1", Slow: "importing culprit started a thread"}, nil
			}
		}, Warn, "importing culprit started a thread"},
		{"atlas", "atlas", "", func(d *Deps) { d.Atlas = func(platform.Name) (string, error) { return "", broken } }, Warn, "it is broken"},
		{"database", "database", "", func(d *Deps) { d.Database = func(context.Context) (string, error) { return "", broken } }, Fail, "it is broken"},
		{"journals", "journals", "", func(d *Deps) { d.Journals = func(context.Context) (string, error) { return "", broken } }, Fail, "it is broken"},
		{"no driver", "cuda driver", "", func(d *Deps) { d.Driver = absent }, Skipped, "no NVIDIA driver"},
		{"no driver, asked for", "cuda driver", platform.CUDA, func(d *Deps) { d.Driver = absent }, Fail, "no NVIDIA driver"},
		{"an old driver", "cuda torch", "", func(d *Deps) { d.Driver = func() string { return "535.104.05" } }, Fail, "needs driver 580.0, and this is 535.104.05"},
		{"torch without cuda", "cuda torch", "", func(d *Deps) { d.Libraries = has(Libraries{Torch: "2.15.0+cpu"}) }, Fail, "without CUDA"},
		{"no gpu seen", "cuda torch", "", func(d *Deps) { d.Libraries = has(Libraries{CUDA: "13.2", Problem: "No CUDA GPUs are available"}) }, Fail, "No CUDA GPUs"},
		{"no amd gpu", "rocm driver", "", func(d *Deps) { d.Seen = none }, Skipped, "no AMD GPU"},
		{"no amd gpu, asked for", "rocm driver", platform.ROCm, func(d *Deps) { d.Seen = none }, Fail, "no AMD GPU"},
		{"no amd gpu for torch", "rocm torch", "", func(d *Deps) { d.Seen = none }, Skipped, "no AMD GPU"},
		{"no amd gpu to hide", "rocm variables", "", func(d *Deps) { d.Seen = none }, Skipped, "no AMD GPU"},
		{"not of the group", "rocm driver", "", func(d *Deps) { d.OpenKFD = func() error { return fs.ErrPermission } }, Fail, "may not be opened"},
		{"no kfd", "rocm driver", "", func(d *Deps) { d.OpenKFD = func() error { return fs.ErrNotExist } }, Fail, "there is no /dev/kfd"},
		{"a sick kfd", "rocm driver", "", func(d *Deps) { d.OpenKFD = func() error { return broken } }, Fail, "it is broken"},
		{"no render node", "rocm driver", "", func(d *Deps) {
			d.Seen = saw("linux", "6.8", detect.Seen{}, detect.Seen{Hardware: []string{"AMD"}, Missing: "the render nodes are not there", Hint: "give them"})
		}, Fail, "render nodes"},
		{"torch without hip", "rocm torch", "", func(d *Deps) { d.Libraries = has(Libraries{Torch: "2.15.0+cu132"}) }, Fail, "not built for ROCm"},
		{"hip without gpu", "rocm torch", "", func(d *Deps) { d.Libraries = has(Libraries{HIP: "6.4", Problem: "No HIP GPUs are available"}) }, Fail, "No HIP GPUs"},
		{"no environment for hip", "rocm torch", "", func(d *Deps) { d.Environment = noEnvironment }, Skipped, "no environment"},
		{"hidden devices", "rocm variables", "", func(d *Deps) { d.Getenv = setenv("HIP_VISIBLE_DEVICES", "1") }, Warn, "HIP_VISIBLE_DEVICES=1"},
		{"no qnn", "qnn", "", func(d *Deps) { d.Platform = lists(noQNN) }, Skipped, "no HTP library"},
		{"no qnn, asked for", "qnn", platform.QNN, func(d *Deps) { d.Platform = lists(noQNN) }, Fail, "no HTP library"},
		{"no environment for qnn", "qnn", "", func(d *Deps) { d.Environment = noEnvironment }, Skipped, "no environment"},
		{"qnn's emulator", "qnn", "", func(d *Deps) { d.Platform = lists(withQNN(true)) }, OK, "emulator for 1 systems"},
		{"qnn's device", "qnn", "", func(d *Deps) { d.Platform = lists(withQNN(false)) }, OK, "drives Snapdragon X"},
		{"no environment for core ml", "core ml", "", func(d *Deps) { d.Environment = noEnvironment }, Skipped, "no environment"},
		{"core ml elsewhere", "core ml", "", func(d *Deps) { d.Seen = none }, OK, "only macOS runs them"},
		{"no core ml", "core ml", "", func(d *Deps) { d.Environment = bare }, Warn, "coremltools is absent"},
		{"no openvino", "openvino", "", func(d *Deps) { d.Platform = lists(noOpenVINO) }, Skipped, "not installed"},
		{"no openvino, asked for", "openvino", platform.OpenVINO, func(d *Deps) { d.Platform = lists(noOpenVINO) }, Fail, "No module named"},
		{"no openvino, its drivers", "openvino drivers", "", func(d *Deps) { d.Platform = lists(noOpenVINO) }, Skipped, "not installed"},
		{"no environment for openvino", "openvino dtypes", "", func(d *Deps) { d.Environment = noEnvironment }, Skipped, "no environment"},
		{"a gpu without a driver", "openvino drivers", "", func(d *Deps) {
			d.Platform = lists(detect.Platform{Status: detect.Present, Engine: &detect.Engine{}, Evidence: []detect.Evidence{{Source: "openvino", Detail: "GPU (Arc) is in the machine, but " + detect.Unlisted}}})
		}, Warn, "GPU (Arc)"},
		{"no fp16", "openvino dtypes", "", func(*Deps) {}, OK, "CPU computes in fp32, bf16, int8"},
		{"no mac", "mps system", "", func(d *Deps) { d.Seen = none }, Skipped, "no Apple GPU"},
		{"no npm", "npm", "", func(d *Deps) { d.NPM, d.Web = noNPM, noWeb }, Skipped, "there is no npm"},
		{"no npm, asked for", "npm", platform.WebGPU, func(d *Deps) { d.NPM, d.Web = noNPM, noWeb }, Fail, "there is no npm"},
		{"no npm, not needed", "npm", platform.WebGPU, func(d *Deps) { d.NPM = noNPM }, Warn, "works without"},
		{"no web environment", "web", "", func(d *Deps) { d.Web = noWeb }, Skipped, "is not installed"},
		{"no web environment, asked for", "web", platform.WebNN, func(d *Deps) { d.Web = noWeb }, Fail, "is not installed"},
		{"damaged web environment", "web", "", func(d *Deps) {
			d.InspectWeb = func(environment.Web) ([]string, error) { return []string{"node_modules/x.js"}, nil }
		}, Fail, "node_modules/x.js"},
		{"no browser", "browsers", platform.WebGPU, func(d *Deps) { d.Web = noWeb }, Fail, "no browser"},
		{"no packed chromium", "web libraries", platform.WebGPU, func(d *Deps) { d.Web = noWeb }, Skipped, "no packed Chromium"},
		{"libraries that are nowhere", "web libraries", "", func(d *Deps) {
			d.BrowserLibraries = func(context.Context, environment.Web) ([]string, []string, error) {
				return []string{"libdbus-1.so.3"}, []string{"libdbus-1.so.3"}, nil
			}
		}, Fail, "libdbus-1.so.3"},
		{"ldd is missing", "web libraries", "", func(d *Deps) {
			d.BrowserLibraries = func(context.Context, environment.Web) ([]string, []string, error) { return nil, nil, broken }
		}, Skipped, "it is broken"},
		{"no mac, asked for", "mps system", platform.MPS, func(d *Deps) { d.Seen = none }, Fail, "the system is linux"},
		{"no mac for torch", "mps torch", "", func(d *Deps) { d.Seen = none }, Skipped, "no Apple GPU"},
		{"no mac to fall back", "mps fallback", "", func(d *Deps) { d.Seen = none }, Skipped, "no Apple GPU"},
		{"an old macOS", "mps system", "", func(d *Deps) {
			d.Seen = saw("darwin", "13.6", detect.Seen{Hardware: []string{"Apple M1 GPU"}}, detect.Seen{})
		}, Fail, "macOS 13.6"},
		{"torch for Rosetta", "mps torch", "", func(d *Deps) { d.Libraries = has(Libraries{Torch: "2.2.2"}) }, Fail, "without MPS"},
		{"mps out of reach", "mps torch", "", func(d *Deps) {
			lib := everyBuild
			lib.MPS.Available = false
			d.Libraries = has(lib)
		}, Fail, "not available"},
		{"imports fail for mps", "mps torch", "", func(d *Deps) { d.Libraries = noLibraries(broken) }, Skipped, "cannot be imported"},
		{"fallback allowed", "mps fallback", "", func(d *Deps) { d.Getenv = setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1") }, Warn, "partial"},
		{"fallback refused", "mps fallback", "", func(d *Deps) { d.Getenv = setenv("PYTORCH_ENABLE_MPS_FALLBACK", "0") }, OK, "not set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := healthy(t)
			c.sicken(&d)
			r := Run(t.Context(), d, c.asked)
			f := find(t, r, c.check)
			if f.Status != c.want || !strings.Contains(f.Detail, c.says) {
				t.Errorf("%+v, want %s with %q", f, c.want, c.says)
			}
			if (f.Status == Fail || f.Status == Warn) && f.Do == "" {
				t.Errorf("%+v does not say what to do", f)
			}
			if f.Status == Fail && r.OK {
				t.Error("the report says all is in order")
			}
		})
	}
}

func TestPlatformFilter(t *testing.T) {
	t.Parallel()
	r := Run(t.Context(), healthy(t), platform.CPU)
	for _, f := range r.Checks {
		if strings.HasPrefix(f.Name, "cuda") {
			t.Errorf("doctor cpu checked %s", f.Name)
		}
	}
	find(t, r, "libraries")
	find(t, Run(t.Context(), healthy(t), platform.CUDA), "cuda torch")
}

func TestChecksNotGivenAreLeftOut(t *testing.T) {
	t.Parallel()
	d := healthy(t)
	d.Database = nil // as in the worker
	if r := Run(t.Context(), d, ""); len(r.Checks) != len(Checks())-1 {
		t.Errorf("%d of %d checks were carried out", len(r.Checks), len(Checks()))
	}
}

func TestPrinters(t *testing.T) {
	t.Parallel()
	r := Report{Schema: 1, Checks: []Finding{{"disk", OK, "50 GB are free", ""}, {"runner", Fail, "it does not start", "run assay setup"}}}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := "ok    disk           50 GB are free\nFAIL  runner         it does not start\n                     → run assay setup\n1 of 2 checks fail\n"
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON := `{"schema":1,"ok":false,"checks":[{"name":"disk","status":"ok","detail":"50 GB are free"},{"name":"runner","status":"fail","detail":"it does not start","do":"run assay setup"}]}`
	if diff := cmp.Diff(wantJSON, string(b)); diff != "" {
		t.Error(diff)
	}
}

func TestTooOldDriver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver, cuda string
		want         bool
	}{
		{"535.129.03", "12.8", false}, {"470.57.02", "12.1", true}, {"535.129.03", "13.2", true}, {"580.65.06", "13.0", false},
		{"450.80.02", "11.8", false}, {"1.0", "99.1", false}, {"?", "13.2", false}, {"470.57.02", "", false},
	} {
		if _, got := tooOld(c.driver, c.cuda); got != c.want {
			t.Errorf("driver %s with CUDA %s: too old %v, want %v", c.driver, c.cuda, got, c.want)
		}
	}
}

func setenv(name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}

func find(t *testing.T, r Report, name string) Finding {
	t.Helper()
	for _, f := range r.Checks {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no check %q in %+v", name, r)
	return Finding{}
}

func free(n uint64) func(string) (uint64, string, error) {
	return func(string) (uint64, string, error) { return n, "1", nil }
}

func noEnvironment(context.Context) (environment.Environment, error) {
	return environment.Environment{}, environment.ErrAbsent
}

func noPython(context.Context) (environment.Python, error) {
	return environment.Python{}, &environment.Error{Kind: environment.NoPython, Problem: "no Python was found", Hint: "install one"}
}

func without(name string) func(context.Context) (environment.Environment, error) {
	versions := map[string]string{"torch": "2.15.0", "transformers": "5.22.2"}
	delete(versions, name)
	return func(context.Context) (environment.Environment, error) {
		return environment.Environment{ID: "user-1", Python: "/theirs", Versions: versions}, nil
	}
}

func noLibraries(err error) func(context.Context, environment.Environment) (Libraries, error) {
	return func(context.Context, environment.Environment) (Libraries, error) { return Libraries{}, err }
}

func has(lib Libraries) func(context.Context, environment.Environment) (Libraries, error) {
	return func(context.Context, environment.Environment) (Libraries, error) { return lib, nil }
}
