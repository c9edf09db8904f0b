"""Plans: which mechanism errs least for a question, and how many people a wanted error needs."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, distribution, integer, kind, real
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    IdentifiabilityError,
    WarnerError,
)
from warner._core.names import explained
from warner._core.progress import steps
from warner._core.table import Column
from warner._core.text import canonical
from warner.design.ranking import Ranking, to_nine_digits
from warner.domains import Domain
from warner.estimators.base import LikelihoodData
from warner.mechanisms import (
    Exponential,
    Gaussian,
    Geometric,
    HadamardResponse,
    Laplace,
    LocalHashing,
    Mechanism,
    Piecewise,
    PlanarGeometric,
    PlanarLaplace,
    ProjectiveGeometryResponse,
    RandomizedResponse,
    SquareWave,
    SubsetSelection,
    TruncatedGeometric,
    UnaryEncoding,
    UtilityOptimizedRappor,
    UtilityOptimizedRR,
    from_header,
    with_nonresponse,
)
from warner.mechanisms.headers import MECHANISMS
from warner.results.recommend import recommended
from warner.results.solution import within
from warner.theory import expected_loss
from warner.theory.inversion import (
    MAX_PEOPLE,
    max_influence,
    people_for_difference,
    power_for_difference,
)

# -----------------------------------------------------------------------------------------------
# The mechanisms that fit a domain and a guarantee: the candidates of a plan.


Maker = Callable[[Domain, float], Mechanism]
Judgement = TypeVar("Judgement")

# Mechanisms that protect all values equally.
_PROTECT_ALL: dict[str, Maker] = {
    "RandomizedResponse": RandomizedResponse,
    "UnaryEncoding": UnaryEncoding,
    "UnaryEncoding variant='oue'": partial(UnaryEncoding, variant="oue"),
    "LocalHashing": LocalHashing,
    "SubsetSelection": SubsetSelection,
    "HadamardResponse": HadamardResponse,
    "ProjectiveGeometryResponse": ProjectiveGeometryResponse,
}
_LARGEST_PROJECTIVE = 2**24  # values, beyond which its tally could be too long
_PROTECT_SENSITIVE: dict[str, Callable[..., Mechanism]] = {
    "UtilityOptimizedRR": UtilityOptimizedRR,
    "UtilityOptimizedRappor": UtilityOptimizedRappor,
}
# Mechanisms of numbers whose epsilon is for any two values.
_NUMERIC: dict[str, Maker] = {
    "SquareWave": SquareWave,
    "Piecewise": Piecewise,
    "Laplace": Laplace,
}
# Mechanisms whose epsilon is for values one unit of distance apart.
_METRIC: dict[str, Maker] = {
    "Geometric": Geometric,
    "TruncatedGeometric": TruncatedGeometric,
    "PlanarGeometric": PlanarGeometric,
    "PlanarLaplace": PlanarLaplace,
    "Exponential": Exponential,
}


def candidates(
    domain: Domain,
    sensitive: Iterable[Any] | None,
    delta: float | None,
    distance: float | None,
    near: bool,
) -> Iterator[tuple[str, Maker]]:
    """The names and makers of mechanisms to compare; a maker refuses a domain it does not fit."""
    if distance is not None:
        for name, make in _METRIC.items():
            yield name, _per_unit(make, distance)
        yield "Laplace", partial(Laplace, sensitivity=distance)
        yield from _added(distance, near)
        return
    for name, make in _PROTECT_ALL.items():
        if name != "ProjectiveGeometryResponse" or domain.size <= _LARGEST_PROJECTIVE:
            yield name, make
    if sensitive is not None:
        values = list(sensitive)
        for name, protect in _PROTECT_SENSITIVE.items():
            yield name, partial(protect, sensitive=values)
    yield from _added(distance, near)
    if not near:
        return
    for name, make in _NUMERIC.items():
        yield name, make if domain.nonresponse is None else _with_nonresponse(make)
    for name, make in _METRIC.items():
        yield name, _over_all(make)
    if delta is not None:
        yield f"Gaussian with delta {delta:.3g}", partial(Gaussian, delta=delta)


def _added(distance: float | None, near: bool) -> Iterator[tuple[str, Maker]]:
    """The registered mechanisms from outside the package that a domain and a budget make."""
    for name, cls in MECHANISMS.added().items():
        needed = [p for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
        if [p.name for p in needed] == ["domain", "epsilon"]:
            yield name, partial(_of_kind, cls, distance, near)


def _of_kind(
    cls: type[Mechanism], distance: float | None, near: bool, domain: Domain, epsilon: float
) -> Mechanism:
    """A mechanism from outside the package, if its guarantee is of the kind that is asked for."""

    def made(domain: Domain, epsilon: float) -> Mechanism:
        try:
            return cls(domain, epsilon)
        except Exception as problem:
            rule = f"cannot be made on this domain: {str(problem).rstrip('.')}"
            raise BudgetError(cls.__name__, rule) from problem

    mechanism = made(domain, epsilon)
    is_metric = mechanism.distance_unit is not None
    if is_metric != (distance is not None) and not (is_metric and near):
        raise ArgumentTypeError(cls.__name__, "has a guarantee of another kind")
    if mechanism.guarantee.delta is not None or mechanism.sensitive_mask is not None:
        raise ArgumentTypeError(cls.__name__, "has a guarantee of another kind")
    if not is_metric:
        return mechanism
    change = _over_all(made) if distance is None else _per_unit(made, distance)
    return change(domain, epsilon)


def _with_nonresponse(make: Maker) -> Maker:
    """A maker for a domain in which nonresponse is a value, from one for the answers."""
    return lambda domain, epsilon: with_nonresponse(make(domain.answered, epsilon), domain)


def _per_unit(make: Maker, distance: float) -> Maker:
    """A maker for an epsilon that is for values ``distance`` apart."""
    return lambda domain, epsilon: make(domain, epsilon / distance)


def options_of(make: Maker) -> dict[str, Any]:
    """The options that a maker passes to its mechanism, as a study file states them.

    >>> options_of(_PROTECT_ALL["UnaryEncoding variant='oue'"]), options_of(SquareWave)
    ({'variant': 'oue'}, {})
    """
    return dict(getattr(make, "keywords", {}))


def _over_all(make: Maker) -> Maker:
    """A maker for an epsilon that is for any two values: that between the most distant ones."""

    def made(domain: Domain, epsilon: float) -> Mechanism:
        ends = domain.ends
        span = math.hypot(*(high - low for low, high in ends)) if ends else 1.0
        per_unit = epsilon / span
        # Rounding may spend more than epsilon, by its last digits.
        for _ in range(8):
            mechanism = make(domain, per_unit)
            if mechanism.guarantee.between_any_values().epsilon <= epsilon:
                return mechanism
            per_unit = float(np.nextafter(per_unit, 0.0))
        return mechanism

    return made


_SILENT = 0.1  # the made share of people without an answer
_MOST_CACHED = 1024  # errors of simulated estimates that are kept
MOST_SIMULATED = 1024  # values; beyond, one fit takes seconds
_LARGEST_HASHED_SIMULATED = 256  # values; beyond, one fit of hashed reports takes seconds
LOSS_NAMES = {
    "l1": "sum of absolute errors",
    "l2": "sum of squared errors",
    "w1": "Wasserstein-1 distance",
}


_CLOSED_FORM = "the unbiased estimate, in closed form"
BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the epsilon of a plan for a difference


@dataclass(frozen=True)
class RankedMechanism:
    """One mechanism in a plan.

    Attributes:
        name: the mechanism and its variant.
        mechanism: the mechanism; None for no protection.
        error: expected loss with the n people of the plan.
        people: number of people that the wanted error or difference needs; None where none was
            named.
        influence: number of people that one forged report can add to the count that ``Inversion()``
            estimates of a value; None where it is not known; see
            :func:`warner.theory.inversion.max_influence`.
        margin: standard error of ``error`` where it is a mean over simulated tallies; else 0.
        judged: how the error was computed, in words.
        power: the probability to detect the wanted difference with the n people of the plan; None
            where no difference was named.
    """

    name: str
    mechanism: Mechanism | None
    error: float
    people: int | None
    influence: float | None
    margin: float = 0.0
    judged: str = _CLOSED_FORM
    power: float | None = None

    def row(self) -> dict[str, Any]:
        """The result as a dict: mechanism, error, margin, people, influence, judged, and power."""
        return {
            "mechanism": self.name,
            "error": self.error,
            "margin": self.margin,
            "judged": self.judged,
            "people": self.people,
            "influence": self.influence,
            **({} if self.power is None else {"power": self.power}),
        }


@dataclass(frozen=True)
class WantedDifference:
    """A difference that a survey should detect."""

    difference: float  # of the share of a value, between two groups
    groups: int  # the number of groups, of equal size
    power: float  # the probability to detect it, by a test of size 5 %


@dataclass(frozen=True)
class BudgetRow:
    """What one budget buys."""

    epsilon: float  # the budget in nats
    mechanism: str  # the name of the mechanism that needs the fewest people
    people: int  # how many it needs


@dataclass(frozen=True, repr=False)
class Plan(Ranking[RankedMechanism]):
    """Mechanisms from the least expected error to the largest.

    Attributes:
        results, loss, n, left_out: see :class:`warner.design.ranking.Ranking`.
        no_protection: the same figures where answers are sent as they are. For ``"l1"`` and
            ``"l2"`` no mechanism errs less. For ``"w1"`` a mechanism with little noise can err
            less, because its estimate is smoothed.
        wanted: the difference to detect, by whose number of people mechanisms are then sorted; None
            where none was named.
        by_epsilon: for a wanted difference, the fewest people at other budgets.
    """

    COLUMNS = (
        Column("mechanism"),
        Column("error", "expected error", "number"),
        Column("margin", "standard error", "number", 3),
        Column("times", "compared with no protection", "times"),
        Column("influence", "weight of one report, in people", "number", 1),
        Column("judged", "judged by", priority=2),
        Column("people", "people needed", "people"),
        Column("power", "power with these people", "number"),
    )

    no_protection: RankedMechanism
    wanted: WantedDifference | None = None
    by_epsilon: tuple[BudgetRow, ...] = ()

    def _table_rows(self) -> list[dict[str, Any]]:
        """The mechanisms, and no protection last."""
        least = self.no_protection
        return [
            {**result.row(), "times": result.error / least.error}
            for result in (*self.results, least)
        ]


@dataclass(frozen=True)
class _Survey:
    """What mechanisms are judged by: see :func:`plan`."""

    domain: Domain
    theta: np.ndarray
    n: int
    loss: str
    runs: int
    error: float | None
    wanted: WantedDifference | None

    def ranked(self, name: str, mechanism: Mechanism | None) -> RankedMechanism:
        """The figures of one mechanism; None for no protection."""
        influence = 1.0 if mechanism is None else max_influence(mechanism)
        subject = self.domain if mechanism is None else mechanism
        if self.loss == "w1":
            error, margin, judged = simulated_error(
                self.domain, mechanism, self.theta, self.n, self.runs
            )
        else:
            error, margin = expected_loss(subject, self.theta, self.n, self.loss), 0.0
            judged = _CLOSED_FORM
        people = power = None
        if self.error is not None:
            people = _people(name, error, self.n, self.error, self.loss)
        if self.wanted is not None:
            people = self.people(subject, self.wanted)
            power = power_for_difference(
                subject, self.wanted.difference, self.n, self.theta, self.wanted.groups
            )
        return RankedMechanism(name, mechanism, error, people, influence, margin, judged, power)

    def people(self, subject: Mechanism | Domain, difference_wanted: WantedDifference) -> int:
        """The number of people that the wanted difference needs."""
        difference = difference_wanted.difference
        groups = difference_wanted.groups
        power = difference_wanted.power
        return people_for_difference(subject, difference, self.theta, groups, power)

    def by_epsilon(
        self, makers: Mapping[str, Maker], epsilon: float, difference_wanted: WantedDifference
    ) -> Iterator[BudgetRow]:
        """The mechanism that needs the fewest people at a quarter to four times of a budget."""
        for nats in (epsilon * budget for budget in BUDGETS):
            needed = []
            for name, make in makers.items():
                # Some are not for these values, or not at this budget, or need far too many people.
                with contextlib.suppress(WarnerError):
                    needed.append((self.people(make(self.domain, nats), difference_wanted), name))
            if needed:
                people, name = min(needed)
                yield BudgetRow(nats, name, people)


@explained
def plan(
    domain: Domain,
    epsilon: float,
    n: int,
    sensitive: Iterable[Any] | None = None,
    theta: ArrayLike | None = None,
    loss: str = "l2",
    error: float | None = None,
    *,
    delta: float | None = None,
    distance: float | None = None,
    runs: int = 5,
    also: Mapping[str, Mechanism] | None = None,
    difference: float | None = None,
    groups: int = 2,
    power: float = 0.8,
) -> Plan:
    """Rank the mechanisms for one question by expected error.

    For ``"l1"`` and ``"l2"`` the error is that of :func:`warner.theory.expected_loss`: of the
    unbiased estimate, in closed form. The candidates treat values as labels.

    For ``"w1"`` it is a mean over simulated tallies, each estimated by the method that
    :func:`warner.estimate` recommends. This suits numbers and places: an estimate that moves people
    to a neighbouring value errs little. The candidates are then also the mechanisms of numbers and
    of places. Those whose epsilon is per unit of distance get the epsilon that the most distant
    values may spend.

    Args:
        domain: the values that can be answered.
        epsilon: budget in nats.
        n: number of people who will answer.
        sensitive: the values to protect; None for all. Utility-optimised mechanisms are candidates
            only where this is given.
        theta: (K,) a guess of the distribution. None for the uniform distribution, and for
            ``"w1"`` for :func:`made_shares`, because smooth methods do too well on a uniform one.
        loss: ``"l2"``, sum of squared errors; ``"l1"``, sum of absolute errors; or ``"w1"``, the
            Wasserstein-1 distance in the unit of the values, added over the coordinates of places.
        error: a wanted expected loss. Each result then says how many people it needs. For ``"w1"``
            this supposes that errors fall with the root of n.
        delta: the delta of an approximate guarantee, for which Gaussian is a candidate too.
        distance: the distance of two values that epsilon is for, of metric privacy; None for any
            two values.
        runs: number of simulated tallies for ``"w1"``, at least 2.
        also: {name: mechanism}, further candidates on this domain.
        difference: a difference of a share between groups of equal size, in (0, 1), that a test of
            size 5 % should detect. Each result then says how many people it needs in all, and the
            mechanisms are sorted by that; see :func:`warner.theory.people_for_difference`.
        groups: the number of groups.
        power: the probability with which the test should detect the difference.

    Returns:
        Plan: the mechanisms from the least expected error to the largest, or from the fewest people
        that a wanted difference needs to the most.

    Raises:
        BudgetError: no mechanism can be made with this budget.
        ArgumentError: the wanted error or difference needs more than 10^15 people, or a loss that
            the values or the guarantee do not have.

    Source: METHODS 6; [P2 sec 4.3].

    >>> from warner import Integers
    >>> ranking = plan(Integers(1, 100), 1.0, n=10_000, sensitive=[7, 8], loss="l1", error=0.1)
    >>> ranking.best.name, ranking.best.people
    ('UtilityOptimizedRR', 16940)
    >>> ranking = plan(Integers(0, 1), 1.0, n=10_000, difference=0.02)
    >>> ranking.best.people, [(row.epsilon, row.people) for row in ranking.by_epsilon[2:4]]
    (91878, [(1.0, 91878), (2.0, 33822)])
    >>> from warner import Grid
    >>> plan(Grid(2, 2), 1.0, n=1000, loss="w1", runs=2).best.judged
    "ExpectationMaximization(steps='auto'), 2 simulated tallies"
    """
    if not isinstance(domain, Domain):
        raise ArgumentTypeError("domain", "must be a Domain", kind(domain))
    integer("n", n, 1, MAX_PEOPLE)
    choice("loss", loss, tuple(LOSS_NAMES))
    integer("runs", runs, 2)
    if error is not None and real("error", error) <= 0:
        raise ArgumentError("error", "must be positive", repr(error))
    _check_guarantee(domain, loss, delta, distance)
    difference_wanted = _wanted_difference(difference, groups, power, error, loss)
    default = made_shares(domain) if loss == "w1" else np.full(domain.size, 1 / domain.size)
    guess = default if theta is None else distribution("theta", theta, domain.size)
    survey = _Survey(domain, guess, n, loss, runs, error, difference_wanted)
    makers = dict(candidates(domain, sensitive, delta, distance, loss == "w1"))
    for name, mechanism in (also or {}).items():
        # A name that is taken is that of another variant.
        makers[f"{name}, as given" if name in makers else name] = partial(_given, mechanism)
    slow = {}
    if loss == "w1" and domain.size > _LARGEST_HASHED_SIMULATED and "LocalHashing" in makers:
        del makers["LocalHashing"]
        slow["LocalHashing"] = (
            f"its error is simulated up to {_LARGEST_HASHED_SIMULATED} values; "
            "UnaryEncoding variant='oue' has about the same"
        )
    # What is wrong with the arguments of a closed form is so for all mechanisms.
    refusals = (ArgumentError,) if loss == "w1" else ()
    judged, left_out = judged_mechanisms(makers, domain, epsilon, survey.ranked, refusals)
    # A given mechanism may be a candidate anyway; the first of both stays.
    different: dict[str, RankedMechanism] = {}
    for result in judged:
        if result.mechanism is not None:
            different.setdefault(canonical(result.mechanism.header), result)
    results = sorted(
        different.values(),
        key=lambda r: (r.people if difference_wanted and r.people else 0, to_nine_digits(r.error)),
    )
    without = survey.ranked("no protection", None)
    settings: dict[str, Any] = {"no_protection": without.row()}
    bought: tuple[BudgetRow, ...] = ()
    if difference_wanted is not None:
        bought = tuple(survey.by_epsilon(makers, epsilon, difference_wanted))
        settings |= {
            "wanted": asdict(difference_wanted),
            "by_epsilon": [asdict(row) for row in bought],
        }
    return Plan(
        tuple(results),
        loss,
        n,
        slow | left_out,
        without,
        difference_wanted,
        bought,
        settings=settings,
    )


def judged_mechanisms(
    makers: Mapping[str, Maker],
    domain: Domain,
    epsilon: float,
    judge: Callable[[str, Mechanism], Judgement],
    refusals: tuple[type[WarnerError], ...],
) -> tuple[list[Judgement], dict[str, str]]:
    """Judgements of the mechanisms that can be made, and {name: reason} of the others."""
    judgements, left_out = [], {}
    refused: tuple[type[WarnerError], ...] = (BudgetError, IdentifiabilityError, *refusals)
    for name, make in steps(makers.items(), "comparing mechanisms"):
        try:
            judgements.append(judge(name, make(domain, epsilon)))
        except ArgumentTypeError:
            continue  # a mechanism of other values
        except refused as problem:
            left_out[name] = str(problem)
    if not judgements:
        reason = next(iter(left_out.values()), "No mechanism fits these values")
        raise BudgetError("epsilon", "suits no mechanism on this domain", repr(epsilon), reason)
    return judgements, left_out


def _wanted_difference(
    difference: float | None, groups: int, power: float, error: float | None, loss: str
) -> WantedDifference | None:
    """The difference that is to be detected, or None."""
    if difference is None:
        return None
    if error is not None:
        rule = "does not go with a wanted difference: each asks for a number of people"
        raise ArgumentError("error", rule, repr(error), "Leave one of them out")
    if loss == "w1":
        rule, remedy = "goes with the losses 'l1' and 'l2'", "Use loss='l2' (--loss l2)"
        raise ArgumentError("difference", rule, repr(loss), remedy)
    return WantedDifference(difference, groups, power)


def _given(mechanism: Mechanism, domain: Domain, epsilon: float) -> Mechanism:
    """A mechanism that is made already."""
    return mechanism


def _check_guarantee(
    domain: Domain, loss: str, delta: float | None, distance: float | None
) -> None:
    """Refuse a loss, a delta or a distance that the values do not have."""
    if loss != "w1":
        for name, given in (("delta", delta), ("distance", distance)):
            if given is not None:
                remedy = "Use loss='w1' (--loss w1)"
                raise ArgumentError(name, "goes with the loss 'w1'", repr(given), remedy)
        return
    if not measured(domain).dimension:
        rule, remedy = "'w1' needs values with coordinates", "Use 'l1' or 'l2'"
        raise ArgumentError("loss", rule, type(domain).__name__, remedy)
    remedy = "Use larger bins or cells, or the loss 'l2'"
    integer("number of values", domain.size, 2, MOST_SIMULATED, remedy)
    if delta is not None and not 0 < real("delta", delta) < 1:
        raise ArgumentError("delta", "must lie in (0, 1)", repr(delta))
    if distance is not None and real("distance", distance) <= 0:
        raise ArgumentError("distance", "must be positive", repr(distance))


def measured(domain: Domain) -> Domain:
    """The domain in whose unit errors are measured: the numbers, without nonresponse."""
    return domain.answered if domain.answered.is_ordered else domain


def distance_of_values(p: np.ndarray, q: np.ndarray, domain: Domain) -> float:
    """Wasserstein-1 distance in the unit of the values, added over the coordinates.

    Shapes: p, q (K,).
    """
    total, points = 0.0, domain.points
    if domain.nonresponse is not None:
        p, q = within(p, slice(0, -1)), within(q, slice(0, -1))
        points = domain.answered.points
    assert points is not None
    for axis in points.T:
        places, index = np.unique(axis, return_inverse=True)
        excess = np.cumsum(np.bincount(index, p - q, minlength=len(places)))
        total += float(np.abs(excess[:-1]) @ np.diff(places))
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
    """A made distribution with its mode at a quarter of the range of each coordinate.

        theta_x ~ prod_k t_k (1 - t_k)^3,   t_k = 0.05 + 0.9 (x_k - low_k) / (high_k - low_k)

    Returns (K,).

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
    """Made shares of numbers on a domain in which nonresponse may be a value: of one in ten people.

    Shapes: shares (K,).
    """
    if measured(domain) is domain:
        return shares
    return np.append((1 - _SILENT) * shares / shares.sum(), _SILENT)


