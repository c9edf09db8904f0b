"""Reports that a generator made are marked as simulated wherever they go."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.io._people import COIN, ONE, STUDY
from warner._core.text import canonical
from warner.errors import FileError, MismatchError
from warner.io import ReportWriter, open_reports, read_reports, tally_file, write_reports
from warner.reports.reports import Reports


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    Path("one.toml").write_text(ONE)
    return tmp_path


def _simulated() -> Reports:
    return COIN.randomize([0, 1, 2, 1] * 50, np.random.default_rng(1))


def test_simulated_reports_keep_their_mark_wherever_they_go(here: Path) -> None:
    real, simulated = COIN.randomize([0, 1, 2, 1] * 50), _simulated()
    for name, reports, mark in (
        ("real", real, False),
        ("simulated", simulated, True),
        ("given", COIN.reports([0, 1]), False),
    ):
        assert reports.simulated is mark and reports[:1].simulated is mark
        assert Reports.from_bytes(reports.to_bytes()).simulated is mark
        reports.save(f"{name}.warner")
        rows_per_report = [reports, Reports.load(f"{name}.warner")]
        for suffix in ("csv", "parquet"):
            write_reports(reports, f"{name}.{suffix}")
            assert open_reports(f"{name}.{suffix}").simulation is mark
            rows_per_report.append(read_reports(f"{name}.{suffix}")["value"])
            write_reports(rows_per_report[-1], f"{name}2.{suffix}")
            rows_per_report.append(read_reports(f"{name}2.{suffix}")["value"])
            tally = tally_file(f"{name}2.{suffix}")["value"]
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


def test_a_frame_that_cannot_hold_the_mark_says_so_and_takes_it_back() -> None:
    """Rejects simulated reports that a frame of Polars makes real without a word."""
    simulated, real = _simulated(), COIN.randomize([0, 1, 2, 1] * 50)
    with pytest.warns(warner.errors.FrameWarning, match="of polars cannot say .* are simulated"):
        frame = simulated.to_frame("polars")
    with pytest.warns(warner.errors.FrameWarning, match="add simulated=True after frame"):
        COIN.tally(frame)
    assert COIN.reports(frame, simulated=True) == simulated
    assert COIN.tally(COIN.reports(frame, simulated=True)).simulated
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        real.to_frame("polars")
        held = [simulated.to_frame(backend) for backend in ("pandas", "pyarrow")]
    assert all(COIN.reports(frame).simulated for frame in held)  # what a frame says holds
    codes = simulated.columns["report"]
    for given in (codes, real, simulated):
        assert COIN.reports(given, simulated=True).simulated
    assert not COIN.reports(codes).simulated and not COIN.reports(real).simulated


def test_every_mechanism_marks_what_a_generator_made() -> None:
    rng = np.random.default_rng(2)
    pairs = warner.KeyValue(warner.Categorical(["a", "b"]), warner.Interval(0, 1, 4), 1.0)
    several = warner.PerAttribute(warner.Product(x=warner.Integers(0, 2)), {"x": COIN})
    bits = warner.UnaryEncoding(warner.Integers(0, 2), 1.0)
    for mechanism, answers in (
        (pairs, {"key": ["a"], "value": [0.5]}),
        (several, [{"x": 1}]),
        (warner.mechanisms.Repeated(COIN, 2), [1]),
        (bits, [1]),
    ):
        assert mechanism.randomize(answers, rng).simulated
        assert not mechanism.randomize(answers).simulated
        assert mechanism.tally(mechanism.randomize(answers, rng)).simulated
        assert not mechanism.tally(mechanism.randomize(answers)).simulated
    assert bits.tally(bits.randomize([1], rng), keep_reports=True).simulated
    law = warner.UtilityOptimizedRR(warner.Categorical(["a", "b", "c"]), 1.0, ["a"])
    device = warner.mechanisms.PersonalizedULDP(law, ["home"]).device({"home": ["b"]})
    assert device.randomize(["b"], rng).simulated and not device.randomize(["b"]).simulated


def test_a_mark_that_is_put_on_or_taken_off_is_seen() -> None:
    tally = COIN.tally(COIN.reports([0, 1, 2, 2]))
    data = tally.to_json()
    keys = ["header", "kind", "by", "groups", "sizes", "shape", "counts", "sha256"]
    assert list(data) == keys
    text = canonical([COIN.header, "histogram", [], [[]], [1, 3], False, 1]).encode()
    numbers = np.array([4, 1, 1, 2], "<i8").tobytes()  # of the only group, and its counts
    assert data["sha256"] == hashlib.sha256(text + numbers).hexdigest()
    forged = {**data, "simulated": True}
    refused(FileError, "was changed", warner.Tally.from_json, forged)
    stripped = COIN.tally(_simulated()).to_json()
    del stripped["simulated"]
    refused(FileError, "was changed", warner.Tally.from_json, stripped)


def test_real_and_simulated_reports_do_not_mix_unsaid(here: Path) -> None:
    real, simulated = COIN.randomize([0, 1]), _simulated()
    with pytest.raises(MismatchError, match=r"must not combine real and simulated reports.*marked"):
        COIN.tally(real) + COIN.tally(simulated)
    with pytest.raises(MismatchError, match="must not combine real and simulated reports"):
        other = warner.RandomizedResponse(warner.Integers(0, 2), 2.0)
        warner.estimate([COIN.tally(simulated), other.tally(other.randomize([1]))])
    assert (COIN.tally(real).marked() + COIN.tally(simulated)).simulated
    with pytest.raises(MismatchError, match="simulation=True"):
        write_reports({"a": real, "b": simulated[:2]}, "r.csv")
    with (
        pytest.raises(MismatchError, match="simulation=True"),
        ReportWriter("r.csv", {"a": COIN}) as writer,
    ):
        writer.write({"a": simulated})
        writer.write({"a": real})
    assert not Path("r.csv").exists()
    write_reports({"a": real, "b": simulated[:2]}, "r.csv", simulation=True)
    assert open_reports("r.csv").simulation
