"""What all estimators share.

In this order: the data that they read, the fit that they return, the likelihood with its
certificate, the base class, and the loop that runs every iterative method.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import kind, numbers_of, real
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    ImpossibleReportError,
)
from warner._core.names import Hinting
from warner._core.pickles import packed, unpacked, without_cached
from warner._core.processes import SMALL, TINY, one_thread
from warner._core.progress import in_blocks, stage
from warner._core.text import MADE_BY
from warner.channels import FloatArray, IntArray, LikelihoodOperator, NearlyConstantRows
from warner.domains import Domain

if TYPE_CHECKING:
    from warner._core.survey_design import SurveyDesign
    from warner.estimators.survey_noise import SurveyNoise


MANY_ROWS = 4  # rows per value from which on whole reports of bits are many
_FEW_VALUES = 512
_NO_VARIANCE = 1e-15  # of one report: rounding


@dataclass(frozen=True, eq=False)
class LikelihoodData:
    """The reports of n people, as frequencies of the rows of a likelihood operator.

    The log-likelihood of theta (K,) is n sum_y w_y log (A theta)_y, up to a constant. With the
    constant it is ``warner.estimators.maximum_likelihood.log_likelihood_at``.
    """

    channel: LikelihoodOperator  # A (m, K)
    # w (m,), frequencies of the rows with the sum 1. They cannot be written to, because other
    # methods read them next.
    weights: FloatArray
    n: int  # number of reports
    domain: Domain  # the K values
    simulated: bool = False  # whether the reports were made with a generator that can be repeated
    # the largest number of reports of different values that one person sent
    reports_per_person: int = 1
    # the noise of a survey with weights, clusters or strata; None of people drawn one by one
    survey: SurveyNoise | None = None
    # the number of reports that were sent, of which n are about this question; None for n
    sent: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _read_only(self.weights))

    def __getstate__(self) -> dict[str, Any]:
        """The attributes, with frequencies of few bytes."""
        return without_cached(self) | {"weights": packed(self.weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            is_weights = name == "weights"
            object.__setattr__(self, name, _read_only(unpacked(value)) if is_weights else value)

    @property
    def least_people(self) -> int:
        """The least number of people that can have sent the n reports."""
        return -(-self.n // self.reports_per_person)

    @property
    def design(self) -> SurveyDesign | None:
        """The public columns that say how people were drawn; None if one by one."""
        return None if self.survey is None else self.survey.drawn.design

    @property
    def degrees(self) -> float:
        """The degrees of freedom of the noise: infinite, or few of a survey with few clusters."""
        return np.inf if self.survey is None else self.survey.moments()[0]

    @cached_property
    def design_effects(self) -> FloatArray:
        """By how much the survey design raises the variance (K,) of each unbiased estimate.

        It compares with as many people who were drawn one by one with equal probabilities. Where
        an estimate has no variance at all, that is not known (NaN).
        """
        from warner.estimators.survey_noise import with_sum_one

        if self.survey is None:
            return np.ones(self.domain.size)
        variances = self.survey.variances(self.channel, lambda one, at: one.variance(at))
        alone = self.channel.variance(with_sum_one(self.survey.unbiased)) / max(self.n - 1, 1)
        varies = alone > _NO_VARIANCE
        unknown = np.full(alone.size, np.nan)
        return np.asarray(np.divide(variances, alone, out=unknown, where=varies))

    @property
    def design_effect(self) -> float:
        """The sum of the variances of all shares, divided by that without a survey design."""
        from warner.estimators.survey_noise import with_sum_one

        if self.survey is None:
            return 1.0
        alone = self.channel.variance(with_sum_one(self.survey.unbiased))
        varies = np.isfinite(self.design_effects)
        total = float(alone[varies].sum())
        return float(self.design_effects[varies] @ alone[varies]) / total if total > 0 else 1.0

    @property
    def effective_n(self) -> float:
        """How many people drawn one by one with equal probabilities would tell as much."""
        return self.n / max(self.design_effect, 1 / self.n)

    def for_fit(self) -> LikelihoodData:
        """The same frequencies as those of ``effective_n`` people who were drawn one by one.

        A likelihood needs a number of people; the errors of its maximum follow from the design.
        """
        if self.survey is None:
            return self
        return replace(self, n=max(1, round(self.effective_n)), survey=None)

    def require_simple_sample(self, what: str, remedy: str = "Use kind='score'") -> None:
        """Refuse what takes people as drawn one by one with equal probabilities."""
        if self.survey is not None:
            rule = "needs people who were drawn one by one with equal probabilities"
            got = f"a survey design ({self.survey.drawn.design.text})"
            raise ArgumentError(what, rule, got, remedy)

    @property
    def n_of_all(self) -> int:
        """How many of the n reports are about all attributes of the values, where some are not."""
        return self.channel.n_of_all(range(len(self.domain.attributes)), self.n)

    def by_sums(self) -> LikelihoodData:
        """The same data for smooth distributions, with sums of bits for many whole reports."""
        # Sums lose next to nothing where no value has a large share: a report supports many values.
        # A log-spline of 1000 values takes a twentieth of the time.
        size = self.channel.shape[1]
        if size <= _FEW_VALUES or self.channel.rows_per_report > 1:
            return self
        rows, _ = self.channel.restrict_to_observed(self.weights)
        steady = isinstance(rows, NearlyConstantRows) and rows.steady.all()
        if not steady or rows.shape[0] <= MANY_ROWS * size:
            return self
        return self._supports()

    def for_test_of_smoothness(self) -> LikelihoodData:
        """:meth:`by_sums`, and sums also where every two values share equally many reports."""
        # The maximum of the likelihood of sums has a closed form; that of the reports takes many
        # products.
        if self.channel.shape[1] > _FEW_VALUES and self.channel.supports_overlap_alike:
            return self._supports()
        return self.by_sums()

    def _supports(self) -> LikelihoodData:
        """The support counts of the same reports, where their likelihood is one of bit sums."""
        if self.channel.support_law() is None:
            return self
        channel, weights = self.channel.supports(self.weights)
        if not channel.rows_are_bit_sums:
            return self
        return replace(self, channel=channel, weights=weights)

    def on_attributes(self, axes: Sequence[int]) -> LikelihoodData | None:
        """The reports on some attributes, in this order; None where they cannot be told apart."""
        marginal = self.channel.marginal(self.weights, self.domain.shape, list(axes))
        if marginal is None:
            return None
        names = list(self.domain.attributes)
        domain = self.domain.select([names[axis] for axis in axes])
        channel, weights = marginal
        n = channel.n_people(self.n)
        survey = None if self.survey is None else self.survey.on_attributes(self.domain.shape, axes)
        return replace(self, channel=channel, weights=weights, domain=domain, n=n, survey=survey)

    def in_order_of_names(self) -> tuple[LikelihoodData, list[int]]:
        """The same data with attributes in the order of their names, and where each then stands."""
        # A method that depends on their order then gives the same however they are asked for.
        names = list(self.domain.attributes)
        order = sorted(range(len(names)), key=names.__getitem__)
        turned = None if names == sorted(names) else self.on_attributes(order)
        if turned is None:
            return self, list(range(len(names)))
        return turned, [order.index(axis) for axis in range(len(names))]

    def restricted(self, index: IntArray) -> LikelihoodData:
        """The same reports, as data on the values ``index`` (k,); all other values have share 0."""
        from warner.channels import SomeValues
        from warner.domains import Subset

        self.require_simple_sample("values", "Leave out the argument values")
        domain = Subset(self.domain, index)
        return replace(self, channel=SomeValues(self.channel, index), domain=domain)


def _read_only(weights: FloatArray) -> FloatArray:
    """A view that cannot be written to."""
    view = weights.view()
    view.flags.writeable = False
    return view


# -----------------------------------------------------------------------------------------------
# The fit: the shares, how the method ended, and its certificate.


class Status(Enum):
    """How a fit ended; the text states the cause and the remedy.

    ``Estimator.summary`` says what the method computes.

    >>> Status.EXACT.value
    'exact: computed directly, without iteration'
    >>> print(Status.EXACT)
    exact: computed directly, without iteration
    """

    EXACT = "exact: computed directly, without iteration"
    CONVERGED = "converged: no other shares fit the reports better by more than the gap"
    COMPLETED = (
        "completed: the method has done all its steps. It does not look for the shares that fit "
        "the reports best"
    )
    STOPPED = "stopped before the best fit"
    NOT_MOVED = (
        "not moved: the estimate is still where the method started, so it says nothing about the "
        "reports; use MaximumLikelihood()"
    )
    STEP_LIMIT = "the calculation stopped before it was finished, so the result is not final"
    OUTSIDE_SIMPLEX = (
        "some estimated shares are negative, or they do not sum to 1. This happens with estimates "
        "that are right on average (unbiased); to get shares from 0 to 1 that sum to 1, use "
        "constraint='project'"
    )
    NO_POSITIVE_MASS = (
        "no estimated share was positive, so the table shows equal shares, which mean nothing; "
        "collect more reports"
    )
    KEY_ABSENT = (
        "nobody seems to have this key, so nothing is known about its values. The numbers shown "
        "mean nothing, and their intervals include all possible values; collect more reports"
    )

    def __str__(self) -> str:
        """The text: the name says less."""
        return self.value


# From the mildest to the gravest, for an estimate that is made of several fits.
_GRAVITY = (
    Status.EXACT,
    Status.CONVERGED,
    Status.COMPLETED,
    Status.STOPPED,
    Status.NOT_MOVED,
    Status.STEP_LIMIT,
    Status.OUTSIDE_SIMPLEX,
    Status.NO_POSITIVE_MASS,
    Status.KEY_ABSENT,
)


def status_of_parts(statuses: Iterable[Status]) -> Status:
    """The status of an estimate that is computed from other fits: their gravest status.

    ``CONVERGED`` becomes ``COMPLETED``, because the certificate of one fit does not hold for the
    whole estimate.

    >>> status_of_parts([Status.EXACT, Status.CONVERGED])
    <Status.COMPLETED: ...>
    >>> status_of_parts([Status.STOPPED, Status.STEP_LIMIT]).name
    'STEP_LIMIT'
    """
    gravest = max(statuses, key=_GRAVITY.index, default=Status.EXACT)
    return Status.COMPLETED if gravest is Status.CONVERGED else gravest


@dataclass(frozen=True, eq=False)
class MeanFit:
    """An estimate of the mean of values with d coordinates."""

    value: np.ndarray  # (d,), in the units of the values
    # (d,), the variance of one report's contribution to ``value``, in squared units
    variance: np.ndarray
    bias: np.ndarray  # (d,), a bound on the absolute bias, in the units of the values


@dataclass(frozen=True, eq=False)
class KeyFit:
    """Estimates for each of d keys."""

    frequencies: np.ndarray  # (d,), the share of people who have each key
    means: np.ndarray  # (d,), the mean of each key's values, in their units


@dataclass(frozen=True, eq=False)
class PosteriorFit:
    """The posterior of the shares."""

    # a function of ``count`` and ``rng`` that returns (count, K), distributions drawn from the
    # posterior. Quantiles of a function over the rows are an interval for the function.
    draws: Callable[[int, np.random.Generator], np.ndarray]
    # whether draws are the default for intervals. It is False where the prior was learnt from the
    # same reports, because such intervals may not cover shares that are unlike the rest.
    for_intervals: bool = False
    # the same draws as an iterator of distributions (K,), where ``draws`` takes much memory; None
    # where it does not
    singly: Callable[[int, np.random.Generator], Iterator[np.ndarray]] | None = None
    # the same draws as an iterator over blocks of values: a slice of the values, and (values,
    # count); None as before
    by_values: Callable[[int, np.random.Generator], Iterator[tuple[slice, np.ndarray]]] | None = (
        None
    )
    # how much larger the log-likelihood of the model is than that of its shares, where it says
    # more than these: which numbers of a bin are at its limit
    gain: float = 0.0

    def one_by_one(self, count: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """The draws, (K,) each."""
        yield from (self.draws if self.singly is None else self.singly)(count, rng)

    def blocks(self, count: int, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
        """The draws of some values after the other: a slice of them, and (values, count)."""
        if self.by_values is not None:
            yield from self.by_values(count, rng)
        else:
            drawn = self.draws(count, rng)
            yield slice(0, drawn.shape[1]), drawn.T


@dataclass(frozen=True, eq=False)
class Fit:
    """The result of an estimator.

    Attributes:
        probabilities: (K,) the shares, or None where shares are not estimated.
        status: how the fit ended.
        gap: a bound, in nats per report, on how much the largest log-likelihood exceeds that of
            the shares (METHODS 0). None where no likelihood is evaluated.
        iterations: number of steps, or None.
        log_likelihood: in nats over all n reports, or None.
        likelihood: the name of that likelihood.
        unique: for a maximum, the text on whether it is the only one, see
            ``warner.estimators.maximum_likelihood``.
        components: number of separate estimates where several values share one, else None.
        bic: -2 log-likelihood + K' ln n, K' the number of separate estimates, for methods that
            choose K' by it; lower is better.
        path: (steps + 1, 2), log-likelihood and gap before each step and at the end; None unless
            the estimator was told to keep it.
        seconds: the time that the fit took, in seconds.
        posterior: the posterior of the shares, for methods that have one.
        mean: the estimate of the mean, for methods that estimate it without shares.
        keys: frequencies and means of keys, for methods that estimate them without shares.
    """

    probabilities: np.ndarray | None
    status: Status
    gap: float | None = None
    iterations: int | None = None
    log_likelihood: float | None = None
    likelihood: str | None = None
    unique: str | None = None
    components: int | None = None
    bic: float | None = None
    path: np.ndarray | None = field(default=None, repr=False)
    seconds: float | None = field(default=None, repr=False)
    posterior: PosteriorFit | None = field(default=None, repr=False)
    mean: MeanFit | None = None
    keys: KeyFit | None = None

    def __post_init__(self) -> None:
        if self.probabilities is not None:
            # Somebody's own method may give a list.
            object.__setattr__(self, "probabilities", np.asarray(self.probabilities))
            self.probabilities.setflags(write=False)

    @property
    def by_draws(self) -> bool:
        """Whether intervals are made of posterior draws by default."""
        return self.posterior is not None and self.posterior.for_intervals

    @property
    def shares(self) -> np.ndarray:
        """The shares (K,), for methods that estimate them.

        Raises:
            IdentifiabilityError: the method does not estimate shares.
        """
        if self.probabilities is None:
            rule = "were not estimated, because this method estimates only the mean"
            remedy = ".mean()"
            if self.keys is not None:
                rule = (
                    "were not estimated, because this method estimates only the frequency of each "
                    "key and the mean of its values"
                )
                remedy = ".frequencies() and .conditional(key).mean()"
            raise IdentifiabilityError(
                "probabilities", rule, None, f"Use {remedy}, or another method"
            )
        return self.probabilities


# -----------------------------------------------------------------------------------------------
# The likelihood and its certificate (METHODS 0).
#
#     maximise l(theta) = sum_y w_y log (A theta)_y   over the simplex
#
# Rows of A are probabilities of reports, up to a factor per row (``Channel.log_factors``). The
# score s = A' (w / A theta) has theta . s = 1. By concavity no distribution beats theta by more
# than gap = max_x s_x - 1 nats per row. Every solver stops on the gap, and every fit reports it.


_ENTRIES = 2**22  # of the products that are formed at a time
_ORDER = "Give one share for each value, in the order of the domain"
WHOLE, SUPPORTS = "likelihood of the reports", "quasi-likelihood of the counts"
# Shares below these are tried at 0, the largest first.
_SMALL_SHARES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-9)


def uniform(size: int) -> np.ndarray:
    """The uniform distribution (K,) on K = ``size`` values."""
    return np.full(size, 1 / size)


def safe_divide(w: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The quotient w / d of vectors (m,); 0 for reports that are impossible or not observed."""
    if d.size and d.min() > 0:  # the usual case, without masks
        return np.asarray(w / d)
    return np.asarray(np.divide(w, d, out=np.zeros_like(d), where=(w > 0) & (d > 0)))


