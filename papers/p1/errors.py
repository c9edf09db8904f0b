"""Figures 5, 6, 7 and 13 to 15 of P1: errors and their parts."""

from __future__ import annotations

from dataclasses import replace

from papers.experiment import Claim, Experiment, Failure, Reason, Verdict, cells_of
from papers.measure import Cell, Cells
from papers.measures import People, Reporters
from papers.p1.checks import (
    QUICK_RUNS,
    always_less,
    by_cell,
    least,
    line,
    measure,
    outperforms,
    ratios,
    spread,
)
from papers.p1.common import (
    ADULTS,
    CENSUS,
    CITIES,
    DIFFERS,
    EM,
    FILES,
    FLOW,
    NORM,
    OBSERVED,
    PROJ,
    PROPOSAL,
    THREE,
    UNIFORM,
    with_budgets,
)
from papers.table import Table
from papers.verdicts import Check


def _some_open(cell: Cell, people: People) -> Reporters:
    return with_budgets(people, (cell["N1"], 500, 50, cell["N4"]))


def _ten_ten_one_one(cell: Cell, people: People) -> Reporters:
    part = cell["N"] // 22
    return with_budgets(people, (10 * part, 10 * part, part, part))


# Figures 5, 7, 13 and 15.
_OPEN = ("data", "N1", "N4")


def _projected_is_worst(table: Table) -> Verdict:
    found = [
        means[PROJ] / max(value for method, value in means.items() if method != PROJ)
        for means in by_cell(table, _OPEN, data=THREE).values()
    ]
    return Verdict(min(found) > 2, f"{min(found):.1f} to {max(found):.0f} times the second worst")


def _em_beats_inversion(table: Table) -> Verdict:
    found = [
        ratio
        for other in (NORM, PROJ)
        for ratio in ratios(table, EM, other, _OPEN, data=THREE, N1=500)
    ]
    return Verdict(sum(r < 1 for r in found) > len(found) / 2, spread(found))


def _gains_without_open_reports(table: Table) -> Verdict:
    gains = {
        (name, n4): ratios(table, PROPOSAL, EM, _OPEN, data=name, N1=500, N4=n4)[0]
        for name in THREE
        for n4 in (0, 50)
    }
    return Verdict(
        all(gains[name, 0] < gains[name, 50] for name in THREE),
        "; ".join(f"{name} {gains[name, 0]:.2f} and {gains[name, 50]:.2f}" for name in THREE),
    )


def _naive_is_best_somewhere(table: Table) -> Verdict:
    best = [least(means) for means in by_cell(table, _OPEN, data=THREE, N1=500, N4=0).values()]
    best += [
        least(means) for means in by_cell(table, _OPEN, "JS", data=THREE, N1=500, N4=0).values()
    ]
    count = sum(name in (UNIFORM, OBSERVED) for name in best)
    return Verdict(count > 0, f"in {count} of {len(best)} cells without open reports")


def _private_reports_add_little(method: str) -> Check:
    """Whether 19,500 more people with epsilon 0.1 change the error of a method little."""

    def check(table: Table) -> Verdict:
        found = [
            rows.ratio(20_000, 500, by="N1")
            for rows in table.select(method=method, metric="MSE", data=THREE, N4=[0, 50])
            .groups(["data", "N4"])
            .values()
        ]
        return Verdict(
            min(found) > 0.6 and max(found) < 1.2, f"{min(found):.2f} to {max(found):.2f} times"
        )

    return check


def _part(metric: str, above: bool) -> Check:
    """Whether the proposal's part of the error is above, or below, EM's in every cell."""

    def check(table: Table) -> Verdict:
        means = by_cell(table, _OPEN, metric, data=THREE).values()
        right = [(found[PROPOSAL] > found[EM]) == above for found in means]
        return Verdict(all(right), f"in {sum(right)} of {len(right)} cells")

    return check


