"""Mechanisms with methods on a known distribution: mean losses, in a table and in a picture."""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import inspect
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby, product
from os import urandom
from pathlib import Path
from typing import Any

import numpy as np

from warner._core.checks import budget, choice, integer, kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    IdentifiabilityError,
    MethodWarning,
    WarnerError,
    warn,
)
from warner._core.hashing import next_suitable
from warner._core.names import (
    FURTHER,
    IN_PAPERS,
    LOSSES_ELSEWHERE,
    called_here,
    explained,
    home_of,
    known_elsewhere,
)
from warner._core.processes import JsonLines, Workers
from warner._core.progress import steps
from warner._core.text import meant
from warner.channels import LikelihoodOperator
from warner.channels.support import SupportChannel
from warner.design.benchmark_result import FORMAT, HOLDING, KIND, Benchmark, Cell
from warner.design.benchmark_shown import COVERAGE, MARK
from warner.design.comparison import LOSSES, truths_of
from warner.design.own_code import contents_of, digest, version_here
from warner.design.own_law import contradiction
from warner.design.planning import Maker, candidates
from warner.domains import Domain
from warner.domains.base import require_domain
from warner.estimators import (
    Estimator,
    ExpectationMaximization,
    Inversion,
    LogSpline,
    MaximumLikelihood,
)
from warner.estimators.base import LikelihoodData
from warner.estimators.literature import SmoothedEM
from warner.mechanisms import MECHANISMS, HadamardResponse, LocalHashing, Mechanism
from warner.mechanisms.bit_vectors import WORTH_KEEPING, BitMechanism
from warner.mechanisms.headers import is_of_package
from warner.mechanisms.local_hashing import prime_of_whole_reports
from warner.results.intervals import KINDS, OF_REPORTS, default_kind, interval
from warner.results.recommend import estimator_of, estimators_of
from warner.results.solution import Solution
from warner.theory import expected_loss

_SQUARED = ("l2", "mse")  # the losses of the inversion with an exact expectation
_ROUNDING = 1 + 1e-9  # of a budget that a function computes in another way
_SPENT = 0.99  # the part of a budget below which a mechanism is compared at a smaller epsilon
_HIGH_PRIVACY = 1.0  # the largest epsilon at which Hadamard response is a fair baseline
_COLLISIONS = 0.01  # the part of an error from which fewer collisions are said
# Methods that can use whole reports; others start from the unbiased estimates of single shares.
_OF_LIKELIHOOD = (MaximumLikelihood, ExpectationMaximization, SmoothedEM, LogSpline)
_RESIDUES = 100_000  # of a hash function that a simulation can compute in a second or two
_TOGETHER = 10  # runs that one process does at a time

Losses = dict[str, Any]  # a number each, and the kind of intervals whose coverage is one


