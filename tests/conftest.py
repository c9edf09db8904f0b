"""Settings for all tests: linear algebra runs on one thread in every process."""

from __future__ import annotations

import gc
import os

import pytest

from tests.sampling import left_out

# Idle threads of a BLAS library wait by spinning. Two workers with two threads each then spend
# most of their time waiting for each other. NumPy reads these variables when it is imported.
for _name in (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ.setdefault(_name, "1")
# Frames are small here, and Polars starts as many threads as there are cores.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
# The width of a terminal, which some runners of tests state, would fold what commands print.
os.environ.pop("COLUMNS", None)
# No test cuts the power, so none has to wait until a file is on the disk: that can take longer than
# what is tested. Programs that tests start do wait.
os.fsync = lambda fd: None


# While tests are gathered nearly all that is made lives to the end.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "crossed(budget): runs so many of its cells, see sampling.py"
    )


@pytest.hookimpl(trylast=True)  # after -k, so that a sample of what was chosen runs
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of tests that cross everything with everything, a sample runs."""
    others = left_out(items)
    config.hook.pytest_deselected(items=others)
    unused = {id(item) for item in others}
    items[:] = [item for item in items if id(item) not in unused]


def pytest_collection_finish() -> None:
    """The tests themselves live to the end, so collections of garbage need not look at them."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """At the end, what is frozen is collected too: libraries report what they take for leaks."""
    gc.unfreeze()


# The tests in a browser need Chromium and packages of another registry: make test-browser. Clients in
# other languages need their compilers: make test-clients.
collect_ignore = ["browser", "clients"]
