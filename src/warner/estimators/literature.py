"""Methods of the literature, kept for comparison and for reproducing published results.

Each method works as its paper says. No method here is recommended, because those in the right
column err less. ``docs/leaderboard.md`` has the figures, and ``python -m papers P1``.

| method here          | published in                    | use instead                          |
| -------------------- | ------------------------------- | ------------------------------------ |
| ``BiasCorrection``   | [P1 alg 2]                      | ``EmpiricalBayes()``                 |
| ``MixtureReduction`` | [P3 algs 1-3]                   | ``EmpiricalBayes()``                 |
| ``SmoothedEM``       | Li et al. (2020), EMS           | ``LogSpline()``                      |
| ``WienerFilter``     | Fang et al. (2023), IIW         | ``EmpiricalBayes()``, ``LogSpline()``|

>>> from warner.estimators.literature import SmoothedEM
>>> SmoothedEM()
SmoothedEM(tolerance=0.001, steps=10000)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import (
    choice,
    integer,
    kind,
    real,
    show,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    ImpossibleReportError,
    ValuesError,
)
from warner._core.progress import in_blocks
from warner.channels import LikelihoodOperator, MergedChannel, quick
from warner.domains import Domain, Integers
from warner.estimators.base import (
    Estimator,
    Fit,
    LikelihoodData,
    Status,
    certify,
    iterate,
    require_order,
    require_positive,
    require_possible,
    score_and_log_likelihood,
    status_of_parts,
    uniform,
)
from warner.estimators.em import (
    CheckedStart,
    EMState,
    ExpectationMaximization,
    Start,
    advance,
    checked_start,
    em_step,
    is_made_of_reports,
    moved_or_not,
    report_histogram,
    reports_are_values,
    run_em,
    start_at,
    start_em,
)
from warner.estimators.inversion import unprojected
from warner.estimators.maximum_likelihood import MaximumLikelihood
from warner.metrics import normalize, project

__all__ = ["BiasCorrection", "MixtureReduction", "SmoothedEM", "WienerFilter"]


# -----------------------------------------------------------------------------------------------
# Expectation maximisation with smoothing after every step, for values in order.


_STARTS = ("uniform", "histogram")


@dataclass(frozen=True, repr=False)
class SmoothedEM(Estimator):
    """EM in which every step is followed by smoothing (EMS).

        theta <- S (theta * A' (w / A theta)), made to sum to one
        (S p)_x = p_(x-1) / 4 + p_x / 2 + p_(x+1) / 4,   at the ends (S p)_0 = 2/3 p_0 + 1/3 p_1

    A (m, K) is the channel, w (m,) the frequencies of its rows, and p a distribution (K,). At the
    ends, those of the binomial weights (1, 2, 1) that lie inside the domain are divided by their
    sum, as in the code of Li et al. (2020). A row of S sums to one but a column need not, so theta
    is divided by its sum. The method stops when a step changes the log-likelihood of all n reports
    by less than ``tolerance`` nats. It also stops when a step moves theta by less than 1 / n in l1,
    or after ``steps`` steps.

    Where the tally has bit sums only, the step of EM is made as long as on whole reports
    (``warner.estimators.em.advance``). Otherwise smoothing would undo every step.

    The fixed point maximises no objective. The amount of smoothing depends on the number of bins
    and not on n. LogSpline chooses the amount of smoothing from the reports.

    Args:
        tolerance: nats over all reports, at least 0. Published: 1e-3 for EMS with the square wave
            (Li et al. 2020), which is the default; 1e-3 e^epsilon in the code of [P3].
        steps: the largest number of steps; published: 10,000.
        start: as of ExpectationMaximization; published: ``"uniform"``.

    Raises:
        ArgumentError: the domain's values have no order, or are not on one line.
        ImpossibleReportError: a report was seen that has probability 0 under every value.

    Source: Li et al. (2020), sec 5.5; [P3 sec VI]; METHODS 5.

    >>> SmoothedEM()
    SmoothedEM(tolerance=0.001, steps=10000)
    """

    references = ("li2020", "P3")
    for_papers = True

    summary: ClassVar[str] = (
        "expectation maximisation (EM) that smooths the shares after every step"
    )
    is_consistent: ClassVar[bool] = False

    always_shown: ClassVar[tuple[str, ...]] = ("tolerance", "steps")

    tolerance: float = 1e-3
    steps: int = 10_000
    start: Start = "uniform"

    def __post_init__(self) -> None:
        require_positive(self, "tolerance", zero=True)
        integer("steps", self.steps, 1)
        object.__setattr__(self, "start", checked_start(self.start, _STARTS))

    @property
    def _start(self) -> CheckedStart:
        """The start as ``__post_init__`` left it."""
        assert isinstance(self.start, str | Estimator | tuple)
        return self.start

    def _fit(self, data: LikelihoodData) -> Fit:
        require_order(data.domain.answered, "SmoothedEM")
        nonresponse = data.domain.nonresponse is not None
        rows, weights = data.channel.restrict_to_observed(data.weights)
        require_possible(rows, weights)
        merged, weights = rows.merge_equal_rows(weights)
        rows, n = quick(merged), data.n
        theta = start_at(self._start, data)

        def step(state: _Smoothed) -> _Smoothed:
            if rows.rows_per_report == 1:
                moved, pace = em_step(state.theta, state.score), state.pace
            else:
                ahead = advance(rows, weights, state)
                moved, pace = ahead.theta, ahead.pace
            moved = smooth_but_last(moved) if nonresponse else smooth(moved)
            score, value = score_and_log_likelihood(rows, weights, moved)
            distance = float(np.abs(moved - state.theta).sum())
            return _Smoothed(moved, score, value, pace, value - state.value, distance)

        def stop(state: _Smoothed, count: int) -> Status | None:
            # The likelihood may fall too: the fixed point does not maximise it.
            settled = n * abs(state.gain) < self.tolerance or state.distance < 1 / n
            return Status.STOPPED if settled else None

        first = start_em(rows, weights, theta)
        start = _Smoothed(first.theta, first.score, first.value, first.pace)
        run = iterate(start, step, stop, self.steps)
        fit = certify(data, run.state.theta, Status.STOPPED, run.steps)
        return fit if is_made_of_reports(self._start) else moved_or_not(fit, theta, n, 1 / n)


@dataclass(frozen=True, eq=False)
class _Smoothed(EMState):
    """A point on the path, and the l1 length of the last step."""

    distance: float = np.inf


def smooth(p: np.ndarray) -> np.ndarray:
    """Smooth a distribution p (K,) by S of :class:`SmoothedEM`, and divide it by its sum."""
    smoothed = p / 2
    smoothed[1:] += p[:-1] / 4
    smoothed[:-1] += p[1:] / 4
    smoothed[[0, -1]] *= 4 / 3  # weights 2 and 1 of the three are inside
    return np.asarray(smoothed / smoothed.sum())


def smooth_but_last(p: np.ndarray) -> np.ndarray:
    """:func:`smooth` of all shares of p (K + 1,) but the last, that of nonresponse."""
    total = float(p[:-1].sum())
    return np.append(smooth(p[:-1]) * total, p[-1]) if total > 0 else p


# -----------------------------------------------------------------------------------------------
# Wiener filtering of the unbiased estimate along the order (Fang et al. 2023, IIW).


@dataclass(frozen=True)
class WienerFilter(Estimator):
    """The unbiased estimate with its spectrum along the order of the values filtered.

        F_k = U_k P_k / (P_k + V)

    U is the discrete Fourier transform of the K unbiased estimates in the order of the values, as
    if the values were on a circle. V is the variance of the noise in each U_k. It is estimated by
    (sum_x sum_y L[x, y]^2 (A theta)_y - 1) / n, with L the inverse of the channel A, and theta the
    unbiased estimate projected on the simplex. This is the sum over the values of the variance of
    their estimates, given the answers of the n people. The power P of the truth is not known.

    The improved iterative Wiener filter starts with P = |U|^2 and repeats

        P <- |F|^2 + V P / (P + V),   F = U P / (P + V)

    The new P is the posterior mean of the power where the old P is the prior variance. A fixed
    point P > 0 has P + V = |U|^2. So the limit is P = max(|U|^2 - V, 0) and
    F = U max(1 - V / |U|^2, 0), which is spectral subtraction in closed form. The sum of the
    shares is known, so F_0 = 1. The filtered estimate is then projected on the simplex.

    Fang et al.'s filter divides the spectrum of the support counts by that of the circulant channel
    (p on the diagonal, q off it). For such channels of the pure family both filters give the same
    numbers, except for F_0, which theirs estimates too. The filter assumes white noise, which is
    nearly right for these channels. For other channels, above all square wave and piecewise, the
    noise is not white, and the filter works badly. The filter reduces the error if neighbouring
    values have similar shares, and otherwise changes little.

    Args:
        steps: the number of filters applied, the first with P = |U|^2; None for the limit.
        constraint: None leaves the filtered estimate as it is, negative entries included, as
            published. ``"project"`` is the Euclidean projection on the simplex, which never
            increases the distance from the truth.

    Raises:
        IdentifiabilityError: different distributions make the same reports, so there is nothing to
            invert.

    Source: Fang, Chen, Liu, Gao, "Locally differentially private frequency estimation based on
    convolution framework", IEEE S&P 2023, the recursion restated from the authors' public
    implementation; the baseline IIW of [P3 sec VI]; METHODS 5.

    >>> WienerFilter()
    WienerFilter(steps=None, constraint='project')
    """

    references = ("fang2023", "P3")
    for_papers = True

    summary: ClassVar[str] = "an unbiased estimate, smoothed along the values with a Wiener filter"

    steps: int | None = None
    constraint: Any = "project"

    def __post_init__(self) -> None:
        if self.steps is not None:
            integer("steps", self.steps, 1)
        choice("constraint", self.constraint, (None, "project"))

    def _fit(self, data: LikelihoodData) -> Fit:
        channel = data.channel
        raw = channel.invert(data.weights)
        total, _ = channel.inverse_moments(project(raw))
        noise = max(float(total.sum()) - 1, 0.0) / data.n
        shares = filtered(raw, noise, self.steps)
        plain = self.constraint is None
        fit = unprojected(shares) if plain else Fit(project(shares), Status.EXACT)
        return replace(fit, iterations=self.steps)


def filtered(v: np.ndarray, noise: float, steps: int | None = None) -> np.ndarray:
    """Apply the filter of WienerFilter to a vector.

    Shapes: v (K,), V = noise -> (K,).

    >>> filtered(np.array([0.6, 0.2, 0.1, 0.1]), 0.0).round(12).tolist()
    [0.6, 0.2, 0.1, 0.1]
    """
    spectrum = np.fft.rfft(v)
    power = np.abs(spectrum) ** 2
    if steps is None:
        gain = np.divide(
            np.maximum(power - noise, 0.0), power, out=np.zeros_like(power), where=power > 0
        )
    else:
        prior, gain = power, power
        for step in range(steps):
            if step:
                prior = gain**2 * power + noise * gain
            gain = np.divide(prior, prior + noise, out=np.zeros_like(power), where=prior > 0)
    spectrum = spectrum * gain
    spectrum[0] = 1.0
    return np.fft.irfft(spectrum, v.size)


# -----------------------------------------------------------------------------------------------
# Algorithm 2 of [P1]: the estimate of EM minus a simulated multiple of its bias.


_LARGEST = 4096  # values; beyond, a matrix of their products is not formed
_RUNS = 5  # simulations of the bootstrap
_PRINTED = np.array([c * 10.0**-k for k in range(10, 0, -1) for c in range(1, 10)])  # [P1 sec 5.1]
_WIDE = np.concatenate([[0.0], _PRINTED, np.arange(1.0, 11.0)])
_CURVATURE = {"derived": 2.0, "printed": 1.0}  # of g / theta.g, in units of g (x) g (x) g


@dataclass(frozen=True, repr=False)
class BiasCorrection(Estimator):
    """The estimate of EM minus a multiple of its second-order bias, as [P1] has it.

    The result is theta - alpha a. Negative entries are set to 0, and the rest is divided by its
    sum. Here theta (K,) is EM's estimate, and a (K,) is its second-order bias. Let g_i (K,) be the
    row of the channel for the report of person i, s_i = g_i / theta.g_i, and S the mean of
    s_i s_i'. With Q = -(S + ridge I)^-1,

        a = 1/n Q { mean((S - s_i s_i') Q s_i)
                    - c/2 mean(s_i (x) s_i (x) s_i) : mean(Q s_i (x) Q s_i) }     [P1 eqs 28-32]

    c is 2, because the second derivative of g / theta.g is 2 g (x) g (x) g / (theta.g)^3. P1's
    equation 24 is printed without this factor, which is c = 1; its results come out with 2 alone
    (``python -m papers P1``). alpha is the number in {c 10^-k: c = 1..9, k = 1..10} with the least
    squared error in a simulation. People are counted by (mechanism, report), so the time does not
    grow with n.

    It shrinks, and does not correct (METHODS 9.4): it lowers EM's variance and raises its bias.
    theta.s_i = 1 always, so the mean score is not 0, contrary to eqs 16 and 21; without the ridge a
    is exactly theta / n, which the division by the sum undoes; and the second-order bias of an
    interior maximum on the simplex is 0. It is nearly EM where people are many for each value.
    Where they are few it has 0.65 to 1.10 of the squared error of EM, in the mean 0.88, and the
    bootstrap's alpha 0.55 to 1.00, in the mean 0.85 (``python -m papers P1/methods``);
    ``EmpiricalBayes`` has 0.79.

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
              published numbers and 1, .., 10.
            - a number: nothing is simulated.

            Random numbers are seeded by the counts, so the same tally gives the same estimate.
        ridge: lambda of [P1 eq 32], at least 0.
        tolerance: EM stops when a step raises the log-likelihood of all n reports by less than
            this, in nats.
        formula: ``"derived"``, with c = 2, or ``"printed"``, with c = 1.

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
    for_papers = True

    summary: ClassVar[str] = (
        "the estimate of expectation maximisation (EM) minus a multiple of its bias, by the "
        "formula of Murakami et al. (2018). The result is not the best fit to the reports. For the "
        "best fit, use MaximumLikelihood()"
    )

    inner: Estimator | None = None
    alpha: float | str = "published"
    ridge: float = 1e-3
    tolerance: float = 1e-3
    formula: str = "derived"

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Estimator | None):
            rule = "must be an estimator such as MaximumLikelihood(), or None"
            raise ArgumentError("inner", rule, kind(self.inner))
        choice("formula", self.formula, tuple(_CURVATURE))
        if isinstance(self.alpha, str):
            choice("alpha", self.alpha, ("published", "uniform", "bootstrap"))
        else:
            remedy = "Or pass 'published', 'uniform' or 'bootstrap', which choose a number"
            real("alpha", self.alpha, remedy, least=0)
        require_positive(self, "ridge", "tolerance")

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
            return uniform(data.domain.size)
        return report_histogram(data.channel, data.weights) if self.alpha == "published" else None

    def _inner_and_bias(self, data: LikelihoodData) -> tuple[Fit, np.ndarray]:
        """The fit that is corrected, and the estimate a (K,) of its bias."""
        inner = self._inner(data)
        rows, w = data.channel.restrict_to_observed(data.weights)
        n = data.n * rows.rows_per_report
        curvature = _CURVATURE[self.formula]
        return inner, second_order(rows, w, inner.shares, n, self.ridge, curvature)

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
    curvature: float = 2.0,
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
        rule = f"must have at most {_LARGEST} values for BiasCorrection"
        remedy = "Use MaximumLikelihood()"
        raise ArgumentError("domain", rule, str(size), remedy)
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
            rule = (
                "makes one of the reports impossible: it gives a share of 0 to all values that can "
                "lead to this report"
            )
            remedy = "Use MaximumLikelihood()"
            raise ArgumentError("inner", rule, None, remedy)
        yield likelihoods / d[:, None], w[rows][observed]


# -----------------------------------------------------------------------------------------------
# Mixture reduction [P3]: values of small weight share one estimate, while BIC falls.
#
# Components of a mixture that are known beforehand: values that share one, and absent values.


def is_list(values: Any) -> bool:
    """Whether an argument is a list of values; a text is not a list."""
    return isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)


def known_components(
    domain: Domain, groups: Sequence[Sequence[Any]], absent: Sequence[Any]
) -> np.ndarray:
    """The number of the component of every value, from prior knowledge.

    Returns (K,).

    >>> from warner import Integers
    >>> known_components(Integers(0, 4), [[1, 2]], [4]).tolist()
    [0, 1, 1, 2, -1]
    """
    labels = np.arange(domain.size)
    taken = np.zeros(domain.size, dtype=bool)
    named = [("groups", group) for group in groups] + [("absent", absent)]
    for name, values in named:
        if not len(values):
            continue
        index = np.unique(_places(domain, name, values))
        if taken[index].any():
            value = domain.decode(index[taken[index]])[0]
            raise ArgumentError(name, "must not name a value twice", show(value))
        taken[index] = True
        labels[index] = index[0] if name == "groups" else -1
    if (labels < 0).all():
        rule = "must leave at least one value to estimate"
        raise ArgumentError("absent", rule, f"all {domain.size} values")
    return numbered(labels)


def _places(domain: Domain, name: str, values: Sequence[Any]) -> np.ndarray:
    """The indices of values that an analyst names."""
    try:
        return domain.encode(list(values))
    except ValuesError as error:
        value = values[error.position]
        rule = f"must be among the {domain.size} values of the domain"
    raise ArgumentError(name, rule, show(value))


def numbered(labels: np.ndarray) -> np.ndarray:
    """Labels (K,) numbered 0, 1, .. in their order; negative ones become -1."""
    used, numbers = np.unique(labels, return_inverse=True)
    return numbers - int(used[0] < 0)


_ENTRIES = 2**22  # of the columns that are formed at a time


@dataclass(frozen=True, eq=False)
class _Mixture:
    """A fitted mixture."""

    labels: np.ndarray  # (K,), the component of every value, -1 for none
    weights: np.ndarray  # (K',), of the components
    bic: float  # -2 n l + K' ln n
    steps: int  # of the fit
    status: Status  # how the fit ended


@dataclass(frozen=True, repr=False)
class MixtureReduction(Estimator):
    """Mixture reduction: values of small weight are merged into components, while BIC falls.

        maximise l(M t) over the weights t (K',) of K' components

    l is the log-likelihood in nats per report, and M[x, j] = 1 / h_j for the h_j values x of
    component j. At first every value is a component. After each fit, components of weight below
    ``tau`` standard deviations are merged. The values of a component have equal shares. The next
    fit starts from the weights of the last one. The method ends when BIC = -2 n l + K' ln n rises,
    and the last reduction is then undone. It also ends at ``k_min`` components, or when no
    components are light enough. The fit's ``components`` is the number left.

    [P3 alg 1] stops when BIC rises, and [P3 alg 3] as printed when BIC falls. Lower is better, so
    here both stop when BIC rises. If no window is below the threshold, [P3 alg 3] as printed never
    ends. Here the window is halved, and below 2 values the method ends.

    Args:
        inner: how weights are fitted. ``"em"`` is expectation maximisation from the current
            weights, until a step raises the log-likelihood of all n reports by less than
            ``tolerance``. Stopping early regularises. ``"mle"`` is the exact maximum. Any estimator
            can be given too. None is EM as published, but the exact maximum for bit sums, where EM
            is K times slower.
        operation: ``"merge"`` merges components. ``"prune"`` instead gives them share 0. None does
            neither, so that there is only the inner fit.
        select: which components one round merges or prunes. ``"lowest"`` takes the lightest ones:
            at most half of all components below the threshold, and at least two. ``"half"`` takes
            those of the lighter half that are below the threshold (binary search). ``"window"``
            takes the ceil(K / 2^round) adjacent values of least weight, if each is a component of
            its own and their total weight is below the threshold. None takes windows where values
            are points on a line, and otherwise the lowest.
        tau: the threshold in standard deviations of a share, which is taken of the unbiased
            estimate at a true share of 0 (P3 eqs 4, 5). Some channels, such as square wave and
            piecewise, have no closed form of this. For them it is the Cramer-Rao bound of one share
            at the uniform distribution (the inverse of P3 eq 13, whose numerator should be
            squared). The deviation of a component is the mean over its values.
        k_min: the least number of components. None for K / 4, rounded up.
        premerge: whether all values whose unbiased estimate is not positive, or is tiny, start in
            one component (merge) or are left out (prune). Values of ``groups`` stay in their group.
        tiny: an unbiased estimate up to this many standard deviations is tiny. With 0 only
            estimates that are not positive are. The deviations are the same as for ``tau``.
        groups: prior knowledge as lists of values. The values of one list are one component from
            the start, and share one estimate. With ``operation=None`` these components are final.
            Otherwise the reduction starts from them.
        absent: prior knowledge: values that nobody has. They are left out, with share 0.
        tolerance: nats over all n reports. [P3] names no number; its code takes 1e-3 e^epsilon for
            randomised response.

    The fit's ``bic`` is the BIC of the components left, with the log-likelihood of all n reports.

    Raises:
        ImpossibleReportError: a report was seen that has probability 0 under every value, or under
            every value that is not ``absent``.
        IdentifiabilityError: ``premerge`` where the channel has no inverse.
        ArgumentError: a value of ``groups`` or ``absent`` that is not in the domain, or one that
            stands there twice; or every value is absent.

    Source: [P3 algs 1-3, sec IV, V]; METHODS 5, 9.

    >>> MixtureReduction(), MixtureReduction("mle", operation=None)
    (MixtureReduction(), MixtureReduction(inner='mle', operation=None))
    >>> MixtureReduction(operation=None, groups=[["rare", "very rare"]], absent=["unused"])
    MixtureReduction(operation=None, groups=(('rare', 'very rare'),), absent=('unused',))
    """

    references = ("P3",)
    for_papers = True

    summary: ClassVar[str] = (
        "values with small shares are joined or left out. Joined values get one share. "
        "'components' says how many shares are estimated"
    )

    inner: Any = None
    operation: str | None = "merge"
    select: str | None = None
    tau: float = 2.0
    k_min: int | None = None
    premerge: bool = False
    tolerance: float = 1e-3
    tiny: float = 0.0
    groups: Sequence[Sequence[Any]] = ()
    absent: Sequence[Any] = ()

    def __post_init__(self) -> None:
        if not (self.inner is None or self.inner in ("em", "mle")) and not isinstance(
            self.inner, Estimator
        ):
            rule = "must be 'em', 'mle', an estimator such as Inversion('project'), or None"
            raise ArgumentError("inner", rule, show(self.inner))
        choice("operation", self.operation, ("merge", "prune", None))
        choice("select", self.select, ("lowest", "half", "window", None))
        choice("premerge", self.premerge, (False, True))
        require_positive(self, "tau", "tolerance")
        if self.k_min is not None:
            integer("k_min", self.k_min, 1)
        require_positive(self, "tiny", zero=True)
        if self.tiny and not self.premerge:
            rule = "can be used only with premerge=True"
            raise ArgumentError("tiny", rule, None, "Leave out tiny, or pass premerge=True")
        if not is_list(self.groups) or not all(map(is_list, self.groups)):
            rule = "must be lists of values"
            remedy = "For example [['a', 'b'], ['c', 'd']]"
            raise ArgumentTypeError("groups", rule, kind(self.groups), remedy)
        if not is_list(self.absent):
            rule = "must be a list of values"
            raise ArgumentTypeError("absent", rule, kind(self.absent), "For example ['a']")
        object.__setattr__(self, "groups", tuple(tuple(group) for group in self.groups))
        object.__setattr__(self, "absent", tuple(self.absent))

    def _fit(self, data: LikelihoodData) -> Fit:
        size = data.domain.size
        rows, weights = data.channel.restrict_to_observed(data.weights)
        require_possible(rows, weights)
        observed = replace(data, channel=rows, weights=weights)
        labels = known_components(data.domain, self.groups, self.absent)
        if (labels < 0).any():
            merged = MergedChannel(rows, labels)
            if ((weights > 0) & (merged.matvec(np.ones(merged.shape[1])) <= 0)).any():
                rule = (
                    "makes one of the reports impossible: it leaves out all values that can lead "
                    "to this report"
                )
                raise ImpossibleReportError("absent", rule, None, "Leave out fewer values")
        if self.premerge and self.operation is not None:
            labels = self._premerged(labels, data, observed)
        start = MergedChannel(rows, labels).gather(uniform(size))
        if self.absent:
            start /= start.sum()
        now = self._fitted(observed, labels, start)
        steps = now.steps
        least = -(-size // 4) if self.k_min is None else self.k_min
        if self.operation is not None and now.weights.size > least:
            tau = self.tau * deviations(data, rows, weights)
            level = 1
            while now.weights.size > least:
                chosen, level = self._chosen(observed, now, tau, least, level)
                if chosen is None:
                    break
                following = self._following(observed, now, chosen)
                steps += following.steps
                if following.bic > now.bic:
                    break
                now, level = following, level + 1
        theta = MergedChannel(rows, now.labels).spread(now.weights)
        less = now.weights.size < size
        status = status_of_parts([now.status]) if less else now.status
        fit = certify(data, theta / theta.sum(), status, steps)
        return replace(
            fit, components=now.weights.size if less else None, bic=_bic(fit, data.n, now)
        )

    def _premerged(
        self, labels: np.ndarray, data: LikelihoodData, observed: LikelihoodData
    ) -> np.ndarray:
        """Labels with the single values of no or of tiny unbiased estimates reduced."""
        estimates = data.channel.invert(data.weights)
        most: np.ndarray | float = 0.0
        if self.tiny:
            most = self.tiny * deviations(data, observed.channel, observed.weights)
        alone = np.bincount(labels[labels >= 0])[labels] == 1
        return self._reduced(labels, (estimates <= most) & alone & (labels >= 0))

    def _reduced(self, labels: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Labels, in order, with components merged or left out; unchanged if none would be left."""
        left = np.where(
            values,
            -1 if self.operation == "prune" else labels[values].min(initial=labels.size),
            labels,
        )
        if (left < 0).all():
            return labels
        return numbered(left)

    def _following(self, data: LikelihoodData, now: _Mixture, chosen: np.ndarray) -> _Mixture:
        """The mixture with the components of some values (K,) reduced, fitted again."""
        theta = MergedChannel(data.channel, now.labels).spread(now.weights)
        labels = self._reduced(now.labels, chosen)
        start = MergedChannel(data.channel, labels).gather(theta)
        return self._fitted(
            data,
            labels,
            start / start.sum() if start.sum() > 0 else uniform(start.size),
        )

    def _fitted(self, data: LikelihoodData, labels: np.ndarray, start: np.ndarray) -> _Mixture:
        merged = MergedChannel(data.channel, labels)
        if self.inner == "em" or (self.inner is None and merged.rows_per_report == 1):
            channel = data.channel if merged.shape == data.channel.shape else merged
            run = run_em(channel, data.weights, data.n, start, self.tolerance)
            t, value, steps, status = run.state.shares, run.state.value, run.steps, run.status
        else:
            t, steps, status = self._by_estimator(data, merged)
            value = score_and_log_likelihood(merged, data.weights, t)[1]
        return _Mixture(labels, t, -2 * data.n * value + t.size * np.log(data.n), steps, status)

    def _by_estimator(
        self, data: LikelihoodData, merged: MergedChannel
    ) -> tuple[np.ndarray, int, Status]:
        """Weights by another estimator: (weights, steps, how it ended)."""
        estimator = self.inner if isinstance(self.inner, Estimator) else MaximumLikelihood()
        counts = (
            averaged(data.channel, data.weights, merged)
            if isinstance(estimator, MaximumLikelihood)
            else None
        )
        if counts is not None:
            fit = estimator.fit(replace(data, weights=counts))
            t = merged.gather(fit.shares)
        else:
            fit = estimator.fit(
                LikelihoodData(merged, data.weights, data.n, Integers(0, merged.shape[1] - 1))
            )
            t = fit.shares
        return t, fit.iterations or 0, fit.status

    def _chosen(
        self, data: LikelihoodData, now: _Mixture, tau: np.ndarray, least: int, level: int
    ) -> tuple[np.ndarray | None, int]:
        """The values (K,) reduced next, or None, and the level of the window."""
        merging = self.operation == "merge"
        most = (
            now.weights.size - least + merging
        )  # that may go without going below the least number
        points = data.domain.points
        select = self.select or (
            "window" if points is not None and points.shape[1] == 1 else "lowest"
        )
        merged = MergedChannel(data.channel, now.labels)
        if select == "window":
            single = (merged.sizes[now.labels] == 1) & (now.labels >= 0)
            return _window(merged.spread(now.weights), single, tau, most, level, 1 + merging)
        below = now.weights < merged.gather(tau) / merged.sizes
        order = np.argsort(now.weights, kind="stable")
        if select == "half":
            order = order[: now.weights.size // 2]
        order = order[below[order]]
        if select == "lowest":
            order = order[: max(1 + merging, order.size // 2)]
        order = order[:most]
        return (np.isin(now.labels, order), level) if order.size > merging else (None, level)


def _bic(fit: Fit, n: int, mixture: _Mixture) -> float | None:
    """-2 n l + K' ln n of a fit, as papers print it; None where l is -inf."""
    value = fit.log_likelihood
    if value is None or not np.isfinite(value):
        return None
    return float(-2 * value + mixture.weights.size * np.log(n))


def _window(
    theta: np.ndarray, single: np.ndarray, tau: np.ndarray, most: int, level: int, fewest: int
) -> tuple[np.ndarray | None, int]:
    """The window of ceil(K / 2^level) adjacent single values of least weight.

    It is halved until its weight is below the mean of tau in it.
    """
    size = theta.size
    while True:
        width = min(-(-size // 2**level), most)
        if width < fewest:
            return None, level
        sums, taus, free = (_sums(v, width) for v in (theta, tau, single.astype(np.float64)))
        sums = np.where(free > width - 0.5, sums, np.inf)
        first = int(np.argmin(sums))
        if sums[first] < taus[first] / width:
            return (np.arange(size) >= first) & (np.arange(size) < first + width), level
        if width == 1 or 2**level >= size:
            return None, level
        level += 1


def _sums(v: np.ndarray, width: int) -> np.ndarray:
    """Sums over all windows of ``width`` entries, (K,) -> (K - width + 1,)."""
    total = np.append(0.0, np.cumsum(v))
    return np.asarray(total[width:] - total[:-width])


def averaged(
    channel: LikelihoodOperator, w: np.ndarray, merged: MergedChannel
) -> np.ndarray | None:
    """Weights (m,) under which the maximum on all values is the maximum on merged values.

    For randomised response, l = sum_y w_y log(theta_y + a_y) is concave. Suppose that all values of
    a component have the same a_y, and replace their counts by the mean count. Then l does not
    change when these values are exchanged. So its maximiser gives them equal shares, at which l is
    that of the original counts. The same holds for bit sums (METHODS 4.1, 5). A value that is left
    out has count 0. It gets share 0 under randomised response, but not under bit sums.

    Shapes: channel (m, K), w (m,).
    """
    exchangeable = channel.reports_are_values or (
        channel.rows_are_bit_sums and not (merged.labels < 0).any()
    )
    law = channel.support_law()
    if not exchangeable or law is None:
        return None
    first = np.unique(merged.labels, return_index=True)[1][merged.labels]
    if not (np.array_equal(law.q, law.q[first]) and np.array_equal(law.gap, law.gap[first])):
        return None
    tables = w.reshape(-1, channel.shape[1])
    counts = np.concatenate([merged.spread(merged.gather(table)) for table in tables])
    total = float(counts.sum())
    return counts / total if total > 0 else None


def deviations(data: LikelihoodData, rows: LikelihoodOperator, weights: np.ndarray) -> np.ndarray:
    """Standard deviations (K,) of single shares; see ``tau`` of MixtureReduction.

    The root of the Cramer-Rao bound of one share, all others known, at the uniform distribution u
    is 1 / sqrt(n I_x) with I_x = rows_per_report * sum_y w_y A[y, x]^2 / (A u)_y^2.

    Shapes: rows (m, K), weights w (m,).
    """
    channel = data.channel
    if channel.has_closed_moments:
        try:
            variance = channel.variance_at_zero(project(channel.invert(data.weights)))
            return np.sqrt(variance / data.n)
        except IdentifiabilityError:
            pass
    size = rows.shape[1]
    d = rows.matvec(uniform(size))
    v = np.divide(weights, d**2, out=np.zeros_like(d), where=weights > 0)
    some = in_blocks(size, _ENTRIES, rows.shape[0])
    information = [v @ rows.columns(np.arange(each.start, each.stop)) ** 2 for each in some]
    with np.errstate(divide="ignore"):  # reports that say nothing of a value
        return 1 / np.sqrt(data.n * rows.rows_per_report * np.concatenate(information))
