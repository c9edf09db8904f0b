"""P1's correction where reports are noisy places: the future work of its section 6."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from papers import populations
from papers.data_sets import DataFolder
from papers.experiment import Claim, Experiment, Picture, Verdict, cells_of
from papers.measure import Cell
from papers.measures import EstimationError, People, Reporters
from papers.p1.checks import ratios, spread
from papers.p1.common import EM, LOSSES, PROPOSAL, TOKYO_FILE
from papers.table import Table
from warner.estimators import Estimator, ExpectationMaximization
from warner.estimators.literature import BiasCorrection
from warner.mechanisms import PlanarGeometric

_LOOP = ExpectationMaximization(start="histogram", tolerance=1e-3)
METHODS: dict[str, Estimator] = {
    EM: _LOOP,
    PROPOSAL: BiasCorrection(inner=_LOOP),
    "EM(auto)": ExpectationMaximization("auto"),
}


def _people(cell: Cell, data: DataFolder) -> People:
    people = populations.tokyo_grid(data)
    return People(people.domain, people.counts, cell["n"])


def _reporters(cell: Cell, people: People) -> Reporters:
    return [(PlanarGeometric(people.domain, cell["epsilon"]), people.reporting)]


def _less(epsilons: Sequence[float]) -> Callable[[Table], Verdict]:
    def check(table: Table) -> Verdict:
        found = ratios(table, PROPOSAL, EM, ["epsilon"], epsilon=list(epsilons))
        return Verdict(max(found) < 1, spread(found))

    return check


def _alike(epsilons: Sequence[float]) -> Callable[[Table], Verdict]:
    def check(table: Table) -> Verdict:
        found = ratios(table, PROPOSAL, EM, ["epsilon"], epsilon=list(epsilons))
        return Verdict(max(abs(r - 1) for r in found) < 0.01, spread(found))

    return check


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="P1/places",
        title="The correction under geo-indistinguishability",
        says="Future work of section 6: the proposal with geo-indistinguishability in place of "
        "LDP. P1 has no result; the claims are this package's.",
        measure=EstimationError(_people, _reporters, METHODS, LOSSES),
        cells=cells_of(epsilon=[0.5, 1.0, 2.0], n=[1000]),
        quick_cells=cells_of(epsilon=[0.5, 2.0], n=[1000]),
        runs=20,
        quick_runs=4,
        revision=2,
        claims=(
            Claim(
                "With much noise (0.5 nats for each cell of distance) Proposal errs less than EM.",
                _less([0.5]),
                held=True,
                ours=True,
            ),
            Claim(
                "With little noise (2 nats) Proposal errs as EM does, within 1 %.",
                _alike([2.0]),
                held=True,
                ours=True,
            ),
        ),
        pictures=(
            Picture("line", "epsilon", where={"metric": "MSE"}, value="sum of squared errors"),
        ),
        data=(TOKYO_FILE,),
        differs="Check-ins in a 20 x 20 grid of Tokyo, 1,000 people, planar geometric mechanism.",
        conclusion="The correction helps where noise is large: 0.85 of EM's MSE at 0.5 nats for "
        "each cell, and nothing at 1 and 2 (1.00). EM(auto), which stops early, has 0.41 of it at "
        "0.5 nats, and errs more than EM at 2.",
    ),
)
