"""Small fits run linear algebra on one thread, and leave the number of threads as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from warner import _threads
from warner.channel import DirectChannel
from warner.evidence import Evidence


class Library:
    """Stands for a library of linear algebra with four threads."""

    def __init__(self) -> None:
        self.threads = 4

    def put(self, count: int) -> None:
        self.threads = count


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(_threads, "_controls", lambda: [(lambda: made.threads, made.put)])
    return made


class Watching(warner.estimators.Estimator):
    """Notes the number of threads during a fit, then fails."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.seen: list[int] = []

    def fit(self, evidence: Evidence) -> Any:
        self.seen.append(self.library.threads)
        raise RuntimeError("stop")


@pytest.mark.parametrize("size, threads", [(500, 1), (2000, 4)])
def test_small_fits_use_one_thread_and_large_fits_all(library: Library, size: int, threads: int) -> None:
    facts = Evidence(DirectChannel(size, 0.0, 1.0), np.full(size, 1 / size), 10**6, warner.Integers(1, size))
    watching = Watching(library)
    with pytest.raises(RuntimeError, match="stop"):
        watching.fit(facts)
    assert watching.seen == [threads] and library.threads == 4


def test_the_outermost_user_restores_the_number_of_threads(library: Library) -> None:
    with _threads.one_thread():
        with _threads.one_thread():
            assert library.threads == 1
        assert library.threads == 1
    assert library.threads == 4


def test_the_numbers_of_real_libraries_come_back() -> None:
    """There may be none: other libraries than OpenBLAS are left alone."""
    before = [get() for get, _ in _threads._controls()]
    with _threads.one_thread():
        assert all(get() == 1 for get, _ in _threads._controls())
    assert [get() for get, _ in _threads._controls()] == before
    assert _threads._control("no such library") is None
