"""Attacks: answers that must not be seen, in all containers, domains, files and commands."""

from __future__ import annotations

import decimal
import fractions
import os
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import warner
from tests.attack._frame import Finding, require
from tests.attack._internals import main, read_values
from warner.domains import Domain
from warner.mechanisms import Mechanism

TEXT = "CANARY-7391-ANSWER"
NUMBER = 739173917391
SIGNS = (TEXT, str(NUMBER), "7391739", "CANARY", "ANARY-7")


class Loud(str):
    """A string whose own methods raise errors that hold it."""

    def __hash__(self) -> int:
        raise TypeError(TEXT)

    def __eq__(self, other: object) -> bool:
        raise TypeError(TEXT)


def _loud(*_: Any) -> Any:
    raise ValueError(TEXT)


_OPERATIONS = (
    "abs",
    "add",
    "bool",
    "eq",
    "float",
    "floor",
    "ge",
    "gt",
    "hash",
    "index",
    "int",
    "le",
    "lt",
    "mul",
    "neg",
    "repr",
    "str",
    "sub",
)
LoudInteger = type("LoudInteger", (int,), {f"__{name}__": _loud for name in _OPERATIONS})
LoudFloat = type("LoudFloat", (float,), {f"__{name}__": _loud for name in _OPERATIONS})


class Odd:
    """No answer at all, whose every conversion raises an error that shows it."""

    def __repr__(self) -> str:
        return TEXT

    def __float__(self) -> float:
        raise ValueError(TEXT)

    def __index__(self) -> int:
        raise ValueError(TEXT)

    def __len__(self) -> int:
        raise TypeError(TEXT)


HOSTILE: list[Any] = [
    TEXT,
    TEXT + "\x00",
    TEXT + "\ud800",
    TEXT * 1000,
    TEXT.encode(),
    bytearray(TEXT.encode()),
    np.str_(TEXT),
    np.bytes_(TEXT.encode()),
    Loud(TEXT),
    Odd(),
    LoudInteger(NUMBER),
    LoudFloat(NUMBER),
    LoudInteger(1),
    LoudFloat(0.5),
    NUMBER,
    -NUMBER,
    float(NUMBER),
    NUMBER + 0.5,
    NUMBER * 10**300,
    np.int64(NUMBER),
    np.float64(NUMBER),
    np.longdouble(NUMBER),
    np.datetime64(NUMBER, "s"),
    complex(NUMBER, 1),
    decimal.Decimal(NUMBER),
    fractions.Fraction(NUMBER, 7),
    [TEXT],
    (TEXT, NUMBER),
    {TEXT},
    {TEXT: NUMBER},
    {"key": TEXT, "value": NUMBER},
    {"key": "a", "value": NUMBER, TEXT: 1},
    {"a": TEXT, "b": NUMBER},
    [{"key": TEXT, "value": NUMBER}],
    (NUMBER, NUMBER),
    (float(NUMBER), TEXT),
    np.array([TEXT]),
    np.array(NUMBER),
    Exception(TEXT),
    type(TEXT, (), {}),
    memoryview(TEXT.encode()),
    range(NUMBER, NUMBER + 2),
]

DOMAINS: list[Domain] = [
    warner.Categorical(["a", "b", "c"]),
    warner.Categorical([1, 2, 3]),
    warner.Categorical([True, False]),
    warner.Categorical(["a", 1]),
    warner.Integers(0, 4),
    warner.Interval(0.0, 1.0, 4),
    warner.Interval(-1.0, 1.0, 4, clip=True),
    warner.Grid(2, 3),
    warner.domains.Points([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]]),
    warner.domains.Optional(warner.Integers(0, 4), ["", "NA"]),
    warner.domains.with_missing(warner.Categorical(["a", "b"]), "drop"),
    warner.Product(a=warner.Categorical(["x", "y"]), b=warner.Integers(0, 4)),
]