def _variance_of_naive(table: Table) -> Verdict:
    means = by_cell(table, _OPEN, "variance", data=THREE).values()
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


def _alike(name: str) -> Check:
    """Whether both losses of Proposal and EM are nearly the same where people are many."""

    def check(table: Table) -> Verdict:
        many = max(table.distinct("N"))
        found = {
            metric: ratios(table, PROPOSAL, EM, _SIZE, metric, data=name, N=many)[0]
            for metric in ("MSE", "JS")
        }
        return Verdict(
            all(0.9 < ratio < 1.1 for ratio in found.values()),
            ", ".join(f"{metric} {ratio:.3f} times" for metric, ratio in found.items()),
        )

    return check


def _best(table: Table, name: str) -> dict[tuple[int, str], str]:
    """The best of the six methods, by number of people and loss."""
    return {
        (n, metric): least(means)
        for metric in ("MSE", "JS")
        for (_, n), means in by_cell(table, _SIZE, metric, data=name).items()
    }


def _best_at(name: str, start: int) -> Claim:
    def check(table: Table) -> Verdict:
        best, numbers = _best(table, name), table.distinct("N")
        before = max(n for n in numbers if n < start)
        right = {best[start, metric] for metric in ("MSE", "JS")} == {PROPOSAL}
        wrong = {best[before, metric] for metric in ("MSE", "JS")} == {PROPOSAL}
        return Verdict(
            right and not wrong,
            ", ".join(
                f"{metric} at {n}: {best[n, metric]}"
                for n in (before, start)
                for metric in ("MSE", "JS")
            ),
        )

    return Claim(
        f"On {name} Proposal is the best of six, by MSE and JS, at N = {start:,}, and not yet at "
        "the number before.",
        check,
        held=True,
        quick=False,
        words=_FROM,
    )


def _best_from(name: str, start: int, failure: Failure | None = None) -> Claim:
    def check(table: Table) -> Verdict:
        best = {key: method for key, method in _best(table, name).items() if key[0] >= start}
        return Verdict(
            set(best.values()) == {PROPOSAL},
            ", ".join(f"{metric} at {n}: {method}" for (n, metric), method in best.items()),
        )

    return Claim(
        f"On {name} Proposal is the best of six, by MSE and JS, at all N from {start:,} to 4,400.",
        check,
        held=failure is None,
        quick=False,
        words=_FROM,
        failure=failure,
    )


_FROM = (
    "Proposal provides the best performance with respect to both the MSE and the JS divergence "
    "when N is more than or equal to 660, 1320, and 440 in the People-flow, Foursquare, and US "
    "Census datasets (sec 5.2)"
)


def _falls_with_n(table: Table) -> Verdict:
    falls = []
    for name in table.distinct("data"):
        means = [found[PROPOSAL] for found in by_cell(table, _SIZE, data=name).values()]
        falls.append(means[-1] / means[0])
    return Verdict(max(falls) < 0.75, ", ".join(f"{fall:.2f} times" for fall in falls))


def _open_cells(numbers: list[int]) -> Cells:
    return (
        *cells_of(data=[*THREE, ADULTS], N1=[500], N4=numbers),
        *cells_of(data=[*THREE, ADULTS], N1=[20_000], N4=[0, 50]),
    )


