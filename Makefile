# Every verb works on a fresh clone with nothing but make and Python 3.11 or newer: the first one called sets up .venv.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# the Python of the environment, or the one that will make it
PYTHON_VERSION := $(shell $(firstword $(wildcard $(BIN)/python) $(PYTHON)) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# versions that were tried with this Python; for one newer than all files, those of the newest
CONSTRAINTS := $(or $(wildcard constraints/python$(PYTHON_VERSION).txt),$(lastword $(sort $(wildcard constraints/python*.txt))))

# the oldest Airflow that is supported, or another one, in an environment of its own
OTHER_AIRFLOW = $(VENV)-airflow-$(or $(VERSION),3.1.8)
OLD_VERSIONS = constraints/airflow$(or $(VERSION),3.1.8).txt

# tests/groups.py says which tests share a process; some wait for servers, so three keep two cores at work
PLAY := $(BIN)/python -m pytest --dist=loadgroup --no-loadscope-reorder

.DEFAULT_GOAL := help
# compiled once, not by every process anew, whatever the machine says
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup wheel check style types layers units test test-all test-airflow demo docs web golden fuzz fuzz-upgrade fuzz-parser gate chaos chaos-cluster soak bench bench-epochs bench-nexmark bench-api bench-flood bench-sensors bench-page bench-latency \
	bench-startup bench-state bench-scale bench-shared format constraints clean

help: ## What can be made
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null || grep '##' $(MAKEFILE_LIST)

setup: $(READY) ## Set up .venv with everything, Java included
	@$(if $(filter command% environment%,$(origin PYTHON)),$(PYTHON) .ci/setup.py --is-of $(VENV))
	@echo "ready: $(BIN)/arroyo"

$(READY): pyproject.toml engine/__init__.py $(CONSTRAINTS)
	@test -e constraints/python$(PYTHON_VERSION).txt || echo "there are no constraints for Python $(PYTHON_VERSION): the newest are used"
	@$(PYTHON) .ci/setup.py $(VENV) $(CONSTRAINTS)

wheel: ## Build the wheel of this clone into dist/, and say how to install it; needs only Python
	@$(PYTHON) .ci/wheel.py

check: $(READY) ## Everything that is fast: style, types, layers, unit tests; four minutes
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target types style layers units

style: $(READY) ## Only ruff, and the lint for words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/words.py

types: $(READY) ## Only mypy
	$(BIN)/mypy

layers: $(READY) ## Only the import contracts
	$(BIN)/lint-imports --no-logo

units: $(READY) ## Only the tests that need nothing but Python
	$(PLAY) --numprocesses=2 -q -m unit

test: $(READY) ## What every change must pass: all tests but the long ones, and a tenth of those: SLICE=1 (to 10) or all
	$(PLAY) --numprocesses=3 --costs --slice=$(or $(SLICE),commit)

test-all: $(READY) ## Every test, with 100,000 simulated schedules: before a change of what makes exactly-once is done
	SIMULATED_SCHEDULES=$(or $(SIMULATED_SCHEDULES),100000) REQUEST_SCHEDULES=$(or $(REQUEST_SCHEDULES),1000) GATE_MOMENTS=$(or $(GATE_MOMENTS),50) RANDOM_DAMAGE=$(or $(RANDOM_DAMAGE),1000) STORES=$${STORES:-moto,versitygw} STATE_RACES=$(or $(STATE_RACES),1000) CLUSTER_SINKS=$${CLUSTER_SINKS:-files,delta,kafka} KILLS=$(or $(KILLS),all) MATRIX=$(or $(MATRIX),all) FUSE=$(or $(FUSE),on) \
		CONTRACT_CASES=$(or $(CONTRACT_CASES),5000) JSON_CASES=$(or $(JSON_CASES),20000) \
		HOSTILE_TEXTS=$(or $(HOSTILE_TEXTS),10000) $(PLAY) --numprocesses=3 --costs --slice=all
	@$(MAKE) --no-print-directory test-airflow

test-airflow: $(READY) ## The provider's tests, and its core tasks under a scheduler, with another Airflow: VERSION=3.1.8
	@$(PYTHON) -m venv $(OTHER_AIRFLOW)
	$(OTHER_AIRFLOW)/bin/pip install -q $(if $(wildcard $(OLD_VERSIONS)),--constraint $(OLD_VERSIONS)) \
		"apache-airflow==$(or $(VERSION),3.1.8)" --editable . hypothesis jsonschema pytest pytest-randomly pytest-timeout \
		pytest-xdist trustme
	PYTHONPATH=. $(OTHER_AIRFLOW)/bin/python -m pytest -q --numprocesses=2 --dist=loadfile -o filterwarnings=default tests/provider
	AIRFLOW_PYTHON=$(abspath $(OTHER_AIRFLOW)/bin/python) $(BIN)/python -m pytest -q tests/system/test_oldest_airflow.py

demo: $(READY) ## The whole story as a DAG, live on the terminal, in under three minutes: KEEP=1 leaves all running, END=1 ends that
	$(BIN)/python -m dags_examples.demo $(if $(KEEP),--keep) $(if $(END),--end)

docs: $(READY) ## Write docs/reference from the declarations, and build the site of all docs
	$(BIN)/python -m engine.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "site/index.html"

web: $(READY) ## Build the page of the control plane of engine/web, which alone needs Node
	$(BIN)/python .ci/web.py

changelog: $(READY) ## Make a release of what is in changes/: VERSION=0.1.0 DATE=2026-01-31
	$(BIN)/python -m engine.docs.changelog "$(VERSION)" "$(DATE)"

golden: $(READY) ## Write the expected errors, plans and rows of tests/corpus anew, to be read before a commit
	$(BIN)/python -m tests.corpus.rewrite rows

fuzz: $(READY) ## Random queries over random streams against the batch answer: CASES=2000 SEED=1
	$(BIN)/python -m tests.fuzz --cases $(or $(CASES),2000) --seed $(or $(SEED),1)

fuzz-upgrade: $(READY) ## Random edits of running queries: what their plans say against what happens: CASES=1000 SEED=1
	$(BIN)/python -m tests.upgrade_fuzz --cases $(or $(CASES),1000) --seed $(or $(SEED),1)

gate: $(READY) ## How far output is complete, at random moments of 12 shapes of queries: MOMENTS=500 SEED=1
	$(BIN)/python -m tests.gate --moments $(or $(MOMENTS),500) --seed $(or $(SEED),1)

fuzz-parser: $(READY) ## 50,000 broken scripts: each is read or refused, in two seconds and one GiB
	$(BIN)/python -m tests.corpus.mutations $(or $(COUNT),50000) --seed $(or $(SEED),1)

chaos: $(READY) ## Drivers of a sink are killed and paused: SINK=filesystem CYCLES=100 EVENTS=1000000 SEED=1 LEDGER=off
	$(BIN)/python -m tests.chaos $(or $(SINK),filesystem) --cycles $(or $(CYCLES),10) --seed $(or $(SEED),1) \
		--events $(or $(EVENTS),0) --ledger $(or $(LEDGER),on)

chaos-cluster: $(READY) ## Parts of a Spark cluster are killed: SINK=files|delta|kafka CYCLES=100 EVENTS=1000000 SEED=1
	$(BIN)/python -m tests.cluster.kills $(or $(SINK),files) --cycles $(or $(CYCLES),5) --seed $(or $(SEED),1) \
		--events $(or $(EVENTS),0)

soak: $(READY) ## Five pipelines for two hours, killed and restarted all the time: what grows, what is wrong: MINUTES=120 SEED=1
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),120) --seed $(or $(SEED),1)

