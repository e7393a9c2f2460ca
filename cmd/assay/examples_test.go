package main

import (
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/catalog"
	"assay/internal/platform"

	"github.com/spf13/cobra"
)

// example is a command line that the help or the documentation shows.
type example struct {
	source string
	line   string // "assay …", without comment and without bin/
}

// notRun lists the lines that no test runs, each with its reason. That they
// can be understood (flags, models, platforms) is tested anyway.
var notRun = map[string]string{
	"make run":  "it runs the matrix that the examples of assay matrix run, and would build this tree again",
	"make test": "it runs this test",
	"assay atlas update atlas.jsonl.br --key publisher.pub": "it needs a publisher's signature: TestAtlasUpdate makes one",
	"assay atlas verify atlas.jsonl.br --key publisher.pub": "the same",
	"CGO_ENABLED=1 go install ./cmd/assay":                  "it would install into somebody's folder; make build builds the same",
	"CGO_ENABLED=0 go install ./cmd/assay":                  "the same; TestIntegrationWithoutStore builds it",
	"assay coordinator":                                     "it serves until it is stopped; TestFleetEndToEnd does the same",
	"assay coordinator --addr 0.0.0.0:4222":                 "it serves until it is stopped; TestFleetEndToEnd does the same",
	"torchrun --nnodes 2 --nproc-per-node 1 --rdzv-endpoint HOST:29500 -m assay_runner rank JOB.json":          "it needs two hosts",
	"assay coordinator --addr 0.0.0.0:4222 --cert fleet.pem --cert-key fleet-key.pem --metrics 127.0.0.1:9464": "it serves until it is stopped; TestFleetEndToEnd does the same",
	"assay coordinator --nats nats://nats-1:4222,nats://nats-2:4222 --replicas 3":                              "it serves until it is stopped; TestFleetEndToEnd does the same",
	"assay test --key --fleet nats://127.0.0.1:4222":                                                           "it needs a fleet; TestFleetEndToEnd has one",
	"assay-worker join nats://127.0.0.1:4222":                                                                  "it works until it is stopped; TestFaults of cmd/assay-worker does the same",
	"assay fleet status":                                        "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet status --json":                                 "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet workers":                                       "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet workers --fleet nats://host:4222":              "it needs a fleet; TestFleetEndToEnd has one",
	"assay serve --fleet nats://127.0.0.1:4222":                 "it serves until it is stopped; TestFleet of internal/dash asks for the page",
	"assay fleet outliers":                                      "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet tasks --state running":                         "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet tasks --sweep 20261118T020000Z-abcdef":         "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet results 20261118T020000Z-abcdef":               "it needs a fleet; TestFleetResults has one",
	"assay fleet results 20261118T020000Z-abcdef --wait --save": "it needs a fleet; TestFleetResults has one",
	"assay fleet results 20261118T020000Z-abcdef --json":        "it needs a fleet; TestFleetResults has one",
	"assay fleet cancel 20261118T020000Z-abcdef":                "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet pause 20261118T020000Z-abcdef":                 "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet resume 20261118T020000Z-abcdef":                "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet requeue 0123456789abcdef-01234567":             "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet drain lab-3":                                   "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet undrain lab-3":                                 "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet quarantine lab-3":                              "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet release lab-3":                                 "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet board pi@board --ticket board.ticket":          "it needs a machine and ssh: TestBoard of cmd/assay-worker has an sshd",
	"assay fleet board pi@board --ticket board.ticket --worker assay-worker-linux-arm64 -- --workers 1": "the same",
	"assay fleet key list": "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet key add lab-3 --at tls://host:4222 > lab-3.ticket":           "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet key add anna --role user --at tls://host:4222 > anna.ticket": "it needs a fleet; TestFleetEndToEnd has one",
	"assay fleet key revoke lab-3":                                            "it needs a fleet; TestFleetEndToEnd has one",
	"assay test --key --fleet nats://host:4222":                               "it needs a fleet; TestFleetEndToEnd has one",
	"assay matrix --key --platform all --fleet nats://host:4222":              "it needs a fleet; TestFleetEndToEnd has one",
	"assay serve":                               "it serves until it is stopped; TestIntegrationPool does the same",
	"assay serve --open":                        "it serves until it is stopped, and opens a browser on somebody's screen",
	"assay serve --addr 0.0.0.0:8443 --tls":     "it serves until it is stopped, to the whole network",
	"assay serve --web-lab":                     "it serves until it is stopped; TestIntegrationWebLab does the same",
	"assay serve --web-lab bert vit --open":     "it serves until it is stopped, and opens a browser on somebody's screen",
	"assay serve --web-lab --addr 0.0.0.0:8443": "it serves until it is stopped, to the whole network",
	"assay serve --web-lab --addr 0.0.0.0:8443 --cert lab.pem --cert-key lab-key.pem":            "it serves until it is stopped, to the whole network",
	"uv venv peers && uv pip install --python peers/bin/python -r bench/peers/requirements.lock": "it installs another torch, gigabytes",
	"python3 bench/peers/peers.py --peer peers/bin/python --own PYTHON --turns 6":                "it measures for minutes in that environment; the runner's tests try its table",
	"python3 bench/peers/peers.py --peer peers/bin/python --own PYTHON --sweep":                  "it measures for minutes in that environment; the runner's tests try its table",
	"assay detect --platform rocm --python ~/rocm/bin/python":                                    "it names a Python with a ROCm build",
	"assay test bert --platform rocm --dtype fp16 --python ~/rocm/bin/python":                    "it names a Python with a ROCm build",
	"assay detect --platform xla --python ~/xla/bin/python":                                      "it names a Python with torch_xla",
	"assay test bert vit --platform xla --python ~/xla/bin/python":                               "it names a Python with torch_xla",
	"assay bisect bert --package transformers --good 5.10.0 --bad 5.22.2":                        "it installs several releases: TestIntegrationBisect tries two",
	"assay bisect umt5 --package transformers --good 5.0.0 --bad 5.17.0 --by answers":            "it installs several releases: the same",
	"assay bisect bert --package torch --good 2.12.0 --bad 2.15.0 --by speed --quick":            "it installs several releases of torch, gigabytes: the same",
	"assay bisect vit --package openvino --good 2026.1.0 --bad 2026.4.1 --platform openvino":     "it installs several releases: the same",
	"assay bench bert-base-uncased --platform openvino --dtype fp32,int8":                        "true size, quantised with calibration, takes minutes",
	"assay bench --key --size full --platform cuda --dtype fp16":                                 "thirteen models of true size take hours without a GPU",
	"assay bench bert-base-uncased --platform cuda --dtype fp16 --batch 1,8":                     "true size in fp16 takes many minutes on a CPU, where it falls back to without a GPU",
}

