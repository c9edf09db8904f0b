"""How people were drawn: with unequal weights, in clusters, from strata.

A survey is seldom a simple random sample. Schools are drawn, and all their pupils asked: people of
one cluster are alike. Some people are drawn with a larger probability than others, and stand for
fewer. A :class:`SurveyDesign` names the public columns that say so, and a :class:`DrawnSample` has
their values. Every estimate that is a sum over people with scores s_i then has the variance

    V = sum_h G_h / (G_h - 1) sum_{g in h} (S_g - S_h) (S_g - S_h)',   S_g = sum_{i in g} w_i s_i

S_g is the sum over the people of cluster g, and S_h the mean over the G_h clusters of stratum h.
People who were not drawn in clusters are clusters of one. This is the linearised variance of
sampling with replacement, as R's ``svydesign`` has it without a finite population correction, and
in a regression the cluster-robust one with the factor G / (G - 1).

Source: Binder (1983); Fuller (1975); METHODS 10.10.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from warner._core.checks import show, unknown
from warner._core.errors import ArgumentError

ROLES = ("weights", "cluster", "strata")
# What differs in the intervals of shares then, for readers who ask how they were made.
INTERVALS_OF_DRAWN = (
    "With weights, clusters or strata, the default is a score interval, and there is no interval "
    "of the likelihood ratio. All intervals then use the linearised variance of drawing with "
    "replacement, and Student's t. Its degrees of freedom are at most the number of clusters "
    "minus the number of strata. Without clusters, each person counts as a cluster."
)
# People on average, below which numbers with decimals name no cluster or stratum.
_FEWEST = {"cluster": 1.5, "strata": 5}
_FEWEST_IDS = 10  # people, from which on a run of whole numbers is no chance
_FAR_WEIGHT = 20  # times the middle weight, from which on a weight may be a code such as 999
CODES_OF_MISSING = [
    -9.0,
    *(sign * (10.0**digits - 1) for digits in range(2, 16) for sign in (-1, 1)),
]
_NO_SPREAD = 1e-9  # of the largest variance, below which a direction has none


@dataclass(frozen=True)
class SurveyDesign:
    """The public columns that say how people were drawn.

    Attributes:
        weights: the column with the number of people that one person stands for, up to a factor;
            None where all weights are equal.
        cluster: the column with the first thing that was drawn, such as the school; None where
            people were drawn one by one.
        strata: the column with the strata; people were drawn from each stratum separately.

    >>> SurveyDesign.of("w", None, "region").columns
    ('w', 'region')
    >>> SurveyDesign.of(None, None, None)
    """

    weights: str | None = None
    cluster: str | None = None
    strata: str | None = None

    @classmethod
    def of(cls, weights: Any, cluster: Any, strata: Any) -> SurveyDesign | None:
        """The design that these names describe; None where none is given."""
        named = dict(zip(ROLES, (weights, cluster, strata), strict=True))
        for role, name in named.items():
            if name is not None and not (isinstance(name, str) and name):
                remedy = (
                    "Give the public columns when you count the reports: mechanism.tally(reports, "
                    "by=...)"
                )
                raise ArgumentError(role, "must be the name of a public column", show(name), remedy)
        given = [name for name in named.values() if name is not None]
        if len(set(given)) < len(given):
            rule = "must name different public columns"
            raise ArgumentError("weights, cluster, strata", rule, ", ".join(given))
        return cls(**named) if given else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The public columns that are named."""
        return tuple(self.roles.values())

    @property
    def roles(self) -> dict[str, str]:
        """{role: column} of those that are named."""
        return {role: getattr(self, role) for role in ROLES if getattr(self, role) is not None}

    @property
    def text(self) -> str:
        """The design in words.

        >>> SurveyDesign("w", "school").text
        'weighted by w, in clusters by school'
        """
        words = {"weights": "weighted by", "cluster": "in clusters by", "strata": "in strata by"}
        return ", ".join(f"{words[role]} {name}" for role, name in self.roles.items())

    def require_columns(self, names: Any, where: str) -> None:
        """Refuse columns that are not there."""
        listed = list(names)
        for role, name in self.roles.items():
            if name not in listed:
                remedy = "Keep this public column when you make reports and when you count them"
                raise unknown(role, name, listed, f"the public columns of {where}", remedy)

    def sample(
        self, columns: Mapping[str, Any], sizes: np.ndarray, are_people: bool = False
    ) -> DrawnSample:
        """The sample of rows of people, whose people are alike in all columns.

        Where rows ``are_people``, errors name the first wrong row.

        Shapes: each column (m,), sizes (m,).
        """
        self._refuse_exchanged(columns, sizes)
        rows = len(sizes)
        weights, doubt = np.ones(rows), ""
        if self.weights is not None:
            weights = _positive(self.weights, columns[self.weights], sizes, are_people)
            doubt = _doubt_of_weights(self.weights, weights, sizes)
            weights = weights / float(weights.max())  # so that sums do not overflow
        stratum, strata = np.zeros(rows, dtype=np.int64), ["the survey"]
        if self.strata is not None:
            strata, stratum = _numbered("strata", self.strata, columns[self.strata], sizes)
        if self.cluster is None:
            unit, of_unit = np.arange(rows), stratum
            drawn = np.bincount(stratum, sizes, len(strata))
        else:
            clusters, unit = _numbered("cluster", self.cluster, columns[self.cluster], sizes)
            of_unit = np.zeros(len(clusters), dtype=np.int64)
            of_unit[unit] = stratum
            if (crossing := of_unit[unit] != stratum).any():
                rule = f"must have all people of a cluster in one stratum of {self.strata!r}"
                got = f"cluster {show(clusters[int(unit[np.argmax(crossing)])])} in several strata"
                remedy = "Give clusters of different strata different names"
                pairs = np.unique(np.stack([unit, stratum]), axis=1).shape[1]
                if pairs == len(strata) > len(clusters):  # each stratum lies in one cluster
                    remedy = _exchanged(str(self.strata), "cluster", self.cluster, "strata")
                raise ArgumentError(f"column {self.cluster!r}", rule, got, remedy)
            drawn = np.bincount(of_unit, minlength=len(strata)).astype(np.float64)
        if (drawn < 2).any():
            what, unit_name = (
                ("people", "person") if self.cluster is None else ("clusters", "cluster")
            )
            one = int(np.argmax(drawn < 2))
            where = "" if self.strata is None else f" in each stratum of {self.strata!r}"
            reason = f"1 {unit_name} does not show how {what} differ"
            rule = f"needs at least 2 {what}{where}, because {reason}"
            got = f"1 {unit_name} in {strata[one]}"
            remedy = "Merge this stratum with a similar stratum"
            name = self.cluster or self.strata
            where = "survey design" if name is None else f"column {name!r}"
            raise ArgumentError(where, rule, got, remedy if self.strata else None)
        people = float(sizes.sum())
        weights = weights * (people / float(sizes @ weights))
        sizes = sizes.astype(np.float64)
        return DrawnSample(self, weights, sizes, unit, stratum, of_unit, drawn, doubt)

    def _refuse_exchanged(self, columns: Mapping[str, Any], sizes: np.ndarray) -> None:
        """Refuse labels in place of weights, and weights in place of strata or clusters."""
        numbers = {
            name: np.array([_number(entry) for entry in np.asarray(columns[name]).tolist()])
            for name in self.columns
        }
        parts = {role: name for role, name in self.roles.items() if role != "weights"}
        decimals = {
            role: len(np.unique(numbers[name]))
            for role, name in parts.items()
            if np.isfinite(numbers[name]).all() and (numbers[name] % 1 != 0).any()
        }
        like_weights = [role for role, n in decimals.items() if _FEWEST[role] * n > sizes.sum()]
        if self.weights is not None and np.isnan(numbers[self.weights]).all():
            name, rule, got = (
                f"weights {self.weights!r}",
                "must hold positive numbers",
                "labels alone",
            )
            like_weights = list(decimals)
        elif like_weights:
            role = like_weights[0]
            name, got = f"{role} {parts[role]!r}", f"{decimals[role]:,} different decimals"
            rule = "must hold names or numbers that many people share"
        else:
            return
        remedy = "Name the column that says how many people each person stands for"
        if like_weights:
            of_weights = parts[like_weights[0]]
            remedy = f"If {of_weights!r} holds weights, name it as the weights"
            if self.weights is not None:
                remedy = _exchanged(of_weights, "weights", self.weights, like_weights[0])
        raise ArgumentError(name, rule, got, remedy)