bench: $(READY) ## Every benchmark: ours against plain PySpark, side by side
	$(BIN)/python -m benchmarks

bench-epochs: $(READY) ## What an epoch of 100 rows costs: ours and by hand
	$(BIN)/python -m benchmarks.epochs

bench-nexmark: $(READY) ## Nexmark through the engine and its peers: QUERIES=q0,q5 (or all) EVENTS=3000000 EPOCHS=12 ROUNDS=2 PEERS=spark,flink,duckdb FUSE=on INPUT=json (or parquet or kafka)
	$(BIN)/python -m benchmarks.nexmark $(if $(QUERIES),--queries $(QUERIES)) --events $(or $(EVENTS),3000000) --epochs $(or $(EPOCHS),12) \
		--rounds $(or $(ROUNDS),2) --peers $(or $(PEERS),spark) --fuse $(or $(FUSE),both) --input $(or $(INPUT),json)

bench-api: $(READY) ## The control plane under load: 1,000 pipelines, 20 drivers, 500 held requests: SECONDS=60
	$(BIN)/python -m benchmarks.api $(or $(SECONDS),60)

bench-flood: $(READY) ## Held gates beside event streams and half-sent requests, of each so many: EACH=300
	$(BIN)/python -m benchmarks.flood $(or $(EACH),300)

bench-sensors: $(READY) ## 500 gates in a real triggerer over 20 pipelines: memory, connections, delay: SENSORS=500 IN_A_DAG=5 LEAN=yes
	$(BIN)/python -m benchmarks.sensors $(or $(SENSORS),500) $(if $(IN_A_DAG),--in-a-dag $(IN_A_DAG)) $(if $(LEAN),--lean)

bench-page: $(READY) ## The page over 1,000 pipelines and 60 changes a second: paint, main thread, memory: SECONDS=300
	$(BIN)/python -m benchmarks.page $(or $(SECONDS),300)

bench-latency: $(READY) ## From an event that is produced to its row before a reader: RATE=1000 (or most) SECONDS=30
	$(BIN)/python -m benchmarks.latency $(or $(RATE),1000) $(or $(SECONDS),30)

bench-startup: $(READY) ## From a command to its first epoch: ours and spark-submit: ROUNDS=3
	$(BIN)/python -m benchmarks.startup $(or $(ROUNDS),3)

bench-state: $(READY) ## What state costs: KEYS=10000,1000000, or KIND=savepoint, rescale or pause, or all; WITH='--megabytes 100'
	$(BIN)/python -m benchmarks.state $(or $(KIND),$(KEYS)) $(WITH)

bench-scale: $(READY) ## Time against events, start not counted: ROWS=500000, times 1, 4 and 16
	$(BIN)/python -m benchmarks.scale $(or $(ROWS),500000)

bench-shared: $(READY) ## Many small pipelines in one Java, and each in its own: PIPELINES=20 SECONDS=60 ISOLATION='shared own'
	$(BIN)/python -m benchmarks.shared $(or $(PIPELINES),20) $(or $(SECONDS),60) $(ISOLATION)

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

constraints: $(READY) ## Pin what is installed now, for the Python of .venv
	@echo "# What the tests were last run with, on Python $(PYTHON_VERSION). Rewritten by make constraints." > constraints/python$(PYTHON_VERSION).txt
	@$(BIN)/python -m pip list --disable-pip-version-check --format=freeze --exclude-editable --exclude pip --exclude setuptools \
		--exclude wheel --exclude airflow-provider-arroyo >> constraints/python$(PYTHON_VERSION).txt
	@touch $(READY)
	@echo "wrote constraints/python$(PYTHON_VERSION).txt"

clean: ## Remove what was made here
	rm -rf $(VENV) build dist site *.egg-info .mypy_cache .ruff_cache .pytest_cache
