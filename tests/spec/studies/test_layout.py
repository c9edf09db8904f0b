"""The layout of a study: its digest, and the order in which devices send."""

from __future__ import annotations

import pytest

from warner.collector.refusals import Refused
from warner.collector.submissions import SubmissionFormat
from warner.studies.study import Study

ATTRIBUTE = """
[attributes.{name}]
values = ["no", "yes"]
mechanism = "RandomizedResponse"
epsilon = 1.0
"""


def _study(*names: str) -> Study:
    return Study.parse("".join(ATTRIBUTE.format(name=name) for name in names))


def test_attributes_in_another_order_have_one_digest_and_two_layouts() -> None:
    one, other = _study("smokes", "drinks"), _study("drinks", "smokes")
    assert one.digest == other.digest and one.layout != other.layout
    assert one.layout == _study("smokes", "drinks").layout


def test_a_page_that_was_loaded_before_attributes_changed_places_is_refused() -> None:
    before, after = _study("smokes", "drinks"), _study("drinks", "smokes")
    reports = {n: m.randomize(["yes"]) for n, m in before.mechanisms.items()}
    body = SubmissionFormat(before).seal(reports)
    with pytest.raises(Refused) as error:
        SubmissionFormat(after).parse(body)
    assert error.value.name == "other_study"
