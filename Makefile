# make run    the main job: the compatibility matrix of this machine
# make test   everything that must pass; CI calls exactly this
# make help   the other targets
#
# Nothing is installed outside this folder and Assay's own folders (XDG data,
# cache and config, or ASSAY_HOME), so that a second run is quick.

SHELL      := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS  += --no-print-directory
.NOTPARALLEL:

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION)
GOBUILD  := go build -trimpath -ldflags '$(LDFLAGS)'
WORKERS  := linux/arm64 darwin/arm64 windows/amd64
LINT     := bin/golangci-lint-$(shell sed -n 's/.*golangci-lint\/v2 \(v[0-9.]*\).*/\1/p' tools/go.mod)
PYDIR    := runtimes/python
# The Python of the managed environment; asked for late, since setup makes it.
PYTHON    = $(shell bin/assay setup --json | sed -n 's/^  "python": "\(.*\)",$$/\1/p')

# The oldest release of transformers that Assay works with, and two between it and the locked one.
RELEASES := 4.51.3 5.0.0 5.17.0
# They read hundreds of logs with regular expressions, compute hundreds of schedules, write thousands of files, compress
# megabytes, and start no goroutine: the detector makes that take ten times as long and has nothing to find.
WITHOUT_RACE := assay/internal/failure assay/internal/fleet/simulation assay/internal/generate/skills \
	assay/internal/generate/tests assay/tables
# The packages with integration tests: of the others a program would be linked only to find none in it.
INTEGRATION = $(shell git grep --untracked -l '^//go:build .*integration' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
# Options of the trials of the check, for less or for more than make test-full does: JUDGE='--count 40'.
MUTANTS      :=
FALSE_ALARMS :=
JUDGE        :=
LAWS         :=
# What the tests do must not depend on how many cores others leave: two at once. lint vets them, and all of it.
GOTEST   := go test -vet=off -timeout 50m

comma := ,
say = @printf '\n== %s\n' '$(1)'

.PHONY: help
help: ## print this list
	@echo 'assay $(VERSION)'; echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: need
need: ## check that this machine has what building and testing need
	$(call say,what is needed)
	@scripts/need

.PHONY: build
build: ## build bin/assay and bin/assay-worker
	$(call say,build bin/assay and bin/assay-worker ($(VERSION)))
	@scripts/modules
	@CGO_ENABLED=1 $(GOBUILD) -o bin/assay ./cmd/assay
	@CGO_ENABLED=0 $(GOBUILD) -o bin/assay-worker ./cmd/assay-worker

.PHONY: worker-all
worker-all: ## build the worker for the other systems too
	@for t in $(WORKERS); do \
		os=$${t%/*} arch=$${t#*/} ext=; [ $$os = windows ] && ext=.exe; \
		echo "== build bin/assay-worker-$$os-$$arch$$ext"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GOBUILD) -o bin/assay-worker-$$os-$$arch$$ext ./cmd/assay-worker; \
	done

# What is installed: archives, wheels, SBOM and checksums for every system; make dist KEY=FILE signs them with a minisign key.
KEY ?=

.PHONY: dist
dist: ## archives and wheels for every system, checksums and SBOM, in out/dist
	$(call say,packages of $(VERSION) for every system)
	@scripts/modules
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run ./packaging -version $(VERSION) -out out/dist -duckdb -key '$(KEY)'

.PHONY: setup
setup: build ## make the Python environment (about 3 GB to load, 6 GB on disk, once)
	$(call say,the Python environment)
	@bin/assay setup

.PHONY: setup-web
setup-web: build ## make the web environment (about 0.2 GB to load, 0.6 GB on disk, once)
	$(call say,the web environment)
	@bin/assay setup web

.PHONY: run
run: need setup ## the main job: matrix of the key models and representatives; report in out/
	$(call say,the compatibility matrix of this machine)
	@# Status 3 says that some cell fails, which the matrix shows: it was made all the same.
	@bin/assay matrix --key --representatives --size tiny --platform all --out out || [ $$? -eq 3 ]

.PHONY: test
test: need setup check unit pytest worker-all integration ## everything that must pass; CI calls this
	@printf '\n== all tests passed\n'

.PHONY: test-full
test-full: test ## and what takes long: every pipeline and example, trials of the check, other transformers, pretrained weights, fuzzing, benchmarks once
	$(call say,every diffusion pipeline, and the faults that are worked around)
	@scripts/pytest $(PYTHON) -m full
	$(call say,every example of the help and the pages, faults in browsers, a bisection)
	@ASSAY_TEST_FULL=1 $(GOTEST) -tags integration -run 'Integration(Examples|Reproducers|Bisect)' -count 1 ./cmd/assay
	$(call say,packages for every system)
	@ASSAY_TEST_FULL=1 $(GOTEST) -tags integration -run IntegrationEverySystem -count 1 ./packaging
	$(call say,the HTTP API tried by its own description)
	@scripts/schemathesis
	$(call say,how long pages take to open)
	@ASSAY_TEST_FULL=1 $(GOTEST) -tags integration -run 'Integration(Site|Dashboard)Times' -count 1 ./internal/site ./cmd/assay
	$(call say,a fleet whose workers are killed (2000 cells with twenty seeds) and cut off for minutes)
	@ASSAY_TEST_FULL=1 go test -timeout 120m -run 'TestFaults|TestCutOffForMinutes' -count 1 -v ./cmd/assay-worker
	$(call say,faults of the NATS server and of DuckDB that are worked around)
	@ASSAY_TEST_FULL=1 $(GOTEST) -run TestReproducer -count 1 ./internal/fleet/embedded ./internal/store
	$(call say,faults planted in engines)
	@scripts/trials $(PYTHON) mutants $(MUTANTS)
	$(call say,the same on WebNN, and the judge there)
	@ASSAY_TEST_FULL=1 ASSAY_TEST_MUTANTS='$(MUTANTS)' ASSAY_TEST_JUDGE='$(JUDGE)' go test -timeout 120m -tags integration -run IntegrationTrials -count 1 ./cmd/assay
	$(call say,models that nobody changed)
	@scripts/trials $(PYTHON) false_alarms $(FALSE_ALARMS)
	$(call say,every verdict on inputs of the judge)
	@scripts/trials $(PYTHON) judge $(JUDGE)
	$(call say,faults planted in the library, seen by laws)
	@scripts/trials $(PYTHON) laws $(LAWS)
	$(call say,other releases of transformers)
	@scripts/releases $(RELEASES)
	$(call say,real pretrained weights and graphs, 126 MB from the package index)
	@ASSAY_TEST_PRETRAINED=1 $(GOTEST) -tags integration -run IntegrationPretrained -count 1 ./cmd/assay
	$(call say,fuzzing, 20 s each)
	@scripts/fuzz 20s
	$(call say,every benchmark once)
	@$(GOTEST) -run '^$$' -bench . -benchtime 1x ./...

