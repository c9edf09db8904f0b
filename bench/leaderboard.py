"""The table of record: every mechanism that fits, with every estimator, on real data.

    make leaderboard                        # what is missing, then docs/leaderboard.md
    python bench/leaderboard.py --quick     # a few cells, in a minute; nothing is written

Questions are columns of Adult, and where WARNER_DATA names the folder of data, of other sets. The
true shares are those of all people in the data, of which n are drawn anew in each run. A setting is
a question, n and epsilon. ``warner.benchmark`` makes all figures, in two rounds:

    all      every mechanism with every estimator, ``RUNS`` runs
    fresh    the few that erred least in the first round, for each loss, and what ``plan`` proposes
             with the default estimator, ``FRESH`` runs of other draws. Only this round tells who
             wins, because among many who are equally good the first round favours the lucky.

Every cell is one line of bench/results/leaderboard.jsonl, with a digest of its truth, its
mechanisms and what they report, its estimator and the code of that: a cell is done again where one
of them was changed. The script may be stopped at any time. ``--page`` writes the page from the
lines that are there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from _data import adult, data_sets, rows
from _measure import RESULTS, SRC, claim, code_of, resume, stored

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # of papers, for the check-ins of P4

from papers.data_sets import DataFolder  # noqa: E402
from papers.populations import gowalla  # noqa: E402
from warner import Categorical, Grid, Integers, Interval, benchmark, plan  # noqa: E402
from warner._core.errors import WarnerError  # noqa: E402
from warner.design.planning import candidates  # noqa: E402
from warner.domains import Domain  # noqa: E402
from warner.estimators import ExpectationMaximization  # noqa: E402
from warner.estimators.base import Estimator, Fit, LikelihoodData  # noqa: E402
from warner.mechanisms import Mechanism, PlanarGeometric  # noqa: E402
from warner.results.recommend import method, recommended, recommended_fit  # noqa: E402
from warner.theory import local_bound  # noqa: E402

FILE, PAGE = RESULTS / "leaderboard.jsonl", ROOT / "docs" / "leaderboard.md"
BUDGETS, PEOPLE = (0.5, 1.0, 2.0, 4.0), (1_000, 30_000)
SMALL, QUICK = 16, 100  # values
# The runs of a cell in both rounds, up to SMALL values, up to QUICK, and beyond.
RUNS, FRESH = (12, 5, 3), (40, 20, 10)
CONTENDERS = (4, 2)  # for each loss: mechanisms, and estimators of each
# Beyond QUICK values, estimators that take seconds a fit are left out.
SLOW = ("mr", "bias", "em:histogram", "em:threshold")
# The losses by their names in ``benchmark``, and in ``local_bound``.
LOSSES = {"l2": "shares", "cdf": "distribution", "mse_mean": "mean"}
P4 = "P4"


@dataclass(frozen=True)
class Default(Estimator):
    """The estimator that ``warner.estimate`` takes where none is named."""

    def _fit(self, data: LikelihoodData) -> Fit:
        return recommended_fit(data)[1]


ESTIMATORS: dict[str, Estimator] = {"default": Default()} | {
    name: method(name)
    for name in (
        *("eb", "eb-median", "mle", "inversion", "project", "normalize", "norm-cut", "threshold"),
        *("em:auto", "em:100", "em:histogram", "em:threshold", "spline", "ems", "mr", "wiener"),
        *("bias", "mean"),
    )
}


@dataclass(frozen=True)
class Question:
    """One question, the people who have its answers, and what is judged."""

    words: str
    domain: Domain
    shares: np.ndarray
    losses: tuple[str, ...] = ("l2",)
    sensitive: tuple[str, ...] | None = None
    people: tuple[int, ...] = PEOPLE
    budgets: tuple[float, ...] = BUDGETS
    # What is asked in place of all mechanisms and estimators.
    mechanisms: Mapping[str, Callable[[Any, float], Mechanism]] | None = None
    estimators: Mapping[str, Estimator] = field(default_factory=lambda: ESTIMATORS)

    @property
    def scale(self) -> int:
        """The place of the question in RUNS: 0 for few values, 2 for many."""
        return int(self.domain.size > SMALL) + int(self.domain.size > QUICK)

    def methods(self) -> list[str]:
        """The names of the estimators that are asked."""
        left_out = {*(SLOW if self.scale == 2 else ())}
        left_out |= {*(() if "mse_mean" in self.losses else ("mean",))}
        left_out |= {*(() if self.domain.is_ordered else ("spline", "ems"))}
        usual = recommended(self.domain)  # labels have no other default, so it stands there once
        return [
            name
            for name, each in self.estimators.items()
            if name not in left_out and (each != usual or self.domain.is_ordered)
        ]


def _labels(words: str, counts: np.ndarray, **more: Any) -> Question:
    labels = Categorical([str(i) for i in range(len(counts))])
    return Question(words, labels, counts / counts.sum(), **more)


def _numbers(words: str, domain: Domain, values: np.ndarray) -> Question:
    counts = np.bincount(domain.encode(values), minlength=domain.size)
    return Question(words, domain, counts / counts.sum(), ("l2", "cdf", "mse_mean"))


@cache
def questions() -> dict[str, Question]:
    """The questions by name: of Adult, then of the folder of data where there is one."""
    return _of_adult() | ({} if rows("gss_wages.csv.gz") is None else _of_the_folder())


def _of_adult() -> dict[str, Question]:
    people = adult()
    counts = {name: np.unique(column, return_counts=True) for name, column in people.items()}
    jobs, workers = counts["occupation"]
    hidden = tuple(str(each) for each in jobs if each.split("-")[-1] in ("serv", "service", "?"))
    study = tomllib.loads((SRC / "warner" / "app" / "data" / "adult.toml").read_text())
    order = {name: i for i, name in enumerate(study["attributes"]["education"]["values"], 1)}
    school = np.array([order[each] for each in people["education"]])
    pairs = data_sets()["Adult education x occupation"]
    return {
        "income": _labels("Adult: income above 50,000 dollars", counts["income"][1]),
        "race": _labels("Adult: race", counts["race"][1]),
        "occupation": _labels("Adult: occupation", workers),
        "sensitive": Question(
            f"Adult: occupation, of which {', '.join(hidden)} are sensitive",
            Categorical([str(each) for each in jobs]),
            workers / workers.sum(),
            sensitive=hidden,
        ),
        "pair": _labels("Adult: education and occupation", pairs),
        "education": _numbers("Adult: education, in order from 1 to 16", Integers(1, 16), school),
        "age": _numbers(
            "Adult: age in years, 17 to 90", Integers(17, 90), people["age"].astype(int)
        ),
    }


def _of_the_folder() -> dict[str, Question]:
    """Questions of other data, those that take longest last."""
    children, pay = (
        np.array([float(row[column]) for row in rows(f"{file}.csv.gz") or () if row[column]])
        for file, column in (
            ("gss_wages", "childs"),
            ("sf_totalpay_standardized", "totalpay_standardized"),
        )
    )
    grid, check_ins = gowalla(DataFolder.from_environment(), spread=0.25)
    tokyo = data_sets()["Tokyo 20 x 20"]
    return {
        "children": _numbers(
            "General Social Survey: number of children, 0 to 8 and more",
            Integers(0, 8),
            children.astype(int),
        ),
        "SFC": _labels("SFC, of the code of P3's authors", data_sets()["sfc_union"]),
        "Income": _labels("Income, of the code of P3's authors", data_sets()["income_olh"]),
        # As in papers/p4/places.py, "spread".
        P4: Question(
            "Check-ins in San Francisco, 24 x 16, epsilon 1 per kilometre",
            grid,
            check_ins / check_ins.sum(),
            ("l1",),
            people=(int(check_ins.sum()),),
            budgets=(1.0,),
            mechanisms={"PlanarGeometric": PlanarGeometric},
            estimators={
                "noisy": method("observed"),
                "EM as in P4": ExpectationMaximization(tolerance=0.1),
                **{name: ESTIMATORS[name] for name in ("project", "normalize", "default", "mle")},
            },
        ),
        "pay": _numbers(
            "Pay in San Francisco, standardised, 128 bins", Interval(-2, 6, 128, clip=True), pay
        ),
        "retail": _labels("Retail items, the 1000 most bought", data_sets()["retail items"]),
        "Tokyo": Question(
            "Check-ins in Tokyo, 20 x 20", Grid(20, 20), tokyo / tokyo.sum(), ("l2", "mse_mean")
        ),
    }


# -----------------------------------------------------------------------------------------------
# The cells: what is measured, and the digest under which it is kept.


@cache
def mechanisms(name: str, epsilon: float) -> tuple[dict[str, Mechanism], dict[str, str]]:
    """The mechanisms that fit a question, and why others do not."""
    asked, made, refused = questions()[name], {}, {}
    makers = asked.mechanisms
    if makers is None:
        near = bool(asked.domain.dimension)
        makers = dict(candidates(asked.domain, asked.sensitive, None, None, near))
    for called, make in makers.items():
        try:
            made[called] = make(asked.domain, epsilon)
            made[called].channel()
        except WarnerError as reason:
            refused[called] = str(reason)
    return made, refused


@cache
def law_of(name: str, epsilon: float) -> str:
    """A digest of the truth of a question, and of its mechanisms with a tally of each."""
    made, asked = mechanisms(name, epsilon)[0], questions()[name]
    about = [asked.losses, asked.shares.tolist()]
    for called, each in made.items():
        _, weights = each.channel().simulate_tally(asked.shares, 1_000, np.random.default_rng(0))
        about.append([called, each.header, np.rint(1_000 * weights).tolist()])
    return digest(about)


@cache
def estimator_key(estimator: Estimator) -> str:
    """A digest of an estimator's options and code; of the default, of all that it may be."""
    modules = [type(estimator).__module__]
    if isinstance(estimator, Default):
        modules = ["warner.results.recommend", *(type(each).__module__ for each in USUAL)]
    return f"{estimator!r} {code_of(*modules, rooms=('estimators',))}"