def _takers() -> dict[str, Any]:
    """Everything that takes answers."""
    abc, five, unit = DOMAINS[0], DOMAINS[4], DOMAINS[5]
    product = DOMAINS[-1]
    assert isinstance(product, warner.Product)
    found: dict[str, Any] = {f"domain {i}": domain for i, domain in enumerate(DOMAINS)}
    made: list[Mechanism] = [
        warner.RandomizedResponse(abc, 1.0),
        warner.UnaryEncoding(DOMAINS[1], 1.0),
        warner.LocalHashing(five, 1.0, seeds=4),
        warner.UtilityOptimizedRR(abc, 1.0, sensitive=["a"]),
        warner.SquareWave(unit, 1.0, cells=8),
        warner.mechanisms.Piecewise(five, 1.0, cells=8),
        warner.mechanisms.WithNonresponse(warner.SquareWave(unit, 1.0, cells=8)),
        warner.Laplace(unit, 1.0, cells=4, reach=1),
        warner.mechanisms.Geometric(five, 1.0, reach=1),
        warner.mechanisms.Gaussian(unit, 1.0, delta=1e-3),
        warner.PlanarGeometric(DOMAINS[7], 1.0),
        warner.mechanisms.Exponential(DOMAINS[8], 1.0),
        warner.PerAttribute(
            product,
            {
                "a": lambda d: warner.RandomizedResponse(d, 1.0),
                "b": lambda d: warner.Laplace(d, 1.0, reach=1),
            },
        ),
        warner.mechanisms.Repeated(warner.RandomizedResponse(abc, 1.0), 2),
        warner.KeyValue(abc, unit, 1.0),
        warner.KeyValue(abc, unit, 1.0, pairs=2),
    ]
    found |= {f"{type(m).__name__} {i}": m for i, m in enumerate(made)}
    common = warner.UtilityOptimizedRR(five, 1.0, sensitive=[1])
    found["device"] = warner.mechanisms.PersonalizedULDP(common, ["home"]).device({"home": [2]})
    return found


TAKERS = _takers()


def _good(taker: Any) -> Any:
    """An answer that the taker takes."""
    if isinstance(taker, warner.KeyValue):
        pair = {"key": "a", "value": 0.5}
        return pair if taker.pairs is None else [pair]
    domain = getattr(taker, "domain", None) or (
        taker if isinstance(taker, Domain) else warner.Integers(0, 4)
    )
    return domain.labels[0]


def _containers(rng: np.random.Generator, bad: Any, good: Any) -> Iterator[Any]:
    """The hostile value among others, in every sort of container that takes it."""
    rows = [good] * int(rng.integers(0, 4))
    rows.insert(int(rng.integers(len(rows) + 1)), bad)
    yield rows
    yield tuple(rows)
    yield (row for row in rows)
    yield bad
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    yield array
    for make in (
        lambda: np.array(rows),
        lambda: np.ma.masked_array(array, [False] * len(rows)),
        lambda: {"a": rows, "b": rows},
        lambda: {"key": rows, "value": rows},
        lambda: [{"a": row, "b": row} for row in rows],
        lambda: [{"key": row, "value": row} for row in rows],
        lambda: [[{"key": "a", "value": row}] for row in rows],
        lambda: [[{"key": row, "value": 0.5}] for row in rows],
        lambda: _pandas(rows),
        lambda: _polars(rows),
        lambda: _arrow(rows),
        lambda: {TEXT: rows},
        lambda: dict.fromkeys(["a", "b", TEXT], rows),
    ):
        try:
            made = make()
        except Exception:
            continue  # the container does not take it
        yield made


