"""The people of P2, with what is sensitive for them.

Each function reads the folder of real data. Where there is none it makes people of the same
number of values and a similar difficulty, always the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from papers.data_sets import DataFolder
from papers.measures import People
from papers.populations import drawn, made_clusters
from warner.domains import Integers

_SEED = 1


@dataclass(frozen=True, eq=False)
class Sensitive(People):
    """People of whom one half report, and what is sensitive for them [P2 sec 6.1].

    Attributes:
        sensitive: (S,) the indices of the values that are sensitive for everyone.
        hidden: {tag: (K,) how many of the people hide each value under the tag}.
        tagged: {tag: (K,) public background knowledge, such as the number of homes in a region}.
    """

    sensitive: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    hidden: Mapping[str, np.ndarray] = field(default_factory=dict)
    tagged: Mapping[str, np.ndarray] = field(default_factory=dict)


def _half(counts: np.ndarray, sensitive: np.ndarray, **tags: Any) -> Sensitive:
    """People of whom one half report."""
    domain = Integers(0, counts.size - 1)
    return Sensitive(domain, counts, int(counts.sum()) // 2, sensitive, **tags)


def _sensitive_regions(counts: np.ndarray, size: int) -> np.ndarray:
    """Indices of regions that are drawn as sensitive ones, among those with 10 people or more."""
    busy = np.flatnonzero(counts >= 10)
    return np.sort(np.random.default_rng(_SEED).choice(busy, size, replace=False))


def _tagged(
    everyone: np.ndarray,
    sensitive: np.ndarray,
    hidden: Mapping[str, np.ndarray],
    tagged: Mapping[str, np.ndarray],
    n: int,
    hide: Mapping[str, int] | None = None,
) -> Sensitive:
    """n people drawn with replacement, with the tags of those who hide where they are.

    Where ``hide`` gives numbers of people, about so many hide under each tag.
    """
    open_to_all = np.ones(everyone.size)
    open_to_all[sensitive] = 0  # such a region is sensitive for everyone, and needs no tag
    parts = [counts * open_to_all for counts in hidden.values()]
    if hide is not None:
        parts = [part / part.sum() * hide[tag] for tag, part in zip(hidden, parts, strict=True)]
        everyone = everyone / everyone.sum() * n
    rest = np.maximum(everyone - sum(parts), 0)
    people = drawn(np.concatenate([rest, *parts]), n).reshape(-1, everyone.size)
    tags = dict(zip(hidden, people[1:], strict=True))
    return _half(people.sum(axis=0), sensitive, hidden=tags, tagged=dict(tagged))


def manhattan(data: DataFolder, n: int = 359_054) -> Sensitive:
    """Check-ins in 25 x 25 regions of Manhattan, 15 of them sensitive [P2 sec 6.1].

    The folder has 98,231 of the 359,054 check-ins; n are drawn with replacement. It does not say
    where hospitals are, so 15 regions are drawn as sensitive ones, always the same.
    """
    name = "foursquare_manhattan_grid25x25.csv.gz"
    found = data.columns(name, "fsq_global_us_checkins")
    if found is None:
        counts = made_clusters(25, 25, 60, 100_000, 1.0).astype(np.float64)
    else:
        counts = found["fsq_global_us_checkins"]
    return _half(drawn(counts, n), _sensitive_regions(counts, 15))


FEW = {"home": 5_040, "work": 19_532}
"""How many of P2's 359,054 check-ins are at home and at work [P2 sec 6.1]."""


def manhattan_with_tags(
    data: DataFolder, n: int = 359_054, hide: Mapping[str, int] | None = None
) -> Sensitive:
    """Check-ins in Manhattan, at home and at work among them [P2 sec 6.1].

    The folder has 27,923 check-ins of 193 people with the kinds of their places, and 98,231
    without; n are drawn with replacement. The background knowledge is the number of homes and of
    offices in each region.

    Args:
        data: the folder.
        n: the number of people.
        hide: {tag: how many people hide under it}, where the 193 people say in which regions, and
            the 98,231 check-ins where all people are; None for the 193 people alone.
    """
    name = "foursquare_manhattan_grid25x25.csv.gz"
    found = data.columns(name)
    if found is None:
        everyone = made_clusters(25, 25, 60, 30_000, 1.0).astype(np.float64)
        hidden, tagged = _made_tags(everyone, {"home": 0.06, "work": 0.13})
    else:
        everyone = found["nyc193_checkins" if hide is None else "fsq_global_us_checkins"]
        words = {"home": "residence", "work": "professional"}
        hidden = {tag: found[f"nyc193_{word}_checkins"] for tag, word in words.items()}
        tagged = {tag: found[f"nyc193_{word}_pois"] for tag, word in words.items()}
    return _tagged(everyone, _sensitive_regions(everyone, 15), hidden, tagged, n, hide)


