"""Answers of every domain are encoded and decoded; all others are refused where they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import DOMAINS
from warner.domains import Domain, from_spec


@pytest.mark.parametrize("domain, bad", [(d, b) for d, values in DOMAINS for b in values], ids=repr)
def test_bad_answers_are_refused_wherever_they_stand(domain: Domain, bad: Any) -> None:
    good = domain.labels
    for values, position in (([bad], 0), ([*good, bad], len(good)), ([bad, *good], 0)):
        with pytest.raises((warner.errors.ValuesError, warner.errors.ArgumentTypeError)) as caught:
            domain.encode(values)
        if isinstance(caught.value, warner.errors.ValuesError):
            assert caught.value.position == position


@pytest.mark.parametrize("domain", [d for d, _ in DOMAINS], ids=repr)
def test_domains_are_bijections_with_a_spec(domain: Domain) -> None:
    index = np.arange(domain.size)
    assert domain.encode(domain.decode(index)).tolist() == index.tolist()
    assert domain.encode(domain.labels).dtype == np.int64
    again = from_spec(domain.spec())
    assert again == domain and hash(again) == hash(domain) and again.labels == domain.labels
    assert domain.points is None or len(domain.points) == domain.size


@pytest.mark.parametrize(
    "domain, width",
    [
        (warner.Grid(2, 3), 2),
        (warner.domains.Points([[0, 1], [2, 3]]), 2),
        (warner.domains.Points([[0], [1]]), 1),
    ],
    ids=repr,
)
def test_answers_of_several_numbers_in_any_wrong_shape_are_refused_by_name(
    domain: Domain, width: int
) -> None:
    good = domain.labels[0]
    wrong = [
        ((1, 2), 3),
        (3, (1, 2)),
        ([1], [2]),
        np.array(1),
        np.array([[1, 2]]),
        np.array([]),
        (),
        [[]],
        {},
        {"a": 1, "b": 2},
        "ab",
        np.float64(1),
        [None] * width,
        [{}] * width,
    ]
    for bad in wrong:
        for values, position in (([bad], 0), ([good, bad], 1)):
            with pytest.raises(warner.errors.ValuesError) as caught:
                domain.encode(values)
            assert caught.value.position == position
    for whole in (np.array(1), np.array([1, 2]), np.zeros((2, 2, 2), int), np.array(None)):
        with pytest.raises((warner.errors.ArgumentTypeError, warner.errors.ValuesError)):
            domain.encode(whole)
