"""Algorithm 2 of [P1]: the estimate of EM minus a simulated multiple of its bias."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from warner._core.checks import (
    choice,
    kind,
    real,
    show,
)
from warner._core.errors import (
    ArgumentError,
)
from warner.channels import LikelihoodOperator
from warner.estimators.base import Estimator, repr_of_changes
from warner.estimators.em import ExpectationMaximization, reports_are_values, uniform_start
from warner.estimators.fit import Fit, status_of_parts
from warner.estimators.likelihood_data import LikelihoodData
from warner.estimators.mle.maximum_likelihood import MaximumLikelihood
from warner.estimators.mle.objective import certify
from warner.metrics.simplex import normalize

_LARGEST = 4096  # values; beyond, a matrix of their products is not formed
_RUNS = 5  # simulations of the bootstrap
_PRINTED = np.array([c * 10.0**-k for k in range(10, 0, -1) for c in range(1, 10)])  # [P1 sec 5.1]
_WIDE = np.concatenate([[0.0], _PRINTED, np.arange(1.0, 10.0), np.arange(10.0, 100.0, 10.0)])


@dataclass(frozen=True, repr=False)
class BiasCorrection(Estimator):
    """The estimate of EM minus a multiple of its second-order bias, as [P1] states it.

    The result is theta - alpha a. Negative entries are set to 0, and the rest is divided by its
    sum. Here theta (K,) is EM's estimate, and a (K,) is its second-order bias. Let g_i (K,) be the
    row of the channel for the report of person i, s_i = g_i / theta.g_i, and S the mean of
    s_i s_i'. With Q = -(S + ridge I)^-1,

        a = 1/n Q { mean((S - s_i s_i') Q s_i)
                    - 1/2 mean(s_i (x) s_i (x) s_i) : mean(Q s_i (x) Q s_i) }     [P1 eqs 28-32]

    exactly as published. alpha is the number in {c 10^-k: c = 1..9, k = 1..10} with the least
    squared error in a simulation. People are counted by (mechanism, report), so the time does not
    grow with n.

    The theory does not support the correction (METHODS 9.4). theta.s_i = 1 always, so the mean
    score is not 0, contrary to eqs 16 and 21. Eq 24 lacks a factor 2. With this factor, a is
    exactly theta / n where ridge = 0, and the normalisation undoes the correction. The second-order
    bias of an interior maximum on the simplex is 0. In practice the correction shrinks the
    estimate: it lowers EM's variance and raises its bias
    (bench/bias_correction_with_few_people.py). Shrinkage reduces the error if the true distribution
    is nearly uniform or there are few people.
    The published alpha is chosen at the report histogram, which is nearly uniform whatever the
    truth. This alpha is often too large, and the correction then errs up to three times as much as
    EM. The bootstrap's alpha is seldom too large.

    Where the tally has bit sums only, the rows are the yes-or-no reports of the quasi-likelihood
    (METHODS 5). Each person sends K of them, and n is their total number. [P1] has no such reports.

    Args:
        inner: the estimator that is corrected. It must not give an observed report the probability
            0. None is EM as [P1] runs it. If reports are values, EM starts from the report
            histogram and runs to ``tolerance``
            (``ExpectationMaximization(start="histogram", tolerance=tolerance)``). Otherwise it
            starts from the uniform distribution ([P1] says "until convergence" only). For bit sums
            None is the exact maximum, because there EM is K times slower.
        alpha: how alpha is chosen, or a number, at least 0.

            - ``"published"``: by one simulation as in [P1], with the report histogram as the truth,
              or with the estimate if reports are not values.
            - ``"uniform"``: by one simulation with the uniform distribution as the truth, which
              [P1 sec 4.3] compared with the histogram.
            - ``"bootstrap"``: by five simulations with the estimate as the truth, from 0, the
              published numbers, 1, .., 9 and 10, .., 90.
            - a number: nothing is simulated.

            Random numbers are seeded by the counts, so the same tally gives the same estimate.
        ridge: lambda of [P1 eq 32], at least 0.
        tolerance: EM stops when a step raises the log-likelihood of all n reports by less than
            this, in nats.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value.
        ArgumentError: more than 4096 values; the inner estimate gives an observed report the
            probability 0; or a simulation is asked for and the tally keeps only the reports that
            were observed.

    Source: [P1 alg 2, sec 4, app. B]; METHODS 5, 9.4.

    >>> BiasCorrection(), BiasCorrection(alpha="bootstrap")
    (BiasCorrection(), BiasCorrection(alpha='bootstrap'))
    """

    references = ("P1",)

    summary: ClassVar[str] = (
        "expectation maximisation minus a multiple of its bias as Murakami et al. (2018) state it: "
        "not the maximum of the likelihood; for the maximum use MaximumLikelihood()"
    )

    inner: Estimator | None = None
    alpha: float | str = "published"
    ridge: float = 1e-3
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Estimator | None):
            raise ArgumentError("inner", "must be None or an estimator object", kind(self.inner))
        if isinstance(self.alpha, str):
            choice("alpha", self.alpha, ("published", "uniform", "bootstrap"))
        elif real("alpha", self.alpha, "'published', 'uniform' and 'bootstrap' choose one") < 0:
            raise ArgumentError("alpha", "must not be negative", show(self.alpha))
        for name in ("ridge", "tolerance"):
            if real(name, getattr(self, name)) <= 0:
                raise ArgumentError(name, "must be positive", show(getattr(self, name)))

    def __repr__(self) -> str:
        return repr_of_changes(self)

    def _fit(self, data: LikelihoodData) -> Fit:
        inner, bias = self._inner_and_bias(data)
        corrected = normalize(inner.shares - self._weight(data, inner.shares) * bias)
        fit = certify(data, corrected, status_of_parts([inner.status]), inner.iterations)
        if fit.log_likelihood == -np.inf:
            # Clipping set a share to 0 whose value alone explains a report.
            fit = replace(fit, gap=None, log_likelihood=None)
        return fit

    def weight(self, data: LikelihoodData) -> float:
        """The alpha that ``fit`` uses for these reports."""
        return self._weight(data, None)

    def _weight(self, data: LikelihoodData, theta: np.ndarray | None) -> float:
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        channel, w, n = data.channel, data.weights, data.n
        counts = np.rint(w * n * channel.rows_per_report).astype("<i8")
        rng = np.random.default_rng(
            int.from_bytes(hashlib.blake2b(counts.tobytes(), digest_size=16).digest(), "little")
        )
        truth = self._simulated_truth(data)
        if truth is None:
            truth = self._inner(data).shares if theta is None else theta
        runs, alphas = (_RUNS, _WIDE) if self.alpha == "bootstrap" else (1, _PRINTED)
        losses = np.zeros(alphas.size)
        for _ in range(runs):
            drawn, weights = channel.simulate_tally(truth, n, rng)
            inner, bias = self._inner_and_bias(replace(data, channel=drawn, weights=weights))
            corrected = [normalize(inner.shares - alpha * bias) for alpha in alphas]
            losses += [((shares - truth) ** 2).sum() for shares in corrected]
        return float(alphas[np.argmin(losses)])

    def _simulated_truth(self, data: LikelihoodData) -> np.ndarray | None:
        """p' of [P1 sec 4.3], the truth (K,) of the simulation; None for the estimate."""
        if self.alpha == "uniform":
            return uniform_start(data.domain.size)
        return _histogram(data.channel, data.weights) if self.alpha == "published" else None

    def _inner_and_bias(self, data: LikelihoodData) -> tuple[Fit, np.ndarray]:
        """The fit that is corrected, and the estimate a (K,) of its bias."""
        inner = self._inner(data)
        rows, w = data.channel.restrict_to_observed(data.weights)
        n = data.n * rows.rows_per_report
        return inner, second_order(rows, w, inner.shares, n, self.ridge)

    def _inner(self, data: LikelihoodData) -> Fit:
        """The fit that is corrected."""
        channel = data.channel
        if self.inner is not None or channel.rows_per_report != 1:
            return (self.inner or MaximumLikelihood()).fit(data)
        # Elsewhere the histogram is no distribution of values, or has zeros that EM cannot leave.
        start = "histogram" if reports_are_values(data) else "uniform"
        return ExpectationMaximization(start=start, tolerance=self.tolerance).fit(data)


def second_order(
    channel: LikelihoodOperator,
    w: np.ndarray,
    theta: np.ndarray,
    n: float,
    ridge: float = 1e-3,
    curvature: float = 1.0,
) -> np.ndarray:
    """The second-order bias a (K,) of [P1 eq 28], from rows and their weights.

    With s_y, S and Q as in :class:`BiasCorrection`, t_y = s_y' Q s_y and u_y = s_y' Q S Q s_y, the
    braces are S Q mean(s) - mean(s (t + curvature u / 2)). Because S = -Q^-1 - ridge I, the one
    matrix Q gives both products: S Q = -I - ridge Q and Q S Q = -Q - ridge Q^2. The time is
    O(m K^2). A factor on a row does not change the result.

    Shapes: channel (m, K), w (m,), theta (K,).
    """
    size = theta.size
    if size > _LARGEST:
        raise ArgumentError(
            "domain",
            f"of BiasCorrection has at most {_LARGEST} values",
            str(size),
            "Use MaximumLikelihood()",
        )
    information, mean = np.zeros((size, size)), np.zeros(size)
    for s, weights in _scores(channel, w, theta):
        half = s * np.sqrt(weights)[:, None]
        information += half.T @ half
        mean += weights @ s
    q = -np.linalg.inv(information + ridge * np.eye(size))
    middle = (1 - curvature / 2) * q - curvature / 2 * ridge * (q @ q)
    braces = -mean - ridge * (q @ mean)
    for s, weights in _scores(channel, w, theta):
        braces -= (weights * np.einsum("ij,ij->i", s @ middle, s)) @ s
    return q @ braces / n


def _scores(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """s_y = g_y / theta.g_y and w_y of the observed rows, in blocks: (b, K), (b,)."""
    for rows, block in channel.blocks():
        observed = w[rows] > 0
        likelihoods = block[observed]
        d = likelihoods @ theta
        if (d <= 0).any():
            raise ArgumentError(
                "inner",
                "must not give a report that was seen the probability 0",
                None,
                "Use MaximumLikelihood()",
            )
        yield likelihoods / d[:, None], w[rows][observed]


def _histogram(channel: LikelihoodOperator, w: np.ndarray) -> np.ndarray | None:
    """The report histogram as a distribution over values, None where reports have none."""
    try:
        return channel.naive_estimate(w)
    except ArgumentError:
        return None
