"""The noise of weighted estimates from a survey with clusters, strata or unequal weights.

    V = sum_g s_g C_g(t_g) + R'R - M'M

C_g(t) is the covariance of one report of mechanism g where the shares are t, from people who were
drawn one by one. Of clusters s is 0, and R has a row for each cluster: the sums of the linearised
scores w_i (l_i - T) / W, where l_i is the term of a person in the unbiased estimate T, and W the
sum of the weights. Tallies know the sum of the terms l_i over each cluster, so nothing is known of
single people. Without clusters the sums of squares over people are each channel's own at the shares

    t_g = sum_i w_i^2 f_i l_i / sum_i w_i^2 f_i,   s_g = sum_i w_i^2 f_i / W^2

of the people of mechanism g. f_i is the factor of the person's stratum. R then has the rows
sqrt(s_g) (t_g - T), and M the means of the strata. Two groups of people of one survey have the
covariance R_a'R_b - M_a'M_b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from warner._core.survey_design import DrawnSample
from warner.channels.base import LikelihoodOperator, summed

# The covariance of one report of a mechanism at some shares (K,).
OfShares = Callable[[LikelihoodOperator, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class SurveyNoise:
    """The noise of the unbiased estimates T (K,) of a group of people in a survey."""

    drawn: DrawnSample  # the sample of the whole survey
    unbiased: np.ndarray  # T (K,)
    scales: np.ndarray  # s (G,) of the G mechanisms; (0,) of clusters
    at: np.ndarray  # t (G, K)
    plus: np.ndarray  # R (r, K)
    minus: np.ndarray  # M (H, K)
    # s and t without factors, for exactly the people who reported
    of_answers: tuple[np.ndarray, np.ndarray]
    # (G,) the part of the group's weight that lies in each cluster; None without clusters
    parts: np.ndarray | None
    people: float  # the weighted number of people of the group; all people of the survey are n

    @classmethod
    def of(
        cls,
        drawn: DrawnSample,
        rows: np.ndarray,
        unbiased: np.ndarray,
        terms: np.ndarray,
        mechanism: np.ndarray,
    ) -> SurveyNoise:
        """The noise of people in some rows of a sample; ``terms`` are estimates of one row each.

        Shapes: rows (c,), unbiased T (K,), terms (c, K), mechanism (c,) in the channels' order.
        """
        weights, sizes = drawn.weights[rows], drawn.sizes[rows]
        total, size = float(weights @ sizes), unbiased.size
        fractions = weights * sizes / total
        of_mechanism = np.equal.outer(np.unique(mechanism), mechanism)

        def means(squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            of_each = of_mechanism * squares
            scales = of_each.sum(axis=1)
            return scales, of_each @ terms / scales[:, None]

        squares = weights**2 * sizes / total**2
        of_answers = means(squares)
        scores = fractions[:, None] * (terms - unbiased)
        none = np.empty((0, size))
        if drawn.design.cluster is not None:
            units = len(drawn.stratum_of_unit)
            unit = drawn.unit[rows]
            sums = np.stack([np.bincount(unit, c, units) for c in scores.T], axis=1)
            parts = np.bincount(unit, fractions, units)
            root, no_scales = drawn.root(sums), np.empty(0)
            return cls(drawn, unbiased, no_scales, none, root, none, of_answers, parts, total)
        stratum = drawn.stratum[rows]
        scales, at = means(squares * drawn.factors[stratum])
        strata = len(drawn.drawn)
        sums = np.stack([np.bincount(stratum, c, strata) for c in scores.T], axis=1)
        minus = sums * np.sqrt(drawn.factors / drawn.drawn)[:, None]
        plus = np.sqrt(scales)[:, None] * (at - unbiased)
        return cls(drawn, unbiased, scales, at, plus, minus, of_answers, None, total)

    def covariance(
        self,
        channel: LikelihoodOperator,
        of_shares: OfShares,
        target: str = "population",
        c: np.ndarray | None = None,
    ) -> np.ndarray:
        """V (B, B) of the estimates of c'theta, or of theta itself."""
        alone = self._of_reports(channel, of_shares, target)
        if target == "respondents":
            return alone
        plus, minus = (m if c is None else m @ c for m in (self.plus, self.minus))
        return np.asarray(plus.T @ plus - minus.T @ minus + alone)

    def variances(
        self, channel: LikelihoodOperator, of_shares: OfShares, target: str = "population"
    ) -> np.ndarray:
        """The diagonal (K,) of V, where ``of_shares`` gives that of one report."""
        alone = self._of_reports(channel, of_shares, target)
        if target == "respondents":
            return alone
        variances = (self.plus**2).sum(axis=0) - (self.minus**2).sum(axis=0) + alone
        return np.asarray(np.maximum(variances, 0.0))

    def _of_reports(
        self, channel: LikelihoodOperator, of_shares: OfShares, target: str
    ) -> np.ndarray:
        """sum_g s_g C_g(t_g), in whatever shape ``of_shares`` gives C."""
        scales, at = self.of_answers if target == "respondents" else (self.scales, self.at)
        channels = channel.groups() if len(scales) > 1 else (channel,)
        parts = zip(scales, channels, at, strict=False)  # none of clusters
        return np.asarray(sum(s * of_shares(one, with_sum_one(t)) for s, one, t in parts))

    def with_other(self, other: SurveyNoise) -> np.ndarray:
        """The covariance (K, K) of the estimates of two groups without a person in common."""
        among = self.plus.T @ other.plus if self.parts is not None else 0.0
        return np.asarray(among - self.minus.T @ other.minus)

    def moments(self, other: SurveyNoise | None = None) -> tuple[float, float]:
        """The degrees of freedom of V or of a difference, and the expected part of the truth."""
        return moments_of_sum([self] if other is None else [self, other], [1.0, -1.0])

    def on_attributes(self, shape: Sequence[int], keep: Sequence[int]) -> SurveyNoise:
        """The noise of sums over attributes that are not in ``keep``."""

        def sums(array: np.ndarray) -> np.ndarray:
            if not array.size:
                return np.empty((0, int(np.prod([shape[axis] for axis in keep]))))
            return summed(array.T, shape, keep).T

        scales, at = self.of_answers
        return replace(
            self,
            unbiased=sums(self.unbiased),
            at=sums(self.at),
            plus=sums(self.plus),
            minus=sums(self.minus),
            of_answers=(scales, sums(at)),
        )


def with_sum_one(shares: np.ndarray) -> np.ndarray:
    """Unbiased estimates (K,) moved until they sum to 1, as the moments of reports need it.

    They are not projected: with negative shares too the moments are the moments of the reports,
    where every report is a value.
    """
    return np.asarray(shares - (shares.sum() - 1) / shares.size)


def moments_of_sum(
    noises: Sequence[SurveyNoise], factors: Sequence[float] | np.ndarray
) -> tuple[float, float]:
    """The degrees of freedom of the variance of sum_g c_g T_g, and its expected part of the truth.

    The groups T_g are of one survey. Clusters add to the information on each in proportion to the
    weight of their people.
    """
    drawn = noises[0].drawn
    parts = [noise.parts for noise in noises if noise.parts is not None]
    if not parts:
        return float(drawn.degrees), 1.0
    inverse = np.diag([noise.of_answers[0].sum() for noise in noises])
    v = np.stack(parts, axis=1) * np.asarray(factors)[: len(parts)]
    along = (v * np.asarray(factors)[: len(parts)]) @ inverse.diagonal()
    return drawn.moments_of(np.column_stack([along, v]), inverse)
