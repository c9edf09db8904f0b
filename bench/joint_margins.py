"""Joint estimates judged on their margins: the default against separate estimates of each margin.

    tables x n in {10^3, 10^4, all} x epsilon of each attribute in {0.5, 1, 2}, randomised response

Made-up tables are random log-linear models and mixtures of independent attributes. Constants may be
chosen on them alone (``--synthetic``). Real ones (``--real``) judge: two tables of Adult, the
disabilities of NLTCS, the US military and the General Social Survey.

Every margin of one to three attributes (a sample of a dozen of each order) and the whole table have
a squared error for each of

    default     ``recommended``, of all attributes together
    raked to 1  early-stopped EM, raked to estimates of single attributes
    EM, ML      the defaults before it: maximum likelihood up to 1000 combinations, beyond it
                early-stopped EM from independence
    inversion   of all attributes together
    alone       the default estimate of the margin itself
    alone, ML   maximum likelihood of the margin itself; of one attribute the default

Each cell is one line of bench/results/joint_margins.jsonl. Cells that are there are not done again,
so the script may be stopped at any time. ``--slice I/N`` does every N-th cell from the I-th.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product
from time import process_time

import numpy as np

from _data import rows
from _measure import RESULTS, SEED, claim, resume, stored
from warner import Categorical, Product, RandomizedResponse
from warner.channels import KroneckerChannel, summed
from warner.estimators import ExpectationMaximization, Inversion, MaximumLikelihood
from warner.estimators.base import LikelihoodData
from warner.estimators.raked_tables import raked
from warner.results.recommend import fit_alone, recommended

PEOPLE: tuple[int | None, ...] = (10**3, 10**4, None)
EPSILONS = (0.5, 1.0, 2.0)
RUNS, LARGE, MARGINS = 4, 2**14, 12
FILE = RESULTS / "joint_margins.jsonl"
SIZES = ((2, 2), (3, 4, 5), (2,) * 5, (2, 5, 8, 3), (16, 15), (2, 2, 5, 9, 7), (2,) * 8)
SYNTHETIC = tuple(
    f"{kind} {'x'.join(map(str, sizes))}" for kind in ("mixture", "log-linear") for sizes in SIZES
)
REAL = ("Adult 6", "Adult 9", "NLTCS 16", "military 6", "GSS 5")
METHODS = ("default", "raked to 1", "EM, ML", "inversion", "alone", "alone, ML")
Cell = tuple[str, int | None, float]


def mixture(sizes: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """A mixture of two to five tables of independent attributes."""
    total = np.zeros(sizes)
    for weight in rng.dirichlet(np.ones(rng.integers(2, 6))):
        table = np.full((), weight)
        for size in sizes:
            part = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 3.0])))
            table = np.multiply.outer(table, part)
        total += table
    return total


def log_linear(sizes: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    """A log-linear model: half of the pairs depend on each other, and a fifth of the triples."""
    total = np.zeros(sizes)
    chances = {1: (1.0, (0.3, 1.0, 2.0)), 2: (0.5, (0.2, 0.5, 1.0)), 3: (0.2, (0.2, 0.5))}
    for order, (chance, amounts) in chances.items():
        for axes in combinations(range(len(sizes)), min(order, len(sizes))):
            if rng.random() < chance:
                shape = [size if axis in axes else 1 for axis, size in enumerate(sizes)]
                total = total + rng.choice(amounts) * rng.normal(size=shape)
    table = np.exp(total - total.max())
    return table / table.sum()


def _coded(data: list[dict[str, str]], columns: dict[str, object]) -> np.ndarray:
    """Counts of people, one axis for each column; a function first makes values coarser."""
    codes, sizes = [], []
    for name, coarser in columns.items():
        values = [coarser(row[name]) if callable(coarser) else row[name] for row in data]
        found, index = np.unique(values, return_inverse=True)
        codes.append(index)
        sizes.append(len(found))
    weights = [int(row.get("count", 1)) for row in data]
    table = np.bincount(np.ravel_multi_index(codes, sizes), weights, math.prod(sizes))
    return table.astype(np.int64).reshape(sizes)


def _age(value: str) -> str:
    return str(min(int(value) // 20, 4))


def real(name: str) -> np.ndarray | None:
    """Counts of people of a real table; None where the data are not there."""
    six = {"age": _age, **dict.fromkeys(["marital_status", "relationship", "race", "sex"])}
    nine = {
        **six,
        "native_country": lambda v: v == "United-States",
        "capital_gain": lambda v: v != "0",
        "hours_per_week": lambda v: (int(v) > 35) + (int(v) > 40),
    }
    files = {
        "Adult 6": ("adult", {**six, "income": None}),
        "Adult 9": ("adult", {**nine, "income": None}),
        "NLTCS 16": ("nltcs", {f"v{i}": None for i in range(16)}),
        "military 6": (
            "us_military_counts",
            dict.fromkeys(["grade", "branch", "gender", "race", "hisp", "rank"]),
        ),
        "GSS 5": (
            "gss_wages",
            dict.fromkeys(["wrkstat", "gender", "educcat", "maritalcat", "childs"]),
        ),
    }
    file, columns = files[name]
    data = rows(f"{file}.csv.gz")
    return None if data is None else _coded(data, columns)


def counts_of(name: str, n: int | None) -> np.ndarray | None:
    """Counts of people of a table by name."""
    if name in REAL:
        return real(name)
    kind, sizes = name.split(" ")
    rng = np.random.default_rng([SEED, sum(map(ord, name)), n or 0])
    made = {"mixture": mixture, "log-linear": log_linear}[kind]
    return rng.multinomial(60_000, made([int(k) for k in sizes.split("x")], rng).ravel()).reshape(
        [int(k) for k in sizes.split("x")]
    )


def _part(data: LikelihoodData, axes: Sequence[int]) -> LikelihoodData:
    """The reports on some attributes."""
    found = data.channel.marginal(data.weights, data.domain.shape, list(axes))
    assert found is not None
    names = list(data.domain.attributes)
    return LikelihoodData(*found, data.n, data.domain.select([names[axis] for axis in axes]))


def estimates(data: LikelihoodData) -> dict[str, np.ndarray]:
    """Tables of all attributes, by method."""
    shape = data.domain.shape
    early = ExpectationMaximization("auto", start="independent").fit(data).shares
    old = MaximumLikelihood().fit(data).shares if data.domain.size <= 1000 else early
    singles = {(axis,): fit_alone(_part(data, (axis,))).shares for axis in range(len(shape))}
    return {
        "default": recommended(data.domain, data.channel).fit(data).shares,
        "raked to 1": raked(early.reshape(shape), singles).ravel(),
        "EM, ML": old,
        "inversion": Inversion().fit(data).shares,
    }


def judge(name: str, n: int | None, epsilon: float, runs: int) -> dict[str, object] | None:
    """Mean squared errors of one cell: {margin: {method: error}}, and seconds of the default; None
    where its data are not there.
    """
    counts = counts_of(name, n)
    if counts is None:
        return None
    runs = runs if counts.size <= LARGE else 1
    shape, truth = counts.shape, counts.ravel() / counts.sum()
    labels = {f"a{i:02}": Categorical([str(j) for j in range(k)]) for i, k in enumerate(shape)}
    domain = Product(**labels)
    channel = KroneckerChannel([RandomizedResponse(d, epsilon).channel() for d in labels.values()])
    rng = np.random.default_rng([SEED, sum(map(ord, name)), n or 0, round(10 * epsilon)])
    margins: list[tuple[int, ...]] = [tuple(range(len(shape)))]
    for order in range(1, min(4, len(shape))):
        every = list(combinations(range(len(shape)), order))
        margins += [every[i] for i in sorted(rng.permutation(len(every))[:MARGINS])]
    errors: dict[str, dict[str, float]] = {"+".join(map(str, axes)): {} for axes in margins}
    seconds = 0.0
    for _ in range(runs):
        if n is None:
            weights = channel.simulate_from_values(counts.ravel(), rng)
        else:
            weights = channel.simulate(truth, n, rng)
        data = LikelihoodData(channel, weights, n or int(counts.sum()), domain)
        start = process_time()
        recommended(domain, channel).fit(data)
        seconds += (process_time() - start) / runs
        found = estimates(data)
        for axes, cells in zip(margins, errors.values(), strict=True):
            true = summed(truth, shape, axes)
            tables = {method: summed(table, shape, axes) for method, table in found.items()}
            if len(axes) < len(shape):
                part = _part(data, axes)
                tables["alone"] = recommended(part.domain, part.channel).fit(part).shares
                alone = MaximumLikelihood().fit(part).shares if len(axes) > 1 else tables["alone"]
                tables["alone, ML"] = alone
            for method, table in tables.items():
                cells[method] = cells.get(method, 0) + float(((table - true) ** 2).sum()) / runs
    return {"runs": runs, "errors": errors, "seconds": seconds}


def ratios(
    done: Sequence[dict[str, object]], method: str, over: str, order: int | None
) -> np.ndarray:
    """Errors of a method over another's, of all margins of an order; None for whole tables."""
    found = []
    for line in done:
        for axes, errors in line["errors"].items():  # type: ignore[attr-defined]
            whole = axes == next(iter(line["errors"]))  # type: ignore[call-overload]
            right = whole if order is None else not whole and axes.count("+") + 1 == order
            if right and method in errors and over in errors:
                found.append(errors[method] / errors[over])
    return np.array(found)


