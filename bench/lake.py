"""Claim: one machine counts 10^9 k-RR reports and 10^8 OUE reports (K = 128) that another program
wrote to Parquet, below 1 GB of memory, and k-RR reports within 1.0 times the bare GROUP BY of DuckDB.
From 10^9 reports of projective geometry (K = 10^6, integers) to a file of all shares with their
intervals it takes less than 2 minutes and 3 GB.

    python bench/lake.py [--scale 0.01] [--kind krr] [--sizes 1] [--turns 3] [--keep]

Each way runs as a whole fresh process, from start to exit, with its peak resident memory, in turn.
``warner tally`` checks every report and the digest of each file. The bare GROUP BYs check nothing.
Beside the seconds stand those of all processors together, which a busy machine changes less. The
slope over four sizes says what more reports will take. ``--scale`` makes all sizes smaller; the
claims are of the full sizes, and are not printed for smaller ones. The reports of k-RR and OUE are
of a million people, over and over: files of 10^9 are made in a minute, and counting does not know
that. Those of projective geometry are all of different people, because they are estimated: the
counts of a file are drawn by the law of reports, and stand in random order.

Each line goes to results/lake.jsonl too, with the load of the machine.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import defaultdict
from statistics import median

from _measure import EPSILON, OUT, SEED, claim, record, run, run_with_processor

FILES = 16
CHUNK = 2**20
SIZES = {"krr": 10**9, "oue": 10**8, "projective": 10**9}
VALUES = {"krr": 16, "oue": 128, "projective": 10**6}
STUDY = """[attributes.answer]
integers = [0, {last}]
mechanism = "{mechanism}"
epsilon = {epsilon}
"""
MECHANISMS = {
    "krr": "RandomizedResponse",
    "oue": "UnaryEncoding",
    "projective": "ProjectiveGeometryResponse",
}


def make(kind: str, folder: str, n: int) -> None:
    """In a fresh process: simulate reports and write them as another program does, in FILES files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from warner import Study

    mechanism = Study.load(f"{folder}/../{kind}.toml").mechanisms["answer"]
    rng = np.random.default_rng(SEED)
    rows = -(-n // FILES)
    if kind == "projective":
        place = (np.arange(VALUES[kind]) + 0.5) / VALUES[kind]
        humps = ((0.6, 0.35, 0.08), (0.4, 0.7, 0.1))
        shares = sum(a / s * np.exp(-0.5 * ((place - m) / s) ** 2) for a, m, s in humps)
        law = mechanism.channel().matvec(shares / shares.sum())
        for i in range(FILES):
            counts = rng.multinomial(min(rows, n - i * rows), law / law.sum())
            reports = np.repeat(np.arange(len(law), dtype=np.uint32), counts)
            rng.shuffle(reports)
            table = pa.table({"answer_report": reports})
            pq.write_table(table, f"{folder}/part-{i:02}.parquet", row_group_size=CHUNK)
        return
    # A million different people, over and over: counting does not know that, and making is short.
    people = np.minimum(rng.geometric(0.2, min(CHUNK, n)) - 1, VALUES[kind] - 1)
    columns = mechanism.schema.to_file(mechanism.randomize(people, rng).columns)
    table = pa.table({f"answer_{name}": column for name, column in columns.items()})
    for i in range(FILES):
        left = min(rows, n - i * rows)
        with pq.ParquetWriter(f"{folder}/part-{i:02}.parquet", table.schema) as writer:
            while left > 0:
                shift = int(rng.integers(len(table)))
                part = pa.concat_tables([table[shift:], table[:shift]])[:left]
                writer.write_table(part)
                left -= len(part)


def bare(engine: str, folder: str) -> None:
    """In a fresh process: one GROUP BY per column, and nothing else."""
    if engine == "duckdb":
        import duckdb

        table = f"read_parquet('{folder}/*.parquet')"
        names = [row[0] for row in duckdb.sql(f"DESCRIBE SELECT * FROM {table}").fetchall()]
        for name in names:
            rows = duckdb.sql(f'SELECT "{name}", count(*) FROM {table} GROUP BY 1').fetchall()
        print(sum(row[1] for row in rows))
    elif engine == "polars":
        import polars as pl

        frame = pl.scan_parquet(f"{folder}/*.parquet")
        for name in frame.collect_schema().names():
            found = frame.group_by(name).len().collect(engine="streaming")
        print(found["len"].sum())
    else:
        import numpy as np
        import pyarrow.dataset as ds

        total = np.zeros(256, dtype=np.int64)
        for batch in ds.dataset(folder).to_batches():
            for column in batch.columns:
                total += np.bincount(column.to_numpy(), minlength=256)
        print(int(total.sum()))


def measure(kind: str, n: int, turns: int) -> dict[str, tuple[float, float, float]]:
    """{way: median seconds, median seconds of processors, largest megabytes} for n reports."""
    folder = OUT / f"lake-{kind}-{n}"
    folder.mkdir(parents=True, exist_ok=True)
    study = OUT / f"{kind}.toml"
    study.write_text(
        STUDY.format(last=VALUES[kind] - 1, mechanism=MECHANISMS[kind], epsilon=EPSILON)
    )
    if len(list(folder.glob("*.parquet"))) < FILES:
        run([sys.executable, __file__, "make", kind, str(folder), str(n)])
    size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    print(f"{kind}: {n:,} reports, {FILES} files of {size / 1e6:,.0f} MB together", flush=True)
    command = [sys.executable, "-m", "warner", "tally", str(folder), "--study", str(study)]
    ways = {"warner tally": [*command, "-o", str(OUT / "lake.json")]}
    for engine in ("duckdb",) if kind == "projective" else ("duckdb", "polars", "pyarrow"):
        ways[engine] = [sys.executable, __file__, "bare", engine, str(folder)]
    estimate = [sys.executable, "-m", "warner", "estimate", str(OUT / "lake.json")]
    estimate += ["-o", str(OUT / "lake.csv")]
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    if n < 10**8:  # larger files take long, and lie in the page cache, having been written
        for name in ways:
            run_with_processor(ways[name], quiet=True)
    for turn in range(turns):
        for name in list(ways) if turn % 2 == 0 else reversed(list(ways)):
            found[name].append(run_with_processor(ways[name], quiet=True)[:3])
        if kind == "projective":
            found["warner estimate"].append(run_with_processor(estimate, quiet=True)[:3])
    result = {
        name: (median(s for s, _, _ in all_), median(p for _, p, _ in all_), max(all_)[2])
        for name, all_ in found.items()
    }
    base = result["duckdb"]
    for name, (seconds, processor, megabytes) in result.items():
        print(
            f"  {name:<14} {seconds:>9.2f} s  {n / seconds / 1e6:>8.1f} M/s  processors "
            f"{processor:>8.2f} s  peak {megabytes:>7.0f} MB  to duckdb {seconds / base[0]:.2f}, "
            f"processors {processor / base[1]:.2f}",
            flush=True,
        )
    entry = {"kind": kind, "n": n, "megabytes_of_files": round(size / 1e6, 1), "turns": turns}
    entry["seconds_processor_peak_mb"] = {
        name: [round(value, 2) for value in values] for name, values in result.items()
    }
    record("lake", entry, ("duckdb", "polars", "pyarrow", "numpy"))
    return result


def main(scale: float, keep: bool, turns: int, kinds: list[str], many: int) -> None:
    """Four sizes of both kinds; the slope; the claims."""
    OUT.mkdir(exist_ok=True)
    for kind in kinds:
        most = SIZES[kind]
        seconds: dict[int, float] = {}
        result: dict[str, tuple[float, float, float]] = {}
        for n in sorted({max(FILES, int(most * scale / 10**p)) for p in range(many)}):
            try:
                result = measure(kind, n, turns)
            finally:
                if not keep:
                    shutil.rmtree(OUT / f"lake-{kind}-{n}", ignore_errors=True)
            seconds[n] = result["warner tally"][0]
        if many > 1:
            *_, before, last = seconds
            slope = (seconds[last] - seconds[before]) / (last - before)
            print(
                f"{kind}: {slope * 1e9:.2f} s for 10^9 more reports, "
                f"so {slope * 1e12 / 3600:.1f} h for 10^12"
            )
        if scale == 1 and kind == "projective":
            both = [result[f"warner {what}"] for what in ("tally", "estimate")]
            taken, megabytes = sum(way[0] for way in both), max(way[2] for way in both)
            claim(
                f"{most:,} projective reports to intervals in 2 minutes",
                taken < 120,
                f"{taken:.0f} s",
            )
            claim("projective reports below 3 GB", megabytes < 3000, f"{megabytes:.0f} MB")
        elif scale == 1:
            ours, _, megabytes = result["warner tally"]
            claim(f"{most:,} {kind} reports below 1 GB", megabytes < 1000, f"{megabytes:.0f} MB")
            if kind == "krr":
                ratio = ours / result["duckdb"][0]
                claim("k-RR within 1.0 of the bare GROUP BY", ratio <= 1.0, f"{ratio:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    elif sys.argv[1:2] == ["bare"]:
        bare(sys.argv[2], sys.argv[3])
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--scale", type=float, default=1.0)
        parser.add_argument("--turns", type=int, default=3)
        parser.add_argument("--keep", action="store_true")
        parser.add_argument("--kind", choices=list(SIZES), help="one of them alone")
        parser.add_argument(
            "--sizes", type=int, default=4, help="how many, each ten times the last"
        )
        given = parser.parse_args()
        kinds = [given.kind] if given.kind else list(SIZES)
        main(given.scale, given.keep, given.turns, kinds, given.sizes)
