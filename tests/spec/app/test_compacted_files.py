"""Files whose reports stand in other files too, as where small files were written as a large one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spec.app._command import run
from tests.spec.app._lakes import STUDY, lake, rows, tally
from warner import Categorical, RandomizedResponse, UnaryEncoding
from warner._core.errors import ArgumentError
from warner.app.what_files_hold import refuse_equal
from warner.reports.sums_of_others import SumsOfFiles
from warner.reports.tally import AND_OTHERS, dump_tallies, merge, parse_tallies

_ = lake
_RNG = np.random.default_rng(36)


def _write(path: str, parts: list[pa.Table]) -> None:
    """Write rows in another order than they had."""
    whole = pa.concat_tables(parts)
    pq.write_table(whole.take(_RNG.permutation(len(whole))), path)


def _parts(many: int, of: int = 2000) -> list[pa.Table]:
    """Write the parts of a day into the folder lake, beside the two files of few people."""
    parts = [rows(of + 2 * i) for i in range(many)]
    for i, part in enumerate(parts):
        pq.write_table(part, f"lake/part-{i:02}.parquet")
    return parts


@pytest.mark.parametrize("options", [(), ("--by", "ward"), ("--of-this-study",)])
def test_a_file_that_was_compacted_is_not_counted_beside_its_parts(
    lake: Path, options: tuple[str, ...]
) -> None:
    """Rejects a comparison of files one with one, and one of the sum of all others alone."""
    parts = _parts(4)
    for those in ([0, 1, 2, 3], [0, 2, 3]):
        _write("lake/compact.parquet", [parts[i] for i in those])
        done = tally("lake", *options, ok=False)
        names = ", ".join(f"lake/part-{i:02}.parquet" for i in those[:3])
        names += ", and 1 more" * (len(those) > 3)
        said = f"lake/compact.parquet, with the same counts as {len(those)} others together:"
        assert (
            f"{said} {names}: must not be counted twice. Leave out lake/compact.parquet or the"
            in done.stderr
        )
        assert not Path("t.json").exists()
    tally("lake", *options, "--allow-equal")
    Path("lake/compact.parquet").unlink()
    tally("lake", *options)


@pytest.mark.parametrize(
    "arguments", [["lake"], ["lake/0.parquet", "lake/1.parquet", "lake/z.parquet"]]
)
def test_counts_that_are_hardly_chance_are_named_once(lake: Path, arguments: list[str]) -> None:
    """Rejects the silence on a compacted file of one question, whose counts can be chance."""
    study = '[attributes.smokes]\nvalues = ["no", "yes", "often"]\nmechanism = "RandomizedResponse"'
    Path("study.toml").write_text(f"{study}\nepsilon = 1.0\n")
    for path in Path("lake").iterdir():
        path.unlink()
    parts = [rows(12000), rows(12002)]
    for i, part in enumerate(parts):
        pq.write_table(part, f"lake/{i}.parquet")
    assert "counted twice" not in tally(*arguments[:2]).stderr
    _write("lake/z.parquet", parts)
    done = tally(*arguments)
    twice = (
        "counted twice: lake/z.parquet, with the same counts as 2 others together: lake/0.parquet"
    )
    assert done.stderr.count(twice) == 1 and "fewer than 1 of 1,000 cases" in done.stderr
    assert "counted twice" not in tally(*arguments, "--allow-equal").stderr
    _write("lake/1.parquet", parts[:1])
    Path("lake/z.parquet").unlink()
    assert "lake/0.parquet and lake/1.parquet have equal counts, and" in tally("lake").stderr


def _two_questions(files_of: int) -> dict[tuple[str, str], pa.Table]:
    """Write a study of few values, and a file of each day and region into folders, as engines do."""
    study = """
