"""Several reports of one person: what is asked, refused, kept and estimated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import warner
from tests.registry import COMBINED, PER_ATTRIBUTE
from tests.spec.test_house import BLOCK, _fresh
from warner import (
    Categorical,
    Integers,
    Interval,
    PerAttribute,
    Product,
    RandomizedResponse,
    Repeated,
    UnaryEncoding,
    estimate,
)
from warner.app.cli import main
from warner.io import read_reports, tally_file, write_reports
from warner.mechanisms import Mechanism
from warner.reports.tally import Tally, load_tallies
from warner.reports.tally_kinds import DistinctReports, Histogram, MarginalTables, tally_kind

SEX, AGE = Categorical(["f", "m"]), Integers(0, 3)
BOTH = Product(sex=SEX, age=AGE)


def _survey(epsilon: float = 2.0) -> PerAttribute:
    return PerAttribute(
        BOTH,
        {
            "sex": lambda d: RandomizedResponse(d, epsilon),
            "age": lambda d: UnaryEncoding(d, epsilon),
        },
    )


def _tally(survey: PerAttribute, n: int = 2000, **how: Any) -> Tally:
    rng = np.random.default_rng(n)
    return survey.tally(
        survey.randomize(survey.domain.decode(rng.integers(0, survey.domain.size, n)), rng), **how
    )


@pytest.mark.parametrize(
    "mechanisms, match",
    [
        ({"sex": RandomizedResponse(SEX, 1.0)}, "has none for 'age'"),
        (
            {
                "sex": RandomizedResponse(SEX, 1.0),
                "age": RandomizedResponse(AGE, 1.0),
                "place": RandomizedResponse(AGE, 1.0),
            },
            "'place'",
        ),
        ({"sex": RandomizedResponse(SEX, 1.0), "age": RandomizedResponse(SEX, 1.0)}, "own domain"),
        ({"sex": RandomizedResponse(SEX, 1.0), "age": 3}, "must be a mechanism"),
        ({"sex": RandomizedResponse(SEX, 1.0), "age": lambda d: d}, "must be a mechanism"),
        (
            {"sex": RandomizedResponse(SEX, 1.0), "age": Repeated(UnaryEncoding(AGE, 1.0), 2)},
            "several reports of bits",
        ),
        ([RandomizedResponse(SEX, 1.0)], "must be a dict"),
        (None, "must be a dict"),
    ],
)
def test_mechanisms_that_do_not_fit_the_attributes_are_refused(mechanisms: Any, match: str) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError, warner.errors.MismatchError),
        match=match,
    ):
        PerAttribute(BOTH, mechanisms)


def test_only_a_product_has_attributes() -> None:
    with pytest.raises(warner.errors.ArgumentTypeError, match="Product"):
        PerAttribute(SEX, {"sex": RandomizedResponse(SEX, 1.0)})  # type: ignore[arg-type]


def test_names_that_make_one_column_twice_are_refused() -> None:
    inner = Repeated(RandomizedResponse(AGE, 1.0), 2)
    product = Product(**{"a": AGE, "a.1": AGE})
    with pytest.raises(warner.errors.ArgumentError, match="two columns of one name"):
        PerAttribute(product, {"a": inner, "a.1": RandomizedResponse(AGE, 1.0)})
    either_case = PerAttribute(
        Product(a=AGE, A=AGE), dict.fromkeys(("a", "A"), RandomizedResponse(AGE, 1.0))
    )
    with pytest.raises(warner.errors.ArgumentError, match="upper and lower case"):
        write_reports(either_case.randomize([{"a": 1, "A": 2}]), "never.parquet")


@pytest.mark.parametrize(
    "values",
    [
        [{"sex": "f"}],
        [{"sex": "f", "age": 1}, {"sex": "m"}],
        [{"sex": "f", "age": None}],
        [{"sex": "f", "age": 4}],
        [{"sex": "f", "age": 1, "more": 0}],
        {"sex": ["f", "m"]},
        {"sex": ["f", "m"], "age": [1]},
        {"sex": [], "age": []},
        [],
        ["f"],
        "f",
        None,
        3,
    ],
    ids=repr,
)
def test_answers_that_are_not_whole_are_refused_and_nothing_is_sent(values: Any) -> None:
    with pytest.raises(
        (warner.errors.ArgumentError, warner.errors.ArgumentTypeError, warner.errors.EmptyError)
    ):
        _survey().randomize(values)


def test_a_refused_answer_is_named_by_attribute_and_position_never_by_value() -> None:
    with pytest.raises(warner.errors.ValuesError, match="sex: position 1") as caught:
        _survey().randomize([{"sex": "f", "age": 1}, {"sex": "a-secret-7391", "age": 1}])
    assert (
        "7391"
        not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__} {vars(caught.value)}"
    )


def test_lists_dicts_and_frames_are_the_same_answers() -> None:
    import polars as pl
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"sex": ["f", "m", "f"], "age": [0, 3, 2]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    survey = _survey()
    given = (columns, rows, pl.DataFrame(columns), pa.table(columns))
    found = {survey.randomize(v, np.random.default_rng(1)).to_bytes(keep_order=True) for v in given}
    assert len(found) == 1


def test_numbers_reach_their_mechanism_and_not_their_bins() -> None:
    """The mutant that encodes first would make all numbers of a bin alike: then windows start at
    the same cells.
    """
    domain = Interval(0.0, 1.0, 2)
    survey = PerAttribute(
        Product(sex=SEX, x=domain),
        {"sex": RandomizedResponse(SEX, 1.0), "x": warner.SquareWave(domain, 4.0, cells=64)},
    )
    n = 4000
    means = [
        survey.randomize({"sex": ["f"] * n, "x": [x] * n}, np.random.default_rng(0))
        .columns["x.report"]
        .mean()
        for x in (0.01, 0.49)
    ]  # one bin
    assert means[1] - means[0] > 5
    twice = Repeated(warner.SquareWave(domain, 4.0, cells=64), 2)
    means = [
        twice.randomize([x] * n, np.random.default_rng(0)).columns["2.report"].mean()
        for x in (0.01, 0.49)
    ]
    assert means[1] - means[0] > 5


def test_ways_out_of_range_are_refused_and_too_large_tables_politely() -> None:
    survey = _survey()
    for ways in (0, 3, -1):
        with pytest.raises(warner.errors.ArgumentError, match="ways"):
            _tally(survey, ways=ways)
    for bad in (1.0, True, "2"):
        with pytest.raises(warner.errors.ArgumentTypeError, match="ways"):
            _tally(survey, ways=bad)
    names = [f"q{i}" for i in range(9)]
    large = PerAttribute(
        Product(**dict.fromkeys(names, Integers(0, 99))),
        {k: lambda d: RandomizedResponse(d, 1.0) for k in names},
    )
    reports = large.randomize({k: [1, 2] for k in names})
    with pytest.raises(
        warner.errors.ArgumentError, match=r"all 9 attributes would have 1e\+18 counts.*ways=1 or 2"
    ):
        large.tally(reports)
    pairs = large.tally(reports, ways=2)
    assert (
        pairs.counts.size == 36 * 10_000
        and estimate(pairs, attributes=["q7", "q2"]).domain.size == 10_000
    )
    hashed = PerAttribute(
        BOTH,
        {
            "sex": lambda d: RandomizedResponse(d, 1.0),
            "age": lambda d: warner.LocalHashing(d, 1.0, buckets=512),
        },
    )
    with pytest.raises(
        warner.errors.ArgumentError,
        match="Tally 'age' in a tally of its own; 'age' has 33554432 different reports, and fewer seeds",
    ):
        hashed.tally(hashed.randomize([{"sex": "f", "age": 1}]))


def test_tallies_of_other_products_or_ways_do_not_add() -> None:
    ours, wider = (
        _survey(),
        PerAttribute(
            Product(sex=SEX, years=AGE),
            {"sex": RandomizedResponse(SEX, 2.0), "years": UnaryEncoding(AGE, 2.0)},
        ),
    )
    with pytest.raises(warner.errors.MismatchError, match="do not belong together"):
        _tally(ours) + _tally(wider)
    with pytest.raises(warner.errors.MismatchError, match="do not belong together"):
        ours.tally(wider.randomize([{"sex": "f", "years": 1}]))
    with pytest.raises(warner.errors.MismatchError, match="1-way and 2-way"):
        _tally(ours, ways=1) + _tally(ours, ways=2)
    with pytest.raises(warner.errors.MismatchError, match="different domains"):
        estimate([_tally(ours), _tally(wider)])


@pytest.mark.parametrize("attributes", [[], ["sex", "sex"], ["sex", "other"], [3]], ids=repr)
def test_attributes_that_are_not_there_are_refused(attributes: Any) -> None:
    with pytest.raises(warner.errors.ArgumentError, match="different names among sex, age"):
        estimate(_tally(_survey()), attributes=attributes)


def test_attributes_are_of_tuples_and_named_in_a_list() -> None:
    with pytest.raises(warner.errors.ArgumentTypeError, match="list of names"):
        estimate(_tally(_survey()), attributes="sex")  # type: ignore[arg-type]
    coin = RandomizedResponse(SEX, 1.0)
    with pytest.raises(warner.errors.ArgumentError, match="several"):
        estimate(coin.tally(coin.randomize(["f"])), attributes=["sex"])
    with pytest.raises(
        warner.errors.ArgumentError, match=r"can be 1 together of sex, age.*got all.*ways=2"
    ):
        estimate(_tally(_survey(), ways=1))


def test_attributes_come_in_the_order_asked() -> None:
    tally = _tally(_survey())
    a, b = (
        estimate(tally, warner.Inversion("project"), attributes=names)
        for names in (["sex", "age"], ["age", "sex"])
    )
    assert a.probabilities.reshape(2, 4) == pytest.approx(b.probabilities.reshape(4, 2).T)
    assert list(a.domain.attributes) == ["sex", "age"] and list(b.domain.attributes) == [
        "age",
        "sex",
    ]
    assert estimate(tally).domain == BOTH and estimate(tally, attributes=["age"]).domain == AGE


def test_tallies_of_several_budgets_are_estimated_together() -> None:
    parts = [_tally(_survey(1.0), 30_000), _tally(_survey(3.0), 30_000)]
    both = estimate(parts, warner.Inversion(), attributes=["age", "sex"])
    assert both.n == 60_000 and both.probabilities == pytest.approx(np.full(8, 1 / 8), abs=0.02)
    assert both.interval(kind="bootstrap", replicates=20, rng=np.random.default_rng(0)).shape == (
        8,
        2,
    )


def test_altered_tables_are_refused(tmp_path: Path) -> None:
    tally = _tally(_survey(), ways=2)
    for counts, n in (
        (tally.counts[:-1], tally.n),
        (-tally.counts, tally.n),
        (tally.counts, tally.n + 1),
        (tally.counts.reshape(1, -1), tally.n),
    ):
        with pytest.raises(warner.errors.MismatchError, match="does not fit"):
            estimate(Tally(tally.header, MarginalTables(2), counts, n))
    for kind in (MarginalTables(3), Histogram(), DistinctReports()):
        with pytest.raises((warner.errors.MismatchError, warner.errors.ArgumentTypeError)):
            estimate(Tally(tally.header, kind, tally.counts, tally.n))
    for name in ("0-way", "way", "-1-way", "2-way "):
        with pytest.raises(ValueError, match="kind"):
            tally_kind(name)
        with pytest.raises(warner.errors.FileError):
            Tally.from_json({**tally.to_json(), "kind": name})
    with pytest.raises(warner.errors.MismatchError):
        estimate(Tally(RandomizedResponse(SEX, 1.0).header, MarginalTables(1), np.array([1, 2]), 3))
    tally.save(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["schema"] == 2
    (tmp_path / "u.json").write_text(
        (tmp_path / "t.json").read_text().replace('"schema": 2', '"schema": 1')
    )
    with pytest.raises(warner.errors.FileError):
        Tally.load(tmp_path / "u.json")


@pytest.mark.parametrize(
    "change",
    [
        {"parts": []},
        {"parts": [["sex", {}]]},
        {"parts": 3},
        {},
        {"parts": [["sex", "x"], ["age", "y"]]},
    ],
    ids=repr,
)
def test_forged_parts_are_refused(change: Any) -> None:
    for mechanism in (_survey(), Repeated(RandomizedResponse(AGE, 1.0), 2)):
        with pytest.raises(warner.errors.MismatchError):
            warner.mechanisms.from_header({**mechanism.header, "parameters": change})


def test_ways_and_kept_reports_go_where_they_belong() -> None:
    repeated = Repeated(RandomizedResponse(AGE, 1.0), 2)
    reports = repeated.randomize([1, 2, 3])
    assert repeated.tally(reports, keep_reports=True) == repeated.tally(reports)
    with pytest.raises(warner.errors.ArgumentError, match="ways"):
        repeated.tally(reports, ways=1)
    survey = _survey()
    with pytest.raises(warner.errors.ArgumentError, match="keep_reports"):
        survey.tally(survey.randomize([{"sex": "f", "age": 1}]), keep_reports=True)


@pytest.mark.parametrize(
    "name", ["uRAP x OUE", "RR x OUE x OLH", "subsets x RR", "RR x SquareWave"]
)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_bootstrap_intervals_of_tuples_are_as_wide_as_walds(name: str, target: str) -> None:
    survey: Mechanism = COMBINED[name](3.0)
    rng = np.random.default_rng(1)
    tally = survey.tally(
        survey.randomize(survey.domain.decode(rng.integers(0, survey.domain.size, 3000)), rng)
    )
    found = estimate(tally, warner.Inversion(), attributes=list(PER_ATTRIBUTE[name](3.0).parts)[:2])
    wald, boot = (
        found.interval(target=target),
        found.interval(target=target, kind="bootstrap", replicates=100, rng=rng),
    )
    inside = (wald[:, 0] > 0) & (boot[:, 0] > 0)
    assert inside.any() and np.diff(boot, axis=1)[inside] == pytest.approx(
        np.diff(wald, axis=1)[inside], rel=0.5
    )


def test_clients_of_tuples_need_numpy_alone() -> None:
    code = """
