# The front door. Every target calls a script in .ci/ or Deno; ARGS goes to it: make test ARGS="--filter hmac"

# Behind a private CA, Deno 2.7 and npm refuse the registry unless told to look at the system's store.
export DENO_TLS_CA_STORE ?= system,mozilla
export NODE_EXTRA_CA_CERTS ?= $(wildcard /etc/ssl/certs/ca-certificates.crt)
# Where a build machine keeps what it cannot download: a base for compiled programs (tools/denort) and
# example payloads (payloads/). Empty where there is none; the tests that need it then say so.
export SVC_SHARED ?= $(abspath $(wildcard ../shared))
# Where Deno keeps its packages: in the checkout, as a build looks the same only with them there.
export DENO_DIR := $(CURDIR)/.deno/cache
.DEFAULT_GOAL := help
.PHONY: help console demo demo-cluster test test-all run check compile release embed docs site pictures bench faults soak fmt clean

help: ## print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: ## show the main job: a signed push from GitHub starts a workflow
	@.ci/demo $(ARGS)

demo-cluster: ## show three daemons over one PostgreSQL, one of which is killed
	@.ci/demo --cluster

test: ## run the tests, end to end on the compiled programs
	@.ci/test $(ARGS)

test-all: ## the same, over PostgreSQL, too, and what takes long: kills, floods, browsers, a soak
	@.ci/test --all $(ARGS)

run: ## start a daemon to play with, on ~/.svc
	@.ci/svc init && exec .ci/svc daemon $(ARGS)

console: ## work on the console's page: svc console that bundles it anew on every change
	@.ci/page && deno=$$(.ci/deno) && exec "$$deno" run --allow-all console/develop.ts $(ARGS)

check: ## check format, lint, types, documentation and architecture
	@.ci/check

compile: ## build dist/svc, and dist/svcd, the daemon alone, a link to it
	@.ci/compile

release: ## pack dist/release: make release VERSION=0.2.0, ARGS=--check to build it twice and compare
	@.ci/release $(ARGS) "$(VERSION)"

embed: ## put the packages of integrations/ into the program, after changing them
	@deno=$$(.ci/deno) && exec "$$deno" run --allow-read --allow-write integrations/embed.ts

docs: ## write docs/commands.md and the table of platforms, after changing src/cli/ or src/platforms/
	@deno=$$(.ci/deno) && for script in platform_tables command_reference; do \
	  "$$deno" run --allow-read --allow-write --allow-env docs/$$script.ts || exit; done

site: ## build dist/site, the pages of docs/ as a site that opens by a double click: ARGS="--repository URL"
	@deno=$$(.ci/deno) && exec "$$deno" run --allow-read --allow-write --allow-run --allow-env packaging/site/site.ts $(ARGS)

pictures: ## make the pictures of docs/console.md anew, in Chromium
	@deno=$$(.ci/deno) && .ci/page && SVC_BROWSER=$$(.ci/browser) exec "$$deno" run -A --unstable-worker-options tools/pictures.ts

bench: ## measure speed, against targets: ARGS="--baseline PATH", "--only NAME", "--list"
	@deno=$$(.ci/deno) && .ci/page && SVC_BROWSER=$$(.ci/browser) && export SVC_BROWSER; \
	  exec "$$deno" run -A --unstable-worker-options tools/bench/bench.ts $(ARGS)

faults: ## the tests that kill, cut and roll dice, more often: make faults TIMES=10
	@SVC_TEST_TIMES=$(or $(TIMES),10) .ci/test --all $$(grep -rlE '\btimes\([0-9]+, ' tests --include='*_test.ts')

soak: ## everything at once, with kills, then the books are checked: make soak MINUTES=3 SEED=7 CLUSTER=1
	@MINUTES='$(MINUTES)' SEED='$(SEED)' CLUSTER='$(CLUSTER)' .ci/soak

fmt: ## format the sources
	@deno=$$(.ci/deno --pinned) && exec "$$deno" fmt

clean: ## remove what the other targets made, what was fetched included
	@rm -rf dist coverage .deno