[public.region]
values = ["north", "south", "east", "west"]
[public.day]
dates = "week"
"""
    for name, values in (("smokes", ["no", "yes", "often"]), ("owns", ["no", "yes"])):
        study += f'[attributes.{name}]\nvalues = {values}\nmechanism = "RandomizedResponse"\n'
        study += "epsilon = 1.0\n"
    Path("study.toml").write_text(study)
    for path in Path("lake").iterdir():
        path.unlink()
    parts = {}
    for day in ("2026-11-02", "2026-11-09"):
        for i, region in enumerate(("north", "south", "east", "west")):
            n = files_of + 11 * i
            columns = {
                f"{q}_report": _RNG.integers(0, k, n) for q, k in (("smokes", 3), ("owns", 2))
            }
            parts[day, region] = pa.table({**columns, "day": [day] * n, "region": [region] * n})
            folder = Path(f"lake/day={day}/region={region}")
            folder.mkdir(parents=True)
            pq.write_table(parts[day, region], folder / "part-0.parquet")
    return parts


def test_all_groups_together_tell_a_compacted_file_that_no_group_tells(lake: Path) -> None:
    """Rejects a bound of the least likely group alone: each file has one, and equal by chance."""
    parts = _two_questions(4000)
    tally("lake", "--by", "region,day", "--of-this-study")
    _write("lake/compact.parquet", list(parts.values()))
    done = tally("lake", "--by", "region,day", "--of-this-study", ok=False)
    said = "lake/compact.parquet, with the same counts as 8 others together: lake/day=2026-11-02/"
    assert said in done.stderr
    assert (
        "part-0.parquet, and 5 more: must not be counted twice. Leave out lake/compact.parquet or the 8 o"
        in done.stderr
    )
    tally("lake", "--by", "region,day", "--of-this-study", "--allow-equal")
    # Nor are the files of one region told alone, of which there are two.
    Path("lake/compact.parquet").unlink()
    night = ("--by", "region,day", "--of-this-study", "--checkpoint", "c.jsonl")
    tally("lake", *night)
    for region in ("north", "south", "east", "west"):
        _write(f"lake/{region}.parquet", [of for key, of in parts.items() if key[1] == region])
    assert "must not be counted twice" in tally("lake", *night, ok=False).stderr


def test_a_compacted_file_is_known_among_many(lake: Path) -> None:
    """Rejects runs of files that end where the compacted one stands between its parts."""
    parts = _parts(16, 3000)
    _write("lake/part-07b.parquet", parts[3:12])
    done = tally("lake", "--checkpoint", "c.jsonl", ok=False)
    assert "lake/part-07b.parquet, with the same counts as 9 others together" in done.stderr
    Path("lake/part-07b.parquet").unlink()
    tally("lake", "--checkpoint", "c.jsonl")  # which has no line of the file that was refused


def test_reports_of_all_files_that_stand_in_others_too_make_even_sums(lake: Path) -> None:
    """Rejects a test of each file alone: no file, and no sum of files in order, has a twin."""
    values = [str(i) for i in range(60)]
    study = f'[attributes.code]\nvalues = {values}\nmechanism = "RandomizedResponse"\n'
    Path("study.toml").write_text(f"{study}epsilon = 1.0\n")
    codes = _RNG.integers(0, 60, 20000)
    cuts = np.sort(_RNG.choice(range(1, 20000), (2, 8), replace=False), axis=1)
    for again, cut in enumerate(cuts):
        for i, part in enumerate(np.split(_RNG.permutation(codes), cut)):
            pq.write_table(pa.table({"code_report": part}), f"lake/{i}-{again}.parquet")
    for name in ("a", "b"):
        Path(f"lake/{name}.parquet").unlink()
    done = tally("lake", ok=False)
    assert "lake: seems to hold each report twice, because all counts are even" in done.stderr
    tally("lake", "--allow-equal")


def test_a_sum_is_not_merged_with_the_tallies_that_it_is_a_sum_of(lake: Path) -> None:
    """Rejects a merge that compares tallies one with one."""
    for i, part in enumerate((rows(2000), rows(3000))):
        pq.write_table(part, f"{i}.parquet")
        run("tally", f"{i}.parquet", "--study", "study.toml", "-o", f"{i}.json")
    run("tally", "0.parquet", "1.parquet", "--study", "study.toml", "-o", "sum.json")
    said = "sum.json, with the same counts as 2 others together: 0.json, 1.json"
    for command in ("merge", "estimate"):
        done = run(command, "sum.json", "0.json", "1.json", "-o", "x.json", ok=False)
        assert said in done.stderr and not Path("x.json").exists()


def _yes_or_no(*paths: str) -> None:
    """Files of a question of two values: two of them have equal counts now and then by chance."""
    values = '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
    Path("study.toml").write_text(f"{values}epsilon = 1.0\n")
    for i, path in enumerate(paths):
        answers = _RNG.integers(0, 2, 100 + i)
        pq.write_table(pa.table({"smokes_report": answers}), f"{path}.parquet")
        tally(f"{path}.parquet")
        Path("t.json").rename(f"{path}.json")


def test_a_running_total_knows_the_files_that_it_holds(lake: Path) -> None:
    """Rejects a merge that knows a part of a sum only by its counts, or by the name of a file."""
    _yes_or_no("w36", "w37", "w38")
    run("merge", "w36.json", "w37.json", "-o", "u.json")
    run("tally", "w37.parquet", "--study", "study.toml", "--allow-equal", "-o", "again.json")
    for later in ("w37", "again"):
        for command in ("merge", "estimate"):
            done = run(command, "u.json", f"{later}.json", ok=False)
            said = f"u.json and {later}.json, which have the reports of 1 file in common: must not be counted twice. Leave"
            assert (
                f"{said} {later}.json out. If their reports are from different people, add --allow-equal"
                in done.stderr
            )
    run("merge", "w37.json", "w38.json", "-o", "v.json")
    done = run("merge", "u.json", "v.json", ok=False)
    assert (
        "have the reports of 1 file in common: must not be counted twice. Count all files in one run. If their reports are from"
        in done.stderr
    )
    run("merge", "u.json", "w38.json", "-o", "all.json")
    done = run("merge", "all.json", "v.json", ok=False)
    assert (
        "have the reports of 2 files in common: must not be counted twice. Leave v.json out"
        in done.stderr
    )
    run("merge", "u.json", "w37.json", "--allow-equal")


def test_columns_and_rounds_of_one_file_are_of_different_reports(lake: Path) -> None:
    """Rejects a fingerprint of the file alone: it can hold the answers of two days."""
    _yes_or_no("one")
    days = pa.table({f"day{i}": _RNG.integers(0, 2, 60) for i in (1, 2)})
    pq.write_table(days, "days.parquet")
    for i in (1, 2):
        tally("days.parquet", "--column", f"smokes=day{i}")
        Path("t.json").rename(f"{i}.json")
    run("merge", "1.json", "2.json", "--reports-per-person", "2", "-o", "both.json")


def test_other_questions_of_one_file_are_not_said_to_be_counted_twice(lake: Path) -> None:
    """Rejects a comparison of fingerprints alone: the remedy would leave out a question."""
    for i, without in enumerate(("smokes", "item")):
        study = STUDY.partition("[attributes.smokes]")
        item = study[2].partition("[attributes.item]")
        rest = f"{item[1]}{item[2]}" if without == "smokes" else f"{study[1]}{item[0]}"
        Path("study.toml").write_text(study[0] + rest)
        tally("lake/a.parquet")
        Path("t.json").rename(f"{i}.json")
    for command in ("merge", "estimate"):
        said = run(command, "0.json", "1.json", ok=False).stderr
        assert "must be about the same questions" in said


def test_a_tally_without_files_is_known_by_counts_that_are_no_chance(lake: Path) -> None:
    """Rejects fingerprints of files alone: results of a database are added to totals too."""
    digits = RandomizedResponse(Categorical(range(40)), 1.0)
    for name in "ab":
        digits.tally(digits.reports(_RNG.integers(0, 40, 5000))).save(f"{name}.json")
    run("merge", "a.json", "b.json", "-o", "u.json")
    assert "u.json and b.json, which have the" in run("merge", "u.json", "b.json", ok=False).stderr


def test_sums_that_are_equal_by_chance_are_no_copies() -> None:
    """Rejects a test that takes each equal sum for a copy: many small files have such sums."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    for many in (12, 60):
        sums = SumsOfFiles()
        for i in range(many):
            sums.add(str(i), {"smokes": coin.tally(coin.reports(_RNG.integers(0, 2, 40)))})
        assert sums.equal(1e-9) is None and sums.equal(1e9) is not None


