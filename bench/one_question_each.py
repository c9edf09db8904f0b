"""Claim: one question for each person errs no more than the best peer, and pairs come with it.

    one       shares of single questions: OneOf against multi-freq-ldpy's SMP (one question, with its
              adaptive choice of GRR and OUE) and SPL (all questions, epsilon / d each)
    pairs     tables of two: OneOf(..., "pairs") and a cover, against all questions at epsilon / d
              and against the product of the true margins, which knows everything but dependence
    fifty     all 1,225 tables of 50 yes-or-no questions, with their intervals
    coverage  1,000 surveys of each of seven designs: how often 95 % intervals hold the truth

People are drawn from latent classes, anew in each run. NLTCS and eight columns of Adult are read
where WARNER_DATA names their folder. The peer's compiled clients answer for each person, and its
collector estimates. Where both take randomised response with even odds, warner estimates from the
very reports of SMP; else its own devices make them. Errors are squared errors of a table, summed
over its cells, and their mean over the tables; of more than 30 tables of two, each run draws 30.
+- is the standard error over ten runs.

Each cell is one line of bench/results/one_question_each.jsonl. Cells that are there are not done
again, so the script may be stopped at any time. ``--slice I/N`` does every N-th cell from the I-th.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from itertools import combinations, product
from math import exp, log, sqrt
from typing import Any

import numpy as np

from _data import rows
from _measure import RESULTS, SEED, claim, resume, stored
from warner import Categorical, OneOf, PerAttribute, Product, RandomizedResponse, Tally, estimate
from warner.mechanisms import cover_of_pairs
from warner.mechanisms.one_of import best_mechanism

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the peer uses what its dependencies have deprecated
    import numba
    from multi_freq_ldpy.pure_frequency_oracles.ADP import ADP_Aggregator_MI
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
    from multi_freq_ldpy.pure_frequency_oracles.Variance_PURE import VAR_Pure

FILE = RESULTS / "one_question_each.jsonl"
RUNS, SURVEYS, TABLES = 10, 1000, 30
EPSILONS = (0.5, 1.0, 2.0, 4.0)
COLUMNS = [
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "income",
]
DESIGNS = ("one", "pairs", "pairs at 4", "a pair and two alone", "triples", "cover", "two each")
Cell = tuple[Any, ...]
People = tuple[np.ndarray, list[int]]  # (n, d) values, and the number of values of each question


def latent(d: int, size: int, n: int, rng: np.random.Generator) -> People:
    """Answers that are independent within each of four classes of people."""
    laws = rng.dirichlet(np.full(size, 0.7), (4, d)).cumsum(axis=2)
    classes = rng.choice(4, n, p=rng.dirichlet(np.full(4, 2.0)))
    levels = rng.random((n, d))
    values = np.zeros((n, d), dtype=np.int64)
    for step in range(size - 1):
        values += levels > laws[classes, :, step]
    return values, [size] * d


def real(name: str) -> People | None:
    """NLTCS, or eight columns of Adult; None where the data are not there."""
    data = rows(f"{name}.csv.gz")
    if data is None:
        return None
    names = COLUMNS if name == "adult" else list(data[0])
    coded = [np.unique([row[name] for row in data], return_inverse=True) for name in names]
    return np.stack([index for _, index in coded], axis=1), [len(values) for values, _ in coded]


def people_of(data: str, rng: np.random.Generator) -> People | None:
    """The people of one run: those of a real data set, or fresh ones such as "10 x 4 x 50000"."""
    if data in ("nltcs", "adult"):
        return real(data)
    d, size, n = map(int, data.split(" x "))
    return latent(d, size, n, rng)


def domain_of(sizes: list[int]) -> Product:
    names = [f"q{i:02}" for i in range(len(sizes))]
    return Product(
        **{name: Categorical(list(range(k))) for name, k in zip(names, sizes, strict=True)}
    )


def columns_of(values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"q{i:02}": column for i, column in enumerate(values.T)}


def shares(values: np.ndarray, sizes: list[int], axes: tuple[int, ...]) -> np.ndarray:
    """The true table of some questions."""
    shape = [sizes[axis] for axis in axes]
    index = np.ravel_multi_index([values[:, axis] for axis in axes], shape)
    return np.bincount(index, minlength=int(np.prod(shape))) / len(values)


# -------------------------------------------------------------------------------------------------
# Single questions.


@numba.njit
def sent_values(values: np.ndarray, size: int, epsilon: float) -> np.ndarray:
    """GRR's client for each person."""
    return np.array([GRR_Client(value, size, epsilon) for value in values])


