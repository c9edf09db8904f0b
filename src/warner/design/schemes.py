"""Which way of asking several attributes errs least at one total budget.

    RR-Independent  each attribute at epsilon / d; the product of the marginals. It is unbiased
                    only where attributes are independent
    RR-Ind-Joint    the same reports; the joint distribution by the Kronecker product of the
                    channels [P5 sec 3]
    RR-Joint        one randomised response on all combinations of values, at epsilon
    RR-Clusters     one randomised response on the combinations of each group of attributes, at
                    epsilon times the group's share of the attributes; the product over groups
    One question each
                    each person answers one attribute, drawn by chance, at epsilon; the product of
                    the marginals
    One pair each   each person answers one pair as one value, at epsilon; a table raked to the
                    pairs' tables

RR-Clusters is by Domingo-Ferrer and Soria-Comas (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from warner import metrics
from warner._core.checks import (
    choice,
    confidence_level,
    distribution,
    integer,
    kind,
    real,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
)
from warner._core.names import LOSSES_ELSEWHERE
from warner._core.progress import steps
from warner._core.table import Column
from warner.channels import KroneckerChannel, LiftedChannel, lifted, stacked, summed
from warner.design.default_errors import mean_of
from warner.design.ranking import Ranking, to_nine_digits
from warner.domains import Domain, Product
from warner.estimators import Estimator, Independent, Inversion, RakedJoint
from warner.estimators.base import LikelihoodData
from warner.estimators.raked_tables import margins, raked
from warner.mechanisms import OneOf, RandomizedResponse, from_header
from warner.mechanisms.one_of import best_mechanism, variance_of_tables
from warner.metrics import cramers_v as plain, project
from warner.reports.tally import Tally
from warner.results.association import cramers_v
from warner.results.from_tally import likelihood_data
from warner.results.recommend import recommended
from warner.results.solution import Solution, attribute_names, subdomain
from warner.results.wald_tests import independence
from warner.theory.inversion import LOSSES, inversion_squares


def clusters(
    subject: Solution | LikelihoodData | Tally,
    threshold: float = 0.1,
    largest: int = 100,
    level: float = 0.95,
) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes that depend on each other, for RR-Clusters, from a pilot study.

    The pairs of attributes are taken in the order of Cramer's V, the largest first. A pair with V
    of at least ``threshold`` merges the groups of its two attributes, if the values of the merged
    group have at most ``largest`` combinations, and if :func:`warner.results.independence` of both
    is refuted: p is at most (1 - ``level``) divided by the number of pairs that could be merged.
    The groups must be known before people randomise.

    Args:
        subject: an estimate or its data, on a Product; or a tally of PerAttribute that keeps pairs.
        threshold: the least V, in [0, 1].
        largest: the most combinations of values in a group.
        level: the probability, in [0.5, 1), that no two attributes are merged where all are
            independent, whatever their number.

    Returns:
        The names in each group, in the order of the domain.

    Raises:
        ArgumentError: a threshold outside [0, 1], a level outside [0.5, 1), or data that do not
            determine Cramer's V.
        ArgumentTypeError: a domain that is not a Product.

    Source: Domingo-Ferrer and Soria-Comas (2022), algorithm 1; METHODS 3.
    """
    data = subject.data if isinstance(subject, Solution) else subject
    if isinstance(data, Tally):
        domains = from_header(data.header).attribute_domains
        names, shape = list(domains), tuple(domain.size for domain in domains.values())
    else:
        names, shape = attribute_names(data.domain), data.domain.shape
    if not names:
        rule = "must be reports of several questions (a Product)"
        remedy = "Make a tally with PerAttribute, or count a study with: warner tally --ways 2"
        raise ArgumentTypeError("subject", rule, None, remedy)

    alpha = 1 - confidence_level(level)
    pairs = sum(x * y <= largest for x, y in combinations(shape, 2))

    def dependence(i: int, j: int) -> float:
        """V, or -1 where both could not be merged or may be independent."""
        if shape[i] * shape[j] > largest:
            return -1.0
        pair = [names[i], names[j]]
        reports = likelihood_data(data, pair) if isinstance(data, Tally) else data
        v = cramers_v(reports, *pair)
        refuted = v >= threshold and independence(reports, *pair).p_value <= alpha / pairs
        return v if refuted else -1.0

    return grouped(names, shape, dependence, threshold, largest)


