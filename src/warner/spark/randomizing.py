"""Answers in a Spark frame to reports, by the library's own samplers in the workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warner._core.checks import integer, kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner._core.sampling import Source
from warner.io.public_values import holds_integers, to_arrow
from warner.io.read_answers import answer_columns, encoded_batch
from warner.mechanisms import Mechanism
from warner.reports.reports import Reports
from warner.spark.partitions import partition

if TYPE_CHECKING:
    import pyarrow as pa

MOST_PER_BLOCK = 2**16  # reports


def randomize(study: Any, frame: Any, blocks: int | None = None, seed: int | None = None) -> Any:
    """Randomise answers in a Spark frame, in its own workers.

    For simulations, and for devices that live in a cluster: whoever runs the cluster sees the
    answers. Rows of reports stand in the order of the answers in their partition, which can say
    whose they are.

    A Spark frame is a recipe: each action computes it anew, and randomises the same answers anew,
    which spends the budget again. Write the result once, and read what was written.

    Args:
        study: the study, without groups.
        frame: a Spark frame with one row for each person and a column for each answer. Other
            columns are left out.
        blocks: how many reports a row holds. Each attribute has one column of bytes then,
            ``smokes_records``. None for one report a row, in the columns of a report file.
        seed: repeatable randomness, for simulations only; None for that of the workers' operating
            systems. It depends on how the frame is cut into partitions.

    Returns:
        A Spark frame: the public columns of the study, and the reports.

    Raises:
        ArgumentTypeError: no study, or no Spark frame.
        ArgumentError: a study with groups, or blocks of no reports.
    """
    if not hasattr(frame, "mapInArrow"):
        raise ArgumentTypeError("frame", "must be a Spark frame", kind(frame))
    if not hasattr(study, "mechanisms"):
        raise ArgumentTypeError("study", "must be a Study", kind(study))
    if blocks is not None:
        integer("blocks", blocks, 1, MOST_PER_BLOCK)
    if seed is not None:
        integer("seed", seed, 0, 2**63 - 1)
    job = _Job(dict(study.mechanisms), dict(study.public), blocks, seed)
    return frame.select(*job.answers).mapInArrow(job.randomize, job.columns)


@dataclass(frozen=True)
class _Job:
    """What the workers make. It is sent to them."""

    mechanisms: dict[str, Mechanism]
    public: dict[str, Any]
    blocks: int | None
    seed: int | None

    @property
    def answers(self) -> list[str]:
        """The columns of answers and the public columns."""
        names = [c for name, m in self.mechanisms.items() for c in answer_columns(name, m)]
        return list(dict.fromkeys([*self.public, *names]))

    @property
    def columns(self) -> str:
        """The columns of the result, as Spark declares them."""
        kinds = {n: "bigint" if holds_integers(d) else "string" for n, d in self.public.items()}
        for name, mechanism in self.mechanisms.items():
            if self.blocks is not None:
                kinds[f"{name}_records"] = "binary"
                continue
            for part, size in mechanism.schema.file_columns().items():
                kinds[f"{name}_{part}"] = "int" if size <= 2**31 else "bigint"
        return ", ".join(f"`{name.replace('`', '``')}` {of}" for name, of in kinds.items())

    def randomize(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The reports of a partition."""
        source = Source(None if self.seed is None else self._generator(self.seed))
        for batch in batches:
            if not batch.num_rows:
                continue
            found = encoded_batch({**self.public, **self.mechanisms}, batch)
            people = len(next(iter(found.values())))
            if not people:
                continue
            reports = {
                name: Reports(m.header, m.randomize_encoded(found[name], source))
                for name, m in self.mechanisms.items()
            }
            index = {name: found[name] for name in self.public}
            yield (
                self._rows(reports, index)
                if self.blocks is None
                else self._blocks(reports, index, people)
            )

    @staticmethod
    def _generator(seed: int) -> np.random.Generator:
        """The generator of this partition."""
        number = partition()
        if number is None:  # all partitions would draw the same numbers
            rule = "needs an engine that numbers its partitions, as Spark does"
            raise ArgumentError("seed", rule, None, "Leave it out")
        return np.random.default_rng([seed, number])

    def _rows(self, reports: dict[str, Reports], index: dict[str, np.ndarray]) -> pa.RecordBatch:
        """One report a row."""
        import pyarrow as pa

        columns = {name: to_arrow(self.public[name], i) for name, i in index.items()}
        for name, mechanism in self.mechanisms.items():
            stored = mechanism.schema.to_file(reports[name].columns)
            sizes = mechanism.schema.file_columns()
            for part, column in stored.items():
                of = pa.int32() if sizes[part] <= 2**31 else pa.int64()
                columns[f"{name}_{part}"] = pa.array(column, of)
        return pa.RecordBatch.from_pydict(columns)

    def _blocks(
        self, reports: dict[str, Reports], index: dict[str, np.ndarray], people: int
    ) -> pa.RecordBatch:
        """Blocks of reports, each of people with the same public values."""
        import pyarrow as pa

        assert self.blocks is not None
        place = np.zeros(people, dtype=np.int64)
        for codes in index.values():
            _, own = np.unique(codes, return_inverse=True)
            place = np.unique(place * (int(own.max()) + 1) + own.ravel(), return_inverse=True)[1]
        order = np.argsort(place, kind="stable")
        edges = np.flatnonzero(np.diff(place[order], prepend=-1))
        cuts = [
            order[first : min(first + self.blocks, stop)]
            for start, stop in zip(edges, [*edges[1:], people], strict=True)
            for first in range(start, stop, self.blocks)
        ]
        firsts = np.array([cut[0] for cut in cuts])
        columns = {name: to_arrow(self.public[name], i[firsts]) for name, i in index.items()}
        for name in self.mechanisms:
            records = reports[name].record_array()
            blocks = [records[cut].tobytes() for cut in cuts]
            columns[f"{name}_records"] = pa.array(blocks, pa.binary())
        return pa.RecordBatch.from_pydict(columns)