@dataclass(frozen=True, eq=False)
class DrawnSample:
    """The weights, clusters and strata of m rows of people.

    ``weights`` says how much one person of each row counts: 1 on average of all ``sizes`` people.
    Without clusters each row is a cluster, and ``drawn`` counts people of each stratum instead.
    ``doubt`` says to readers why the largest weight may be no weight; else it is "".

    Shapes: weights, sizes, unit, stratum (m,), stratum_of_unit (G,), drawn (H,).
    """

    design: SurveyDesign
    weights: np.ndarray
    sizes: np.ndarray
    unit: np.ndarray
    stratum: np.ndarray
    stratum_of_unit: np.ndarray
    drawn: np.ndarray
    doubt: str = ""

    @property
    def degrees(self) -> int:
        """The degrees of freedom of the variance: clusters less strata."""
        return int(self.drawn.sum()) - len(self.drawn)

    @property
    def text(self) -> str:
        """The sample in words, with the number of clusters or strata where there are any."""
        units, strata = int(self.drawn.sum()), len(self.drawn)
        of = "people" if self.design.cluster is None else "clusters"
        within = f" in {strata:,} strata" if self.design.strata is not None else ""
        is_counted = self.design.cluster is not None or self.design.strata is not None
        counted = f": {units:,} {of}{within}" if is_counted else ""
        return f"{self.design.text}{counted}{self._about_weights}"

    @property
    def _about_weights(self) -> str:
        """How few people with equal weights would tell as much; "" where weights are much alike."""
        people, alike = float(self.sizes.sum()), _people_alike(self.weights, self.sizes)
        if 2 * alike >= people:
            return ""
        equal = f"{alike:,.0f} people with equal weights" if alike >= 1.5 else "1 person"
        return f"; the weights differ so much that {equal} would tell about as much"

    def to_json(self) -> dict[str, Any]:
        """The sample as an entry of JSON data."""
        of = "people" if self.design.cluster is None else "clusters"
        about = {of: int(self.drawn.sum()), "strata": len(self.drawn), "degrees": self.degrees}
        return {"survey": {"columns": self.design.roles, **about}}

    def of_rows(self, rows: np.ndarray) -> DrawnSample:
        """The same sample, of which some rows are asked for; the others count as clusters still."""
        places = self.unit[rows], self.stratum[rows]
        weights, sizes = self.weights[rows], self.sizes[rows]
        weights = weights * (float(sizes.sum()) / float(sizes @ weights))
        parts = {"weights": weights, "sizes": sizes, "unit": places[0], "stratum": places[1]}
        return replace(self, **parts)

    def require_clusters(self, group: np.ndarray, labels: list[str]) -> None:
        """Refuse groups (m,) of rows that lie in one cluster each: their sums do not vary."""
        if self.design.cluster is None or len(labels) < 2:
            return
        pairs = np.unique(np.stack([group, self.unit]), axis=1)
        clusters = np.bincount(pairs[0], minlength=len(labels))
        if (clusters < 2).any():
            needed = f"at least 2 clusters of {self.design.cluster!r} in each group"
            got = f"1 cluster in the group {labels[int(np.argmin(clusters))]}"
            raise self.alone("group", needed, got)

    def alone(self, what: str, needed: str, got: str | None = None) -> ArgumentError:
        """The error of people who lie in one cluster, and are looked at by themselves."""
        rule = f"needs {needed}, because one cluster does not show how clusters differ"
        remedy = f"Leave out the {what} with one cluster, or merge it with a similar {what}"
        return ArgumentError("cluster", rule, got, remedy)

    def require_spread(self, spread: np.ndarray) -> None:
        """Refuse a covariance (d, d) that is 0 in a direction, relative to single people's."""
        # With more coefficients than clusters it always is, and each alone can be right.
        if self.design.cluster is None or len(spread) > self.degrees:
            return
        values = np.linalg.eigvalsh(spread)
        if values[0] < _NO_SPREAD * values[-1]:
            raise self.alone("value", "at least 2 clusters with each value of a covariate")

    @cached_property
    def factors(self) -> np.ndarray:
        """(H,) G_h / (G_h - 1)."""
        return np.asarray(self.drawn / (self.drawn - 1))

    def root(self, sums: np.ndarray) -> np.ndarray:
        """R (G, d) with V = R'R, from the sums (G, d) of weighted scores over clusters."""
        root = np.sqrt(self.factors)[self.stratum_of_unit]
        return np.asarray(self._centred(sums) / root[:, None])

    def moments_of(self, information: np.ndarray, inverse: np.ndarray) -> tuple[float, float]:
        """The degrees of freedom of the estimated variance of l'beta, and its expected part.

            degrees (tr Q)^2 / tr Q^2,   part tr Q / sum_g l'v_g
            Q = K P,   P = diag(l'v_g) - V H^-1 V'

        v_g = H_g l is the information of cluster g in the direction l = H^-1 a, and K centres
        within strata. P is the covariance of the clusters' scores after the fit, if people differed
        by chance alone. A covariate with which a few clusters stand alone has few degrees of
        freedom, however many other clusters there are; clusters - strata is their number at best.
        The estimated variance is expected to be the part of the true one: residuals of few clusters
        are too small.

        Source: Bell and McCaffrey (2002); Imbens and Kolesar (2016).

        Shapes: information (G, 1 + d), l'v_g and then v_g, inverse H^-1 (d, d).
        """
        alone, v = information[:, 0], information[:, 1:]
        centred = self._centred(v)
        between = inverse @ (v.T @ centred)
        of = self.stratum_of_unit
        strata = len(self.drawn)
        total, squares = (np.bincount(of, x, strata) for x in (alone, alone**2))
        factors, drawn = self.factors, self.drawn
        first = float(factors @ (total * (1 - 1 / drawn))) - float(np.trace(between))
        second = float(factors**2 @ (squares * (1 - 2 / drawn) + total**2 / drawn**2))
        second -= 2 * float(np.einsum("gi,ij,gj,g->", centred, inverse, centred, alone))
        second += float(np.trace(between @ between))
        if first <= 0 or second <= 0:
            return 1.0, 1.0
        expected = min(1.0, first / float(alone.sum()))
        return float(np.clip(first**2 / second, 1.0, self.degrees)), expected

    def _centred(self, sums: np.ndarray) -> np.ndarray:
        """K S: sums (G, d) less their means over the clusters of a stratum, times its factor."""
        strata = len(self.drawn)
        means = np.stack([np.bincount(self.stratum_of_unit, c, strata) for c in sums.T], axis=1)
        centred = sums - (means / self.drawn[:, None])[self.stratum_of_unit]
        return np.asarray(centred * self.factors[self.stratum_of_unit][:, None])

    def summed(self, scores: np.ndarray) -> np.ndarray:
        """The sums (G, d) over clusters of scores (m, d) that are weighted already."""
        units = len(self.stratum_of_unit)
        return np.stack([np.bincount(self.unit, c, units) for c in scores.T], axis=1)


