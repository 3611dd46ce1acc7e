# The commands that the README names. scripts/setup goes first wherever something may have to be installed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.PHONY: setup build demo test test-slow bench fuzz lint

GO := .deps/bin/go
FUZZTIME ?= 30s

# Go must not fetch another Go, nor change go.mod. It stamps the binary with the commit where git will read this checkout: git
# refuses one that belongs to another user, and Go would then refuse to build.
export GOTOOLCHAIN := local
export GOFLAGS := $(GOFLAGS) -mod=readonly -buildvcs=$(shell git rev-parse HEAD >/dev/null 2>&1 && echo true || echo false)
# nats-server lies in /usr/sbin, which is not in the path of users other than root.
export PATH := $(PATH):/usr/sbin
# Go keeps its caches in the home folder. Without one that can be written to, they stay in the checkout.
ifneq ($(shell test -w "$${HOME-}" && echo yes),yes)
export HOME := $(CURDIR)/.cache/home
endif

setup:
	@scripts/setup test

build:
	@scripts/setup
	@[ -e bin/tracker ] || echo "building bin/tracker, which takes minutes the first time" >&2
	$(GO) build -o bin/tracker ./cmd/tracker

demo: build
	bin/tracker run

# Tests that take longer than minutes have the build tag slow; vet compiles them here so that they cannot rot.
test: setup
	$(GO) vet ./...
	$(GO) vet -tags slow ./...
	$(GO) test -timeout 30m ./...

test-slow: setup
	$(GO) test -tags slow -timeout 2h ./...

bench: build
	$(GO) test -run '^$$' -bench . -benchmem ./...
	bin/tracker bench

# Every fuzz target there is, one after the other: go test -list prints a package's targets, then "ok" and the package. Making
# an interesting input smaller gets a second, not the minute that it would take by default.
fuzz: setup
	@$(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ { name[++n] = $$1 } /^ok/ { while (n) print $$2, name[n--] }' | \
	while read -r package name; do \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$package"; \
	done

lint: setup
	$(GO) vet ./...
	@unformatted=$$(git ls-files -z '*.go' | xargs -0 $$($(GO) env GOROOT)/bin/gofmt -l); \
	[ -z "$$unformatted" ] || { echo "not gofmt clean: $$unformatted" >&2; exit 1; }