.PHONY: unit
unit: ## Go tests with the race detector
	$(call say,unit and command tests with the race detector)
	@$(GOTEST) -race $$(go list ./... | grep -vxF $(WITHOUT_RACE:%=-e %))
	@$(GOTEST) $(WITHOUT_RACE)
	$(call say,examples of systemd$(comma) Kubernetes and Slurm)
	@go test -C deploy ./...
	$(call say,past results without DuckDB)
	@CGO_ENABLED=0 $(GOTEST) ./internal/store ./internal/history ./internal/home ./internal/sides

.PHONY: pytest
pytest: setup ## the runner's Python tests
	$(call say,the tests of the Python runner)
	@scripts/pytest $(PYTHON)

.PHONY: integration
integration: setup setup-web ## tests with real torch and real browsers
	$(call say,the tools of the pages)
	@scripts/pages "$$PWD/.cache/pages"
	$(call say,integration tests with real torch and real browsers)
	@$(GOTEST) -tags integration -run Integration -count 1 $(INTEGRATION)

.PHONY: check
check: lint ## gofmt, vet, golangci-lint, ruff, allowed imports
	$(call say,allowed imports)
	@go test -count 1 ./internal/arch

.PHONY: lint
lint: $(LINT) setup ## gofmt, vet, golangci-lint, ruff
	$(call say,gofmt, vet, golangci-lint, ruff)
	@scripts/formatted
	@# golangci-lint's govet runs all that go vet runs, on the integration tests too; without cgo other files are built.
	@CGO_ENABLED=0 go vet ./internal/store ./internal/history ./cmd/assay
	@$(LINT) run --allow-parallel-runners ./...
	@$(PYTHON) -m ruff check --quiet --no-cache $(PYDIR)
	@$(PYTHON) -m ruff check --quiet --no-cache --config $(PYDIR)/pyproject.toml --target-version py311 packaging
	@$(PYTHON) -m ruff format --check --quiet --no-cache $(PYDIR) || { echo 'Python files are not formatted: run make fmt'; exit 1; }

$(LINT): tools/go.mod tools/go.sum
	$(call say,build golangci-lint (a minute, once))
	@rm -f bin/golangci-lint-*
	@go build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: fmt
fmt: setup ## format Go and Python
	@gofmt -w $$(git ls-files -co --exclude-standard '*.go')
	@$(PYTHON) -m ruff check --quiet --no-cache --fix $(PYDIR) || true
	@$(PYTHON) -m ruff format --quiet --no-cache $(PYDIR)

.PHONY: lock
lock: setup ## renew the locks from requirements.in, boot.in and package.json
	@scripts/lock

.PHONY: bench
bench: setup ## measure Assay itself
	$(call say,Assay measured)
	@go run ./bench

# Options of the comparisons of a cell with itself: AA='-n 100 -planted 20 -lanes 1 -noisy -rates out.json'.
AA ?= -rates internal/compare/rates.json

.PHONY: aa
aa: setup ## how often comparisons are wrong: an hour or more; what was done is kept, and not done again
	$(call say,a cell against itself, and against itself made slower)
	@go run ./bench aa $(AA)

# The table's targets that need no other hardware; others are run by a worker: "go run ./tables plan cuda".
TABLE ?= cpu cpu/onnxruntime openvino qnn webnn webgpu rocm mps mps/coreml

.PHONY: table
table: setup setup-web build ## run what the published table lacks here, hours of it; what was finished is not run again
	$(call say,the whole table on $(TABLE))
	@mkdir -p .cache/table && go run ./tables left $(TABLE) > .cache/table/plan.json
	@bin/assay matrix --plan .cache/table/plan.json --resume --by family --db .cache/table/assay.duckdb; test $$? -le 4
	@echo 'publish it with: go run ./tables pack .cache/table/assay.duckdb.journals/*.jsonl && make table-docs'

.PHONY: table-docs
table-docs: ## write docs/table.md and docs/full.md from the journals in tables/
	@go run ./tables docs

.PHONY: pages
pages: ## build the pages of the dashboard and the site from TypeScript (needs Node)
	$(call say,the pages)
	@scripts/pages

.PHONY: atlas
atlas: ## write the atlas, which the program embeds, from the journals in tables/
	@go run ./tables atlas

.PHONY: clean
clean: ## remove what was built here (Assay's own folders stay: assay cache clean)
	@rm -rf bin out