@explained
def benchmark(
    truth: Any,
    domain: Domain,
    mechanisms: Sequence[Any] | Mapping[str, Maker],
    methods: Sequence[Estimator | str] | Mapping[str, Estimator | str],
    epsilon: float | Sequence[float] = 1.0,
    n: int | Sequence[int] = 10_000,
    runs: int = 20,
    loss: str | Sequence[str] = "l2",
    *,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    processes: int = 1,
    coverage: bool | str = False,
) -> Benchmark:
    """Compare mechanisms with methods on known distributions, over budgets and numbers of people.

        loss of a cell = mean over runs of loss(method(tally*), truth)

    tally* is of n people drawn from the truth, and holds what ``mechanism.tally(reports)`` keeps of
    so many reports: bit sums, or whole reports of bits where these are few. In one run all methods
    get the same tally, so that their differences are more precise than their means. A run's random
    numbers depend on the seed, the truth, n and the number of the run alone: they are the same in
    any order, with any number of processes, and for all mechanisms. Reports are drawn from the law
    that a mechanism states; the sampler of its class is not run. Run that of your own class by
    :func:`warner.testing.check_mechanism`.

    Args:
        truth: (K,) shares that sum to 1, as floats; or a column of values, whose shares are the
            truth; or {name: either of them}.
        domain: the K values.
        mechanisms: classes or functions of a domain and a budget, names of :func:`warner.plan` such
            as ``"UnaryEncoding variant='oue'"`` or of papers such as ``"OUE"``, or {name: one of
            them}.
        methods: estimators, names such as ``"mle"`` or ``"em:100"``, or {name: one of them}.
        epsilon: budget in nats, or several.
        n: number of people, or several.
        runs: number of simulated tallies of each cell, at least 2.
        loss: a loss of :func:`warner.design.compare`, such as ``"l2"`` or ``"w1"``, or several.
            ``"l1"`` and ``"l2"`` are sums over the K values, ``"mae"`` and ``"mse"`` the same
            divided by K, and half of ``"l1"`` is the total variation.
        seed: of all random numbers.
        store: a file of JSON lines that keeps each finished run. With the same file only what is
            missing is done: further runs, methods, budgets. A run is kept under its contents: the
            law of the mechanism, the truth, n, the seed, the method with its options, the code of a
            method from outside the package with the numbers, texts and arrays that it reads, and
            the version of warner. So is a method's refusal. Runs of code that reads other things,
            such as a data frame, are not kept, which a warning says.
        processes: the number of processes; 1 for this process. A script that starts several needs
            ``if __name__ == "__main__":``, and own parts in a module that can be imported.
        coverage: whether to count, on the same tallies, which part of the 95 % intervals of the K
            shares hold the true ones. True for the kind that the table of an estimate has, mostly
            the intervals of the unbiased estimate; or a kind of :meth:`warner.Estimate.interval`,
            such as ``"bootstrap"`` for intervals around the estimates of each method. A method
            without such intervals is left out.

    Returns:
        Benchmark: ``rows``, ``to_frame``, ``plot``, ``best``; ``print`` shows a table.

    Raises:
        ArgumentError: names that are not known, a truth that is no distribution on the domain, or a
            loss that the domain does not have.
        FileError: a ``store`` that is another file.

    >>> from warner import Categorical, LocalHashing, RandomizedResponse
    >>> question = Categorical(["never", "sometimes", "often"])
    >>> found = benchmark([0.7, 0.2, 0.1], question, [RandomizedResponse, LocalHashing],
    ...                   ["project", "mle"], epsilon=[0.5, 1.0], n=1000, runs=5)
    >>> found
    Benchmark(truths=1, mechanisms=2, epsilon=2, n=1, methods=2, runs=5)
    >>> [row["mechanism"] for row in found.best()]
    ['RandomizedResponse', 'RandomizedResponse']
    """
    require_domain(domain)
    losses = tuple(_several("loss", loss))
    for each in losses:
        LOSSES[choice("loss", each, tuple(LOSSES), LOSSES_ELSEWHERE)].require(each, domain)
    if coverage:
        losses += (HOLDING if coverage is True else HOLDING + choice("coverage", coverage, KINDS),)
    integer("runs", runs, 2)
    integer("processes", processes, 1)
    chosen = _methods(methods)
    makers = _makers(mechanisms, domain)
    budgets = [budget(each, infinite=True) for each in _several("epsilon", epsilon)]
    people = [integer("n", each, 1) for each in _several("n", n)]
    truths = truths_of(truth, domain)
    work = _Work(domain, losses, integer("seed", seed, 0), runs, chosen, store)
    for name, shares in truths.items():
        for called, make in makers.items():
            for nats in budgets:
                for count in people:
                    work.add(Cell(name, called, nats, count), make, shares)
    if processes > 1:
        _check_importable(chosen.values(), work.mechanisms.values())
    with Workers(processes) as workers:
        work.do(workers)
    return work.result()


def _several(name: str, value: Any) -> list[Any]:
    """One value or several as a list, each once."""
    is_list = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    several = list(dict.fromkeys(value)) if is_list else [value]
    if not several:
        raise ArgumentError(name, "must not be empty")
    return several


def _methods(methods: Any) -> dict[str, Estimator]:
    """The estimators by name; without names, those in the list, or as their repr."""
    if isinstance(methods, Mapping):
        return {str(name): estimator_of(each) for name, each in methods.items()}
    listed = estimators_of(methods)
    return {
        given if isinstance(given, str) else repr(given): each
        for given, each in zip(methods, listed, strict=True)
    }


