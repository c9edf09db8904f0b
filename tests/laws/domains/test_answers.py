"""Laws of domains, with and without nonresponse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import DOMAINS, ESTIMATORS, MECHANISMS, PLACES
from warner import Categorical, Grid, Integers, Product
from warner.design.audits import audit
from warner.domains import Domain, Optional, from_spec, with_missing
from warner.errors import ArgumentError, ArgumentTypeError, IdentifiabilityError, ValuesError
from warner.estimators.base import Status


@pytest.mark.parametrize("domain, bad", [(d, b) for d, values in DOMAINS for b in values], ids=repr)
def test_bad_answers_are_refused_wherever_they_stand(domain: Domain, bad: Any) -> None:
    good = domain.labels
    for values, position in (([bad], 0), ([*good, bad], len(good)), ([bad, *good], 0)):
        with pytest.raises((ValuesError, ArgumentTypeError)) as caught:
            domain.encode(values)
        if isinstance(caught.value, ValuesError):
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
            with pytest.raises(ValuesError) as caught:
                domain.encode(values)
            assert caught.value.position == position
    for whole in (np.array(1), np.array([1, 2]), np.zeros((2, 2, 2), int), np.array(None)):
        with pytest.raises((ArgumentTypeError, ValuesError)):
            domain.encode(whole)


# Nonresponse as a value: each mechanism of labels randomises it like any other, the others refuse.


_LABELS = Categorical(["a", "b", "c", "d"])
_SILENT = Optional(Integers(0, 2))


def _made(make: object, domain: warner.domains.Domain) -> warner.mechanisms.Mechanism | None:
    try:
        return make(domain, 1.0)  # type: ignore[operator,no-any-return]
    except (ArgumentError, ArgumentTypeError):
        return None


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_law_is_that_of_as_many_labels_exactly(name: str) -> None:
    """So nonresponse is as private as any answer, and costs no more than one more value."""
    plain, silent = _made(MECHANISMS[name], _LABELS), _made(MECHANISMS[name], _SILENT)
    assert (plain is None) == (silent is None)
    if plain is None or silent is None:
        return
    assert (silent.probabilities() == plain.probabilities()).all()
    assert silent.guarantee.epsilon == plain.guarantee.epsilon
    found = audit(silent)
    assert found.holds and found.epsilon <= 1.0 + 1e-9
    again = warner.mechanisms.from_header(silent.header)
    assert again.header == silent.header and again.domain.nonresponse == 3


@pytest.mark.parametrize("name", [name for name in PLACES if "left out" not in name])
def test_mechanisms_of_places_refuse_nonresponse(name: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError)):
        PLACES[name](Optional(Grid(2, 2)), 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_estimators_that_know_no_order_see_one_more_label(
    method: warner.estimators.Estimator,
) -> None:
    """Those that use the order keep nonresponse out of it, or refuse."""
    counts = np.array([300, 500, 150, 50])
    found = []
    for domain in (_LABELS, _SILENT):
        mechanism = warner.RandomizedResponse(domain, 2.0)
        index = np.repeat(np.arange(4), counts)
        reports = mechanism.reports(index)
        try:
            found.append(warner.estimate(mechanism.tally(reports), method).probabilities)
        except (ArgumentError, ArgumentTypeError, IdentifiabilityError):
            found.append(None)
    plain, silent = found
    if plain is None:  # the method needs values in order
        assert silent is None or silent.sum() == pytest.approx(1)
    else:
        assert silent == pytest.approx(plain, abs=1e-9)


def test_attributes_with_nonresponse_stand_in_products() -> None:
    both = Product(a=_SILENT, b=Categorical(["n", "y"]))
    index = both.encode([{"a": None, "b": "y"}, {"a": 1, "b": "n"}])
    assert index.tolist() == [7, 2] and from_spec(both.spec()) == both
    rr = warner.RandomizedResponse(both, 3.0)
    tally = rr.tally(rr.randomize([{"a": None, "b": "y"}] * 500, np.random.default_rng(0)))
    given = warner.estimate(tally).marginal("a").answered()
    assert given.frequency < 0.3 and given.status in Status
    silent = with_missing(Categorical(["no", "yes"]), "answer")
    assert silent.encode([None, "no", float("nan")]).tolist() == [2, 0, 2]
