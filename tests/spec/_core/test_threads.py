"""Small fits run linear algebra on one thread, and leave the number of threads as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import warner
from warner._core import processes as _threads
from warner.channels import DirectChannel
from warner.estimators.base import LikelihoodData


class Library:
    """Stands for a library of linear algebra with four threads, and for the controller that limits
    it.
    """

    def __init__(self) -> None:
        self.threads = 4

    def limit(self, limits: int, user_api: str) -> Library:
        self.threads = limits
        return self

    def restore_original_limits(self) -> None:
        self.threads = 4


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(_threads, "_controller", lambda _: made)
    return made


class Watching(warner.estimators.Estimator):
    """Notes the number of threads during a fit, then fails."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.restrict_to_observed: list[int] = []

    def _fit(self, data: LikelihoodData) -> Any:
        self.restrict_to_observed.append(self.library.threads)
        raise RuntimeError("stop")


@pytest.mark.parametrize("size, threads", [(500, 1), (3000, 4)])
def test_small_fits_use_one_thread_and_large_fits_all(
    library: Library, size: int, threads: int
) -> None:
    data = LikelihoodData(
        DirectChannel(size, 0.0, 1.0), np.full(size, 1 / size), 10**6, warner.Integers(1, size)
    )
    watching = Watching(library)
    with pytest.raises(RuntimeError, match="stop"):
        watching.fit(data)
    assert watching.restrict_to_observed == [threads] and library.threads == 4


def test_the_outermost_user_restores_the_number_of_threads(library: Library) -> None:
    with _threads.one_thread():
        with _threads.one_thread():
            assert library.threads == 1
        assert library.threads == 1
    assert library.threads == 4


def test_the_numbers_of_real_libraries_come_back() -> None:
    """There may be none: what is not found is left alone."""
    before = [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]
    with _threads.one_thread():
        assert all(
            found["num_threads"] == 1 for found in threadpool_info() if found["user_api"] == "blas"
        )
    assert [
        found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"
    ] == before
