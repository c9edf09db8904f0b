"""Tests of hypotheses about shares, from the exact covariance of the unbiased estimates.

A statistic (T - theta_0)' V^+ (T - theta_0) is compared with a chi-square law, whose degrees of
freedom are the rank of the covariance V. V is taken at the shares of the hypothesis, and V^+ is its
pseudo-inverse. The tests are asymptotic: they keep their level where some hundred reports were
made, and where no share of the hypothesis is so small that hardly a report supports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import distribution
from warner._core.errors import ArgumentError, EmptyError
from warner.estimators.base import LikelihoodData
from warner.groups.pooling import Coordinates
from warner.metrics import project
from warner.reports.tally import Tally
from warner.results.association import pair_of
from warner.results.from_tally import likelihood_data
from warner.results.share_noise import covariance_of
from warner.results.solution import Solution

_LEAST_REPORTS = 2
_RANK = 1e-9  # relative size of an eigenvalue that counts as 0
_IMPOSSIBLE = 1e-15  # a report's probability by that at even shares; the rounding of a share of 0


@dataclass(frozen=True)
class WaldTest:
    """The result of a chi-square test.

    Attributes:
        hypothesis: what was tested, in words.
        statistic: chi-square; it is near ``degrees`` where the hypothesis holds, and infinite where
            the reports rule it out.
        degrees: the degrees of freedom.
        p_value: the probability of as large a statistic where the hypothesis holds.
        n: the number of reports.

    >>> print(WaldTest("a and b are alike", 9.2, 2, 0.01, 500).text)
    The hypothesis that a and b are alike: chi-square 9.20 on 2 degrees of freedom, p = 0.01.
    """

    hypothesis: str
    statistic: float
    degrees: int
    p_value: float
    n: int

    @classmethod
    def of(
        cls,
        hypothesis: str,
        statistic: float,
        degrees: int,
        n: int,
        moments: tuple[float, float] | None = None,
    ) -> WaldTest:
        """The test, with the p-value of a chi-square that has these moments times a number.

        Args:
            hypothesis, statistic, degrees, n: of the test.
            moments: mean and variance where the hypothesis holds; None for ``degrees`` and twice
                that.
        """
        from scipy.stats import chi2

        mean, variance = moments or (degrees, 2.0 * degrees)
        if variance <= _RANK * mean**2:  # the statistic cannot be another one by chance
            p = float(statistic <= mean * (1 + _RANK))
            return cls(hypothesis, statistic, degrees, p, n)
        p = float(chi2.sf(statistic * 2 * mean / variance, 2 * mean**2 / variance))
        return cls(hypothesis, statistic, degrees, p, n)

    @property
    def text(self) -> str:
        """The result in words."""
        freedom = "1 degree" if self.degrees == 1 else f"{self.degrees:,} degrees"
        return (
            f"The hypothesis that {self.hypothesis}: chi-square {self.statistic:.2f} on {freedom} "
            f"of freedom, {shown_p(self.p_value)}."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The result as a table of one row."""
        return [
            {
                "hypothesis": self.hypothesis,
                "statistic": self.statistic,
                "degrees": self.degrees,
                "p": self.p_value,
                "n": self.n,
            }
        ]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        (row,) = self.rows()
        if np.isinf(self.statistic):
            row["statistic"] = None  # JSON has no infinity
        return {"format": "warner-test", "schema": 1, **row, "text": self.text}