@numba.njit
def sent_bits(values: np.ndarray, size: int, epsilon: float) -> np.ndarray:
    """OUE's client for each person."""
    out = np.empty((values.size, size))
    for i in range(values.size):
        out[i] = UE_Client(values[i], size, epsilon, True)
    return out


def takes_values(size: int, epsilon: float) -> bool:
    """Whether the peer's adaptive protocol is GRR, whose reports are randomised response."""
    keep = np.exp(epsilon) / (np.exp(epsilon) + size - 1)
    least = VAR_Pure(0.5, 1 / (np.exp(epsilon) + 1))
    return bool(VAR_Pure(keep, (1 - keep) / (size - 1)) <= least)


def adaptive(values: np.ndarray, size: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The reports of the peer's adaptive client for each person, and its estimate."""
    client = sent_values if takes_values(size, epsilon) else sent_bits
    reports = client(values, size, epsilon)
    return reports, np.asarray(ADP_Aggregator_MI(reports, size, epsilon), dtype=float)


def squared(tables: list[np.ndarray], truth: list[np.ndarray]) -> float:
    return float(np.mean([np.square(t - u).sum() for t, u in zip(tables, truth, strict=True)]))


def one_way(data: str, epsilon: float, rng: np.random.Generator) -> dict[str, float] | None:
    """The errors of one run."""
    people = people_of(data, rng)
    if people is None:
        return None
    values, sizes = people
    truth = [shares(values, sizes, (axis,)) for axis in range(len(sizes))]
    # SMP: a question is drawn for each person, with even odds, and answered with all of epsilon.
    block, report = rng.integers(len(sizes), size=len(values)), np.zeros(len(values), dtype=int)
    theirs = []
    for axis, size in enumerate(sizes):
        drawn = block == axis
        sent, estimated = adaptive(values[drawn, axis], size, epsilon)
        theirs.append(estimated)
        if sent.ndim == 1:
            report[drawn] = sent
    survey = OneOf(domain_of(sizes), epsilon)
    direct = all(isinstance(part, RandomizedResponse) for part in survey.parts.values())
    if direct and len(set(sizes)) == 1 and takes_values(sizes[0], epsilon):
        tally = survey.tally(survey.reports({"block": block, "report": report}))
    else:
        tally = survey.tally(survey.randomize(columns_of(values), rng))
    ours = [estimate(tally, attributes=[name]).probabilities for name in survey.domain.attributes]
    errors = {"warner": squared(ours, truth), "SMP": squared(theirs, truth)}
    if len(values) <= 10_000:
        # SPL: each question is answered with an even part of epsilon.
        parts = [
            adaptive(column, size, epsilon / len(sizes))[1]
            for column, size in zip(values.T, sizes, strict=True)
        ]
        errors["SPL"] = squared(parts, truth)
    return errors


# -------------------------------------------------------------------------------------------------
# Tables of two questions.


def tables(tally: Tally, pairs: list[tuple[int, int]]) -> list[np.ndarray]:
    names = [[f"q{axis:02}" for axis in pair] for pair in pairs]
    return [estimate(tally, attributes=pair).probabilities for pair in names]


def two_way(data: str, epsilon: float, rng: np.random.Generator) -> dict[str, float] | None:
    """The errors of one run; of many pairs some are drawn."""
    people = people_of(data, rng)
    if people is None:
        return None
    values, sizes = people
    domain = domain_of(sizes)
    pairs = list(combinations(range(len(sizes)), 2))
    if len(pairs) > TABLES:
        pairs = [pairs[i] for i in rng.choice(len(pairs), TABLES, replace=False)]
    truth = [shares(values, sizes, pair) for pair in pairs]
    alone = [shares(values, sizes, (axis,)) for axis in range(len(sizes))]
    errors = {"product": squared([np.outer(alone[a], alone[b]).ravel() for a, b in pairs], truth)}
    split = {
        name: best_mechanism(one, epsilon / len(sizes)) for name, one in domain.attributes.items()
    }
    designs = {
        "pairs": OneOf(domain, epsilon, "pairs"),
        "cover": OneOf(domain, epsilon, cover_of_pairs(domain, epsilon)),
        "split": PerAttribute(domain, split),
    }
    for name, survey in designs.items():
        reports = survey.randomize(columns_of(values), rng)
        tally = survey.tally(reports, ways=2) if name == "split" else survey.tally(reports)
        errors[name] = squared(tables(tally, pairs), truth)
    return errors


def fifty(rng: np.random.Generator) -> dict[str, float]:
    """All tables of 50 questions at epsilon 1 and 100,000 people: error, bound, coverage."""
    values, sizes = latent(50, 2, 100_000, rng)
    domain = domain_of(sizes)
    survey = OneOf(domain, 1.0, cover_of_pairs(domain, 1.0))
    tally = survey.tally(survey.randomize(columns_of(values), rng))
    pairs = list(combinations(range(50), 2))
    inside, wide, error = [], [], []
    for a, b in pairs:
        found, truth = (
            estimate(tally, attributes=[f"q{a:02}", f"q{b:02}"]),
            shares(values, sizes, (a, b)),
        )
        error.append(float(np.square(found.probabilities - truth).sum()))
        for name, lists in (("default", inside), ("wald", wide)):
            low, high = (found.interval() if name == "default" else found.interval(kind="wald")).T
            lists.append(float(np.mean((low <= truth) & (truth <= high))))
    pair = best_mechanism(domain.select(["q00", "q01"]), 1.0)
    bound = float(pair.channel().variance(np.full(4, 0.25)).sum()) / (100_000 / len(pairs))
    return {
        "error": float(np.mean(error)),
        "bound": bound,
        "coverage": float(np.mean(inside)),
        "wald": float(np.mean(wide)),
    }


# -------------------------------------------------------------------------------------------------
# Coverage.


def design(name: str) -> tuple[OneOf, list[list[str]]]:
    """A survey of four questions, and what is estimated from it."""
    sizes = [2, 3, 3, 4]
    domain = domain_of(sizes)
    names = list(domain.attributes)
    tables_of = [[names[0]], names[1:3]]
    if name == "one":
        return OneOf(domain, 1.5), [names[:1], names[3:]]
    if name == "two each":
        return OneOf(domain, 4.0, ask=2), tables_of
    blocks: Any = {
        "pairs": "pairs",
        "pairs at 4": "pairs",
        "a pair and two alone": [names[1:3], names[0], names[3]],
        "triples": list(combinations(names, 3)),
    }.get(name)
    epsilon = 4.0 if name in ("pairs at 4", "cover") else 2.0
    return OneOf(domain, epsilon, blocks or cover_of_pairs(domain, epsilon)), tables_of


def coverage(name: str, rng: np.random.Generator) -> dict[str, float]:
    """How often intervals of a single question and of a table hold the shares of the law."""
    survey, asked_for = design(name)
    values = latent(4, 4, 200_000, np.random.default_rng(SEED))[0] % np.array([2, 3, 3, 4])
    laws = {
        ", ".join(names): shares(values, [2, 3, 3, 4], tuple(int(one[1:]) for one in names))
        for names in asked_for
    }
    n, hits = 4000, {", ".join(names): [] for names in asked_for}
    for _ in range(SURVEYS):
        people = values[rng.integers(len(values), size=n)]
        tally = survey.tally(survey.randomize(columns_of(people), rng)).trusted()
        for names in asked_for:
            truth = laws[", ".join(names)]
            # The default estimate has the same intervals, widened where it stands outside.
            low, high = estimate(tally, "inversion", attributes=names).interval(kind="wald").T
            hits[", ".join(names)].append(float(np.mean((low <= truth) & (truth <= high))))
    found = {key: float(np.mean(one)) for key, one in hits.items()}
    errors = {f"{key} se": float(np.std(one) / sqrt(len(one))) for key, one in hits.items()}
    return found | errors


# -------------------------------------------------------------------------------------------------
# All cells, and what they say.


def cells() -> list[Cell]:
    """Shuffled once and for all."""
    grid = product((3, 5, 10, 20, 50), (2, 4, 16), (10_000, 100_000), EPSILONS)
    every: list[Cell] = [("one", f"{d} x {k} x {n}", e) for d, k, n, e in grid]
    every += [("one", name, e) for name in ("nltcs", "adult") for e in EPSILONS]
    sets = ("10 x 4 x 50000", "50 x 2 x 100000", "nltcs", "adult")
    every += [("pairs", name, 2.0) for name in sets]
    every += [("fifty", run, 1.0) for run in range(2)]
    every += [("coverage", name, 0.0) for name in DESIGNS]
    return [every[i] for i in np.random.default_rng(SEED).permutation(len(every))]


def judge(kind: str, data: Any, epsilon: float) -> dict[str, Any] | None:
    """The figures of a cell; None where its data are not there."""
    rng = np.random.default_rng([SEED, *map(ord, f"{kind} {data} {epsilon}")])
    if kind in ("fifty", "coverage"):
        return fifty(rng) if kind == "fifty" else coverage(data, rng)
    once: Callable[..., dict[str, float] | None] = one_way if kind == "one" else two_way
    runs = []
    for _ in range(RUNS):
        errors = once(data, epsilon, rng)
        if errors is None:
            return None
        runs.append(errors)
    return {"runs": {name: [run[name] for run in runs] for name in runs[0]}}


def ratio(runs: dict[str, list[float]], ours: str, theirs: str) -> tuple[float, float]:
    """The ratio of two mean errors, and its standard error over the runs."""
    a, b = np.array(runs[ours]), np.array(runs[theirs])
    r = float(a.mean() / b.mean())
    return r, float(np.std(a - r * b, ddof=1) / sqrt(len(a)) / b.mean())


def mean(runs: dict[str, list[float]], name: str) -> str:
    """A mean error with its standard error."""
    values = np.array(runs[name])
    return f"{values.mean():.3g} +- {np.std(values, ddof=1) / sqrt(len(values)):.1g}"


def single_questions(done: list[dict[str, Any]]) -> None:
    found = []
    print("single questions: squared error, and its ratio to SMP's")
    for line in done:
        _, data, epsilon = line["cell"]
        r, se = ratio(line["runs"], "warner", "SMP")
        found.append((r, se))
        peers = [f"{name} {mean(line['runs'], name)}" for name in line["runs"]]
        print(f"  {data:18} epsilon {epsilon:<4g} {r:.3f} +- {se:.3f}   {',  '.join(peers)}")
    geometric = exp(float(np.mean([log(r) for r, _ in found])))
    claim(
        "single questions: at most SMP's error over all cells", geometric <= 1.0, f"{geometric:.3f}"
    )
    beyond = [r for r, se in found if r > 1.05 + 2 * se]
    claim("no cell above 1.05 + 2 standard errors", not beyond, f"{len(beyond)} of {len(found)}")


def tables_of_two(done: list[dict[str, Any]]) -> None:
    print("tables of two: squared error")
    for line in done:
        _, data, epsilon = line["cell"]
        errors = [
            f"{name} {mean(line['runs'], name)}" for name in ("pairs", "cover", "split", "product")
        ]
        print(f"  {data:18} epsilon {epsilon:<4g} {',  '.join(errors)}")
        if data in ("nltcs", "adult"):
            r = ratio(line["runs"], "pairs", "product")[0]
            claim(
                f"{data}, epsilon {epsilon:g}: below the true margins' product", r < 1, f"{r:.2f}"
            )


def main() -> None:
    """Do what is left of the slice, then print the tables and the claims."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--slice", default="0/1", help="I/N: every N-th cell from the I-th")
    parser.add_argument("--only", default="", help="one kind of cells: one, pairs, fifty, coverage")
    arguments = parser.parse_args()
    first, step = map(int, arguments.slice.split("/"))
    chosen = [cell for cell in cells()[first::step] if arguments.only in ("", cell[0])]
    resume(FILE, chosen, judge)
    done = stored(FILE)
    of = {
        kind: [line for line in done if line["cell"][0] == kind]
        for kind in ("one", "pairs", "fifty", "coverage")
    }
    if of["one"]:
        single_questions(sorted(of["one"], key=lambda line: json.dumps(line["cell"])))
    if of["pairs"]:
        tables_of_two(sorted(of["pairs"], key=lambda line: json.dumps(line["cell"])))
    if of["fifty"]:
        average = {
            k: float(np.mean([line[k] for line in of["fifty"]]))
            for k in of["fifty"][0]
            if k != "cell"
        }
        held, r = average["wald"], average["error"] / average["bound"]
        wider = f"{held:.3f}; {average['coverage']:.3f} where widened to hold the estimate"
        claim("1,225 tables: Wald intervals hold 94 to 96 %", 0.94 <= held <= 0.96, wider)
        claim("1,225 tables: at most 1.5 times the bound of one pair each", r <= 1.5, f"{r:.2f}")
    for line in sorted(of["coverage"], key=lambda line: line["cell"]):
        held = {key: (line[key], line[f"{key} se"]) for key in line if f"{key} se" in line}
        text = ", ".join(f"{key}: {v:.3f} +- {se:.3f}" for key, (v, se) in held.items())
        close = all(abs(v - 0.95) <= 0.01 + 2 * se for v, se in held.values())
        claim(f"coverage of {line['cell'][1]} within .95 +- (.01 + 2 se)", close, text)


if __name__ == "__main__":
    main()