def test_all_groups_are_equal_by_chance_no_more_often_than_is_said() -> None:
    """Rejects a comparison of one group that takes the chance of both: of 500, 45 are equal."""
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    rng = np.random.default_rng(37)
    equal, most, draws = 0, 0.06, 500
    for _draw in range(draws):
        sums = SumsOfFiles()
        for name, n in (("a", 20), ("b", 20), ("c", 40)):
            reports = coin.reports(rng.integers(0, 2, 2 * n))
            sums.add(name, {"smokes": coin.tally(reports, by={"ward": ["x", "y"] * n})})
        equal += sums.equal(most) is not None
    assert 0 < equal < most * draws


def test_sums_of_bits_and_of_several_questions_are_compared() -> None:
    """Rejects the chance of the least likely question alone: ten coins are no chance together."""
    coin = RandomizedResponse(Categorical(range(2)), 1.0)
    bits = UnaryEncoding(Categorical(range(20)), 1.0)
    for mechanism, questions in ((coin, "abcdefghij"), (bits, "a")):
        sums = SumsOfFiles()
        codes = {q: mechanism.randomize(_RNG.integers(0, 2, 3000)) for q in questions}
        for name, those in (("x", slice(1000)), ("y", slice(1000, None)), ("z", slice(None))):
            sums.add(name, {q: mechanism.tally(of[those]) for q, of in codes.items()})
        equal = sums.equal(1e-9)
        assert equal is not None and (equal.few, equal.many) == (["z"], ["x", "y"])


