"""Which way of asking several attributes errs least at one total budget: randomised apart, in groups, or all together.

    RR-Independent  each attribute at epsilon / d, the product of the marginals: unbiased only where attributes are independent
    RR-Ind-Joint    the same reports, the joint distribution from the Kronecker product of the channels [P5 sec 3]
    RR-Joint        one randomised response on all combinations, at epsilon
    RR-Clusters     one on the combinations of each group, at epsilon times its share of the attributes, groups taken as independent

(RR-Clusters: Domingo-Ferrer and Soria-Comas 2022.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from warner._core.checks import (
    choice,
    distribution,
    integer,
    kind,
)
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    message,
)
from warner.channels import Channel, KroneckerChannel, lifted, summed
from warner.design.clusters import clusters_of
from warner.design.comparison import LOSSES
from warner.design.theory import inversion_squares
from warner.domains import Domain, Product
from warner.estimators import Estimator, Independent, Inversion
from warner.estimators.likelihood_data import LikelihoodData
from warner.mechanisms import RandomizedResponse
from warner.metrics.simplex import project
from warner.results.estimate import Estimate
from warner.results.marginals import subdomain
from warner.results.recommend import recommended


@dataclass(frozen=True)
class SchemeLine:
    """One way of asking and of estimating.

    Attributes:
        scheme: such as ``"RR-Joint"``.
        method: the estimator.
        groups: what is randomised together; their budgets ``epsilons`` add to the total.
        error: mean loss over the simulated tallies, and ``margin`` its standard error.
        expected: the expected loss in closed form, where there is one.
        floor: the loss that is left however many people answer: the dependence that the scheme takes for none.
    """

    scheme: str
    method: Estimator
    groups: tuple[tuple[str, ...], ...]
    epsilons: tuple[float, ...]
    error: float
    margin: float
    expected: float | None
    floor: float


@dataclass(frozen=True)
class SchemeComparison:
    """Schemes from the least error to the largest.

    Attributes:
        lines: sorted by error.
        loss, runs, n, epsilon: what was measured, how often, with how many people and what total budget.
        left_out: {scheme: why}.
    """

    lines: tuple[SchemeLine, ...]
    loss: str
    runs: int
    n: int
    epsilon: float
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def best(self) -> SchemeLine:
        return self.lines[0]

    def rows(self) -> list[dict[str, Any]]:
        """One dict per scheme and method."""
        names = ("error", "margin", "expected", "floor")
        return [
            {
                "scheme": line.scheme,
                "method": repr(line.method),
                "groups": [list(group) for group in line.groups],
                "epsilons": list(line.epsilons),
                **{name: getattr(line, name) for name in names},
            }
            for line in self.lines
        ]

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON data."""
        return {
            "loss": self.loss,
            "runs": self.runs,
            "n": self.n,
            "epsilon": self.epsilon,
            "schemes": self.rows(),
            "left_out": dict(self.left_out),
        }


def compare_schemes(
    domain: Product,
    theta: Any,
    n: int,
    epsilon: float,
    groups: Sequence[Sequence[str]] | None = None,
    loss: str = "l2",
    runs: int = 20,
    rng: np.random.Generator | None = None,
) -> SchemeComparison:
    """Rank schemes for several attributes by their error on tallies simulated from a joint distribution.

    Args:
        domain: the attributes.
        theta: (K,) their joint distribution in the domain's order, or an Estimate of it on this domain.
        n: how many people.
        epsilon: total budget in nats.
        groups: of RR-Clusters, attributes not named alone; None for those of :func:`warner.results.association.clusters_of`.
        loss: ``"l2"``, the sum of squared errors of the cells, or ``"l1"``.
        runs: how many tallies are simulated for each scheme.
        rng: None for the same ones at every call.

    Source: [P5 sec 4]; Domingo-Ferrer and Soria-Comas (2022); METHODS 3.

    >>> from warner import Integers
    >>> pair = Product(a=Integers(0, 1), b=Integers(0, 1))
    >>> found = compare_schemes(pair, [0.45, 0.05, 0.05, 0.45], n=10_000, epsilon=2.0)
    >>> found.best.scheme, found.lines[-1].scheme
    ('RR-Joint', 'RR-Independent')
    """
    if not isinstance(domain, Product):
        raise ArgumentTypeError(
            message("domain", "must be a Product, of several attributes", kind(domain))
        )
    if isinstance(theta, Estimate):
        if theta.domain != domain:
            raise ArgumentError(
                message("theta", "must be an estimate on the domain that is asked about")
            )
        theta = project(theta.probabilities)
    theta = distribution("theta", theta, domain.size)
    choice("loss", loss, ("l2", "l1"))
    integer("n", n, 1)
    integer("runs", runs, 2)
    rng = np.random.default_rng(0) if rng is None else rng
    lines: list[SchemeLine] = []
    left_out: dict[str, str] = {}
    for name, parts, methods in _schemes(domain, theta, groups):
        if len(parts) == len(domain.shape) and name == "RR-Clusters":
            left_out[name] = "every group is one attribute, which is RR-Independent"
            continue
        if len(parts) == 1 and name == "RR-Clusters":
            left_out[name] = "the only group is all attributes, which is RR-Joint"
            continue
        try:
            lines += _measured(name, domain, theta, n, epsilon, parts, methods, loss, runs, rng)
        except BudgetError as problem:
            left_out[name] = str(problem)
    if not lines:
        raise BudgetError(
            message(
                "epsilon",
                "suits no scheme on this domain",
                repr(epsilon),
                next(iter(left_out.values())),
            )
        )
    return SchemeComparison(
        tuple(sorted(lines, key=lambda line: float(f"{line.error:.9g}"))),
        loss,
        runs,
        n,
        epsilon,
        left_out,
    )


