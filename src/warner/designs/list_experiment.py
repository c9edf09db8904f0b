r"""List experiments: the item count technique, which hides an item among others.

People of a control group say how many of J items hold for them, and those of a treatment group get
one more item, the sensitive one. With Y the number of the J items and Z whether the sensitive item
holds, a control reports Y and a treated person Y + Z. So the share of Z is a difference of means:

    Pr(Z = 1) = E(report | treated) - E(report | control)

It is unbiased if nobody's Y depends on the list, and nobody lies. A likelihood with a law of Y errs
less, and can say more: that some of those to whom all items hold, or none but the sensitive one,
hide it [Blair and Imai 2012]. Its law here is

    Y ~ Binomial(J, h), or beta-binomial with the mean J h and the correlation rho of two items

Source: Miller (1984); Imai (2011); Blair and Imai (2012); METHODS 10.11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from warner._core.checks import choice, confidence_level, integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError, EmptyError
from warner._core.extras import scipy
from warner._core.names import Hinting
from warner._core.references import bibtex_of
from warner._core.table import Column, Table, Tabular
from warner.channels import FloatArray, IntArray
from warner.designs.latent_classes import EstimatedShare, counts_in_words, share_rows, shares_table
from warner.results.intervals import normal_quantile
from warner.results.likelihood_limits import last_not_rejected

METHODS = ("difference", "binomial", "beta-binomial")
_MOST_ITEMS = 12
_LARGEST = 30.0  # log-odds
_STEP = 1e-30  # of a derivative along the imaginary axis
_APART = 1e-5  # of two gradients, for their difference
_SMALL_GRADIENT, _MOST_STEPS = 1e-6, 300
_STARTS = (None, -2.0, 2.0)  # log-odds of the sensitive item; None for those of the difference


class ListExperiment(Hinting):
    """A list experiment with J control items and one sensitive item.

    Args:
        items: J, the number of items that both groups see.

    Raises:
        ArgumentError: fewer than 1 item or more than 12.

    Nothing but the list protects an answer: a treated person who reports 0 or J + 1 says whether
    the sensitive item holds. Choose items so that hardly anybody has all of them or none.

    >>> design = ListExperiment(3)
    >>> control, treated = {0: 8, 1: 132, 2: 222, 3: 227}, {0: 19, 1: 123, 2: 229, 3: 219, 4: 34}
    >>> result = design.estimate([control, treated])
    >>> round(result["yes"], 4), round(result["yes"].error, 4)
    (0.0678, 0.0496)
    >>> design.estimate([control, treated], "binomial")["yes"].interval().round(3)
    array([0.108, 0.211])
    """

    references: ClassVar[tuple[str, ...]] = ("miller1984", "imai2011", "blair2012")

    def __init__(self, items: int) -> None:
        self.items = integer("items", items, 1, _MOST_ITEMS)

    def __repr__(self) -> str:
        return f"ListExperiment({self.items})"

    def bibtex(self) -> str:
        """The sources of the method, and the package itself, as BibTeX entries."""
        return bibtex_of(self.references)

    def counts(self, counts: Sequence[Mapping[Any, int]]) -> tuple[FloatArray, FloatArray]:
        """The counts (J + 1,) of the control group and (J + 2,) of the treated group."""
        if isinstance(counts, Mapping | str) or not isinstance(counts, Sequence):
            rule = "must be a list of two dicts, for the control group and for the treated group"
            raise ArgumentTypeError("counts", rule, kind(counts), "Write [{0: 10, ...}, {0: ...}]")
        if len(counts) != 2:
            rule = "must have two groups, first the control group and then the treated group"
            raise ArgumentError("counts", rule, str(len(counts)), "Write [{0: 10, ...}, {0: ...}]")
        sizes = (self.items + 1, self.items + 2)
        names = ("control", "treated")
        each = [
            counts_in_words(f"counts of the {name} group", one, [str(y) for y in range(size)])
            for name, one, size in zip(names, counts, sizes, strict=True)
        ]
        for name, of_group in zip(names, each, strict=True):
            if of_group.sum() < 2:
                rule = "must have at least two people"
                raise EmptyError(f"{name} group", rule, f"{of_group.sum():.0f}")
        return each[0], each[1]

    def estimate(
        self,
        counts: Sequence[Mapping[Any, int]],
        method: str = "difference",
        *,
        same: bool = True,
        floor: bool = False,
        ceiling: bool = False,
    ) -> ListShares:
        """The share of people to whom the sensitive item holds.

        Args:
            counts: ``[{number of items: people}, ...]`` of the control group and of the treated
                group.
            method: ``"difference"`` of the two means, which needs no law of the items;
                ``"binomial"`` or ``"beta-binomial"`` for the maximum of the likelihood with that
                law.
            same: whether the law of the items is the same for those with and without the sensitive
                item (R's ``constrained``). Of the likelihood alone, as the two others are.
            floor: whether some people hide that the sensitive item, and no other, holds: they
                report 0.
            ceiling: whether some people hide that all items hold: they report J.

        Returns:
            ListShares: ``result["yes"]`` is the share, a float with ``error`` and ``interval()``.

        Raises:
            ArgumentError: counts of other numbers of items, or options that do not go together.
            EmptyError: fewer than two people in a group.
        """
        both = self.counts(counts)
        if choice("method", method, METHODS) == "difference":
            for name, given in (("floor", floor), ("ceiling", ceiling), ("same=False", not same)):
                if given:
                    rule = "can be computed only with method='binomial' or method='beta-binomial'"
                    raise ArgumentError(name, rule)
            return ListShares(self, both, method, None)
        count = np.concatenate([np.arange(len(c)) for c in both])
        treated = np.repeat([False, True], [len(c) for c in both])
        people = np.concatenate(both)
        model = ListModel(
            self.items,
            count,
            treated,
            np.ones((count.size, 1)),
            people,
            spread=method == "beta-binomial",
            same=same,
            floor=floor,
            ceiling=ceiling,
        )
        return ListShares(self, both, method, model.maximum())

    def design_effect(
        self, counts: Sequence[Mapping[Any, int]], select: bool = True
    ) -> DesignEffect:
        """Test whether the list with the sensitive item changes the answers to the others.

        Without such an effect the shares of people with y other items and z of the sensitive item,

            pi_y1 = Pr(report <= y | control) - Pr(report <= y | treated)
            pi_y0 = Pr(report <= y | treated) - Pr(report <= y - 1 | control)

        are not negative. For z = 1 and z = 0 the distance of their estimates from all shares that
        are not negative, n min (p - pi)' S^-1 (p - pi), is a mixture of chi-squares if all shares
        are 0, which is the worst case. The smaller p-value of the two is doubled.

        Args:
            counts: as for :meth:`estimate`.
            select: whether shares that are surely positive are left out, which makes the test more
                powerful: those beyond sqrt(log n) standard errors [Andrews and Soares 2010]. R's
                ``ict.test`` compares with the spread of the estimates in place of their errors, and
                so leaves out more.

        Returns:
            DesignEffect: ``p``, and the table of the shares.

        Source: Blair and Imai (2012), sec. 3.

        >>> counts = [{0: 147, 1: 312, 2: 236, 3: 71}, {0: 241, 1: 201, 2: 169, 3: 102, 4: 21}]
        >>> ListExperiment(3).design_effect(counts).p < 1e-7
        True
        """
        return DesignEffect.of(self, self.counts(counts), select)


@dataclass(frozen=True, eq=False)
class ListShares(Tabular):
    """The estimates of a list experiment.

    ``result["yes"]`` is the share of people to whom the sensitive item holds. Of a likelihood there
    are also ``"items"``, the mean share of the control items that hold, or ``"items of yes"`` and
    ``"items of no"``, and ``"floor"``, ``"ceiling"`` and ``"correlation"`` where they were asked
    for.

    Attributes:
        design: the list experiment.
        counts: the counts of the control group and of the treated group.
        method: ``"difference"``, ``"binomial"`` or ``"beta-binomial"``.
        maximum: the maximum of the likelihood; None of the difference.
    """

    design: ListExperiment
    counts: tuple[FloatArray, FloatArray] = field(repr=False)
    method: str
    maximum: ListMaximum | None = field(repr=False)

    @property
    def n(self) -> int:
        """The number of people in both groups."""
        return round(float(self.counts[0].sum() + self.counts[1].sum()))

    @property
    def difference(self) -> float:
        """The difference of the two means, which may lie outside [0, 1]."""
        control, treated = (float(c @ np.arange(len(c)) / c.sum()) for c in self.counts)
        return treated - control

    @property
    def error_of_difference(self) -> float:
        """The standard error of the difference, from the unbiased variances of both groups."""
        total = 0.0
        for c in self.counts:
            y, n = np.arange(len(c)), float(c.sum())
            total += float(c @ (y - c @ y / n) ** 2) / (n - 1) / n
        return float(np.sqrt(total))

    @property
    def log_likelihood(self) -> float | None:
        """The log-likelihood in nats, without multinomial constants; None of the difference."""
        return None if self.maximum is None else self.maximum.value

    @cached_property
    def _meanings(self) -> dict[str, str]:
        """What each share is."""
        item = "the sensitive item is true"
        meanings = {"yes": item}
        if self.maximum is None:
            return meanings
        if self.maximum.model.same:
            meanings["items"] = "how often a control item is true, on average"
        else:
            meanings["items of no"] = (
                "how often a control item is true if the sensitive item is false"
            )
            meanings["items of yes"] = (
                "how often a control item is true if the sensitive item is true"
            )
        texts = {
            "floor": "how many people say 0 although the sensitive item alone is true",
            "ceiling": "how many people leave one item out although all items are true",
            "correlation": "between two control items",
        }
        return meanings | {name: texts[name] for name in self.maximum.model.numbers}

    def __iter__(self) -> Any:
        return iter(self._meanings)

    def __getitem__(self, name: str) -> EstimatedShare:
        choice("share", name, tuple(self._meanings))
        if self.maximum is None:
            limits = partial(_around, self.difference, self.error_of_difference)
            share = min(max(self.difference, 0.0), 1.0)
            return EstimatedShare(share, self.error_of_difference, limits)
        return self.maximum.share(list(self._meanings).index(name))

    def rows(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The shares as a table: see :meth:`warner.designs.ClassShares.rows`.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        return share_rows(self, self._meanings, level)

    def table(self, level: float = 0.95) -> Table:
        """The shares as a table for people, pages and files.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        method = "difference of the means" if self.maximum is None else f"{self.method} model"
        control, treated = (f"{c.sum():,.0f}" for c in self.counts)
        title = (
            f"List of {self.design.items} + 1 items, {control} people in the control group and "
            f"{treated} in the treated group"
        )
        notes = [f"Method: {method}.", f"Test of the list: {self.design_effect.text}"]
        return shares_table(self.rows(level), level, notes, title)

    @property
    def design_effect(self) -> DesignEffect:
        """The test of :meth:`ListExperiment.design_effect` of these counts."""
        return DesignEffect.of(self.design, self.counts, True)

    def to_json(self, level: float = 0.95) -> dict[str, Any]:
        """The shares as JSON data.

        Args:
            level: coverage of the intervals, in [0.5, 1).
        """
        interval = "wald" if self.maximum is None else "likelihood_ratio"
        return {
            "format": "warner-list",
            "schema": 1,
            "design": repr(self.design),
            "method": self.method,
            "n": self.n,
            "groups": [int(c.sum()) for c in self.counts],
            "log_likelihood": self.log_likelihood,
            "design_effect": {"p": self.design_effect.p},
            "interval": {"kind": interval, "level": confidence_level(level)},
            "shares": self.rows(level),
        }


def _around(centre: float, error: float, level: float) -> FloatArray:
    """Wald limits (2,), around the nearest share that is possible."""
    half = normal_quantile(level) * error
    middle = min(max(centre, 0.0), 1.0)
    return np.asarray(np.clip([middle - half, middle + half], 0.0, 1.0))


# -----------------------------------------------------------------------------------------------
# The likelihood.


def _expit(logs: Any) -> Any:
    return 1 / (1 + np.exp(-logs))


def _logit(share: float) -> float:
    inside = min(max(share, 1e-13), 1 - 1e-13)
    return float(np.log(inside / (1 - inside)))


@dataclass(frozen=True, eq=False)
class ListModel:
    """The likelihood of a list experiment, whose shares are logistic in covariates.

        Pr(Z = 1 | z) = expit(beta z),   h(z) = expit(gamma z)

    Attributes:
        items: J.
        count: (r,) the numbers that were reported.
        treated: (r,) whether each is of a treated person.
        covariates: (r, p).
        people: (r,) how many people each row has.
        spread: whether items are correlated, so that their number is beta-binomial.
        same: whether gamma is the same for both Z.
        floor, ceiling: whether some treated people report 0 for 1, or J for J + 1.
    """

    items: int
    count: IntArray
    treated: np.ndarray
    covariates: FloatArray
    people: FloatArray
    spread: bool = False
    same: bool = True
    floor: bool = False
    ceiling: bool = False

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the single numbers after beta and gamma, whose log-odds are estimated."""
        given = {"floor": self.floor, "ceiling": self.ceiling, "correlation": self.spread}
        return tuple(name for name, is_there in given.items() if is_there)

    @property
    def equations(self) -> int:
        """The number of equations in the covariates."""
        return 2 if self.same else 3

    def predictors(self, parameters: FloatArray) -> list[Any]:
        """The log-odds of the equations, (r,) each, and of the single numbers."""
        width = self.covariates.shape[1]
        # Beyond, an exponential is rounding alone.
        parameters = np.clip(parameters, -_LARGEST, _LARGEST)
        coefficients = parameters[: self.equations * width].reshape(self.equations, width)
        equations = [np.clip(self.covariates @ c, -_LARGEST, _LARGEST) for c in coefficients]
        return [*equations, *parameters[self.equations * width :]]

    def chances(self, predictors: Sequence[Any]) -> Any:
        """The chance (r,) of each report; complex where the log-odds are."""
        shares = [_expit(each) for each in predictors]
        numbers = dict(zip(self.numbers, shares[self.equations :], strict=True))
        rho = numbers.get("correlation", 0.0)
        carries, y, most = shares[0], self.count, self.items
        without = self._law(shares[1], rho)
        carrying = without if self.same else self._law(shares[2], rho)
        control = carries * carrying[0] + (1 - carries) * without[0]
        hides_first, hides_last = numbers.get("floor", 0.0), numbers.get("ceiling", 0.0)
        shown = 1 - hides_first * (y == 1) - hides_last * (y == most + 1)
        hidden = hides_first * (y == 0) + hides_last * (y == most)
        one_more = carries * (carrying[1] * shown + carrying[0] * hidden)
        return np.where(self.treated, one_more + (1 - carries) * without[0], control)

    def _law(self, h: Any, rho: Any) -> tuple[Any, Any]:
        """The chances (r,) of as many items as were reported, and of one less."""
        # Polya's urn: prod_{i<y} (h (1 - rho) + i rho) prod_{i<J-y} ((1 - h) (1 - rho) + i rho),
        # over prod_{i<J} (1 - rho + i rho); the binomial law at rho = 0.
        steps = np.arange(self.items)
        drawn = [h * (1 - rho) + i * rho for i in steps]
        left = [(1 - h) * (1 - rho) + i * rho for i in steps]
        whole = np.prod([1 - rho + i * rho for i in steps], axis=0)
        both = []
        ways = np.array([comb(self.items, k) for k in steps] + [1, 0, 0])  # 0 for J + 1 and -1
        for y in (self.count, self.count - 1):
            total = ways[y] / whole
            for i in steps:
                total = total * np.where(i < y, drawn[i], 1.0)
                total = total * np.where(i < self.items - y, left[i], 1.0)
            both.append(total)
        return both[0], both[1]

    def _scores(self, predictors: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
        """The chances (r,), and the slopes (P, r) of the log-likelihood along the P predictors.

        The slopes are exact, by complex steps.
        """
        chances = self.chances(predictors)
        seen = self.people > 0
        # Row b of all predictors is that of a step along predictor b alone.
        steps = 1j * _STEP * np.eye(len(predictors))
        turned = [each + step[:, None] for each, step in zip(predictors, steps, strict=True)]
        slopes = self.chances(turned).imag / _STEP
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(seen, self.people * slopes / chances, 0.0)
        return chances, scores

    def _columns(self, at: int) -> FloatArray:
        """The covariates of an equation, or 1 for a single number."""
        return self.covariates if at < self.equations else np.ones((self.count.size, 1))

    def value_and_gradient(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """The log-likelihood and its gradient."""
        chances, scores = self._scores(self.predictors(parameters))
        seen = self.people > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(self.people[seen] @ np.log(chances[seen]))
        return value, np.concatenate([self._columns(at).T @ s for at, s in enumerate(scores)])

    def information(self, parameters: FloatArray, free: IntArray) -> FloatArray:
        """The observed information of some parameters, by differences of slopes."""
        predictors = self.predictors(parameters)
        blocks = []
        for b, each in enumerate(predictors):
            ends = []
            for sign in (-1, 1):
                turned = [*predictors]
                turned[b] = each + sign * _APART
                ends.append(self._scores(turned)[1])
            curves = [(low - high) / (2 * _APART) for low, high in zip(*ends, strict=True)]
            columns = [
                self._columns(a).T @ (c[:, None] * self._columns(b)) for a, c in enumerate(curves)
            ]
            blocks.append(np.concatenate(columns))
        matrix = np.concatenate(blocks, axis=1)[np.ix_(free, free)]
        return np.asarray((matrix + matrix.T) / 2)

    def start(self) -> FloatArray:
        """Parameters to start from: the difference of means, and the mean of the controls."""
        means = [
            float(np.average(self.count[group], weights=self.people[group]))
            for group in (~self.treated, self.treated)
        ]
        width = self.covariates.shape[1]
        first = np.zeros(self.equations * width + len(self.numbers))
        share = min(max(means[1] - means[0], 0.05), 0.95)
        item = min(max(means[0] / self.items, 0.02), 0.98)
        first[0] = _logit(share)
        first[[width * e for e in range(1, self.equations)]] = _logit(item)
        first[self.equations * width :] = -2.0
        return first

    def search(self, start: FloatArray, fixed: Sequence[int] = ()) -> tuple[float, FloatArray]:
        """The maximum near a start, with some parameters fixed."""
        free = np.setdiff1d(np.arange(start.size), fixed)

        def whole(parameters: FloatArray) -> FloatArray:
            moved = start.copy()
            moved[free] = parameters
            return moved

        def down(parameters: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.value_and_gradient(whole(parameters))
            return -value, -gradient[free]

        if not free.size:
            return self.value_and_gradient(start)[0], start
        end = scipy.optimize.minimize(
            down,
            start[free],
            jac=True,
            hess=lambda parameters: self.information(whole(parameters), free),
            method="trust-exact",
            options={"gtol": _SMALL_GRADIENT, "maxiter": _MOST_STEPS},
        )
        return -float(end.fun), whole(end.x)

    def maximum(self) -> ListMaximum:
        """The largest maximum that is reached from several starts, or with a share at 0 or 1."""
        ends = []
        for odds in _STARTS:
            start = self.start()
            start[0] = start[0] if odds is None else odds
            ends.append(self.search(start))
        best = max(ends, key=lambda end: end[0])
        width = self.covariates.shape[1]
        alone = [*([0] if width == 1 else []), *range(self.equations * width, best[1].size)]
        at_ends: list[int] = []
        for at in alone:
            for odds in (-_LARGEST, _LARGEST):
                start = best[1].copy()
                start[at] = odds
                end = self.search(start, [*at_ends, at])
                if end[0] >= best[0]:
                    best = end
                    at_ends.append(at)
        value, estimate = best
        free = np.setdiff1d(np.arange(estimate.size), at_ends)
        covariance = np.zeros((estimate.size, estimate.size))
        if free.size:
            covariance[np.ix_(free, free)] = np.linalg.pinv(self.information(estimate, free))
        return ListMaximum(self, estimate, covariance, value)


@dataclass(frozen=True, eq=False)
class ListMaximum:
    """The maximum of the likelihood of a list experiment."""

    model: ListModel
    estimate: FloatArray  # beta, gamma and the log-odds of single numbers
    covariance: FloatArray  # 0 of those at the ends of their range
    value: float  # in nats

    def share(self, at: int) -> EstimatedShare:
        """The share whose log-odds are the parameter ``at``."""
        odds = float(self.estimate[at])
        share = float(_expit(odds)) if abs(odds) < _LARGEST else float(odds > 0)
        variance = float(self.covariance[at, at])  # 0 of what is at the end of its range
        error = share * (1 - share) * variance**0.5 if variance > 0 else np.nan
        return EstimatedShare(share, error, partial(self.interval_of_share, at))

    def shares_of_numbers(self) -> dict[str, EstimatedShare]:
        """The shares of people who hide the item, and the correlation of items, by name."""
        names = self.model.numbers
        first = self.estimate.size - len(names)
        return {name: self.share(first + i) for i, name in enumerate(names)}

    def lacking(self, at: int, share: float) -> float:
        """The likelihood-ratio statistic of a share, whose log-odds are the parameter ``at``."""
        start = self.estimate.copy()
        start[at] = _logit(share)
        return 2 * (self.value - self.model.search(start, [at])[0])

    def interval_of_share(self, at: int, level: float) -> FloatArray:
        """The likelihood-ratio interval (2,) of a share."""
        quantile, share = normal_quantile(level) ** 2, float(_expit(self.estimate[at]))

        def statistic(limit: float) -> float:
            return min(self.lacking(at, limit), 1e6)

        ends = [last_not_rejected(statistic, quantile, share, limit, 1e-8) for limit in (0.0, 1.0)]
        return np.array(ends)


# -----------------------------------------------------------------------------------------------
# The test of design effects.


@dataclass(frozen=True, eq=False)
class DesignEffect(Tabular):
    """The test whether a list changes the answers to its control items.

    Attributes:
        p: the p-value of "it does not", doubled for the two tests.
        shares: (2 (J + 1),) the estimated shares of people by the number of items and the sensitive
            item: those with it first.
        errors: their standard errors.
        items: J.
    """

    p: float
    shares: FloatArray = field(repr=False)
    errors: FloatArray = field(repr=False)
    items: int

    @classmethod
    def of(
        cls, design: ListExperiment, counts: tuple[FloatArray, FloatArray], select: bool
    ) -> DesignEffect:
        """The test of the counts of the control group and of the treated group."""
        n = [float(c.sum()) for c in counts]
        control, treated = (np.cumsum(c) / c.sum() for c in counts)
        items = design.items
        below = np.append(0.0, control)
        shares = [control - treated[:-1], treated[:-1] - below[:-1]]
        covariances = [
            _of_cumulative(control, n[0]) + _of_cumulative(treated[:-1], n[1]),
            _of_cumulative(treated[:-1], n[1]) + _of_cumulative(below[:-1], n[0]),
        ]
        # Two of the shares are frequencies, which cannot be negative.
        tested = [slice(0, items), slice(1, items + 1)]
        tests = [
            _one_sided(share[some], covariance[some, some], np.log(sum(n)) if select else np.inf)
            for share, covariance, some in zip(shares, covariances, tested, strict=True)
        ]
        errors = np.sqrt(np.concatenate([c.diagonal() for c in covariances]))
        return cls(min(1.0, 2 * min(tests)), np.concatenate(shares), errors, items)

    @property
    def text(self) -> str:
        """The p-value, and what it says."""
        says = (
            "Some shares are so far below 0 that chance does not explain this. So the sensitive "
            "item changes what people say of the other items."
            if self.p < 0.05
            else "Chance explains all shares below 0. So there is no sign that the sensitive item "
            "changes what people say of the other items."
        )
        return f"p = {self.p:.3g}. {says}"

    def table(self) -> Table:
        """The shares, and the p-value below."""
        rows = []
        for at, (share, error) in enumerate(zip(self.shares, self.errors, strict=True)):
            y, sensitive = at % (self.items + 1), "yes" if at <= self.items else "no"
            row = {"items": y, "sensitive": sensitive, "estimate": float(share)}
            rows.append(row | {"error": float(error)})
        columns = [
            Column("items", "control items", "number"),
            Column("sensitive", "sensitive item"),
            Column("estimate", unit="share", decimals=1),
            Column("error", "standard error", "share", decimals=1),
        ]
        return Table(columns, rows, [self.text])


def _of_cumulative(shares: FloatArray, n: float) -> FloatArray:
    """The covariance of cumulative shares F of n people: F_j (1 - F_k) / n for j <= k."""
    return np.asarray(np.minimum.outer(shares, shares) - np.multiply.outer(shares, shares)) / n


def _one_sided(shares: FloatArray, covariance: FloatArray, most: float) -> float:
    """The p-value of "no share is negative", of shares within sqrt(``most``) errors of 0 or below.

    Shapes: shares (J,), covariance (J, J).
    """
    errors = np.sqrt(covariance.diagonal())
    near = (errors > 0) & (shares <= np.sqrt(most) * errors)
    if not near.any():
        return 1.0
    # Where nobody reports some number, two shares are one: then both have this little of their own.
    estimate = shares[near]
    noise = covariance[np.ix_(near, near)] + 1e-9 * np.diag(errors[near] ** 2)
    root = np.linalg.inv(np.linalg.cholesky(noise))
    statistic = scipy.optimize.nnls(root, root @ estimate)[1] ** 2
    weights = _weights_of_mixture(noise)
    above = sum(w * scipy.special.chdtrc(k, statistic) for k, w in enumerate(weights) if k)
    return float(above + weights[0] * (statistic <= 0))


def _weights_of_mixture(covariance: FloatArray) -> FloatArray:
    """The weights (J + 1,) of chi-square with k degrees in the distance from shares >= 0.

    k shares are negative and go to 0, where the others, given these, are positive:
    w_k = sum_S Pr(N(0, (V_SS)^-1) > 0) Pr(N(0, V_TT - V_TS V_SS^-1 V_ST) > 0) over S of k shares.

    >>> _weights_of_mixture(np.eye(2)).round(6)
    array([0.25, 0.5 , 0.25])
    """
    size = len(covariance)
    weights = np.zeros(size + 1)
    for k in range(size + 1):
        for chosen in combinations(range(size), k):
            s = np.array(chosen, dtype=np.int64)
            t = np.setdiff1d(np.arange(size), s)
            inverse = np.linalg.inv(covariance[np.ix_(s, s)])
            across = covariance[np.ix_(t, s)]
            given = covariance[np.ix_(t, t)] - across @ inverse @ across.T
            weights[k] += _orthant(inverse) * _orthant(given)
    return np.asarray(weights / weights.sum())


def _orthant(covariance: np.ndarray) -> float:
    """Pr(N(0, V) > 0) for all coordinates."""
    size = len(covariance)
    if size == 0:
        return 1.0
    deviations = np.sqrt(covariance.diagonal())
    r = np.clip(covariance / np.multiply.outer(deviations, deviations), -1.0, 1.0)
    if size <= 3:
        # 1/2; 1/4 + asin r / (2 pi); 1/8 + the three asin r / (4 pi)
        angles = float(np.arcsin(r[np.triu_indices(size, 1)]).sum())
        return float(2.0**-size + angles / (2 * np.pi * (size - 1 if size > 1 else 1)))

    law = scipy.stats.multivariate_normal(np.zeros(size), r, allow_singular=True, seed=0)
    return float(law.cdf(np.zeros(size)))