// later lists the lines that make test-full runs and make test does not, each
// with what make test runs of the same.
var later = map[string]string{
	"assay matrix --key --platform all":                                                         "a minute and a half: a matrix of representatives, and single models on each of its platforms",
	"assay matrix --key --platform cpu,cuda --bench --metric speedup":                           "half a minute alone on the machine: the same table over no-ops, and shorter benches",
	"assay bench bert vit --batch 1,4,8":                                                        "a minute alone on the machine: shorter benches",
	"assay bench bert --platform openvino --scenario throughput":                                "TestIntegrationOpenVINO benches the same for a shorter time",
	"assay test --key --platform cpu,cuda --dtype fp32,fp16":                                    "TestIntegrationModels tests the same models in fp32, TestIntegrationSettings dtypes",
	"assay bench --quick llama t5 --mode generate --prompt 16,64 --tokens 32 --platform cpu":    "half a minute alone on the machine: TestIntegrationGenerates benches one of them for a shorter time",
	"assay bench --quick llama t5 whisper git --mode generate --tokens 32 --platform cpu":       "the same",
	"assay bench --quick llama --mode generate --prompt 16,64 --cache static --platform cpu":    "the same, and TestIntegrationGenerates tests caches",
	"assay bench --quick bert --mode train --batch 1,4 --platform cpu":                          "TestIntegrationTrains benches one of them",
	"assay bench --quick bert --platform cpu --wait-quiet 5s":                                   "the two settings in one bench",
	"assay bench --quick bert --platform cpu --pin 0":                                           "the two settings in one bench",
	"assay bench --quick bert --batch 1,4":                                                      "a bench of one batch",
	"assay test bert --platform webgpu":                                                         "TestIntegrationWeb runs it",
	"assay test bert --platform webnn,cpu/wasm":                                                 "TestIntegrationWeb runs it",
	"assay test bert vit --platform webnn":                                                      "TestIntegrationWeb runs one of them",
	"assay export bert --format onnx --out exported --force":                                    "the same without --force",
	"assay export bert --format openvino --out exported":                                        "the same in int8",
	"assay test bert --platform cpu && assay baseline set old && assay baseline rm old":         "the other examples of baselines",
	"assay test llama --mode train --procs 2 --parallel fsdp --batch 2 --platform cpu":          "TestIntegrationRanks trains with ddp, the runner's tests with fsdp",
	"assay test llama --mode train --procs 2 --parallel ddp --batch 2 --platform cpu":           "TestIntegrationRanks runs it",
	"assay test llama --procs 2 --parallel tp --platform cpu":                                   "TestIntegrationRanks runs it",
	"assay bench --quick --repeats 2 bert vit --scenario concurrent --platform cpu":             "TestIntegrationScenarios benches them for a shorter time",
	"assay bench --quick bert --scenario throughput --platform cpu,cpu/onnxruntime":             "TestIntegrationScenarios benches them for a shorter time",
	"assay bench --quick bert --mode train --optimizer sgd --platform cpu":                      "TestIntegrationTrains benches it",
	"assay bench --quick llama --mode generate --platform cpu":                                  "TestIntegrationGenerates benches it for a shorter time",
	"assay bench --quick vit --mode pipeline --batch 1,8 --platform cpu":                        "TestIntegrationPipelines benches one of them",
	"assay bench bert --platform webnn,cpu/wasm --quick":                                        "TestIntegrationWeb benches one of them for a shorter time",
	"assay test bert --platform webgpu,webnn,cpu/wasm":                                          "TestIntegrationWeb runs it",
	"assay test llama t5 --platform webnn --mode generate":                                      "TestIntegrationWebGenerates runs one of them, TestIntegrationWebTranslates the other",
	"assay test bert --platform cuda --strict":                                                  "TestIntegrationFallback runs it",
	"assay test bert vit --platform mps/coreml":                                                 "TestIntegrationCoreML runs one of them, another example exports it",
	"assay test bert vit whisper clip --mode pipeline --platform cpu":                           "another example tests two of them, TestIntegrationPipelines benches a third",
	"assay test llama --mode train --lora --platform cpu":                                       "TestIntegrationTrains trains another model with it",
	"assay test llama --mode train --optimizer sgd --checkpointing --mixed bf16 --platform cpu": "TestIntegrationTrains trains another model with them",
	"assay test llama qwen2 gpt2 --platform qnn --mode generate":                                "TestIntegrationQNN runs one of them",
	"assay test whisper --platform openvino --mode generate":                                    "TestIntegrationGenerates runs a language model there, the runner's tests one of speech",
	"assay test --consistency vit":                                                              "TestIntegrationConsistency compares another model",
	"assay test --laws --repro found bert gpt2 --platform cpu":                                  "TestIntegrationLaws tries one of them, and one that breaks a law",
	"assay test bert-base-uncased --platform auto":                                              "a model of true size is exported: another example tests it on the CPU, and auto is what every example without a platform means",
	"assay test bert --platform cpu --as nightly && assay baseline set release nightly":         "another example names a run and makes a baseline of it",
	"assay verify --pipelines text --platforms cpu":                                             "TestIntegrationVerify verifies another pipeline",
	"assay generate test bert vit --run-tests --device cpu --out tests":                         "TestIntegrationGeneratedTests runs one of them",
	"assay doctor cpu":      "assay doctor asks about every platform, and TestIntegrationFaultyProcessor runs it",
	"assay doctor webgpu":   "assay doctor asks about every platform",
	"assay doctor webnn":    "assay doctor asks about every platform",
	"assay doctor cuda":     "assay doctor asks about every platform",
	"assay doctor mps":      "assay doctor asks about every platform",
	"assay doctor rocm":     "assay doctor asks about every platform",
	"assay doctor qnn":      "assay doctor asks about every platform",
	"assay doctor openvino": "assay doctor asks about every platform",
	"assay export bert --format qnn --device sm8750 --out exported --force":                 "the same for another system",
	"assay test bert --platform qnn:sm8550 --dtype int8":                                    "TestIntegrationQNN runs it",
	"assay test bert vit --platform qnn":                                                    "TestIntegrationQNN runs it",
	"assay test bert vit --platform openvino":                                               "TestIntegrationOpenVINO runs it",
	"assay test whisper --platform openvino --via torch":                                    "TestIntegrationOpenVINO goes this way with bert",
	"assay test llama qwen2 gpt2 --mode generate --platform webnn,webgpu,cpu/wasm":          "TestIntegrationWebGenerates runs one of them on webnn",
	"assay test bert vit wav2vec2 --via transformers.js --platform webnn":                   "TestIntegrationTransformersJS runs two of them",
	"assay test t5 whisper bart --mode generate --platform webnn,webgpu,cpu/wasm":           "TestIntegrationWebTranslates runs one of them",
	"assay test llama t5 whisper --mode generate --via transformers.js --platform cpu/wasm": "TestIntegrationWebTranslates runs one of them",
	"assay test bert --platform cuda":                                                       "TestIntegrationFallback runs it",
	"assay tune --web":                                                                      "minutes on a software adapter: TestIntegrationKernels and TestIntegrationDuel measure smaller problems",
	"assay tune --web --all --platform webgpu,webnn":                                        "minutes on a software adapter: the same",
	"assay tune --web --parallel-load clip --platform webnn --repeats 2":                    "TestIntegrationParallelLoad runs it once",
	"assay verify --platforms openvino,webnn --json":                                        "half an hour: TestIntegrationVerify verifies one combination",
	"assay verify --workers 2":                                                              "an hour: TestIntegrationVerify verifies one combination",
	"assay generate skill bert --run-tests --device cpu,webnn --out skills":                 "TestIntegrationSkillPages runs it on webnn, TestIntegrationSkills on the CPU",
	"assay matrix --key --platform mps,rocm":                                                "TestIntegrationDerived runs it in another dtype",
	"assay test clap xclip --platform webnn --front-end page":                               "a minute of exporting: TestIntegrationFrontEnd runs smaller models",
	"assay test whisper wav2vec2 --platform webgpu --front-end page":                        "TestIntegrationFrontEnd runs it",
}

