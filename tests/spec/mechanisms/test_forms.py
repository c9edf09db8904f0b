"""What a mechanism from outside the package states has the form that all else relies on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import warner
from tests.own_parts import ONE, Forced
from tests.refusals import refused
from warner import Integers, audit, benchmark, estimate, testing
from warner.channels import DenseChannel
from warner.errors import ArgumentTypeError, BudgetError, MismatchError
from warner.mechanisms import Mechanism
from warner.privacy.report_laws import ExactTable
from warner.reports.schema import IntegerColumns
from warner.results.recommend import for_a_while

FOUR = Integers(0, 3)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with for_a_while():
        warner.register(Stated)
        yield


WEIGHTS = [0.4, 0.3, 0.2, 0.1]


class Stated(Forced):
    """States another law, schema, list of probabilities or channel, or draws other columns."""

    def __init__(self, domain: Any, epsilon: float, **changed: Callable[[Any], Any]) -> None:
        self.changed = changed
        super().__init__(domain, epsilon, WEIGHTS)
        self.law = self._change("law", self.law)
        self.schema = self._change("schema", self.schema)
        self.check_realisable()

    def _change(self, name: str, right: Any) -> Any:
        return self.changed.get(name, lambda same: same)(right)

    def parameters(self) -> dict[str, Any]:
        return {}

    def probabilities(self) -> np.ndarray:
        return self._change("probabilities", super().probabilities())

    def channel(self) -> Any:
        return self._change("channel", super().channel())

    def _sample(self, index: np.ndarray, source: Any) -> Any:
        return self._change("sample", super()._sample(index, source))


def _table(change: Callable[[np.ndarray], Any]) -> Callable[[ExactTable], Any]:
    return lambda law: ExactTable(change(law.numerators))


def _report(change: Callable[[np.ndarray], Any]) -> Callable[[Any], Any]:
    return lambda columns: {"report": change(columns["report"])}


def _sum_off(table: np.ndarray) -> np.ndarray:
    return table + np.array([[0, 0, ONE // 10_000, 0]] + [[0] * 4] * 3, dtype=object)


SHAPE = r"must have the shape \(4, 4\), with a row for each of the 4 reports and a column for each "
SUM = r"must have columns that each sum to 2\*\*64; got "


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("law", _table(lambda t: t[:3]), rf"Stated\.law: {SHAPE}.*got the shape \(3, 4\)"),
        ("law", _table(lambda t: t[:, 0]), r"got the shape \(4,\)"),
        ("law", _table(np.transpose), rf"{SUM}1\.51.* times as much for value number 0.*Each colu"),
        ("law", _table(lambda t: 5 * t - ONE), r"law: must have no probability below 0; got -0\."),
        ("law", _table(_sum_off), rf"{SUM}1\.0001 times as much for value number 2"),
        (
            "law",
            lambda law: None,
            r"Stated\.law: must be set in __init__.*got None.*self\.law = Ex",
        ),
        ("law", lambda law: law.numerators, r"Stated\.law: must be set.*got a ndarray"),
        ("schema", lambda schema: None, r"Stated\.schema: must be set.*self\.schema = IntegerCol"),
        (
            "schema",
            lambda schema: IntegerColumns(("report",), (5,)),
            r"Stated\.law: must have the shape \(5, 4\).*got the shape \(4, 4\)",
        ),
    ],
)
def test_a_law_and_a_schema_have_their_form_when_a_mechanism_is_made(
    name: str, change: Callable[[Any], Any], said: str
) -> None:
    """Rejects a bare ValueError of NumPy in the first audit, and a row-stochastic table that a
    message about epsilon explains.
    """
    refused((MismatchError, ArgumentTypeError), said, Stated, FOUR, 1.0, **{name: change})


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("probabilities", lambda t: t[:3], rf"Stated\.probabilities\(\): {SHAPE}.*shape \(3, 4\)"),
        ("probabilities", lambda t: t[:, :3], r"got the shape \(4, 3\)"),
        ("probabilities", lambda t: t.tolist(), r"must be an array of NumPy with a Fraction.*list"),
        ("probabilities", lambda t: t.astype(float), r"got an array of float64\. Write fractions"),
        ("channel", lambda a: DenseChannel(a.dense()[:, :3]), r"must have 4 columns.*\(4, 3\)"),
        (
            "channel",
            lambda a: a.dense(),
            r"Stated\.channel\(\): must return a channel; got a ndarr",
        ),
    ],
)
def test_listed_probabilities_and_channels_have_their_form(
    name: str, change: Callable[[Any], Any], said: str
) -> None:
    """Rejects bare errors of NumPy in audits, and a benchmark that ends instead of leaving out."""
    wrong = Stated(FOUR, 1.0, **{name: change})
    refused((MismatchError, ArgumentTypeError), said, audit, wrong)
    found = benchmark(WEIGHTS, FOUR, {"own": lambda domain, nats: wrong}, ["mle"], runs=2)
    ((_, reason),) = found.left_out.items()
    refused((MismatchError, ArgumentTypeError), said, _raised, wrong, name)
    assert not found.rows() and reason.startswith(f"Stated.{name}()")


def _raised(mechanism: Mechanism, name: str) -> None:
    """The error of the first function that needs a member."""
    if name == "channel":
        estimate(mechanism.tally(mechanism.randomize([0, 1, 2, 3])))
    audit(mechanism, samples=1000)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda columns: columns["report"], "must return a dict with an array for each of the col"),
        (lambda columns: {"x": columns["report"]}, "columns report; got the columns x"),
        (_report(lambda y: y[:1]), r"whole numbers of the shape \(4,\) as 'report'; got int64 of"),
        (_report(lambda y: y[:, None]), r"got int64 of the shape \(4, 1\)"),
        (_report(lambda y: y + 0.5), r"got float64 of the shape \(4,\)"),
    ],
)
def test_a_sampler_draws_a_whole_number_for_each_person(
    change: Callable[[Any], Any], said: str
) -> None:
    """Rejects one report that everybody sends, and reports whose decimals are cut off: both were
    silent.
    """
    wrong = Stated(FOUR, 1.0, sample=change)
    refused(
        (MismatchError, ArgumentTypeError),
        rf"Stated\._sample\(\): .*{said}",
        wrong.randomize,
        [0, 1, 2, 3],
    )


def test_the_battery_says_the_same_of_a_wrong_form() -> None:
    with pytest.raises(testing.PropertyError) as caught:
        testing.check_mechanism(Stated(FOUR, 1.0, probabilities=lambda t: t[:3]), 1000)
    failed = {each.property: each.finding for each in caught.value.checked.failures}
    assert {"the law sums to one", "the sampler follows the law"} <= failed.keys()
    assert not any("raised" in each for each in failed.values())


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "parameters",
            {"w": np.ones(3)},
            r"Stated\.parameters\(\): must return a dict.*ndarray.*toli",
        ),
        ("parameters", None, r"Stated\.parameters\(\): must return a dict.*got None"),
        ("thresholds", {"a": np.uint64(5)}, r"Stated\.thresholds\(\): .*uint64.*int\(number\)"),
        ("thresholds", [1, 2], r"Stated\.thresholds\(\): must return a dict.*got a list"),
    ],
)
def test_parameters_and_thresholds_are_json(
    monkeypatch: pytest.MonkeyPatch, name: str, value: Any, said: str
) -> None:
    """Rejects a bare TypeError of the encoder, which names no method."""
    monkeypatch.setattr(Stated, name, lambda self: value)
    refused(ArgumentTypeError, said, lambda: Stated(FOUR, 1.0).header)


def test_parameters_that_init_does_not_take_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects talk of a damaged file where a class names arguments that it does not have."""
    monkeypatch.setattr(Forced, "parameters", lambda self: {"shares": 1.0})
    warner.register(Forced)
    said = r"possible Forced\. parameters\(\) of Forced must have all arguments that its __"
    coin = Forced(FOUR, 1.0)
    refused(MismatchError, said, estimate, coin.tally(coin.randomize([0, 1, 2, 3])))


def test_an_argument_that_parameters_forget_is_no_damaged_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects talk of a damaged file where the header of a class makes another mechanism."""
    monkeypatch.setattr(Forced, "parameters", lambda self: {})
    warner.register(Forced)
    coin = Forced(FOUR, 1.0, weights=[0.4, 0.3, 0.2, 0.1])
    said = (
        r"different thresholds\. parameters\(\) of Forced must have all arguments that its __init"
    )
    refused(MismatchError, said, estimate, coin.tally(coin.randomize([0, 1, 2, 3])))


def test_a_law_of_equal_columns_is_not_said_to_need_more_epsilon() -> None:
    """Rejects the advice of a larger epsilon alone, where no epsilon helps."""
    said = (
        r"Forced makes each report equally often for every answer.*Are the columns of its law equal"
    )
    refused(BudgetError, said, Forced, FOUR, 1.0, weights=[0.5, 0.5, 0, 0])


def test_a_mechanism_without_a_domain_says_what_is_missing() -> None:
    class NoSuper(Forced):
        def __init__(self) -> None:
            self.check_realisable()

    refused(ArgumentTypeError, r"NoSuper\.__init__\(\): .*super\(\)\.__init__\(domain", NoSuper)
