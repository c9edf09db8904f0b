"""Labels and names that cannot be shown are refused wherever a domain is built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import warner
from tests.spec._labels import BAD, LEGAL
from warner import Categorical, Integers, KeyValue, Product, RandomizedResponse, Study
from warner._core.text import unreadable
from warner.app.new_study.text import Question, with_labels
from warner.domains import Tagged, from_spec
from warner.errors import ArgumentError, WarnerError
from warner.mechanisms import from_header


@pytest.mark.parametrize("bad", BAD, ids=ascii)
def test_labels_and_names_that_cannot_be_shown_are_refused_wherever_a_domain_is_built(
    bad: str,
) -> None:
    held = f"a{bad}b"
    builds = (
        lambda: Categorical(["x", held]),
        lambda: Product(**{held: Integers(0, 1)}),
        lambda: Tagged(Integers(0, 2), [held]),
        lambda: KeyValue(Categorical([held, "k"]), Integers(0, 1), 1.0),
        lambda: from_spec({"kind": "categorical", "values": ["x", held]}),
        lambda: from_spec(
            {"kind": "product", "domains": [[held, {"kind": "integers", "low": 0, "high": 1}]]}
        ),
        lambda: Study(
            {
                "attributes": {
                    held: {"values": ["x", "y"], "mechanism": "RandomizedResponse", "epsilon": 1.0}
                }
            }
        ),
        lambda: Study(
            {
                "attributes": {
                    "a": {"values": ["x", held], "mechanism": "RandomizedResponse", "epsilon": 1.0}
                }
            }
        ),
    )
    for i, build in enumerate(builds):
        with pytest.raises(
            (warner.errors.ArgumentError, warner.errors.StudyError),
            match=r"must not hold the [a-z ]+ U\+[0-9A-F]{4}",
        ) as caught:
            pytest.fail(f"case {i} gave {build()!r}")
        assert unreadable(str(caught.value)) is None


@pytest.mark.parametrize("label", LEGAL, ids=ascii)
def test_text_of_any_language_or_syntax_is_a_label(label: str) -> None:
    assert Categorical(["another", label]).encode([label]).tolist() == [1]


@pytest.mark.parametrize(
    "pair",
    [
        ("Yes", "yes"),
        ("a", "a "),
        ("a b", "a\u00a0 b"),
        ("caf\u00e9", "cafe\u0301"),
        ("\ufb01", "fi"),
        ("none", "no\u200bne"),
        ("\u263a", "\u263a\ufe0f"),
    ],
    ids=ascii,
)
def test_labels_that_look_alike_are_refused_wherever_labels_stand(pair: tuple[str, str]) -> None:
    """A page would show two equal choices, and the estimate would split their people."""
    attribute = {"values": ["x", *pair], "mechanism": "RandomizedResponse", "epsilon": 1.0}
    fine = {"values": ["x", "y"], "mechanism": "RandomizedResponse", "epsilon": 1.0}
    header = RandomizedResponse(Categorical(["x", "first", "second"]), 1.0).header
    foreign = header["domain"] | {"values": ["x", *pair]}
    builds: list[Callable[[], object]] = [
        lambda: Categorical(["x", *pair]),
        lambda: KeyValue(Categorical(list(pair)), Integers(0, 1), 1.0),
        lambda: Study({"attributes": {"a": attribute}}),
        lambda: Study({"attributes": {"a": fine}, "public": {"b": {"values": list(pair)}}}),
        lambda: from_header(header | {"domain": foreign}),
        lambda: with_labels(Question("a", "labels"), ["x", *pair]),
    ]
    for i, build in enumerate(builds):
        with pytest.raises(WarnerError, match="look alike") as caught:
            pytest.fail(f"case {i} gave {build()!r}")
        assert all(ascii(label) in str(caught.value) for label in pair)
    with pytest.raises(ArgumentError, match="look alike") as caught:
        with_labels(Question("a", "labels"), ["x", *pair], is_copied=True)
    assert ascii(pair[1]) not in str(caught.value)  # labels that were copied are answers


def test_labels_that_differ_in_a_letter_are_accepted() -> None:
    assert Categorical(["Ma\u00dfe", "Masse", "a", "\u00e4", "0", "00", ""]).size == 7
