"""Attacks: two raw files of equal n that differ in all else, and how long each answer takes."""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import warner
from tests.attack._frame import require
from tests.attack.canaries import run
from tests.attack.samplers import words
from warner.mechanisms import Mechanism, WithNonresponse

LONG = "yes, for many years and on every day of each of them"
STUDY = f"""
[attributes.smokes]
values = ["n", "{LONG}"]
mechanism = "RandomizedResponse"
epsilon = {{epsilon}}
[attributes.age]
integers = [0, 999999]
mechanism = "HadamardResponse"
epsilon = 1.0
[attributes.pay]
interval = {{{{ low = 0, high = 1, bins = 4 }}}}
mechanism = "SquareWave"
epsilon = 1.0
"""


def _raw(rng: np.random.Generator, folder: Path, name: str, n: int) -> str:
    """Answers of n people, random in the answers, in their widths, in further columns, in their
    order and in the form of the file.
    """
    share, wide = rng.random(), int(10 ** rng.uniform(0, 3))
    smokes = np.where(rng.random(n) < share, LONG, "n")
    age = rng.integers(0, 10 ** int(rng.integers(1, 7)), n)
    pay = np.round(rng.random(n), int(rng.integers(1, 17)))
    columns = {"smokes": smokes, "age": age, "pay": pay}
    if rng.random() < 0.5:
        columns["other"] = np.array(["x" * w for w in rng.integers(0, wide, n)])
    order = list(columns)
    rng.shuffle(order)
    if rng.random() < 0.4:
        rows = np.argsort(smokes, kind="stable")
        columns = {k: v[rows] for k, v in columns.items()}
    if rng.random() < 0.3:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = str(folder / f"{name}.parquet")
        pq.write_table(
            pa.table({k: columns[k] for k in order}),
            path,
            row_group_size=int(rng.integers(1, n + 1)),
        )
        return path
    end = ["\n", "\r\n"][rng.integers(2)]
    lists = [
        [f'"{v}"' for v in columns[k].tolist()] if k in ("smokes", "other") else columns[k].tolist()
        for k in order
    ]
    lines = [",".join(order), *(",".join(map(str, row)) for row in zip(*lists, strict=True))]
    path = str(folder / f"{name}.csv")
    Path(path).write_text(end.join([*lines, ""]), newline="")
    return path


def besides_reports(path: str) -> Any:
    """All that a report file says besides the reports and the checksum, and besides how well the
    reports compress.
    """
    if path.endswith(".csv"):
        head, *lines, end = Path(path).read_bytes().splitlines(keepends=True)
        return (
            head,
            lines[0],
            len(lines),
            [line.count(b",") for line in lines],
            re.sub(rb"[0-9a-f]{64}", b"", end),
        )
    import pyarrow.parquet as pq

    facts = pq.ParquetFile(path).metadata
    groups = [facts.row_group(i) for i in range(facts.num_row_groups)]
    columns = [
        [
            (c.path_in_schema, c.physical_type, c.num_values, c.compression)
            for c in map(g.column, range(g.num_columns))
        ]
        for g in groups
    ]
    said = {k: re.sub(rb'"sha256":"[0-9a-f]{64}"}$', b"", v) for k, v in facts.metadata.items()}
    return (
        facts.created_by,
        facts.format_version,
        str(facts.schema.to_arrow_schema()),
        [g.num_rows for g in groups],
        columns,
        said,
    )


def same_but_for_reports(rng: np.random.Generator, most: int = 4000) -> str:
    """Two raw files of equal n: equal bytes outside the reports, equal output, as many random words
    asked for in equal parts.

    The random words come from a fixed sequence. In a second run the reports are made of one answer
    for all, whatever the file
    says; then the whole files are equal, byte for byte.
    """
    n = int(rng.integers(1, most))
    suffix = ["parquet", "csv"][rng.integers(2)]
    order = [[], ["--keep-order"]][rng.integers(2)]
    files = rng.integers(0, 2**32, 2)
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        folder = Path(name)
        study = folder / "study.toml"
        study.write_text(STUDY.format(epsilon=1.0))
        raw = [
            _raw(np.random.default_rng(int(s)), folder, f"raw{i}", n) for i, s in enumerate(files)
        ]
        for blind in (False, True):
            found = [
                _written(str(study), path, str(folder / f"out.{suffix}"), order, blind)
                for path in raw
            ]
            for what, first, second in zip(("file", "output", "bytes"), *found, strict=True):
                require(
                    first == second,
                    f"what is written besides the reports ({what}, blind {blind}) "
                    f"depends on the answers, n = {n}, {suffix}",
                )
    return f"n {n}"


