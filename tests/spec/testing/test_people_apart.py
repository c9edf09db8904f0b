"""The battery rejects samplers whose reports depend on the batch they are made in."""

from __future__ import annotations

import numpy as np
import pytest

from tests.own_parts import Forced
from warner import Integers, LocalHashing, testing
from warner._core.sampling import Source
from warner.errors import BudgetError
from warner.results.registration import for_a_while, register

SMALL = Integers(0, 3)
DRAWS = 5_000
PROPERTY = "a report depends on its own person alone"


class FirstTrue(Forced):
    """The first person of each batch sends the truth, so a device that sends one report does."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        report = super()._sample(index, source)["report"]
        report[0] = index[0]
        return {"report": report}


class Neighbours(Forced):
    """Every report is that of the person before."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return super()._sample(np.roll(index, 1), source)


class RarelyElsewhere(Forced):
    """One report of a hundred comes from a generator that the source does not know."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        report = super()._sample(index, source)["report"]
        other = np.random.default_rng()
        return {"report": np.where(other.random(len(index)) < 0.01, index, report)}


@pytest.mark.parametrize(
    ("wrong", "name", "said"),
    [
        (FirstTrue, PROPERTY, "reports made one by one"),
        (Neighbours, PROPERTY, "reports among those of other values"),
        (RarelyElsewhere, "the sampler draws from its source alone", "of 2000 reports differ"),
    ],
)
def test_reports_that_depend_on_others_are_rejected(
    wrong: type[Forced], name: str, said: str
) -> None:
    with for_a_while():
        register(wrong)
        with pytest.raises(testing.PropertyError) as caught:
            testing.check_mechanism(wrong(SMALL, 1.0), draws=DRAWS)
    failed = {each.property: each.finding for each in caught.value.checked.failures}
    assert said in failed[name] and "the sampler follows the law" not in failed


def test_right_samplers_are_accepted_with_few_and_with_many_reports() -> None:
    for mechanism in (LocalHashing(SMALL, 1.0), LocalHashing(Integers(0, 60), 1.0)):
        found = testing.check_mechanism(mechanism, draws=DRAWS)
        (each,) = (each for each in found.findings if each.property == PROPERTY)
        assert each.holds and "400 reports made one by one, and 5,000" in each.finding


def test_a_law_that_a_subclass_changes_is_checked_again() -> None:
    """Rejects a check that remembers the epsilon of the base class."""

    class Louder(Forced):
        def __init__(self, domain: Integers, epsilon: float) -> None:
            super().__init__(domain, epsilon)
            self.law = Forced(domain, 2 * epsilon).law
            self.check_realisable()

    with pytest.raises(BudgetError, match="cannot be met"):
        Louder(SMALL, 1.0)
