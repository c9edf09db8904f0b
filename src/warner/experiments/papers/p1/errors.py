"""Figures 5 to 10 and 13 to 15 of P1: squared errors, their parts, and who is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from warner.experiments.experiment import Claim, Experiment, Picture, Verdict, cells_of
from warner.experiments.measure import Cell, Cells
from warner.experiments.measures import BiasAndVariance, EstimationError, People, Reporters
from warner.experiments.papers.p1.common import (
    CENSUS,
    CITIES,
    DIFFERS,
    EM,
    FILES,
    FLOW,
    LOSSES,
    NORM,
    OBSERVED,
    PROJ,
    PROPOSAL,
    SETS,
    SIX,
    TOKYO,
    UNIFORM,
    people_of,
    with_budgets,
)
from warner.experiments.table import Table

PAIR = f"{EM} and {PROPOSAL}"
_THREE = (FLOW, CENSUS, CITIES)


def _measure(reporters: Callable[[Cell, People], Reporters]) -> BiasAndVariance:
    return BiasAndVariance(
        EstimationError(people_of, reporters, SIX, LOSSES), losses=True, pair=(EM, PROPOSAL)
    )


def _some_open(cell: Cell, people: People) -> Reporters:
    return with_budgets(people, (cell["N1"], 500, 50, cell["N4"]))


def _ten_ten_one_one(cell: Cell, people: People) -> Reporters:
    part = cell["N"] // 22
    return with_budgets(people, (10 * part, 10 * part, part, part))


def _two_groups(cell: Cell, people: People) -> Reporters:
    return with_budgets(people, (0, cell["N2"], cell["N3"], 0))


def by_cell(
    table: Table, axes: Sequence[str], metric: str = "MSE", **where: Any
) -> dict[tuple[Any, ...], dict[str, float]]:
    """The mean of each method in each cell: {cell: {method: mean}}."""
    return {
        key: {method: rows.mean(method=method) for method in rows.distinct("method")}
        for key, rows in table.select(metric=metric, **where).groups(axes).items()
    }


def _spread(ratios: Sequence[float]) -> str:
    return (
        f"{min(ratios):.2f} to {max(ratios):.2f}, below 1 in "
        f"{sum(r < 1 for r in ratios)} of {len(ratios)} cells"
    )


def ratios(
    table: Table, first: str, second: str, axes: Sequence[str], metric: str = "MSE", **where: Any
) -> list[float]:
    """The error of one method over that of another in each cell."""
    means = by_cell(table, axes, metric, **where).values()
    return [found[first] / found[second] for found in means]


def least(found: dict[str, float]) -> str:
    """The method with the least error in a cell."""
    return min(found, key=lambda method: found[method])


Check = Callable[[Table], Verdict]


def _always_less(first: str, second: str, axes: Sequence[str], metric: str, **where: Any) -> Check:
    def check(table: Table) -> Verdict:
        found = ratios(table, first, second, axes, metric, **where)
        return Verdict(max(found) < 1, _spread(found))

    return check


def _mostly_less(first: str, second: str, axes: Sequence[str], metric: str, **where: Any) -> Check:
    def check(table: Table) -> Verdict:
        found = ratios(table, first, second, axes, metric, **where)
        return Verdict(sum(r < 1 for r in found) > 0.6 * len(found), _spread(found))

    return check


def _outperforms(axes: Sequence[str], **where: Any) -> tuple[Claim, ...]:
    """Claims that the proposal errs less than EM, for each data set and loss."""
    names = where.pop("data", _THREE)
    return tuple(
        Claim(
            f"Proposal has a smaller {metric} than EM in every cell of {name}.",
            _always_less(PROPOSAL, EM, axes, metric, data=name, **where),
        )
        for metric in ("MSE", "JS")
        for name in names
    )


# Figures 5, 7, 13 and 15.
_OPEN = ("data", "N1", "N4")


def _projected_is_worst(table: Table) -> Verdict:
    found = [
        means[PROJ] / max(value for method, value in means.items() if method != PROJ)
        for means in by_cell(table, _OPEN).values()
    ]
    return Verdict(min(found) > 2, f"{min(found):.1f} to {max(found):.0f} times the second worst")


def _em_beats_inversion(table: Table) -> Verdict:
    found = [ratio for other in (NORM, PROJ) for ratio in ratios(table, EM, other, _OPEN, N1=500)]
    return Verdict(sum(r < 1 for r in found) > len(found) / 2, _spread(found))


def _gains_without_open_reports(table: Table) -> Verdict:
    names = table.distinct("data")
    gains = {
        (name, n4): ratios(table, PROPOSAL, EM, _OPEN, data=name, N1=500, N4=n4)[0]
        for name in names
        for n4 in (0, 50)
    }
    return Verdict(
        all(gains[name, 0] < gains[name, 50] for name in names),
        "; ".join(f"{name} {gains[name, 0]:.2f} and {gains[name, 50]:.2f}" for name in names),
    )


def _naive_is_best_somewhere(table: Table) -> Verdict:
    best = [least(means) for means in by_cell(table, _OPEN, N1=500, N4=0).values()]
    best += [least(means) for means in by_cell(table, _OPEN, "JS", N1=500, N4=0).values()]
    count = sum(name in (UNIFORM, OBSERVED) for name in best)
    return Verdict(count > 0, f"in {count} of {len(best)} cells without open reports")


def _private_reports_add_little(table: Table) -> Verdict:
    found = []
    for name in table.distinct("data", N1=20_000):
        for n4 in (0, 50):
            many, few = (
                table.mean(data=name, N1=n1, N4=n4, method=PROPOSAL, metric="MSE")
                for n1 in (20_000, 500)
            )
            found.append(many / few)
    return Verdict(min(found) > 0.6 and max(found) < 1.2, f"{min(found):.2f} to {max(found):.2f}")


def _part(metric: str, above: bool) -> Check:
    """Whether the proposal's part of the error is above, or below, EM's in every cell."""

    def check(table: Table) -> Verdict:
        means = by_cell(table, _OPEN, metric).values()
        right = [(found[PROPOSAL] > found[EM]) == above for found in means]
        return Verdict(all(right), f"in {sum(right)} of {len(right)} cells")

    return check


def _variance_of_naive(table: Table) -> Verdict:
    means = by_cell(table, _OPEN, "variance").values()
    uniform = max(found[UNIFORM] for found in means)
    observed = max(found[OBSERVED] / found[EM] for found in means)
    return Verdict(
        uniform < 1e-30 and observed < 0.1,
        f"Uniform {uniform:.1g}, ObfDat at most {observed:.3f} of EM's",
    )


# Figure 6.
_SIZE = ("data", "N")


def _naive_is_best_of_few(table: Table) -> Verdict:
    smallest = min(table.distinct("N"))
    best = {name: least(means) for (name, _), means in by_cell(table, _SIZE, N=smallest).items()}
    return Verdict(
        all(method in (UNIFORM, OBSERVED) for method in best.values()),
        f"N = {smallest}: " + ", ".join(f"{name} {method}" for name, method in best.items()),
    )


def _best_from(name: str, start: int) -> Claim:
    def check(table: Table) -> Verdict:
        best = {
            (n, metric): least(means)
            for metric in ("MSE", "JS")
            for (_, n), means in by_cell(table, _SIZE, metric, data=name).items()
            if n >= start
        }
        return Verdict(
            set(best.values()) == {PROPOSAL},
            ", ".join(f"{metric} at {n}: {method}" for (n, metric), method in best.items()),
        )

    return Claim(f"On {name} Proposal is the best of six from N = {start:,} on.", check)


def _falls_with_n(table: Table) -> Verdict:
    falls = []
    for name in table.distinct("data"):
        means = [found[PROPOSAL] for found in by_cell(table, _SIZE, data=name).values()]
        falls.append(means[-1] / means[0])
    return Verdict(max(falls) < 0.5, ", ".join(f"{fall:.2f} times" for fall in falls))


# Figures 8, 9 and 10.
_GROUPS = ("data", "N2", "N3")


def _gains_shrink_with_n3(table: Table) -> Verdict:
    found = []
    for (name, n2), rows in table.select(metric="MSE").groups(["data", "N2"]).items():
        numbers = rows.distinct("N3")
        first, last = (rows.ratio(PROPOSAL, EM, N3=n3) for n3 in (numbers[0], numbers[-1]))
        found.append((f"{name} N2 = {n2}", first, last))
    return Verdict(
        all(first < min(1, last) for _, first, last in found),
        "; ".join(f"{name}: {first:.2f}, then {last:.2f}" for name, first, last in found),
    )


def _pair(table: Table, metric: str) -> np.ndarray:
    return table.values(method=PAIR, metric=metric)


def _correlated(table: Table) -> Verdict:
    r = _pair(table, "correlation")
    return Verdict(
        float(np.mean(r > 0.9)) > 0.5,
        f"above 0.9 in {np.sum(r > 0.9)} of {r.size} cells, {r.min():.2f} to {r.max():.2f}",
    )


def _significant(table: Table) -> Verdict:
    better = np.array(ratios(table, PROPOSAL, EM, _GROUPS)) < 1
    small = _pair(table, "p-value") < 0.05
    return Verdict(
        float(np.mean(small[better])) > 0.9,
        f"for Proposal in {np.sum(small & better)} of {better.sum()} cells, against it in "
        f"{np.sum(small & ~better)} of {np.sum(~better)}",
    )


def _naive_is_best_without_n3(table: Table) -> Verdict:
    best = [least(means) for means in by_cell(table, _GROUPS, N3=0).values()]
    count = sum(method in (UNIFORM, OBSERVED) for method in best)
    return Verdict(count == len(best), f"in {count} of {len(best)} cells with N3 = 0")


def _best_at(name: str, numbers: list[int]) -> Claim:
    def check(table: Table) -> Verdict:
        best = {
            (n2, n3): least(means)
            for (_, n2, n3), means in by_cell(table, _GROUPS, data=name, N3=numbers).items()
        }
        count = sum(method == PROPOSAL for method in best.values())
        return Verdict(
            count > len(best) / 2, ", ".join(f"{key}: {method}" for key, method in best.items())
        )

    between = " and ".join(str(n) for n in numbers)
    return Claim(
        f"On {name} Proposal is the best of six in most cells with N3 = {between} (N2, N3).", check
    )


_FIG8 = cells_of(data=list(SETS), N2=[500, 2000], N3=[0, 50, 150])
_QUICK_RUNS = 12


def _line(x: str, metric: str, value: str, **where: Any) -> Picture:
    return Picture(
        "line",
        x,
        facet="data",
        where={"metric": metric, **where},
        log_y=True,
        value=value,
        name="-".join([metric.replace(" ", "-"), *(f"{k}-{v}" for k, v in where.items())]),
    )


def _open_cells(numbers: list[int], sets: Sequence[str]) -> Cells:
    return (
        *cells_of(data=list(sets), N1=[500], N4=numbers),
        *cells_of(data=list(_THREE), N1=[20_000], N4=[0, 50]),
    )


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="P1/fig5",
        title="Errors where few people send their value as it is",
        says="Budgets 0.1, 2, ln K and infinity; (N1, N2, N3) = (500, 500, 50) in figs 5 and 13, "
        "(20000, 500, 50) in figs 7 and 15, and N4 = 0 to 50 people who send their value as it is. "
        "MatInv proj is much worse than the others; EM beats both inversions in most cases; "
        "Proposal beats EM, most where N4 is small, where Uniform or ObfDat is the best in some "
        "cases. 20,000 people with epsilon 0.1 change little, because they send the truth with "
        "probability 0.39, 0.27 and 0.28 % only. Proposal has less variance than EM and more bias.",
        measure=_measure(_some_open),
        cells=_open_cells([0, 10, 20, 50], list(SETS)),
        quick_cells=_open_cells([0, 50], _THREE),
        runs=100,
        quick_runs=_QUICK_RUNS,
        claims=(
            Claim("MatInv proj errs more than twice as much as any other.", _projected_is_worst),
            Claim("EM has a smaller MSE than the inversions in most cells.", _em_beats_inversion),
            *_outperforms(_OPEN),
            Claim(
                f"Proposal has a smaller MSE than EM in every cell of {TOKYO}.",
                _always_less(PROPOSAL, EM, _OPEN, "MSE", data=TOKYO),
                quick=False,
            ),
            Claim(
                "Proposal gains more over EM at N4 = 0 than at N4 = 50.",
                _gains_without_open_reports,
            ),
            Claim("At N4 = 0 Uniform or ObfDat is the best somewhere.", _naive_is_best_somewhere),
            Claim(
                "20,000 people with epsilon 0.1 change Proposal's MSE by less than 40 %.",
                _private_reports_add_little,
            ),
            Claim(
                "Figs 13 and 15: Proposal has less variance than EM in every cell.",
                _part("variance", above=False),
            ),
            Claim(
                "Figs 13 and 15: Proposal has more bias than EM in every cell.",
                _part("squared bias", above=True),
            ),
            Claim(
                "Figs 13 and 15: Uniform has no variance, and ObfDat nearly none.",
                _variance_of_naive,
            ),
        ),
        pictures=(
            _line("N4", "MSE", "sum of squared errors", N1=500),
            _line("N4", "JS", "Jensen-Shannon divergence (nats)", N1=500),
            _line("N4", "squared bias", "squared bias", N1=500),
            _line("N4", "variance", "variance", N1=500),
            _line("N4", "MSE", "sum of squared errors", N1=20_000),
            _line("N4", "variance", "variance", N1=20_000),
        ),
        data=FILES,
        differs=DIFFERS + " Fig 7 has two values of N4.",
        also=("P1/fig7", "P1/fig13", "P1/fig15"),
    ),
    Experiment(
        name="P1/fig6",
        title="Errors over the number of people, whose budgets stay in proportion",
        says="N1 : N2 : N3 : N4 = 10 : 10 : 1 : 1. For very small N Uniform or ObfDat has the "
        "smallest MSE in all data. Proposal's errors fall fast with N, and it is the best in both "
        "losses from N = 660, 1,320 and 440 on (People-flow, Foursquare, census). Fig 14 has the "
        "bias and the variance.",
        measure=_measure(_ten_ten_one_one),
        cells=cells_of(data=list(_THREE), N=[110, 660, 1320, 4400]),
        quick_cells=cells_of(data=list(_THREE), N=[110, 1320]),
        runs=100,
        quick_runs=_QUICK_RUNS,
        claims=(
            Claim("For very small N Uniform or ObfDat is the best.", _naive_is_best_of_few),
            Claim("Proposal's MSE falls by half and more from N = 110 on.", _falls_with_n),
            _best_from(FLOW, 660),
            _best_from(CITIES, 1320),
            _best_from(CENSUS, 440),
            *_outperforms(_SIZE),
            Claim(
                "Fig 14: Proposal has less variance than EM in every cell.",
                _always_less(PROPOSAL, EM, _SIZE, "variance"),
            ),
        ),
        pictures=(
            _line("N", "MSE", "sum of squared errors"),
            _line("N", "JS", "Jensen-Shannon divergence (nats)"),
            _line("N", "squared bias", "squared bias"),
            _line("N", "variance", "variance"),
        ),
        data=FILES,
        differs=DIFFERS,
        also=("P1/fig14",),
    ),
    Experiment(
        name="P1/fig8",
        title="Squared errors of EM and Proposal with two budgets, and the best method",
        says="N1 = N4 = 0; N2 people with epsilon 2, N3 with ln K. Fig 8: Proposal beats EM where "
        "N3 is small. Fig 9: the squared errors of both over 100 runs have a correlation very "
        "close to one in most cells, and the difference is significant (p < 0.05). Fig 10: Uniform "
        "or ObfDat is the best at N3 = 0; Proposal is effective at N3 = 100 to 200 (People-flow, "
        "Foursquare) and 30 to 60 (census), and nearly equal to EM where N2 and N3 are large.",
        measure=_measure(_two_groups),
        cells=_FIG8,
        quick_cells=cells_of(data=list(_THREE), N2=[500], N3=[0, 50, 150]),
        runs=100,
        quick_runs=_QUICK_RUNS,
        claims=(
            Claim(
                "Fig 8: Proposal beats EM at N3 = 0, by more than at N3 = 150.",
                _gains_shrink_with_n3,
            ),
            Claim(
                "Proposal errs less than EM in most cells.",
                _mostly_less(PROPOSAL, EM, _GROUPS, "MSE"),
            ),
            Claim("Fig 9: r is above 0.9 in most cells.", _correlated),
            Claim(
                "Fig 9: where Proposal errs less, p < 0.05 in nine cells of ten.",
                _significant,
                quick=False,
            ),
            Claim("Fig 10: Uniform or ObfDat is the best at N3 = 0.", _naive_is_best_without_n3),
            _best_at(FLOW, [150]),
            _best_at(CITIES, [150]),
            _best_at(CENSUS, [50]),
        ),
        pictures=tuple(
            Picture(
                "box",
                "N3",
                facet="data",
                where={"metric": "MSE", "N2": n2, "method": [EM, PROPOSAL]},
                log_y=True,
                value="squared error",
                name=f"fig8-N2-{n2}",
                title=f"Squared errors of 100 runs, N2 = {n2}",
            )
            for n2 in (500, 2000)
        )
        + tuple(
            Picture(
                "line",
                "N3",
                "N2",
                facet="data",
                where={"metric": metric, "method": PAIR},
                log_y=metric == "p-value",
                value=metric,
                name=f"fig9-{metric}",
                title=f"EM's and Proposal's squared errors: {metric}",
            )
            for metric in ("correlation", "p-value")
        )
        + (
            Picture(
                "line",
                "N3",
                facet="data",
                where={"metric": "MSE", "N2": 2000},
                log_y=True,
                value="sum of squared errors",
                name="fig10-N2-2000",
                title="All methods, N2 = 2000",
            ),
        ),
        data=FILES,
        differs=DIFFERS + " P1 does not print its grid of N2 and N3; six pairs are run.",
        also=("P1/fig9", "P1/fig10"),
    ),
)