USUAL = [each for name, each in ESTIMATORS.items() if name in ("eb", "em:auto", "spline", "mle")]


def digest(*parts: Any) -> str:
    """A short digest of what a line depends on."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def losses_of(
    name: str, n: int, epsilon: float, pairs: Mapping[str, Sequence[str]], runs: int, seed: int
) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """The losses of each run of mechanisms with some estimators each, by the package's benchmark."""
    asked, made = questions()[name], mechanisms(name, epsilon)[0]
    values: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for called, methods in pairs.items():
        make = lambda domain, nats, each=made[called]: each
        # The sample mean has no shares.
        for losses, some in (
            (asked.losses, [m for m in methods if m != "mean"]),
            (("mse_mean",), [m for m in methods if m == "mean"]),
        ):
            if some:
                result = benchmark(
                    asked.shares,
                    asked.domain,
                    {called: make},
                    {m: asked.estimators[m] for m in some},
                    *(epsilon, n, runs, losses),
                    seed=seed,
                )
                for (_, m), each in result.values.items():
                    values[called, m] = dict(each)
    return values


def every(name: str, n: int, epsilon: float, chosen: str) -> dict[str, Any]:
    """The mean losses of one estimator with every mechanism; nothing where it refused."""
    made, runs = mechanisms(name, epsilon)[0], RUNS[questions()[name].scale]
    values = losses_of(name, n, epsilon, {called: [chosen] for called in made}, runs, 0)
    means = {
        called: {loss: _short(v.mean()) for loss, v in each.items()}
        for (called, _), each in values.items()
    }
    return {"runs": runs, "errors": means}


