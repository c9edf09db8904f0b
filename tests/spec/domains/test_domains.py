"""Domains answer for themselves: their capabilities agree with their values and with each other."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tests.registry import DOMAINS
from warner import Categorical, Grid, Integers, Interval, Product, RandomizedResponse
from warner.domains import DOMAINS as CLASSES, Domain, Padded, Points, Tagged, from_spec
from warner.errors import ArgumentError, ValuesError
from warner.studies.schema import BY_KEY

EACH = [
    *(domain for domain, _ in DOMAINS),
    Points([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
    Tagged(Integers(0, 2), ["home", "work"]),
    Padded(Categorical(["a", "b"]), 3),
]


each = pytest.mark.parametrize("domain", EACH, ids=lambda d: d.kind)


def test_every_class_is_examined() -> None:
    assert {type(domain) for domain in EACH} == set(CLASSES)


@each
def test_coordinates_have_the_dimension_and_lie_between_the_ends(domain: Domain) -> None:
    assert len(domain.ends) == domain.dimension
    if domain.points is None:
        assert domain.dimension == 0
        return
    assert domain.points.shape == (domain.size, domain.dimension)
    low, high = np.transpose(domain.ends)
    assert (domain.points >= low).all() and (domain.points <= high).all()


@each
def test_bins_have_edges_and_points_have_none(domain: Domain) -> None:
    if domain.edges is None:
        assert not domain.is_binned and domain.bin_width == 0
        return
    assert domain.is_binned and domain.points is not None
    assert np.diff(domain.edges) == pytest.approx(domain.bin_width)
    assert (domain.edges[1:] + domain.edges[:-1]) / 2 == pytest.approx(domain.points[:, 0])


@each
def test_numeric_domains_have_positions(domain: Domain) -> None:
    if not domain.is_numeric:
        with pytest.raises(TypeError):
            domain.position([domain.labels[0]])
        return
    assert domain.is_ordered and domain.dimension == 1
    position = domain.position(domain.labels)
    assert (np.diff(position) > 0).all() and position[0] >= 0 and position[-1] <= 1


@each
def test_shape_is_that_of_the_attributes(domain: Domain) -> None:
    assert math.prod(domain.shape) == domain.size
    if domain.attributes:
        assert domain.shape == tuple(part.size for part in domain.attributes.values())
        assert domain.select(list(domain.attributes)[:1]) == next(iter(domain.attributes.values()))
        assert domain.select(list(domain.attributes)) == domain
    else:
        with pytest.raises(TypeError):
            domain.select(["a"])


@each
def test_placeholders_follow_the_answers(domain: Domain) -> None:
    answers = domain.untagged if domain.tags else domain.unpadded
    assert answers.size + len(domain.placeholders) == domain.size
    assert domain.labels[answers.size :] == list(domain.placeholders)
    assert answers.encode(answers.labels).tolist() == list(range(answers.size))
    assert (domain.pairs is None) == (domain.unpadded is domain)
    assert bool(domain.tags) == (domain.untagged is not domain)


@each
def test_labels_or_a_pattern_describe_answers_as_text(domain: Domain) -> None:
    form = domain.text
    if form is None:
        return
    if form.labels is not None:
        assert len(form.labels) == domain.size
        return
    texts = [str(value).strip("()") for value in domain.labels]
    assert all(re.match(form.pattern, text) for text in texts)
    assert not any(re.match(form.pattern, text) for text in ("", "x", "1 2", "1;2"))
    parts = [re.findall(form.parts or ".+", text)[0] for text in texts]
    found = [[form.number(p) for p in (part if form.parts else [part])] for part in parts]
    assert domain.encode(found if form.parts else [row[0] for row in found]).tolist() == list(
        range(domain.size)
    )


def test_study_files_write_domains_as_constructors_take_them() -> None:
    written = {
        "values": (["a", "b"], Categorical(["a", "b"])),
        "integers": ((0, 3), Integers(0, 3)),
        "interval": ({"low": 0, "high": 1, "bins": 4}, Interval(0, 1, 4)),
        "grid": ({"rows": 2, "columns": 3, "side": 0.5}, Grid(2, 3, 0.5)),
    }
    assert written.keys() == BY_KEY.keys()
    for key, (entry, domain) in written.items():
        assert BY_KEY[key].from_study(entry) == domain


def test_a_tag_may_not_look_like_an_answer() -> None:
    for domain in (Categorical(["@home", "b"]), Padded(Categorical(["a", "b"]), 2)):
        tag = "home" if "@home" in domain.labels else "padding"
        with pytest.raises(ValueError, match="must not look like a value"):
            Tagged(domain, [tag])


def test_products_hold_domains_of_every_kind() -> None:
    product = Product(**{domain.kind: domain for domain in EACH})
    assert from_spec(product.spec()) == product


def test_a_label_in_other_case_or_with_spaces_has_a_remedy_of_its_own() -> None:
    labels = Categorical(["Never", "Often"])
    for answer in ("Never ", "often", "\tNEVER"):
        with pytest.raises(ValuesError, match="upper and lower case or spaces") as e:
            labels.encode(["Never", answer])
        assert answer not in str(e.value) and e.value.positions == (1,)
    with pytest.raises(ValuesError, match="refused, not guessed"):
        labels.encode(["CANARY"])


def test_products_beyond_all_floats_are_named() -> None:
    """Rejects messages that make a float, or decimal digits, of 10^6000 tuples."""
    huge = Product(**{f"a{i}": Integers(0, 10**6 - 1) for i in range(1000)})
    with pytest.raises(ArgumentError, match=r"too many tuples.*1\.00e\+6000"):
        huge.encode([dict.fromkeys(huge.attributes, 1)])
    with pytest.raises(ArgumentError, match=r"1\.00e\+6000. Use PerAttribute"):
        RandomizedResponse(huge, 1.0)
