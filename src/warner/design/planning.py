"""Plans: which mechanism errs least for a question, and how many people a wanted error needs."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from warner._core.checks import choice, distribution, integer, probability, real
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    IdentifiabilityError,
    WarnerError,
    message,
)
from warner._core.names import LOSSES_ELSEWHERE, explained
from warner._core.processes import one_thread
from warner._core.progress import steps
from warner._core.table import Column
from warner.channels import HashPool
from warner.design.default_errors import (
    LOSS_NAMES,
    MOST_SIMULATED,
    DefaultError,
    DefaultErrors,
    default_errors,
    is_same_law,
    law_of,
    loss_of,
    mean_of,
    measured,
    simulated_losses,
    two_digits,
    typical_shares,
)
from warner.design.own_law import contradiction
from warner.design.ranking import Ranking, to_nine_digits
from warner.domains import Domain
from warner.domains.base import require_domain
from warner.mechanisms import (
    Exponential,
    Gaussian,
    Geometric,
    HadamardResponse,
    Laplace,
    LocalHashing,
    Mechanism,
    Optimal,
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
    UtilityOptimizedSubset,
    with_nonresponse,
)
from warner.mechanisms.headers import MECHANISMS
from warner.theory import expected_loss
from warner.theory.inversion import (
    MAX_PEOPLE,
    max_influence,
    people_for_difference,
    power_for_difference,
    total_influence,
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
TREAT_ALL_ALIKE = frozenset(_PROTECT_ALL)
_LARGEST_OPTIMAL = 16  # values, beyond which the search takes longer than advice may
_LARGEST_PROJECTIVE = 2**24  # values, beyond which its tally could be too long
_PROTECT_SENSITIVE = (UtilityOptimizedRR, UtilityOptimizedSubset, UtilityOptimizedRappor)
# Mechanisms of numbers whose epsilon is for any two values.
_NUMERIC = (SquareWave, Piecewise, Laplace)
# Mechanisms whose epsilon is for values one unit of distance apart.
_METRIC = (Geometric, TruncatedGeometric, PlanarGeometric, PlanarLaplace, Exponential)


def candidates(
    domain: Domain,
    sensitive: Iterable[Any] | None,
    delta: float | None,
    distance: float | None,
    near: bool,
) -> Iterator[tuple[str, Maker]]:
    """The names and makers of mechanisms to compare; a maker refuses a domain it does not fit."""
    if distance is not None:
        for cls in _METRIC:
            yield cls.__name__, _per_unit(cls, distance)
        yield "Laplace", partial(Laplace, sensitivity=distance)
        yield from _added(distance, near)
        return
    for name, make in _PROTECT_ALL.items():
        if name != "ProjectiveGeometryResponse" or domain.size <= _LARGEST_PROJECTIVE:
            yield name, make
    if sensitive is not None:
        values = list(sensitive)
        for protect in _PROTECT_SENSITIVE:
            yield protect.__name__, partial(protect, sensitive=values)
    yield from _optimal(domain, sensitive, near)
    yield from _added(distance, near)
    if not near:
        return
    for numeric in _NUMERIC:
        yield (
            numeric.__name__,
            numeric if domain.nonresponse is None else _with_nonresponse(numeric),
        )
    for cls in _METRIC:
        yield cls.__name__, _over_all(cls)
    if delta is not None:
        yield f"Gaussian with delta {delta:.3g}", partial(Gaussian, delta=delta)


def _optimal(
    domain: Domain, sensitive: Iterable[Any] | None, near: bool
) -> Iterator[tuple[str, Maker]]:
    """The best mechanism where it is none of the others: of ratings, of few sensitive values."""
    options: dict[str, Any] = {} if sensitive is None else {"sensitive": list(sensitive)}
    if near and domain.is_ordered and not domain.is_binned:
        options["loss"] = "distribution"
    if options and domain.size <= _LARGEST_OPTIMAL:
        yield "Optimal", partial(Optimal, **options)


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
            rule = f"cannot be made for these values: {str(problem).rstrip('.')}"
            raise BudgetError(cls.__name__, rule) from problem

    mechanism = made(domain, epsilon)
    is_metric = mechanism.distance_unit is not None
    other = "has another kind of guarantee than the mechanisms that are compared"
    if is_metric != (distance is not None) and not (is_metric and near):
        raise ArgumentTypeError(cls.__name__, other)
    if mechanism.guarantee.delta is not None or mechanism.sensitive_mask is not None:
        raise ArgumentTypeError(cls.__name__, other)
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


_LARGEST_HASHED_SIMULATED = 32  # values; beyond, fits of hashed reports take most of the time
# Labels, and numbers, beyond which one default estimate takes seconds.
_MOST_DEFAULTS = {False: 2**14, True: MOST_SIMULATED}
_FIRST = 2  # simulated surveys of each mechanism; those that may be the best get all
_PAIRS = 4  # runs of two mechanisms, from which on their differences have a standard error
_NEAR = 1.3  # errors within 30 % of the least one may be the least
_CLOSED_FORM = "the unbiased estimate, by a formula"
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
        influence_of_all: the same for the counts of all values, added up; see
            :func:`warner.theory.inversion.total_influence`.
        standard_error: that of ``error`` where it is a mean over simulated tallies; else 0.
        judged: how the error was computed, in words.
        power: the probability to detect the wanted difference with the n people of the plan; None
            where no difference was named.
        default: what the estimate that :func:`warner.estimate` makes errs, where the shares are
            those of a typical question; None where it is not simulated.
        guessed: the same where the shares are as guessed; None where nobody guessed.
        losses: of a simulated error, the loss of each run. All mechanisms have the same random
            numbers.
    """

    name: str
    mechanism: Mechanism | None
    error: float
    people: int | None
    influence: float | None
    influence_of_all: float | None = None
    standard_error: float = 0.0
    judged: str = _CLOSED_FORM
    power: float | None = None
    default: DefaultError | None = None
    guessed: DefaultError | None = None
    losses: tuple[float, ...] = field(default=(), repr=False)

    def row(self) -> dict[str, Any]:
        """The result as a dict: mechanism, error, standard_error, people, influence, judged, power.

        The default estimate's error, standard_error and people follow, as ``default_error`` and so
        on, and those at a guess, as ``guess_error`` and so on.
        """
        simulated = {"default": self.default, "guess": self.guessed}
        return {
            "mechanism": self.name,
            "error": self.error,
            "standard_error": self.standard_error,
            "judged": self.judged,
            "people": self.people,
            "influence": self.influence,
            "influence_of_all": self.influence_of_all,
            **({} if self.power is None else {"power": self.power}),
            **{
                f"{at}_{key}": value
                for at, errors in simulated.items()
                if errors is not None
                for key, value in asdict(errors).items()
            },
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
            ``"l2"`` no unbiased estimate errs less. For ``"w1"``, and by the default estimate, a
            mechanism with little noise can err less, because its estimate is smoothed.
        wanted: the difference to detect, by whose number of people mechanisms are then sorted; None
            where none was named.
        by_epsilon: for a wanted difference, the fewest people at other budgets.
        has_guess: whether the shares were guessed.
    """

    COLUMNS = (
        Column("mechanism"),
        Column("unbiased", unit="number"),
        Column("default_error", "default", "number"),
        Column("guess_error", "your guess", "number"),
        Column("unbiased_people", "needs unbiased", "people"),
        Column("default_people", "needs default", "people"),
        Column("guess_people", "needs at guess", "people"),
        Column("people", "people needed", "people"),
        Column("power", "power with these people", "number"),
        Column("times", "compared with no protection", "times", 1),
        Column("influence", "a liar adds", "number", 2),
        Column("influence_of_all", "a liar changes", "number", 3),
        Column("judged", "judged by", priority=4),
        Column("default_standard_error", "standard error", "number", 4),
        Column("guess_standard_error", "standard error at your guess", "number", 5),
    )

    no_protection: RankedMechanism
    wanted: WantedDifference | None = None
    by_epsilon: tuple[BudgetRow, ...] = ()
    has_guess: bool = False

    def for_people(self, n: int, design_effect: float) -> Plan:
        """The plan of n people who tell as much as this one's, who are n / design_effect."""

        def needed(people: int | None) -> int | None:
            return None if people is None else math.ceil(people * design_effect * (1 - 1e-12))

        def default(errors: DefaultError | None) -> DefaultError | None:
            return None if errors is None else replace(errors, people=needed(errors.people))

        def of_survey(result: RankedMechanism) -> RankedMechanism:
            return replace(
                result,
                people=needed(result.people),
                default=default(result.default),
                guessed=default(result.guessed),
            )

        without = of_survey(self.no_protection)
        return replace(
            self,
            n=n,
            results=tuple(map(of_survey, self.results)),
            no_protection=without,
            settings={**self.settings, "no_protection": without.row()},
        )

    def unbiased_alone(self) -> Plan:
        """The plan without what is simulated of the usual estimate."""
        *results, without = (
            replace(result, default=None, guessed=None)
            for result in (*self.results, self.no_protection)
        )
        return replace(self, results=tuple(results), no_protection=without)

    def best_beside(self, mechanism: Mechanism) -> Plan:
        """The best mechanism and the given one alone, which may be the best."""
        given = [r for r in self.results if r.mechanism is mechanism]
        results = given if self.best in given else [self.best, *given]
        return replace(self, results=tuple(results), left_out={}, by_epsilon=())

    def _excess(self, result: RankedMechanism) -> tuple[float, float]:
        both = min(len(result.losses), len(self.best.losses))
        if both < _PAIRS:
            return super()._excess(result)
        # The same random numbers for both: what is common to their losses cancels.
        return mean_of(np.subtract(result.losses[:both], self.best.losses[:both]))

    def _table_rows(self) -> list[dict[str, Any]]:
        """The mechanisms, and no protection last."""
        least, rows = self.no_protection, []
        keys = [column.key for column in self.COLUMNS]
        for result in (*self.results, least):
            row = {**dict.fromkeys(keys), **result.row(), "times": result.error / least.error}
            if self.loss != "w1":
                row["unbiased"] = result.error
            if self.wanted is None:
                row["unbiased_people"] = None if self.loss == "w1" else row["people"]
                row["people"] = None
            if result.guessed is not None:
                row["default_people"] = None  # a guess is nearer than what is typical
            rows.append(row)
        return rows

    @property
    def legend(self) -> list[str]:
        """Which error is which, as sentences."""
        first, notes = self.best, []
        if self.loss != "w1":
            at = "as you guessed" if self.has_guess else "equal"
            notes.append(
                "Column unbiased: the error of estimates that are right on average (-m inversion), "
                f"if the shares are {at}."
            )
        if first.default is not None:
            made = (
                "with one peak, at a quarter of the range"
                if self.loss == "w1"
                else "falling as 1, 1/2, 1/3 and so on"
            )
            notes.append(
                'Column default: the error of what "warner estimate" prints, if the shares are '
                f"typical ({made})."
            )
        if first.guessed is not None:
            notes.append(
                'Column your guess: the error of what "warner estimate" prints, if the shares are '
                "as you guessed."
            )
        if first.people is not None and self.wanted is None:
            notes.append("Column needs: how many people are needed to get the error that you want.")
        return notes

    def _notes(self) -> list[str]:
        simulated = self.best.guessed or self.best.default
        if simulated is None:
            return self.legend
        off = max(1, round(200 * simulated.standard_error / simulated.error))
        without, less = self.no_protection.guessed or self.no_protection.default, ""
        if without is not None and simulated.error < without.error:
            less = (
                'An error below that of "no protection" is no mistake: "warner estimate" smooths '
                "the shares of randomised answers, and shares of open answers are not smoothed."
            )
        return [
            *self.legend,
            less,
            'Errors of "warner estimate" are simulated. The error in the first row is right to '
            f"within about {off} %.",
        ]


@dataclass(frozen=True)
class _Survey:
    """What mechanisms are judged by: see :func:`plan`."""

    domain: Domain
    typical: np.ndarray
    guess: np.ndarray | None
    n: int
    loss: str
    runs: int
    error: float | None
    wanted: WantedDifference | None

    @property
    def theta(self) -> np.ndarray:
        """Where mechanisms are ranked (K,)."""
        if self.guess is not None:
            return self.guess
        return (
            self.typical if self.loss == "w1" else np.full(self.domain.size, 1 / self.typical.size)
        )

    def ranked(self, name: str, mechanism: Mechanism | None) -> RankedMechanism:
        """The figures of one mechanism; None for no protection."""
        influence, of_all = (
            (1.0, 2.0)
            if mechanism is None
            else (max_influence(mechanism), total_influence(mechanism))
        )
        subject = self.domain if mechanism is None else mechanism
        if self.loss == "w1":
            return self.simulated(RankedMechanism(name, mechanism, 0.0, None, influence, of_all))
        error = expected_loss(subject, self.theta, self.n, self.loss)
        people, power = self.people_for_error(name, error), None
        if self.wanted is not None:
            people = self.people(subject, self.wanted)
            power = power_for_difference(
                subject, self.wanted.difference, self.n, self.theta, self.wanted.groups
            )
        return RankedMechanism(name, mechanism, error, people, influence, of_all, power=power)

    def simulated(self, result: RankedMechanism) -> RankedMechanism:
        """A mechanism with a few simulated errors at first, and with all of them then."""
        before = len(result.losses)
        runs = range(before, self.runs if before else min(_FIRST, self.runs))
        few, method = simulated_losses(self.domain, result.mechanism, self.theta, self.n, runs)
        losses = (*result.losses, *few)
        error, standard_error = mean_of(losses)
        judged = f"{method}, {len(losses)} simulated tallies"
        return replace(
            result, error=error, standard_error=standard_error, judged=judged, losses=losses
        )

    def near_the_best(self, results: list[RankedMechanism]) -> list[RankedMechanism]:
        """The results, with all runs of those that may be the best."""
        best = min(results, key=lambda r: r.error)

        def is_near(result: RankedMechanism) -> bool:
            both = min(len(result.losses), len(best.losses))
            gap = np.subtract(result.losses[:both], best.losses[:both])
            return result.error <= _NEAR * best.error or gap.mean() <= 2 * gap.std()

        return [
            self.simulated(result) if is_near(result) and len(result.losses) < self.runs else result
            for result in results
        ]

    def with_defaults(self, results: list[RankedMechanism]) -> list[RankedMechanism]:
        """The results with what the default estimate errs."""
        is_long = self.domain.size > _MOST_DEFAULTS[self.domain.answered.is_ordered]
        if self.wanted is not None or is_long:
            return results
        if self.loss == "w1":
            counted = [
                replace(result, people=self.people_for_error(result.name, result.error))
                for result in results
            ]
            if self.guess is None:
                return [replace(result, default=self._as_default(result)) for result in counted]
            return [replace(result, guessed=self._as_default(result)) for result in counted]
        typical = self._simulated_defaults(results, self.typical)
        guess: list[DefaultError | None] = [None] * len(results)
        if self.guess is not None:
            guess = self._simulated_defaults(results, self.guess)
        return [
            replace(result, default=default, guessed=guessed)
            for result, default, guessed in zip(results, typical, guess, strict=True)
        ]

    def people_for_error(self, name: str, expected: float) -> int | None:
        """How many people bring the expected loss with n people down to a wanted error."""
        if self.error is None:
            return None
        power = 1 if self.loss == "l2" else 2  # l1 and w1 fall with the root of n, l2 with n
        if math.log(self.n) + power * math.log(expected / self.error) > math.log(MAX_PEOPLE):
            rule = f"is too small: {name} would need more than {MAX_PEOPLE:.0e} people"
            remedy = "Accept a larger error (--error)"
            raise ArgumentError("error", rule, repr(self.error), remedy)
        return math.ceil(self.n * (expected / self.error) ** power * (1 - 1e-12))

    def _as_default(self, result: RankedMechanism) -> DefaultError:
        """A simulated error as one of the default estimate."""
        people = None if result.people is None else two_digits(result.people)
        return DefaultError(result.error, result.standard_error, people)

    def _simulated_defaults(
        self, results: list[RankedMechanism], theta: np.ndarray
    ) -> list[DefaultError | None]:
        """The default errors at one distribution (K,); None where they are not simulated."""
        curves: dict[bool, DefaultErrors | None] = {}
        for result in results:
            if result.mechanism is None or isinstance(result.mechanism.channel(), HashPool):
                continue  # hashed reports take a hundred times as long
            # Noise on some values alone is another noise than one on all.
            some = result.mechanism.sensitive_mask is not None
            if some not in curves:
                curves[some] = default_errors(result.mechanism, theta, self.n, self.loss)

        def expected(result: RankedMechanism) -> DefaultError | None:
            mechanism = result.mechanism
            if mechanism is not None:
                curve = curves.get(mechanism.sensitive_mask is not None)
                return None if curve is None else curve.of(mechanism, self.error)
            # The shares of the answers are their default estimate.
            unbiased = expected_loss(self.domain, theta, self.n, self.loss)
            return DefaultError(unbiased, 0.0, self.people_for_error(result.name, unbiased))

        return [expected(result) for result in results]

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
                people, name = min(needed, key=lambda row: row[0])
                yield BudgetRow(nats, name, people)


@explained
@one_thread()
def plan(
    domain: Domain,
    epsilon: float,
    n: int,
    sensitive: Iterable[Any] | None = None,
    theta: ArrayLike | None = None,
    loss: str | None = None,
    error: float | None = None,
    *,
    delta: float | None = None,
    distance: float | None = None,
    runs: int = 12,
    also: Mapping[str, Mechanism] | None = None,
    difference: float | None = None,
    groups: int = 2,
    power: float = 0.8,
) -> Plan:
    """Rank the mechanisms for one question by expected error.

    For ``"l1"`` and ``"l2"`` mechanisms are ranked by :func:`warner.theory.expected_loss`: the
    error of the unbiased estimate, in closed form. The candidates treat values as labels. Nobody
    gets that estimate unless it is asked for. So ``default`` of each result has the error of the
    estimate that :func:`warner.estimate` makes, at shares like those of a typical question, which
    fall as 1, 1/2, 1/3 and so on; and ``guessed`` that at ``theta``. It is simulated, and is mostly
    much smaller.

    For ``"w1"`` mechanisms are ranked by the default estimate: the error is a mean over simulated
    tallies, each estimated by the method that :func:`warner.estimate` recommends. This suits
    numbers and places: an estimate that moves people to a neighbouring value errs little. The
    candidates are then also the mechanisms of numbers and of places. Those whose epsilon is per
    unit of distance get the epsilon that the most distant values may spend. All mechanisms have the
    same random numbers. Each has two tallies at first; those that may be the best have ``runs``.

    Mechanisms whose reports say the same, such as randomised response and subset selection of one
    value, are compared once. The others are named in ``left_out``.

    Simulations can take a minute: ``with warner.results.progress():`` shows how far they are.

    Args:
        domain: the values that can be answered.
        epsilon: budget in nats.
        n: number of people who will answer.
        sensitive: the values to protect; None for all. Utility-optimised mechanisms are candidates
            only where this is given.
        theta: (K,) a guess of the distribution. None for the uniform distribution, and for
            ``"w1"`` for one with a peak at a quarter of the range, because smooth methods do too
            well on a uniform one.
        loss: ``"l2"``, sum of squared errors; ``"l1"``, sum of absolute errors; or ``"w1"``, the
            Wasserstein-1 distance in the unit of the values, added over the coordinates of places.
            None for ``"w1"`` of numbers and places, up to 1024 of them, and ``"l2"`` of others, as
            on the command line; ``"l2"`` for a wanted difference too.
        error: a wanted expected loss. Each result then says how many people it needs, ``people`` of
            them with the estimate that it is ranked by, and ``default.people`` with the default
            one. For ``"w1"`` this supposes that errors fall with the root of n.
        delta: the delta of an approximate guarantee, for which Gaussian is a candidate too.
        distance: the distance of two values that epsilon is for, of metric privacy; None for any
            two values.
        runs: number of simulated tallies for ``"w1"`` of mechanisms that may be the best, at least
            2.
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
    >>> ranking = plan(Integers(1, 20), 1.0, n=10_000, sensitive=[7, 8], loss="l1", error=0.1)
    >>> ranking.best.name, ranking.best.people  # with the unbiased estimate
    ('UtilityOptimizedRR', 3894)
    >>> ranking.best.default.people < 800  # with the default one, at typical shares
    True
    >>> ranking = plan(Integers(0, 1), 1.0, n=10_000, difference=0.02)
    >>> ranking.best.people, [(row.epsilon, row.people) for row in ranking.by_epsilon[2:4]]
    (91878, [(1.0, 91878), (2.0, 33822)])
    >>> from warner import Grid
    >>> plan(Grid(2, 2), 1.0, n=1000, loss="w1", runs=2).best.judged
    "ExpectationMaximization(steps='auto'), 2 simulated tallies"
    """
    require_domain(domain)
    integer("n", n, 1, MAX_PEOPLE)
    if loss is None:
        loss = loss_of(domain, difference)
    choice("loss", loss, tuple(LOSS_NAMES), LOSSES_ELSEWHERE)
    integer("runs", runs, 2)
    if error is not None:
        real("error", error, above=0)
    _check_guarantee(domain, loss, delta, distance)
    difference_wanted = _wanted_difference(difference, groups, power, error, loss)
    guess = None if theta is None else distribution("theta", theta, domain.size)
    survey = _Survey(domain, typical_shares(domain), guess, n, loss, runs, error, difference_wanted)
    on_paper = {n: partial(_given, m) for n, m in (also or {}).items() if m.is_on_paper}
    # First, because of mechanisms with one law the first is judged, with its own default estimate.
    makers = on_paper | dict(candidates(domain, sensitive, delta, distance, loss == "w1"))
    for name, mechanism in (also or {}).items():
        if name in on_paper:
            continue
        # A name that is taken is that of another variant.
        makers[f"{name}, as given" if name in makers else name] = partial(_given, mechanism)
    slow = {}
    if loss == "w1" and domain.size > _LARGEST_HASHED_SIMULATED and "LocalHashing" in makers:
        del makers["LocalHashing"]
        slow["LocalHashing"] = (
            f"its error is simulated for at most {_LARGEST_HASHED_SIMULATED} values; "
            "UnaryEncoding variant='oue' has about the same error"
        )
    if sensitive is not None:
        sensitive = list(sensitive)
        with contextlib.suppress(BudgetError):  # else values that are none are left out, unsaid
            UtilityOptimizedRR(domain, epsilon, sensitive)
    # What is wrong with the arguments of a closed form is so for all mechanisms.
    refusals = (ArgumentError,) if loss == "w1" else ()
    judged, left_out = judged_mechanisms(makers, domain, epsilon, survey.ranked, refusals)
    without = survey.ranked("no protection", None)
    if loss == "w1":
        # Twice, for the first of all runs can be another than that of the first ones.
        judged = survey.near_the_best(survey.near_the_best(judged))
        without = survey.simulated(without)
    judged.sort(
        key=lambda r: (r.people if difference_wanted and r.people else 0, to_nine_digits(r.error))
    )
    *results, without = survey.with_defaults([*judged, without])
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
        guess is not None,
        settings=settings,
    )