def of_every(name: str, n: int, epsilon: float, chosen: str) -> str:
    asked = questions()[name]
    estimator = estimator_key(asked.estimators[chosen])
    return digest(law_of(name, epsilon), estimator, RUNS[asked.scale])


Setting = tuple[str, int, float]
Pairs = Sequence[tuple[str, str]]  # of a mechanism and an estimator


def fresh(pairs: Mapping[Setting, Pairs], *cell: Any) -> dict[str, Any]:
    """The losses of those that erred least, each with its standard error, and the same of what it
    errs more than the best: {loss: {pair: [mean, error, excess, error]}}.
    """
    name, n, epsilon = cell[:3]
    runs = FRESH[questions()[name].scale]
    asked: dict[str, list[str]] = {}
    for called, chosen in pairs[name, n, epsilon]:
        asked.setdefault(called, []).append(chosen)
    values = losses_of(name, n, epsilon, asked, runs, 1)
    table: dict[str, dict[str, list[float]]] = {}
    for loss in questions()[name].losses:
        of_runs = {" + ".join(pair): v[loss] for pair, v in values.items() if loss in v}
        best = of_runs[min(of_runs, key=lambda pair: float(of_runs[pair].mean()))]
        table[loss] = {
            pair: [_short(x) for x in (*_mean(v), *_mean(v - best))] for pair, v in of_runs.items()
        }
    return {"runs": runs, "errors": table}


