# One environment, made from the hashed lock; uv if there is one, else venv and pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test test-spark vectors attack mutations check reproduce bench docs site lock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    set up and run the demonstration on 32,561 real answers"
	@echo "make test    set up and pass the tests (TESTS=tests/spec/test_house.py for some of them)"
	@echo "make quick   set up and pass a choice of the tests, in about two minutes"
	@echo "make test-browser  the survey page in Chromium, and the browser module in node (sets them up)"
	@echo "make browser-module  src/warner/browser/warner.js, from its modules"
	@echo "make test-spark  set up and pass the tests on Spark and Sail (needs Java)"
	@echo "make test-sql  the statement of warner sql on real databases (installs PostgreSQL, MariaDB and chdb)"
	@echo "make test-r  build, check and test the package for R (installs R of Debian)"
	@echo "make test-clients  build and test the clients in Go, Rust and Kotlin (installs compilers of Debian)"
	@echo "make mutations  what tests notice of small wrong changes (MUTATIONS='sampling stores')"
	@echo "make attack  attack privacy and files for five minutes (ATTACK='laws --minutes 1 --seed 7')"
	@echo "make release  build the wheel, the sources and the npm package twice, compare, install and check them"
	@echo "make check   format, lint, types"
	@echo "make reproduce  the experiments of the five papers, the quick form (about five minutes)"
	@echo "make vectors  the known answers for devices in other languages, tests/vectors"
	@echo "make bench   speed against the peers, side by side (sets up their own environment)"
	@echo "make leaderboard  docs/leaderboard.md: mechanisms and estimators on real data, what is missing (an hour)"
	@echo "make docs    the command line's manual, docs/cli.md"
	@echo "make site    the documentation as a site, docs/_build/html (sets up its own environment)"

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "warner needs Python 3.11 or later: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute)"
ifdef UV
	@uv venv -q --python $(PYTHON) --clear $(VENV)
	@VIRTUAL_ENV=$(VENV) uv pip install -q --require-hashes -r requirements.lock
	@VIRTUAL_ENV=$(VENV) uv pip install -q --no-deps --no-build-isolation -e .
else
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	@touch $@

demo: $(READY)
	@$(BIN)/warner demo
	@echo "Here warner is $(BIN)/warner, or warner alone after: . $(BIN)/activate"

# Several hundred processes import the package, so what is compiled is kept, outside the tree.
test: $(READY)
	@env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(CURDIR)/$(VENV)/compiled" \
	  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal $(TESTS)

# What breaks first: the house, the laws of the device, domains, errors, one file of each later room.
QUICK = tests/spec/test_house.py tests/spec/_core tests/spec/domains tests/laws/domains tests/parity/_core \
  tests/laws/mechanisms tests/laws/reports tests/laws/io tests/spec/studies tests/docs/test_references.py
.PHONY: quick coverage
quick:
	@$(MAKE) test TESTS="$(QUICK)"

# As many minutes as all tests, and half as many again. Processes that tests start are measured too.
coverage: $(READY)
	@$(BIN)/python -m coverage erase
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -n auto --dist worksteal $(TESTS)
	@$(BIN)/python -m coverage combine -q
	@$(BIN)/python -m coverage report -i --skip-covered --sort=cover

# Never skipped: what is missing is installed, or named.
test-browser: $(READY) tests/browser/node_modules/.ready chromium
	@env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(CURDIR)/$(VENV)/compiled" \
	  WARNER_REQUIRE_SERVICES=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -n 2 --dist loadgroup $(or $(TESTS),tests/browser tests/js)

# The checkers of accessibility and of types, pinned with hashes in package-lock.json.
tests/browser/node_modules/.ready: tests/browser/package.json tests/browser/package-lock.json
	@command -v npm >/dev/null || sh tests/install.sh npm
	@npm ci --prefix tests/browser --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: chromium postgresql
chromium:
	@command -v chromium >/dev/null || sh tests/install.sh chromium

postgresql:
	@ls -d /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || sh tests/install.sh postgresql

