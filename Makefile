# From python3 alone: `make test` sets up an environment of its own and runs every check.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
RAY_STAMP := $(VENV)/.installed-ray
WORLDS_VENV  := .venv-worlds
WORLDS_STAMP := $(WORLDS_VENV)/.installed
MONA_VENV  := .venv-mona
MONA_STAMP := $(MONA_VENV)/.installed
DOCS_VENV  := .venv-docs
DOCS_STAMP := $(DOCS_VENV)/.installed
WORLDS_EXTRAS := sb3,xland
STUDIO_PARTS  := build/studio-parts
STUDIO_VENV   := .venv-studio
STUDIO_STAMP  := $(STUDIO_VENV)/.installed
# The tag of the wheels goes with the version of Pyodide.
PYODIDE       := 314.0.7
PYODIDE_TAG   := pyemscripten_2026_0_wasm32
RELEASE := .release
RUN    := runs/learn-craftworld-op-fresh-0
QUICK_RUN := runs/quick

.PHONY: help learn install test test-docs test-ray test-worlds test-mona release-check check style types layers results speed benchmark figures docs
.PHONY: studio test-studio clean

help:
	@echo "make learn      learn machines and policies of all tasks of CraftWorld OP, for grids never seen; go on if begun"
	@echo "                (QUICK=1: three tasks, in a minute or two)"
	@echo "make install    set up $(VENV) with the package and everything needed to work on it"
	@echo "make test       all checks: style, types, layers, tests, and a quick run"
	@echo "make test-docs  all code and commands of the documents, also what takes minutes; about 20 minutes"
	@echo "make test-ray   studies on a real Ray cluster of two nodes; installs the extra ray (some minutes)"
	@echo "make test-worlds   agents and worlds of other libraries, in an environment of its own: $(WORLDS_VENV)"
	@echo "make test-mona   machines of LTLf formulas beside the automata of MONA (a Debian package), through LTLf2DFA"
	@echo "make studio     the Studio as a folder that any web server can serve, build/studio; needs npm"
	@echo "make test-studio   the Studio in a real browser: Debian's package chromium, or the path in BROWSER"
	@echo "make release-check   build both distributions, and try the wheel in a clean environment, in $(RELEASE)"
	@echo "make check      the checks without the tests"
	@echo "make results    docs/results.md and its figures, and docs/speed.md, from what is in results"
	@echo "make speed      docs/speed.md and the figures of README.md, from what is in results/speed"
	@echo "make benchmark  measure some of the figures in docs/speed.md; RECORD=1 keeps them in results/speed"
	@echo "make figures    the pictures in docs/images"
	@echo "make docs       the documentation site, in the folder site; no broken link, no warning"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test]"
	@touch $@

$(RAY_STAMP): $(STAMP)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test,ray]"
	@touch $@