def of_fresh(pairs: Mapping[Setting, Pairs], *cell: Any) -> str:
    asked, some = questions()[cell[0]], pairs[cell[0], cell[1], cell[2]]
    keys = [estimator_key(asked.estimators[m]) for m in sorted({pair[1] for pair in some})]
    return digest(law_of(cell[0], cell[2]), some, keys, FRESH[asked.scale])


def about(name: str, *_: Any) -> dict[str, Any]:
    """What the page says of a question."""
    asked = questions()[name]
    return {"words": asked.words, "values": asked.domain.size, "losses": asked.losses}


def of_about(name: str, *_: Any) -> str:
    return digest(list(about(name).values()))


def proposed(name: str, n: int, epsilon: float, _: str) -> dict[str, Any]:
    """The mechanism that ``plan`` proposes."""
    asked = questions()[name]
    return {"proposed": plan(asked.domain, epsilon, n, asked.sensitive).best.name}


def of_proposed(name: str, n: int, epsilon: float, _: str) -> str:
    code = code_of("warner.design.planning", rooms=("design",))
    return digest(law_of(name, epsilon), *map(estimator_key, USUAL), code)


def bounds(name: str, n: int, epsilon: float, _: str) -> dict[str, Any]:
    """What no mechanism with the same guarantee is below, by loss: the error of unbiased estimates,
    that of any estimate over shares near the true ones, and whether the first is known to be sharp.
    """
    asked = questions()[name]
    least = {}
    for loss in asked.losses:
        matrix = None if loss != "mse_mean" else asked.domain.points @ asked.domain.points.T
        bound = local_bound(
            asked.domain,
            epsilon,
            asked.shares,
            n,
            LOSSES[loss] if matrix is None else matrix,
            sensitive=asked.sensitive,
        )
        least[loss] = [_short(bound.unbiased), _short(bound.any_estimate), bool(bound.is_sharp)]
    return {"least": least}


def of_bounds(name: str, n: int, epsilon: float, _: str) -> str:
    modules = ("warner.theory.local_bounds", "warner.mechanisms.row_design")
    return digest(law_of(name, epsilon), code_of(*modules, rooms=("theory",)))


def _mean(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size))


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def contenders(setting: Setting, lines: Iterable[dict[str, Any]]) -> Pairs:
    """The mechanisms and estimators for the round of fresh draws."""
    asked = questions()[setting[0]]
    means: dict[str, list[tuple[float, str, str]]] = {loss: [] for loss in asked.losses}
    pairs = set()
    for line in lines:
        chosen = line["cell"][3]
        if tuple(line["cell"][:3]) != setting:
            continue
        if chosen == "plan":
            pairs.add((line["proposed"], "default"))
        elif chosen in asked.estimators:
            for called, each in line["errors"].items():
                for loss, value in each.items():
                    means[loss].append((value, called, chosen))
    several, each = CONTENDERS
    for values in means.values():
        by_mechanism: dict[str, dict[float, str]] = {}
        for value, called, chosen in sorted(values):
            by_mechanism.setdefault(called, {}).setdefault(value, chosen)  # equals once
        for called, by_value in list(by_mechanism.items())[:several]:
            pairs |= {(called, chosen) for chosen in list(by_value.values())[:each]}
    return sorted(pairs)