def shown_p(p: float) -> str:
    """A p-value as a text.

    >>> shown_p(0.0312), shown_p(0.00001)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"


def data_of(result: Solution | LikelihoodData | Tally | Iterable[Tally]) -> LikelihoodData:
    """The reports of an estimate, or of tallies."""
    data = result if isinstance(result, LikelihoodData) else getattr(result, "data", None)
    if data is None:
        data = likelihood_data(result)  # type: ignore[arg-type]
    elif getattr(result, "sums", None) is not None:
        rule = "must be a joint estimate, or one of these attributes alone"
        remedy = "Estimate them from the tally: estimate(tally, attributes=[...])"
        raise ArgumentError("estimate", rule, "a marginal", remedy)
    if data.n < _LEAST_REPORTS:
        raise EmptyError("n", "must be at least 2 reports for a test", str(data.n))
    return data


def goodness_of_fit(result: Solution | Tally | Iterable[Tally], shares: ArrayLike) -> WaldTest:
    """Test whether the true shares are given ones.

        n (T - theta_0)' C(theta_0)^+ (T - theta_0),   chi-square on K - 1 degrees of freedom

    T is the unbiased estimate, and C the exact covariance of one report's contribution where the
    shares are theta_0. Where one person sent several reports, C is that for alike values. If there
    are reports that cannot be made where the shares are theta_0, such as those of a value of share
    0 that needs no protection, the statistic is infinite and p is 0.

    Args:
        result: an estimate or a tally. The method of an estimate does not matter.
        shares: theta_0 (K,), a distribution.

    Returns:
        WaldTest.

    Raises:
        ArgumentError: not a distribution of K shares.
        EmptyError: fewer than two reports.
        IdentifiabilityError: the channel has no inverse.

    Source: METHODS 10.5.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 2.0)
    >>> tally = coin.tally(coin.randomize(["no"] * 2000 + ["yes"] * 6000))
    >>> goodness_of_fit(tally, [0.5, 0.5]).p_value < 1e-6
    True
    """
    data = data_of(result)
    expected = distribution("shares", shares, data.domain.size, tolerance=1e-6)
    expected = expected / expected.sum()
    found = Coordinates.of(expected, covariance_of(data, expected))
    z = found.to(data.channel.invert(data.weights)[None])[0]
    statistic = np.inf if _excluded(data, expected) else float(data.n * (z @ z))
    return WaldTest.of("the shares are those given", statistic, found.rank, data.n)


def _excluded(data: LikelihoodData, shares: np.ndarray) -> bool:
    """Whether some of the reports are impossible at these shares."""
    even = np.full(shares.size, 1 / shares.size)
    least = _IMPOSSIBLE * data.channel.matvec(even)
    return bool((data.weights[data.channel.matvec(shares) <= least] > 0).any())


def independence(
    result: Solution | LikelihoodData | Tally | Iterable[Tally], first: str, second: str
) -> WaldTest:
    """Test whether two protected attributes are independent.

        n d' S^+ d,   d the entries of D = T - a b',   chi-square on (r - 1)(c - 1) degrees

    T (r, c) is the unbiased estimate of the joint shares, with the marginals a and b. S is the
    exact covariance of one report's contribution to (I - a 1') T (I - b 1')', where the shares are
    a b'. How strong the dependence is, ``estimate.cramers_v`` says.

    Args:
        result: a joint estimate or a tally of both attributes.
        first, second: names of two attributes.

    Returns:
        WaldTest.

    Raises:
        ArgumentError: not two attributes of the domain, or reports whose noise is not listed.
        EmptyError: fewer than two reports.

    Source: METHODS 10.5.

    >>> from warner import Categorical, Product, RandomizedResponse
    >>> domain = Product(a=Categorical(["x", "y"]), b=Categorical(["p", "q"]))
    >>> both = RandomizedResponse(domain, 3.0)
    >>> answers = [{"a": "x", "b": "p"}, {"a": "y", "b": "q"}] * 500
    >>> independence(both.tally(both.randomize(answers)), "a", "b").p_value < 1e-6
    True
    """
    data = data_of(result)
    pair = pair_of(data, first, second)
    table = pair.channel.invert(pair.weights).reshape(pair.shape)
    sides = [project(table.sum(axis=1 - side)) for side in (0, 1)]
    # A cell that nobody has would have no variance under the hypothesis.
    sides = [(pair.n * side + 0.5) / (pair.n + 0.5 * side.size) for side in sides]
    contrasts = [np.eye(side.size) - side[:, None] for side in sides]
    d = contrasts[0] @ table @ contrasts[1].T
    degrees = (pair.shape[0] - 1) * (pair.shape[1] - 1)
    channels = pair.channel.factors(pair.shape)
    if channels is not None and data.reports_per_person == 1:
        # Attributes that were randomised separately: S is the Kronecker product of both noises.
        for side, contrast, channel in zip(sides, contrasts, channels, strict=True):
            noise = contrast @ channel.covariance(side) @ contrast.T
            d = Coordinates.of(side, noise).to(d.T + side)
        statistic = float((d**2).sum())
    else:
        even = np.multiply.outer(*sides).ravel()
        covariance = pair.channel.covariance(even)
        if data.reports_per_person > 1:
            more = data.reports_per_person - 1
            covariance = covariance + more * (np.diag(even) - np.multiply.outer(even, even))
        contrast = np.kron(*contrasts)
        statistic = quadratic(d.ravel(), contrast @ covariance @ contrast.T, degrees)
    name = f"{first} and {second} are independent"
    return WaldTest.of(name, pair.n * statistic, degrees, pair.n)


def quadratic(d: np.ndarray, covariance: np.ndarray, rank: int) -> float:
    """d' V^+ d, with the ``rank`` largest eigenvalues of V (J, J)."""
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    size, vectors = np.linalg.eigh(covariance / np.multiply.outer(scale, scale))
    kept = size > _RANK * max(float(size[-1]), 1e-300)
    kept[: size.size - rank] = False
    z = (vectors[:, kept].T @ (d / scale)) / np.sqrt(size[kept])
    return float(z @ z)
