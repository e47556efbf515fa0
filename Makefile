# Two commands matter to a newcomer: `make demo` and `make test`. Both need python3 and make, nothing else.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-traps test-vllm test-browser test-ray chromium kubectl docs lint types rooms format schema clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: .venv/demo.stamp  ## install, run the quickstart study on this machine, print the answer
	$(BIN)/whichbits run studies/quickstart.yaml

test: .venv/dev.stamp lint types rooms  ## everything that must hold before a change lands
	$(BIN)/python -m pytest -n 2 --dist loadscope

test-vllm: .venv/dev.stamp .venv-vllm/ready.stamp  ## serve with a real vLLM on this processor: 2 GB, some minutes
	$(BIN)/python -m pytest -m vllm tests/vllm --durations=5

# Debian's package, where this user may install it; without kubectl, the tests that need it say that they are skipped.
APT := apt-get -qq -o Dpkg::Use-Pty=0
kubectl:  ## install kubectl for the tests of Kubernetes, where apt is there and lets you
	@command -v kubectl || { [ "$$(id -u)" = 0 ] && command -v apt-get && $(APT) update \
	  && $(APT) install -y --no-install-recommends kubernetes-client; } \
	|| echo "kubectl is not here and cannot be installed: its tests are skipped"

test-browser: .venv/dev.stamp chromium docs  ## open the reports, the runs and the documentation in a real Chromium
	$(BIN)/python -m pytest -m browser tests/browser

chromium:  ## install Chromium for the tests of pages, where apt is there and lets you
	@command -v chromium || { [ "$$(id -u)" = 0 ] && command -v apt-get && $(APT) update \
	  && $(APT) install -y --no-install-recommends chromium; } \
	|| { echo "chromium is not here and cannot be installed: name a browser as WHICHBITS_CHROMIUM" && false; }

docs: .venv/docs.stamp  ## build the documentation's site into build/site; a broken link fails
	$(BIN)/python docs/pages.py build/pages
	$(BIN)/zensical build --strict

test-ray: .venv/ray.stamp  ## send from two machines of a Ray cluster on the loopback interface
	$(BIN)/python -m pytest -m ray tests/ray --durations=5

test-traps: .venv/dev.stamp  ## make the traps of an environment for real, and let the doctor find them: 250 MB
	$(BIN)/python -m pytest -m traps tests/doctor/traps --durations=5

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/dev.stamp
	$(BIN)/mypy

rooms: .venv/dev.stamp
	$(BIN)/lint-imports

format: .venv/dev.stamp  ## let ruff format and mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: .venv/dev.stamp  ## write what docs/ has from the code anew: the study's schema and tables, the verbs
	$(BIN)/python -m whichbits.study.schema > docs/study.schema.json
	$(BIN)/python -m whichbits.study.reference docs/study.md
	$(BIN)/python -m whichbits.cli.reference docs/cli.md

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[embedded]'
	@touch $@

.venv/dev.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[embedded,dev]'
	@touch $@

.venv/docs.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

.venv/ray.stamp: .venv/dev.stamp
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[embedded,dev,ray]'
	@touch $@

.venv-vllm/ready.stamp: tests/vllm/torch.txt tests/vllm/requirements.txt
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/pip install --quiet --disable-pip-version-check --no-deps --retries 1 -r tests/vllm/torch.txt
	.venv-vllm/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/vllm/requirements.txt
	@touch $@

clean:  ## remove the environments and every cache
	rm -rf .venv .venv-vllm build .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