def measure(
    name: str, file: Path, processes: int = 1, only: Sequence[Setting] | None = None
) -> list[dict[str, Any]]:
    """All lines of a question, or of some of its settings; those that are missing are made first."""
    asked = questions()[name]
    every_setting = [(name, n, epsilon) for n, epsilon in product(asked.people, asked.budgets)]
    settings = every_setting if only is None else only
    run = lambda kinds, work, of: resume(
        file, [(*each, kind) for each, kind in product(settings, kinds)], work, of, processes
    )
    lines = resume(file, [(name, 0, 0.0, "about")], about, of_about)
    if asked.mechanisms is None:
        lines += run(asked.methods(), every, of_every) + run(["plan"], proposed, of_proposed)
        lines += run(["bound"], bounds, of_bounds)
        pairs = {each: contenders(each, lines) for each in settings}
    else:
        pairs = {each: list(product(asked.mechanisms, asked.estimators)) for each in settings}
    return lines + run(["fresh"], partial(fresh, pairs), partial(of_fresh, pairs))


# -----------------------------------------------------------------------------------------------
# The page, from the lines alone.

NAMES = LOSSES | {"l1": "total variation"}
# The distances under the maps of [P4 fig 9], by our names of the estimators.
PRINTED = {"noisy": 0.4544, "project": 0.4567, "normalize": 0.4633, "EM as in P4": 0.2238}
QUESTIONS = """\
Bold: better than all others of the second round. *As good*: how many of the others are not worse.
*Error* is with its relative standard error. *Its error*: what `plan` proposes with `default`, over
the least error; `plan` ranks by the shares for labels, by the distance of distributions for numbers
and places.

The last two columns are the least error over what no mechanism with the same guarantee is below
(`warner.theory.local_bound`). *Unbiased*: the variance of unbiased estimates at the true shares, to
first order. Shrunken estimates of few people go below it, and figures near 1 leave nothing to gain
with many. A star: no mechanism is known that has this variance, so that the bound may be too low.
*Any*: the mean error of any estimate, over shares near the true ones. It is not known to be sharp in
any row, and blank where rare values leave no bound.
"""
PAPERS = """\
P4 alone prints numbers for a cell of this kind: the total variation of four estimates of check-ins in
San Francisco, with the planar geometric mechanism at epsilon 1 per kilometre (figure 9). A part of
its check-ins is at hand; see [P4](papers/P4.md). What P1, P2, P3 and P5 state of their figures is
compared on their pages: [P1](papers/P1.md), [P2](papers/P2.md), [P3](papers/P3.md),
[P5](papers/P5.md).
"""
INTRODUCTION = """\
# The table of record

Which mechanism with which estimator errs least, on real data. `make leaderboard` makes this page
from [bench/results/leaderboard.jsonl](../bench/results/leaderboard.jsonl), and does again what a
change of the code has made old.

- **Questions.** Columns of Adult (32,561 people), which the package has, and of sets that it may not
  have: the General Social Survey, pay in San Francisco, retail items, the counts in the code of P3's
  authors, check-ins. The true shares are those of all people in the data; in each run n people are
  drawn from them.
- **Mechanisms.** All that `plan` compares for the question. Each keeps epsilon for any two values,
  and where some values are sensitive, the guarantee ULDP. Mechanisms of distances get the epsilon
  with which the two most distant values keep it.
- **Estimators.** All of `warner estimate` for one question, by its names. `default` is what it takes
  where none is named: `eb` for labels and `em:auto` for places, which do not stand there twice, and
  for numbers `spline`, or `mle` where the reports contradict it. Beyond {quick} values `mr`, `bias`,
  `em:histogram` and `em:threshold` are left out, because they take seconds for a fit.
- **Losses.** *Shares*: the sum of the squared errors of all shares. *Distribution*: that of the
  distribution function, for values in an order. *Mean*: the squared error of the mean.
- **Runs.** First every mechanism with every estimator: {runs[0]} runs up to {small} values, {runs[1]} up to
  {quick}, {runs[2]} beyond. Then, for each loss, the {contenders[1]} best estimators of the {contenders[0]} best mechanisms, and
  what `plan` proposes with `default`: {fresh[0]}, {fresh[1]} and {fresh[2]} runs of other draws. What is said of the
  best is from this second round, because among many that are equally good the first favours the
  lucky.
- **Better** means by more than two standard errors of the difference on the same draws.
"""


