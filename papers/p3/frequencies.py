"""Shares of items by GRR and OLH, with EM and mixture reduction [P3 figs 4, 7, 8]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.data_sets import DataFolder
from papers.experiment import Claim, Experiment, Failure, Picture, Reason, Verdict, cells_of
from papers.measure import Cell, Runs
from papers.measures import EstimationError, Methods, People, Reporters, of_shares
from papers.p3.data import HISTOGRAMS, items
from papers.p3.methods import IIW, MiscountedWienerFilter, em, from_norm_sub, reduction, stop
from papers.table import Row, Table
from papers.verdicts import Check, all_of, ratios, spread
from warner import metrics
from warner.estimators import Estimator, Inversion, MaximumLikelihood
from warner.estimators.literature import MixtureReduction, SmoothedEM
from warner.mechanisms import LocalHashing, RandomizedResponse

_SEEDS = 1024  # of the public pool of hash functions
FULL, TOP, SQUARES = "MAE", "MAE of the top tenth", "MSE"
_CELL = ("data", "protocol", "epsilon")


def _people(cell: Cell, data: DataFolder) -> People:
    return items(cell["data"], data)


def _reporters(cell: Cell, people: People) -> Reporters:
    epsilon = cell["epsilon"]
    if cell["protocol"] == "GRR":
        return [(RandomizedResponse(people.domain, epsilon), people.reporting)]
    return [(LocalHashing(people.domain, epsilon, seeds=_SEEDS), people.reporting)]


def _published(cell: Cell) -> dict[str, Estimator]:
    """The methods of figs 4 and 7; EM and MR have the same stop."""
    tolerance = stop(cell["epsilon"], cell["protocol"])
    return {
        "unbiased": Inversion(None),
        "Base-Cut": Inversion("norm-cut"),  # its name in the source of P3, Wang et al. (2020)
        "Norm-Sub": Inversion("norm-sub"),
        "IIW": IIW,
        "EM": em(tolerance),
        "MR": reduction(tolerance),
    }


_SIZE = {"S-MN": 5_000, "SFC": 39_126, "Income": 333_426}


def _with_ablations(cell: Cell) -> Methods:
    """The published methods, exact fits without and with merging, and the start of P3's code."""
    methods: dict[str, Estimator] = {
        **_published(cell),
        "maximum": MaximumLikelihood(1e-6),
        "MR, exact fits": MixtureReduction("mle"),
    }
    if cell["protocol"] == "OLH":
        methods["EM from Norm-Sub"] = from_norm_sub(cell["epsilon"], _SIZE[cell["data"]])
    return methods


_LOSSES = {
    FULL: of_shares(metrics.mean_absolute_error),
    TOP: of_shares(lambda truth, found: metrics.mean_absolute_error(truth, found, top=0.1)),
    SQUARES: of_shares(metrics.mean_squared_error),
}


def _share_of_cells(
    first: str,
    second: str,
    below: float,
    share: float,
    within: Sequence[str] = _CELL,
    **where: Any,
) -> Check:
    """The check that a ratio of errors is below a number in at least a share of the cells."""

    def check(table: Table) -> Verdict:
        each = ratios(table, first, second, within, **where)
        count = sum(ratio < below for ratio in each)
        return Verdict(
            count >= share * len(each), f"below {below:g} in {count} cells: {spread(each)}"
        )

    return check


def _within(first: str, second: str, low: float, high: float, **where: Any) -> Check:
    """The check that a ratio of errors lies in a range in every cell."""

    def check(table: Table) -> Verdict:
        each = ratios(table, first, second, _CELL, **where)
        return Verdict(low < min(each) and max(each) < high, spread(each))

    return check


def _best(methods: Sequence[str], winner: str, share: float, **where: Any) -> Check:
    """The check that one method errs least of some in at least a share of the cells."""

    def check(table: Table) -> Verdict:
        groups = list(table.select(**where).groups(_CELL).values())
        count = sum(min(methods, key=lambda m: g.mean(method=m)) == winner for g in groups)
        return Verdict(count >= share * len(groups), f"in {count} of {len(groups)} cells")

    return check


def _never(method: str) -> Check:
    """The check that a published method errs least in no cell of SFC and Income."""
    least = _best(_PUBLISHED, method, 1e-9, metric=FULL, data=["SFC", "Income"])

    def check(table: Table) -> Verdict:
        verdict = least(table)
        return Verdict(not verdict.holds, verdict.figure)

    return check


