# Two commands do everything: `make demo` and `make test`. They set themselves up; nothing else need be installed first.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The wheel is byte-compiled as pip does it, whatever this shell's PYTHONDONTWRITEBYTECODE says.
PIP := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pip --quiet --disable-pip-version-check

.PHONY: demo test soak bench check clean

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("jig needs Python 3.11 or newer; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --compile --editable '.[app]'
	@touch $@

$(VENV)/dev: $(VENV)/ready
	@echo "installing what the tests need"
	@$(BIN)/python tools/install_tests.py
	@touch $@

demo: $(VENV)/ready
	@rm -rf demo
	@$(BIN)/jig project create --path demo/digits --template digits
	@echo
	@cd demo/digits && PATH="$(CURDIR)/$(BIN):$$PATH" jig experiment submit -c local train.py --epochs 3
	@echo
	@echo "the record:"
	@cd demo/digits && $(CURDIR)/$(BIN)/jig history list -o table
	@echo
	@echo "try next (after: source $(VENV)/bin/activate; cd demo/digits):"
	@echo "  jig submit -c local train.py --epochs 10     another run"
	@echo "  jig submit -c local --dry-run train.py       what a run would do"
	@echo "  jig history info -a outputs/model.json       what the last run left"

test: $(VENV)/dev
	@$(BIN)/ruff check src tests bench tools
	@$(BIN)/ruff format --check src tests bench tools
	@for platform in linux darwin win32; do echo "mypy --platform $$platform"; $(BIN)/mypy --platform $$platform || exit 1; done
	@$(BIN)/python tools/all_tests.py

soak: $(VENV)/dev
	@$(BIN)/python -m pytest -m soak -s --timeout 7200

bench: $(VENV)/ready
	@$(PYTHON) bench/run.py

clean:
	rm -rf $(VENV) demo .cache .mypy_cache .ruff_cache .pytest_cache