def geometric(values: Iterable[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, several := list(values))) / len(several))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, whose columns are aligned in the text too."""
    every_row = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*every_row, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) + " |"
        for row in every_row
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


@dataclass(frozen=True)
class Board:
    """The lines by question, number of people and epsilon."""

    lines: Sequence[Mapping[str, Any]]

    def of(self, kind: str) -> dict[Setting, Mapping[str, Any]]:
        """The lines of one kind, or of one estimator in the first round."""
        return {tuple(x["cell"][:3]): x for x in self.lines if x["cell"][3] == kind}

    @cached_property
    def questions(self) -> dict[str, Mapping[str, Any]]:
        """What is said of each question whose second round was done."""
        done = {setting[0] for setting in self.of("fresh")}
        return {name: x for (name, *_), x in self.of("about").items() if name in done}

    def first_round(self, loss: str) -> dict[tuple[Setting, str, str], float]:
        """{(setting, mechanism, estimator): mean loss}."""
        return {
            (tuple(x["cell"][:3]), called, x["cell"][3]): each[loss]
            for x in self.lines
            if x["cell"][3] in ESTIMATORS
            for called, each in x["errors"].items()
            if loss in each
        }

    def estimators(self) -> str:
        """Each estimator's error over that of the default, with the same mechanism."""
        ratios: dict[str, dict[str, list[tuple[Setting, float]]]] = {}
        for loss in LOSSES:
            errors = self.first_round(loss)
            for (setting, called, chosen), error in errors.items():
                default = errors[setting, called, "default"]
                ratios.setdefault(chosen, {}).setdefault(loss, []).append(
                    (setting, error / default)
                )
        rows = []
        for chosen, by_loss in ratios.items():
            shares = by_loss.get("l2", [])
            texts = [
                _ratio([r for setting, r in some if setting[at] in allowed])
                for some, at, allowed in (
                    *((shares, 1, (n,)) for n in PEOPLE),
                    *((shares, 2, (epsilon,)) for epsilon in (BUDGETS[0], BUDGETS[-1])),
                    *((by_loss.get(loss, []), 2, BUDGETS) for loss in LOSSES),
                )
            ]
            several = [r for _, r in shares]
            worst = f"{max(several):.3g}" if several else ""
            rows.append((f"`{chosen}`", *texts, worst, str(len(several) or "")))
        rows.sort(key=lambda row: (not row[5], float(row[5] or 0)))
        people = [f"n = {n:,}" for n in PEOPLE]
        budgets = [f"epsilon {epsilon:g}" for epsilon in (BUDGETS[0], BUDGETS[-1])]
        names = ("shares", "distribution", "mean")
        return table(["estimator", *people, *budgets, *names, "largest", "cells"], rows)

    def mechanisms(self) -> str:
        """Each mechanism's error with the default, over that of the one that ``plan`` proposes."""
        best = {setting: line["proposed"] for setting, line in self.of("plan").items()}
        columns = [
            ("l2", lambda x: "cdf" not in x["losses"] and x["values"] <= SMALL),
            ("l2", lambda x: "cdf" not in x["losses"] and x["values"] > SMALL),
            *((loss, lambda x: "cdf" in x["losses"]) for loss in LOSSES),
        ]
        ratios: dict[str, list[list[float]]] = {}
        for at, (loss, is_asked) in enumerate(columns):
            errors = self.first_round(loss)
            for (setting, called, chosen), error in errors.items():
                about_it = self.questions.get(setting[0])
                if chosen == "default" and about_it and is_asked(about_it):
                    plain = errors[setting, best[setting], "default"]
                    ratios.setdefault(called, [[] for _ in columns])[at].append(error / plain)
        rows = [(f"`{called}`", *map(_ratio, each)) for called, each in ratios.items()]
        few, many = f"labels, to {SMALL}", "labels and places, more"
        return table(["mechanism", few, many, *(f"numbers: {n}" for n in LOSSES.values())], rows)

    def question(self, name: str) -> str:
        """The best of each setting, what ``plan`` proposes, and the limits."""
        plans, limits = self.of("plan"), self.of("bound")
        rows = []
        for setting, line in sorted(self.of("fresh").items()):
            for loss, errors in line["errors"].items() if setting[0] == name else ():
                best = min(errors, key=lambda pair: errors[pair][0])
                error, margin = errors[best][:2]
                others = [e for pair, e in errors.items() if pair != best]
                as_good = sum(e[2] <= 2 * e[3] for e in others)
                planned = plans[setting]["proposed"]
                excess, of_excess = errors[f"{planned} + default"][2:]
                unbiased, of_any, is_sharp = limits[setting]["least"][loss]
                rows.append(
                    (
                        NAMES[loss],
                        f"{setting[1]:,}",
                        f"{setting[2]:g}",
                        best if as_good else f"**{best}**",
                        str(as_good or ""),
                        f"{error:.2g} ± {margin / error:.0%}",
                        planned,
                        f"{1 + excess / error:.2f} ± {of_excess / error:.2f}",
                        f"{error / unbiased:.2f}" + ("" if is_sharp else " *"),
                        f"{error / of_any:.3g}" if of_any else "",
                    )
                )
        order = list(LOSSES.values())
        rows.sort(key=lambda row: order.index(row[0]))
        head = ("loss", "n", "epsilon", "least error", "as good", "error")
        return table([*head, "proposed", "its error", "unbiased", "any"], rows)

    def plans(self) -> tuple[int, int, float, float]:
        """Settings; in how many the proposal of ``plan`` costs at most 5 % or two standard errors;
        the geometric mean of its error over the least, and the largest. By the loss that ``plan``
        has: of the distribution for numbers, of the shares for labels. Places are left out, whose
        loss is another one.
        """
        ratios, within = [], 0
        fresh_lines = self.of("fresh")
        for setting, line in self.of("plan").items():
            by_loss = fresh_lines.get(setting, {}).get("errors", {})
            errors = by_loss.get("cdf", {} if "mse_mean" in by_loss else by_loss.get("l2", {}))
            if not errors:
                continue
            excess, margin = errors[f"{line['proposed']} + default"][2:]
            ratios.append(1 + excess / min(e[0] for e in errors.values()))
            within += ratios[-1] <= 1.05 or excess <= 2 * margin
        return len(ratios), within, geometric(ratios), max(ratios)

    def p4(self) -> str:
        """The distances that P4 prints, beside ours."""
        line = next(x for setting, x in self.of("fresh").items() if setting[0] == P4)
        rows = [
            (pair.split(" + ")[1], _text(PRINTED.get(pair.split(" + ")[1])), *_halves(each))
            for pair, each in line["errors"]["l1"].items()
        ]
        return table(["estimator", "P4", "here", "standard error"], rows)