def _stop_moves_more(table: Table) -> Verdict:
    """Whether stopping EM moves its error by a larger factor than merging in most cells."""
    where = {"metric": SQUARES}
    stopping = ratios(table, "EM", "maximum", _CELL, **where)
    merging = ratios(table, "MR", "EM", _CELL, **where)
    pairs = zip(stopping, merging, strict=True)
    count = sum(abs(math.log(s)) > abs(math.log(m)) for s, m in pairs)
    return Verdict(count >= 0.75 * len(merging), f"in {count} of {len(merging)} cells")


_PUBLISHED = ["unbiased", "Base-Cut", "Norm-Sub", "IIW", "EM", "MR"]
_SHOWN = [*_PUBLISHED, "maximum", "EM from Norm-Sub"]
_HASHES = (
    "OLH draws from a public pool of 1,024 hash functions. EM starts at the uniform distribution. "
    "P3 names no stop; EM and MR both have that of MR in its code, 0.001 e^epsilon nats for GRR "
    "and 0.01 e^epsilon for OLH, so that they differ by the merging alone. The code itself stops "
    "the two at different places, and it never merges the first 10 or 30 items of its histograms, "
    "which are sorted by their true counts; here items are shuffled and none is spared. The "
    "maximum is EM run to its end."
)

FIG4 = Experiment(
    name="P3/fig4",
    title="Errors of the shares of items over epsilon",
    says="MR lowers the mean absolute error of EM by 10 to 30 % (20 to 30 % on Income) and that of "
    "the unbiased estimate by about one half. IIW has no advantage. On the most frequent tenth of "
    "the items MR errs least at epsilon up to 1, and the unbiased estimate at epsilon 2.",
    measure=EstimationError(_people, _reporters, _with_ablations, _LOSSES, sampling="everyone"),
    cells=cells_of(
        data=["S-MN", "SFC", "Income"], protocol=["GRR", "OLH"], epsilon=[0.5, 1.0, 2.0]
    ),
    runs=12,
    quick_cells=cells_of(data=["S-MN", "SFC"], protocol=["GRR", "OLH"], epsilon=[0.5, 2.0]),
    quick_runs=4,
    claims=(
        Claim(
            "MR lowers the MAE of EM by 10 % or more in most cells.",
            _share_of_cells("MR", "EM", 0.9, 0.5, metric=FULL),
            held=False,
            words='"In comparison to the EM method, MAE is reduced by 10 % ~ 30 %" (sec VI-C)',
            failure=Failure(
                Reason.REAL,
                "in the authors' own released GRR code MR has 0.97 to 1.08 times the MAE of EM on "
                "their histogram of SFC.",
                "P3, figures 4 to 9 and table II: merging against EM",
            ),
        ),
        Claim(
            "MR lowers the MAE of EM by 20 % or more on Income in most cells.",
            _share_of_cells("MR", "EM", 0.8, 0.5, metric=FULL, data="Income"),
            held=False,
            words='"(Income dataset), our MR exhibits a reduction in MAE ranging from 20 % to 30 % '
            'compared to EM" (sec VI-C)',
            failure=Failure(
                Reason.REAL,
                "as on SFC, where the authors' own released code gives 0.97 to 1.08 times.",
                "P3, figures 4 to 9 and table II: merging against EM",
            ),
            quick=False,
        ),
        Claim(
            "MR has at most 0.6 of the MAE of the unbiased estimate in most cells.",
            _share_of_cells("MR", "unbiased", 0.6, 0.5, metric=FULL),
            held=True,
            words='"in comparison to unbiased estimation methods, MAE is reduced by approximately '
            '50 %" (sec VI-C)',
        ),
        Claim(
            "The unbiased estimate has a larger MAE than MR in every cell.",
            _within("MR", "unbiased", 0.0, 1.0, metric=FULL),
            held=True,
            words='"Unbiased estimation shows the highest MAE" (sec VI-C)',
        ),
        Claim(
            "IIW has no advantage on SFC and Income: the least MAE in no cell.",
            _never("IIW"),
            held=True,
            words='"the -IIW method does not demonstrate its advantages" (sec VI-C)',
        ),
        Claim(
            "MR errs least on the most frequent tenth at epsilon up to 1 in most cells.",
            _best(_PUBLISHED, "MR", 0.51, metric=TOP, epsilon=[0.5, 1.0]),
            held=False,
            words='"when epsilon <= 1, our MR performs best" (frequent values, sec VI-C)',
            failure=Failure(
                Reason.REAL,
                "MR has 0.94 to 1.00 times the error of EM there, and the unbiased estimate or a "
                "projection is better or worse by the protocol, in a script of our own too "
                "(papers/checks/p3_merging.py).",
                "P3, figures 4 to 9 and table II: merging against EM",
            ),
        ),
        Claim(
            "The unbiased estimate errs least on the most frequent tenth at epsilon 2 in most "
            "cells.",
            _best(_PUBLISHED, "unbiased", 0.51, metric=TOP, epsilon=2.0),
            held=False,
            words='"when the epsilon is large (= 2), the unbiased estimation methods of OLH and '
            'GRR are the ones with the minimum MAE" (sec VI-C)',
            failure=Failure(
                Reason.REAL,
                "at epsilon 2 it is within a tenth of EM and MR, on one side with GRR and on the "
                "other with OLH (papers/checks/p3_merging.py).",
                "P3, figures 4 to 9 and table II: merging against EM",
            ),
        ),
        Claim(
            "Merging changes the MAE of EM by less than 10 % in every cell.",
            _within("MR", "EM", 0.9, 1.1, metric=FULL),
            held=True,
            ours=True,
        ),
        Claim(
            "With GRR at epsilon 0.5 EM with this stop, which merges nothing, has a MAE 10 % or "
            "more below that of EM run to its end.",
            _share_of_cells("EM", "maximum", 0.9, 1.0, metric=FULL, protocol="GRR", epsilon=[0.5]),
            held=True,
            ours=True,
        ),
        Claim(
            "With OLH EM with the start and stop of P3's code for MR, and no merging, has the MAE "
            "of EM run to its end, within 5 %.",
            _within("EM from Norm-Sub", "maximum", 0.95, 1.05, metric=FULL, protocol="OLH"),
            held=True,
            ours=True,
        ),
        Claim(
            "With OLH on SFC and Income that start lowers the MAE of EM in every cell, without "
            "merging.",
            _within(
                "EM from Norm-Sub",
                "EM",
                0.0,
                1.0,
                metric=FULL,
                protocol="OLH",
                data=["SFC", "Income"],
            ),
            held=True,
            quick=False,
            ours=True,
        ),
        Claim(
            "Merging with exact fits lowers the MSE of the maximum by 10 % at most.",
            _within("MR, exact fits", "maximum", 0.9, math.inf, metric=SQUARES),
            held=True,
            ours=True,
        ),
        Claim(
            "For GRR the stop lowers the MSE of the maximum in nearly all cells.",
            _share_of_cells("EM", "maximum", 1.0, 0.85, metric=SQUARES, protocol="GRR"),
            held=True,
            ours=True,
        ),
        Claim(
            "The stop moves the MSE by a larger factor than the merging in most cells.",
            _stop_moves_more,
            held=True,
            ours=True,
        ),
    ),
    pictures=tuple(
        Picture(
            "line",
            "epsilon",
            facet="data",
            where={"metric": metric, "protocol": protocol, "method": _SHOWN},
            log_y=True,
            title=f"{protocol}: {metric} of the shares over epsilon",
            value="mean absolute error",
            name=f"{protocol}-{name}".lower(),
        )
        for protocol in ("GRR", "OLH")
        for metric, name in ((FULL, "all"), (TOP, "top"))
    ),
    data=(HISTOGRAMS,),
    differs=_HASHES + " SFC and Income are the histograms in the code of P3 (60 and 222 items, "
    "39,126 and 333,426 people); S-MN has 100 bins and 5,000 people.",
    conclusion="Not the same. With one stop for both, MR has 0.99 to 1.06 times the MAE of "
    "EM in all 18 cells; the printed 10 to 30 % are not found. The early stop can give such a "
    "gain: with GRR at epsilon 0.5 EM that merges nothing has 18 to 24 % less than EM run to "
    "its end. At epsilon 2 the stop gains nothing, and with OLH on SFC and Income it costs up "
    "to 18 %. There a start at Norm-Sub, which the authors' code gives to MR alone, lowers "
    "the MAE by 2 to 13 % without any merging. With exact fits merging raises the MSE or "
    "leaves it. MR has less than 0.6 of the MAE of the unbiased estimate in 11 of 18 cells. "
    "On the most frequent tenth MR is best in no cell. Three of our claims were written after "
    "the first results: the stop at epsilon 0.5, and the two on the start at Norm-Sub. We "
    "first expected the stop to gain 10 % in most cells of GRR, and the start to gain as much "
    "over EM run to its end; neither holds. Three bars were set after the first results too: "
    "0.6 for 'about half', SFC and Income alone for IIW, and half of the cells for 'most'.",
)


