"""Means of the values of keys by PCKV, with EM and mixture reduction [P3 fig 10]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers.data_sets import DataFolder
from papers.experiment import Claim, Experiment, Failure, Picture, Reason, Verdict, cells_of
from papers.measure import Cell
from papers.measures import PerRun
from papers.p3.methods import em, reduction, stop
from papers.table import Row, Table
from papers.verdicts import Check, geometric_mean, ratios, spread
from warner._core.sampling import Source
from warner.domains import Categorical, Interval
from warner.estimators import Estimator, KeyMeans, MaximumLikelihood, PerKey
from warner.estimators.base import LikelihoodData
from warner.mechanisms import KeyValue
from warner.reports.reports import Reports
from warner.results.from_tally import likelihood_data

_N = 43_386
_SHARES = (0.03, 0.06, 0.12, 0.24)
_BINS = 64
_PAY = "chicago_salaries.csv.gz"
_LEAST = 0.029  # share of a department that is a key of its own
_SEED = 1


def _made() -> tuple[np.ndarray, np.ndarray]:
    """Keys and values in [-1, 1]: bells around different means, a skewed one, and an even one."""
    rng = np.random.default_rng(_SEED)
    shares = np.array([*_SHARES, *[(1 - sum(_SHARES)) / 6] * 6])
    keys = np.repeat(np.arange(shares.size), rng.multinomial(_N, shares))
    draw: list[Callable[[int], np.ndarray]] = [
        lambda n: 2 * rng.beta(8, 4, n) - 1,
        lambda n: 2 * rng.beta(2, 6, n) - 1,
        lambda n: np.clip(rng.normal(0.3, 0.2, n), -1, 1),
        lambda n: rng.uniform(-1, 1, n),
    ]
    values = np.empty(keys.size)
    for k in range(shares.size):
        values[keys == k] = draw[k % 4](int(np.count_nonzero(keys == k)))
    return keys, values


def _chicago(data: DataFolder) -> tuple[np.ndarray, np.ndarray]:
    """Departments of 2.9 % and more, the others together, and pay on [-1, 1].

    Without the folder: the made keys, whose pay is log-normal and differs by key.
    """
    table = data.table(_PAY)
    if table is None:
        keys = _made()[0]
        rng = np.random.default_rng(_SEED)
        pay = rng.lognormal(11.2 + 0.05 * keys, 0.3)
    else:
        names = np.array(table["department"])
        pay = np.array([float(each) for each in table["annualized_pay"]])
        found, counts = np.unique(names, return_counts=True)
        large = found[counts >= _LEAST * names.size]
        keys = np.where(np.isin(names, large), np.searchsorted(large, names), large.size)
    return keys, 2 * (pay - pay.min()) / (pay.max() - pay.min()) - 1


def _methods(cell: Cell) -> tuple[dict[str, Any], dict[str, Estimator]]:
    """The options of the mechanism, and the estimators of its reports."""
    tolerance = stop(cell["epsilon"])
    if cell["protocol"] == "PCKV-UE":
        return {}, {"PCKV-UE": KeyMeans()}
    if cell["protocol"] == "PCKV-GRR":
        return {"key": "direct"}, {"PCKV-GRR": KeyMeans()}
    return {"value": "piecewise"}, {
        "PCKV-EM": PerKey(em(tolerance)),
        "PCKV-MR": PerKey(reduction(tolerance)),
        "log-spline": PerKey(),
        "joint maximum": MaximumLikelihood(1e-6),
    }


def _means(method: Estimator, data: LikelihoodData, size: int) -> np.ndarray:
    """(d,) the estimated mean of every key; the middle where a key has no share."""
    fit = method.fit(data)
    if fit.keys is not None:
        return np.asarray(fit.keys.means)
    table = fit.shares.reshape(size, _BINS)
    mass = table.sum(axis=1)
    points = (2 * np.arange(_BINS) + 1) / _BINS - 1
    means: np.ndarray = np.divide(table @ points, mass, out=np.zeros(size), where=mass > 0)
    return means


def _errors(cell: Cell, rng: np.random.Generator, data: DataFolder) -> list[Row]:
    """The squared errors of the means of four keys by every method; "the middle" says 0."""
    keys, values = _made() if cell["data"] == "made" else _chicago(data)
    size = int(keys.max()) + 1
    options, methods = _methods(cell)
    domains = Categorical(list(range(size))), Interval(-1, 1, _BINS)
    mechanism = KeyValue(*domains, cell["epsilon"], **options)
    people = mechanism.encode({"key": keys, "value": values})
    drawn = mechanism.randomize_encoded(people, Source(rng))
    reports = likelihood_data(mechanism.tally(Reports(mechanism.header, drawn)))
    truth = np.bincount(keys, values) / np.bincount(keys)
    found = {name: _means(method, reports, size) for name, method in methods.items()}
    if cell["protocol"] == "PCKV-UE":
        found["the middle"] = np.zeros(size)
    shares = np.bincount(keys) / keys.size
    judged = {share: int(np.argmin(np.abs(shares - share))) for share in _SHARES}
    return [
        {"method": name, "share": share, "value": float((means[key] - truth[key]) ** 2)}
        for name, means in found.items()
        for share, key in judged.items()
    ]


_CELL = ("data", "epsilon", "share")
_RARE = {"share": [0.03, 0.06]}


def _low(table: Table) -> dict[str, Any]:
    """Rare keys at small budgets."""
    return {"epsilon": [e for e in table.distinct("epsilon") if e <= 0.5], **_RARE}


def _high(table: Table) -> dict[str, Any]:
    return {"epsilon": [e for e in table.distinct("epsilon") if e > 0.5]}


def _ratio(
    first: str,
    second: str,
    low: float,
    high: float,
    where: Callable[[Table], dict[str, Any]] = lambda table: {},
) -> Check:
    """The check that the geometric mean of a ratio of errors lies in a range."""

    def check(table: Table) -> Verdict:
        each = ratios(table, first, second, _CELL, **where(table))
        middle = geometric_mean(each)
        return Verdict(low < middle < high, f"geometric mean {middle:.3f}; {spread(each)}")

    return check


def _always_less(table: Table) -> Verdict:
    each = ratios(table, "PCKV-MR", "PCKV-UE", _CELL, **_high(table))
    count = sum(r < 1 for r in each)
    return Verdict(count >= 0.9 * len(each), f"in {count} of {len(each)} cells; {spread(each)}")


def _less_in_most(method: str) -> Check:
    """The check of an error below PCKV-UE's in 9 of 10 cells."""

    def check(table: Table) -> Verdict:
        each = ratios(table, method, "PCKV-UE", _CELL)
        count = sum(r < 1 for r in each)
        return Verdict(count >= 0.9 * len(each), f"in {count} of {len(each)} cells")

    return check


