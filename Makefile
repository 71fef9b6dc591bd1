# polygrad: `make demo` shows it, `make test` proves it, `make help` lists the rest.
SHELL := /bin/bash
GO ?= go
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
LIB := build/libpolygrad.so
VERSION := $(shell sed -n 's/^.define POLY_VERSION "\(.*\)"/\1/p' include/polygrad.h)
SONAME := libpolygrad.so.$(firstword $(subst ., ,$(VERSION)))
# The same library with a SONAME, for programs that are linked with it, and as an archive.
LINKED_LIB := build/libpolygrad.so.$(VERSION)
WASM := build/polygrad.wasm
STATIC_LIB := build/libpolygrad.a
export PREFIX LIBDIR INCLUDEDIR DESTDIR

GO_SOURCES := go.mod go.sum $(wildcard *.go) $(shell find capi core exec model render variable include -type f \
	\( -name '*.go' -o -name '*.[chs]' -o -name '*.map' -o -name '*.rules' -o -name '*.pgo' -o -name '*.bin' \) ! -name '*_test.go' 2>/dev/null)
PY_SOURCES := $(shell find bindings/python -type f \( -name '*.py' -o -name 'pyproject.toml' \) \
	! -path '*/tests/*' ! -path '*/build/*' 2>/dev/null)