def clusters_of(
    domain: Product, theta: Any, threshold: float = 0.1, largest: int = 100
) -> tuple[tuple[str, ...], ...]:
    """The groups that :func:`clusters` forms, for a known joint distribution theta (K,).

    >>> from warner import Categorical
    >>> coin = Categorical(["heads", "tails"])
    >>> clusters_of(Product(a=coin, b=coin, c=coin), np.repeat([0.25, 0, 0, 0.25], 2))
    (('a', 'b'), ('c',))
    """
    shape = domain.shape
    table = np.asarray(theta, dtype=np.float64)

    def dependence(i: int, j: int) -> float:
        return plain(summed(table, shape, [i, j]).reshape(shape[i], shape[j]))

    return grouped(list(domain.attributes), shape, dependence, threshold, largest)


def grouped(
    names: list[str],
    sizes: tuple[int, ...],
    dependence: Callable[[int, int], float],
    threshold: float,
    largest: int,
) -> tuple[tuple[str, ...], ...]:
    """Groups of attributes that are merged pair by pair, the strongest dependence first."""
    real("threshold", threshold, least=0, most=1)
    integer("largest", largest, 1)
    places = [(i, j) for i in range(len(names)) for j in range(i)]
    pairs = [(dependence(i, j), i, j) for i, j in steps(places, "comparing pairs of attributes")]
    group = list(range(len(names)))
    for strength, i, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        merged = [k for k in range(len(names)) if group[k] in (group[i], group[j])]
        if (
            strength >= threshold
            and group[i] != group[j]
            and prod(sizes[k] for k in merged) <= largest
        ):
            for k in merged:
                group[k] = min(merged)
    return tuple(
        tuple(names[k] for k in range(len(names)) if group[k] == head)
        for head in sorted(set(group))
    )


def gain_of_one(domains: Sequence[Domain], epsilons: Sequence[float]) -> float:
    """How many times the squared error of all shares falls where each person is asked one question.

        sum_a V_a(epsilon / d)  /  (d sum_a V_a(epsilon_a)),     epsilon = max_a epsilon_a

    V_a(e) is the variance of one report at e, by randomised response or subset selection, summed
    over the values of question a where all are equally frequent. Each of d questions is asked of
    one person in d. Source: METHODS 3.

    >>> from warner import Categorical
    >>> round(gain_of_one([Categorical(["no", "yes"])] * 10, [1.0] * 10), 1)
    8.6
    """

    def variance(domain: Domain, epsilon: float) -> float:
        return variance_of_tables(best_mechanism(domain, epsilon).channel(), [domain.size])

    each, d = max(epsilons) / len(domains), len(domains)
    alone = sum(variance(of, epsilon) for of, epsilon in zip(domains, epsilons, strict=True))
    return sum(variance(domain, each) for domain in domains) / (d * alone)


# -----------------------------------------------------------------------------------------------
# Which way of asking several attributes errs least at one total budget.


@dataclass(frozen=True)
class RankedScheme:
    """One way of asking, with one estimator.

    Attributes:
        scheme: such as ``"RR-Joint"``.
        method: the estimator.
        groups: the groups of attributes that are randomised together.
        epsilons: the budget of each group in nats. Together they are the total, or each is, where a
            person answers one group.
        error: mean loss over the simulated tallies.
        standard_error: standard error of that mean.
        expected: the expected loss in closed form, where there is one; else None.
        floor: the part of the loss that does not vanish as n grows, because the scheme treats
            dependent attributes as independent, or sees pairs alone.
    """

    scheme: str
    method: Estimator
    groups: tuple[tuple[str, ...], ...]
    epsilons: tuple[float, ...]
    error: float
    standard_error: float
    expected: float | None
    floor: float

    def row(self) -> dict[str, Any]:
        """The result as a dict: the attributes, with the method by its name."""
        return {
            **vars(self),
            "method": repr(self.method),
            "groups": [list(group) for group in self.groups],
            "epsilons": list(self.epsilons),
        }


@dataclass(frozen=True, repr=False)
class SchemeComparison(Ranking[RankedScheme]):
    """Schemes from the least error to the largest.

    Attributes:
        results, loss, n, left_out: see :class:`warner.design.ranking.Ranking`.
        runs: number of simulated tallies for each scheme.
        epsilon: total budget in nats.
    """

    COLUMNS = (
        Column("scheme"),
        Column("method"),
        Column("error", unit="number"),
        Column("standard_error", "standard error", "number"),
        Column("expected", "in closed form", "number", 2),
        Column("floor", "does not vanish", "number", 1),
        Column("groups", priority=3),
    )

    runs: int
    epsilon: float


@dataclass(frozen=True)
class _Scheme:
    """A scheme before it is tried: ``groups`` are places of attributes in the domain."""

    name: str
    groups: list[list[int]]
    methods: list[Estimator]
    is_drawn: bool = False  # whether each person answers one of the groups