def _even(cell: Cell) -> Methods:
    methods: dict[str, Estimator] = {
        **_published(cell),
        "EMS": SmoothedEM(stop(cell["epsilon"], cell["protocol"])),
        "maximum": MaximumLikelihood(1e-6),
    }
    if cell["protocol"] == "GRR":
        methods["IIW as coded"] = MiscountedWienerFilter()
    return methods


FIG7 = Experiment(
    name="P3/fig7",
    title="The worst case: a uniform distribution of 100 values",
    says="MR has a lower mean absolute error than EM with both protocols. EM is better than the "
    "unbiased estimate. IIW is as good as EMS, because the distribution is smooth.",
    measure=EstimationError(_people, _reporters, _even, {FULL: _LOSSES[FULL]}, sampling="everyone"),
    cells=cells_of(data=["uniform"], protocol=["GRR", "OLH"], epsilon=[0.5, 1.0, 2.0]),
    runs=20,
    quick_cells=cells_of(data=["uniform"], protocol=["GRR", "OLH"], epsilon=[0.5, 2.0]),
    quick_runs=4,
    claims=(
        Claim(
            "MR errs less than EM in every cell.",
            _within("MR", "EM", 0.0, 1.0),
            held=False,
            words='"our estimation method, MR, achieves lower MAE than EM on both GRR and OLH '
            'protocols" (app. C)',
            failure=Failure(
                Reason.REAL,
                "in the authors' own released GRR code MR has 3.1, 1.5 and 1.3 times the MAE of EM "
                "at epsilon 0.5, 1 and 2 (0.0091 for 0.0030): EM starts at the truth.",
                "P3, figures 4 to 9 and table II: merging against EM",
            ),
        ),
        Claim(
            "EM errs less than the unbiased estimate.",
            _within("EM", "unbiased", 0.0, 1.0),
            held=True,
            words='"EM-based MLE is better than unbiased estimations" (app. C)',
        ),
        Claim(
            "IIW errs as EMS does, up to a factor of 1.5.",
            _within("IIW", "EMS", 0.67, 1.5),
            held=False,
            words='"because the uniform dataset is definitely smoothing, -IIW performs as well as '
            'the -EMS" (app. C)',
            failure=Failure(
                Reason.REAL,
                "the authors' code passes the sum of the report values for their number, so the "
                "filter takes the noise for 50 times its size and smooths all away; with the "
                "number of reports IIW errs 60 times as much.",
                "P3, figure 7: the number of reports in the Wiener filter",
            ),
        ),
        Claim(
            "With GRR IIW as P3's code calls it has less than a tenth of its error, and less than "
            "EM's.",
            all_of(
                *(
                    _within("IIW as coded", other, 0.0, most, protocol="GRR")
                    for other, most in (("IIW", 0.1), ("EM", 1.0))
                )
            ),
            held=True,
            ours=True,
        ),
        Claim(
            "Merging changes the MAE of EM by less than 10 % in every cell.",
            _within("MR", "EM", 0.9, 1.1),
            held=True,
            ours=True,
        ),
        Claim(
            "Stopped EM errs less than EM run to its end in every cell, because it starts at the "
            "truth.",
            _within("EM", "maximum", 0.0, 1.0),
            held=True,
            ours=True,
        ),
    ),
    pictures=(
        Picture("line", "epsilon", facet="protocol", log_y=True, value="mean absolute error"),
    ),
    differs=_HASHES,
    conclusion="Not the same. MR has 1.00 to 1.06 times the MAE of EM. EM is better than the "
    "unbiased estimate, as printed, and stopped EM better than EM run to its end: it starts "
    "at the uniform distribution, which is the truth here. So does EMS, whose error is "
    "therefore many times less than that of IIW. The authors' code passes the sum of the report "
    "values to IIW in place of their number: it then takes the noise for 50 times its size and has "
    "less than a fiftieth of its own error, at epsilon 2 less than EMS.",
)