def tokyo(data: DataFolder, n: int = 359_054) -> Sensitive:
    """Visits in 32 x 32 regions of central Tokyo, with hospitals, homes and offices.

    The regions of hospitals, 37, are sensitive for everyone. The folder has 53,438 visits; n are
    drawn with replacement. The background knowledge is the number of homes and of offices in each
    region.
    """
    found = data.columns("peopleflow_tokyo_grid32x32.csv.gz")
    if found is None:
        everyone = made_clusters(32, 32, 120, 60_000, 2.0).astype(np.float64)
        sensitive = _sensitive_regions(everyone, 37)
        hidden, tagged = _made_tags(everyone, {"home": 0.25, "work": 0.01})
    else:
        everyone, sensitive = found["visits"], np.flatnonzero(found["hospital_flag"] == 1)
        hidden = {"home": found["home_visits"], "work": found["office_visits"]}
        tagged = {"home": found["home_pois"], "work": found["office_pois"]}
    return _tagged(everyone, sensitive, hidden, tagged, n)


def _made_tags(
    everyone: np.ndarray, shares: Mapping[str, float]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Made people who hide a visit under a tag, and the places that are tagged so.

    A third of the regions has homes or offices of a tag, so that the people there are distributed
    otherwise than all people.
    """
    rng = np.random.default_rng(_SEED)
    hidden: dict[str, np.ndarray] = {}
    for tag, share in shares.items():
        free = everyone - sum(hidden.values())
        here = rng.random(everyone.size) < 1 / 3
        hidden[tag] = np.minimum(free, np.floor(3 * share * everyone * here))
    tagged = {tag: rng.poisson(0.2 * np.sqrt(each)) + 0.0 for tag, each in hidden.items()}
    return hidden, tagged


def survey(data: DataFolder, n: int = 2_458_285, attributes: int = 4) -> Sensitive:
    """People by age (8), income (5), marital status (5) and sex (2), and by military service.

    The General Social Survey stands for the US Census [P2 sec 6.1]: 61,448 people in 400 cells; n
    are drawn with replacement. Two kinds of cells are sensitive, after P2's counting: the divorced
    of age 20 and more (70 cells), and those of age 30 to 49 without an income, who may be
    unemployed (16 more). P2 has 76.

    Args:
        data: the folder.
        n: the number of people.
        attributes: 4 to 9. From the fifth on each is whether a person served in one of five
            periods; the survey does not ask that, so it is made from age and sex.

    Returns:
        The people, of 400 * 2^(attributes - 4) cells.
    """
    found = data.columns("gss_cells400.csv.gz", "count")
    if found is None:
        counts = np.random.default_rng(_SEED).dirichlet(np.full(400, 0.3))
    else:
        counts = found["count"]
    age, income, marital, sex = np.unravel_index(np.arange(400), (8, 5, 5, 2))
    divorced = (marital == 2) & (age >= 1)
    unemployed = (income == 0) & (age >= 2) & (age <= 3)
    sensitive = divorced | unemployed
    for period in range(attributes - 4):
        # Those who were young in the period served, men more often than women.
        young = np.exp(-0.5 * ((age - period - 1) / 1.5) ** 2)
        served = np.where(sex == 0, 0.3, 0.03) * young
        counts = np.stack([counts * (1 - served), counts * served], axis=1).ravel()
        age, sex, sensitive = (np.repeat(each, 2) for each in (age, sex, sensitive))
    return _half(drawn(counts, n), np.flatnonzero(sensitive))
