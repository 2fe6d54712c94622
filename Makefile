# `make help` lists what is here. Tools are pinned in tools/ and built from source into $(BIN), once for all checkouts.

MAKEFLAGS += --no-builtin-rules
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cairn
BIN := $(abspath $(or $(CAIRN_BIN),$(CACHE)/bin))
# The tests and `cairn dev` look for the big tools in the first, controller-runtime's envtest in the second.
export CAIRN_BIN := $(BIN)
export KUBEBUILDER_ASSETS := $(BIN)

VERSION ?= $(or $(shell git describe --tags --always --dirty 2>/dev/null),dev)
X_VERSION := -X cairn.dev/cairn/internal/version.Version=$(VERSION)
GOTESTFLAGS ?=
ONCE ?=

##@ Build

.PHONY: build
build: bin/cairn bin/kubectl-cairn bin/cairn-runner ## Build bin/cairn and bin/cairn-runner

# go knows best what is out of date, so both are asked for every time. The flags of bin/cairn are those of `go test`
# on purpose: the two share compiled packages.
bin/cairn: FORCE
	@go build -buildvcs=false -ldflags "$(X_VERSION)" -o $@ ./cmd/cairn

# With this in the PATH, `kubectl cairn` is cairn.
bin/kubectl-cairn: bin/cairn
	@ln -sf cairn $@

# Static: it is copied into whatever image a Stack chooses.
bin/cairn-runner: FORCE
	@CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w $(X_VERSION)" -o $@ ./cmd/cairn-runner

# tools/build does nothing when the tool is there and its go.mod, go.sum and flags are what they were. One after
# another even with -j: go uses every core by itself, and linking these takes gigabytes of memory.
.PHONY: tools
tools: ## Build the control plane and the engines (10 minutes once, then kept in the cache)
	@for tool in etcd kube-apiserver kube-controller-manager kubectl tofu terraform terraform-provider-time; do tools/build $$tool $(BIN); done

$(BIN)/%: FORCE
	@tools/build $* $(BIN)

.PHONY: FORCE
FORCE:

##@ Try

.PHONY: demo
demo: build tools ## Run Cairn on this machine with an example; ONCE=1 ends when it is applied
	bin/cairn demo $(if $(ONCE),--once)

##@ Check

.PHONY: test-unit
test-unit: ## Run the tests that need nothing (under 30 seconds)
	@go -C api test $(GOTESTFLAGS) ./...
	@go test $(GOTESTFLAGS) ./internal/...

# The slow half: first the rooms that test against a real API server, then Cairn as a whole.
.PHONY: test
test: build tools test-unit ## Run all tests (under 10 minutes; GOTESTFLAGS="-race -run X" to choose)
	@rooms=$$(grep -rlE --include='*_test.go' '^//go:build .*\benvtest\b' internal | xargs -n1 dirname | sort -u | sed 's,^,./,') || true; \
	[ -z "$$rooms" ] || go test -tags envtest $(GOTESTFLAGS) $$rooms
	@go test -tags envtest $(GOTESTFLAGS) $(patsubst %,./%/...,$(wildcard cmd charts web dev test))

.PHONY: bench
bench: build tools ## Measure; GOTESTFLAGS="-count 10" for benchstat
	@go test -tags envtest -run '^$$' -bench . -benchmem $(GOTESTFLAGS) ./...

FUZZ ?= .*
FUZZTIME ?= 10s
.PHONY: fuzz
fuzz: ## Run the fuzzers, FUZZTIME=10s each; FUZZ="Verify|Glob" chooses
	@tools/fuzz '$(FUZZ)' $(FUZZTIME)

.PHONY: lint
lint: $(BIN)/golangci-lint ## Run the linters, which also keep the rooms apart
	@failed=; for module in api .; do (cd $$module && $(BIN)/golangci-lint run ./...) || failed=1; done; [ -z "$$failed" ]

.PHONY: verify
verify: $(BIN)/controller-gen $(BIN)/golangci-lint ## Check that what is generated, formatted and pinned is as it should be
	@tools/verify $(BIN)

##@ Change

.PHONY: fmt
fmt: $(BIN)/golangci-lint ## Format the Go files
	@$(BIN)/golangci-lint fmt ./...

.PHONY: generate
generate: $(BIN)/controller-gen ## Write deepcopy functions and CRDs from the API's types
	@cd api && $(BIN)/controller-gen object crd paths=./... output:crd:dir=../charts/cairn/crds

.PHONY: clean
clean: ## Remove bin/ (the tools stay in the cache)
	@rm -rf bin

.PHONY: help
help: ## Show this
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo; echo "Tools: $(BIN)"
