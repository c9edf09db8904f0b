"""What a report file says besides the reports: nothing but their number and the study."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from scipy.stats import chi2

import warner
from tests.attack.metamorphic import besides_reports
from warner._core import shuffle as _shuffle
from warner._core.atomic_files import (
    write_whole,
)
from warner._core.canonical_json import (
    canonical,
)
from warner._core.sampling import Source
from warner._core.shuffle import Shuffle, permutation, rows_at_a_time
from warner.app import cli
from warner.app.study import Study
from warner.io import (
    ReportWriter,
    csv_format,
    open_reports,
    read_answers,
    read_reports,
    read_values,
    report_writer,
    tally_file,
    write_reports,
)
from warner.reports.reports import Reports

LONG = "yes, for many years and every day"
STUDY = f"""
[attributes.smokes]
values = ["no", "{LONG}"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [0, 99]
mechanism = "UnaryEncoding"
epsilon = 1.0
"""
ONE = (
    '[attributes.q]\nvalues = ["", "no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = inf\n'
)
N = 5000


def run(*args: str, text: str | None = None, ok: bool = True) -> Result:
    result = CliRunner().invoke(cli.main, list(args), input=text)
    assert (result.exit_code == 0) is ok, result.output + str(result.exception)
    assert ok or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("one.toml").write_text(ONE)
    return tmp_path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few thousand people are as many for this program as some millions for the real one."""
    monkeypatch.setattr(csv_format, "_ANSWER_BLOCK", 2**14)
    monkeypatch.setattr(read_answers, "ROWS_PER_BATCH", 1000)
    monkeypatch.setattr(report_writer, "_ROW_GROUP", 700)
    monkeypatch.setattr(_shuffle, "_ROWS", 1500)
    monkeypatch.setattr(_shuffle, "_PERMUTED", 300)


def _raw_files() -> list[str]:
    """Files of equal n with other answers, widths, columns, orders of columns and line ends."""
    rows = {
        "short.csv": [("no", 7)] * N,
        "long.csv": [(LONG, 12)] * N,
        "sorted.csv": [("no", 5)] * (N // 3) + [(LONG, 99)] * (N - N // 3),
    }
    for name, people in rows.items():
        Path(name).write_text("smokes,age\n" + "".join(f'"{s}",{a}\n' for s, a in people))
    Path("wide.csv").write_bytes(
        b"age,name,smokes\r\n"
        + b"".join(b'%d,%s,"no"\r\n' % (i % 100, b"x" * (i % 200)) for i in range(N))
    )
    table = pa.table({"other": [b"y" * 50] * N, "age": [3] * N, "smokes": ["no"] * N})
    pq.write_table(table, "raw.parquet", row_group_size=321)
    return [*rows, "wide.csv", "raw.parquet"]


@pytest.mark.parametrize("order", [(), ("--keep-order",)])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_all_but_the_reports_is_the_same_whatever_the_answers(
    here: Path, small: None, monkeypatch: pytest.MonkeyPatch, suffix: str, order: tuple[str, ...]
) -> None:
    """With the same random words: the file but for the reports, temporary files and progress at
    every step.

    Rejects a program that writes a row group, or anything else, for every block of the raw file.
    """
    seen = []
    for raw in _raw_files():
        words = np.random.default_rng(7)
        monkeypatch.setattr(os, "urandom", lambda n, words=words: words.bytes(n))
        steps: list[Any] = []
        stored: list[tuple[int, int]] = []

        class Watched(Shuffle):
            def _store(self, rows: np.ndarray, stored: list[tuple[int, int]] = stored) -> None:
                super()._store(rows)
                assert self._file is not None
                stored.append((len(rows), self._file.tell()))

        def step(done: int, total: int | None, steps: list[Any] = steps) -> None:
            sizes = [p.stat().st_size for p in here.iterdir() if p.name.startswith(".")]
            steps.append((done, total, sizes))

        monkeypatch.setattr(report_writer, "Shuffle", Watched)
        monkeypatch.setattr(
            "warner.app.commands.collecting.progress",
            lambda _, step=step: contextlib.nullcontext(step),
        )
        said = run("randomize", "study.toml", raw, "-o", f"r.{suffix}", *order)
        if order and suffix == "csv":
            # The text of a row group of reports has a length of its own.
            steps = [(done, total, len(sizes)) for done, total, sizes in steps]
        elif order:
            steps = [(done, total, [size > 4 for size in sizes]) for done, total, sizes in steps]
        seen.append((besides_reports(f"r.{suffix}"), steps, stored, said.output))
    assert all(data == seen[0] for data in seen)
    assert [done for done, _, _ in seen[0][1]] == [1000, 2000, 3000, 4000, 5000]
    if suffix == "parquet":
        assert seen[0][0][3] == [700] * 7 + [100]
    if not order:
        assert [rows for rows, _ in seen[0][2]] == [1500, 1500, 1500, 500]
    assert sum(tally_file(f"r.{suffix}")["smokes"].counts) == N


@pytest.mark.parametrize("order", [(), ("--keep-order",)])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_of_equal_reports_are_equal_whatever_the_answers(
    here: Path, small: None, monkeypatch: pytest.MonkeyPatch, suffix: str, order: tuple[str, ...]
) -> None:
    """Reports of row i are a function of i alone here, so that every byte of the file must be."""

    done = 0

    def forced(self: Study, batch: Mapping[str, Any], source: Source) -> dict[str, Reports]:
        nonlocal done
        n = len(batch["age"])
        rows = np.arange(done, done + n)
        done += n
        bits = (rows[:, None] * np.arange(1, 101) % 7 == 0).astype(np.uint8)
        outputs = {"smokes": rows % 2, "age": bits}
        return {name: m.reports(outputs[name]) for name, m in self.mechanisms.items()}

    monkeypatch.setattr(Study, "randomize_encoded", forced)
    written = []
    for raw in _raw_files():
        done, words = 0, np.random.default_rng(7)
        monkeypatch.setattr(os, "urandom", lambda n, words=words: words.bytes(n))
        run("randomize", "study.toml", raw, "-o", f"r.{suffix}", *order)
        written.append(Path(f"r.{suffix}").read_bytes())
    assert all(data == written[0] for data in written)


def test_batches_have_a_size_that_the_study_alone_gives(
    here: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _raw_files()
    for raw in ("short.csv", "long.csv", "wide.csv", "raw.parquet"):
        sizes = [
            len(batch["age"]) for batch in read_values(raw, Study.load("study.toml").mechanisms)
        ]
        assert sizes == [1000] * 5
    monkeypatch.setattr(_shuffle, "_BYTES", 14 * 300)  # a report has 1 + 13 bytes
    sizes = [
        len(batch["age"]) for batch in read_values("long.csv", Study.load("study.toml").mechanisms)
    ]
    assert sizes == [300] * 16 + [200]
    assert rows_at_a_time(14, 10**6) == 300 and rows_at_a_time(10**9, 10**6) == 1


class Coarse(Source):
    """A source whose 16-bit words are 0 or 1, so that many places coincide."""

    def words(self, n: int, dtype: Any) -> np.ndarray:
        assert self._rng is not None
        return self._rng.integers(0, 2, n).astype(dtype)


def _unlike_uniform(orders: list[tuple[int, ...]], kinds: int) -> bool:
    """Whether a chi-square test at 1e-9 finds that orders are not equally likely."""
    _, counts = np.unique(np.array(orders), axis=0, return_counts=True)
    expected = len(orders) / kinds
    statistic = float(
        ((counts - expected) ** 2).sum() / expected + (kinds - len(counts)) * expected
    )
    return statistic > float(chi2.isf(1e-9, kinds - 1))


@pytest.mark.parametrize("kind", [Source, Coarse])
def test_every_order_is_equally_likely(kind: type[Source]) -> None:
    """Rejects a program that leaves rows of equal places in the order they came in."""
    source = kind(np.random.default_rng(3))
    orders = [tuple(permutation(source, 4).tolist()) for _ in range(6000)]
    assert not _unlike_uniform(orders, 24)
    unrepaired = [
        tuple(np.argsort(source.words(4, np.uint16), kind="stable").tolist()) for _ in range(6000)
    ]
    assert _unlike_uniform(unrepaired, 24) is (kind is Coarse)


def test_every_order_of_rows_that_do_not_fit_into_memory_is_equally_likely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rejects a program that shuffles pieces and does not mix them, or mixes them and does not
    permute the buckets.
    """
    monkeypatch.setattr(_shuffle, "_ROWS", 2)
    monkeypatch.setattr(_shuffle, "_PERMUTED", 2)
    monkeypatch.setattr(_shuffle, "_BUCKETS", 4)
    source = Source(np.random.default_rng(5))
    orders = []
    for _ in range(2400):
        rows = Shuffle(1, source, str(tmp_path))
        for i in range(4):
            rows.add(np.array([[i]], dtype=np.uint8))
        orders.append(tuple(np.concatenate(list(rows.shuffled())).ravel().tolist()))
        rows.close()
    assert not _unlike_uniform(orders, 24)
    assert not list(tmp_path.iterdir())
    pieces = [
        tuple(p.tolist())
        for p in (
            np.concatenate([permutation(source, 2), 2 + permutation(source, 2)]) for _ in orders
        )
    ]
    assert _unlike_uniform(pieces, 24)


def _sorted_people() -> dict[str, Reports]:
    """2,000 people in the order of their answers, which these reports show, twice each."""
    plain = warner.RandomizedResponse(warner.Integers(0, 1999), float("inf"))
    return {name: plain.randomize(list(range(2000))) for name in ("a", "b")}


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
@pytest.mark.parametrize("rows", [300, 2**21])
def test_people_are_written_in_random_order_each_with_all_her_reports(
    here: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, rows: int
) -> None:
    monkeypatch.setattr(_shuffle, "_ROWS", rows)
    path, people = f"r.{suffix}", _sorted_people()
    mechanisms = open_mechanisms(people)
    write_reports(people, path)
    first = read_reports(path)["a"].columns["report"]
    with ReportWriter(path, mechanisms) as writer:
        for start in range(0, 2000, 77):
            writer.write({name: r[start : start + 77] for name, r in people.items()})
    a, b = (read_reports(path)[name].columns["report"] for name in ("a", "b"))
    assert (a == b).all() and sorted(a.tolist()) == list(range(2000)) == sorted(first.tolist())
    for order in (a, first):
        # In a random order half of all neighbours ascend, give or take 13 (one standard deviation).
        assert abs(int((np.diff(order.astype(int)) > 0).sum()) - 1000) < 100
    assert (a != first).any()
    write_reports(people, path, keep_order=True)
    assert read_reports(path)["a"].columns["report"].tolist() == list(range(2000))


def open_mechanisms(people: dict[str, Reports]) -> dict[str, warner.mechanisms.Mechanism]:
    return {
        name: warner.RandomizedResponse(warner.Integers(0, 1999), float("inf")) for name in people
    }


def test_saved_reports_are_in_random_order_unless_asked(here: Path) -> None:
    reports = _sorted_people()["a"]
    reports.save("r.warner")
    for copy in (Reports.load("r.warner"), Reports.from_bytes(reports.to_bytes())):
        order = copy.columns["report"].astype(int)
        assert sorted(order.tolist()) == list(range(2000))
        assert abs(int((np.diff(order) > 0).sum()) - 1000) < 100
    reports.save("r.warner", keep_order=True)
    assert Reports.load("r.warner").columns["report"].tolist() == list(range(2000))


def test_the_command_line_keeps_the_order_only_where_asked(here: Path) -> None:
    text = "q\n" + "no\n" * 1000 + "yes\n" * 1000
    Path("a.csv").write_text(text)
    kept = run("randomize", "one.toml", "a.csv", "--keep-order").stdout.splitlines()[2:-1]
    drawn = run("randomize", "one.toml", "a.csv").stdout.splitlines()[2:-1]
    assert kept == ["1"] * 1000 + ["2"] * 1000 and sorted(drawn) == kept
    assert 350 < drawn[:1000].count("1") < 650
    again = [run("randomize", "one.toml", "a.csv", "--seed", "3").stdout for _ in range(2)]
    assert again[0] == again[1]
    assert "who answered what" in run("randomize", "--help").stdout


def test_an_error_leaves_no_temporary_file(here: Path, small: None) -> None:
    before = sorted(p.name for p in here.iterdir())
    text = "q\n" + "no\n" * 4000 + "other\n"
    for output in ("r.parquet", "r.csv"):
        assert (
            "data row 4001"
            in run("randomize", "one.toml", "-o", output, text=text, ok=False).stderr
        )
    assert sorted(p.name for p in here.iterdir()) == before


# Simulations


COIN = warner.RandomizedResponse(warner.Integers(0, 2), 1.0)


def _simulated() -> Reports:
    return COIN.randomize([0, 1, 2, 1] * 50, np.random.default_rng(1))


def test_simulated_reports_keep_their_mark_wherever_they_go(here: Path) -> None:
    real, simulated = COIN.randomize([0, 1, 2, 1] * 50), _simulated()
    for reports, mark in ((real, False), (simulated, True), (COIN.reports([0, 1]), False)):
        assert reports.simulated is mark and reports[:1].simulated is mark
        assert Reports.from_bytes(reports.to_bytes()).simulated is mark
        reports.save("r.warner")
        rows_per_report = [reports, Reports.load("r.warner")]
        for suffix in ("csv", "parquet"):
            write_reports(reports, f"r.{suffix}")
            assert open_reports(f"r.{suffix}").simulation is mark
            rows_per_report.append(read_reports(f"r.{suffix}")["value"])
            write_reports(rows_per_report[-1], f"again.{suffix}")
            rows_per_report.append(read_reports(f"again.{suffix}")["value"])
            tally = tally_file(f"again.{suffix}")["value"]
            assert tally.simulated is mark
        for copy in rows_per_report:
            assert copy.simulated is mark
            tally = COIN.tally(copy)
            tally.save("t.json")
            loaded = warner.Tally.load("t.json")
            assert (
                loaded == tally and loaded.simulated is mark and (loaded + tally).simulated is mark
            )
            assert ("simulated" in tally.to_json()) is mark
            assert warner.estimate([loaded, tally]).to_json().get("simulated", False) is mark
    assert "simulated" in repr(simulated) and "simulated" not in repr(real)


def test_every_mechanism_marks_what_a_generator_made() -> None:
    rng = np.random.default_rng(2)
    pairs = warner.KeyValue(warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0)
    several = warner.PerAttribute(warner.Product(x=warner.Integers(0, 2)), {"x": COIN})
    bits = warner.UnaryEncoding(warner.Integers(0, 2), 1.0)
    for mechanism, answers in (
        (pairs, {"key": ["a"], "value": [0.5]}),
        (several, [{"x": 1}]),
        (warner.Repeated(COIN, 2), [1]),
        (bits, [1]),
    ):
        assert (
            mechanism.randomize(answers, rng).simulated
            and not mechanism.randomize(answers).simulated
        )
        assert mechanism.tally(mechanism.randomize(answers, rng)).simulated
        assert not mechanism.tally(mechanism.randomize(answers)).simulated
    assert bits.tally(bits.randomize([1], rng), keep_reports=True).simulated
    law = warner.UtilityOptimizedRR(warner.Categorical(["a", "b", "c"]), 1.0, ["a"])
    device = warner.Personalized(law, ["home"]).device({"home": ["b"]})
    assert device.randomize(["b"], rng).simulated and not device.randomize(["b"]).simulated


def test_tallies_of_real_reports_are_written_as_before() -> None:
    tally = COIN.tally(COIN.reports([0, 1, 2, 2]))
    data = tally.to_json()
    assert list(data) == ["header", "kind", "shape", "counts", "n", "sha256"]
    text = (
        canonical([COIN.header, "histogram", [3], 4]).encode()
        + np.array([1, 1, 2], "<i8").tobytes()
    )
    assert data["sha256"] == hashlib.sha256(text).hexdigest()
    forged = {**data, "simulated": True}
    with pytest.raises(warner.errors.FileError, match="checksum"):
        warner.Tally.from_json(forged)
    stripped = COIN.tally(_simulated()).to_json()
    del stripped["simulated"]
    with pytest.raises(warner.errors.FileError, match="checksum"):
        warner.Tally.from_json(stripped)


def test_real_and_simulated_reports_do_not_mix_unsaid(here: Path) -> None:
    real, simulated = COIN.randomize([0, 1]), _simulated()
    with pytest.raises(warner.errors.MismatchError, match=r"real and of simulated.*marked"):
        COIN.tally(real) + COIN.tally(simulated)
    with pytest.raises(warner.errors.MismatchError, match="real and of simulated"):
        other = warner.RandomizedResponse(warner.Integers(0, 2), 2.0)
        warner.estimate([COIN.tally(simulated), other.tally(other.randomize([1]))])
    assert (COIN.tally(real).marked() + COIN.tally(simulated)).simulated
    with pytest.raises(warner.errors.MismatchError, match="simulation=True"):
        write_reports({"a": real, "b": simulated[:2]}, "r.csv")
    with (
        pytest.raises(warner.errors.MismatchError, match="simulation=True"),
        ReportWriter("r.csv", {"a": COIN}) as writer,
    ):
        writer.write({"a": simulated})
        writer.write({"a": real})
    assert not Path("r.csv").exists()
    write_reports({"a": real, "b": simulated[:2]}, "r.csv", simulation=True)
    assert open_reports("r.csv").simulation


def test_the_commands_do_not_vouch_for_simulated_reports(here: Path) -> None:
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 100)
    Path("coin.toml").write_text(ONE.replace("inf", "1.0"))
    run("randomize", "coin.toml", "a.csv", "-o", "real.csv")
    run("randomize", "coin.toml", "a.csv", "-o", "sim.parquet", "--seed", "1")
    for name in ("real.csv", "sim.parquet"):
        run("tally", name, "-o", f"{name}.json")
    for file in ("sim.parquet", "sim.parquet.json"):
        result = run("audit", file, ok=False)
        assert "NO: the reports are simulated" in result.stdout
        assert json.loads(run("audit", file, "--json", ok=False).stdout)["q"]["holds"] is False
        assert "reports of a simulation" in run("estimate", file).stderr
    assert (
        " yes " in run("audit", "real.csv").stdout and " yes " in run("audit", "coin.toml").stdout
    )
    assert "simulation" not in run("estimate", "real.csv.json").stderr
    for command in (
        ("merge", "real.csv.json", "sim.parquet.json"),
        ("tally", "real.csv", "sim.parquet"),
    ):
        assert "--allow-simulated" in run(*command, "-o", "all.json", ok=False).stderr
        assert not Path("all.json").exists()
        run(*command, "-o", "all.json", "--allow-simulated")
        assert warner.Tally.load("all.json").simulated and warner.Tally.load("all.json").n == 400
        Path("all.json").unlink()


# Raw answers


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_an_empty_line_is_an_empty_cell(here: Path, end: str, last: str) -> None:
    text = end.join(["yes", "", "", "no", ""]) + ("" if not last else end)
    found = ["yes", "", "", "no"] + ([""] if last else [])
    domains = {"q": warner.Categorical(["", "no", "yes"])}
    for bare in (True, False):
        Path("a.csv").write_bytes((text if bare else "q" + end + text).encode())
        (batch,) = read_values("a.csv", domains, bare)
        assert [domains["q"].labels[i] for i in batch["q"]] == found
    run("randomize", "one.toml", "a.csv", "-o", "r.csv")
    assert tally_file("r.csv")["q"].counts.tolist() == [found.count(""), 1, 1]
    with pytest.raises(warner.errors.ValuesError, match=r"data row 2: .* got an empty cell"):
        list(read_values("a.csv", {"q": warner.Categorical(["no", "yes"])}))
    with pytest.raises(warner.errors.ValuesError, match=r"data row 2: .* got an empty cell"):
        list(read_values("a.csv", {"q": warner.Categorical(["yes", "NO"])}))


def test_an_empty_line_among_several_columns_is_a_row_of_empty_cells(here: Path) -> None:
    Path("a.csv").write_text("smokes,age\nno,3\n\nno,4\n")
    with pytest.raises(warner.errors.ValuesError, match=r"data row 2: .* got an empty cell"):
        list(read_values("a.csv", Study.load("study.toml").mechanisms))


def test_a_column_that_stands_twice_is_refused(here: Path) -> None:
    for head in ("smokes,age,smokes", '"smokes",age,x,smokes', "\ufeffsmokes,age,smokes"):
        Path("a.csv").write_text(
            head + "\n" + ",".join(["no", "3", "no", "no"][: head.count(",") + 1]) + "\n"
        )
        assert (
            "column 'smokes': occurs twice"
            in run("randomize", "study.toml", "a.csv", ok=False).stderr
        )
        assert (
            "column 'smokes': occurs twice"
            in run("randomize", "study.toml", text=Path("a.csv").read_text(), ok=False).stderr
        )
    Path("a.csv").write_text("smokes,other,age,other\nno,1,3,2\n")
    run("randomize", "study.toml", "a.csv")
    table = pa.Table.from_arrays(
        [pa.array(["no"]), pa.array([3]), pa.array(["no"])], names=["smokes", "age", "smokes"]
    )
    pq.write_table(table, "a.parquet")
    assert (
        "column 'smokes': occurs twice"
        in run("randomize", "study.toml", "a.parquet", ok=False).stderr
    )


def test_long_files_and_pipes_are_read_alike(here: Path, small: None) -> None:
    Path("a.csv").write_text("q\n" + "no\nyes\n" * 20_000)
    domains = {"q": warner.Categorical(["no", "yes"])}
    with open("a.csv", "rb") as file:
        whole = [
            np.concatenate([batch["q"] for batch in read_values(source, domains)])
            for source in ("a.csv", file)
        ]
    assert all(part.tolist() == [0, 1] * 20_000 for part in whole)


# Files that are replaced


def test_standard_input_is_not_replaced(here: Path) -> None:
    Path("same.csv").write_text("q\nno\nyes\n")
    code = "from warner.app.cli import main; main()"
    with open("same.csv") as answers:
        command = [sys.executable, "-c", code, "randomize", "one.toml", "-", "-o", "same.csv"]
        done = subprocess.run(command, stdin=answers, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "must not be one of the inputs" in done.stderr
    assert Path("same.csv").read_text() == "q\nno\nyes\n"


def test_two_results_do_not_go_to_one_file(here: Path) -> None:
    COIN.tally(COIN.randomize([0, 1, 2] * 30)).save("t.json")
    for second in ("z", "./z"):
        assert (
            "--json and --csv"
            in run("estimate", "t.json", "--json", "z", "--csv", second, ok=False).stderr
        )
    assert (
        "--csv and --plot"
        in run("estimate", "t.json", "--csv", "z.svg", "--plot", "z.svg", ok=False).stderr
    )
    assert not Path("z").exists()
    run("estimate", "t.json", "--json", "/dev/null", "--csv", "/dev/null")


def test_content_reaches_the_disk_before_the_name_does(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def kind(handle: int) -> str:
        return "folder" if os.path.samestat(os.fstat(handle), os.stat(here)) else "file"

    synced, replaced = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(kind(handle)), synced(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("rename"), replaced(a, b)))
    write_whole("x", b"content")
    write_reports(COIN.randomize([0, 1]), "r.parquet")
    assert done == ["file", "rename", "folder"] * 2