// runs reports whether this run of the tests runs a line.
func (e example) runs() bool {
	return notRun[e.line] == "" && (later[e.line] == "" || os.Getenv("ASSAY_TEST_FULL") != "")
}

// statuses are the exit statuses that a line may end with where 0 is not the
// only right one.
var statuses = map[string][]int{
	"assay test bert --platform cuda --strict": {exitOK, exitUnavailable},
	// What was run before them here decides what these come to.
	"assay compare previous latest":                        {exitOK, exitFails, exitNothing},
	"assay compare target:cpu target:openvino --format md": {exitOK, exitFails, exitNothing},
	"assay compare main latest":                            {exitOK, exitFails, exitNothing},
	"assay compare --since 2026-11-15":                     {exitOK, exitFails, exitNothing},
	"assay bench --quick bert --platform cpu && assay baseline set main && assay bench --quick bert --platform cpu --baseline main": {exitOK, exitFails}, // the machine decides
	// The folder of this test holds the program's own runner and a site with every model, and no contribution is made of no-ops.
	"assay can-i-use --in . --on cuda,webgpu":    {exitOK, exitNothing, exitFails},
	"assay contribute --check contribution.json": {exitOK, exitUsage},
	"assay doctor":        {exitOK, exitProgram}, // what it checks may be wrong here
	"assay doctor cpu":    {exitOK, exitProgram},
	"assay doctor cuda":   {exitOK, exitProgram},
	"assay doctor mps":    {exitOK, exitProgram},
	"assay doctor rocm":   {exitOK, exitProgram},
	"assay cache rm bert": {exitOK, exitUsage}, // nothing may be kept of it yet
}

