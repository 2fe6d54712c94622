# `make help` lists what is here. Tools are pinned in tools/, and downloaded or built from source into $(BIN), once for all checkouts.

MAKEFLAGS += --no-builtin-rules
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cairn
BIN := $(abspath $(or $(CAIRN_BIN),$(CACHE)/bin))
# The tests and `cairn dev` look for the big tools in the first, controller-runtime's envtest in the second.
export CAIRN_BIN := $(BIN)
export KUBEBUILDER_ASSETS := $(BIN)
# What is compiled does not depend on the folder of the checkout, so a fresh clone finds it in go's cache.
# Without the gRPC client of Google Cloud Storage's direct path, which nothing calls: 138 packages. A -tags of a command line
# replaces that of GOFLAGS, so it has this tag too.
export GO_TAGS := disable_grpc_modules
ENVTEST := -tags=envtest,$(GO_TAGS)
# As in the images, so that both share compiled packages, and tests run what is released.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -tags=$(GO_TAGS) $(filter-out -trimpath -tags=%,$(shell go env GOFLAGS))

VERSION ?= $(or $(shell git describe --tags --always --dirty 2>/dev/null),dev)
X_VERSION := -X cairn.dev/cairn/internal/base/version.Version=$(VERSION)
REGISTRY ?= registry.local
TAG ?= e2e
GOTESTFLAGS ?=
ONCE ?=
# For tests of many packages. Each is linked by itself, which takes a third less time without what a debugger reads. What vet
# finds, make lint finds with all of its analyzers.
TESTED := -vet=off -ldflags=-s

##@ Build

.PHONY: build
build: bin/cairn bin/kubectl-cairn bin/cairn-migrate bin/cairn-controller bin/cairn-runner ## Build the programs into bin/

# go knows best what is out of date, so all are asked for every time. The flags of the first two are those of
# `go test` on purpose: they share compiled packages.
bin/cairn bin/cairn-controller: FORCE
	@go build -buildvcs=false -ldflags "$(X_VERSION)" -o $@ ./cmd/$(@F)

# A module of its own, which the core neither compiles nor tests. `cairn migrate` and `cairn generate` run it.
bin/cairn-migrate: FORCE
	@go -C migrate build -buildvcs=false -ldflags "$(X_VERSION)" -o ../$@ ./cmd/cairn-migrate

# With this in the PATH, `kubectl cairn` is cairn.
bin/kubectl-cairn: bin/cairn
	@ln -sf cairn $@

# Static: it is copied into whatever image a Stack chooses.
bin/cairn-runner: FORCE
	@go build -buildvcs=false -ldflags "-s -w $(X_VERSION)" -o $@ ./cmd/cairn-runner

# go builds what is in web/dist into bin/cairn-controller; where there is nothing, the server has a placeholder for the web UI.
.PHONY: web
web: web/dist/index.html ## Build the web UI for the next `make build` (needs Node)