class _AverageCounts:
    """The counts of every item, as means over all runs, items in the order of their frequency."""

    def rows(self, cell: Cell, runs: Runs, data: DataFolder) -> list[Row]:
        """See :class:`Measure`."""
        people = _people(cell, data)
        error = EstimationError(_people, _reporters, _of_fig8, {}, sampling="everyone")
        order = np.argsort(-people.counts, kind="stable")
        found: dict[str, list[np.ndarray]] = {}
        for _, estimates in error.estimates(cell, runs, people):
            for method, estimate in estimates.items():
                found.setdefault(method, []).append(estimate.fit.shares)
        means = {m: np.mean(each, axis=0) * people.reporting for m, each in found.items()}
        return [
            {"run": 0, "method": method, "item": rank, "value": float(count)}
            for method, counts in {"truth": people.counts, **means}.items()
            for rank, count in enumerate(counts[order], 1)
        ]


def _of_fig8(cell: Cell) -> Methods:
    methods = _with_ablations(cell)
    return {name: methods[name] for name in ("unbiased", "EM", "MR", "maximum")}


def _gaps(table: Table, method: str) -> tuple[float, float]:
    """The mean error of the counts of the most frequent tenth, and of the rarer half."""
    gap = table.values(method=method) - table.values(method="truth")
    return float(gap[: -(-gap.size // 10)].mean()), float(gap[gap.size // 2 :].mean())


def _signs(table: Table) -> Verdict:
    gaps = [_gaps(group, "EM") for group in table.groups(_CELL).values()]
    figures = ", ".join(f"{top:.0f} and {rare:.0f}" for top, rare in gaps)
    count = sum(top < 0 < rare for top, rare in gaps)
    return Verdict(count > len(gaps) / 2, f"in {count} of {len(gaps)} cells: {figures}")


def _nearer_to_truth(first: str, second: str) -> Check:
    """The check that a method's mean counts are nearer to the truth in most cells, in l1."""

    def check(table: Table) -> Verdict:
        far = [
            [
                float(np.abs(group.values(method=m) - group.values(method="truth")).sum())
                for m in (first, second)
            ]
            for group in table.groups(_CELL).values()
        ]
        count = sum(a < b for a, b in far)
        figures = ", ".join(f"{a / b:.2f}" for a, b in far)
        return Verdict(count > len(far) / 2, f"in {count} of {len(far)} cells; ratios {figures}")

    return check


FIG8 = Experiment(
    name="P3/fig8",
    title="Average estimated counts of items",
    says="EM is biased: negatively for frequent items and positively for rare ones. MR reduces the "
    "bias to some extent. OLH-MR has less bias than GRR-MR where there are many items.",
    measure=_AverageCounts(),
    cells=cells_of(data=["SFC", "Income"], protocol=["GRR", "OLH"], epsilon=[0.5]),
    runs=10,
    quick_cells=cells_of(data=["SFC"], protocol=["GRR", "OLH"], epsilon=[0.5]),
    quick_runs=6,
    claims=(
        Claim(
            "EM's counts of the most frequent tenth are too low and of the rarer half too high.",
            _signs,
            held=True,
            words='"There is a negative bias for high-frequent values and a positive bias for '
            'low-frequent values" (app. C)',
        ),
        Claim(
            "MR's mean counts are nearer to the truth than EM's.",
            _nearer_to_truth("MR", "EM"),
            held=False,
            words='"MR reduces the amount of bias introduction to some extent compared to EM" '
            "(app. C)",
            failure=Failure(
                Reason.REAL,
                "the two are the same within 2 % on P3's histograms, here and in a script of our "
                "own (0.98 to 1.00), which finds 0.95 to 1.00 on Zipf's law "
                "(papers/checks/p3_merging.py).",
                "P3, figures 4 to 9 and table II: merging against EM",
            ),
        ),
        Claim(
            "The maximum's mean counts are nearer to the truth than EM's: the stop adds bias.",
            _nearer_to_truth("maximum", "EM"),
            held=True,
            quick=False,
            ours=True,
        ),
    ),
    pictures=tuple(
        Picture(
            "line",
            "item",
            facet="protocol",
            where={"data": name, "method": ["truth", "EM", "MR", "maximum"]},
            log_x=True,
            title=f"{name}: mean estimated counts, items by frequency, epsilon 0.5",
            value="people",
            name=name.lower(),
        )
        for name in ("SFC", "Income")
    ),
    data=(HISTOGRAMS,),
    differs=_HASHES + " The counts are means over 10 runs; P3 takes three, which leaves more "
    "noise than bias. It does not print the budget; 0.5 is taken. The "
    "charts leave out the unbiased counts, whose noise hides the others.",
    conclusion="Partly the same. EM's counts are too low for frequent items and too high for "
    "rare ones. MR has the same bias within 2 %. The early stop adds to it: the maximum has "
    "0.6 to 0.9 of EM's. The claim on the stop was worded after the first results.",
)