def _makers(mechanisms: Any, domain: Domain) -> dict[str, Maker]:
    """The makers by name."""
    if isinstance(mechanisms, Mapping):
        return {
            str(name): each if _is_lambda(each) else _maker(each, domain)[1]
            for name, each in mechanisms.items()
        }
    alone = isinstance(mechanisms, str) or not isinstance(mechanisms, Sequence)
    if alone or not mechanisms:
        rule, remedy = "must be a list of mechanisms", "For example [RandomizedResponse]"
        got = kind(mechanisms) if alone else "an empty list"
        raise ArgumentTypeError("mechanisms", rule, got, remedy)
    return dict(_maker(each, domain) for each in mechanisms)


def _maker(given: Any, domain: Domain) -> tuple[str, Maker]:
    """The name of a mechanism, and the function that makes it from a domain and a budget."""
    if isinstance(given, str):
        makers: dict[str, Any] = {
            **MECHANISMS,
            **dict(candidates(domain, None, None, None, bool(domain.dimension))),
        }
        # A row has the name that its author gave, "GRR" for RandomizedResponse.
        word, _, behind = given.partition(" ")
        here = given if given in makers else f"{called_here(word) or word} {behind}".strip()
        name, *pairs = here.split(" ")
        if here not in makers and name in makers:  # "LocalHashing buckets=2"
            makers[here] = functools.partial(makers[name], **_options(given, pairs))
        if here not in makers:
            remedy = meant(given, makers)
            if remedy is None and not home_of(given):
                remedy = (known_elsewhere(given) or "").removesuffix(".") or meant(given, IN_PAPERS)
            rule = "names an unknown mechanism" if remedy else f"must be one of {', '.join(makers)}"
            raise ArgumentError("mechanisms", rule, show(given), remedy)
        _require_budget(given, makers[here])
        return given, makers[here]
    if isinstance(given, functools.partial):
        options = ", ".join(f"{key}={value!r}" for key, value in given.keywords.items())
        return f"{_maker(given.func, domain)[0]} {options}".strip(), given
    if not callable(given) or isinstance(given, Mechanism):
        rule = "must each be a class, a name, or a function that makes a mechanism"
        got, remedy = kind(given), "For example RandomizedResponse"
        if isinstance(given, Mechanism):
            got, remedy = "a mechanism", f"Write {type(given).__name__} without arguments"
        raise ArgumentTypeError("mechanisms", rule, got, remedy)
    if _is_lambda(given):
        rule = "must have a name for each lambda, to show in the result"
        remedy = 'Write {"my mechanism": lambda domain, epsilon: ...}'
        raise ArgumentError("mechanisms", rule, "a lambda", remedy)
    _require_budget(given.__name__, given)
    return given.__name__, given


def _require_budget(name: str, make: Maker) -> None:
    """Refuse a class of the package that is made of something else than a domain and a budget."""
    if not isinstance(make, type) or not is_of_package(make):
        return
    taken = list(inspect.signature(make).parameters.values())
    if taken[1].name != "epsilon":
        needed = " and ".join(each.name for each in taken if each.default is each.empty)
        rule = "must each be made from a domain and an epsilon"
        remedy = f"Write {{{name!r}: lambda domain, epsilon: {make.__name__}(...)}}"
        got = f"{name}, which is made from {needed}"
        raise ArgumentError("mechanisms", rule, got, remedy)


def _options(given: str, options: Iterable[str]) -> dict[str, Any]:
    """The options behind the name of a mechanism, such as ``buckets=2``."""
    pairs = [option.partition("=") for option in options]
    try:
        return {key: ast.literal_eval(value) for key, _, value in pairs}
    except (ValueError, SyntaxError):
        rule = (
            "must have options of the form name=value, with a number or a text in quotes as value"
        )
        remedy = "For example \"UnaryEncoding variant='oue'\""
        raise ArgumentError("mechanisms", rule, show(given), remedy) from None


def _is_lambda(given: Any) -> bool:
    """Whether something that can be called has no name."""
    return callable(given) and getattr(given, "__name__", "<lambda>") == "<lambda>"