def table(done: list[dict[str, object]], title: str) -> None:
    """Ratios of errors: geometric mean, the share within 1.05 and within 1.25, the largest."""
    print(f"\n{title}: {len(done)} cells")
    for over in ("alone", "alone, ML", "inversion", "EM, ML"):
        print(f" over {over}")
        for method in METHODS:
            text = f"  {method:11}"
            for order in (1, 2, 3, None):
                found = ratios(done, method, over, order)
                if found.size and method != over:
                    text += (
                        f" | {order or 'all'}: {np.exp(np.log(found).mean()):5.3f}, "
                        f"<= 1.05 {(found <= 1.05).mean():4.0%}, <= 1.25 {(found <= 1.25).mean():4.0%}, "
                        f"worst {found.max():5.2f}"
                    )
            if "|" in text:
                print(text)


def cells() -> Iterator[Cell]:
    """Shuffled once and for all: a part of them is a sample."""
    every = list(product(SYNTHETIC + REAL, PEOPLE, EPSILONS))
    yield from (every[i] for i in np.random.default_rng(SEED).permutation(len(every)))


def main() -> None:
    """Do what is left of the slice, then print the tables and the claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slice", default="0/1", help="I/N: every N-th cell from the I-th")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--tables", default="", help="names of tables, with commas; all if empty")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--synthetic", action="store_true", help="only made-up tables")
    only.add_argument("--real", action="store_true", help="only real ones")
    arguments = parser.parse_args()
    first, step = map(int, arguments.slice.split("/"))
    chosen = [
        cell
        for cell in list(cells())[first::step]
        if not (arguments.real and cell[0] in SYNTHETIC)
        and not (arguments.synthetic and cell[0] in REAL)
        and (not arguments.tables or cell[0] in arguments.tables.split(","))
    ]
    resume(FILE, chosen, partial(judge, runs=arguments.runs))
    done = stored(FILE)
    for title, names in (("made-up tables", SYNTHETIC), ("real tables", REAL)):
        part = [line for line in done if line["cell"][0] in names]  # type: ignore[index]
        if part:
            table(part, title)
            bars(part, title)


def bars(done: list[dict[str, object]], title: str) -> None:
    """The claims."""
    found = np.concatenate([ratios(done, "default", "alone", order) for order in (1, 2, 3)])
    claim(
        f"{title}: margins within 1.05 of asking for them alone in 95 %, within 1.25 always",
        bool((found <= 1.05).mean() >= 0.95 and found.max() <= 1.25),
        f"{(found <= 1.05).mean():.1%}, worst {found.max():.2f}",
    )
    whole = ratios(done, "default", "EM, ML", None)
    mean = float(np.exp(np.log(whole).mean()))
    claim(f"{title}: whole tables at most 0.95 of before", mean <= 0.95, f"{mean:.3f}")


if __name__ == "__main__":
    main()
