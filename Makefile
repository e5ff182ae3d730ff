# make demo: set up and run the demonstration.   make test: set up and run the tests.
.DEFAULT_GOAL := help
PYTHON ?= python3.11
BIN := .venv/bin
# Torch is installed first and by its exact pin: a looser requirement may bring gigabytes of CUDA libraries.
TORCH := $(shell grep '^torch==' constraints.txt)

help:
	@echo "make demo    set up, then show what DropGNN does (a minute)"
	@echo "make test    set up, then run the tests (ten minutes)"
	@echo "make heavy   the tests that take minutes: all of QM9"
	@echo "make check   tests, format, lint and types"
	@echo "make bench   measure plain, batched and shared training steps; set DROPGNN_DATA for real data"
	@echo "make pictures   draw the pictures of README and docs again"
	@echo "make forget     delete compiled loops, after changing one that others call"

.venv/ready: constraints.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[chem,cli,cluster,orbits,test,check]'
	@touch $@

demo: .venv/ready
	$(BIN)/dropgnn demo

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --dist worksteal

heavy: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -m heavy

check: test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy dropgnn tests examples docs benchmarks

pictures: .venv/ready
	$(BIN)/python docs/make_pictures.py

bench: .venv/ready
	$(BIN)/python -m benchmarks.run

forget:
	find dropgnn -name '*.nbi' -delete -o -name '*.nbc' -delete

clean: forget
	rm -rf .venv build *.egg-info

.PHONY: help demo test heavy check pictures bench forget clean