def score_and_log_likelihood(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, float]:
    """The score s = A' (w / A theta), (K,), and l(theta); unobserved rows do not count."""
    observed = w > 0
    d = channel.matvec(theta)
    s = channel.rmatvec(safe_divide(w, d))
    scaled = d[observed] * channel.rows_per_report
    if not (scaled > 0).all():
        return s, -np.inf
    logs = np.log(scaled) + channel.log_factors_of(observed)
    return s, float(channel.rows_per_report * (w[observed] @ logs))


def score(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """The score s = A' (w / A theta), (K,), of a channel (m, K) and frequencies w (m,)."""
    return score_and_log_likelihood(channel, w, theta)[0]


def log_likelihood(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> float:
    """The log-likelihood l(theta) in nats per report, of a channel (m, K) and weights w (m,)."""
    return score_and_log_likelihood(channel, w, theta)[1]


def log_likelihood_at(data: LikelihoodData, theta: ArrayLike) -> float | np.ndarray:
    """n l of one distribution (K,), or of several in blocks; see Estimate.log_likelihood_at."""
    channel, size = data.channel, data.domain.size
    thetas = numbers_of("theta", theta)
    if thetas.ndim == 0 or thetas.shape[-1] != size:
        rule = f"must have {size} shares in each row, one for each value"
        raise ArgumentError("theta", rule, f"an array of shape {thetas.shape}", _ORDER)
    columns = thetas.reshape(-1, size).T
    if not np.isfinite(columns).all() or (columns < 0).any() or (_off(columns) > 1e-9).any():
        worst = int(np.argmax(_off(columns))) if np.isfinite(columns).all() else 0
        rule = "must have shares of at least 0 that add up to 1"
        total, least = columns[:, worst].sum(), columns.min()
        got = f"the sum {total:.6g} and the smallest share {least:.6g}"
        raise ArgumentError("theta", rule, got)
    observed = data.weights > 0
    w = data.weights[observed]
    copies = channel.rows_per_report
    factors = np.broadcast_to(channel.log_factors_of(observed), w.shape)
    values = np.empty(columns.shape[1])
    for some in in_blocks(values.size, _ENTRIES, max(channel.shape)):
        block = np.ascontiguousarray(columns[:, some])
        d = np.maximum(channel.matvec(block)[observed] * copies, 0.0)
        with np.errstate(divide="ignore"):
            values[some] = w @ (np.log(d) + factors[:, None])
    values *= data.n * copies
    return float(values[0]) if thetas.ndim == 1 else values.reshape(thetas.shape[:-1])


def _off(columns: np.ndarray) -> np.ndarray:
    """The distances from 1 of the sums of several columns."""
    return np.asarray(np.abs(columns.sum(axis=0) - 1))


def gap_of_score(channel: LikelihoodOperator, s: np.ndarray) -> float:
    """The most by which the maximum can exceed l at a point with score (K,), in nats per report."""
    return max(0.0, float(s.max()) - 1) * channel.rows_per_report


def gap(channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray) -> float:
    """The most by which the maximum can exceed l(theta), in nats per report.

    Shapes: channel (m, K), w (m,), theta (K,).
    """
    s, value = score_and_log_likelihood(channel, w, theta)
    return gap_of_score(channel, s) if value > -np.inf else np.inf


def name_of(channel: LikelihoodOperator) -> str:
    """The name of the likelihood that the channel's rows give."""
    return SUPPORTS if channel.rows_per_report > 1 else WHOLE


def certify(data: LikelihoodData, theta: np.ndarray, status: Status, iterations: int | None) -> Fit:
    """Make the fit of a distribution theta (K,), with its log-likelihood and its gap."""
    channel = data.channel
    s, value = score_and_log_likelihood(channel, data.weights, theta)
    missing = gap_of_score(channel, s) if value > -np.inf else np.inf
    return Fit(theta, status, missing, iterations, data.n * value, name_of(channel))


def require_possible(channel: LikelihoodOperator, w: np.ndarray) -> None:
    """Refuse reports, of frequencies w (m,), that have probability 0 under every value."""
    impossible = (w > 0) & (channel.matvec(np.ones(channel.shape[1])) <= 0)
    if impossible.any():
        count = np.count_nonzero(impossible)
        many = f"{count} different reports" if count > 1 else "a report"
        rule = f"include {many} that cannot come from any answer"
        raise ImpossibleReportError("reports", rule, None, MADE_BY)


def zero_small_shares(
    channel: LikelihoodOperator, w: np.ndarray, theta: np.ndarray, target: float
) -> np.ndarray:
    """Set small shares of theta (K,) to 0, unless the gap then exceeds the allowed gap."""
    # A share below 1 minus its score is set to 0. In the degenerate case (METHODS 4.5) both tend to
    # 0 together, so all shares below 1e-3, 1e-4, .. are tried too.
    s = score(channel, w, theta)
    allowed = max(target, gap_of_score(channel, s))
    tried: set[bytes] = set()
    for absent in (1 - s > theta, *(theta < cut for cut in _SMALL_SHARES)):
        sparse = np.where(absent, 0.0, theta)
        if (sparse == theta).all() or sparse.sum() <= 0 or absent.tobytes() in tried:
            continue
        tried.add(absent.tobytes())
        sparse /= sparse.sum()
        if gap(channel, w, sparse) <= allowed:
            theta = sparse
    return theta


# -----------------------------------------------------------------------------------------------
# The base class: an immutable description of a method, applied by ``fit``.


_OUTSIDE = (Status.OUTSIDE_SIMPLEX, Status.KEY_ABSENT)
_PRINTED = 8  # shares that a repr prints
_FAR_OFF = 1e-6  # far above rounding errors; warner.testing has a narrower limit


class Estimator(Hinting, ABC):
    """A method that estimates a distribution from reports.

    A subclass is a frozen dataclass of the method's options. It defines ``_fit`` and ``summary``.
    Its repr names the method in results.

    Attributes:
        summary: one or more sentences for users on what the method computes, without the last full
            stop.
        references: the sources, as keys of the package's list or as BibTeX entries.
        for_papers: whether only papers use it, because others err less. The reference shows it on a
            page of its own.
        is_consistent: whether the shares come as near to the true ones as one likes if people are
            many enough. False of a method that smooths, or stops early, however many people there
            are.
        inverts: whether a distribution is made from the unbiased estimates of single shares.

    >>> from warner.estimators import MaximumLikelihood
    >>> MaximumLikelihood().summary
    'maximum of the likelihood'
    """

    summary: ClassVar[str] = ""
    references: ClassVar[tuple[str, ...]] = ()
    for_papers: ClassVar[bool] = False
    is_consistent: ClassVar[bool] = True

    always_shown: ClassVar[tuple[str, ...]] = ()  # options that a repr has at their defaults too

    @property
    def inverts(self) -> bool:
        return False

    def __repr__(self) -> str:
        """Options that differ from their defaults; a subclass has ``@dataclass(repr=False)``."""
        shown: list[str] = []
        options: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        for option in options:
            value = getattr(self, option.name)
            changed = option.default is MISSING or value != option.default
            if option.repr and (changed or option.name in self.always_shown):
                long = isinstance(value, tuple) and len(value) > _PRINTED
                shares = long and all(isinstance(each, float) for each in value)
                text = f"<{len(value)} shares>" if shares else repr(value)
                shown.append(f"{option.name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of the method with these options."""
        return self.references

    def bibtex(self) -> str:
        """The sources of the method with its options, and the package itself, as BibTeX entries.

        >>> from warner.estimators.literature import BiasCorrection
        >>> print(BiasCorrection().bibtex().splitlines()[0])
        @article{murakami2018,
        """
        from warner._core.references import bibtex_of

        return bibtex_of(self.sources)

    @final
    def fit(self, data: LikelihoodData) -> Fit:
        """Estimate the distribution over the K values of ``data.domain``.

        A fit whose matrix products are small runs on one thread, see ``warner._core.processes``.

        Args:
            data: the channel (m, K), the frequencies (m,) of its rows, and the number of reports.

        Returns:
            The fit, with its ``seconds``.

        Raises:
            ArgumentTypeError: not such data; or ``_fit`` of an estimator of yours returned no fit.
            ArgumentError: the method does not apply; or ``_fit`` returned a wrong number of shares,
                shares that are not finite, or no distribution where the status says so.
        """
        if not isinstance(data, LikelihoodData):
            name = type(self).__name__
            rule = "must be LikelihoodData, which warner.estimate makes from a tally"
            remedy = f"Write warner.estimate(tally, {name}(...)), and not {name}(...).fit(tally)"
            raise ArgumentTypeError("data", rule, kind(data), remedy)
        start = perf_counter()
        with threads_for(data):
            fit = self._fit(data)
        require_fit(type(self).__name__, fit, data.domain.size, data.n)
        return replace(fit, seconds=perf_counter() - start)

    def refit(self, data: LikelihoodData, near: np.ndarray) -> np.ndarray:
        """The shares alone, from reports like those of an earlier fit, such as of a bootstrap.

        A method whose result does not depend on its start may begin at the earlier one.

        Args:
            data: the reports.
            near: (K,) the distribution that the reports were simulated from.

        Returns:
            (K,), as of :meth:`fit` up to its certified gap.
        """
        return self._fit(data).shares

    def refit_all(
        self, several: Sequence[LikelihoodData], near: np.ndarray
    ) -> Iterator[np.ndarray]:
        """:meth:`refit` of several sets of reports of one mechanism, from the first to the last.

        A method whose steps are products with the channel may take them for all sets together.

        Args:
            several: the sets of reports.
            near: (K,) the distribution that the reports were simulated from.

        Yields:
            (K,) shares for each set.
        """
        for data in several:
            yield self.refit(data, near)

    @abstractmethod
    def _fit(self, data: LikelihoodData) -> Fit:
        """The fit, without ``seconds``."""


def inverted(several: Sequence[LikelihoodData]) -> np.ndarray:
    """The unbiased estimates (B, K) of several sets of reports of one mechanism."""
    channel = several[0].channel
    if any(data.channel is not channel for data in several):
        return np.stack([data.channel.invert(data.weights) for data in several])
    return np.asarray(channel.invert(np.stack([data.weights for data in several], axis=1)).T)


def require_fit(name: str, fit: Fit, size: int, n: int, rounding: float = _FAR_OFF) -> None:
    """Refuse what an estimator outside the package may return for K values and n reports."""
    if not isinstance(fit, Fit):
        remedy = "Write Fit(shares, Status.COMPLETED)"
        raise ArgumentTypeError(name, "_fit must return a Fit", kind(fit), remedy)
    if not isinstance(fit.status, Status):
        remedy = "For example Status.COMPLETED"
        raise ArgumentTypeError(name, "status must be a Status", kind(fit.status), remedy)
    if fit.probabilities is None:
        if fit.mean is None and fit.keys is None:
            raise ArgumentError(name, "must return shares, a mean or keys", "none of them")
        return
    shares = np.asarray(fit.probabilities)
    if shares.shape != (size,):
        rule, remedy = f"must return {size} shares, one for each value", "Give each value a share"
        raise ArgumentError(name, rule, f"an array of shape {shares.shape}", remedy)
    bad = int((~np.isfinite(shares)).sum())
    if bad:
        rule, remedy = "must return finite shares", "Is there a division by zero?"
        raise ArgumentError(name, rule, f"{bad} that are not finite", remedy)
    total, least = float(shares.sum()), float(shares.min())
    if n > 1 and abs(total - n) <= _FAR_OFF * n:  # unbiased shares may be outside 0 to 1
        rule, got = "must return shares, and not counts", f"the sum {total:.6g} of {n} reports"
        raise ArgumentError(name, rule, got, "Divide the counts by data.n")
    if fit.status not in _OUTSIDE and max(abs(total - 1), -least) > rounding:
        rule = (
            f"must return shares of at least 0 that add up to 1 if the status is {fit.status.name}"
        )
        remedy = "Project the shares, or return Status.OUTSIDE_SIMPLEX"
        got = f"the sum {total:.6g} and the smallest share {least:.6g}"
        raise ArgumentError(name, rule, got, remedy)


def threads_for(data: LikelihoodData) -> AbstractContextManager[None]:
    """Return a context with one thread for linear algebra if the products of a fit are small."""
    # Setting the number takes about as long as a small fit: run many fits in one such block.
    rows, size = data.channel.shape
    return one_thread() if TINY < min(rows, data.n) * size**2 <= SMALL else nullcontext()


def require_positive(estimator: Estimator, *names: str, zero: bool = False) -> None:
    """Refuse options that are not numbers above 0; with ``zero``, 0 is allowed too."""
    for name in names:
        value = getattr(estimator, name)
        if zero:
            real(name, value, least=0)
        else:
            real(name, value, above=0)


def require_order(domain: Domain, name: str) -> None:
    """Refuse domains whose values are not points on a line."""
    points = domain.points
    if points is None or points.shape[1] != 1:
        rule = f"must have numbers as values for {name}"
        remedy = "Use MaximumLikelihood(), which needs no numbers"
        raise ArgumentError("domain", rule, type(domain).__name__, remedy)


# -----------------------------------------------------------------------------------------------
# The loop that runs every iterative estimator: start, step, stop, observe.


State = TypeVar("State")


@dataclass(frozen=True)
class Run(Generic[State]):
    """The end of an iteration."""

    state: State  # the last state
    steps: int  # the number of steps taken
    status: Status  # the reason for the end; ``STEP_LIMIT`` if ``stop`` gave no reason


def iterate(
    start: State,
    step: Callable[[State], State | None],
    stop: Callable[[State, int], Status | None],
    most: int,
    observe: Callable[[State], None] | None = None,
) -> Run[State]:
    """Apply ``step`` until ``stop`` gives a reason, no step is possible, or ``most`` are done.

    >>> halve = iterate(1.0, lambda x: x / 2, lambda x, n: Status.CONVERGED if x < 0.3 else None, 9)
    >>> halve.state, halve.steps, halve.status.name
    (0.25, 2, 'CONVERGED')
    """
    # A stage of progress without a total: most methods stop long before ``most`` steps.
    state, steps = start, 0
    with stage("iterations") as tell:
        while True:
            if observe is not None:
                observe(state)
            reason = stop(state, steps)
            if reason is not None:
                return Run(state, steps, reason)
            following = step(state) if steps < most else None
            if following is None:
                return Run(state, steps, Status.STEP_LIMIT)
            state, steps = following, steps + 1
            tell(steps)
