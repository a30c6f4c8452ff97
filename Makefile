# Everything runs in .venv, which `make setup` fills from the package registry.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
STAMP_DEV := $(VENV)/.installed-dev
VENV_VISION := .venv-vision
STAMP_VISION := $(VENV_VISION)/.installed
SEED ?= 7

.PHONY: demo test test-slow test-vision lint typecheck format docs bench ui setup setup-dev clean

setup: $(STAMP)
setup-dev: $(STAMP_DEV)

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv

$(STAMP): pyproject.toml | $(BIN)/uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -e .
	touch $@

$(STAMP_DEV): pyproject.toml | $(BIN)/uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -e ".[dev]"
	touch $@ $(STAMP)

$(STAMP_VISION): pyproject.toml | $(BIN)/uv
	$(BIN)/uv venv --quiet --allow-existing --python $(PYTHON) $(VENV_VISION)
	$(BIN)/uv pip install --quiet --python $(VENV_VISION)/bin/python -e ".[dev,vision]"
	touch $@

demo: $(STAMP)
	$(BIN)/geb demo --seed $(SEED)

ui: $(STAMP)
	$(BIN)/geb ui

test: $(STAMP_DEV)
	$(BIN)/pytest -m "not slow"

test-slow: $(STAMP_DEV)
	$(BIN)/pytest -m slow

# The paper's libraries, 6.7 GB, in an environment of their own.
test-vision: $(STAMP_VISION)
	YOLO_CONFIG_DIR=$(VENV_VISION)/ultralytics HF_HUB_OFFLINE=1 \
		$(VENV_VISION)/bin/pytest -m vision

lint: $(STAMP_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

typecheck: $(STAMP_DEV)
	$(BIN)/mypy

format: $(STAMP_DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(STAMP)
	$(BIN)/python -m geb_assets.tables > docs/tables.md

bench: $(STAMP_DEV)
	$(BIN)/python -m evaluation.bench.association --json
	$(BIN)/python -m evaluation.bench.writing --json
	$(BIN)/python -m evaluation.bench.calls --json

clean:
	rm -rf $(VENV) $(VENV_VISION) build dist *.egg-info