def judged_mechanisms(
    makers: Mapping[str, Maker],
    domain: Domain,
    epsilon: float,
    judge: Callable[[str, Mechanism], Judgement],
    refusals: tuple[type[WarnerError], ...],
) -> tuple[list[Judgement], dict[str, str]]:
    """Judgements of mechanisms, those alike judged once, and {name: reason} of the others."""
    judgements: list[Judgement] = []
    left_out: dict[str, str] = {}
    laws: dict[str, tuple[Any, ...]] = {}
    refused: tuple[type[WarnerError], ...] = (BudgetError, IdentifiabilityError, *refusals)
    for name, make in steps(makers.items(), "comparing mechanisms"):
        try:
            mechanism = make(domain, epsilon)
            if (problem := contradiction(mechanism)) is not None:
                left_out[name] = problem
                continue
            law, header = law_of(mechanism), mechanism.header
            like = [n for n, of in laws.items() if of[1] == header or is_same_law(of[0], law)]
            if not like:
                judgements.append(judge(name, mechanism))
                laws[name] = law, header
            elif laws[like[0]][1] != header:
                left_out[name] = f"it tells the same as {like[0]}"
        except ArgumentTypeError:
            continue  # a mechanism of other values
        except refused as refusal:
            left_out[name] = str(refusal)
    if not judgements:
        unexplained = message(
            "epsilon",
            "no mechanism can be made for this epsilon and these values",
            repr(epsilon),
            "Use other values",
        )
        raise BudgetError(next(iter(left_out.values()), unexplained))
    return judgements, left_out


def _wanted_difference(
    difference: float | None, groups: int, power: float, error: float | None, loss: str
) -> WantedDifference | None:
    """The difference that is to be detected, or None."""
    if difference is None:
        return None
    if error is not None:
        rule = "cannot be used together with difference"
        raise ArgumentError("error", rule, repr(error), "Leave out error or difference")
    if loss == "w1":
        rule, remedy = "needs the loss 'l1' or 'l2'", "Use loss='l2' (--loss l2)"
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
                got = f"the loss {loss!r}"
                raise ArgumentError(name, "can be used only with the loss 'w1'", got, remedy)
        return
    if not measured(domain).dimension:
        rule, remedy = "'w1' needs values that are numbers or places", "Use 'l1' or 'l2'"
        raise ArgumentError("loss", rule, type(domain).__name__, remedy)
    larger = {"Interval": "fewer bins", "Grid": "larger cells"}
    coarser = larger.get(type(domain).__name__, "fewer values")
    remedy = f"Use {coarser}, or the loss 'l2' (--loss l2)"
    integer("number of values", domain.size, 2, MOST_SIMULATED, remedy)
    if delta is not None:
        probability("delta", delta)
    if distance is not None:
        real("distance", distance, above=0)
