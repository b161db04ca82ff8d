# Every target works offline once the modules are in the cache.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := check

GO         ?= go
FUZZTIME   ?= 30s
BENCH      ?= .
BENCHTIME  ?= 1s
SOAK_COUNT ?= 20
SOAK_PKGS  ?= ./journal/... ./evidence/... ./ledger/... ./server/...
TIMEOUT    ?= 20m

.PHONY: check test race fuzz bench soak lint

# Linters are used when installed. `make lint` fetches the pinned one.
check:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) test ./internal/tidy/... ./deploy/...
	@if command -v golangci-lint >/dev/null; then golangci-lint run; \
	elif command -v staticcheck >/dev/null; then staticcheck ./...; \
	else echo "golangci-lint and staticcheck are not installed: only vet and tidy ran ('make lint' fetches the linter)"; fi

lint:
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run

test:
	$(GO) test -timeout $(TIMEOUT) ./...

# The command that the tests of cli run has the race detector here too; see -raced there.
race:
	$(GO) test -race -timeout $(TIMEOUT) $$($(GO) list ./... | grep -v '/cli$$')
	$(GO) test -race -timeout $(TIMEOUT) ./cli -raced

# Targets are found by name, so a new one is picked up by itself. Every target runs, a failure fails the run at the end.
# Minimizing a new input may not eat the time: 20 tries, not a minute.
fuzz:
	@failed=0; found=0; \
	while IFS=: read -r file name; do \
		found=1; echo "== $$name in $$(dirname "$$file")"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "./$$(dirname "$$file")" </dev/null || failed=1; \
	done < <(grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed -e 's#^\./##' -e 's#:func #:#' | sort); \
	[ $$found -eq 1 ] || { echo "no fuzz target found"; exit 1; }; \
	exit $$failed

bench:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

soak:
	$(GO) test -race -count $(SOAK_COUNT) -timeout 0 $(SOAK_PKGS)
	@bin=$$(mktemp -d); trap 'rm -rf "$$bin"' EXIT; $(GO) build -o "$$bin/deed" ./cmd/deed; \
	for i in {1..10}; do echo "== demo $$i of 10"; "$$bin/deed" demo; done
