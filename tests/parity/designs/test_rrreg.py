"""Designs for one group against the numbers that RRreg prints, and intervals against brute force."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from warner import Inversion, Tally, estimate
from warner.designs import (
    Crosswise,
    ForcedResponse,
    Kuk,
    Mangat,
    PaperDesign,
    Triangular,
    Unrelated,
    Warner,
)
from warner.mechanisms import from_header


class Printed(NamedTuple):
    """What RRuni of RRreg 0.7.6 (R 4.2.2) prints for data that its RRgen simulated."""

    design: PaperDesign
    counts: list[int]  # of its responses 0, 1, ...
    pi: list[float]  # of yes; of several answers all of them
    error: list[float]


def _forced(*chances: float) -> ForcedResponse:
    return ForcedResponse(answers=dict(enumerate(chances)))


CASES = {
    "warner": Printed(Warner(0.7), [877, 623], [0.288333333333333], [0.0318193829329698]),
    "warner, low p": Printed(Warner(2 / 12), [519, 981], [0.269], [0.0184296618242614]),
    "unrelated": Printed(
        Unrelated(0.7, 0.2), [1142, 358], [0.255238095238095], [0.0157283965343455]
    ),
    "mangat": Printed(Mangat(0.6), [629, 871], [0.301111111111111], [0.0212417882073476]),
    "kuk": Printed(Kuk(0.8, 0.25), [863, 637], [0.317575757575758], [0.0232124162087163]),
    "forced": Printed(
        ForcedResponse(no=0.15, yes=0.1), [1043, 457], [0.272888888888889], [0.0158506441240646]
    ),
    "forced, 3 answers": Printed(
        _forced(0.1, 0.15, 0.05),
        [679, 560, 261],
        [0.503809523809524, 0.319047619047619, 0.177142857142857],
        [0.0183660748616858, 0.0178471068931778, 0.0139883274916458],
    ),
    "forced, 5 answers": Printed(
        _forced(0.1, 0.1, 0.1, 0.1, 0.1),
        [582, 439, 333, 354, 292],
        [0.382, 0.239, 0.133, 0.154, 0.092],
        [
            0.0203185733310955,
            0.0185151534007344,
            0.0166641635605747,
            0.0170730121499382,
            0.0157953393877177,
        ],
    ),
    "crosswise": Printed(Crosswise(0.25), [536, 964], [0.214666666666667], [0.0247547663740019]),
    "triangular": Printed(Triangular(0.25), [936, 564], [0.168], [0.0166810789364841]),
}


def _tally(design: PaperDesign, counts: list[int]) -> Tally:
    return Tally.from_counts(design, dict(zip(design.report_words, counts, strict=True)))


@pytest.mark.parametrize("name", CASES)
def test_one_group_is_as_rrreg_prints_it(name: str) -> None:
    """Rejects a report read as its opposite, chances in another order, and another p."""
    design, counts, pi, error = CASES[name]
    result = estimate(_tally(design, counts))
    shares = result.probabilities if len(pi) > 1 else result.probabilities[1:]
    np.testing.assert_allclose(shares, pi, rtol=1e-9)
    # RRreg divides by n - 1 in some designs and by n in others.
    half = np.diff(estimate(_tally(design, counts), Inversion()).interval(kind="wald"), axis=1) / 2
    errors = half.ravel()[-len(error) :] / 1.959963984540054
    np.testing.assert_allclose(errors, error, rtol=1 / sum(counts))


def test_several_draws_of_kuk_are_at_least_as_likely_as_rrregs_mean() -> None:
    """RRreg takes the mean number of red cards; the likelihood takes the numbers themselves."""
    design, counts = Kuk(0.8, 0.25, draws=5), [185, 321, 199, 166, 197, 132]
    mean = np.arange(6) @ counts / sum(counts) / 5
    printed = 0.353030303030303
    assert (mean - 0.25) / (0.8 - 0.25) == pytest.approx(printed, rel=1e-9)
    table = np.array([binom.pmf(np.arange(6), 5, a) for a in (0.25, 0.8)]).T
    np.testing.assert_allclose(design.probabilities().astype(float), table, rtol=1e-12)
    result = estimate(_tally(design, counts))

    def log_likelihood(share: float) -> float:
        return float(counts @ np.log(table @ [1 - share, share]))

    best = float(result["yes"])
    assert result.log_likelihood == pytest.approx(log_likelihood(best), rel=1e-12)
    assert log_likelihood(best) >= log_likelihood(printed)
    width = np.diff(result.interval()[1])[0]
    assert width < 2 * 1.96 * 0.0169835145649272  # RRreg's standard error


@pytest.mark.parametrize(
    ("design", "counts", "shares", "log_likelihood"),
    [
        (Warner(0.6), [615, 385], [1.0, 0.0], -666.929690387634),
        (
            _forced(0.1, 0.15, 0.15),
            [280, 237, 83],
            [0.600580197476445, 0.399419802523555, 0.0],
            -598.050069080322,
        ),
    ],
)
def test_estimates_stay_within_the_simplex(
    design: PaperDesign, counts: list[int], shares: list[float], log_likelihood: float
) -> None:
    """RRuni gives no numbers there; these are of the same likelihood, maximised in the simplex."""
    result = estimate(_tally(design, counts))
    np.testing.assert_allclose(result.probabilities, shares, atol=1e-6)
    assert result.log_likelihood == pytest.approx(log_likelihood, abs=1e-6)


def _profile(table: np.ndarray, counts: Any, x: int, t: float) -> float:
    """The largest log-likelihood with share t of value x, by a general optimiser."""
    others = [z for z in range(table.shape[1]) if z != x]

    def down(rest: np.ndarray) -> float:
        weights = np.exp(rest - rest.max())
        theta = np.zeros(table.shape[1])
        theta[x], theta[others] = t, (1 - t) * weights / weights.sum()
        return -float(counts @ np.log(table @ theta))

    starts = np.random.default_rng(1).normal(size=(4, len(others)))
    return max(-minimize(down, start, options={"gtol": 1e-9}).fun for start in starts)


@pytest.mark.parametrize(
    ("design", "counts"),
    [(_forced(0.1, 0.15, 0.05), [679, 560, 261]), (Kuk(0.8, 0.25, 2), [40, 90, 60])],
)
def test_likelihood_intervals_are_those_of_a_general_optimiser(
    design: PaperDesign, counts: list[int]
) -> None:
    """Rejects a profile that holds the other shares at the estimate, and one quantile for two."""
    result, table = estimate(_tally(design, counts)), design.probabilities().astype(float)
    assert result.interval_kind() == "likelihood" and result.log_likelihood is not None
    for x, limits in enumerate(result.interval()):
        for t in limits:
            rise = 2 * (result.log_likelihood - _profile(table, np.array(counts), x, t))
            assert rise == pytest.approx(3.841458820694124, abs=1e-4)


ONE_GROUP = [
    Warner("5/6"),
    ForcedResponse("1/6", "1/6"),
    Crosswise("1/4"),
    Triangular("1/4"),
    Unrelated("2/3", "1/4"),
    Kuk(0.8, 0.25),
    Mangat("2/3"),
]


def _edges(design: PaperDesign, n: int, share: float) -> tuple[int, int]:
    """The least and the largest number of reports of the second word whose interval has a share."""

    def limits(k: int) -> np.ndarray:
        return np.asarray(estimate(_tally(design, [n - k, k]).trusted()).interval()[1])

    chance = design.probabilities()[1].astype(float)
    rising = chance[1] > chance[0]
    centre = round(n * float(chance[0] + share * (chance[1] - chance[0])))

    def last(inside: int, outside: int) -> int:
        low, high = limits(outside)
        if low <= share <= high:
            return outside if outside in (0, n) else last(outside, n if outside > inside else 0)
        while abs(outside - inside) > 1:
            middle = (inside + outside) // 2
            low, high = limits(middle)
            inside, outside = (middle, outside) if low <= share <= high else (inside, middle)
        return inside

    assert rising or chance[0] > chance[1]
    near = round(4 * np.sqrt(n) / 2)  # four standard deviations, at most
    return last(centre, max(centre - near, 0)), last(centre, min(centre + near, n))


@pytest.mark.crossed(7)
@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize("design", ONE_GROUP, ids=lambda design: design.short_name)
def test_intervals_hold_the_truth_as_often_as_they_say(design: PaperDesign, n: int) -> None:
    """The exact coverage, summed over all counts: at least 95 % less two standard errors of a
    thousand simulations, and at .3 at most 98 %.

    Rejects limits of another level, and normal limits cut at 0.
    """
    chance = design.probabilities()[1].astype(float)
    for share in (0.0, 0.02, 0.3):
        low, high = _edges(design, n, share)
        law = binom(n, chance[0] + share * (chance[1] - chance[0]))
        coverage = law.cdf(high) - law.cdf(low - 1)
        assert coverage >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 1000)
        assert share < 0.3 or coverage <= 0.98


def test_designs_are_read_back_from_tallies() -> None:
    tally = _tally(Crosswise("91/365"), [3, 4])
    assert from_header(Tally.from_json(tally.to_json()).header) == Crosswise("91/365")