def _written(
    study: str, raw: str, output: str, order: list[str], blind: bool
) -> tuple[Any, str, bytes]:
    """What one run writes: besides the reports, on the screen, and all bytes where reports say
    nothing.
    """
    stream = np.random.default_rng(11)
    real = Mechanism.randomize_encoded

    def constant(self: Mechanism, encoded: np.ndarray, source: Any) -> dict[str, np.ndarray]:
        return {
            k: np.zeros((len(encoded), *c.shape[1:]), c.dtype)
            for k, c in self.schema.empty(0).items()
        }

    with words(stream.bytes):
        if blind:
            Mechanism.randomize_encoded = constant  # type: ignore[method-assign]
        try:
            done = run("randomize", study, raw, "-o", output, *order)
        finally:
            Mechanism.randomize_encoded = real  # type: ignore[method-assign]
    require(done.exit_code == 0, f"answers in their domains were refused: {done.output}")
    data = Path(output).read_bytes()
    facts = besides_reports(output)
    os.unlink(output)
    Path(study).with_suffix(".ledger").unlink()  # the next run is of other answers
    return facts, done.output, data if blind else b""


def timing(rng: np.random.Generator) -> str:
    """How long each value takes, in alternating rounds; a report, because times say nothing on a
    busy machine.
    """
    eight = warner.Integers(0, 7)
    made: list[Mechanism] = [
        warner.RandomizedResponse(eight, 1.0),
        warner.UnaryEncoding(eight, 1.0),
        warner.LocalHashing(eight, 1.0),
        warner.SubsetSelection(eight, 1.0),
        warner.HadamardResponse(eight, 1.0),
        warner.UtilityOptimizedRR(eight, 1.0, sensitive=[3]),
        warner.mechanisms.UtilityOptimizedRappor(eight, 1.0, sensitive=[3, 5]),
        warner.mechanisms.UtilityOptimizedSubset(eight, 1.0, sensitive=range(1, 7)),
        warner.SquareWave(eight, 1.0),
        warner.Laplace(eight, 1.0),
        warner.mechanisms.TruncatedGeometric(eight, 1.0),
        warner.mechanisms.Exponential(eight, 1.0),
        warner.MatrixMechanism(eight, np.full((8, 8), 0.1) + 0.2 * np.eye(8)),
        WithNonresponse(warner.SquareWave(eight, 1.0)),
        WithNonresponse(warner.Laplace(eight, 1.0)),
    ]
    mechanism = made[rng.integers(len(made))]
    people, rounds = ((1, 1500), (20_000, 7))[rng.integers(2)]
    size = mechanism.domain.size  # nonresponse is the last value
    # Many people at once, or one person after the other as on a device.
    values = [[x] * people if people == 1 else np.full(people, x) for x in range(8)]
    if size > 8:
        values.append([None] * people)
    taken = np.zeros((rounds, size))
    for turn in range(rounds):
        for x in rng.permutation(size):
            start = time.perf_counter()
            mechanism.randomize(values[x])
            taken[turn, x] = time.perf_counter() - start
    least = np.quantile(taken, 0.1, axis=0)
    most = int(np.argmax(least))
    spread = least.max() / np.median(least) - 1
    times = np.round(least * 1e6).astype(int).tolist()
    return (
        f"{mechanism!r}, {people:,} at once: slowest value {most}, {100 * spread:.1f} % above the median; "
        f"10 % quantiles in us {times}"
    )