def _exchanged(first: str, role: str, second: str, other_role: str) -> str:
    """What to do about two columns that were named for each other."""
    return (
        f"Are two columns exchanged? Then name {first!r} as the {role}, and {second!r} as the "
        f"{other_role}"
    )


def _positive(name: str, values: Any, sizes: np.ndarray, are_people: bool) -> np.ndarray:
    """The weights of a column: positive, finite numbers, each of some people."""
    entries = np.asarray(values, dtype=object).tolist()
    weights = np.array([_number(entry) for entry in entries])
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if (sizes == 1).all() and are_numbers_of_people(weights):
        got = "a different whole number for each person, as in a column of ids"
        remedy = "Name the column that says how many people each person stands for"
        raise ArgumentError(f"weights {name!r}", "must hold weights", got, remedy)
    if wrong.any():
        rule = "must hold positive numbers, one for each person"
        others = dict.fromkeys(_in_words(entries[i]) for i in np.flatnonzero(wrong).tolist())
        more = " and other entries" if len(others) > 1 else ""
        got = f"{next(iter(others))}{more} {_people(wrong, sizes)}"
        got += f", first in data row {int(np.argmax(wrong)) + 1:,}" if are_people else ""
        remedy = "Give each person a weight above 0"
        if set(others) <= {"0", "'0'"}:
            remedy = "Leave out people with weight 0: they stand for nobody"
        raise ArgumentError(f"weights {name!r}", rule, got, remedy)
    return weights


