# The one door: each target is a line or two over the command line. `make help` lists them.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
CACHE := .cache
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup refresh test test-whole test-parts soak up down bench study lint clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Make .venv, fetch Delta's jars, ESCO and the embedding model

$(READY): infra/local/requirements.lock infra/local/data.lock infra/local/jars.sha256 pyproject.toml
	@echo "Set-up: downloads 2.7 GB (torch brings its CUDA build), takes 7.1 GB of disk in $(VENV) and $(CACHE), 2 to 5 minutes."
	@$(PYTHON) infra/local/check_machine.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r infra/local/uv.lock
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python infra/local/requirements.lock
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	$(BIN)/python infra/local/fetch_data.py $(CACHE)/data
	$(BIN)/python infra/local/fetch_jars.py $(CACHE)/jars
	@touch $@

refresh: setup ## Run the weekly full refresh on the sample (made on first use) and end with its summary
	@echo "Refresh: about 5 minutes the first time, 2 after; 100 MB in var/; progress below."
	@$(BIN)/semlabel sample --if-missing
	@$(BIN)/semlabel refresh weekly_full

test: setup lint ## All checks that need no GPU
	@echo "Tests: real Spark, Ray, Airflow and MLflow on this machine; two groups side by side, about 15 minutes on 2 cores."
	@$(MAKE) --no-print-directory --jobs=2 test-whole test-parts

test-whole: # whole runs through the command line and Airflow; Ray, the servers
	@$(BIN)/python -m pytest tests/e2e tests/dags tests/serving tests/ray tests/updates

test-parts:
	@$(BIN)/python -m pytest -p no:cacheprovider tests/unit tests/spark

lint: setup ## ruff, mypy, import-linter
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

soak: setup ## The schedules on real services, with processes killed; on PostgreSQL; drawn histories on Delta; the model server's memory
	@echo "Soak: about 40 minutes on 2 cores; needs 4 GB of memory."
	@$(BIN)/python -m pytest -m soak --timeout=7200 tests/soak tests/spark

up: setup ## Start Airflow, MLflow and Spark as services on loopback
	@echo "Up: under two minutes, 2 GB of memory; docs/operate.md says what to do next."
	@$(BIN)/semlabel sample --if-missing
	@$(BIN)/semlabel deployment up

down: ## End the services that `make up` started
	@$(BIN)/semlabel deployment down

bench: setup ## Labels per second of each engine on this machine
	@$(BIN)/python -m mis_scoring.bench

study: setup ## Scoring against packed generation, tiny: shows that the study runs (docs/study.md has the full one)
	@echo "Study: about 6 minutes to prepare the pairs (once, var/study/data), 1 to 2 to run; a model this small learns nothing."
	@test -f var/study/data/neighbours.npz || $(BIN)/python -m jobs.sample.prepare_training --data $(CACHE)/data --out var/study/data
	@test -f var/study/data/splits/test.jsonl.gz || $(BIN)/python -m jobs.sample.prepare_evaluation --data $(CACHE)/data --out var/study/data --members 10 --few 10
	@test -f var/study/training.jsonl.gz || $(BIN)/python -m jobs.study.prepare --data var/study/data --out var/study --pairs 1000
	@$(BIN)/python -m jobs.study.run --tiny --data var/study --out var/study/results.jsonl
	@$(BIN)/python -m jobs.study.report --results var/study/results.jsonl --out var/study/report

clean: ## Remove caches; never the tables, never the environment
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache spark-warehouse
