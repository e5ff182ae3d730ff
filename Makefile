# make demo: set up and run the demonstration.   make test: set up and run the tests.
.DEFAULT_GOAL := help
# Pythons to look for, in this order; make PYTHON=... takes that one. Another Python for .venv: make clean first.
PYTHONS := $(or $(PYTHON),python3.13 python3.12 python3.11 python3)
BIN := .venv/bin
PIP := pip install --quiet --disable-pip-version-check
# Torch is installed first and by its exact pin: a looser requirement may bring gigabytes of CUDA libraries.
TORCH := $(shell grep '^torch==' constraints.txt)

help:
	@echo "make demo      set up, then show what DropGNN does (a minute)"
	@echo "make test      set up, then run the tests (five minutes)"
	@echo "make heavy     the tests that take long: a hundred kills, 10^5 damaged files, all of QM9"
	@echo "make check     tests, format, lint, types and package"
	@echo "make lint      format, lint and types"
	@echo "make package   build the package, install it into an empty environment and try it there"
	@echo "make lowest    the tests with the oldest packages that pyproject.toml allows"
	@echo "make newest    the tests with the newest packages"
	@echo "make bench     measure plain, batched and shared training steps; set DROPGNN_DATA for real data"
	@echo "make pictures  draw the pictures of README and docs again"
	@echo "make forget    delete compiled loops, after changing one that others call"
	@echo "make clean     delete environments, builds and compiled loops"
	@echo "PYTHON=python3.12 make ... sets up with that Python; otherwise the first of $(PYTHONS)"

# A Python counts if it runs (pyenv has commands that only say where another is), is not too old and can make environments.
.venv/bin/python:
	@for python in $(PYTHONS); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    if "$$python" -c 'import ensurepip, venv' 2>/dev/null; then exec "$$python" -m venv --clear .venv; fi; \
	    lacks="$$lacks $$python"; \
	done; \
	if [ -n "$$lacks" ]; then echo "make: no module venv in$$lacks: install it (Debian, Ubuntu: apt install python3-venv)"; \
	else echo "make: none of $(PYTHONS) is a Python >= 3.11 that runs: install one (Debian, Ubuntu: apt install python3-venv), or name it: make PYTHON=..."; \
	fi >&2; exit 1

.venv/ready: constraints.txt pyproject.toml .venv/bin/python
	$(BIN)/$(PIP) $(TORCH)
	$(BIN)/$(PIP) --constraint constraints.txt --editable '.[chem,cli,cluster,test,check]'
	@$(BIN)/$(PIP) --constraint constraints.txt pynauty >/dev/null 2>&1 \
	    || echo "make: pynauty could not be built (it needs a C compiler and make); its tests are skipped" >&2
	@touch $@

demo: .venv/ready
	$(BIN)/dropgnn demo

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist worksteal

heavy: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -m heavy

check: test lint package

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy dropgnn tests examples docs benchmarks

# All tracked files are in the source distribution, and the wheel works without the repository.
package: .venv/ready
	rm -rf dist .venv-wheel
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	tar -tzf dist/*.tar.gz | sed 's,[^/]*/,,' | sort >dist/.files
	! git ls-files | sort | comm -23 - dist/.files | grep .
	$(BIN)/python -m venv .venv-wheel
	.venv-wheel/bin/$(PIP) $(TORCH)
	.venv-wheel/bin/$(PIP) --constraint constraints.txt "$$(ls dist/*.whl)[cli]"
	awk '/^```/ {inside = ! inside && $$0 == "```python"; found += inside; next} inside && found == 1' README.md >.venv-wheel/example.py
	cd .venv-wheel && bin/python example.py && bin/dropgnn --help >/dev/null && bin/python -m pip check

# Wheels only, or old packages would be built from source; pynauty has none.
lowest newest: .venv/ready
	$(BIN)/uv venv --quiet --clear --python "$(or $(PYTHON),$(BIN)/python)" .venv-$@
	$(BIN)/uv pip install --quiet --python .venv-$@/bin/python --only-binary :all: --no-binary pynauty \
	    --resolution $(if $(filter lowest,$@),lowest-direct,highest) \
	    --extra chem --extra cli --extra cluster --extra orbits --extra test -r pyproject.toml
	$(BIN)/uv pip install --quiet --python .venv-$@/bin/python --no-deps --editable .
	OMP_NUM_THREADS=1 .venv-$@/bin/python -m pytest -q -n 2 --dist worksteal

pictures: .venv/ready
	$(BIN)/python docs/make_pictures.py

bench: .venv/ready
	$(BIN)/python -m benchmarks.run

forget:
	find dropgnn -name '*.nbi' -delete -o -name '*.nbc' -delete

clean: forget
	rm -rf .venv .venv-* build dist *.egg-info

.PHONY: help demo test heavy check lint package lowest newest pictures bench forget clean