def _ratio(values: Sequence[float]) -> str:
    return f"{geometric(values):.2f}" if values else ""


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _halves(errors: Sequence[float]) -> tuple[str, str]:
    """Total variation and its standard error, from the sum of absolute errors."""
    return f"{errors[0] / 2:.4f}", f"{errors[1] / 2:.4f}"


def page(lines: Sequence[Mapping[str, Any]]) -> str:
    """The page of some lines."""
    board = Board(lines)
    count, within, mean, largest = board.plans()
    head = INTRODUCTION.format(
        quick=QUICK, small=SMALL, runs=RUNS, fresh=FRESH, contenders=CONTENDERS
    )
    minutes = sum(line["seconds"] for line in lines) / 60
    parts = [
        head,
        f"The {len(lines):,} cells took {minutes:.0f} minutes of one core.\n",
        "## Estimators\n",
        "The error of an estimator over that of `default`, with the same mechanism and on the same "
        "draws: geometric means over all\nquestions and mechanisms, of the first round. The first "
        "four columns, the largest ratio and the number of cells are of shares.\n",
        board.estimators() + "\n",
        "## Mechanisms\n",
        "The error of a mechanism with `default`, over that of the mechanism that `plan` proposes "
        "with `default`: geometric means,\nof the first round. A blank says that the mechanism fits "
        "no such question.\n",
        board.mechanisms() + "\n",
        "`HadamardResponse` is the form for high privacy alone, so its column says nothing of Hadamard "
        "response at epsilon 2 and 4,\nwhere its error is 2 to 14 times that of `SubsetSelection` in "
        "theory. A fair baseline there is `SubsetSelection` or, with one\nshort index as well, "
        "`ProjectiveGeometryResponse`.\n",
        f"In {count} settings of labels and of numbers the proposal with `default` errs {mean:.2f} times as "
        f"much as the best of the second\nround (geometric mean; at most {largest:.2f}), in the shares of "
        "labels and in the distribution of numbers, as `plan` ranks. In\n"
        f"{within / count:.0%} of them it costs at most 5 % or two standard errors.\n",
        "## Questions\n",
        QUESTIONS,
    ]
    for name, about_it in board.questions.items():
        if name != P4:
            title = f"### {about_it['words']}"
            values = f"{about_it['values']} values.\n"
            parts += [title + "\n", values, board.question(name) + "\n"]
    if P4 in board.questions:
        parts += ["## Beside the papers\n", PAPERS, board.p4() + "\n"]
    return "\n".join(parts)


