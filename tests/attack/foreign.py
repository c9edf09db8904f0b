"""Attacks: forged and damaged report files, tallies, wire bytes and studies."""

from __future__ import annotations

import copy
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import warner
from tests.attack._frame import Finding, require
from tests.attack._internals import (
    UNSEALED,
    canonical,
    load_tallies,
    open_reports,
    read_reports,
    seal,
    tally_file,
    write_reports,
)
from tests.attack.canaries import STUDY, reach
from warner.mechanisms import Mechanism

N = 40


def _mechanisms() -> list[Mechanism]:
    abc = warner.Categorical(["a", "b", "c"])
    eleven = warner.Integers(0, 10)
    unit = warner.Interval(0.0, 1.0, 4)
    product = warner.Product(s=abc, t=eleven)
    return [
        warner.RandomizedResponse(abc, 1.0),
        warner.UnaryEncoding(eleven, 1.0),
        warner.LocalHashing(eleven, 1.0, seeds=16),
        warner.SubsetSelection(eleven, 1.0),
        warner.HadamardResponse(abc, 1.0),
        warner.mechanisms.UtilityOptimizedRappor(eleven, 1.0, sensitive=[1, 2]),
        warner.mechanisms.UtilityOptimizedSubset(eleven, 1.0, [1, 2, 5, 7, 9], 2),
        warner.SquareWave(unit, 1.0, cells=8),
        warner.Laplace(warner.Integers(0, 3), 1.0, reach=2),
        warner.PlanarGeometric(warner.Grid(2, 3), 1.0),
        warner.mechanisms.Exponential(warner.Integers(0, 3), 1.0),
        warner.mechanisms.Gaussian(warner.Integers(0, 2), 1.0, delta=1e-3),
        warner.MatrixMechanism(abc, [[0.7, 0.1, 0.2], [0.3, 0.9, 0.8]]),
        warner.KeyValue(abc, unit, 1.0),
        warner.KeyValue(abc, unit, 1.0, key="direct"),
        warner.mechanisms.Repeated(warner.RandomizedResponse(abc, 1.0), 2),
        warner.PerAttribute(
            product,
            {
                "s": lambda d: warner.RandomizedResponse(d, 1.0),
                "t": lambda d: warner.UnaryEncoding(d, 1.0),
            },
        ),
    ]


MECHANISMS = _mechanisms()


def _some(rng: np.random.Generator) -> tuple[Mechanism, warner.Reports]:
    mechanism = MECHANISMS[rng.integers(len(MECHANISMS))]
    if isinstance(mechanism, warner.KeyValue):
        values: Any = [
            {"key": "abc"[rng.integers(3)], "value": float(rng.random())} for _ in range(N)
        ]
    else:
        labels = mechanism.domain.labels
        values = [labels[i] for i in rng.integers(0, len(labels), N)]
    return mechanism, mechanism.randomize(values, rng)