web/dist/index.html: web/node_modules/.package-lock.json $(wildcard web/*.json web/*.ts) web/index.html $(shell find web/src web/public -type f 2>/dev/null)
	@cd web && npm run --silent build

web/node_modules/.package-lock.json: web/package.json web/package-lock.json web/.npmrc
	@cd web && npm ci --no-progress && touch node_modules/.package-lock.json

# Without a registry: on a Debian made here, with the compiler and the caches of this machine.
.PHONY: images
images: $(BIN)/tofu web ## Build the images cairn and cairn-tools into bin/images, as root
	@VERSION='$(VERSION)' REGISTRY='$(REGISTRY)' TAG='$(TAG)' tools/images/build $$(go env GOARCH) bin/images

# tools/build does nothing when the tool is there and its go.mod, go.sum and flags are what they were. One after
# another even with -j: go uses every core by itself, and linking these takes gigabytes of memory.
.PHONY: tools
tools: ## Build the control plane and the engines (10 minutes once, then kept in the cache)
	@for tool in etcd kube-apiserver kube-controller-manager kubectl tofu terraform terraform-provider-time terraform-provider-cloud terraform-provider-files; do tools/build $$tool $(BIN); done

$(BIN)/%: FORCE
	@tools/build $* $(BIN)

.PHONY: FORCE
FORCE:

# Once for a checkout, and again after a change of the pinned tools: what is there is left alone.
.PHONY: setup
setup: ## Prepare a machine for all of this: Debian packages, tools, Node modules (15 minutes the first time)
	@tools/packages install
	@$(MAKE) --no-print-directory tools
	@for tool in golangci-lint vale controller-gen helm-docs helm versitygw gotestsum; do tools/build $$tool $(BIN); done
	@$(MAKE) --no-print-directory web/node_modules/.package-lock.json test/browser/node_modules/.package-lock.json docs/node_modules/.package-lock.json

##@ Try

# Only what the demo runs, and kubectl for what it shows. The programs are built beside the tools, since go does not use all cores
# while it links.
DEMO_TOOLS = etcd kube-apiserver kube-controller-manager tofu $(if $(shell command -v kubectl),,kubectl)
.PHONY: demo demo-tools demo-programs
demo: ## Run Cairn on this machine with an example; ONCE=1 ends when it is applied
	@$(MAKE) --no-print-directory -j2 demo-tools demo-programs
	bin/cairn demo $(if $(ONCE),--once)

demo-tools:
	@for tool in $(DEMO_TOOLS); do tools/build $$tool $(BIN); done

# Without Node, or when its packages cannot be downloaded, the demo has no web UI. A runner that is not static is enough here, and compiles
# nothing twice.
demo-programs:
	@if [[ -n '$(ONCE)' ]]; then :; \
	elif ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then \
	  echo 'no web UI without Node: install Node 20 or later with npm from https://nodejs.org, and start make demo again'; \
	elif ! $(MAKE) --no-print-directory --silent web; then echo 'no web UI: make web shows why'; fi
	@[[ -e bin/cairn-controller ]] || echo 'building cairn (about 4 minutes the first time, beside the tools)'
	@go build -buildvcs=false -ldflags "$(X_VERSION)" -o bin/ ./cmd/cairn ./cmd/cairn-controller ./cmd/cairn-runner

.PHONY: node
node: node-tools ## Run a real node of Kubernetes on this machine, as root, until Ctrl-C
	@go build -o bin/node ./test/node/up && bin/node

.PHONY: node-down
node-down: ## End the node from elsewhere, and clear away its files
	@go run ./test/node/up -down

# The site for one version is made with BASE=/v0.3/ REF=v0.3.1, into bin/docs/v0.3: it is copied beside those of the versions before.
.PHONY: docs
docs: docs/node_modules/.package-lock.json ## Build the site of the documentation into bin/docs (needs Node); DEV=1 serves it while you write
	@cd docs && npm run --silent $(if $(DEV),dev,build)

docs/node_modules/.package-lock.json: docs/package.json docs/package-lock.json docs/.npmrc
	@cd docs && npm ci --no-progress && touch node_modules/.package-lock.json

##@ Check

.PHONY: test-unit
test-unit: ## Run the tests that need nothing but Go and git (a minute on two cores)
	@go -C api test $(TESTED) -short $(GOTESTFLAGS) ./...
	@go test $(TESTED) -short $(GOTESTFLAGS) ./internal/... ./test/sim

# The fast loop. BASE is a commit; without it, the one where this branch left origin/main, or else the last one.
BASE ?=
.PHONY: affected
affected: $(BIN)/etcd $(BIN)/kube-apiserver ## Run unit tests of what depends on changes since BASE, envtests of these
	@GOTESTFLAGS='$(TESTED) $(GOTESTFLAGS)' tools/affected $(BASE)

.PHONY: web-test
web-test: web/node_modules/.package-lock.json ## Check the web UI: types, linters, format, tests
	@cd web && npm run --silent schema >/dev/null && git diff --exit-code src/api # what it was made from has changed: commit it too
	@cd web && npm run --silent check

# With AGAIN=folder a test that fails is run once more by itself, and fails only if it does so again: then the folder has a file that names it.
# For CI, where a machine that stalls must not cost a day's work (CONTRIBUTING.md).
AGAIN ?=
# $(call go-test,flags,packages)
go-test = $(if $(AGAIN),$(BIN)/gotestsum --format standard-quiet --hide-summary skipped --rerun-fails=1 --rerun-fails-max-failures 10 \
	--rerun-fails-report "$$(mktemp -p $(AGAIN))" --packages "$2" -- $(TESTED) -timeout 40m $1 $(GOTESTFLAGS),go test $(TESTED) -timeout 40m $1 $(GOTESTFLAGS) $2)

# They start first, so that none of them is the last one, beside which a core idles.
LONGEST := $(addprefix ./,$(wildcard test/scripts test/attacks test/tutorials test/faults internal/runner charts/cairn test/corpus \
	internal/server test/scale internal/controller/stack))

# One call of go, so that no core idles at the end of a part, and no package is tested with the tag and without it. The list is for
# test-unit: it compiles, and does not run, its tests of the packages that have both.
.PHONY: test
test: build tools $(BIN)/helm $(BIN)/versitygw $(if $(AGAIN),$(BIN)/gotestsum) ## Run all tests (about 20 minutes on two cores; GOTESTFLAGS="-run X" to choose)
	@failed=; \
	(cd api && $(call go-test,,./...)) || failed=1; \
	(cd migrate && $(call go-test,$(ENVTEST),./...)) || failed=1; \
	go list -test -export -f '{{""}}' $$(grep -rlE --include='*_test.go' '^//go:build .*\benvtest\b' internal | xargs -n1 dirname | sort -u | sed 's,^,./,') || failed=1; \
	$(call go-test,$(ENVTEST),$(LONGEST) $(patsubst %,./%/...,internal $(wildcard cmd charts web dev test))) || failed=1; \
	[ -z "$$failed" ]

.PHONY: tutorials
tutorials: build tools ## Run the commands of the tutorials, compare their output with the pages, print the time of each
	@go test -v -count 1 -run TestTutorials $(GOTESTFLAGS) ./test/tutorials

# The packages with concurrent parts, the first ones without an API server. The detector makes tests ten times slower: RACE=all has
# all packages. Skipped is what measures the time and the memory that a policy takes, which are others under it.
RACE ?=
RACED := -race -timeout 30m -skip 'TestUninterruptiblePolicy|TestPolicyThat|TestPathologicalPolicies|TestValidations'
.PHONY: race
race: tools ## Run tests with the race detector; RACE=all for those of all packages, which takes long
	@CGO_ENABLED=1 go test $(RACED) $(GOTESTFLAGS) $(if $(RACE),./internal/... ./dev/process,$(addprefix ./internal/,base runnerapi engine/policy engine/providers source controller/bucketgc runner)) ./test/leaks
	@CGO_ENABLED=1 go test $(RACED) $(ENVTEST) $(GOTESTFLAGS) $(if $(RACE),./internal/...,$(addprefix ./internal/,state controller/repository controller/stack controller/run server operator))

N ?= 100000
SEED ?=
.PHONY: sim
sim: ## Simulate N=100000 random histories (docs/contributing/simulation.md); SEED=n replays one; OFTEN=1 deletes ten times as often
	@go run ./test/sim/histories $(if $(SEED),-seed $(SEED),-n $(N)) $(if $(OFTEN),-often)

.PHONY: sim-new
sim-new: ## Simulate N=100000 random histories, and 10,000 of pull requests, with seeds that no run had before
	@first=$$(date +%s)000000; echo "seeds from $$first"; \
	go run ./test/sim/histories -first $$first -n $(N); failed=$$?; \
	go test ./internal/controller/pullrequest -run TestPullRequestHistories -count=1 -timeout 30m -args -histories 10000 -seed $$first && exit $$failed

.PHONY: sim-scope
sim-scope: ## Simulate all histories of the small scope, a few minutes; STRIDE=10 takes one in ten
	@go run ./test/sim/histories -stride $(or $(STRIDE),1)

.PHONY: faults
faults: build tools ## Have things fail around the real binaries (two hours); ONLY="crash|410" chooses, STRIDE=10 takes one in ten
	@go run ./test/faults -stride $(or $(STRIDE),1) $(if $(ONLY),-only '$(ONLY)')

# What follows needs Linux, root and a few Debian packages (tools/packages has them). There is one node on a machine, so one package of
# tests goes after the other.
.PHONY: node-tools
node-tools: tools
	@for tool in kube-scheduler kubelet kube-proxy containerd containerd-shim-runc-v2 ctr coredns helm versitygw; do tools/build $$tool $(BIN); done

.PHONY: e2e-images
e2e-images: images
	@test/e2e/builder $$(go env GOARCH) bin/images

.PHONY: e2e
e2e: build node-tools e2e-images ## Install Cairn on a real node by its chart and images, and live a day there
	@go test -tags e2e,$(GO_TAGS) $(GOTESTFLAGS) -skip Release ./test/release
	@go test -tags e2e,$(GO_TAGS) -p 1 -timeout 40m $(GOTESTFLAGS) ./test/node ./test/e2e

.PHONY: test-release
test-release: $(BIN)/tofu $(BIN)/syft $(BIN)/helm $(BIN)/cosign ## Release for two architectures to a registry on this machine, and read it back
	@go test -tags e2e,$(GO_TAGS) $(GOTESTFLAGS) -timeout 90m -run Release ./test/release

.PHONY: test-gitea
test-gitea: build tools $(BIN)/gitea ## Run the tests that need a Git provider, Gitea (5 minutes once to build it)
	@go test -tags gitea,$(GO_TAGS) $(GOTESTFLAGS) ./test/gitea
	@GITEA=1 go test -tags $(GO_TAGS) $(GOTESTFLAGS) -run 'TestTutorials/tutorials/(pull-requests|to-production)' ./test/tutorials

.PHONY: test-newest
test-newest: tools $(BIN)/terraform-newest ## Read plans of the newest Terraform (4 minutes once to build it)
	@go test -tags newest,$(GO_TAGS) $(GOTESTFLAGS) ./test/newest
	@go test $(GOTESTFLAGS) -run 'TestCorpus$$' ./test/corpus

.PHONY: bench
bench: build tools ## Measure; GOTESTFLAGS="-count 10" for benchstat
	@go test $(ENVTEST) -run '^$$' -bench . -benchmem $(GOTESTFLAGS) ./...

.PHONY: bench-hooks
bench-hooks: ## Call metacontroller's hooks a thousand times a second, and as often as can be, beside an empty handler
	@go -C migrate test -run '^$$' -bench Hooks -benchtime 10000x $(GOTESTFLAGS) ./metacontroller

.PHONY: bench-node
bench-node: build node-tools e2e-images ## Measure on a real node, beside bare pods and the bare engine in them
	@go test -tags e2e,$(GO_TAGS) -run '^$$' -bench . -benchtime 10x -timeout 40m $(GOTESTFLAGS) ./test/e2e

RUNS ?= 10
.PHONY: scale
scale: build tools ## Measure with N=10000 Stacks of RUNS=10 finished Runs each (docs/contributing/performance-scale.md); half an hour
	@go test $(ENVTEST) -v -count 1 -run 'TestScale$$|TestReplicas$$' -timeout 2h $(GOTESTFLAGS) ./test/scale -args $(if $(wildcard test/browser/node_modules),-paint) -n $(if $(filter file,$(origin N)),10000,$(N)) -runs $(RUNS) -idle 60s -load 60s -hold 60s

.PHONY: scale-web
scale-web: build tools ## Measure what users see of N=10000 Stacks of RUNS=5: pages of lists, the server's memory, the browser; some minutes
	@go test $(ENVTEST) -v -count 1 -run 'TestScale$$' -timeout 30m $(GOTESTFLAGS) ./test/scale -args -pages $(if $(wildcard test/browser/node_modules),-paint) -n $(if $(filter file,$(origin N)),10000,$(N)) -runs $(if $(filter file,$(origin RUNS)),5,$(RUNS))

.PHONY: scale-set
scale-set: build tools ## Measure users' Runs beside a StackSet of N=2000 Stacks that are all created at once; some minutes
	@go test $(ENVTEST) -v -count 1 -run 'TestSet$$' -timeout 2h $(GOTESTFLAGS) ./test/scale -args -alone 60s -set $(if $(filter file,$(origin N)),2000,$(N))

SOAK ?= 1h
.PHONY: soak
soak: build tools ## Change Stacks for SOAK=1h, and see that goroutines and open files do not grow
	@go test $(ENVTEST) -v -count 1 -run 'TestSoak$$' -timeout 48h $(GOTESTFLAGS) ./test/scale -args -soak $(SOAK)

FUZZ ?= .*
FUZZTIME ?= 10s
.PHONY: fuzz
fuzz: ## Run the fuzzers, FUZZTIME=10s each; FUZZ="Verify|Glob" chooses
	@tools/fuzz '$(FUZZ)' $(FUZZTIME)

ONLY ?=
.PHONY: mutants
mutants: build tools $(BIN)/versitygw ## Take each guard out and see a test fail (half an hour); ONLY="lock|I5" chooses
	@go run ./test/mutants $(if $(ONLY),-only '$(ONLY)')

.PHONY: lint
lint: $(BIN)/golangci-lint $(BIN)/vale ## Run the linters: Go, the order of packages, and the words of the glossary
	@failed=; for module in api migrate test/cloud/provider .; do (cd $$module && $(BIN)/golangci-lint run ./...) || failed=1; done; \
	  tools/prose $(BIN) || failed=1; [ -z "$$failed" ]

.PHONY: verify
verify: $(BIN)/controller-gen $(BIN)/golangci-lint $(BIN)/helm-docs ## Check that what is generated, formatted and pinned is as it should be
	@tools/verify $(BIN)

# The web UI is built before go embeds it, so they run one after the other.
.PHONY: browser
browser: export SCREENS ?= $(if $(CI),,1)
browser: tools test/browser/node_modules/.package-lock.json ## Use the web UI in a browser as a user does, and take the pictures in docs/screens (needs Node and Chromium; SCREENS= takes none)
	@$(MAKE) --no-print-directory web
	@$(MAKE) --no-print-directory build
	@cd test/browser && npm run --silent test

test/browser/node_modules/.package-lock.json: test/browser/package.json test/browser/package-lock.json test/browser/.npmrc
	@cd test/browser && npm ci --no-progress && touch node_modules/.package-lock.json

##@ Change

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format the Go files
	@$(BIN)/golangci-lint fmt ./...
	@cd migrate && $(BIN)/golangci-lint fmt ./...

.PHONY: generate
generate: $(BIN)/controller-gen $(BIN)/helm-docs ## Write deepcopy functions, CRDs, Cairn's roles, the chart's README, and docs/reference
	@cd api && $(BIN)/controller-gen object crd paths=./... output:crd:dir=../charts/cairn/files/crds
	@tools/roles $(BIN) charts/cairn/files/roles
	@$(BIN)/helm-docs --chart-search-root charts/cairn --sort-values-order file --log-level warning
	@go run ./cmd/gendocs .

.PHONY: clean
clean: ## Remove bin/ (the tools stay in the cache)
	@rm -rf bin

.PHONY: help
help: ## Show this
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo; echo "Tools: $(BIN)"

##@ Release

.PHONY: release
release: $(BIN)/syft $(BIN)/helm $(BIN)/cosign ## Release and sign the tagged commit: make release REGISTRY=ghcr.io/cairn-dev
	@[ '$(origin REGISTRY)' != file ] || { echo 'say where to: make release REGISTRY=ghcr.io/...' >&2; exit 2; }
	@tools/images/release '$(REGISTRY)' bin/release
	@version='v$(patsubst v%,%,$(VERSION))'; $(MAKE) --no-print-directory docs REF=$$version BASE=/$$(cut -d. -f1,2 <<<$$version)/
