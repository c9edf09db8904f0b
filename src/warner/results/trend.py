"""Trends over ordered groups: whether shares, or a mean, rise or fall from group to group.

    b = sum_g l_g T_g,   l_g = n_g (x_g - x) / sum_g n_g (x_g - x)^2,   x = sum_g n_g x_g / n

T_g are the unbiased estimates of the groups and x_g their scores: b is the slope of the line that
fits them best, for weights n_g. Its covariance is sum_g l_g^2 V_g, and of groups of one survey with
a design sum_gh l_g l_h V_gh. Against a steady rise this is a stronger test than that of any
difference, which looks in all directions.

Source: Cochran (1954); Armitage (1955); of surveys METHODS 10.10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import choice, confidence_level, numbers_of
from warner._core.errors import ArgumentError, WarnerError
from warner._core.names import explained
from warner._core.survey_design import SurveyDesign
from warner._core.table import Column, Table, Tabular, as_text
from warner.estimators.survey_noise import moments_of_sum
from warner.results.differences import MEAN_ELSEWHERE, holm
from warner.results.estimate import group_table
from warner.results.from_tally import GroupTable, label
from warner.results.intervals import normal_quantile
from warner.results.pooling import time_as_number
from warner.results.samples import Sample, p_of_difference
from warner.results.wald_tests import WaldTest, numbers_of_values, root_of_inverse, shown_p

_LEAST_GROUPS = 3


@dataclass(frozen=True, eq=False)
class Trend(Tabular):
    """How shares, or a mean, change from one group to the next. Made by :func:`trend`.

    Attributes:
        of: ``"shares"`` or ``"mean"``.
        scores: {public values: score} of the groups.
        level: the coverage of each interval.
        test: the test that nothing rises or falls.
        simulated: whether the reports were made with a generator that can be repeated.
    """

    of: str
    scores: Mapping[str, float]
    level: float
    test: WaldTest
    _rows: tuple[dict[str, Any], ...]
    simulated: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """One dict per value, or one of the mean: ``"value"``, ``"slope"`` for one unit more of the
        score, ``"low"``, ``"high"``, ``"p"``, and ``"p_holm"`` for all values together.
        """
        return [dict(row) for row in self._rows]

    def table(self) -> Table:
        """The slopes as a table."""
        unit = "points" if self.of == "shares" else "number"
        columns = [
            Column("value"),
            Column("slope", "for one more", unit),
            Column("interval", f"{100 * self.level:.4g} % interval", unit, ends=("low", "high")),
            Column("p", unit="probability"),
            Column("p_holm", "p (Holm)", "probability", priority=1),
        ]
        return Table(columns, self._rows, [self.test.text], "Trend", self.simulated)

    @property
    def text(self) -> str:
        """The trends in plain words, a sentence each, and the test of all."""
        scale, unit = (100, " points") if self.of == "shares" else (1, "")
        lines = []
        for row in self._rows:
            about = f"share of {as_text(row['value'])}" if self.of == "shares" else row["value"]
            slope, low, high = (scale * row[key] for key in ("slope", "low", "high"))
            way = "rises" if slope >= 0 else "falls"
            if slope < 0:
                slope, low, high = -slope, -high, -low
            lines.append(
                f"The {about} {way} by {slope:.2g}{unit} when the score is one unit larger "
                f"({100 * self.level:.4g} % interval {low:.2g} to {high:.2g}, {shown_p(row['p'])})."
            )
        return "\n".join([*lines, self.test.text])

    def to_json(self) -> dict[str, Any]:
        """The trends as JSON data."""
        return {
            "format": "warner-trend",
            "schema": 1,
            "of": self.of,
            "level": self.level,
            **({"simulated": True} if self.simulated else {}),
            "scores": dict(self.scores),
            "slopes": self.rows(),
            "test": self.test.to_json(),
        }


@explained
def trend(
    groups: Any,
    scores: Sequence[float] | Mapping[Any, float] | None = None,
    *,
    of: str = "shares",
    level: float = 0.95,
    attributes: Sequence[str] | None = None,
    weights: str | None = None,
    cluster: str | None = None,
    strata: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Trend:
    """Test whether shares, or a mean, rise or fall over ordered groups.

    Args:
        groups: a tally by public columns, a mapping {public values: tally}, or what ``estimate``
            made of groups.
        scores: the place of each group on a scale, in the order of the groups, or {public values:
            score}. None takes the numbers or dates of the only public column, or 1, 2, 3, ... in
            the order of its values where it has neither.
        of: ``"shares"`` of all values, or the ``"mean"``.
        level: the coverage of each interval, in [0.5, 1).
        attributes: for tallies of several attributes, the names of those whose values are taken.
        weights, cluster, strata, by: of a survey, as for :func:`warner.estimate`.

    Returns:
        Trend: the slopes, with intervals and p-values, and the test that all are 0.

    Raises:
        ArgumentError: fewer than three groups of two reports or more, scores that do not fit or are
            all equal, or several public columns without scores.
        ArgumentTypeError: a mean of values that are no numbers.
        IdentifiabilityError: the channel has no inverse.

    >>> from warner import Categorical, RandomizedResponse
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 3.0)
    >>> years = {
    ...     year: coin.tally(coin.randomize(["yes"] * yes + ["no"] * (1000 - yes)))
    ...     for year, yes in {2021: 300, 2022: 450, 2023: 600, 2024: 750}.items()
    ... }
    >>> found = trend(years)
    >>> found.test.p_value < 1e-6, bool(abs(found.rows()[1]["slope"] - 0.15) < 0.1)
    (True, True)
    """
    level = confidence_level(level)
    choice("of", of, ("shares", "mean"), MEAN_ELSEWHERE)
    survey = SurveyDesign.of(weights, cluster, strata)
    if survey is not None:
        table = GroupTable.surveyed(groups, survey, by, attributes)
    else:
        table = group_table(groups, attributes).require_shares()
    given = _scores(table, scores)
    reported = {g: d for g, d in enumerate(table.parts) if d is not None and d.n > 1}
    used = list(reported)
    if len(used) < _LEAST_GROUPS:
        rule = f"must be at least {_LEAST_GROUPS}, each with 2 reports or more"
        remedy = "To compare two groups, use compare_groups"
        raise ArgumentError("groups", rule, str(len(used)), remedy)
    samples = [Sample.of(table.labels[g], data, "population") for g, data in reported.items()]
    x = np.array([given[g] for g in used])
    sizes = np.array([s.data.n for s in samples], dtype=np.float64)
    centred = x - sizes @ x / sizes.sum()
    spread = float(sizes @ centred**2)
    if spread <= 0:
        raise ArgumentError("scores", "must not be equal in all groups with 2 reports or more")
    factors = sizes * centred / spread
    domain = table.domain
    if of == "shares":
        values, functions = list(domain.labels), np.eye(domain.size)
    else:
        values, functions = ["mean"], numbers_of_values(domain)[:, None]
    slopes = sum(f * s.shares for f, s in zip(factors, samples, strict=True)) @ functions
    covariance = _covariance(samples, factors, functions)
    noises = [s.data.survey for s in samples if s.data.survey is not None]
    degrees = moments_of_sum(noises, factors)[0] if noises else np.inf
    deviations = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    z = normal_quantile(level, degrees)
    p = np.array([p_of_difference(*pair, degrees) for pair in zip(slopes, deviations, strict=True)])
    alike = 2 if len(values) == 2 else 1
    corrected = np.repeat(holm(p[::alike]), alike)
    rows = tuple(
        {
            "value": value,
            "slope": float(b),
            "low": float(b - z * sd),
            "high": float(b + z * sd),
            "p": float(alone),
            "p_holm": float(together),
        }
        for value, b, sd, alone, together in zip(
            values, slopes, deviations, p, corrected, strict=True
        )
    )
    rank = max(1, len(values) - 1)
    alone = _covariance([s.one_by_one for s in samples], factors, functions)
    root = root_of_inverse(alone, rank)
    about = "shares have no trend" if of == "shares" else "mean has no trend"
    name = f"the {about} over the scores of {len(used)} groups"
    n = int(sizes.sum())
    statistic = float(((root.T @ slopes) ** 2).sum())
    test = WaldTest.of(name, statistic, root.shape[1], n)
    if noises:
        noise = root.T @ covariance @ root
        test = WaldTest.of_design(name, statistic, root.shape[1], n, noise, degrees)
    shown = {table.labels[g]: float(given[g]) for g in used}
    return Trend(of, shown, level, test, rows, table.whole.simulated)


def _covariance(samples: Sequence[Sample], factors: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The covariance (B, B) of sum_g l_g c'T_g, for factors l (G,) and functions c (K, B)."""
    total = np.zeros((c.shape[1], c.shape[1]))
    for g, one in enumerate(samples):
        total += factors[g] ** 2 * (c.T @ one.covariance() @ c)
        for h in range(g):
            both = factors[g] * factors[h] * (c.T @ one.shared_with(samples[h]) @ c)
            total += both + both.T
    return total


def _scores(table: GroupTable, scores: Any) -> np.ndarray:
    """The score (G,) of each group."""
    count = len(table.keys)
    if scores is None:
        if len(table.names) != 1:
            rule = (
                "must be given, because the groups are formed by "
                f"{', '.join(table.names) or 'no column'}"
            )
            remedy = "Pass one number for each group, for example scores=[1, 2, 3]"
            raise ArgumentError("scores", rule, None, remedy)
        try:
            return np.array([time_as_number(table.names[0], key[0]) for key in table.keys])
        except WarnerError:
            return np.arange(1.0, count + 1)
    if isinstance(scores, Mapping):
        places = {table.place(key, "scores"): score for key, score in scores.items()}
        if missing := [label(table.keys[g]) for g in range(count) if g not in places]:
            rule = "must have a score for every group"
            raise ArgumentError("scores", rule, f"none for {missing[0]}")
        scores = [places[g] for g in range(count)]
    numbers = numbers_of("scores", scores)
    if numbers.shape != (count,):
        rule = f"must be one for each of the {count} groups"
        raise ArgumentError("scores", rule, f"shape {numbers.shape}")
    return numbers