STRANGE: list[Any] = [
    0, 1, -1, 2, 5, 255, 256, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63),
    10_000, 3_000_000, 0.0, 0.5, 1.0, -1.0, 1e-9, 1e308, True, False, None, "", "inf", "NaN",
    "a", "0x1", "-0x1", "\u0000", "\x1b[2J", "\ud800", "</script>", "=1+1",
    [], {}, [[]], [0], [1, 2, 3], {"a": 1}, [None], ["a", "a"],
]  # fmt: skip


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in JSON data."""
    found = [path] if path else []
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data[:6])
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        found += _places(value, (*path, key))
    return found


def edited(rng: np.random.Generator, data: Any) -> Any:
    """JSON data with one to three changes: a value replaced, removed, doubled, moved or made a
    little different.
    """
    data = copy.deepcopy(data)
    for _ in range(int(rng.integers(1, 4))):
        places = _places(data)
        if not places:
            break
        *way, last = places[rng.integers(len(places))]
        parent = data
        for key in way:
            parent = parent[key]
        kind = rng.integers(6)
        if kind == 0:
            del parent[last]
        elif kind == 1 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[last]))
        elif kind == 1:
            parent[f"{last}2"] = copy.deepcopy(parent[last])
        elif kind == 2 and isinstance(parent[last], int | float):
            parent[last] = parent[last] + [1, -1, 2**32, 0.5][rng.integers(4)]
        elif kind == 3 and isinstance(parent[last], str) and parent[last]:
            text = parent[last]
            place = int(rng.integers(len(text)))
            parent[last] = (
                text[:place] + "0123456789abcdefgxyz"[rng.integers(20)] + text[place + 1 :]
            )
        elif kind == 4:
            other = data
            for key in places[rng.integers(len(places))]:
                other = other[key] if isinstance(other, dict | list) and _has(other, key) else other
            parent[last] = copy.deepcopy(other) if len(json.dumps(other, default=str)) < 5000 else 0
        else:
            parent[last] = STRANGE[rng.integers(len(STRANGE))]
    return data


def _has(data: Any, key: Any) -> bool:
    return key in data if isinstance(data, dict) else isinstance(key, int) and key < len(data)


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    """Bytes flipped, cut out, put in, doubled or cut off."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        if not out:
            break
        place, more = int(rng.integers(len(out))), int(rng.integers(1, 20))
        kind = rng.integers(6)
        if kind == 0:
            out[place] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            del out[place : place + more]
        elif kind == 2:
            out[place:place] = rng.bytes(more)
        elif kind == 3:
            out[place:place] = out[place : place + more]
        elif kind == 4:
            out[place : place + more] = b"\xff\x00"[rng.integers(2)].to_bytes(1, "big") * more
        else:
            del out[place:]
    return bytes(out)


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))


def _sensible(tally: warner.Tally, where: str) -> None:
    """An accepted tally is estimated, or refused by name; shares are a distribution and the number
    of reports is kept.
    """
    try:
        result = warner.estimate(tally, warner.Inversion("project"))
        whole = float(result.probabilities.sum())
    except warner.errors.WarnerError as error:
        reach(error)
        return
    require(result.n == tally.n, f"{where}: the estimate has another number of reports")
    require(
        bool(np.isfinite(result.probabilities).all()) and abs(whole - 1) < 1e-6,
        f"{where}: shares that are no distribution",
    )


# Wire bytes.


def wire(rng: np.random.Generator) -> str | None:
    mechanism, reports = _some(rng)
    data = reports.to_bytes(keep_order=True)
    repaired = rng.random() < 0.7
    if repaired:
        start = data.index(b"\n") + 1
        end = start + 4 + int.from_bytes(data[start : start + 4], "little")
        head, body = json.loads(data[start + 4 : end]), data[end:-32]
        kind = rng.integers(5)
        if kind == 0:
            body = damaged(rng, body)
        elif kind <= 2:  # other reports, as many
            small = [0, 1, 2, 3, 5, 8, 32, 255] if kind == 1 else [0, 1]
            body = bytes(
                small[rng.integers(len(small))] if rng.random() < 0.05 else b for b in body
            )
        else:
            head = edited(rng, head)
        text = _json(head).encode("utf-8", "surrogatepass")
        forged = data[:start] + len(text).to_bytes(4, "little") + text + body
        forged += hashlib.sha256(forged).digest()
    else:
        forged = damaged(rng, data)
    try:
        found = warner.Reports.from_bytes(forged)
        tally = mechanism.tally(found)
    except warner.errors.WarnerError:
        return "refused"
    require(repaired or forged == data, "damaged wire bytes were taken")
    _possible(mechanism, found)
    require(tally.n == len(found), "a tally of another number of reports")
    _sensible(tally, "wire")
    return "taken"


def _possible(mechanism: Mechanism, found: warner.Reports) -> None:
    """Reports taken in are reports that the mechanism lists."""
    try:
        listed = mechanism.is_enumerable
    except NotImplementedError:
        return
    if listed:
        known = set(warner.Reports(mechanism.header, mechanism.outputs()).records())
        require(
            set(found.records()) <= known, f"{mechanism!r}: a report was taken that it cannot send"
        )


