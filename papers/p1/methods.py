"""P1's correction against the methods that this package has besides."""

from __future__ import annotations

import math

from papers.experiment import (
    Claim,
    Experiment,
    Failure,
    Picture,
    Reason,
    Verdict,
    cells_of,
)
from papers.measure import Cell
from papers.measures import EstimationError, People, Reporters
from papers.p1.checks import ratios
from papers.p1.common import (
    CONVERGED,
    DIFFERS,
    EM,
    FILES,
    FLOW,
    LOSSES,
    MATRIX,
    PROJ,
    PROPOSAL,
    THREE,
    TOKYO,
    TOKYO_FILE,
    people_of,
    with_budgets,
)
from papers.table import Table
from papers.verdicts import Check, geometric_mean
from warner.estimators import EmpiricalBayes, Estimator, ExpectationMaximization, Inversion
from warner.estimators.literature import BiasCorrection

LOOP, STOPPED = "EM, 0.001 nats", "EM, 1 nat"
EVEN, BOOTSTRAP = "Proposal, uniform p'", "Proposal, bootstrap"
AUTO, BAYES, WEIGHTED = "EM(auto)", "empirical Bayes", "MatInv proj, weighted"
METHODS: dict[str, Estimator] = {
    **CONVERGED,
    LOOP: ExpectationMaximization(start="histogram", tolerance=1e-3),
    STOPPED: ExpectationMaximization(start="histogram", tolerance=1.0),
    EVEN: BiasCorrection(alpha="uniform", inner=CONVERGED[EM]),
    BOOTSTRAP: BiasCorrection(alpha="bootstrap", inner=CONVERGED[EM]),
    AUTO: ExpectationMaximization("auto"),
    BAYES: EmpiricalBayes(),
    PROJ: MATRIX[PROJ],
    WEIGHTED: Inversion("project"),
}
PEOPLE = {
    "500, 500, 50, 0": (500, 500, 50, 0),
    "500, 500, 50, 50": (500, 500, 50, 50),
    "2000, 2000, 200, 200": (2000, 2000, 200, 200),
    "0, 1000, 100, 0": (0, 1000, 100, 0),
}
_AXES = ("data", "people")


def _reporters(cell: Cell, people: People) -> Reporters:
    return with_budgets(people, PEOPLE[cell["people"]])


def _text(found: list[float]) -> str:
    return (
        f"geometric mean {geometric_mean(found):.2f}, {min(found):.2f} to {max(found):.2f}, "
        f"below 1 in {sum(r < 1 for r in found)} of {len(found)}"
    )


def _errs_more(other: str) -> Check:
    def check(table: Table) -> Verdict:
        found = ratios(table, PROPOSAL, other, _AXES)
        more = geometric_mean(found) > 1 and sum(r > 1 for r in found) > len(found) / 2
        return Verdict(more, _text(found))

    return check


def _alike(other: str) -> Check:
    def check(table: Table) -> Verdict:
        found = ratios(table, PROPOSAL, other, _AXES)
        return Verdict(abs(math.log(geometric_mean(found))) < math.log(1.1), _text(found))

    return check


def _bootstrap_gains(table: Table) -> Verdict:
    found = ratios(table, BOOTSTRAP, EM, _AXES)
    return Verdict(geometric_mean(found) < 0.9 and max(found) < 1.25, _text(found))


def _bootstrap_is_safer(table: Table) -> Verdict:
    worst = [max(ratios(table, method, EM, _AXES)) for method in (BOOTSTRAP, PROPOSAL)]
    return Verdict(worst[0] < worst[1], f"{worst[0]:.2f} against {worst[1]:.2f} times EM")


def _mostly_better_on(name: str) -> Check:
    def check(table: Table) -> Verdict:
        found = ratios(table, PROPOSAL, EM, _AXES, data=name)
        return Verdict(sum(r < 1 for r in found) > 0.6 * len(found), _text(found))

    return check


def _histogram_beats_uniform(table: Table) -> Verdict:
    found = ratios(table, PROPOSAL, EVEN, _AXES)
    return Verdict(geometric_mean(found) < 0.99, _text(found))


def _loop_is_the_maximum(table: Table) -> Verdict:
    found = ratios(table, LOOP, EM, _AXES)
    return Verdict(max(abs(math.log(r)) for r in found) < 0.1, _text(found))