def _people_alike(weights: np.ndarray, sizes: np.ndarray) -> float:
    """Kish's number: how many people with equal weights tell as much."""
    return float(sizes @ weights) ** 2 / float(sizes @ weights**2)


def _doubt_of_weights(name: str, weights: np.ndarray, sizes: np.ndarray) -> str:
    """Why the largest weight may be a code such as 999; "" where nothing speaks for it."""
    doubt = code_of_missing(f"the weight {name}", weights, sizes)
    weights = weights / float(weights.max())  # so that sums do not overflow
    if not doubt and 2 * _people_alike(weights, sizes) < sizes.sum():
        order = np.argsort(weights)
        half = np.searchsorted(np.cumsum(sizes[order]), sizes.sum() / 2)
        times = float(weights.max() / weights[order][half])
        if times > _FAR_WEIGHT:
            doubt = f"the largest weight in {name} is {times:,.0f} times the middle one"
    if not doubt:
        return ""
    return (
        f"{doubt[0].upper()}{doubt[1:]}. Is this weight only a code for people whose weight is "
        "not known? Then all results here are wrong. Give these people a weight, or leave them out."
    )


def code_of_missing(name: str, column: np.ndarray, sizes: np.ndarray | None = None) -> str:
    """That numbers may stand for "nothing is known", such as 999 or -9, in words; else "".

    They are written with nines alone, and lie further from all other numbers than these from each
    other, or below 0 where no other number does.

    Shapes: column (m,) numbers, NaN of labels, sizes (m,) of people.

    >>> code_of_missing("age", np.array([18.0, 79.0, 40.0, 999.0]))
    'age is 999 for 1 of 4 people, far from all other numbers (18 to 79)'
    """
    of_nines = np.isin(column, CODES_OF_MISSING)
    if of_nines.all():
        return ""
    if np.isnan(column).any():
        if not of_nines.any() or not np.isnan(column[~of_nines]).all():
            return ""
        listed = " or ".join(f"{code:.15g}" for code in np.unique(column[of_nines]))
        people = _people(of_nines, np.ones(len(column)) if sizes is None else sizes)
        return f"{name} is {listed} {people}, and no number for all others"
    low, high = column[~of_nines].min(), column[~of_nines].max()
    nines = np.unique(column[of_nines])
    is_far = np.maximum(low - nines, nines - high) > high - low
    is_below = (nines < 0) & (low >= 0)
    codes = nines[is_far | is_below]
    if not len(codes):
        return ""
    is_code = np.isin(column, codes)
    low, high = column[~is_code].min(), column[~is_code].max()
    which = "unlike all other numbers"
    if is_far[is_far | is_below].all():
        which = "far from all other numbers"
    elif (codes < 0).all():
        which = f"below 0, {which}"
    listed = " or ".join(f"{code:.15g}" for code in codes)
    people = _people(is_code, np.ones(len(column)) if sizes is None else sizes)
    return f"{name} is {listed} {people}, {which} ({low:.6g} to {high:.6g})"


