"""What a device refuses, for every mechanism; and no message, log or file holds an answer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import MECHANISMS, smallest

SECRET = "a-secret-answer-7391"


# A mechanism's ``encode`` decides which answers are refused, and most mechanisms share one.
BAD_ANSWERS: list[Any] = [
    -1,
    4,
    99,
    2**70,
    1.0,
    0.5,
    float("nan"),
    float("inf"),
    None,
    "1",
    True,
    b"1",
    [1],
]


BAD_CONTAINERS: list[Any] = [
    [], (), np.array([]), np.zeros((2, 2), int), np.array([0.0, 1.0]), 1, None, "123", {"a": 1}, np.array(3)
]  # fmt: skip


ENCODERS = list({type(smallest(name)).encode: name for name in MECHANISMS}.values())


@pytest.mark.parametrize(
    "name, bad",
    [
        *((name, bad) for name in MECHANISMS for bad in (-1, 4)),
        *((name, bad) for name in ENCODERS for bad in BAD_ANSWERS[2:]),
    ],
    ids=repr,
)
def test_bad_answers_never_reach_a_report(name: str, bad: Any) -> None:
    mechanism = smallest(name)
    for values in ([0, bad], [bad]):
        with pytest.raises((warner.errors.ValuesError, warner.errors.ArgumentTypeError)):
            mechanism.randomize(values)
    with pytest.raises((warner.errors.ValuesError, warner.errors.ArgumentTypeError)):
        mechanism.randomize(np.array([bad, 0], dtype=object))


@pytest.mark.parametrize(
    "name, values",
    [
        *((name, []) for name in MECHANISMS),
        *((name, values) for name in ENCODERS for values in BAD_CONTAINERS[1:]),
    ],
    ids=repr,
)
def test_wrong_containers_are_refused(name: str, values: Any) -> None:
    with pytest.raises(
        (warner.errors.EmptyError, warner.errors.ArgumentTypeError, warner.errors.ValuesError)
    ):
        smallest(name).randomize(values)


def test_no_message_log_or_file_holds_the_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    domain = warner.Categorical(["x", "y"])
    caplog.set_level(logging.DEBUG)
    seen = []
    for mechanism in (
        warner.RandomizedResponse(domain, 1.0),
        warner.UnaryEncoding(domain, 1.0),
        warner.Product(a=domain),
    ):
        for values in (
            [SECRET],
            ["x", SECRET],
            np.array(["x", SECRET]),
            np.array([SECRET, None], dtype=object),
            [{"a": SECRET}],
        ):
            try:
                mechanism.randomize(values) if isinstance(
                    mechanism, warner.mechanisms.Mechanism
                ) else mechanism.encode(values)
            except warner.errors.WarnerError as error:
                seen.append(
                    f"{error} {error.args} {vars(error)} {error.__cause__} {error.__context__}"
                )
    assert len(seen) >= 13
    out, err = capfd.readouterr()
    assert SECRET not in " ".join(seen) + caplog.text + out + err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "rng", [0, 42, "seed", np.random.RandomState(0), np.random], ids=lambda v: type(v).__name__
)
def test_only_a_generator_or_nothing_is_a_source(rng: Any) -> None:
    with pytest.raises(warner.errors.ArgumentTypeError, match="rng"):
        smallest("RandomizedResponse").randomize([0], rng=rng)