def _stop_gains(table: Table) -> Verdict:
    found = ratios(table, STOPPED, EM, _AXES)
    return Verdict(geometric_mean(found) < 1, _text(found))


def _weights(table: Table) -> Verdict:
    found = ratios(table, PROJ, WEIGHTED, _AXES)
    return Verdict(min(found) > 1 - 1e-9, f"{min(found):.2f} to {max(found):.3g} times")


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="P1/methods",
        title="P1's correction, its alpha, the stop of EM, and shrinkage",
        says="Section 4.3: alpha is chosen in a simulation with the histogram of the reports as "
        "the truth, which did better than the uniform distribution. Several simulations are future "
        "work. EM runs 'until convergence'. The other claims are this package's: alpha from a "
        "bootstrap, the stop of EM, empirical Bayes, and weights of the budgets (eq 13 has equal "
        "ones).",
        measure=EstimationError(people_of, _reporters, METHODS, LOSSES),
        cells=cells_of(data=[*THREE, TOKYO], people=list(PEOPLE)),
        quick_cells=cells_of(data=[*THREE, TOKYO], people=["500, 500, 50, 0", "500, 500, 50, 50"]),
        runs=10,
        quick_runs=2,
        claims=(
            *(
                Claim(
                    f"Proposal errs less than EM in most cells of {name}.",
                    _mostly_better_on(name),
                    held=True,
                    quick=False,
                    ours=True,
                )
                for name in (FLOW, TOKYO)
            ),
            Claim(
                "Alpha from the histogram of the reports errs 1 % less than from a uniform p', and "
                "more (geometric mean).",
                _histogram_beats_uniform,
                held=False,
                failure=Failure(
                    Reason.REAL,
                    "with the factor 2 both choose 0.9, the largest alpha of P1, in nearly all "
                    "runs.",
                    "P1, section 4.3: two simulations, one alpha",
                ),
                words="the proposed method that determines alpha using the empirical distribution "
                "of Y provided the better performance than the proposed method that determines "
                "alpha using the uniform distribution (sec 4.3)",
            ),
            Claim(
                "P1's loop of EM, stopped at 0.001 nats, errs as the certified maximum does.",
                _loop_is_the_maximum,
                held=True,
                ours=True,
            ),
            Claim(
                "A stop at 1 nat alone errs less than the maximum.", _stop_gains, True, ours=True
            ),
            Claim(
                "Proposal errs as EM(auto) does, within 10 % in the geometric mean.",
                _alike(AUTO),
                held=True,
                quick=False,
                ours=True,
            ),
            Claim("Proposal errs more than empirical Bayes.", _errs_more(BAYES), True, ours=True),
            Claim(
                "Alpha of the bootstrap takes 10 % off EM's error in the mean, and adds less than "
                "25 % anywhere.",
                _bootstrap_gains,
                held=True,
                ours=True,
            ),
            Claim(
                "Its worst cell is better than that of P1's alpha.",
                _bootstrap_is_safer,
                held=True,
                ours=True,
            ),
            Claim(
                "Equal weights of budgets [P1 eq 13] err no less than inverse variances.",
                _weights,
                held=True,
                ours=True,
            ),
        ),
        pictures=(
            Picture(
                "bar",
                "data",
                facet="people",
                where={
                    "metric": "MSE",
                    "method": [EM, PROPOSAL, EVEN, BOOTSTRAP, STOPPED, AUTO, BAYES],
                },
                value="sum of squared errors",
            ),
        ),
        data=(*FILES, TOKYO_FILE),
        revision=2,
        differs=DIFFERS,
        conclusion="Proposal has 0.88 of EM's MSE in the geometric mean and 1.10 at most. Several "
        "simulations with the estimate as the truth and alpha up to 10, P1's future work, give "
        "0.85, and 1.00 at most. The histogram and the uniform distribution choose the same "
        "alpha, 0.9, in nearly all runs. EM that stops at 0.001 nats errs as the maximum does; a "
        "stop at 1 nat gains more by itself (0.83) than the correction. Empirical Bayes errs less "
        "(0.79), and less than the correction in 15 of 16 cells.",
    ),
)