@dataclass(frozen=True)
class _Trial:
    """What all schemes are tried on: see :func:`compare_schemes`."""

    domain: Product
    epsilon: float
    n: int
    theta: np.ndarray
    loss: str
    runs: int

    @property
    def distance(self) -> Callable[[ArrayLike, ArrayLike], float]:
        """The loss of estimated shares."""
        return metrics.l1 if self.loss == "l1" else metrics.sum_of_squares


def compare_schemes(
    domain: Product,
    epsilon: float,
    n: int,
    theta: ArrayLike | Solution,
    groups: Sequence[Sequence[str]] | None = None,
    loss: str = "l2",
    runs: int = 20,
    rng: np.random.Generator | None = None,
) -> SchemeComparison:
    """Rank the schemes for several attributes by their error on simulated tallies.

    The schemes are RR-Independent, RR-Ind-Joint, RR-Joint, RR-Clusters, and one question or one
    pair of questions for each person, see :mod:`warner.design.schemes`. For every scheme, tallies
    of n people are simulated from the joint distribution theta.

    Args:
        domain: the attributes.
        epsilon: total budget in nats.
        n: number of people.
        theta: (K,) the joint distribution in the domain's order, or an estimate of it.
        groups: the groups of RR-Clusters; an attribute that is not named is a group of its own.
            None for the groups of :func:`warner.design.schemes.clusters_of`.
        loss: ``"l2"``, sum of squared errors of the cells, or ``"l1"``, sum of absolute errors.
        runs: number of simulated tallies for each scheme, at least 2.
        rng: the source of the simulated tallies; None for the same tallies at every call.

    Returns:
        SchemeComparison: schemes and estimators from the least error to the largest.

    Raises:
        ArgumentTypeError: the domain is not a Product.
        BudgetError: no scheme can be made with this budget.

    Source: [P5 sec 4]; Domingo-Ferrer and Soria-Comas (2022); METHODS 3.

    >>> from warner import Integers, Product
    >>> pair = Product(a=Integers(0, 1), b=Integers(0, 1))
    >>> ranking = compare_schemes(pair, 2.0, n=10_000, theta=[0.45, 0.05, 0.05, 0.45])
    >>> ranking.best.scheme, ranking.left_out["One pair each"]
    ('RR-Joint', 'there is only one pair, which is the same as RR-Joint')
    """
    if not isinstance(domain, Product):
        raise ArgumentTypeError("domain", "must be a Product of several questions", kind(domain))
    if isinstance(theta, Solution):
        if theta.domain != domain:
            rule = "must be an estimate of the questions in domain, with the same values"
            raise ArgumentError("theta", rule)
        theta = project(theta.probabilities)
    shares = distribution("theta", theta, domain.size)
    choice("loss", loss, LOSSES, LOSSES_ELSEWHERE)
    integer("n", n, 1)
    integer("runs", runs, 2)
    rng = np.random.default_rng(0) if rng is None else rng
    trial = _Trial(domain, epsilon, n, shares, loss, runs)
    results: list[RankedScheme] = []
    left_out: dict[str, str] = {}
    refusals: list[BudgetError] = []
    for scheme in steps(list(_schemes(domain, shares, groups)), "trying schemes"):
        if scheme.name == "RR-Clusters" and len(scheme.groups) in (1, len(domain.shape)):
            is_joint = len(scheme.groups) == 1 < len(domain.shape)
            left_out[scheme.name] = (
                "all questions are in one group, which is the same as RR-Joint"
                if is_joint
                else "each group has one question, which is the same as RR-Independent"
            )
            continue
        if scheme.is_drawn and len(scheme.groups) == 1:
            left_out[scheme.name] = "there is only one pair, which is the same as RR-Joint"
            continue
        try:
            results += (_drawn if scheme.is_drawn else _tried)(scheme, trial, rng)
        except BudgetError as problem:
            refusals.append(problem)
            left_out[scheme.name] = str(problem)
    if not results:
        raise refusals[0]
    results.sort(key=lambda result: to_nine_digits(result.error))
    settings = {"runs": runs, "epsilon": epsilon}
    return SchemeComparison(tuple(results), loss, n, left_out, runs, epsilon, settings=settings)