def _pandas(rows: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({"a": pd.Series(rows, dtype=object), "b": pd.Series(rows, dtype=object)})


def _polars(rows: list[Any]) -> Any:
    import polars as pl

    return pl.DataFrame({"a": rows, "b": rows}, strict=False)


def _arrow(rows: list[Any]) -> Any:
    import pyarrow as pa

    return pa.table({"a": rows, "b": rows})


def reach(error: BaseException) -> str:
    """All that can be read off an error without its frames: texts, arguments, attributes, causes
    and contexts.
    """
    parts: list[str] = []
    todo: list[BaseException] = [error]
    seen: set[int] = set()
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        parts += [
            str(one),
            repr(one),
            repr(one.args),
            repr(getattr(one, "__dict__", {})),
            repr(getattr(one, "__notes__", [])),
        ]
        parts += ["".join(traceback.format_exception_only(one))]
        todo += [e for e in (one.__cause__, one.__context__) if e is not None]
        todo += [a for a in one.args if isinstance(a, BaseException)]
    return "\n".join(parts)


def silent(where: str, text: str) -> None:
    """No canary in a text; the message names the place and not the text."""
    for sign in SIGNS:
        require(sign not in text, f"{where}: shows a hostile answer")


def in_memory(rng: np.random.Generator) -> str | None:
    """One hostile value in all containers, given to one taker: a named error without it, or reports
    without it.
    """
    names = list(TAKERS)
    name = names[rng.integers(len(names))]
    taker, bad = TAKERS[name], HOSTILE[rng.integers(len(HOSTILE))]
    take = taker.encode if isinstance(taker, Domain) else taker.randomize
    if isinstance(taker, warner.Interval) and taker.clip:
        return None  # takes every number, by what was asked
    number = next(i for i, hostile in enumerate(HOSTILE) if hostile is bad)
    where = f"{name}, {type(bad).__name__} (hostile value {number})"
    refused = 0
    for i, values in enumerate(_containers(rng, bad, _good(taker))):
        try:
            take(values)
        except warner.errors.WarnerError as error:
            refused += 1
            silent(f"{where}, container {i}", reach(error))
        except Exception as error:
            silent(f"{where}, container {i}, {type(error).__name__}", reach(error))
            raise Finding(
                f"{where}, container {i}: not a named error: {type(error).__name__}"
            ) from None
    return f"{refused} refused"


STUDY = """
[attributes.a]
values = ["x", "y"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.b]
integers = [0, 9]
mechanism = "UnaryEncoding"
epsilon = 1.0
missing = "answer"
empty = ["", "NA"]
[attributes.c]
interval = { low = 0, high = 1, bins = 4 }
mechanism = "SquareWave"
epsilon = 1.0
missing = "drop"
[attributes.d]
grid = { rows = 2, columns = 3 }
mechanism = "PlanarGeometric"
epsilon = 1.0
[attributes.e]
values = [true, false]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.f]
keys = ["p", "q"]
interval = { low = 0, high = 1, bins = 4 }
mechanism = "KeyValue"
epsilon = 1.0
"""
FINE = {"a": "x", "b": "3", "c": "0.5", "d": "1,2", "e": "true", "f_key": "p", "f_value": "0.25"}
CELLS = [
    TEXT,
    str(NUMBER),
    f"-{NUMBER}",
    f"{NUMBER}.5",
    f"{NUMBER}e300",
    f"0x{NUMBER}",
    f"{NUMBER},1",
    f" {TEXT}",
    f'{TEXT}"',
    f'"{TEXT}',
    f"{TEXT}\x00",
    f"{TEXT}\n{TEXT}",
    f"{TEXT}\r{NUMBER}",
    f"{TEXT},{TEXT},{TEXT}",
    f"x{TEXT}",
    f"@{TEXT}",
    f"\ufeff{TEXT}",
    f"={TEXT}",
]


def run(*args: str, text: str | bytes | None = None) -> Any:
    """A command in this process: its result has all output, and the error if one got through."""
    from click.testing import CliRunner

    return CliRunner().invoke(main, list(args), input=text)


def _spoiled(rng: np.random.Generator, folder: Path) -> str:
    """A file of answers with a canary in it, and something wrong at that place."""
    columns = list(FINE)
    column, cell = columns[rng.integers(len(columns))], CELLS[rng.integers(len(CELLS))]
    rows = [dict(FINE) for _ in range(int(rng.integers(1, 40)))]
    rows[rng.integers(len(rows))][column] = cell
    if rng.random() < 0.25:
        return _spoiled_parquet(rng, folder, rows, column)
    quote = ["", '"'][rng.integers(2)]

    def line(row: dict[str, str]) -> str:
        return ",".join(
            f"{quote}{v}{quote}" if quote or "," not in v or v == cell else f'"{v}"'
            for v in row.values()
        )

    header = ",".join(columns)
    lines = [header, *map(line, rows)]
    kind = rng.integers(8)
    if rng.random() < 0.1:
        # Only in a column that no one asked for: taken, and not seen either.
        lines = [f"{header},other", *(f"{line(FINE)},{TEXT}" for _ in rows)]
        kind = 9
    if kind == 0:
        lines[0] = header.replace(column, TEXT)  # a column is missing, another one is too many
    elif kind == 1:
        lines[0] = f"{header},{TEXT}"
    elif kind == 2:
        lines = lines[1:]  # no header: answers stand in its place
    elif kind == 3:
        lines.insert(1 + int(rng.integers(len(lines))), f"{TEXT}")
    data = ["\n", "\r\n", "\r"][rng.integers(3)].join([*lines, ""]).encode("utf-8", "surrogatepass")
    if kind == 4:
        data = data.decode("utf-8").encode(["utf-16", "utf-32"][rng.integers(2)])
    elif kind == 5:
        data = data.replace(b"CANARY", b"CANARY\xff\xfe")
    path = folder / "answers.csv"
    path.write_bytes(data)
    return str(path)


def _spoiled_parquet(
    rng: np.random.Generator, folder: Path, rows: list[dict[str, str]], column: str
) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in FINE}
    strange: list[Any] = [
        pa.array([TEXT.encode()] * len(rows)),
        pa.array([NUMBER] * len(rows)),
        pa.array([NUMBER + 0.5] * len(rows)),
        pa.array([[TEXT]] * len(rows)),
        pa.array([{"x": TEXT}] * len(rows)),
        pa.array([decimal.Decimal(NUMBER)] * len(rows)),
        pa.array([NUMBER] * len(rows), pa.timestamp("us")),
        pa.array([TEXT] * len(rows)).dictionary_encode(),
        pa.array([TEXT] * len(rows), pa.large_string()),
        pa.array([NUMBER] * len(rows), pa.duration("us")),
        pa.array([None] * len(rows), pa.null()),
    ]
    if rng.random() < 0.7:
        columns[column] = strange[rng.integers(len(strange))]
    path = str(folder / "answers.parquet")
    pq.write_table(pa.table(columns), path)
    if rng.random() < 0.3:
        data = bytearray(Path(path).read_bytes())
        for _ in range(3):
            data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        Path(path).write_bytes(data)
    return path