def _require_made(made: Any, cell: Cell, domain: Domain) -> None:
    """Refuse what is no mechanism of the domain at the budget of its row."""
    name = f"mechanism {cell.mechanism!r}"
    if not isinstance(made, Mechanism):
        remedy = "For example, return RandomizedResponse(domain, epsilon)"
        raise ArgumentTypeError(name, "its function must return a mechanism", kind(made), remedy)
    if made.domain != domain:
        rule = "must have the domain of the benchmark"
        remedy = "Make the mechanism with the domain that its function gets"
        raise ArgumentError(name, rule, repr(made.domain), remedy)
    if cell.epsilon * _ROUNDING < made.requested < math.inf:
        rule = f"must have an epsilon of at most {cell.epsilon!r}"
        remedy = "Make the mechanism with the epsilon that its function gets"
        raise ArgumentError(name, rule, repr(made.requested), remedy)


def _promises_less(mechanism: Mechanism, epsilon: float) -> bool:
    """Whether a mechanism promises less than LDP at a budget, for any two values."""
    promised = mechanism.guarantee.between_any_values()
    is_of_all = promised.delta is None and promised.sensitive is None
    return not is_of_all or promised.epsilon > epsilon * _ROUNDING


def _check_importable(methods: Any, mechanisms: Any) -> None:
    """Refuse parts that a new process cannot import."""
    main = sys.modules.get("__main__")
    for each in (*methods, *mechanisms):
        module = type(each).__module__
        is_typed_in = module == "__main__" and not hasattr(main, "__file__")
        if is_typed_in or module.startswith("warner_loaded_"):
            name = f"{type(each).__name__} of {module}"
            rule = f"must be 1, because other processes cannot import {name}"
            remedy = "Use processes=1, or put the class in a module that can be imported"
            raise ArgumentError("processes", rule, None, remedy)