def _schemes(
    domain: Product, theta: np.ndarray, groups: Sequence[Sequence[str]] | None
) -> Iterator[_Scheme]:
    """The schemes to try. All estimators of one scheme get the same reports."""
    alone = [[axis] for axis in range(len(domain.shape))]
    joint: list[Estimator] = list(
        dict.fromkeys([Inversion(), Inversion("project"), recommended(domain)])
    )
    yield _Scheme("RR-Ind-Joint", alone, [*joint, Independent(method=Inversion())])
    yield _Scheme("RR-Joint", [list(range(len(domain.shape)))], joint)
    clustered = Independent(clusters_of(domain, theta) if groups is None else groups)
    products: list[Estimator] = [Independent(method=Inversion()), Independent()]
    yield _Scheme("RR-Clusters", clustered.places(domain), products)
    if len(domain.shape) > 1:
        pairs = [list(pair) for pair in combinations(range(len(domain.shape)), 2)]
        yield _Scheme("One question each", alone, [Independent()], True)
        yield _Scheme("One pair each", pairs, [RakedJoint()], True)


def _drawn(scheme: _Scheme, trial: _Trial, rng: np.random.Generator) -> Iterator[RankedScheme]:
    """The results of a scheme in which each person answers one group, with the whole budget."""
    domain, theta = trial.domain, trial.theta
    shape, names = domain.shape, list(domain.attributes)
    groups = tuple(tuple(names[axis] for axis in group) for group in scheme.groups)
    mechanism = OneOf(domain, trial.epsilon, groups)
    of_blocks = zip(scheme.groups, mechanism.parts.values(), strict=True)
    channels = [LiftedChannel(inner.channel(), shape, group) for group, inner in of_blocks]
    simulated = []
    for _ in range(trial.runs):
        people = rng.multinomial(trial.n, np.array(mechanism.odds) / 2.0**64)
        used = [(c, n) for c, n in zip(channels, people.tolist(), strict=True) if n]
        channel = stacked([c for c, _ in used], [n for _, n in used])
        weights = channel.stack([c.simulate(theta, n, rng) for c, n in used])
        simulated.append(LikelihoodData(channel, weights, trial.n, domain))
    known_margins = margins(theta.reshape(shape), [tuple(group) for group in scheme.groups])
    limit = raked(np.full(shape, 1 / domain.size), known_margins).ravel()
    epsilons = (mechanism.epsilon,) * len(groups)
    bias = trial.distance(limit, theta)
    for method, mean, error in _errors(scheme, trial, simulated, theta):
        yield RankedScheme(scheme.name, method, groups, epsilons, mean, error, None, bias)


def _tried(scheme: _Scheme, trial: _Trial, rng: np.random.Generator) -> Iterator[RankedScheme]:
    """The results of one scheme: each group randomised together, groups apart."""
    domain, theta, n = trial.domain, trial.theta, trial.n
    shape, names = domain.shape, list(domain.attributes)
    axes = [axis for group in scheme.groups for axis in group]
    domains = [subdomain(domain, group) for group in scheme.groups]
    mechanisms = [
        RandomizedResponse(each, trial.epsilon * len(group) / len(axes))
        for each, group in zip(domains, scheme.groups, strict=True)
    ]
    channels = [mechanism.channel() for mechanism in mechanisms]
    channel = channels[0] if len(channels) == 1 else KroneckerChannel(channels)
    truth = summed(theta, shape, axes)
    domain_of_groups: Domain = domain
    if len(domains) not in (1, len(shape)):
        # The cells are in the order of the groups' attributes.
        domain_of_groups = Product(**{f"part {i}": each for i, each in enumerate(domains)})
    simulated = [
        LikelihoodData(channel, channel.simulate(truth, n, rng), n, domain_of_groups)
        for _ in range(trial.runs)
    ]
    epsilons = [float(mechanism.epsilon) for mechanism in mechanisms]
    independent = np.prod(
        [lifted(summed(theta, shape, group), shape, group) for group in scheme.groups], axis=0
    )
    for method, mean, error in _errors(scheme, trial, simulated, truth):
        is_product = isinstance(method, Independent)
        expected = None
        if trial.loss == "l2" and method == Inversion():
            sizes = [each.size for each in domains]
            expected = inversion_squares(sizes, epsilons, n, float(theta @ theta))
        is_marginal = is_product and all(len(group) == 1 for group in scheme.groups)
        yield RankedScheme(
            "RR-Independent" if is_marginal else scheme.name,
            method,
            tuple(tuple(names[axis] for axis in group) for group in scheme.groups),
            tuple(epsilons),
            mean,
            error,
            expected,
            trial.distance(independent, theta) if is_product else 0.0,
        )


def _errors(
    scheme: _Scheme, trial: _Trial, simulated: Sequence[LikelihoodData], truth: np.ndarray
) -> Iterator[tuple[Estimator, float, float]]:
    """The methods of a scheme, each with its mean error over tallies, and its standard error."""
    for method in scheme.methods:
        tried = steps(simulated, "estimating")
        yield method, *mean_of([trial.distance(method.fit(data).shares, truth) for data in tried])