def are_numbers_of_people(column: np.ndarray) -> bool:
    """Whether a column (n,) has each number of a run of whole numbers once, as ids have them."""
    steps = np.diff(np.sort(column))
    is_run = len(column) >= _FEWEST_IDS and (steps == 1).all() and column[0] == round(column[0])
    return bool(is_run)


def _people(chosen: np.ndarray, sizes: np.ndarray) -> str:
    """How many people are in the chosen rows."""
    return f"for {int(sizes[chosen].sum()):,} of {int(sizes.sum()):,} people"


def _number(value: Any) -> float:
    """The number of an entry; NaN for other entries."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _in_words(value: Any) -> str:
    """An entry of a column, in a message."""
    is_empty = value is None or value != value or str(value).strip() == ""
    if is_empty:
        return "an empty entry"
    return f"{value:g}" if isinstance(value, float) else show(value)


def _numbered(role: str, name: str, values: Any, sizes: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The different values of a column, and the number (m,) of each."""
    column = np.asarray(values)
    is_missing = np.array([value is None or value != value for value in column.tolist()])
    if is_missing.any():
        got = f"no value {_people(is_missing, sizes)}"
        remedy = "Give each person a value, or leave out these people"
        raise ArgumentError(f"{role} {name!r}", "must have a value for each person", got, remedy)
    different, number = np.unique(column, return_inverse=True)
    return different.tolist(), number.ravel()