class _Work:
    """The runs that are wanted, those that are done, and those that are missing."""

    def __init__(
        self,
        domain: Domain,
        losses: tuple[str, ...],
        seed: int,
        runs: int,
        methods: Mapping[str, Estimator],
        store: str | os.PathLike[str] | None,
    ) -> None:
        self.domain, self.losses, self.seed, self.runs = domain, losses, seed, runs
        self.methods = methods
        self.mechanisms: dict[Cell, Mechanism] = {}
        self.shares: dict[str, np.ndarray] = {}
        self.cells: list[Cell] = []
        self.left_out: dict[tuple[Cell, str | None], str] = {}
        self.kinds: dict[tuple[Cell, str], str] = {}  # of the intervals whose coverage is measured
        self._file = None if store is None else JsonLines(Path(store), FORMAT, replace=False)
        self._done: dict[tuple[str, str, int], Losses] = {}
        self._refused: dict[tuple[str, str], str] = {}  # by the method itself, for all losses
        for piece in self._file.found if self._file is not None else ():
            for key, stored in piece.get("losses", {}).items():
                self._done.setdefault((piece["cell"], key, piece["run"]), {}).update(stored)
            for key, reason in piece.get("refused", {}).items():
                self._refused[piece["cell"], key] = reason
        self._keys = {name: _key_of_method(each) for name, each in methods.items()}
        self._unknown: dict[str, list[str]] = {
            name: unknown for name, each in methods.items() if (unknown := contents_of(each)[1])
        }

    def add(self, cell: Cell, make: Maker, shares: np.ndarray) -> None:
        """Ask for a cell; a mechanism that cannot be made is left out."""
        self.cells.append(cell)
        self.shares[cell.truth] = shares
        try:
            made = make(self.domain, cell.epsilon)
            if isinstance(made, Mechanism):
                made.checked_channel()
        except WarnerError as reason:
            self.left_out[cell, None] = str(reason)
            return
        except Exception as problem:
            problem.add_note(f"This happened when the mechanism {cell.mechanism!r} was made.")
            raise
        _require_made(made, cell, self.domain)
        if (disagreement := contradiction(made)) is not None:
            self.left_out[cell, None] = disagreement
            return
        self.mechanisms[cell] = made
        if unknown := contents_of(made)[1]:
            self._unknown[cell.mechanism] = unknown

    @functools.cached_property
    def _cell_keys(self) -> dict[Cell, str]:
        return {
            cell: digest(
                [
                    *_contents(mechanism),
                    hashlib.sha256(self.shares[cell.truth].tobytes()).hexdigest(),
                    cell.n,
                    self.seed,
                    *(["whole reports"] if _keeps_bits(mechanism, cell.n) else []),
                ]
            )
            for cell, mechanism in self.mechanisms.items()
        }

    def _missing(self, cell: Cell, run: int) -> tuple[str, ...]:
        """The methods whose losses of a run are not known."""
        key = self._cell_keys[cell]
        return tuple(
            name
            for name in self.methods
            if (key, self._keys[name]) not in self._refused
            and not set(self.losses) <= self._done.get((key, self._keys[name], run), {}).keys()
        )

    def _tasks(self) -> Iterator[tuple[Any, ...]]:
        """The arguments of :func:`_work_on` for each piece of work."""
        for cell, mechanism in self.mechanisms.items():
            pieces = groupby(range(self.runs), lambda run, cell=cell: self._missing(cell, run))  # type: ignore[misc]
            for names, group in pieces:
                runs = list(group)
                chosen = {name: self.methods[name] for name in names}
                for i in range(0, len(runs) if names else 0, _TOGETHER):
                    batch = runs[i : i + _TOGETHER]
                    shares = self.shares[cell.truth]
                    yield cell, mechanism, shares, chosen, self.losses, self.seed, batch

    def do(self, workers: Workers) -> None:
        """Do what is missing, and keep each run when it is done."""
        if self._unknown and self._file is not None:
            for name, unknown in self._unknown.items():
                warn(
                    f"Runs of {name} are not stored, because its code reads {', '.join(unknown)}, "
                    "and nobody can see later whether that has changed. Make it an option of the "
                    "class, or a number, a text or an array of NumPy.",
                    MethodWarning,
                )
        tasks = list(self._tasks())
        done = steps(workers.work(_work_on, tasks), "benchmark", len(tasks))
        try:
            for task, (results, refused) in done:
                self._keep(task[0], results, refused)
        except KeyboardInterrupt as stop:
            if self._file is not None:
                stop.add_note(
                    f"Finished runs are saved in {self._file.path}. To do the remaining runs, "
                    "repeat the same call."
                )
            raise

    def _keep(
        self,
        cell: Cell,
        losses_by_run: Mapping[int, dict[str, Losses]],
        refused: Mapping[str, _Refusal],
    ) -> None:
        """Keep a piece of work, and write it to the store."""
        key = self._cell_keys[cell]
        for name, refusal in refused.items():
            self.left_out[cell, name] = refusal.reason
        lasting = {self._keys[n]: each.reason for n, each in refused.items() if each.is_lasting}
        for method, reason in lasting.items():
            self._refused[key, method] = reason
        for run, losses in losses_by_run.items():
            by_key = {self._keys[name]: each for name, each in losses.items()}
            for method, each in by_key.items():
                self._done.setdefault((key, method, run), {}).update(each)
            self._write(cell, losses, {"cell": key, "run": run, "losses": by_key})
        self._write(cell, refused if lasting else {}, {"cell": key, "refused": lasting})

    def _write(self, cell: Cell, names: Iterable[str], piece: dict[str, Any]) -> None:
        """Write a piece to the store, unless it is of no method."""
        methods = {self._keys[name]: name for name in names if name not in self._unknown}
        if cell.mechanism not in self._unknown and methods and self._file is not None:
            self._file.add({**piece, "about": {**vars(cell), "methods": methods}})

    def result(self) -> Benchmark:
        """The losses of all cells."""
        values = {}
        for cell in self.mechanisms:
            for name in self.methods:
                reason = self._refused.get((self._cell_keys[cell], self._keys[name]))
                if reason is not None:
                    self.left_out[cell, name] = reason
                if (cell, name) in self.left_out:
                    continue
                losses_of_runs = [
                    self._done[self._cell_keys[cell], self._keys[name], run]
                    for run in range(self.runs)
                ]
                values[cell, name] = {
                    COVERAGE if loss.startswith(HOLDING) else loss: np.array(
                        [each[loss] for each in losses_of_runs]
                    )
                    for loss in self.losses
                }
                key = KIND + self.losses[-1]
                if kinds := [each[key] for each in losses_of_runs if key in each]:
                    self.kinds[cell, name] = " or ".join(dict.fromkeys(kinds))
        sources: dict[str, list[str]] = {}
        makers = {cell.mechanism: made for cell, made in self.mechanisms.items()}
        of: dict[str, Any] = {**makers, **self.methods}
        for name, each in of.items():
            for key in each.sources:
                sources.setdefault(key, []).append(name)
        return Benchmark(
            tuple(self.cells),
            tuple(self.methods),
            tuple(loss for loss in self.losses if loss in LOSSES),
            self.runs,
            values,
            self.left_out,
            {cell: str(made.guarantee) for cell, made in self.mechanisms.items()},
            frozenset(self._weaker),
            frozenset(self._smaller),
            tuple(self._notes()),
            self._exact(),
            tuple(self._provenance()),
            {key: tuple(names) for key, names in sources.items()},
            self.kinds,
        )

    @functools.cached_property
    def _weaker(self) -> list[Cell]:
        """The settings whose mechanism promises less than its row says."""
        return [c for c, made in self.mechanisms.items() if _promises_less(made, c.epsilon)]

    @functools.cached_property
    def _smaller(self) -> dict[Cell, float]:
        """The settings whose mechanism spends less than its row says, and what it spends."""
        spent = {
            cell: made.guarantee.between_any_values().epsilon
            for cell, made in self.mechanisms.items()
            if cell not in self._weaker
        }
        return {cell: nats for cell, nats in spent.items() if nats < _SPENT * cell.epsilon}

    def _notes(self) -> Iterator[str]:
        """A sentence on each mechanism that is not comparable, or no fair baseline."""
        first = {cell.mechanism: cell for cell in reversed(self._weaker)}
        for name, cell in first.items():
            yield (
                f"* {name} protects less than its rows say: at epsilon {cell.epsilon:g} it gives "
                f"{self.mechanisms[cell].guarantee}. So it is never called the best."
            )
        for cell, mechanism in self.mechanisms.items():
            if isinstance(mechanism, HadamardResponse) and cell.epsilon > _HIGH_PRIVACY:
                yield f"{cell.mechanism}: {FURTHER['HR']}"
                break
        spent: dict[str, dict[str, None]] = {}
        for cell, nats in self._smaller.items():
            spent.setdefault(cell.mechanism, {})[f"{nats:.4g} in place of {cell.epsilon:g}"] = None
        for name, budgets in spent.items():
            yield (
                f"{MARK} {name} spends epsilon {', '.join(budgets)}, so it is compared at a "
                "smaller epsilon."
            )
        for name, cls in {c.mechanism: type(made) for c, made in self.mechanisms.items()}.items():
            if not is_of_package(cls):
                yield (
                    f"{name}: the benchmark draws reports with the probabilities that "
                    f"{cls.__name__} states. To test how {cls.__name__} itself draws reports, use "
                    "warner.testing.check_mechanism."
                )
        yield from self._blind()
        yield from self._collisions()
        yield from self._support_counts()
        yield from self._whose_intervals()

    def _whose_intervals(self) -> Iterator[str]:
        """A sentence on each kind of intervals whose coverage is counted, with its methods."""
        for used in dict.fromkeys(self.kinds.values()):
            names = dict.fromkeys(name for (_, name), kind in self.kinds.items() if kind == used)
            if used not in OF_REPORTS:
                yield f"The {used} intervals of {', '.join(names)} are those of the method itself."
            elif others := [name for name in names if self.methods[name] != Inversion()]:
                yield (
                    f"The {used} intervals are those of the unbiased estimate, not of "
                    f"{', '.join(others)}. Intervals of kind bootstrap are those of each method."
                )

    def _blind(self) -> Iterator[str]:
        """A sentence on each mechanism whose reports do not tell all shares apart."""
        of_means = all(each in LOSSES and LOSSES[each].of_mean for each in self.losses)
        for name, mechanism in {c.mechanism: made for c, made in self.mechanisms.items()}.items():
            # Others have no unbiased estimate for another reason, such as their size.
            with contextlib.suppress(WarnerError):
                if not of_means and not mechanism.channel().has_inverse():
                    yield (
                        f"{name}: different shares make the same reports, so no method can tell "
                        "them apart. A small error says only that the truth is near the shares at "
                        "which a method starts."
                    )

    def _collisions(self) -> Iterator[str]:
        """A sentence on the local hashing that errs least beside what papers say of it."""
        most, loss = _COLLISIONS, next((each for each in self.losses if each in _SQUARED), "l2")
        sentence = []
        for cell, mechanism in self.mechanisms.items():
            if not isinstance(mechanism, LocalHashing) or not mechanism.prime:
                continue
            size, g, shares = self.domain.size, mechanism.buckets, self.shares[cell.truth]
            wide = prime_of_whole_reports(size, g)
            prime = wide or next_suitable(max(size, min(100 * max(size, g), _RESIDUES)))
            other = LocalHashing(self.domain, mechanism.requested, g, prime=prime)
            here, near = (expected_loss(m, shares, cell.n, loss) for m in (mechanism, other))
            # Wang et al. (2017): a report supports another value than the true one in 1 of g times.
            gap = float(mechanism.law.high) - 1 / g
            supports = 1 / g + gap * shares
            there = float((supports * (1 - supports)).sum()) / gap**2 / cell.n
            there /= size if loss == "mse" else 1
            if 1 - here / there > most and prime > mechanism.prime:
                most = 1 - here / there
                keeps = "" if wide is None else ", whose tallies count whole reports,"
                sentence = [
                    f"{cell.mechanism}: the published formulae suppose that two values share one "
                    f"of g buckets with probability 1/g. With {size} values this happens less "
                    f"often. At epsilon {cell.epsilon:g} the formulae give the {loss} {there:#.3g} "
                    f"for the inversion. The true expected {loss} is {here:#.3g}, which is "
                    f"{100 * most:.0f} % less. With 'LocalHashing prime={prime}'{keeps} the "
                    f"expected {loss} is only {100 * (1 - near / there):.1f} % less than by the "
                    "formulae."
                ]
        yield from sentence

    def _support_counts(self) -> Iterator[str]:
        """A sentence on each mechanism whose tallies lose what its likelihood methods could use."""
        names = [name for name, each in self.methods.items() if isinstance(each, _OF_LIKELIHOOD)]
        lossy: dict[str, dict[str, None]] = {}
        for cell, mechanism in self.mechanisms.items():
            channel = mechanism.channel()
            if (
                isinstance(channel, SupportChannel)
                and not _keeps_bits(mechanism, cell.n)
                and channel.gain_of_whole_reports > WORTH_KEEPING
            ):
                lossy.setdefault(cell.mechanism, {})[f"{cell.epsilon:g}"] = None
        for name, budgets in lossy.items() if names else ():
            yield (
                f"{', '.join(names)} with {name} at epsilon {', '.join(budgets)}: tallies of so "
                "many reports hold only how many reports support each value. Tallies of whole "
                "reports would tell more, which is not measured here. To keep whole reports, write "
                "mechanism.tally(mechanism.randomize(answers), keep_reports=True)."
            )

    def _exact(self) -> dict[tuple[Cell, str, str], float]:
        """The expected squared errors of the inversion, where they have a closed form."""
        unbiased = [
            name
            for name, each in self.methods.items()
            if isinstance(each, Inversion) and each.constraint is None
        ]
        losses = [loss for loss in self.losses if loss in _SQUARED]
        exact: dict[tuple[Cell, str, str], float] = {}
        for cell, mechanism in self.mechanisms.items():
            for name, loss in product(unbiased, losses):
                # None of a mechanism whose closed form is too large to be computed.
                if (cell, name) not in self.left_out:
                    with contextlib.suppress(WarnerError):
                        shares = self.shares[cell.truth]
                        exact[cell, name, loss] = expected_loss(mechanism, shares, cell.n, loss)
        return exact

    def _provenance(self) -> Iterator[str]:
        """Sentences on what is needed to repeat the benchmark."""
        yield f"{' '.join(['warner', version_here()]).strip()}, seed {self.seed}, {self.runs} runs"
        for name, method in self.methods.items():  # notes name the mechanisms
            if not is_of_package(type(method)):
                yield f"{name} is code of your own, in the class {type(method).__qualname__}"