var (
	fence    = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")
	codeSpan = regexp.MustCompile("`((?:bin/)?assay(?:-worker)? [^`]+)`")
	mention  = regexp.MustCompile(`assay (test|bench|matrix)$`) // of a command that needs models
	comment  = regexp.MustCompile(`\s+#.*$`)
)

// examples are all command lines of the help texts, README, docs/weights.md,
// docs/exporting.md, docs/measuring.md, docs/atlas.md, docs/installing.md and docs/platforms.
func examples(t testing.TB) []example {
	t.Helper()
	var out []example
	add := func(source, line string) {
		line = comment.ReplaceAllString(strings.TrimSpace(line), "")
		line = strings.ReplaceAll(line, "bin/assay", "assay")
		if line != "" && !slices.ContainsFunc(out, func(e example) bool { return e.line == line }) {
			out = append(out, example{source, line})
		}
	}
	for _, c := range commands() {
		for line := range strings.Lines(c.Example) {
			add(c.CommandPath()+" --help", line)
		}
	}
	files, err := filepath.Glob("../../docs/platforms/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "../../README.md", "../../docs/weights.md", "../../docs/exporting.md", "../../docs/measuring.md", "../../docs/atlas.md", "../../docs/installing.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range fence.FindAllStringSubmatch(string(b), -1) {
			if block[1] != "" && block[1] != "sh" {
				continue // a file's content, not a command
			}
			for line := range strings.Lines(block[2]) {
				add(filepath.Base(f), line)
			}
		}
		for _, span := range codeSpan.FindAllStringSubmatch(fence.ReplaceAllString(string(b), ""), -1) {
			if !mention.MatchString(span[1]) {
				add(filepath.Base(f), span[1])
			}
		}
	}
	return out
}