import warner as w
a, b = w.Categorical(["n", "y"]), w.Integers(0, 9)
m = w.PerAttribute(w.Product(a=a, b=b), {"a": w.RandomizedResponse(a, 1.0), "b": w.Repeated(w.RandomizedResponse(b, 1.0), 2)})
for m, values in ((m, [{"a": "n", "b": 3}]), (w.Repeated(w.UnaryEncoding(b, 1.0), 2), [3])):
    m.tally(w.Reports.from_bytes(m.randomize(values).to_bytes()))
    print(m.epsilon > 1.9)
"""
    assert _fresh(BLOCK + code).split() == ["True", "True"]


def test_samples_find_parts_that_say_too_much() -> None:
    class Blunt(RandomizedResponse):
        """Says the truth to everyone who asks twice."""

        def _sample(self, index: np.ndarray, source: Any) -> dict[str, np.ndarray]:
            return {"report": index}

    assert warner.audit(_survey(), samples=20_000).holds
    worse = warner.audit(
        PerAttribute(BOTH, {"sex": Blunt(SEX, 1.0), "age": RandomizedResponse(AGE, 1.0)}),
        samples=20_000,
    )
    assert not worse.holds and "samples show" in str(worse.violation)
    names = [f"q{i}" for i in range(9)]
    sensitive_mask = PerAttribute(
        Product(**dict.fromkeys(names, AGE)),
        {k: lambda d: warner.UtilityOptimizedRR(d, 1.0, [0]) for k in names},
    )
    assert warner.audit(sensitive_mask).holds
    with pytest.raises(warner.errors.ArgumentError, match="one by one"):
        warner.audit(sensitive_mask, samples=1000)


# Files and the command line

STUDY = """
[attributes.sex]
values = ["f", "m"]
mechanism = "RandomizedResponse"
epsilon = 2.0
[attributes.age]
integers = [0, 3]
mechanism = "UnaryEncoding"
epsilon = 2.0
[attributes.x]
interval = { low = 0, high = 1, bins = 4 }
mechanism = "SquareWave"
cells = 32
epsilon = 2.0
"""


def test_a_studys_attributes_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def run(*args: str, ok: bool = True) -> str:
        result = CliRunner().invoke(main, list(args))
        assert (result.exit_code == 0) is ok and "Traceback" not in result.output, result.output
        return result.output

    Path("study.toml").write_text(STUDY)
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 4000)
    lines = [
        f"{'fm'[s]},{a},{x}\n"
        for s, a, x in zip(
            sex, np.where(sex, 3, rng.integers(0, 3, 4000)), rng.random(4000), strict=True
        )
    ]
    Path("a.csv").write_text("sex,age,x\n" + "".join(lines))
    for suffix in ("parquet", "csv"):
        run("randomize", "study.toml", "a.csv", "-o", f"r.{suffix}", "--seed", "1")
        run("tally", f"r.{suffix}", "--ways", "2", "-o", f"{suffix}.json", "--study", "study.toml")
    assert load_tallies("parquet.json") == load_tallies("csv.json") == tally_file("r.csv", ways=2)
    assert (
        warner.Study.load("study.toml").together.header == load_tallies("csv.json")["joint"].header
    )
    said = run("estimate", "csv.json", "--joint", "age,sex", "--json", "-")
    assert said.startswith("csv.json: these are reports of a simulation")
    shares = json.loads(said[said.index("[") :])[0]
    assert shares["attribute"] == "age x sex" and [v["value"] for v in shares["shares"]][:2] == [
        {"age": 0, "sex": "f"},
        {"age": 0, "sex": "m"},
    ]
    assert shares["shares"][-1]["estimate"] == pytest.approx(0.5, abs=0.06)
    assert (
        run("estimate", "csv.json", "--joint", "sex", "--joint", "age").count("4,000 reports") == 2
    )
    assert "3-way" not in run("estimate", "csv.json", ok=False) and "ways=3" in run(
        "estimate", "csv.json", ok=False
    )
    assert "sex x age" in run(
        "compare", "csv.json", "--joint", "sex,age", "--runs", "2", "-m", "project"
    )
    assert "PerAttribute" in run("audit", "csv.json", ok=False)  # of a simulation
    assert "--allow-equal" in run("merge", "csv.json", "parquet.json", ok=False)
    run("merge", "csv.json", "parquet.json", "--allow-equal", "-o", "m.json")
    run("tally", "r.csv", "-o", "one.json")
    run("merge", "csv.json", "one.json", "-o", "m2.json", ok=False)
    run("tally", "r.csv", "--ways", "4", ok=False)
    assert "several" in run("estimate", "one.json", "--joint", "sex", ok=False)


def test_ways_of_one_attribute_are_refused(tmp_path: Path) -> None:
    coin = RandomizedResponse(SEX, 1.0)
    write_reports(coin.randomize(["f", "m"]), str(tmp_path / "r.csv"))
    with pytest.raises(warner.errors.ArgumentError, match="several attributes"):
        tally_file(str(tmp_path / "r.csv"), ways=1)


def test_reports_of_many_attributes_are_read_though_no_table_of_all_fits(tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(9)]
    large = PerAttribute(
        Product(**dict.fromkeys(names, Integers(0, 99))),
        {k: lambda d: RandomizedResponse(d, 1.0) for k in names},
    )
    reports = large.randomize({k: [1, 2] for k in names})
    path = str(tmp_path / "r.csv")
    write_reports(reports, path)
    assert sorted(read_reports(path)["value"].records()) == sorted(reports.records())
    with pytest.raises(warner.errors.ArgumentError, match="ways=1 or 2"):
        tally_file(path)
    assert tally_file(path, ways=1)["value"].n == 2


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_bad_tuples_in_a_file_are_refused(suffix: str, tmp_path: Path) -> None:
    """A file with a good seal and reports that no mechanism sends: padding that is set, a value
    beyond its size.
    """
    survey = _survey()
    reports = survey.randomize([{"sex": "f", "age": 1}, {"sex": "m", "age": 2}])
    for column, value in (("age.bits", 255), ("sex.report", 2)):
        bad = {name: array.copy() for name, array in reports.columns.items()}
        bad[column][1] = value
        forged = warner.Reports(reports.header, bad)
        path = str(tmp_path / f"r.{suffix}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Mechanism, "check", lambda self, r: None)
            write_reports(forged, path)
        with pytest.raises(warner.errors.ReportError, match=r"padding|sex"):
            tally_file(path)


# Found by review.


def test_pairs_that_a_device_draws_do_not_go_into_tuples_or_repetitions() -> None:
    """Padding and the draw among a person's pairs happen in KeyValue.randomize alone; without them
    frequencies came out l times too high.
    """
    key = warner.KeyValue(
        warner.Categorical(["a", "b"]), warner.Integers(0, 3), 2.0, key="direct", pairs=3
    )
    with pytest.raises(warner.errors.ArgumentError, match="pairs=3"):
        warner.PerAttribute(warner.Product(job=key.domain), {"job": key})
    with pytest.raises(warner.errors.ArgumentError, match="pairs=3"):
        warner.Repeated(key, 2)


def test_tables_of_many_people_are_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    people = warner.Product(a=warner.Integers(0, 9), b=warner.Categorical(["x", "y"]))
    survey = warner.PerAttribute(
        people,
        {
            "a": lambda d: warner.UnaryEncoding(d, 1.0),
            "b": lambda d: warner.RandomizedResponse(d, 1.0),
        },
    )
    reports = survey.randomize(
        [{"a": i % 10, "b": "xy"[i % 2]} for i in range(500)], np.random.default_rng(1)
    )
    whole = survey.tally(reports)
    seen = np.arange(500) % 3
    weighted = survey.tally_columns(reports.columns, seen)
    monkeypatch.setattr("warner.reports.marginal_tables._INDICATORS", 20 * 64)
    assert survey.tally(reports) == whole
    assert survey.tally_columns(reports.columns, seen) == weighted


def test_attributes_that_are_no_names_are_refused_by_name() -> None:
    survey = PerAttribute(Product(a=Integers(0, 1)), {"a": lambda d: RandomizedResponse(d, 1.0)})
    tally = survey.tally(survey.randomize({"a": [0, 1]}, np.random.default_rng(1)))
    with pytest.raises(warner.errors.ArgumentError, match="attributes"):
        estimate(tally, attributes=[["a"]])  # type: ignore[list-item]