@dataclass(frozen=True)
class _Refusal:
    """Why a method is left out; lasting where it is so for all losses and at every call."""

    reason: str
    is_lasting: bool = False


def _work_on(
    cell: Cell,
    mechanism: Mechanism,
    truth: np.ndarray,
    methods: Mapping[str, Estimator],
    losses: Sequence[str],
    seed: int,
    runs: Sequence[int],
) -> tuple[dict[int, dict[str, Losses]], dict[str, _Refusal]]:
    """The losses of some runs of a cell, by run and method, and why methods refused."""
    channel: LikelihoodOperator = mechanism.channel()
    if isinstance(mechanism, BitMechanism) and _keeps_bits(mechanism, cell.n):
        # From one report, here of bits at 0, whole reports of the same law are drawn.
        channel = mechanism.report_channel(np.zeros((1, mechanism.schema.bytes), dtype=np.uint8))
    losses_of_run: dict[int, dict[str, Losses]] = {}
    refused: dict[str, _Refusal] = {}
    for run in runs:
        rng = _generator(seed, truth, cell, run)
        operator, weights = channel.simulate_tally(truth, cell.n, rng)
        data = LikelihoodData(operator, weights, cell.n, mechanism.domain, simulated=True)
        losses_of_run[run] = {}
        for name, method in methods.items():
            if name in refused:
                continue
            fit = None
            try:
                fit = method.fit(data)
                losses_of_run[run][name] = {}
                for loss in losses:
                    measured = _measured(loss, truth, Solution(fit, data, method), rng)
                    losses_of_run[run][name].update(measured)
            except WarnerError as reason:
                of_the_data = isinstance(reason, ArgumentError | IdentifiabilityError)
                refused[name] = _Refusal(str(reason), of_the_data and fit is None)
            except Exception as problem:
                if is_of_package(type(method)):
                    raise
                refused[name] = _Refusal(f"raised {type(problem).__name__}: {problem}")
    return losses_of_run, refused