// needsTorch tells the lines that the integration tests run: those that run
// models or ask an environment about itself.
func (e example) needsTorch() bool {
	return regexp.MustCompile(`assay(-worker)? (test|bench|compare|export|tune|setup|doctor|run|verify|generate \S+ .*--run-tests|matrix( |$)([^s]|s[^h]))`).MatchString(e.line)
}

// TestExamples runs every example that needs no torch, in the order in which
// they stand, in one folder.
func TestExamples(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.vars["HF_ENDPOINT"] = testHub(t).URL
	p.ok(t, "test", "--plan", p.noops(t, "nothing", 2))
	journals, err := filepath.Glob(filepath.Join(p.vars["ASSAY_HOME"], "data", "journals", "*.jsonl"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("journals %v, %v", journals, err)
	}
	if err := os.Rename(journals[0], filepath.Join(p.dir, "results.jsonl")); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, e := range examples(t) {
		if e.runs() && !e.needsTorch() {
			runExample(t, p, e)
			ran++
		}
	}
	if ran < 15 {
		t.Errorf("only %d examples were found to run", ran)
	}
}

// shell is a line for the shell, in the program's folders.
func shell(t testing.TB, p *program, line string) *exec.Cmd {
	t.Helper()
	cmd := p.command(t.Context())
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	cmd.Path, cmd.Args = path, []string{"sh", "-c", line}
	return cmd
}

// runExample runs a line as a user's shell does.
func runExample(t testing.TB, p *program, e example) {
	t.Helper()
	stdout, stderr, status := finish(t, shell(t, p, e.line))
	allowed := statuses[e.line]
	if allowed == nil {
		allowed = []int{exitOK}
	}
	if !slices.Contains(allowed, status) {
		t.Errorf("%s: %s: status %d, want %v\n%s%s", e.source, e.line, status, allowed, stdout, stderr)
	}
}

// TestExceptions: the tables hold no line that no longer exists, and every
// line that is not run can at least be understood.
func TestExceptions(t *testing.T) {
	t.Parallel()
	all := examples(t)
	for _, table := range []iter.Seq[string]{maps.Keys(notRun), maps.Keys(later), maps.Keys(statuses)} {
		for line := range table {
			if !slices.ContainsFunc(all, func(e example) bool { return e.line == line }) {
				t.Errorf("no help and no page shows %q now", line)
			}
		}
	}
	for _, e := range all {
		if strings.HasPrefix(e.line, "assay ") && !strings.ContainsAny(e.line, "&>|\"") {
			checkUnderstood(t, e)
		}
	}
}

// checkUnderstood parses the line and, where it runs cells on named platforms,
// makes its plan.
func checkUnderstood(t *testing.T, e example) {
	t.Helper()
	out, _ := inside()
	top := root(out)
	c, args, err := top.Find(strings.Fields(e.line)[1:])
	if err == nil {
		err = c.ParseFlags(args)
	}
	if err == nil {
		err = c.ValidateArgs(c.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s: %s: %v", e.source, e.line, err)
		return
	}
	if c.Flags().Lookup("plan") != nil {
		checkModels(t, e, c)
	}
}

func checkModels(t *testing.T, e example, c *cobra.Command) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range c.Flags().Args() {
		if _, err := cat.Resolve(name); err != nil {
			t.Errorf("%s: %s: %v", e.source, e.line, err)
		}
	}
	names, err := c.Flags().GetStringSlice("platform")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if _, err := platform.ParseTarget(n); err != nil && n != "auto" && n != "all" {
			t.Errorf("%s: %s: %v", e.source, e.line, err)
		}
	}
}
