"""Variances of surveys from tallies of cells, and those from every single report."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warner import (
    Categorical,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
    estimate,
    regress,
)
from warner.mechanisms.base import Mechanism
from warner.results.share_noise import covariance_of, variances_of

WORDS = Categorical(["a", "b", "c", "d"])
N, SCHOOLS = 90, 9
SCHOOL = np.repeat(np.arange(SCHOOLS), N // SCHOOLS)
COLUMNS: dict[str, Any] = {
    "w": np.tile([1.0, 0.3, 2.5], N // 3),
    "school": SCHOOL,
    "region": np.where(SCHOOL < 5, "n", "s"),
    "sex": np.tile(["f", "m"], N // 2),
}


def _terms(mechanism: Mechanism, reports: Any) -> np.ndarray:
    """The unbiased estimate (n, K) that every report makes alone."""
    rows = []
    for i in range(len(reports)):
        one = mechanism.tally(reports[i : i + 1])
        channel, counts, _ = mechanism.channel_for(one, None)
        rows.append(channel.invert(counts / counts.sum()))
    return np.stack(rows)


def _bits(reports: Any) -> np.ndarray:
    """The only column of reports."""
    (column,) = reports.columns.values()
    return np.asarray(column)


def _of_people(
    terms: np.ndarray, inside: np.ndarray, cluster: bool, strata: bool, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted estimate and its covariance, person by person."""
    weights = weights * inside
    unbiased = weights @ terms / weights.sum()
    scores = weights[:, None] * (terms - unbiased) / weights.sum()
    covariance = np.zeros((terms.shape[1], terms.shape[1]))
    stratum = COLUMNS["region"] if strata else np.full(N, "all")
    unit = SCHOOL if cluster else np.arange(N)
    for h in np.unique(stratum):
        units = np.unique(unit[stratum == h])
        sums = np.stack([scores[(unit == u) & (stratum == h)].sum(axis=0) for u in units])
        sums -= sums.mean(axis=0)
        covariance += len(units) / (len(units) - 1) * sums.T @ sums
    return unbiased, covariance


# Sums of bits do not say how the bits of one person go together: they need clusters.
CASES = [
    (name, roles)
    for name in ("grr", "subset", "oue", "olh", "kept", "grr grr", "grr subset")
    for roles in ("school", "w school region", "w", "w region", "region")
    if name not in ("oue", "olh") or "school" in roles
]


@pytest.mark.crossed(14)
@pytest.mark.parametrize("by_sex", [False, True])
@pytest.mark.parametrize("name, roles", CASES)
def test_tallies_of_cells_give_the_variance_of_single_reports(
    name: str, roles: str, by_sex: bool
) -> None:
    makers: dict[str, Callable[[float], Mechanism]] = {
        "grr": lambda epsilon: RandomizedResponse(WORDS, epsilon),
        "subset": lambda epsilon: SubsetSelection(WORDS, epsilon / 2),
        "oue": lambda epsilon: UnaryEncoding(WORDS, epsilon, variant="oue"),
        "olh": lambda epsilon: LocalHashing(WORDS, epsilon),
        "kept": lambda epsilon: UnaryEncoding(WORDS, epsilon, variant="sue"),
    }
    mechanisms = [makers[one](2.0 + i) for i, one in enumerate(name.split())]
    rng = np.random.default_rng(5)
    keep = {"keep_reports": True} if name == "kept" else {}
    uses = (np.arange(N) // 5) % 3 // 2 * (len(mechanisms) - 1)
    terms, tallies = np.empty((N, 4)), []
    for i, mechanism in enumerate(mechanisms):
        people = np.flatnonzero(uses == i)
        reports = mechanism.randomize([WORDS.labels[(p // 7) % 4] for p in people], rng)
        terms[people] = _terms(mechanism, reports)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            columns = {column: values[people] for column, values in COLUMNS.items()}
            tallies.append(mechanism.tally(reports, columns, **keep))
    used = roles.split()
    design = {
        role: column
        for role, column in (("weights", "w"), ("cluster", "school"), ("strata", "region"))
        if column in used
    }
    found = estimate(tallies, "inversion", by="sex" if by_sex else (), **design)
    data = found["f"].data if by_sex else found.data
    inside = COLUMNS["sex"] == "f" if by_sex else np.ones(N, dtype=bool)
    weights = COLUMNS["w"] if "w" in used else np.ones(N)
    unbiased, covariance = _of_people(terms, inside, "school" in used, "region" in used, weights)
    assert data.survey.unbiased == pytest.approx(unbiased, rel=1e-9, abs=1e-12)
    ours = variances_of(data, data.survey.unbiased, "population")
    # Without clusters, the noise of bits is that of their law, not that of these very reports.
    near = 0.25 if name == "kept" and "school" not in used else 1e-7
    assert ours == pytest.approx(covariance.diagonal(), rel=near)
    if "school" in used:
        assert covariance_of(data, data.survey.unbiased) / data.n == pytest.approx(covariance)


def test_cluster_sums_of_pairs_are_those_of_people() -> None:
    """The scores of a regression, from the derivative of the log-likelihood of each person."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.5)
    rng = np.random.default_rng(6)
    reports = coin.randomize([["no", "yes"][i % 3 > 0] for i in range(N)], rng)
    x = rng.integers(0, 3, N).astype(float)
    columns = {"x": x, **{name: COLUMNS[name] for name in ("w", "school")}}
    found = regress(reports, columns, weights="w", cluster="school")
    z, keep = np.column_stack([np.ones(N), x]), np.exp(1.5) / (1 + np.exp(1.5))
    chance = np.where(_bits(reports) == 1, keep, 1 - keep)
    weights = COLUMNS["w"] / COLUMNS["w"].mean()

    def scores(beta: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(-z @ beta))
        of_report = chance * p + (1 - chance) * (1 - p)
        slope = (2 * chance - 1) * p * (1 - p) / of_report
        return np.asarray(weights[:, None] * slope[:, None] * z)

    beta, step = found.coefficients[0], 1e-5
    turned = [(scores(beta + d) - scores(beta - d)).sum(axis=0) for d in step * np.eye(2)]
    inverse = np.linalg.inv(-np.stack(turned) / (2 * step))
    sums = np.stack([scores(beta)[g == SCHOOL].sum(axis=0) for g in range(SCHOOLS)])
    meat = SCHOOLS / (SCHOOLS - 1) * sums.T @ sums
    assert np.abs(scores(beta).sum(axis=0)).max() < 1e-6
    assert found.covariance == pytest.approx(inverse @ meat @ inverse, rel=1e-5)