def _measured(loss: str, truth: np.ndarray, solved: Solution, rng: np.random.Generator) -> Losses:
    """A loss of an estimate, or the part and the kind of its intervals that hold the truth (K,)."""
    if not loss.startswith(HOLDING):
        return {loss: float(LOSSES[loss].error(truth, solved.fit, solved.domain))}
    used = loss.removeprefix(HOLDING) or default_kind(solved, "population")
    # Every method draws the same numbers, in any order of the methods.
    low, high = interval(solved, kind=used, rng=deepcopy(rng)).T
    return {loss: float(np.mean((low <= truth) & (truth <= high))), KIND + loss: used}


def _keeps_bits(mechanism: Mechanism, n: int) -> bool:
    """Whether a tally of n reports of bits keeps whole reports where it is not told to."""
    return isinstance(mechanism, BitMechanism) and mechanism.keeps_reports(n)


def _generator(seed: int, truth: np.ndarray, cell: Cell, run: int) -> np.random.Generator:
    """The generator of a run, which is the same for all mechanisms and methods."""
    about = int(hashlib.sha256(truth.tobytes()).hexdigest()[:16], 16)
    return np.random.default_rng([seed, about, cell.n, run])


def _key_of_method(method: Estimator) -> str:
    """What the losses of a method depend on: its options, its code, the version of the package."""
    return digest([*_contents(method), version_here()])


def _contents(given: Mechanism | Estimator) -> list[Any]:
    """The options, and of a class from outside the package its code with all that it reads."""
    forms, unknown = contents_of(given)
    # Nobody can see whether these have changed, so nothing is found that was done with them.
    return [forms, *([urandom(8).hex()] * bool(unknown))]