def in_files(rng: np.random.Generator) -> str | None:
    """Answers with a canary through ``warner randomize``, and in the place of every other file:
    nothing of them comes out.
    """
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        folder = Path(name)
        answers = _spoiled(rng, folder)
        study = folder / "study.toml"
        study.write_text(STUDY)
        output = str(folder / f"out{['.csv', '.parquet'][rng.integers(2)]}")
        before = {p.name for p in folder.iterdir()}
        kind = int(rng.integers(8))
        if kind == 0:
            done = run("randomize", answers, str(study), "-o", output)  # swapped
        elif kind == 1:
            done = run(["tally", "estimate", "audit", "compare"][rng.integers(4)], answers)
        elif kind == 2 and answers.endswith(".csv"):
            done = run("randomize", str(study), "-", "-o", output, text=Path(answers).read_bytes())
        elif kind == 3:
            done = run("randomize", str(study), answers, "-o", output, "--bare")
        else:
            done = run("randomize", str(study), answers, "-o", output)
        silent("the output of a command", done.output + (done.stderr or ""))
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            silent(
                f"the error of a command, {type(done.exception).__name__}", reach(done.exception)
            )
            raise Finding(
                f"a command ends in {type(done.exception).__name__}: "
                f"{os.path.basename(answers)}, way {kind}"
            )
        for path in folder.iterdir():
            if path.name not in before:
                require(done.exit_code == 0, "a file is left after an error")
                silent(f"the file {path.name}", path.read_bytes().decode("latin-1"))
        if kind > 3:
            _read(answers, study)
    return "refused" if done.exit_code else "taken"


def _read(answers: str, study: Path) -> None:
    """The same file read as the library reads it."""
    plan = warner.Study.load(study)
    try:
        for _ in read_values(answers, plan.mechanisms):
            pass
    except warner.errors.WarnerError as error:
        silent("read_values", reach(error))
