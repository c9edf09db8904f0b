"""Labels and names that cannot be shown are refused wherever a domain is built."""

from __future__ import annotations

import pytest

import warner
from tests.spec._labels import BAD, LEGAL
from warner import Categorical, Integers, KeyValue, Product, Study
from warner._core.text import unreadable
from warner.domains import Tagged, from_spec


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
