"""What a benchmark measured: its losses as rows, a table, a picture, and text for a paper."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import choice, integer, real
from warner._core.errors import ArgumentError
from warner._core.names import explained
from warner._core.references import bibtex_of
from warner._core.table import Column, Table, Tabular, latex_text
from warner.design.benchmark_shown import (
    AXES,
    COVERAGE,
    LINES,
    MARK,
    chart,
    exponent,
    in_words,
    latex_table,
    points_of,
)
from warner.design.comparison import LOSSES
from warner.design.default_errors import mean_of
from warner.design.ranking import to_nine_digits
from warner.results.drawing import finished
from warner.results.intervals import OF_REPORTS

HOLDING = "holding "  # of intervals, with their kind behind it, beside the losses of a run
KIND = "kind of "  # the intervals of a run: the kind that they have where none was asked for
_BOLD = (
    " Bold: the least of each column, and those not larger by more than two standard errors of the "
    "difference, or with the digits of one of these. The difference is taken run by run, so it can "
    "be known better than the means."
)
FORMAT = {"format": "warner-benchmark", "schema": 1}  # of the store, and of the result as JSON


@dataclass(frozen=True)
class Cell:
    """One setting of a benchmark: a truth, a mechanism at a budget, and a number of people."""

    truth: str  # the name of the distribution
    mechanism: str  # the name of the mechanism
    epsilon: float  # the budget that was asked for, in nats
    n: int  # the number of people


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark(Tabular):
    """Mean losses of methods for mechanisms, with standard errors.

    Attributes:
        cells: the settings, in the order of the arguments.
        methods: the names of the methods.
        losses: the names of the losses.
        runs: the number of simulated tallies of a setting.
        values: {(setting, method): {loss: (runs,)}}, the loss of each run; where it was asked for,
            ``"coverage"`` has the part of its intervals that hold the true shares.
        left_out: {(setting, method): reason}; the method is None where the mechanism itself cannot
            be made.
        guarantees: {setting: what its mechanism promises}.
        weaker: the settings whose mechanism promises less than LDP at the budget of the row, such
            as privacy per unit of distance, or of sensitive values alone.
        smaller: the settings whose mechanism spends less than the budget of the row, by more than
            1 %.
        notes: sentences on mechanisms that are not comparable, or no fair baseline, and on whose
            intervals have the coverage.
        exact: {(setting, method, loss): the expected loss in closed form}, of the inversion.
        provenance: sentences on what is needed to repeat it: the version, the seed, own code.
        sources: {paper: the mechanisms and methods that it is of}, as ``bibtex`` prints them.
        kinds: {(setting, method): the kind of its intervals}, where coverage was asked for.
    """

    cells: tuple[Cell, ...]
    methods: tuple[str, ...]
    losses: tuple[str, ...]
    runs: int
    values: Mapping[tuple[Cell, str], Mapping[str, np.ndarray]]
    left_out: Mapping[tuple[Cell, str | None], str]
    guarantees: Mapping[Cell, str]
    weaker: frozenset[Cell]
    smaller: frozenset[Cell]
    notes: tuple[str, ...]
    exact: Mapping[tuple[Cell, str, str], float]
    provenance: tuple[str, ...]
    sources: Mapping[str, tuple[str, ...]]
    kinds: Mapping[tuple[Cell, str], str]

    def rows(self) -> list[dict[str, Any]]:
        """One dict for each setting, method and loss.

        Returns:
            ``truth``, ``mechanism``, ``epsilon``, ``n``, ``guarantee``, ``method``, ``loss``,
            ``runs``; ``mean`` and ``standard_error``, the mean over runs and its standard error;
            ``exact``, the expected loss of the inversion in closed form, of ``"l2"`` and ``"mse"``,
            else None;
            ``excess`` and ``excess_standard_error``, the mean and its standard error of the loss
            minus that of the best method of the setting, on the same tallies;
            where it was asked for, ``coverage`` and ``coverage_standard_error``, the part of the
            95 % intervals that hold the true share, and its standard error over runs, and
            ``intervals``, their kind: ``notes`` say whose these are.
        """
        return self._rows(self.losses)

    def _rows(self, measures: Iterable[str]) -> list[dict[str, Any]]:
        """The rows of losses, or of the coverage as if it were a loss."""
        rows = []
        for cell in self.cells:
            methods = [m for m in self.methods if (cell, m) in self.values]
            for loss in measures if methods else ():
                runs = {method: self.values[cell, method][loss] for method in methods}
                best = min(methods, key=lambda m: to_nine_digits(float(runs[m].mean())))
                for method in methods:
                    mean, standard_error = mean_of(runs[method])
                    excess, excess_standard_error = mean_of(runs[method] - runs[best])
                    rows.append(
                        {
                            **vars(cell),
                            "guarantee": self.guarantees[cell],
                            "method": method,
                            "loss": loss,
                            "mean": mean,
                            "standard_error": standard_error,
                            "exact": self.exact.get((cell, method, loss)),
                            "excess": excess,
                            "excess_standard_error": excess_standard_error,
                            "runs": self.runs,
                            **self._coverage(cell, method),
                        }
                    )
        return rows

    def _coverage(self, cell: Cell, method: str) -> dict[str, Any]:
        """The part of intervals that hold the true shares, its error and their kind, or {}."""
        if not self.kinds:
            return {}
        names = COVERAGE, "coverage_standard_error", "intervals"
        measured = *mean_of(self.values[cell, method][COVERAGE]), self.kinds[cell, method]
        return dict(zip(names, measured, strict=True))

    @property
    def _measures(self) -> tuple[str, ...]:
        """What tables and pictures for papers show: the losses, and the coverage if measured."""
        return (*self.losses, *([COVERAGE] if self.kinds else []))

    def _words(self, measure: str) -> str:
        """A measure in words; the coverage with the kinds of its intervals, and whose they are."""
        if measure != COVERAGE:
            return LOSSES[measure].words
        whose = {True: "the unbiased estimate", False: "each method"}
        kinds = dict.fromkeys(self.kinds.values())
        parts = [f"{kind} intervals of {whose[kind in OF_REPORTS]}" for kind in kinds]
        return f"part of the 95 % {' or '.join(parts)} that hold the true share"

    def best(self) -> list[dict[str, Any]]:
        """The row with the least mean for each truth, budget, number of people and loss.

        Mechanisms that promise less than the budget of their row says are not among them.
        """
        least: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self.rows():
            if self._mark(row) == "*":
                continue
            setting = (row["truth"], row["epsilon"], row["n"], row["loss"])
            best = least.setdefault(setting, row)
            if to_nine_digits(row["mean"]) < to_nine_digits(best["mean"]):
                least[setting] = row
        return list(least.values())

    def table(self) -> Table:
        """The mean losses for people; what is the same in all rows is in the title alone."""
        rows = self._marked_rows(self.losses)
        axes = ["truth", "mechanism", "epsilon", "n", "method", "loss"]
        axes += ["intervals"] if rows and self.kinds else []
        varying = [key for key in axes if key == "method" or len({row[key] for row in rows}) > 1]
        units = {"epsilon": "epsilon", "n": "people"}
        columns = [Column(key, unit=units.get(key, "text")) for key in varying]
        columns.append(Column("mean", "mean loss", "number"))
        columns.append(Column("standard_error", "standard error", "number", priority=1))
        if self.exact:
            columns.append(Column("exact", unit="number"))
        if self.kinds:
            one = "" if "intervals" in varying else f"{rows[0]['intervals']} "
            columns.append(Column(COVERAGE, f"95 % {one}intervals that hold", "share"))
            columns.append(Column("coverage_standard_error", "its error", "share", priority=1))
        same = [
            in_words(key, rows[0][key])
            for key in ("mechanism", "epsilon", "n", "loss")
            if rows and key not in varying
        ]
        title = ", ".join([f"mean losses over {self.runs} runs of each setting", *same])
        return Table(columns, rows, [*self.notes, *self._reasons()], title)

    def __str__(self) -> str:
        return self.table().text()  # all rows, as a paper needs them

    def _mark(self, row: Mapping[str, Any]) -> str:
        """The mark of a mechanism that promises less than its row says, or spends less; or ""."""
        cell = Cell(row["truth"], row["mechanism"], row["epsilon"], row["n"])
        return "*" if cell in self.weaker else MARK if cell in self.smaller else ""

    def _marked_rows(self, measures: Iterable[str]) -> list[dict[str, Any]]:
        """The rows of losses or of the coverage, with their marks behind the mechanisms."""
        return [
            {**row, "mechanism": f"{row['mechanism']} {self._mark(row)}".rstrip()}
            for row in self._rows(measures)
        ]

    def _least(self, loss: str, truth: str) -> set[tuple[str, str, float, int]]:
        """(mechanism, method, epsilon, n) with the least mean of each budget and number of people.

        With them are those whose mean is larger by at most two standard errors of the difference.
        """
        least = set()
        columns: dict[tuple[float, int], dict[tuple[str, str], np.ndarray]] = {}
        for (cell, method), losses in self.values.items():
            if cell.truth == truth and cell not in self.weaker and loss != COVERAGE:
                column = columns.setdefault((cell.epsilon, cell.n), {})
                column[cell.mechanism, method] = losses[loss]
        for setting, column in columns.items():
            best = min(column.values(), key=np.mean)
            for names, losses_of_runs in column.items():
                more, standard_error = mean_of(losses_of_runs - best)
                if more <= 2 * standard_error:
                    least.add((*names, *setting))
        return least

    @explained
    def to_latex(
        self,
        loss: str | None = None,
        digits: int = 3,
        errors: bool = True,
        scale: float | None = None,
    ) -> str:
        r"""The mean losses as a table in LaTeX, for the package booktabs.

        Rows are mechanisms and methods, columns are budgets and numbers of people. Bold are the
        least mean of each column, and those that are not larger beyond chance: by more than two
        standard errors of the difference over the same runs; and any mean of the column with the
        digits of one of these. The error of such a difference can be
        much smaller than the errors of the two means, so that a mean is not bold although it is
        near. Below the inversion stands its
        expected loss in closed form, where it has one. A dash stands where a method is left
        out, a dagger where a mechanism promises less than the budget of the column, and a double
        dagger where it spends less than this budget.

        Args:
            loss: one of the losses, or ``"coverage"`` where it was counted; None for all of them.
            digits: the significant digits of a mean. Its error has the same decimals, and the mean
                has more where its error would be 0.
            errors: whether standard errors stand behind the means, in brackets.
            scale: the power of ten that all numbers are multiples of, such as ``1e-4``; None for
                one of each column, with which its least mean lies between 1 and 10. A row below the
                head names them.

        Returns:
            A ``tabular``; one for each loss and truth, below each other. A comment above each is a
            caption for it, which names the loss and the number of runs. Further comments have the
            notes of the benchmark, and what is needed to repeat it.

        Raises:
            ArgumentError: another loss, or a scale that is no power of ten.
        """
        losses = self._measures if loss is None else (choice("loss", loss, self._measures),)
        integer("digits", digits, 1)
        power = None if scale is None else exponent(real("scale", scale))
        if power is not None and not math.isclose(scale, 10.0**power, rel_tol=1e-9):  # type: ignore[arg-type]
            rule = "must be 1, 10, 100 and so on, or 0.1, 0.01 and so on, such as 1e-4"
            raise ArgumentError("scale", rule, repr(scale))
        tables: dict[tuple[str, str], list[dict[str, Any]]] = {}
        settings = [(cell.epsilon, cell.n) for cell in self.cells]
        mechanisms = [cell.mechanism for cell in self.cells]
        # Where a cell is left out, the order is still that of the arguments.
        for row in sorted(
            self._rows(losses),
            key=lambda row: (mechanisms.index(row["mechanism"]), self.methods.index(row["method"])),
        ):
            tables.setdefault((row["loss"], row["truth"]), []).append(row)
        several = len({truth for _, truth in tables}) > 1
        words = {each: latex_text(self._words(each)) for each in losses}
        words = {each: text[:1].upper() + text[1:] for each, text in words.items()}
        of = {truth: f" ({latex_text(truth)})" if several else "" for _, truth in tables}
        people = {cell.n for cell in self.cells}
        with_n = f", $n = {min(people)}$" if len(people) == 1 else ""
        about = with_n + ", with the standard error of each in brackets" * errors
        daggers = {"*": r"$^\dagger$", MARK: r"$^\ddagger$"}
        marked = {each: daggers[each[0]] for each in self.notes if each[0] in daggers}
        notes = "".join(f" {dagger}{latex_text(each[1:])}" for each, dagger in marked.items())
        marks = {cell.mechanism: daggers[MARK] for cell in self.smaller}
        for cell in self.weaker:
            marks[cell.mechanism] = daggers["*"]
        weaker = {(cell.mechanism, cell.epsilon, cell.n) for cell in self.weaker}
        others = [each for each in self.notes if each not in marked]
        said = (*others, *self._reasons(), *self.provenance)
        comments = "".join(f"% {' '.join(each.split())}\n" for each in said)
        return "\n\n".join(
            rf"% \caption{{{words[name]}: mean of {self.runs} runs{of[truth]}{about}."
            f"{'' if name == COVERAGE else _BOLD}{notes}}}\n{comments}"
            + latex_table(
                rows, settings, digits, errors, self._least(name, truth), weaker, marks, power
            )
            for name in losses
            for (measured, truth), rows in tables.items()
            if measured == name
        )

    def bibtex(self) -> str:
        """The sources of all mechanisms and methods, each once, and the package itself, as BibTeX.

        A comment above each names what it is the source of.

        >>> from warner import Integers, RandomizedResponse, benchmark
        >>> found = benchmark([0.5, 0.5], Integers(0, 1), [RandomizedResponse], ["mle"], runs=2)
        >>> found.bibtex().count("@article{warner1965")
        1
        """
        return bibtex_of(self.sources, self.sources)

    def to_json(self) -> dict[str, Any]:
        """The benchmark as JSON data."""
        return {
            **FORMAT,
            "runs": self.runs,
            "results": self.rows(),
            "left_out": [
                {**vars(cell), "method": method, "reason": reason}
                for (cell, method), reason in self.left_out.items()
            ],
        }

    @explained
    def plot(
        self,
        path: str | None = None,
        x: str | None = None,
        loss: str | None = None,
        lines: str | None = None,
        width: float | str | None = None,
        title: bool = True,
    ) -> Any:
        """Draw the mean losses, on logarithmic axes, with bars of two standard errors.

        Marks are means of the runs. Lines connect them; those of the inversion, where it has a
        closed form, are its expected loss instead. A mean of 0 has no place on a logarithmic axis:
        it is not drawn, and a sentence says so.

        Args:
            path: a file to save the chart to (.pdf, .png, .svg, .html or .json); None for none.
            x: the horizontal axis, ``"n"``, ``"epsilon"`` or ``"mechanism"``; None for the numbers
                of which there are more, so that there are few panels.
            loss: one of the losses, or ``"coverage"`` where it was counted, on an axis that is not
                logarithmic; None for the first. Of several the picture says which.
            lines: what a panel compares by its lines, ``"mechanism"`` or ``"method"``; the other
                makes panels. None for the one with more names.
            width: of the whole picture in points, with the letters of a paper; ``"column"`` (240)
                and ``"text"`` (505) fit a paper with two columns. None for large panels.
            title: False leaves out the title and the sentences below it. They are then the
                ``description`` of the chart, for a caption.

        Returns:
            The Altair chart, which can be changed before it is saved.

        Raises:
            ArgumentError: another axis, loss or kind of lines, another suffix, or a small width.
            MissingExtraError: the extra 'plot' is not installed.
        """
        chosen = self.losses[0] if loss is None else choice("loss", loss, self._measures)
        choice("x", x, (None, *AXES))
        choice("lines", lines, (None, *LINES))
        if x == lines == "mechanism":
            rule, remedy = 'cannot both be "mechanism"', 'Leave out lines="mechanism"'
            raise ArgumentError("x and lines", rule, None, remedy)
        rows = self._marked_rows([chosen])
        if not rows:
            rule = "has nothing to show, because no mechanism could be run"
            reason = next(iter(self.left_out.values()), "").removesuffix(".")
            raise ArgumentError("plot", rule, None, reason)
        marks = [
            *(["Mechanisms with a * protect less than epsilon-LDP"] if self.weaker else []),
            *([f"Mechanisms with a {MARK} spend less than epsilon"] if self.smaller else []),
        ]
        if loss is None and len(self._measures) > 1:
            rest = [f'"{each}"' for each in self._measures[1:]]
            marks.append(
                f'This is the loss "{chosen}". For another loss, pass loss={" or ".join(rest)}'
            )
        note = ". ".join(marks)
        picture = chart(rows, self._words(chosen), x, lines, note, points_of(width), bool(title))
        return finished(picture, lambda: [self.table()], path)

    def __repr__(self) -> str:
        sizes = [len({getattr(cell, axis) for cell in self.cells}) for axis in vars(self.cells[0])]
        truths, mechanisms, budgets, people = sizes
        counts = f"truths={truths}, mechanisms={mechanisms}, epsilon={budgets}, n={people}"
        left = f", left_out={len(self.left_out)}" if self.left_out else ""
        return f"Benchmark({counts}, methods={len(self.methods)}, runs={self.runs}{left})"

    def _reasons(self) -> list[str]:
        """A sentence on each mechanism or method that is left out."""
        counts = Counter(
            (cell.mechanism if method is None else f"{method} with {cell.mechanism}", reason)
            for (cell, method), reason in self.left_out.items()
        )
        return [
            f"{name} is not run in {count} setting{'s' * (count > 1)}: {reason}"
            for (name, reason), count in counts.items()
        ]
