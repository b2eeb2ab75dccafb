# From python3 alone: `make test` sets up an environment of its own and runs every check.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help learn install test check benchmark figures clean

help:
	@echo "make learn      learn all tasks of CraftWorld OP, machines and policies, from interaction"
	@echo "make install    set up $(VENV) with the package and everything needed to work on it"
	@echo "make test       all checks: style, types, layers, tests"
	@echo "make check      the checks without the tests"
	@echo "make benchmark  the figures that the README quotes"
	@echo "make figures    the pictures in docs/images"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test]"
	@touch $@

learn: $(STAMP)
	$(BIN)/python benchmarks/lhrm.py op

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest -n auto

benchmark: $(STAMP)
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/envs.py
	$(BIN)/python benchmarks/training.py speed

figures: $(STAMP)
	@mkdir -p docs/images
	$(BIN)/hrm draw craftworld/book -o docs/images/book.svg --engine builtin
	for s in op opl fr frl; do $(BIN)/hrm play craftworld --setting $$s --png docs/images/craftworld-$$s.png; done
	for s in wod wd; do $(BIN)/hrm play waterworld --setting $$s --png docs/images/waterworld-$$s.png; done
	$(BIN)/hrm play craftworld --setting op --task bucket --random --steps 120 --gif docs/images/bucket.gif

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