# PyTorch is large, and other libraries have their own wishes about versions: they stay out of $(VENV).
$(WORLDS_STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(WORLDS_VENV)
	$(WORLDS_VENV)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable ".[test,$(WORLDS_EXTRAS)]"
	@touch $@

# The benchmark runs in $(VENV), and asks the Python of this environment for automata.
$(MONA_STAMP): constraints.txt
	$(PYTHON) -m venv $(MONA_VENV)
	$(MONA_VENV)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt ltlf2dfa
	@touch $@

# Who only works on the package needs no site generator: it stays out of $(VENV). Ruff breaks long signatures.
$(DOCS_STAMP): constraints.txt
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		zensical "mkdocstrings[python]" ruff
	@touch $@

learn: $(STAMP)
ifdef QUICK
	rm -rf $(QUICK_RUN)
	$(BIN)/hrm learn craftworld --setting op --quick -o $(QUICK_RUN)
else
	$(BIN)/hrm learn craftworld --setting op --instances fresh -o $(RUN) $(if $(wildcard $(RUN)/config.json),--resume)
	@$(BIN)/hrm show $(RUN)
endif

check: $(STAMP)
	$(MAKE) --jobs=2 style types layers

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

# The quick run takes about as long as the types, and both use little more than a core.
test: $(STAMP)
	$(MAKE) --jobs=2 style types layers learn QUICK=1
	$(BIN)/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder

results: $(STAMP) speed
	$(BIN)/hrm study report -o docs/results.md

speed: $(STAMP)
	$(BIN)/python benchmarks/speed_page.py

# Clusters take all cores for themselves, so these tests come one after the other, and apart from the others.
test-ray: $(RAY_STAMP)
	TEST_RAY=1 $(BIN)/python -m pytest -n 0 tests/cluster

# Every code block and shell line of the documents for real, compiled as everybody else's programs are.
test-docs: $(STAMP)
	TEST_DOCS=1 HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n 0 tests/docs/test_blocks.py

test-worlds: $(WORLDS_STAMP)
	TEST_WORLDS=1 $(WORLDS_VENV)/bin/python -m pytest -n 0 tests/worlds

test-mona: $(STAMP) $(MONA_STAMP)
	@command -v mona > /dev/null || { echo "MONA is not installed: apt-get install mona, as root" >&2; exit 2; }
	$(BIN)/python benchmarks/ltlf.py --same 500 --ltlf2dfa $(MONA_VENV)/bin/python

# What others would install: built, compared with what git tracks, and tried where nothing of the repository is in sight.
release-check:
	rm -rf $(RELEASE)
	$(PYTHON) -m venv $(RELEASE)/tools
	$(RELEASE)/tools/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt build twine
	$(RELEASE)/tools/bin/python -m build --outdir $(RELEASE)/dist . > $(RELEASE)/build.log
	$(RELEASE)/tools/bin/twine check --strict $(RELEASE)/dist/*
	$(RELEASE)/tools/bin/python tests/release/contents.py $(RELEASE)/dist
	$(PYTHON) -m venv $(RELEASE)/clean
	wheel=$$(ls $(RELEASE)/dist/*.whl); for extra in core train; do \
		$(RELEASE)/clean/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
			"$$wheel$$(test $$extra = core || echo "[$$extra]")" && \
		(cd / && "$(CURDIR)/$(RELEASE)/clean/bin/python" -P "$(CURDIR)/tests/release/smoke.py" $$extra) && \
		du -sh $(RELEASE)/clean || exit 1; \
	done

benchmark: $(STAMP)
	$(BIN)/python benchmarks/core.py $(if $(RECORD),--record)
	$(BIN)/python benchmarks/envs.py $(if $(RECORD),--record)
	$(BIN)/python benchmarks/training.py speed $(if $(RECORD),--record)

figures: $(STAMP)
	$(BIN)/python benchmarks/gallery.py
	$(BIN)/python benchmarks/ltlf_page.py
	$(BIN)/hrm draw docs/images/concepts/lhrm.yaml -o docs/images/concepts/lhrm.svg
	$(BIN)/hrm draw craftworld/book -o docs/images/book.svg
	for s in op opl fr frl; do $(BIN)/hrm play craftworld --setting $$s --png docs/images/craftworld-$$s.png; done
	$(BIN)/hrm play office --png docs/images/office.png
	$(BIN)/hrm play craft --setting m1 --task get-gem --png docs/images/craft-m1.png
	for s in wod wd; do $(BIN)/hrm play waterworld --setting $$s --png docs/images/waterworld-$$s.png; done
	$(BIN)/hrm play craftworld --setting op --task bucket --random --steps 120 -o docs/images/bucket.gif
	$(BIN)/hrm play waterworld --setting wod --task rg --random --steps 60 --instance 1 -o docs/images/water.gif

# The commands are asked for their help, hence both environments.
docs: $(STAMP) $(DOCS_STAMP)
	$(BIN)/python benchmarks/site_pages.py build/docs
	$(BIN)/python benchmarks/reference_pages.py build/docs/reference
	$(DOCS_VENV)/bin/zensical build --strict --clean

# Everything that the page needs, once: Pyodide from npm, and the wheels that are built for it.
$(STUDIO_PARTS)/.fetched: Makefile constraints.txt $(STAMP)
	@command -v npm > /dev/null || { echo "npm is not installed: apt-get install npm, as root" >&2; exit 2; }
	rm -rf $(STUDIO_PARTS)
	mkdir -p $(STUDIO_PARTS)
	cd $(STUDIO_PARTS) && npm pack --silent pyodide@$(PYODIDE)
	$(BIN)/pip download --quiet --disable-pip-version-check --constraint constraints.txt --no-deps --only-binary :all: \
		--platform $(PYODIDE_TAG) --platform any --python-version 3.14 --implementation cp \
		--abi cp314 --abi none --dest $(STUDIO_PARTS) python-sat six
	@touch $@

studio: $(STUDIO_PARTS)/.fetched
	$(BIN)/python benchmarks/studio_pages.py $(STUDIO_PARTS) build/studio

$(STUDIO_STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(STUDIO_VENV)
	$(STUDIO_VENV)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable ".[test]" playwright
	@touch $@

test-studio: studio $(STUDIO_STAMP)
	@test -n "$(BROWSER)" || command -v chromium > /dev/null || \
		{ echo "there is no browser: apt-get install chromium, as root, or its path in BROWSER" >&2; exit 2; }
	TEST_STUDIO=build/studio $(STUDIO_VENV)/bin/python -m pytest -n 0 tests/browser

clean:
	rm -rf $(VENV) $(WORLDS_VENV) $(MONA_VENV) $(DOCS_VENV) $(STUDIO_VENV) $(RELEASE) build site .cache dist
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