# Tallies.


def _digest(entry: Any) -> str:
    """The checksum of a tally, by its definition."""
    parts = [entry[name] for name in ("header", "kind", "by", "groups", "shape")]
    mark = [entry.get("simulated", False), entry.get("reports_per_person", 1)]
    text = canonical([*parts, *mark]).encode()
    for name in ("sizes", "counts", "places"):
        text += np.array(entry.get(name, []), "<i8").tobytes()
    rows = bytes.fromhex("".join(entry.get("rows", [])))
    return hashlib.sha256(text + rows).hexdigest()


def tallies(rng: np.random.Generator) -> str | None:
    mechanism, reports = _some(rng)
    keep = isinstance(mechanism, warner.UnaryEncoding) and bool(rng.random() < 0.5)
    tally = mechanism.tally(reports, keep_reports=keep)
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        path = Path(name) / "tally.json"
        tally.save(path)
        data = path.read_bytes()
        repaired = rng.random() < 0.7
        if repaired:
            whole = json.loads(data)
            entry = {k: v for k, v in whole["attributes"]["value"].items() if k != "sha256"}
            entry = _recounted(rng, entry) if rng.random() < 0.5 else edited(rng, entry)
            try:
                entry["sha256"] = _digest(entry)
            except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
                entry["sha256"] = "0" * 64
            whole["attributes"] = {"value": entry}
            try:
                whole["sha256"] = hashlib.sha256(
                    canonical(whole["attributes"]).encode()
                ).hexdigest()
            except ValueError:
                return None
            forged = (json.dumps(whole) + "\n").encode("utf-8", "surrogatepass")
        else:
            forged = damaged(rng, data)
        path.write_bytes(forged)
        try:
            (found,) = load_tallies(path).values()
            warner.estimate(found, warner.Inversion())
        except warner.errors.WarnerError:
            return "refused"
        require(repaired or forged == data, "a damaged tally was taken")
        require(bool((found.counts >= 0).all()), "negative counts were taken")
        if found.kind.name == "histogram":
            require(
                int(sum(map(int, found.counts.ravel()))) == found.n,
                "counts that do not add up to n were taken",
            )
        elif found.kind.name in ("bitsums", "digits"):
            require(int(found.counts.max()) <= found.n, "more ones than reports were taken")
        _sensible(found, "tally")
    return "taken"


def _recounted(rng: np.random.Generator, entry: Any) -> Any:
    """Other counts under the same header: some possible, most of them not."""
    counts = list(entry["counts"])
    for _ in range(int(rng.integers(1, 4))):
        a, b = (int(i) for i in rng.integers(0, len(counts), 2))
        kind = rng.integers(6)
        if kind == 0:
            counts[a], counts[b] = counts[b], counts[a]
        elif kind == 1:
            counts[a], counts[b] = counts[a] - 1, counts[b] + 1
        elif kind == 2:
            counts[a] += int(rng.choice([-100, -1, 1, 2**40, 2**62]))
        elif kind == 3:
            counts = [2 * v for v in counts]
            entry = {**entry, "sizes": [2 * n for n in entry["sizes"]]}
        elif kind == 4:
            more = int(rng.choice([-1, 1, 10**6]))
            entry = {**entry, "sizes": [n + more for n in entry["sizes"]]}
        else:
            entry = {
                **entry,
                "kind": ["histogram", "bitsums", "digits", "reports", "1-way", "2-way"][
                    rng.integers(6)
                ],
            }
    return {**entry, "counts": counts}


# Report files.


