"""The error of the estimate that :func:`warner.estimate` makes, before anyone is asked.

The error of the unbiased estimate has a closed form (:mod:`warner.theory.inversion`). That of the
default one has none: it is simulated, with the estimators as they are, at a distribution that is
guessed or made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from warner._core.errors import WarnerError
from warner._core.extras import scipy
from warner._core.progress import steps
from warner._core.text import canonical
from warner.channels import Channel, HashPool, HiddenAmongChannel, LikelihoodOperator
from warner.domains import Domain
from warner.estimators import MaximumLikelihood
from warner.estimators.base import Estimator, Fit, LikelihoodData, certify, threads_for
from warner.mechanisms import Mechanism, from_header
from warner.results.recommend import recommended, rules_out
from warner.results.solution import within
from warner.theory.inversion import MAX_PEOPLE

# -----------------------------------------------------------------------------------------------
# Losses, and the distributions at which errors are simulated.


_SILENT = 0.1  # the made share of people without an answer
MOST_SIMULATED = 1024  # values; beyond, one fit of numbers takes seconds
_GOLDEN = (math.sqrt(5) - 1) / 2
LOSS_NAMES = {
    "l1": "sum of absolute errors",
    "l2": "sum of squared errors",
    "w1": "Wasserstein-1 distance",
}


def loss_of(domain: Domain, difference: float | None = None) -> str:
    """The loss that mechanisms of a question are ranked by where none is named.

    ``"w1"`` for numbers and places, up to 1024 of them: an estimate that moves people to a
    neighbouring value errs little. ``"l2"`` for all others, and where a difference of a share is
    to be detected.

    >>> from warner import Categorical, Integers
    >>> loss_of(Integers(0, 9)), loss_of(Categorical(["a", "b"]))
    ('w1', 'l2')
    """
    return "w1" if can_simulate(domain) and difference is None else "l2"


def measured(domain: Domain) -> Domain:
    """The domain in whose unit errors are measured: the numbers, without nonresponse."""
    return domain.answered if domain.answered.is_ordered else domain


def distance_of_values(p: np.ndarray, q: np.ndarray, domain: Domain) -> float:
    """Wasserstein-1 distance of p, q (K,) in the unit of the values, added over the coordinates."""
    total, points = 0.0, domain.points
    if domain.nonresponse is not None:
        p, q = within(p, slice(0, -1)), within(q, slice(0, -1))
        points = domain.answered.points
    assert points is not None
    for axis in points.T:
        gaps, excess = np.diff(axis), p - q
        if not (gaps > 0).all():  # several places have one coordinate, or are in another order
            places, index = np.unique(axis, return_inverse=True)
            gaps, excess = np.diff(places), np.bincount(index, excess, minlength=len(places))
        total += float(np.abs(np.cumsum(excess)[:-1]) @ gaps)
    return total


def can_simulate(domain: Domain) -> bool:
    """Whether mechanisms on a domain can be compared by the loss ``"w1"``.

    >>> from warner import Categorical, Integers
    >>> can_simulate(Integers(0, 9)), can_simulate(Categorical(["a", "b"]))
    (True, False)
    """
    size = domain.size
    return bool(measured(domain).dimension) and not domain.tags and 2 <= size <= MOST_SIMULATED


def made_shares(domain: Domain) -> np.ndarray:
    """A made distribution (K,) with its mode at a quarter of the range of each coordinate.

        theta_x ~ prod_k t_k (1 - t_k)^3,   t_k = 0.05 + 0.9 (x_k - low_k) / (high_k - low_k)

    >>> from warner import Integers
    >>> made_shares(Integers(0, 4)).round(2).tolist()
    [0.19, 0.47, 0.28, 0.07, 0.0]
    """
    if measured(domain) is not domain:
        return with_silent(made_shares(domain.answered), domain)
    points = domain.points
    assert points is not None
    low, high = points.min(axis=0), points.max(axis=0)
    t = 0.05 + 0.9 * (points - low) / np.where(high > low, high - low, 1.0)
    weights = np.prod(t * (1 - t) ** 3, axis=1)
    return np.asarray(weights / weights.sum())


def with_silent(shares: np.ndarray, domain: Domain) -> np.ndarray:
    """Made shares (K,) of numbers, with one silent person in ten where nonresponse is a value."""
    if measured(domain) is domain:
        return shares
    return np.append((1 - _SILENT) * shares / shares.sum(), _SILENT)


def typical_shares(domain: Domain) -> np.ndarray:
    """The shares (K,) of a question like many: of numbers and places :func:`made_shares`.

    Shares of labels fall as 1, 1/2, 1/3, and so on, in an order that says nothing.

    >>> from warner import Categorical
    >>> typical_shares(Categorical(["a", "b", "c"])).round(2).tolist()
    [0.55, 0.18, 0.27]
    """
    if can_simulate(domain):
        return made_shares(domain)
    ranks = np.argsort(np.argsort(np.arange(domain.size) * _GOLDEN % 1))
    weights = 1 / (1 + ranks)
    return np.asarray(weights / weights.sum())


# -----------------------------------------------------------------------------------------------
# Mechanisms whose reports say the same.


_SAME, _NONE = 1e-6, 1e-15  # rounding errors of distances: relative, and absolute


def law_of(mechanism: Mechanism) -> tuple[float, ...] | None:
    """Equal for two mechanisms whose reports say the same, whatever the reports are called.

        sum_y (sqrt((A u)_y) - sqrt((A v)_y))^2   for a few fixed distributions u and v (K,)

    These distances do not change where reports are renamed, or one is divided at random into
    several. Of other mechanisms they are equal only by a chance that does not happen. None where a
    tally does not count whole reports, and for hashed reports, which no other mechanism makes.
    """
    channel = mechanism.channel()
    if isinstance(channel, HiddenAmongChannel) and channel.subset == 1:
        channel = channel.first
    support, size = channel.support_law(), mechanism.domain.size
    if support is not None and support.ones == 1:  # a report is one value, kept as bits
        q, gap = support.q, support.gap

        def chances(theta: np.ndarray) -> np.ndarray:
            return np.asarray(q + gap * theta)
    elif channel.rows_per_report == 1 and not isinstance(channel, HashPool):
        chances = channel.matvec
    else:
        return None
    half = 0.5 * np.eye(size)[[0, size // 3, size - 1]]
    roots = [np.sqrt(np.maximum(chances(each + 0.5 / size), 0)) for each in half]
    return tuple(float(((roots[i] - roots[j]) ** 2).sum()) for i, j in combinations(range(3), 2))


def is_same_law(one: tuple[float, ...] | None, other: tuple[float, ...] | None) -> bool:
    """Whether two results of :func:`law_of` are of reports that say the same."""
    return one is not None and other is not None and np.allclose(one, other, _SAME, _NONE)


# -----------------------------------------------------------------------------------------------
# Simulated estimates.


_MOST_DRAWN = 10**6  # people who are drawn one by one
_MOST_KEPT = 4096  # losses of simulated estimates that are kept
_RUNS_KEPT = 12  # runs whose random numbers are kept, as many as a plan has by default


def usual_fit(data: LikelihoodData, theta: np.ndarray) -> tuple[Estimator, Fit]:
    """The recommended estimator of the expected tally w = A theta, and its fit.

    Unlike for other reports, the maximum of the likelihood is known: theta (K,) itself.
    """
    method = recommended(data.domain, data.channel)
    with threads_for(data):
        fit = method.fit(data)
        if data.domain.answered.is_ordered and fit.posterior is not None:
            counted = data.for_test_of_smoothness()
            of_sums = fit if counted is data else certify(counted, fit.shares, fit.status, None)
            if rules_out(of_sums, certify(counted, theta, fit.status, None)):
                return MaximumLikelihood(), certify(data, theta, fit.status, None)
    return method, fit


def expected_tally(
    channel: LikelihoodOperator, theta: np.ndarray, n: int, domain: Domain
) -> LikelihoodData:
    """The tally that n people are expected to give, whose shares are theta (K,)."""
    weights = channel.matvec(theta)
    return LikelihoodData(channel, weights / weights.sum(), n, domain)


def simulated_losses(
    domain: Domain, mechanism: Mechanism | None, theta: np.ndarray, n: int, runs: range
) -> tuple[list[float], str]:
    """The distances of estimates of simulated tallies from theta (K,), and the method in words.

    With the same random numbers, losses may be subtracted run by run; None is no protection.
    """
    if mechanism is None:
        drawn = [_drawn(theta, n, run) / n for run in runs]
        return [distance_of_values(shares, theta, domain) for shares in drawn], "shares of answers"
    header, shares = canonical(mechanism.header), np.ascontiguousarray(theta).tobytes()
    method, losses = _simulated(header, shares, n, runs)
    return list(losses), repr(method)


def simulated_error(
    domain: Domain, mechanism: Mechanism | None, theta: np.ndarray, n: int, runs: int
) -> tuple[float, float]:
    """The mean of :func:`simulated_losses` at theta (K,), and its standard error."""
    return mean_of(simulated_losses(domain, mechanism, theta, n, range(runs))[0])


def _drawn(chances: np.ndarray, n: int, run: int) -> np.ndarray:
    """How many of n people have each value, or report, whose chances are (m,): counts (m,).

    All mechanisms have the same random numbers, a uniform one for each person, so that reports in
    the order of their values are high or low together.
    """
    chances = np.maximum(chances, 0) / chances.sum()
    if n > _MOST_DRAWN:
        return np.random.default_rng([0, run]).multinomial(n, chances)
    ends = np.cumsum(chances)
    ends[-1] = np.inf  # rounding may end below 1
    return np.diff(np.searchsorted(_numbers_of_people(n, run), ends), prepend=0)


@lru_cache(maxsize=_RUNS_KEPT)
def _numbers_of_people(n: int, run: int) -> np.ndarray:
    """A uniform random number for each of n people, sorted, because they are drawn alike."""
    return np.sort(np.random.default_rng([0, run]).random(n))


def _tally(
    channel: Channel, theta: np.ndarray, n: int, run: int
) -> tuple[LikelihoodOperator, np.ndarray]:
    """A simulated tally of n people, as an operator and the frequencies of its rows."""
    if channel.draws_reports_alone:
        return channel, _drawn(channel.matvec(theta), n, run) / n
    return channel.simulate_tally(theta, n, np.random.default_rng([1, run]), _drawn(theta, n, run))


def mean_of(errors: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """The mean over runs, and its standard error."""
    return float(np.mean(errors)), float(np.std(errors, ddof=1) / math.sqrt(len(errors)))


@lru_cache(maxsize=_MOST_KEPT)  # questions often have equal values
def _simulated(header: str, theta: bytes, n: int, runs: range) -> tuple[Estimator, list[float]]:
    """The method, and the distances of its estimates of simulated tallies."""
    mechanism, shares = from_header(json.loads(header)), np.frombuffer(theta)
    domain, channel = mechanism.domain, mechanism.channel()
    method, several = recommended(domain, channel), []
    for run in runs:
        operator, w = _tally(channel, shares, n, run)
        several.append(LikelihoodData(operator, w, n, domain))
    refits = steps(method.refit_all(several, shares), "simulating", len(runs))
    return method, [distance_of_values(each, shares, domain) for each in refits]


# -----------------------------------------------------------------------------------------------
# The default error of labels, from the unbiased one.


_STEP = 4.0  # how many times as many people the next tallies are of
_RUNS = 6  # tallies of each number of people
_MOST_STEPS = 25
_FEWEST = 8  # people of a simulated survey


def noise_of(mechanism: Mechanism, theta: np.ndarray) -> float:
    """The noise of one report in the directions that keep the sum of all shares.

        sum_x V_x - Var(sum_x t_x) / K,   t the unbiased estimate, V_x its variances

    The default estimate knows that shares add up to 1, so noise of their sum does no harm.
    """
    channel = mechanism.channel()
    of_sum = float(channel.variance_of(np.ones((theta.size, 1)), theta)[0])
    return float(channel.variance(theta).sum()) - of_sum / theta.size


@dataclass(frozen=True)
class DefaultError:
    """What the default estimate errs at one distribution."""

    error: float  # the mean loss
    standard_error: float  # its standard error, of the simulation
    people: int | None  # how many people the wanted error needs; None where none was named


@dataclass(frozen=True, eq=False)
class DefaultErrors:
    """The error of the default estimate of labels at one distribution, by how noisy reports are.

    It hardly depends on which mechanism made the noise, so one is simulated, with numbers of
    people that grow fourfold. Between them log error is taken as linear in the logarithm of
    :func:`noise_of`.
    """

    mechanism: Mechanism  # the one that is simulated
    theta: np.ndarray  # (K,) the distribution
    n: int  # the number of people of the survey
    loss: str  # "l1" or "l2"

    def of(self, mechanism: Mechanism, target: float | None) -> DefaultError:
        """What to expect of a mechanism, and the people that bring the error to the target."""
        of_simulated = noise_of(self.mechanism, self.theta)
        step = math.log(noise_of(mechanism, self.theta) / of_simulated) / math.log(_STEP)
        before, fraction = math.floor(step), step - math.floor(step)
        (e0, m0), (e1, m1) = self._at(before), self._at(before + 1)
        error = math.exp((1 - fraction) * math.log(e0) + fraction * math.log(e1))
        standard_error = error * math.hypot((1 - fraction) * m0 / e0, fraction * m1 / e1)
        people = None if target is None else self._people(step, error, target)
        return DefaultError(error, standard_error, people)

    def _people_at(self, step: float) -> float:
        """The people of the simulated mechanism at a step."""
        return float(self.n * _STEP**-step)

    def _at(self, step: int) -> tuple[float, float]:
        """The mean error at a step, and its standard error."""
        header, theta = canonical(self.mechanism.header), np.ascontiguousarray(self.theta)
        people = int(np.clip(round(self._people_at(step)), _FEWEST, MAX_PEOPLE))
        return _error_at(header, theta.tobytes(), people, self.loss)

    def _people(self, step: float, error: float, target: float) -> int | None:
        """How many people bring the error at a step to the target; None beyond 10^15."""
        last, last_error, way = step, error, 1 if target > error else -1
        following = math.ceil(step) if way > 0 else math.floor(step)
        for _ in range(_MOST_STEPS):
            if not _FEWEST <= self._people_at(following) <= MAX_PEOPLE:
                break
            its_error = self._at(following)[0]
            if (its_error - target) * way >= 0:
                if its_error != last_error:
                    fraction = math.log(target / last_error) / math.log(its_error / last_error)
                    last += fraction * (following - last)
                return two_digits(self.n * _STEP ** (step - last))
            last, last_error = following, its_error
            # An error falls at most fourfold from a step to the next, or as the root of it.
            most = math.log(_STEP) / (1 if self.loss == "l2" else 2)
            following += way * max(1, math.floor(abs(math.log(target / last_error)) / most))
        # The fewest people that are simulated have less than the target, or 10^15 have more.
        return _FEWEST if way > 0 else None


def two_digits(people: float) -> int:
    """A number of people rounded up to two digits, which is what simulations tell.

    >>> two_digits(5076), two_digits(8)
    (5100, 8)
    """
    unit = round(10.0 ** max(0, math.floor(math.log10(max(people, 1))) - 1))
    return unit * math.ceil(people / unit)


def default_errors(
    mechanism: Mechanism, theta: np.ndarray, n: int, loss: str
) -> DefaultErrors | None:
    """The default errors at a distribution (K,); None where the default estimate is refused."""
    errors = DefaultErrors(mechanism, theta, n, loss)
    try:
        errors.of(mechanism, None)
    except WarnerError:
        return None
    return errors


@lru_cache(maxsize=_MOST_KEPT)
def _error_at(header: str, theta: bytes, n: int, loss: str) -> tuple[float, float]:
    """The mean loss of default estimates of labels, and its standard error.

    The mean loss of a linear estimate that knows the truth, m + s_x (t_x - m) with m = 1 / K and

        s_x = (theta_x - m)^2 / ((theta_x - m)^2 + V_x / n),

    has a closed form, t the unbiased estimate with the variance V_x. On a simulated tally its loss
    varies as that of the default estimate does, so what it has too much is taken off.
    """
    mechanism, shares = from_header(json.loads(header)), np.frombuffer(theta)
    channel, domain, m = mechanism.channel(), mechanism.domain, 1 / shares.size
    variance, bias = channel.variance(shares) / n, shares - m
    s = bias**2 / np.maximum(bias**2 + variance, np.finfo(float).tiny)
    expected = _loss_of_normal((1 - s) * -bias, s**2 * variance, loss)
    method = recommended(domain, channel)
    if domain.answered.is_ordered:
        method, _ = usual_fit(expected_tally(channel, shares, n, domain), shares)
    losses, chance = [], []
    for operator, w in channel.simulate_tallies(shares, n, np.random.default_rng(0), _RUNS):
        data = LikelihoodData(operator, w, n, domain)
        with threads_for(data):
            losses.append(_loss(method.fit(data).shares - shares, loss))
        chance.append(_loss(m + s * (operator.invert(w) - m) - shares, loss) - expected)
    together = np.cov(losses, chance)
    slope = np.clip(together[0, 1] / max(together[1, 1], np.finfo(float).tiny), 0, 1)
    error, standard_error = mean_of(np.array(losses) - slope * np.array(chance))
    return max(error, min(losses)), standard_error


def _loss(error: np.ndarray, loss: str) -> float:
    return float((error**2).sum() if loss == "l2" else np.abs(error).sum())


def _loss_of_normal(bias: np.ndarray, variance: np.ndarray, loss: str) -> float:
    """The mean loss of independent normal errors (K,)."""
    if loss == "l2":
        return float((bias**2 + variance).sum())

    deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    z = bias / deviation
    folded = deviation * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + bias * (
        1 - 2 * scipy.special.ndtr(-z)
    )
    return float(folded.sum())