def test_few_people_who_report_the_same_are_no_file_that_was_counted(lake: Path) -> None:
    """Rejects a fingerprint of each file: three people say yes, no, yes again on another day."""
    _yes_or_no("w36", "w37")
    few = pa.table({"smokes_report": [1, 0, 1]})
    for name in ("monday", "tuesday"):
        pq.write_table(few, f"{name}.parquet")
        tally(f"{name}.parquet")
        Path("t.json").rename(f"{name}.json")
    both = tally("monday.parquet", "tuesday.parquet", ok=False)
    assert (
        "monday.parquet, and would be counted twice. Leave out one of the two files. If they"
        in both.stderr
    )
    tally("monday.parquet", "tuesday.parquet", "--allow-equal")
    run("merge", "w36.json", "monday.json", "-o", "u.json")
    run("merge", "u.json", "tuesday.json", "-o", "v.json")
    run("merge", "w37.json", "w36.json", "-o", "w.json")
    # u.json knows of w36.json alone, and is no part of w.json.
    done = run("merge", "u.json", "w.json", ok=False)
    assert (
        "have the reports of at least 1 file in common: must not be counted twice. Count all files in one run. If their reports"
        in done.stderr
    )


def test_a_sum_of_more_files_than_it_remembers_is_no_part_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects a list of files that begins anew when it is full: a sum of few would hold it."""
    monkeypatch.setattr("warner.reports.tally._MOST_FILES", 1000)
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    one = coin.tally(coin.reports([0, 1]))
    total = merge(one.of_others().of_files([f"{i:032x}"]) for i in range(1500))
    late = merge(one.of_others().of_files([f"{i:032x}"]) for i in range(900, 1500))
    assert len(total.files) == 1001 and AND_OTHERS in total.files
    for first, second in ((total, late), (late, total), (total, one)):
        assert AND_OTHERS in (first + second.of_others()).files
    with pytest.raises(
        ArgumentError,
        match=r"of at least 100 files in common: must not be counted twice. Count all files in one run. If their reports are from",
    ):
        refuse_equal({"total": {"a": total}, "late": {"a": late}}, False)
    assert parse_tallies(dump_tallies({"a": total}).encode(), "t")["a"].files == total.files