def report_files(rng: np.random.Generator) -> str | None:
    mechanism, reports = _some(rng)
    suffix = ["parquet", "csv"][rng.integers(2)]
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        path = str(Path(name) / f"reports.{suffix}")
        write_reports({"a": reports}, path, rng=rng)
        data = Path(path).read_bytes()
        repaired = rng.random() < 0.75
        if repaired:
            (_forge_parquet if suffix == "parquet" else _forge_csv)(rng, path)
        else:
            Path(path).write_bytes(damaged(rng, data))
        changed = Path(path).read_bytes() != data
        outcomes = []
        for reader in (tally_file, read_reports, _opened):
            try:
                outcomes.append(reader(path))
            except warner.errors.WarnerError:
                outcomes.append(None)
        counted, read, _ = outcomes
        require(
            (counted is None) == (read is None),
            "one reader takes a file that the other one refuses",
        )
        if counted is None or read is None:
            return "refused"
        require(repaired or not changed, "a damaged report file was taken")
        for attribute, tally in counted.items():
            own = mechanism if tally.header == mechanism.header else None
            if own is None:
                continue
            again = own.tally(read[attribute])
            require(again == tally, "two readers count one file differently")
            _possible(own, read[attribute])
            _sensible(tally, "file")
    return "taken"


def _opened(path: str) -> Any:
    """What the command does with --study: headers are compared first."""
    return tally_file(open_reports(path).expected({"a": MECHANISMS[0]}))


