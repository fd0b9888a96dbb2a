# Everything happens inside .venv, made from the first Python >= 3.11 found; PYTHON=... chooses another.
# Sources are compiled at once, as pip does for a package that is not editable: importing should not pay for it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One BLAS thread a worker: two workers on two cores.
QUIET := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg
# What runs every time: not the long tests, nor those that need a browser or install packages.
ORDINARY := not soak and not pages and not packaging

.PHONY: demo test lint types tests coverage soak docs pages packaging bench results clean

demo: $(VENV)/.demo
	$(BIN)/fewatoms demo --figure demo.png --report demo.html --overwrite

test: lint types tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# Loops run compiled here; their own folder also runs them interpreted, which is what a line counter sees.
tests: $(VENV)/.dev
	$(QUIET) $(BIN)/python -m pytest -n 2 -m "$(ORDINARY)"

# What the tests that stand beside the sources reach: a few cases of each tell, and counting lines makes them slower.
coverage: $(VENV)/.dev
	$(QUIET) $(BIN)/python -m pytest -n 2 -m "$(ORDINARY)" --thin 4 \
		--ignore=tests/journeys --ignore=tests/theory \
		--ignore=tests/test_architecture.py --ignore=tests/test_benchmarks.py \
		--cov=fewatoms --cov-report=term --cov-fail-under=95

# The long ones: every combination, many seeds, large data.
soak: $(VENV)/.dev
	$(QUIET) $(BIN)/python -m pytest -n 2 -m "not pages and not packaging"

# Pages in docs/_build/html: warnings are errors, the scripts of the gallery run. Gallery and API pages are made anew
# where sources changed.
docs: $(VENV)/.docs
	$(QUIET) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The pages as built, and reports in a real browser: Debian's chromium, and axe-core where npm can get it; pictures of them
# in build/screenshots. Without a browser these tests are skipped, and say why.
pages: docs $(VENV)/.dev $(VENV)/.axe
	$(QUIET) FEWATOMS_SCREENSHOTS=build/screenshots $(BIN)/python -m pytest -n 2 -m "pages or soak" tests/pages tests/docs

# Everything of benchmarks in its quick form, meant for ten minutes; FORM= measures the full one, which takes hours.
FORM ?= --quick
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks bench $(FORM)

# The page of results and its pictures, from the files in benchmarks/results.
results: $(VENV)/.dev
	$(BIN)/python -m benchmarks page

# The wheel in an environment of its own, and the lowest versions that pyproject admits: they install packages.
packaging: $(VENV)/.dev
	$(QUIET) $(BIN)/python -m pytest -m packaging tests/packaging

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'fewatoms needs Python 3.11 or newer; say PYTHON=...')"
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[demo]"
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	$(BIN)/python -m compileall -q src
	touch $@ $(VENV)/.demo

# adelie and okridge ask for NumPy below 2 and run with 2 all the same. A peer that cannot be had is left out.
$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable ".[bench]"
	$(BIN)/python -m pip install --quiet --no-deps "adelie>=1.1" "okridge>=0.1.1" || true
	touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	$(BIN)/python -m compileall -q src
	touch $@

# The tests say what is missing where it could not be had.
$(VENV)/.axe: $(VENV)/bin/python
	if command -v npm > /dev/null; then npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4 || true; fi
	touch $@

clean:
	rm -rf $(VENV) build docs/_build docs/auto_gallery docs/api/generated demo.png demo.html .coverage .mypy_cache \
		.pytest_cache .ruff_cache