# Spark and Sail in an environment of their own. Java is needed: without it the tests fail. Every Python
# worker imports the package, so what is compiled is kept, outside the tree.
test-spark: tests/spark/.venv/.ready
	@for engine in spark sail; do \
	  tests="tests/spark/test_tallying.py tests/spark/test_unsigned.py tests/spark/test_lost_workers.py \
	    tests/spark/test_streaming.py"; \
	  [ $$engine = spark ] || tests=tests/spark/test_tallying.py; \
	  env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(CURDIR)/tests/spark/.venv/compiled" \
	  WARNER_SPARK=$$engine PYTHONPATH="$(CURDIR)/src:$(CURDIR)" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	  tests/spark/.venv/bin/python -m pytest -W ignore $$tests || exit 1; done

tests/spark/.venv/.ready: tests/spark/requirements.lock pyproject.toml
	@echo "Setting up tests/spark/.venv (once; about a minute)"
	@rm -rf tests/spark/.venv
	@$(PYTHON) -m venv tests/spark/.venv
	@tests/spark/.venv/bin/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r tests/spark/requirements.lock
	@tests/spark/.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The statement of warner sql on ClickHouse and MariaDB too. ClickHouse runs in a process of an environment of
# its own.
.PHONY: test-sql
test-sql: $(READY) tests/sql/.venv/.ready postgresql
	@command -v mariadbd >/dev/null || ls /usr/sbin/mariadbd >/dev/null 2>&1 || sh tests/install.sh mariadb-server
	@WARNER_REQUIRE_SERVICES=sql OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/parity/io/test_sql_counts.py \
	  tests/spec/io/test_count_statement.py

tests/sql/.venv/.ready: tests/sql/requirements.lock
	@echo "Setting up tests/sql/.venv (once)"
	@rm -rf tests/sql/.venv
	@$(PYTHON) -m venv tests/sql/.venv
	@tests/sql/.venv/bin/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r tests/sql/requirements.lock
	@touch $@

# The package for R, built and checked outside the tree.
.PHONY: test-r
test-r: $(READY)
	@command -v Rscript >/dev/null || sh tests/install.sh r-base-core
	@Rscript -e 'quit(status = !requireNamespace("jsonlite", quietly = TRUE))' || sh tests/install.sh r-cran-jsonlite
	@folder=$$(mktemp -d) && source="$(CURDIR)/r/warner" && program="$(CURDIR)/$(BIN)/warner" && cd "$$folder" && \
	  R CMD build "$$source" && WARNER="$$program" _R_CHECK_FORCE_SUGGESTS_=false \
	  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 R CMD check --no-manual warner_*.tar.gz; \
	  status=$$?; rm -rf "$$folder"; exit $$status

# The clients in other languages: the known answers, and reports to a collector that counts them. The crates
# are those of Debian.
CARGO = cargo --offline --config 'source.crates-io.replace-with="debian"' \
  --config 'source.debian.directory="/usr/share/cargo/registry"'
.PHONY: test-clients
test-clients: $(READY)
	@command -v go >/dev/null || sh tests/install.sh golang-go
	@command -v cargo >/dev/null || sh tests/install.sh cargo
	@for crate in num-bigint num-traits ring serde-json ureq; do \
	  dpkg -s librust-$$crate-dev >/dev/null 2>&1 || sh tests/install.sh librust-$$crate-dev || exit 1; done
	@cd clients/go && test -z "$$(gofmt -l .)" && go vet ./... && go test -count=1 . && go build -o ../../$(BIN)/send-go ./send
	@cd clients/rust && rm -f Cargo.lock && $(CARGO) test -q && $(CARGO) build -q && cp target/debug/send ../../$(BIN)/send-rust
	@command -v kotlinc >/dev/null || sh tests/install.sh kotlin
	@ls /usr/share/java/json-android.jar >/dev/null 2>&1 || sh tests/install.sh libandroid-json-org-java
	@cd clients/kotlin && kotlinc -cp /usr/share/java/json-android.jar *.kt -include-runtime -d ../../$(BIN)/send-kotlin.jar && \
	  java -cp ../../$(BIN)/send-kotlin.jar:/usr/share/java/json-android.jar warner.Vectors ../../tests/vectors
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q tests/clients