def _schemes(
    domain: Product, theta: np.ndarray, groups: Sequence[Sequence[str]] | None
) -> Iterator[tuple[str, list[list[int]], list[Estimator]]]:
    """Name, groups as places of attributes, and methods of each scheme; the methods of one see the same reports."""
    apart = [[axis] for axis in range(len(domain.shape))]
    joint: list[Estimator] = list(
        dict.fromkeys([Inversion(), Inversion("project"), recommended(domain)])
    )
    yield "RR-Ind-Joint", apart, [*joint, Independent(method=Inversion())]
    yield "RR-Joint", [list(range(len(domain.shape)))], joint
    together = Independent(clusters_of(domain, theta) if groups is None else groups).places(domain)
    yield "RR-Clusters", together, [Independent(method=Inversion()), Independent()]


def _measured(
    name: str,
    domain: Product,
    theta: np.ndarray,
    n: int,
    epsilon: float,
    parts: list[list[int]],
    methods: list[Estimator],
    loss: str,
    runs: int,
    rng: np.random.Generator,
) -> list[SchemeLine]:
    """The lines of one scheme: attributes of each part randomised together, parts apart."""
    shape, names = domain.shape, list(domain.attributes)
    axes = [axis for part in parts for axis in part]
    own = [subdomain(domain, part) for part in parts]
    budgets = [epsilon * len(part) / len(axes) for part in parts]
    mechanisms = [
        RandomizedResponse(each, budget) for each, budget in zip(own, budgets, strict=True)
    ]
    channel: Channel = (
        mechanisms[0].channel()
        if len(parts) == 1
        else KroneckerChannel([m.channel() for m in mechanisms])
    )
    # Parts follow each other: a Product of parts, its cells in the order of their attributes.
    asked: Domain = (
        domain
        if len(parts) in (1, len(shape))
        else Product(**{f"part {i}": each for i, each in enumerate(own)})
    )
    truth = summed(theta, shape, axes)
    even = np.prod([lifted(summed(theta, shape, part), shape, part) for part in parts], axis=0)
    drawn = [
        LikelihoodData(channel, channel.simulate(truth, n, rng), n, asked) for _ in range(runs)
    ]
    sizes, realised = [each.size for each in own], [float(m.epsilon) for m in mechanisms]
    lines = []
    for method in methods:
        errors = np.array([LOSSES[loss][1](method.fit(each).shares, truth) for each in drawn])
        blind = isinstance(method, Independent)
        exact = (
            inversion_squares(sizes, realised, n, float(theta @ theta))
            if loss == "l2" and method == Inversion()
            else None
        )
        lines.append(
            SchemeLine(
                "RR-Independent" if blind and prod(len(part) for part in parts) == 1 else name,
                method,
                tuple(tuple(names[axis] for axis in part) for part in parts),
                tuple(realised),
                float(errors.mean()),
                float(errors.std(ddof=1) / np.sqrt(runs)),
                exact,
                LOSSES[loss][1](even, theta) if blind else 0.0,
            )
        )
    return lines