def _forge_parquet(rng: np.random.Generator, path: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    said = dict(table.schema.metadata)
    head = json.loads(said[b"warner"])
    end = json.loads(pq.ParquetFile(path).metadata.metadata[b"warner.end"])
    end["sha256"] = UNSEALED
    if rng.random() < 0.5:
        head, end = _edited_ends(rng, head, end)
    else:
        place = int(rng.integers(table.num_columns))
        values = table.column(place).to_pylist()
        column = _column(rng, values)
        name = [table.column_names[place], table.column_names[place].upper(), "other"][
            int(rng.choice(3, p=[0.8, 0.1, 0.1]))
        ]
        table = (
            table.set_column(place, name, column)
            if rng.random() < 0.8
            else table.append_column(name, column)
        )
    metadata = {"warner": _json(head).encode("utf-8", "surrogatepass"), "warner.end": _sorted(end)}
    try:
        pq.write_table(
            table.replace_schema_metadata(metadata), path, row_group_size=int(rng.integers(1, 60))
        )
    except (pa.ArrowException, ValueError, TypeError):
        return
    seal(path)


def _edited_ends(rng: np.random.Generator, head: Any, end: Any) -> tuple[Any, Any]:
    """The header or the end of a file, edited; the place of the checksum stays."""
    if rng.random() < 0.7:
        return edited(rng, head), end
    return head, {**edited(rng, {"n": end["n"], "end": end}), "sha256": UNSEALED}


def _sorted(end: Any) -> bytes:
    return json.dumps(end, sort_keys=True, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _column(rng: np.random.Generator, values: list[int]) -> Any:
    """The same numbers in another type, or other numbers in any type."""
    import pyarrow as pa

    values = list(values)
    if rng.random() < 0.7:
        for _ in range(int(rng.integers(1, 4))):
            values[rng.integers(len(values))] = [0, 1, 2, 3, 127, 200, 255][rng.integers(7)]
    types = [
        pa.uint8(),
        pa.uint8(),
        pa.int8(),
        pa.uint16(),
        pa.int64(),
        pa.uint64(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.bool_(),
        pa.decimal128(9, 2),
    ]
    types += [pa.timestamp("us"), pa.date32(), pa.list_(pa.uint8()), pa.binary(), pa.float16()]
    wanted = types[rng.integers(len(types))]
    try:
        if pa.types.is_list(wanted):
            return pa.array([[v] for v in values], wanted)
        array = pa.array(values).cast(wanted, safe=False)
    except (pa.ArrowException, OverflowError):
        array = pa.array(values)
    if rng.random() < 0.15:
        array = pa.array([None, *array.to_pylist()[1:]], array.type)
    if rng.random() < 0.1 and pa.types.is_integer(array.type):
        array = array.dictionary_encode()
    return array


def _forge_csv(rng: np.random.Generator, path: str) -> None:
    first, *lines, last = Path(path).read_bytes().decode().splitlines()
    head, end = json.loads(first.removeprefix("#warner ")), json.loads(last.removeprefix("#end "))
    end["sha256"] = UNSEALED
    kind = rng.integers(4)
    if kind == 0:
        head, end = _edited_ends(rng, head, end)
    else:
        cells = [
            "0",
            "1",
            "2",
            "3",
            "-1",
            "255",
            "256",
            "1.0",
            "1e0",
            "01",
            "+1",
            " 1",
            "1 ",
            "",
            "x",
            "NULL",
            "nan",
            '"1"',
            '"1',
            "0x1",
            "true",
            "1_0",
        ]
        for _ in range(int(rng.integers(1, 4))):
            place = int(rng.integers(len(lines)))
            if kind == 1:
                parts = lines[place].split(",")
                parts[rng.integers(len(parts))] = [
                    *cells,
                    "99999999999999999999",
                    "\u0661",
                    "1\x00",
                    "\ufeff1",
                ][rng.integers(len(cells) + 4)]
                lines[place] = ",".join(parts)
            elif kind == 2:
                lines[place] = [
                    lines[place] + ",0",
                    "",
                    lines[place] + "\r",
                    "#" + lines[place],
                    lines[place] + "\n",
                ][rng.integers(5)]
            else:
                lines.insert(
                    place, [lines[rng.integers(len(lines))], "", first, last, "0"][rng.integers(5)]
                )
    text = "\n".join([f"#warner {_json(head)}", *lines, "#end " + _sorted(end).decode(), ""])
    Path(path).write_bytes(text.encode("utf-8", "surrogatepass"))
    seal(path)


# Studies.


def studies(rng: np.random.Generator) -> str | None:
    """Edited study files are refused by name, or make mechanisms within their budget."""
    import tomllib

    if rng.random() < 0.5:
        text = damaged(rng, STUDY.encode()).decode("latin-1")
    else:
        text = json.dumps({"budget": 20.0, **edited(rng, {"budget": 20.0, **tomllib.loads(STUDY)})})
    try:
        study = warner.Study.parse(text)
    except warner.errors.WarnerError:
        return "refused"
    if study.budget is not None:
        require(study.epsilon <= study.budget, "a study was taken that spends more than its budget")
    again = warner.Study.parse(study.to_json())
    require(again.digest == study.digest, "a study reads back as another one")
    for mechanism in study.mechanisms.values():
        if not isinstance(
            mechanism.guarantee, warner.privacy.MetricLDP | warner.privacy.ApproximateLDP
        ):
            require(
                mechanism.epsilon <= mechanism.requested,
                "a mechanism spends more than it was asked to",
            )
    return "taken"


_OF_VALUES = ("RandomizedResponse", "UnaryEncoding", "LocalHashing", "SubsetSelection")
_OF_VALUES += ("HadamardResponse", "ProjectiveGeometryResponse")
_OF_NUMBERS = ("SquareWave", "Piecewise", "StochasticRounding", "Laplace", "Geometric")


def large_studies(rng: np.random.Generator) -> str | None:
    """Studies of many values, or many reports, are audited or refused by name, within bounds."""
    values = int(2 ** rng.uniform(1, 24))
    name = str(rng.choice((*_OF_VALUES, *_OF_NUMBERS)))
    reports = int(10 ** rng.uniform(0, 4)) if rng.random() < 0.5 else 1
    attribute = {"integers": [0, values], "mechanism": name, "epsilon": 1.0}
    if reports > 1:
        attribute["reports"] = reports
    try:
        study = warner.Study.parse(json.dumps({"attributes": {"a": attribute}}))
        for mechanism in study.mechanisms.values():
            warner.audit(mechanism)
    except warner.errors.WarnerError:
        return "refused"
    return "audited"


__all__ = ["Finding", "large_studies", "report_files", "studies", "tallies", "wire"]
