"""Progress of long work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import warner
from warner import Categorical
from warner._core.progress import Stage, progress, stage, steps
from warner.errors import ArgumentTypeError
from warner.mechanisms import base


@pytest.fixture
def heard() -> Iterator[list[str]]:
    """What a listener hears in the test, a line for each call."""
    lines: list[str] = []
    with progress(lambda stages: lines.append("; ".join(map(str, stages)))):
        yield lines


def test_stages_are_told_from_the_outermost_in(heard: list[str]) -> None:
    for _ in steps("ab", "outer"):
        with stage("inner") as tell:
            tell(7)
    assert heard == [
        "outer: 0 of 2",
        "outer: 0 of 2; inner: 0",
        "outer: 0 of 2; inner: 7",
        "outer: 0 of 2",
        "outer: 1 of 2",
        "outer: 1 of 2; inner: 0",
        "outer: 1 of 2; inner: 7",
        "outer: 1 of 2",
        "outer: 2 of 2",
        "",
    ]


def test_a_stage_ends_where_its_loop_is_left_or_fails(heard: list[str]) -> None:
    for _ in steps([1, 2], "left"):
        break
    with pytest.raises(ZeroDivisionError), stage("failed"):
        print(1 / 0)
    list(steps([1], "next"))
    assert heard == ["left: 0 of 2", "", "failed: 0", "", "next: 0 of 1", "next: 1 of 1", ""]


def test_nothing_is_counted_where_nobody_listens() -> None:
    class Unsized:
        def __len__(self) -> int:
            raise AssertionError

        def __iter__(self) -> Iterator[int]:
            return iter([1, 2])

    assert list(steps(Unsized(), "items")) == [1, 2]


def test_an_exception_of_the_listener_stops_the_work_and_is_raised_once() -> None:
    calls = []

    def cancel(stages: tuple[Stage, ...]) -> None:
        calls.append(stages)
        if stages[0].done == 2:
            raise TimeoutError

    done = []
    with pytest.raises(TimeoutError), progress(cancel):
        done = list(steps(range(9), "work"))
    assert done == [] and len(calls) == 3


def test_an_inner_listener_replaces_the_outer_one_and_threads_tell_nobody(heard: list[str]) -> None:
    with progress(lambda stages: None):
        list(steps([1], "inner"))
    thread = threading.Thread(target=lambda: list(steps([1], "thread")))
    thread.start()
    thread.join()
    assert heard == []


def test_a_listener_must_be_a_function() -> None:
    with (
        pytest.raises(ArgumentTypeError, match=r"listener: must be True, or a function .* got"),
        progress(3),
    ):  # type: ignore[arg-type]
        pass


def test_ctrl_c_in_an_interval_leaves_the_estimate_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A real signal in the middle of a bootstrap; the same call then gives the same numbers."""
    coin = warner.RandomizedResponse(warner.Integers(0, 3), 1.0)
    rng = np.random.default_rng(1)
    result = warner.estimate(coin.tally(coin.randomize(rng.integers(0, 4, 200), rng=rng)))

    def interval() -> np.ndarray:
        return result.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(2))

    whole, before = interval(), result.probabilities.copy()

    def press(stages: tuple[Stage, ...]) -> None:
        if stages and (stages[0].name, stages[0].done) == ("bootstrap", 7):
            os.kill(os.getpid(), signal.SIGINT)

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), progress(press):
            interval()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert (result.probabilities == before).all() and (interval() == whole).all()


@pytest.mark.parametrize(
    "method", [warner.ExpectationMaximization(30), warner.LogSpline(), warner.MaximumLikelihood()]
)
def test_iterative_methods_tell_their_steps_and_give_the_same_numbers(
    method: warner.estimators.Estimator,
) -> None:
    form = warner.SquareWave(warner.Interval(0.0, 1.0, bins=16), 1.0)
    rng = np.random.default_rng(1)
    tally = form.tally(form.randomize(rng.random(500), rng=rng))
    seen: set[tuple[str, ...]] = set()
    with progress(lambda stages: seen.add(tuple(stage.name for stage in stages))):
        told = warner.estimate(tally, method)
    assert ("iterations",) in seen
    assert (told.probabilities == warner.estimate(tally, method).probabilities).all()


def test_after_an_exception_of_the_listener_the_next_work_tells_again() -> None:
    heard: list[str] = []

    def listener(stages: tuple[Stage, ...]) -> None:
        heard.append(", ".join(map(str, stages)))
        if len(heard) == 2:
            raise KeyboardInterrupt

    with progress(listener):
        with pytest.raises(KeyboardInterrupt), stage("first", 1) as tell:
            tell(1)
        with stage("second", 1):
            pass
    assert heard == ["first: 0 of 1", "first: 1 of 1", "second: 0 of 1", ""]


def test_false_tells_nobody_inside_a_listener(heard: list[str]) -> None:
    with progress(False):
        list(steps([1, 2], "quiet"))
    assert heard == []
    with pytest.raises(ArgumentTypeError, match="True, or a function"), progress(3):  # type: ignore[arg-type]
        pass


# Long work on very many values says how far it is.


def _heard(job: object) -> list[Stage]:
    found: list[Stage] = []
    with progress(lambda stages: found.extend(stages[-1:])):
        job()  # type: ignore[operator]
    return found


def test_counting_supports_tells_of_all_reports() -> None:
    mechanism = warner.LocalHashing(Categorical(range(20_000)), 2.0)
    reports = mechanism.randomize(np.arange(500), rng=np.random.default_rng(1))
    told = [s for s in _heard(lambda: mechanism.tally(reports)) if s.name == "counting supports"]
    assert told[0].done == 0 and told[-1].done == told[-1].total == 500
    assert told[0].seconds is not None and 0 < told[0].seconds < 1


def test_reports_of_very_many_bits_are_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = warner.UnaryEncoding(Categorical(range(80)), 2.0)
    values = np.arange(80).repeat(5)

    def draw() -> object:
        return mechanism.randomize(values, rng=np.random.default_rng(2))

    assert not _heard(draw)
    monkeypatch.setattr(base, "_BITS", 100.0)
    told = _heard(draw)
    assert told[0] == Stage("drawing 32,000 bits of reports", 0, 1, 320.0) and told[-1].done == 1


def test_the_prior_of_many_labels_tells_of_its_sweeps() -> None:
    mechanism = warner.RandomizedResponse(Categorical(range(300)), 3.0)
    tally = mechanism.tally(mechanism.randomize(np.arange(300), rng=np.random.default_rng(3)))
    assert "learning the prior" in {s.name for s in _heard(lambda: warner.estimate(tally))}