def simulated_error(
    domain: Domain, mechanism: Mechanism | None, theta: np.ndarray, n: int, runs: int
) -> tuple[float, float, str]:
    """The mean error of simulated estimates, its standard error, and how it was found.

    Shapes: theta (K,).
    """
    if mechanism is not None:
        return _simulated_again(canonical(mechanism.header), theta.tobytes(), n, runs)
    estimates = np.random.default_rng(0).multinomial(n, theta, runs) / n
    judged = f"the shares of the answers, {runs} simulated surveys"
    return *_mean_distance(estimates, theta, domain), judged


@lru_cache(maxsize=_MOST_CACHED)
def _simulated_again(header: str, theta: bytes, n: int, runs: int) -> tuple[float, float, str]:
    """:func:`simulated_error` of a mechanism; kept, for attributes often have equal candidates.

    Shapes: theta (K,).
    """
    mechanism, shares = from_header(json.loads(header)), np.frombuffer(theta)
    domain, channel = mechanism.domain, mechanism.channel()
    method = recommended(domain, channel)
    drawn = channel.simulate_tallies(shares, n, np.random.default_rng(0), runs)
    several = [LikelihoodData(operator, w, n, domain) for operator, w in drawn]
    refits = steps(method.refit_all(several, shares), "simulating", runs)
    estimates = np.array(list(refits))
    judged = f"{method!r}, {runs} simulated tallies"
    return *_mean_distance(estimates, shares, domain), judged


def _mean_distance(estimates: np.ndarray, theta: np.ndarray, domain: Domain) -> tuple[float, float]:
    """The mean of the distances (runs,) of estimates from theta, and its standard error."""
    errors = np.array([distance_of_values(shares, theta, domain) for shares in estimates])
    return float(errors.mean()), float(errors.std(ddof=1) / math.sqrt(len(errors)))


def _people(name: str, expected: float, n: int, error: float, loss: str) -> int:
    """How many people bring the expected loss with n people down to ``error``."""
    power = 1 if loss == "l2" else 2  # l1 and w1 fall with the root of n, l2 with n
    if math.log(n) + power * math.log(expected / error) > math.log(MAX_PEOPLE):
        rule = f"would need more than {MAX_PEOPLE:.0e} people with {name}"
        remedy = "Name a larger error"
        raise ArgumentError("error", rule, repr(error), remedy)
    return math.ceil(n * (expected / error) ** power * (1 - 1e-12))