JS_SOURCES := bindings/js/index.js bindings/js/package-lock.json $(wildcard bindings/js/scripts/*.mjs) \
	$(shell find bindings/js/lib -name '*.*js')
# The package for browsers.
WEB := build/js
SITE := build/site
# The frameworks that the benchmark compares with.
PEERS := build/peers
# Those that results are compared with.
TEST_PEERS := build/test-peers
PY_CHECKED := bindings/python examples scripts bench tests

.PHONY: help build demo demo-web test test-fast test-peers go ci bench bench-web bench-gpu bench-fuzz bench-sweep bench-variations parity profile generate fmt lint web site serve install uninstall clean
.DEFAULT_GOAL := help

help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(LIB) $(LINKED_LIB) $(LIB).gz ## build the shared library into build/

wasm: $(WASM) ## build the library as WebAssembly: build/polygrad.wasm

demo-web: site ## train on the digits in a page of headless Chromium, and keep a picture of it
	@scripts/require.sh chromium
	scripts/binding.sh browser
	node tests/browser/show.mjs $(SITE) index.html --screenshot build/digits-web.png

demo: $(VENV)/installed ## train on real handwritten digits and draw the result
	$(PY) examples/digits.py

test: build $(VENV)/installed ## run every suite and say what each took; the last line is the sum
	@scripts/require.sh clang || echo "without clang its tests are skipped: it is only compared with"
	$(PY) scripts/run_tests.py

test-fast: $(VENV)/installed ## make go, then nine files of Python's tests: under two minutes
	$(PY) scripts/run_tests.py fast-go fast-python

go: ## Go's tests of all packages with -short: fewer numbers, one level; no package that is as it was
	$(PYTHON) scripts/run_tests.py fast-go

test-peers: build $(VENV)/installed $(TEST_PEERS)/installed ## compare results with PyTorch's, transformers' and JAX's, whole
	$(PY) scripts/run_tests.py --all peers

ci: ## make test, with a part of what make test-peers compares if that can be installed
	$(MAKE) $(TEST_PEERS)/installed || echo "PyTorch and transformers cannot be installed: they are not compared with"
	$(MAKE) test

bench: build $(VENV)/installed $(PEERS)/installed ## measure speed and write bench/RESULTS.md and bench/SWEEP.md
	scripts/require.sh gcc g++ clang
	scripts/binding.sh js
	scripts/binding.sh r
	$(PY) -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	$(PY) bench/run.py
	$(MAKE) bench-sweep
	$(MAKE) bench-transforms

bench-web: web ## time the package in a browser beside jax-js, onnxruntime-web and tfjs, and write bench/WEB.md
	@scripts/require.sh chromium
	scripts/binding.sh browser
	node bench/web/run.mjs --write bench/WEB.md

bench-fuzz: build $(VENV)/installed ## time random programs, fused and step by step; FUZZ="--seed 1000 --write bench/FUZZ.md"
	POLYGRAD_LIB=$(LIB) PYTHONPATH=bindings/python $(PY) bench/fuzz.py $(FUZZ)

bench-variations: build $(VENV)/installed $(PEERS)/installed ## time variations of the benchmark's shapes and write bench/VARIATIONS.md
	$(PY) bench/variations.py --write bench/VARIATIONS.md

bench-gpu: build $(VENV)/installed ## time programs on a GPU by the library that POLY_WEBGPU names and write bench/GPU.md
	POLYGRAD_LIB=$(LIB) PYTHONPATH=bindings/python $(PY) bench/gpu.py --write bench/GPU.md

bench-transforms: build $(VENV)/installed $(TEST_PEERS)/installed ## time function transformations, loops and samplers against JAX and write bench/TRANSFORMS.md
	POLYGRAD_LIB=$(LIB) PYTHONPATH=bench:bindings/python $(TEST_PEERS)/bin/python bench/transforms.py --write bench/TRANSFORMS.md

bench-sweep: build $(VENV)/installed $(PEERS)/installed ## time every operation, with gradients, and write bench/SWEEP.md; SWEEP="--only sort"
	PYTHONPATH=bench:bindings/python $(PY) -m sweep $(or $(SWEEP),--write bench/SWEEP.md)

parity: $(VENV)/installed ## compare the kernels with tinygrad's: case by case, and of programs in Python
	$(GO) run ./tests/parity/cmd/parity
	$(PY) tests/parity/programs/compare.py

profile: ## profile the compiler, which the next build is made faster by
	$(GO) run ./bench/cold -reps 40 -cpuprofile capi/default.pgo

generate: ## compile the .rules files to Go
	$(GO) generate ./...

fmt: $(VENV)/tools ## format Go, Python and JavaScript
	gofmt -w $$(git ls-files '*.go')
	$(VENV)/bin/ruff format $(PY_CHECKED)
	$(VENV)/bin/ruff check --fix $(PY_CHECKED)
	scripts/binding.sh js
	cd bindings/js && npx eslint --fix .

lint: $(VENV)/installed ## the linters of Go, C, Python and JavaScript
	$(PY) scripts/run_tests.py lint

web: $(WEB)/polygrad.js ## build the package for browsers into build/js: a module, and polygrad.wasm in three parts beside it

site: web ## put the site together in build/site: static files
	node scripts/site.mjs $(SITE)

serve: site ## serve the site to a browser of this machine, isolated; PORT=8080
	node scripts/serve.mjs $(SITE) --port $(or $(PORT),8080)

install: $(LINKED_LIB) $(STATIC_LIB) ## install the libraries and the header; PREFIX=/usr/local, DESTDIR=
	@scripts/install.sh install $^

uninstall: ## remove what install put there
	@scripts/install.sh uninstall

clean: ## remove everything that was built
	rm -rf build $(VENV) bindings/python/build bindings/js/node_modules bindings/js/native bindings/js/web
	rm -rf .pytest_cache .mypy_cache .ruff_cache
	rm -f examples/digits.png

$(WEB)/polygrad.js: $(JS_SOURCES) $(WEB)/polygrad.wasm
	node bindings/js/scripts/bundle.mjs $(WEB)

$(WEB)/polygrad.wasm: $(GO_SOURCES) scripts/wasm.sh $(wildcard scripts/wasmlink/*.go) bindings/js/scripts/profile.mjs
	@scripts/require.sh $(GO)
	scripts/binding.sh js
	GO='$(GO)' scripts/wasm.sh --divided $(WEB)

$(LIB): $(GO_SOURCES)
	@scripts/require.sh gcc $(GO)
	GO='$(GO)' scripts/library.sh $@

$(WASM): $(GO_SOURCES) scripts/wasm.sh $(wildcard scripts/wasmlink/*.go)
	@scripts/require.sh $(GO)
	GO='$(GO)' scripts/wasm.sh $@

# What the R package carries, by a link in bindings/r/tools.
$(LIB).gz: $(LIB)
	gzip -9nc $< >$@

$(LINKED_LIB): $(GO_SOURCES)
	@scripts/require.sh gcc $(GO)
	GO='$(GO)' scripts/library.sh $@ $(SONAME)

$(STATIC_LIB): $(GO_SOURCES)
	@scripts/require.sh gcc $(GO)
	GO='$(GO)' scripts/library.sh $@

$(VENV)/tools: scripts/requirements.txt
	@scripts/require.sh $(PYTHON)
	$(PYTHON) -m venv --clear $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r scripts/requirements.txt
	@touch $@

$(PEERS)/installed: $(wildcard bench/peers/requirements*.txt) bench/peers/install.py
	@scripts/require.sh $(PYTHON) gcc nm
	$(PYTHON) bench/peers/install.py $(PEERS)
	@touch $@

$(TEST_PEERS)/installed: $(wildcard tests/peers/requirements*.txt bench/peers/requirements-alone.txt) tests/peers/install.py bench/peers/install.py
	@scripts/require.sh $(PYTHON) gcc nm
	$(PYTHON) tests/peers/install.py $(TEST_PEERS)
	@touch $@

$(VENV)/installed: $(VENV)/tools $(LIB) $(PY_SOURCES)
	$(PY) -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps ./bindings/python
	@touch $@
