"""What every estimator says of itself and of how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.registry import ESTIMATORS
from warner import Categorical, Integers, RandomizedResponse, benchmark, estimate
from warner.design import compare
from warner.errors import ArgumentError, ArgumentTypeError, WarnerError
from warner.estimators import Estimator, ExpectationMaximization, Inversion, literature
from warner.estimators.base import Fit, LikelihoodData, Status


@pytest.fixture(scope="module")
def tally() -> warner.Tally:
    mechanism = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 1.0)
    values = ["a"] * 600 + ["b"] * 300 + ["c"] * 100
    return mechanism.tally(mechanism.randomize(values, np.random.default_rng(2)))


def test_status_says_what_happened(tally: warner.Tally) -> None:
    small = warner.RandomizedResponse(Categorical(["a", "b", "c", "d"]), 0.1)
    noisy = small.tally(small.randomize(["a"] * 50, np.random.default_rng(0)))
    assert warner.estimate(noisy, warner.Inversion()).status is Status.OUTSIDE_SIMPLEX
    assert warner.estimate(noisy, warner.Inversion("project")).status is Status.EXACT
    assert warner.estimate(noisy, warner.MaximumLikelihood()).status is Status.CONVERGED
    assert warner.estimate(noisy, warner.ExpectationMaximization(2)).status is Status.STOPPED
    assert warner.estimate(noisy, warner.estimators.Uniform()).status is Status.EXACT
    for status in Status:
        assert len(status.value) > 20, "a status says cause and remedy"


@pytest.mark.parametrize("method", ESTIMATORS, ids=repr)
def test_every_method_says_what_it_computes(method: Estimator) -> None:
    """One sentence without a full stop, so that tables can join it to the status."""
    assert len(method.summary) > 20 and not method.summary.endswith(".")


def test_how_a_method_ended_is_said_of_this_fit(tally: warner.Tally) -> None:
    """Rejects a list of what may have ended any method, and a gap whose size nobody sees."""
    early = str(warner.estimate(tally, ExpectationMaximization(2)))
    early = " ".join(early.split())
    assert "Stopped before the best fit, after 2 steps. The best fit is better by at most" in early
    assert "in log-likelihood for each report (the gap)." in early and "tolerance" not in early
    unfinished = warner.estimate(tally, ExpectationMaximization(1, tolerance=1e-9))
    words = " ".join(str(unfinished).split())
    assert "so the result is not final: pass a larger tolerance. The best fit" in words
    assert "unbiased" in Inversion().summary and "no longer" in Inversion("project").summary


# Wrong estimators from outside the package are refused, and cannot spoil the others.


DOMAIN = Integers(0, 3)
COIN = RandomizedResponse(DOMAIN, 1.0)
TALLY = COIN.tally(COIN.reports([0, 1, 1, 2] * 100)).trusted()


@dataclass(frozen=True)
class Returns(Estimator):
    """Returns the same for all reports."""

    summary: ClassVar[str] = "the same for all reports"

    case: str = ""

    def _fit(self, data: LikelihoodData) -> Any:
        size = data.domain.size
        even = np.full(size, 1 / size)
        return {
            "NaN": Fit(np.full(size, np.nan), Status.COMPLETED),
            "short": Fit(np.full(size - 1, 1 / (size - 1)), Status.COMPLETED),
            "twice": Fit(2 * even, Status.EXACT),
            "array": even,
            "None": None,
            "text": Fit(even, "done"),  # type: ignore[arg-type]
            "twice, and says so": Fit(2 * even, Status.OUTSIDE_SIMPLEX),
        }[self.case]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("NaN", "finite shares; got 4 that are not finite"),
        ("short", r"must return 4 shares, one for each value; got an array of shape \(3,\)"),
        ("twice", "shares of at least 0 that add up to 1 if the status is EXACT; got the sum 2"),
        ("array", "_fit must return a Fit; got a ndarray"),
        ("None", "_fit must return a Fit; got None"),
        ("text", "status must be a Status; got a string"),
    ],
)
def test_what_is_no_fit_is_refused_with_a_remedy(case: str, message: str) -> None:
    """Rejects a package that shows shares of NaN, or ranks shares with the sum 2."""
    refused(WarnerError, f"^Returns: .*{message}", estimate, TALLY, Returns(case))
    league = benchmark([0.25] * 4, DOMAIN, [RandomizedResponse], [Returns(case), "mle"], runs=2)
    assert [row["method"] for row in league.rows()] == ["mle"]
    assert len(league.left_out) == 1 and "Returns:" in str(league)
    ranking = compare(TALLY, [Returns(case), "mle"])
    assert len(ranking.results) == 1 and "left_out=1)" in repr(ranking)


def test_shares_outside_the_simplex_may_say_so() -> None:
    found = estimate(TALLY, Returns("twice, and says so"))
    assert found.probabilities.tolist() == [0.5] * 4


@dataclass(frozen=True)
class Overwrites(Returns):
    """Uses the frequencies as its workspace."""

    def _fit(self, data: LikelihoodData) -> Fit:
        data.weights[:] = 1 / data.weights.size
        return Fit(np.full(data.domain.size, 1 / data.domain.size), Status.COMPLETED)


def test_an_estimator_cannot_change_the_reports_that_the_next_one_reads() -> None:
    """Rejects a league in which all methods after this one estimate from other reports."""
    truth = [0.7, 0.1, 0.1, 0.1]
    spoiled = benchmark(truth, DOMAIN, [RandomizedResponse], [Overwrites(), "mle"], runs=2)
    alone = benchmark(truth, DOMAIN, [RandomizedResponse], ["mle"], runs=2)
    assert [row["mean"] for row in spoiled.rows()] == [row["mean"] for row in alone.rows()]
    assert "read-only" in str(spoiled)
    refused(ValueError, "read-only", estimate, TALLY, Overwrites())
    ranking = compare(TALLY, [Overwrites(), "mle"])
    assert "raised ValueError" in next(iter(ranking.left_out.values()))


def test_the_reports_of_the_caller_stay_as_they_are() -> None:
    weights = np.full(4, 0.25)
    data = LikelihoodData(COIN.channel(), weights, 4, DOMAIN)
    assert weights.flags.writeable and not data.weights.flags.writeable


# The options of every estimator, and the words that refuse a wrong one.


EM = warner.ExpectationMaximization
EB = warner.EmpiricalBayes
BIAS = literature.BiasCorrection
MIXTURE = literature.MixtureReduction


@pytest.mark.parametrize(
    ("estimator", "options", "words"),
    [
        *(
            (warner.MaximumLikelihood, {"gap": v}, "gap")
            for v in (0, -1.0, math.nan, math.inf, "1")
        ),
        (warner.MaximumLikelihood, {"likelihood": "best"}, "likelihood"),
        *(
            (warner.Inversion, {"constraint": v}, "constraint: must be one of None, 'normalize'")
            for v in ("clip", 1, True, ["project"])
        ),
        (warner.Inversion, {"weights": "sizes"}, "weights"),
        (warner.Inversion, {"alpha": 0.01}, "alpha: can be used only with constraint='threshold'"),
        (
            warner.Inversion,
            {"constraint": "project", "rest": "discard"},
            "rest: can be used only with constraint='threshold'",
        ),
        (
            warner.Inversion,
            {"constraint": "threshold", "alpha": 1.0},
            "alpha: must be above 0 and below 1",
        ),
        (warner.Inversion, {"constraint": "threshold", "rest": "keep"}, "rest: must be one of"),
        (EM, {}, "steps: must be given, because no tolerance is given"),
        (EM, {}, r"EM \(IBU\) until it converges, use MaximumLikelihood\(\)"),
        (EM, {"tolerance": 0.0}, "tolerance: must be above 0"),
        (EM, {"steps": "auto", "tolerance": 1.0}, "cannot be used with steps='auto'"),
        (EM, {"steps": 5, "start": "thr"}, "start: must be one of 'uniform'"),
        (EM, {"steps": 5, "start": 3}, "an estimator or a list of shares"),
        (EM, {"steps": 5, "start": [0.5, 0.6]}, "start: must be shares"),
        *((EB, {"order": v}, "order") for v in (None, "yes", 2)),
        *((EB, {"loss": v}, "must be one of") for v in ("linear", None, 1)),
        *((EB, {"likelihood": v}, "must be one of") for v in ("poisson", None)),
        *((BIAS, {"inner": v}, "inner") for v in ("em", warner.MaximumLikelihood)),
        *((BIAS, {"alpha": v}, "alpha") for v in ("best", -0.1, None, True)),
        (BIAS, {"ridge": 0}, "ridge"),
        (BIAS, {"tolerance": 0.0}, "tolerance"),
        *((MIXTURE, {"inner": v}, f"or None; got {v!r}") for v in ("newton", 3)),
        (MIXTURE, {"operation": "split"}, "operation"),
        (MIXTURE, {"select": "random"}, "select"),
        *((MIXTURE, {"tau": v}, "tau") for v in (0, math.nan)),
        (MIXTURE, {"tolerance": -1.0}, "tolerance"),
        *((MIXTURE, {"k_min": v}, "k_min") for v in (0, 2.5)),
        (MIXTURE, {"premerge": "yes"}, "premerge"),
        *((MIXTURE, {"groups": v}, "groups: must be lists of values") for v in ("ab", ["ab"])),
        (MIXTURE, {"absent": "a"}, "absent: must be a list of values"),
        (MIXTURE, {"tiny": 1.0}, "tiny: can be used only with premerge=True"),
        (MIXTURE, {"tiny": -1.0, "premerge": True}, "tiny: must be at least 0"),
        *((literature.SmoothedEM, {"tolerance": v}, "tolerance") for v in (-1e-9, math.nan, None)),
        *((literature.SmoothedEM, {"steps": v}, "steps") for v in (0, 1.5)),
        *((literature.WienerFilter, {"steps": v}, "steps") for v in (0, 1.5)),
        (literature.WienerFilter, {"constraint": "norm"}, "constraint"),
    ],
)
def test_wrong_options_are_refused_by_name(
    estimator: type[Estimator], options: dict[str, Any], words: str
) -> None:
    refused((ArgumentError, ArgumentTypeError), words, estimator, **options)


@pytest.mark.parametrize(
    "method",
    [
        *ESTIMATORS,
        BIAS(alpha=0.3, ridge=0.01),
        MIXTURE("mle", tau=1.5),
        MIXTURE(EM(9), "prune", "half"),
        warner.Inversion("norm-sub", weights="equal"),
        warner.MaximumLikelihood(likelihood="supports"),
        EM(start="histogram", tolerance=0.01),
        literature.SmoothedEM(start=warner.Inversion("project")),
        warner.estimators.PerKey(warner.MaximumLikelihood(), literature.MixtureReduction()),
        warner.estimators.KeyMeans(clip=False),
    ],
    ids=repr,
)
def test_an_estimator_is_written_again_by_its_repr(method: Estimator) -> None:
    names = {name: getattr(warner.estimators, name) for name in dir(warner.estimators)}
    assert (
        eval(repr(method), names | {n: getattr(literature, n) for n in literature.__all__})
        == method
    )