def main() -> None:
    """Do what is missing, then write the page, or show the quick one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="questions, with commas; all if empty")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--quick", action="store_true", help="one setting of Adult, in a minute")
    parser.add_argument(
        "--page", action="store_true", help="the page from the lines that are there"
    )
    asked = parser.parse_args()
    if asked.quick:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / FILE.name
            print(page(measure("education", file, only=[("education", 1_000, 1.0)])))
        return
    lines = stored(FILE)
    if not asked.page:
        names = asked.only.split(",") if asked.only else list(questions())
        # Lines of questions whose data are not here stay; those that nothing asks for go.
        lines = [line for line in lines if line["cell"][0] not in names]
        for name in names:
            lines += measure(name, FILE, asked.processes)
        FILE.write_text("".join(json.dumps(line) + "\n" for line in lines))
    PAGE.write_text(page(lines))
    print(PAGE)
    judge(Board(lines))


def judge(board: Board) -> None:
    """The claims."""
    count, within, mean, largest = board.plans()
    claim(
        "the proposal with the default costs at most 5 % or two standard errors in 80 %",
        within >= 0.8 * count,
        f"{within / count:.0%} of {count}, {mean:.2f} times the least error, at most {largest:.2f}",
    )
    errors = board.first_round("l2")
    ratios: dict[str, list[float]] = {}
    for (setting, called, chosen), error in errors.items():
        ratios.setdefault(chosen, []).append(error / errors[setting, called, "default"])
    several = len(ratios["default"])
    least = min((geometric(r), chosen) for chosen, r in ratios.items() if len(r) == several)
    claim(
        "no estimator errs less in the shares than the default on the geometric mean",
        least[0] >= 0.99,
        f"{least[1]} {least[0]:.2f} times",
    )


if __name__ == "__main__":
    main()