attack: $(READY)
	@$(BIN)/python -m tests.attack $(ATTACK)

mutations: $(READY)
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m tests.mutations $(MUTATIONS)

# Everything that is published, in dist/, built twice and compared; see .ci/release.py.
.PHONY: release
release: $(READY) .ci/.venv/.ready tests/browser/node_modules/.ready
	@$(BIN)/python .ci/release.py $(RELEASE)

.ci/.venv/.ready: .ci/requirements.lock
	@rm -rf .ci/.venv
	@$(PYTHON) -m venv .ci/.venv
	@.ci/.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r .ci/requirements.lock
	@touch $@

# The browser half as one file, from its modules.
.PHONY: browser-module
browser-module: tests/browser/node_modules/.ready
	@node tests/browser/build.mjs

# What every client of device programs must give, see docs/device_programs.md.
vectors: $(READY)
	$(BIN)/python -m tests.vectors.make

# The output is made anew, because kept work is of the code that made it.
reproduce: $(READY)
	@rm -rf reproduced/quick
	@$(BIN)/python -m papers --all --quick

check: $(READY)
	$(BIN)/ruff format --check src tests bench papers
	$(BIN)/ruff check src tests bench papers
	$(BIN)/mypy

bench: bench/.venv/.ready
	bench/.venv/bin/python bench/run_all.py

# WARNER_DATA names the folder of data that the package may not have; Adult is there without it.
.PHONY: leaderboard
leaderboard: $(READY)
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -W ignore bench/leaderboard.py

bench/.venv/.ready: bench/requirements.lock pyproject.toml
	@rm -rf bench/.venv
	@$(PYTHON) -m venv bench/.venv
	@bench/.venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r bench/requirements.lock
	@bench/.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

docs: $(READY)
	$(BIN)/python docs/make_cli.py
	PYTHONPATH=. $(BIN)/python docs/make_data.py
	$(BIN)/python docs/make_references.py
	$(BIN)/python docs/make_names.py
	$(BIN)/python docs/examples.py README.md docs/study_of_groups.md docs/first_study.md docs/extending.md docs/device_programs.md docs/papers/errata.md docs/guides/classroom.md docs/guides/lesson.md docs/guides/coming_from_rrreg.md docs/guides/unknown_words.md docs/guides/coming_from_others.md docs/guides/errors.md docs/which_door.md

# Every example is run; one that fails, and every warning, fails the build. Each page has a process of
# its own, so what is compiled is kept, outside the tree.
site: docs/.venv/.ready
	@env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(CURDIR)/docs/.venv/compiled" \
	  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 docs/.venv/bin/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

docs/.venv/.ready: docs/requirements.lock pyproject.toml
	@echo "Setting up docs/.venv (once; about a minute)"
	@rm -rf docs/.venv
	@$(PYTHON) -m venv docs/.venv
	@docs/.venv/bin/python -m pip install -q --disable-pip-version-check --no-compile --require-hashes -r docs/requirements.lock
	@docs/.venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The locks carry no index address; uv is needed only here.
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --extra all --group dev pyproject.toml -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  -c requirements.lock docs/requirements.in -o docs/requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  tests/spark/requirements.in -o tests/spark/requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  -c requirements.lock tests/sql/requirements.in -o tests/sql/requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  -c requirements.lock .ci/requirements.in -o .ci/requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --extra serve --extra postgres -c requirements.lock pyproject.toml deploy/requirements.in -o deploy/requirements.lock

clean:
	rm -rf $(VENV) .ci/.venv dist tests/spark/.venv tests/sql/.venv reproduced bench/.venv bench/out docs/.venv docs/_build .pytest_cache .ruff_cache .mypy_cache .hypothesis
