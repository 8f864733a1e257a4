# `make` lists what can be done.

GO       ?= go
PKGS     ?= ./... ./conformance/... ./bench/...
TIME     ?= 2m
FUZZTIME ?= 10s
REVISION  = $(shell rev=$$(git rev-parse --short=12 HEAD 2>/dev/null) && { git diff --quiet HEAD || rev=$$rev+changed; echo $$rev; })
TOOLS    := $(CURDIR)/.cache/tools

TOOL_gofumpt     := mvdan.cc/gofumpt
TOOL_staticcheck := honnef.co/go/tools/cmd/staticcheck
TOOL_benchstat   := golang.org/x/perf/cmd/benchstat
TOOL_gotestsum   := gotest.tools/gotestsum

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## play the guide to guaranteed minimum bandwidth in a cloud that goes away
	bin/berth up --run-guide

.PHONY: up
up: build ## run Berth on this machine with an example loaded
	bin/berth up

.PHONY: build
build: ## build bin/berth, static, without symbols
	CGO_ENABLED=0 GOWORK=off $(GO) build -trimpath -ldflags "-s -w -X main.version=$$(./scripts/version) -X main.revision=$(REVISION)" -o bin/berth ./cmd/berth

.PHONY: console
console: ## build the pages of the console, console/dist, from console/src; fetches npm packages once
	$(GO) -C console/build run .

.PHONY: console-pictures
console-pictures: ## take pictures of the console's pages, of each size and colour scheme, into bin/pictures
	rm -rf bin/pictures && mkdir -p bin/pictures
	$(GO) test ./conformance/console -count=1 -artifacts -outputdir $(CURDIR)/bin/pictures

.PHONY: console-check
console-check: $(TOOLS)/staticcheck ## refuse a console/dist that is not what console/src gives; the tests of its builder
	$(GO) -C console/build vet ./...
	cd console/build && $(TOOLS)/staticcheck ./...
	$(GO) -C console/build test ./...
	$(GO) -C console/build run . -verify

.PHONY: check
check: format sizes vet staticcheck unit ## what must pass before a commit; under a minute when warm

.PHONY: format
format: $(TOOLS)/gofumpt ## refuse files that gofumpt would change
	@files=$$(git ls-files -co --exclude-standard '*.go') || { echo "make format needs git and a clone"; exit 1; }; \
	out=$$($(TOOLS)/gofumpt -l $$files) || exit 1; \
	if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi

.PHONY: sizes
sizes: ## refuse tracked files over 1 MiB outside testdata
	@./scripts/size-check

.PHONY: vet
vet: ## go vet
	$(GO) vet $(PKGS)

.PHONY: staticcheck
staticcheck: $(TOOLS)/staticcheck ## staticcheck
	$(TOOLS)/staticcheck $(PKGS)

.PHONY: unit
unit: ## the tests next to the code
	$(GO) test -short -ldflags='-s -w' ./...

.PHONY: test
test: ## everything CI runs: installs Debian packages, race detector, real service and clients
	./scripts/test

.PHONY: nightly
nightly: ## what takes too long for that: 500,000 fuzzed requests, larger sweeps, longer comparisons; hours
	./scripts/nightly

.PHONY: deb
deb: ## build dist/berth_VERSION_ARCH.deb
	./scripts/deb

.PHONY: release
release: ## build dist/VERSION: programs, packages and images for amd64 and arm64, SBOM, checksums, notes
	./scripts/release

.PHONY: man
man: ## write the manual pages to dist/man
	./scripts/man

.PHONY: neutron
neutron: ## compare all dialogues and scripts of the network service with Debian's Neutron
	$(GO) test ./conformance/neutron -run TestReference -count 1 -timeout 2h -args -all
	$(GO) test ./conformance/guide -run TestUpstream -count 1 -timeout 1h -args -upstream

.PHONY: differential
differential: ## compare with Debian's Placement for TIME (TIME=1h)
	$(GO) test ./conformance -count=1 -run '^TestDifferential$$' -timeout 0 -v -differential.time=$(TIME)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	FUZZTIME=$(FUZZTIME) ./scripts/fuzz

.PHONY: bench
bench: ## measure Berth next to a canned server and upstream's; a quarter of an hour
	$(GO) run ./bench $(BENCHFLAGS)

.PHONY: bench-short
bench-short: ## measure ratios in small clouds and hold them against those recorded; CI has some of its rows
	$(GO) run ./bench -short $(BENCHFLAGS)

.PHONY: bench-record
bench-record: ## record those ratios, on a machine that does nothing else; half an hour
	$(GO) run ./bench -short -record $(BENCHFLAGS)

.PHONY: bench-boots
bench-boots: ## boot 2,000 servers with guaranteed ports on 1,000 hosts
	$(GO) run ./bench -rows '^boots$$' $(BENCHFLAGS)

.PHONY: bench-go
bench-go: ## run the Go benchmarks once
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-compare
bench-compare: $(TOOLS)/benchstat ## compare the Go benchmarks with those of BASE=revision
	./scripts/bench-compare $(BASE)

.PHONY: tidy
tidy: ## bring go.mod and go.sum of each module into order
	for module in . conformance bench console/build tools; do (cd $$module && GOWORK=off $(GO) mod tidy) || exit 1; done

$(TOOLS)/%: tools/go.mod tools/go.sum
	@mkdir -p $(TOOLS)
	cd tools && GOWORK=off GOBIN=$(TOOLS) $(GO) install $(TOOL_$*)
