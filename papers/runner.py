"""Run experiments in processes, keep every finished piece of work, and write the results.

The numbers of a run depend on the experiment, the cell and the number of the run alone: the
generator is seeded with these three. So a run that was interrupted ends with the same numbers as
one that was not, in any order and with any number of processes.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from papers.data_sets import DataFolder
from papers.experiment import Claim, Experiment, Verdict
from papers.measure import Cell
from papers.registry import by_name
from papers.table import Row, Table
from warner._core.processes import JsonLines, Workers
from warner._core.progress import steps
from warner._core.text import canonical

SEED = 20240229
_FORMAT = 1

Progress = Callable[[str, int, int], None]
Task = tuple[Cell, range]


@dataclass(frozen=True)
class Outcome:
    """The results of one experiment.

    Attributes:
        experiment: the experiment.
        table: the rows of all cells and runs.
        verdicts: each claim and its verdict; the verdict None where this run does not decide it.
        seconds: the processor time of all pieces of work together, whenever they were done.
        made: whether made data stood in for real data.
        quick: whether this was the quick run.
    """

    experiment: Experiment
    table: Table
    verdicts: list[tuple[Claim, Verdict | None]] = field(default_factory=list)
    seconds: float = 0.0
    made: bool = False
    quick: bool = False

    @property
    def is_full(self) -> bool:
        """Whether this was the full run, on the data of the papers where an experiment has any."""
        return not (self.quick or self.made)

    def why(self, claim: Claim, verdict: Verdict, full: str) -> str:
        """Why a claim fails, as the end of its line: ``full`` is the reason of the full run.

        Another run is of other cells or other data, so that reason is not its own.
        """
        if verdict.holds or claim.failure is None:
            return ""
        if self.is_full:
            return f"; {full}"
        run = "quick run" if self.quick else "run"
        other = f"this {run} used made data" if self.made else "this was the quick run"
        return f"; failed in the full run of docs/papers, too; {other}"

    @property
    def broken(self) -> list[tuple[Claim, Verdict]]:
        """The claims that fail now, and held in the full run of the documents or lack a reason."""
        return [
            (claim, verdict)
            for claim, verdict in self.verdicts
            if verdict is not None and not verdict.holds and (claim.held or claim.failure is None)
        ]


def reproduce(
    chosen: Iterable[Experiment],
    folder: Path | None = None,
    data: DataFolder | None = None,
    quick: bool = False,
    processes: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Outcome]:
    """Run experiments one after the other, each in several processes.

    Args:
        chosen: the experiments; see :func:`papers.select`.
        folder: where finished work is kept as ``PAPER/FIGURE/work.jsonl``, to go on from after an
            interruption; None to keep nothing.
        data: the data sets; None for those in the folder that ``WARNER_DATA`` names.
        quick: the few cells and runs of the quick run.
        processes: the number of processes; None for one per processor, 1 for this process.
        progress: called with the experiment's name, the pieces of work done, and all pieces.

    Yields:
        Outcome: of each experiment, when it is done.

    Raises:
        FileError: a data set is missing or altered.
    """
    sets = DataFolder.from_environment() if data is None else data
    count = processes or os.cpu_count() or 1
    wanted = list(chosen)
    # Before any work, so that a file that is missing is not noticed after hours.
    for name in dict.fromkeys(name for experiment in wanted for name in experiment.data):
        sets.check(name)
    with Workers(count) as workers:
        for experiment in wanted:
            yield _run(experiment, folder, sets, quick, workers, progress)


def _run(
    experiment: Experiment,
    folder: Path | None,
    data: DataFolder,
    quick: bool,
    workers: Workers,
    progress: Progress | None,
) -> Outcome:
    """Do the work of one experiment that is not done yet, and judge all of it."""
    tasks = experiment.tasks(quick)
    kept = _Kept(folder, experiment, data, quick)
    missing = [task for task in tasks if _key(task) not in kept.work]

    before = len(tasks) - len(missing)

    def report(done: int) -> None:
        if progress is not None:
            progress(experiment.name, before + done, len(tasks))

    report(0)
    about = f", {before:,} done before" if before else ""
    finished = workers.work(work_on, [(experiment.name, task, data.path) for task in missing])
    found = steps(finished, experiment.name + about, len(missing))
    for done, ((_, task, _), (rows, seconds)) in enumerate(found, 1):
        kept.add(task, rows, seconds)
        report(done)
    work = [kept.work[_key(task)] for task in tasks]
    table = Table(row for rows, _ in work for row in rows)
    made = any(data.made(name) for name in experiment.data)
    verdicts = [
        (claim, claim.check(table) if claim.quick or not quick else None)
        for claim in experiment.claims
    ]
    return Outcome(experiment, table, verdicts, sum(s for _, s in work), made, quick)


def generator(experiment: str, cell: Cell, run: int) -> np.random.Generator:
    """The generator of one run of a cell; it depends on the three arguments alone.

    Args:
        experiment: the name of the experiment.
        cell: the values of the axes.
        run: the number of the run.
    """
    key = (zlib.crc32(experiment.encode()), zlib.crc32(canonical(dict(cell)).encode()), run)
    return np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))


def work_on(name: str, task: Task, path: str | None) -> tuple[list[Row], float]:
    """Do one piece of work in this process.

    Args:
        name: the name of the experiment.
        task: the cell and its runs.
        path: the folder of the real data; None for made data.

    Returns:
        The rows, and the seconds of processor time.
    """
    experiment = by_name(name)
    cell, runs = task
    start = time.process_time()
    streams = [(run, generator(name, cell, run)) for run in runs]
    rows = experiment.measure.rows(cell, streams, DataFolder(path))
    return [{**cell, **row} for row in rows], time.process_time() - start


def _key(task: Task) -> str:
    """A piece of work as text: the cell, the first run and the last."""
    cell, runs = task
    return canonical([dict(cell), runs.start, runs.stop])


class _Kept:
    """Finished work in a file of JSON lines: a header, then one line for each piece of work."""

    def __init__(
        self, folder: Path | None, experiment: Experiment, data: DataFolder, quick: bool
    ) -> None:
        self.work: dict[str, tuple[list[Row], float]] = {}
        self._file: JsonLines | None = None
        if folder is None:
            return
        header = {
            "format": _FORMAT,
            "experiment": experiment.name,
            "revision": experiment.revision,
            "seed": SEED,
            "data": {name: data.digest(name) for name in experiment.data},
        }
        place = folder_of(folder, experiment, quick) / "work.jsonl"
        self._file = JsonLines(place, header)
        for piece in self._file.found:
            self.work[piece["key"]] = (_with_numbers(piece["rows"]), piece["seconds"])

    def add(self, task: Task, rows: list[Row], seconds: float) -> None:
        """Keep a finished piece of work."""
        self.work[_key(task)] = (rows, seconds)
        if self._file is not None:
            self._file.add({"key": _key(task), "rows": _plain(rows), "seconds": seconds})


def folder_of(folder: Path, experiment: Experiment, quick: bool) -> Path:
    """The folder of the results of an experiment."""
    return folder / ("quick" if quick else "full") / experiment.name


def _plain(rows: list[Row]) -> list[dict[str, Any]]:
    """Rows with Python's own numbers; a number that JSON does not have becomes None."""
    return [
        {
            key: (float(value) if np.isfinite(value) else None) if key == "value" else value
            for key, value in row.items()
        }
        for row in rows
    ]


def _with_numbers(rows: list[dict[str, Any]]) -> list[Row]:
    """The rows of :func:`_plain`, with NaN for None."""
    return [
        {**row, "value": float("nan") if row["value"] is None else row["value"]} for row in rows
    ]