def _merging(table: Table) -> Verdict:
    each = ratios(table, "PCKV-MR", "PCKV-EM", _CELL)
    return Verdict(min(each) > 0.9 and max(each) < 1.1, spread(each))


_PROTOCOLS = ["PCKV-UE", "PCKV-GRR", "PCKV-PM"]

FIG10 = Experiment(
    name="P3/fig10",
    title="Mean squared error of the mean of a key's values",
    says="For rare keys (0.03, 0.06) at epsilon 0.25 and 0.5 PCKV-MR has half of the error of the "
    "others, which is up to 0.2. At epsilon 1 and 2 PCKV-MR consistently errs less than they do.",
    measure=PerRun(_errors),
    cells=cells_of(data=["made", "pay"], protocol=_PROTOCOLS, epsilon=[0.25, 0.5, 1.0, 2.0]),
    runs=16,
    quick_cells=cells_of(data=["made"], protocol=_PROTOCOLS, epsilon=[0.25, 2.0]),
    quick_runs=5,
    claims=(
        Claim(
            "For rare keys at epsilon up to 0.5 PCKV-MR has half of PCKV-UE's error or less.",
            _ratio("PCKV-MR", "PCKV-UE", 0.0, 0.5, _low),
            held=False,
            words='"it can be reduced to half using a mixture model (the MSE of PCKV-MR is only a '
            'half compared to others)" (app. D)',
            failure=Failure(
                Reason.DATA,
                "EM stops at its start there and says the middle of the range, so the error is the "
                "square of a key's mean, which P3's age groups do not tell: 0.2 to 1.1 times that "
                "of PCKV-UE.",
                "P3, figure 10: EM that stops at its start",
            ),
        ),
        Claim(
            "Its error is then within 10 % of that of saying the middle whatever is reported: it "
            "stops at its start.",
            _ratio("PCKV-MR", "the middle", 0.9, 1.1, _low),
            held=True,
            ours=True,
        ),
        Claim(
            "At epsilon above 0.5 PCKV-MR errs less than PCKV-UE in 9 of 10 cells.",
            _always_less,
            held=False,
            words='"When epsilon is set to 1 or 2 ... our PCKV-MR method consistently outperforms '
            'others" (app. D)',
            failure=Failure(
                Reason.REAL,
                "in a script of our own (papers/checks/p3_key_values.py) it errs more for 3 of 8 "
                "keys, by up to 17 %.",
                "P3, figure 10: EM that stops at its start",
            ),
            quick=False,
        ),
        Claim(
            "The log-spline of the same reports has less than half of PCKV-UE's error in the mean.",
            _ratio("log-spline", "PCKV-UE", 0.0, 0.5),
            held=True,
            quick=False,
            ours=True,
        ),
        Claim(
            "The log-spline errs less than PCKV-UE in 9 of 10 cells.",
            _less_in_most("log-spline"),
            held=False,
            failure=Failure(
                Reason.REAL,
                "our bar was set before the run: it errs less in 28 of 32 cells, and more where "
                "noise hides the key.",
            ),
            quick=False,
            ours=True,
        ),
        Claim(
            "The joint maximum of the likelihood has less than half of PCKV-UE's error in the "
            "mean.",
            _ratio("joint maximum", "PCKV-UE", 0.0, 0.5),
            held=True,
            quick=False,
            ours=True,
        ),
        Claim(
            "The joint maximum errs less than PCKV-UE in 9 of 10 cells.",
            _less_in_most("joint maximum"),
            held=False,
            failure=Failure(
                Reason.REAL,
                "our bar was set before the run: it errs less in 28 of 32 cells, and more where "
                "noise hides the key.",
            ),
            quick=False,
            ours=True,
        ),
        Claim(
            "Merging changes the error of EM by less than 10 % in every cell.",
            _merging,
            held=True,
            ours=True,
        ),
    ),
    pictures=tuple(
        Picture(
            "line",
            "epsilon",
            facet="share",
            where={"data": name},
            log_x=True,
            log_y=True,
            title=f"{title}: squared error of a key's mean, keys by their share",
            value="mean squared error",
            name=name,
        )
        for name, title in (("made", "Made values"), ("pay", "Pay by department"))
    ),
    data=(_PAY,),
    differs="P3 uses San Francisco's compensations by age group. Here departments and pay of "
    "Chicago's employees (31,059; keys of nearly P3's shares) and made values (43,386 people) "
    "stand. The budget of the piecewise form is epsilon_1 = epsilon - epsilon_2 / 2, which is "
    "exact. EM's stop is that of P3's code, 0.001 e^epsilon nats.",
    conclusion="Partly the same. For rare keys at epsilon up to 0.5 PCKV-MR has 0.61 of "
    "PCKV-UE's error in the mean, with 0.16 to 1.31 in single cells. EM stops at its start "
    "there: the error is that of saying the middle of the range whatever is reported. At "
    "epsilon above 0.5 it errs less than PCKV-UE in 11 of 16 cells, and up to 2.6 times as "
    "much in others. Merging changes nothing. The same reports say more: log-splines and the "
    "joint maximum have 0.45 of PCKV-UE's error in the mean, and less in 28 of 32 cells. Our "
    "bar was 9 of 10 cells.",
)
