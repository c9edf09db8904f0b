"""P4, figures 4 and 5: the log-likelihood of three values, where its maximum is and is not unique.

The rows of the papers' matrices are values, which are the columns here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from papers.data_sets import DataFolder
from papers.experiment import Claim, Experiment, Failure, Picture, Reason, Verdict, cells_of
from papers.measure import Cell
from papers.measures import PerRun
from papers.table import Row, Table
from warner.channels import DenseChannel
from warner.domains import Integers
from warner.estimators import MaximumLikelihood
from warner.estimators.base import LikelihoodData, log_likelihood, score_and_log_likelihood
from warner.estimators.maximum_likelihood import Uniqueness

MATRICES: Mapping[str, np.ndarray] = {
    "eq 7": np.array([[3, 2, 1], [2, 2, 2], [1, 2, 3]]) / 6,
    "3-RR": np.array([[2, 1, 1], [1, 2, 1], [1, 1, 2]]) / 4,
}
STEP = 20  # of the grid: distributions with multiples of 1 / 20


def _data(cell: Cell) -> LikelihoodData:
    reports = [int(each) for each in cell["reports"].split(",")]
    counts = np.bincount(np.array(reports) - 1, minlength=3)
    channel = DenseChannel(MATRICES[cell["matrix"]].T)
    return LikelihoodData(channel, counts / len(reports), len(reports), Integers(1, 3))


def surface(cell: Cell, rng: np.random.Generator, data: DataFolder) -> list[Row]:
    """L(theta) on a grid of distributions, and facts of its maximum.

    Rows with the metric ``"L"`` have the columns ``"theta_1"`` and ``"theta_3"``. Others have
    ``"at"``, a distribution: the derivatives of L along theta_1 and theta_3, where theta_2 is 1 -
    theta_1 - theta_3, and how far one step of EM moves the distribution.
    """
    reports = _data(cell)
    channel, w, n = reports.channel, reports.weights, reports.n
    rows: list[Row] = []
    for third in range(STEP, -1, -1):
        for first in range(STEP + 1 - third):
            theta = np.array([first, STEP - first - third, third]) / STEP
            value = n * log_likelihood(channel, w, theta)
            rows.append(
                {
                    "metric": "L",
                    "theta_1": first / STEP,
                    "theta_3": third / STEP,
                    "value": value,
                }
            )
    for at, theta in (("0, 1, 0", np.array([0.0, 1, 0])), ("1/2, 0, 1/2", np.array([0.5, 0, 0.5]))):
        score, _ = score_and_log_likelihood(channel, w, theta)
        moved = float(np.abs(theta * score - theta).sum())
        rows += [
            {"metric": "dL / dtheta_1", "at": at, "value": n * float(score[0] - score[1])},
            {"metric": "dL / dtheta_3", "at": at, "value": n * float(score[2] - score[1])},
            {"metric": "moved by a step of EM", "at": at, "value": moved},
        ]
    fit = MaximumLikelihood(1e-12).fit(reports)
    rows += [
        {"metric": "maximum", "value": n * log_likelihood(channel, w, fit.shares)},
        {"metric": "unique", "value": float(fit.unique == Uniqueness.UNIQUE.value)},
        {"metric": "theta_2 of the maximum", "value": float(fit.shares[1])},
    ]
    return rows


def _flat_ridge(table: Table) -> Verdict:
    surface = table.select(metric="L")
    best = float(surface.values().max())
    ridge = [row["value"] for row in surface.rows if row["theta_1"] == row["theta_3"]]
    others = [row["value"] for row in surface.rows if row["theta_1"] != row["theta_3"]]
    figure = f"{len(ridge)} of them at {best:.4f}, the others at most {max(others):.4f}"
    return Verdict(best - min(ridge) < 1e-12 and best - max(others) > 1e-5, figure)


def _not_unique(table: Table) -> Verdict:
    answer = table.mean(metric="unique")
    return Verdict(answer == 0, "not unique" if answer == 0 else "unique")


def _two_limits(table: Table) -> Verdict:
    moved = float(table.values(metric="moved by a step of EM").max())
    return Verdict(moved < 1e-12, f"moved by at most {moved:.1e}")


def _unique_corner(table: Table) -> Verdict:
    unique = bool((table.values(metric="unique") == 1).all())
    least = float(table.values(metric="theta_2 of the maximum").min())
    return Verdict(unique and least > 1 - 1e-6, f"unique: {unique}, theta_2 = {least:.9f}")


def _slopes(table: Table, reports: str) -> tuple[np.ndarray, str]:
    slopes = np.array(
        [table.mean(metric=f"dL / dtheta_{axis}", at="0, 1, 0", reports=reports) for axis in (1, 3)]
    )
    return slopes, f"the derivatives are {slopes[0]:.3f} and {slopes[1]:.3f}"


def _printed_slope(table: Table) -> Verdict:
    slopes, figure = _slopes(table, "1,2,2,3")
    return Verdict(bool(np.allclose(slopes, -0.5)), figure)


def _slope_of_five(table: Table) -> Verdict:
    slopes, figure = _slopes(table, "1,2,2,2,3")
    return Verdict(bool(np.allclose(slopes, -0.5)), figure)


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="P4/fig4",
        title="Log-likelihood of three values, reports 1, 2, 3: no unique maximum",
        says="Every distribution with theta_1 = theta_3 has the maximal likelihood, so that the "
        "limit of EM depends on its start: (0, 1, 0) and (1/2, 0, 1/2) are both limits.",
        measure=PerRun(surface),
        cells=cells_of(matrix=["eq 7"], reports=["1,2,3"]),
        runs=1,
        quick_runs=1,
        claims=(
            Claim(
                "The distributions with theta_1 = theta_3 have the maximal likelihood, and no "
                "others.",
                _flat_ridge,
                held=True,
                words="theta with theta_1 = theta_3 gives the empirical distribution (1/3, 1/3, "
                "1/3) (sec III-B)",
            ),
            Claim("The maximum is reported as not unique.", _not_unique, held=True, ours=True),
            Claim(
                "EM stays at (0, 1, 0) and at (1/2, 0, 1/2), so its limit depends on the start.",
                _two_limits,
                held=True,
                words='"The IBU may not approximate the true distribution" (sec III-B)',
            ),
        ),
        pictures=(
            Picture("heat", "theta_1", y="theta_3", where={"metric": "L"}, value="log-likelihood"),
        ),
    ),
    Experiment(
        name="P4/fig5",
        title="Log-likelihood of three values, 3-RR: a unique maximum on the border",
        says="With reports 1, 2, 2, 3 the unique maximum is (0, 1, 0), on the border. There the "
        "derivatives of L are -0.5, so it is not stationary.",
        measure=PerRun(surface),
        cells=cells_of(matrix=["3-RR"], reports=["1,2,2,3", "1,2,2,2,3"]),
        runs=1,
        quick_runs=1,
        claims=(
            Claim(
                "(0, 1, 0) is the unique maximum.",
                _unique_corner,
                held=True,
                words='"the unique MLE is (0, 1, 0)" (sec III-C)',
            ),
            Claim(
                "With reports 1, 2, 2, 3 the derivatives at (0, 1, 0) are -0.5.",
                _printed_slope,
                held=False,
                words='"On (0, 1, 0) the partial derivatives are -0.5" with the reports 1, 2, 2, 3 '
                "(sec III-C)",
                failure=Failure(
                    Reason.MISPRINT,
                    "they are 0; with one more report of 2 they are -0.5.",
                    "P4, section III-C: the derivatives at (0, 1, 0)",
                ),
            ),
            Claim(
                "With reports 1, 2, 2, 2, 3 the derivatives at (0, 1, 0) are -0.5.",
                _slope_of_five,
                held=True,
                ours=True,
            ),
        ),
        pictures=tuple(
            Picture(
                "heat",
                "theta_1",
                y="theta_3",
                where={"metric": "L", "reports": reports},
                value="log-likelihood",
                name=f"{len(reports.split(','))}-reports",
                title=f"log-likelihood, reports {reports}",
            )
            for reports in ("1,2,2,3", "1,2,2,2,3")
        ),
        conclusion="The maximum is unique and on the border, as printed. With the printed reports "
        "the derivatives are 0, so this example is stationary after all. With one more report of "
        "2 they are -0.5, and the example shows the point of the paper.",
    ),
)