_PRIVATE = Failure(
    Reason.REAL,
    "at N1 = 20,000 and N4 = 50 P1's rule takes alpha 0.9 where 0.3 errs least: the truth of its "
    "simulation is the histogram of the reports, which is nearly even where most are private.",
    "P1, figure 7: alpha is too large where most reports are private",
)
_MANY = Failure(
    Reason.REAL,
    "Proposal becomes the best at this number, and is no longer so where people are many and the "
    "shares uneven: there it errs as much as EM, or more.",
    "P1, figure 6: nothing is gained where people are many",
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
        measure=measure(_some_open),
        cells=_open_cells([0, 10, 20, 50]),
        quick_cells=_open_cells([0, 50]),
        runs=100,
        quick_runs=QUICK_RUNS,
        claims=(
            Claim(
                "MatInv proj errs more than twice as much as any other.",
                _projected_is_worst,
                held=True,
                words="the performance of MatInv_proj is much worse than that of the other "
                "inference methods (sec 5.2)",
            ),
            Claim(
                "EM has a smaller MSE than the inversions in most cells.",
                _em_beats_inversion,
                held=True,
                words="EM outperforms MatInv_norm and MatInv_proj in most cases (sec 5.2)",
            ),
            *outperforms(
                _OPEN,
                "Fig 5:",
                "It can also be seen that Proposal outperforms EM (sec 5.2)",
                failures={},
                N1=500,
            ),
            *outperforms(
                _OPEN,
                "Fig 7:",
                "Fig. 7 is very similar to Fig. 5 (sec 5.2)",
                failures={
                    ("MSE", CENSUS): _PRIVATE,
                    ("JS", FLOW): _PRIVATE,
                    ("JS", CENSUS): _PRIVATE,
                },
                N1=20_000,
            ),
            Claim(
                f"Figs 5 and 7: Proposal has a smaller MSE than EM in every cell of the {ADULTS}.",
                always_less(PROPOSAL, EM, _OPEN, "MSE", data=ADULTS),
                held=True,
                ours=True,
            ),
            Claim(
                "Proposal gains more over EM at N4 = 0 than at N4 = 50.",
                _gains_without_open_reports,
                held=True,
                words="Proposal significantly outperforms EM when N4 is small. This is because the "
                "estimation error of EM is large in this case (sec 5.2)",
            ),
            Claim(
                "At N4 = 0 Uniform or ObfDat is the best somewhere.",
                _naive_is_best_somewhere,
                held=True,
                words="when N4 is small, Uniform or ObfDat provides the best performance in some "
                "cases (sec 5.2)",
            ),
            *(
                Claim(
                    f"20,000 people with epsilon 0.1 change {method}'s MSE by less than 40 %.",
                    _private_reports_add_little(method),
                    held=method == EM,
                    quick=False,
                    words="Fig. 7 is very similar to Fig. 5, and the MSE and the JS divergence are "
                    "only slightly decreased (or not decreased) by increasing N1 (sec 5.2)",
                    failure=None if method == EM else replace(_PRIVATE, reason=Reason.UNSTATED),
                )
                for method in (EM, PROPOSAL)
            ),
            Claim(
                "Figs 13 and 15: Proposal has less variance than EM in every cell.",
                _part("variance", above=False),
                held=True,
                words="Proposal significantly reduces the variance (app. C)",
            ),
            Claim(
                "Figs 13 and 15: Proposal has more bias than EM in every cell.",
                _part("squared bias", above=True),
                held=True,
                words="the bias of Proposal is larger than that of EM (app. C)",
            ),
            Claim(
                "Figs 13 and 15: Uniform has no variance, and ObfDat nearly none.",
                _variance_of_naive,
                held=True,
                words="the variance of the estimate is 0 in Uniform, and is close to 0 in ObfDat "
                "(app. C)",
            ),
        ),
        pictures=(
            line("N4", "MSE", "sum of squared errors", N1=500),
            line("N4", "JS", "Jensen-Shannon divergence (nats)", N1=500),
            line("N4", "squared bias", "squared bias", N1=500),
            line("N4", "variance", "variance", N1=500),
            line("N4", "MSE", "sum of squared errors", N1=20_000),
            line("N4", "variance", "variance", N1=20_000),
        ),
        data=FILES,
        differs=DIFFERS + " Fig 7 has two values of N4.",
        conclusion="Same. In all cells of fig 5 Proposal errs less than EM on all three data "
        "sets, in MSE (0.63 to 0.94 times) and JS. On People-flow ObfDat has the least MSE "
        "without open reports, and on the cities Uniform the least JS, which are P1's own two "
        "examples. Variance is exchanged for bias in every cell. Fig 7 is alike but for the cell "
        "N1 = 20,000, N4 = 50: there the census errs more by Proposal (1.66 times), and "
        "People-flow in JS (1.20 times), because alpha is too large. On a census of adults alone, "
        "whose shares are more even, Proposal has 0.37 to 0.66 of EM's MSE in every cell.",
        also=("P1/fig7", "P1/fig13", "P1/fig15"),
        revision=2,
    ),
    Experiment(
        name="P1/fig6",
        title="Errors over the number of people, whose budgets stay in proportion",
        says="N1 : N2 : N3 : N4 = 10 : 10 : 1 : 1. For very small N Uniform or ObfDat has the "
        "smallest MSE in all data. Proposal's errors fall fast with N, and it is the best in both "
        "losses from N = 660, 1,320 and 440 on (People-flow, Foursquare, census). Fig 14 has the "
        "bias and the variance.",
        measure=measure(_ten_ten_one_one),
        cells=cells_of(data=list(THREE), N=[110, 220, 440, 660, 1320, 4400]),
        quick_cells=cells_of(data=list(THREE), N=[110, 1320]),
        runs=100,
        quick_runs=QUICK_RUNS,
        claims=(
            Claim(
                "At N = 110 Uniform or ObfDat is the best.",
                _naive_is_best_of_few,
                held=True,
                words="when N is very small, the MSE of Uniform or ObfDat is the smallest in all "
                "of the datasets (sec 5.2)",
            ),
            Claim(
                "Proposal's MSE falls by a quarter and more.",
                _falls_with_n,
                held=True,
                words="the MSE and the JS divergence of Proposal rapidly decrease as N increases "
                "(sec 5.2)",
            ),
            _best_at(FLOW, 660),
            _best_at(CITIES, 1320),
            _best_at(CENSUS, 440),
            _best_from(FLOW, 660, _MANY),
            _best_from(CITIES, 1320),
            _best_from(CENSUS, 440, _MANY),
            *outperforms(
                _SIZE,
                "Up to N = 1,320",
                "the proposed method significantly outperforms the EM reconstruction method in all "
                "of the datasets when N or epsilon is small (abstract)",
                failures={("MSE", CENSUS): _MANY},
                real=[("JS", CENSUS)],
                N=[110, 220, 440, 660, 1320],
            ),
            *(
                Claim(
                    f"At N = 4,400 the errors of Proposal and EM on {name} differ by less than "
                    "10 %.",
                    _alike(name),
                    held=name != CENSUS,
                    quick=False,
                    words="Proposal provides almost the same performance as EM when N is large in "
                    "our experiments (sec 4.4)",
                    failure=replace(_MANY, reason=Reason.UNSTATED) if name == CENSUS else None,
                )
                for name in THREE
            ),
            Claim(
                "Fig 14: Proposal has less variance than EM in every cell.",
                always_less(PROPOSAL, EM, _SIZE, "variance"),
                held=True,
                words="Proposal significantly reduces the variance (app. C)",
            ),
        ),
        pictures=(
            line("N", "MSE", "sum of squared errors"),
            line("N", "JS", "Jensen-Shannon divergence (nats)"),
            line("N", "squared bias", "squared bias"),
            line("N", "variance", "variance"),
        ),
        data=FILES,
        differs=DIFFERS,
        conclusion="Same. Proposal becomes the best of six in both losses at N = 660 on "
        "People-flow, 1,320 on the cities and 440 on the census, as P1 prints, and not at the "
        "number before. At N = 4,400 it errs as EM does on People-flow and the cities (0.95 to "
        "1.03 times), and more on the census (1.14 times). With eq 24 as printed none of these "
        "numbers comes out.",
        also=("P1/fig14",),
        revision=2,
    ),
)
