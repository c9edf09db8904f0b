"""Every (thing registered) x (bad input) cell ends in a named error that does not show the answer."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.registry import BAD_EPSILONS, DOMAINS, MECHANISMS, smallest
from warner import Domain, Integers
from warner.domain import from_spec
from warner.files import tally_file, write_reports
from warner.tally import Tally, load_tallies

SECRET = "a-secret-answer-7391"


def _accepts_infinity(name: str, epsilon: Any) -> bool:
    return name == "RandomizedResponse" and epsilon == float("inf")


@pytest.mark.parametrize("name", [n for n in MECHANISMS if n != "ChannelMechanism"])
@pytest.mark.parametrize("epsilon", BAD_EPSILONS, ids=repr)
def test_bad_budgets_are_refused(name: str, epsilon: Any) -> None:
    if _accepts_infinity(name, epsilon):
        return
    with pytest.raises((warner.BudgetError, warner.ArgumentTypeError), match="epsilon"):
        MECHANISMS[name](Integers(0, 3), epsilon)


@pytest.mark.parametrize("domain, bad", [(d, b) for d, values in DOMAINS for b in values], ids=repr)
def test_bad_answers_are_refused_wherever_they_stand(domain: Domain, bad: Any) -> None:
    good = domain.labels
    for values, position in (([bad], 0), ([*good, bad], len(good)), ([bad, *good], 0)):
        with pytest.raises((warner.ValuesError, warner.ArgumentTypeError)) as caught:
            domain.encode(values)
        if isinstance(caught.value, warner.ValuesError):
            assert caught.value.position == position


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("bad", [-1, 4, 99, 2**70, 1.0, 0.5, float("nan"), float("inf"), None, "1", True, b"1", [1]], ids=repr)
def test_bad_answers_never_reach_a_report(name: str, bad: Any) -> None:
    mechanism = smallest(name)
    for values in ([0, bad], [bad]):
        with pytest.raises((warner.ValuesError, warner.ArgumentTypeError)):
            mechanism.randomize(values)
    with pytest.raises((warner.ValuesError, warner.ArgumentTypeError)):
        mechanism.randomize(np.array([bad, 0], dtype=object))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    "values", [[], (), np.array([]), np.zeros((2, 2), int), np.array([0.0, 1.0]), 1, None, "123", {"a": 1}, np.array(3)], ids=repr
)
def test_wrong_containers_are_refused(name: str, values: Any) -> None:
    with pytest.raises((warner.EmptyError, warner.ArgumentTypeError, warner.ValuesError)):
        smallest(name).randomize(values)


@pytest.mark.parametrize("domain", [d for d, _ in DOMAINS], ids=repr)
def test_domains_are_bijections_with_a_spec(domain: Domain) -> None:
    index = np.arange(domain.size)
    assert domain.encode(domain.decode(index)).tolist() == index.tolist()
    assert domain.encode(domain.labels).dtype == np.int64
    again = from_spec(domain.spec())
    assert again == domain and hash(again) == hash(domain) and again.labels == domain.labels
    assert domain.points is None or len(domain.points) == domain.size


def test_no_message_log_or_file_holds_the_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    domain = warner.Categorical(["x", "y"])
    caplog.set_level(logging.DEBUG)
    seen = []
    for mechanism in (warner.RandomizedResponse(domain, 1.0), warner.UnaryEncoding(domain, 1.0), warner.Product(a=domain)):
        for values in ([SECRET], ["x", SECRET], np.array(["x", SECRET]), np.array([SECRET, None], dtype=object), [{"a": SECRET}]):
            try:
                mechanism.randomize(values) if isinstance(mechanism, warner.Mechanism) else mechanism.encode(values)
            except warner.WarnerError as error:
                seen.append(f"{error} {error.args} {vars(error)} {error.__cause__} {error.__context__}")
    assert len(seen) >= 13
    out, err = capfd.readouterr()
    assert SECRET not in " ".join(seen) + caplog.text + out + err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rng", [0, 42, "seed", np.random.RandomState(0), np.random], ids=lambda v: type(v).__name__)
def test_only_a_generator_or_nothing_is_a_source(rng: Any) -> None:
    with pytest.raises(warner.ArgumentTypeError, match="rng"):
        smallest("RandomizedResponse").randomize([0], rng=rng)


@pytest.mark.parametrize("suffix", ["warner", "json", "parquet", "csv"])
def test_every_truncation_and_alteration_is_noticed(suffix: str, tmp_path: Path) -> None:
    """Cut at, and flip one bit at, places all over the file."""
    mechanism = warner.UnaryEncoding(Integers(0, 11), 1.0)
    reports = mechanism.randomize(np.arange(60) % 12, np.random.default_rng(3))
    whole = mechanism.tally(reports)
    path = tmp_path / f"file.{suffix}"

    def load() -> Tally:
        if suffix == "warner":
            return mechanism.tally(warner.Reports.load(path))
        return Tally.load(path) if suffix == "json" else tally_file(str(path))["value"]

    if suffix == "warner":
        reports.save(path)
    elif suffix == "json":
        whole.save(path)
    else:
        write_reports(reports, str(path))
    data = path.read_bytes()
    assert load() == whole
    for place in [*range(0, len(data), max(1, len(data) // 150)), len(data) - 1]:
        for changed in (data[:place], data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]):
            path.write_bytes(changed)
            with pytest.raises(warner.WarnerError):
                load()


def test_an_altered_law_is_refused(tmp_path: Path) -> None:
    import json

    mechanism = smallest("RandomizedResponse")
    mechanism.tally(mechanism.randomize([0, 1])).save(tmp_path / "t.json")
    for key, value in (("requested", 3.0), ("mechanism", "Unknown"), ("version", 2), ("thresholds", {"other": "0x1"}), ("parameters", {"no": 1})):
        data = json.loads((tmp_path / "t.json").read_text())
        entry = data["attributes"]["value"]
        entry["header"][key] = value
        forged = Tally(entry["header"], "histogram", np.array(entry["counts"]), entry["n"])  # with a digest that fits
        with pytest.raises(warner.MismatchError):
            warner.estimate(forged)
        data["attributes"]["value"] = entry
        (tmp_path / "u.json").write_text(json.dumps(data))
        with pytest.raises(warner.FileError, match="checksum"):
            load_tallies(tmp_path / "u.json")


def test_a_tally_that_does_not_fit_its_mechanism_is_refused() -> None:
    mechanism = smallest("RandomizedResponse")
    for counts, n in ((np.array([1, 2, 3]), 6), (np.array([1, -1, 1, 1]), 2), (np.array([1, 1, 1, 1]), 5)):
        with pytest.raises(warner.MismatchError, match="does not fit"):
            warner.estimate(Tally(mechanism.header, "histogram", counts, n))
    with pytest.raises(warner.EmptyError):
        warner.estimate(Tally(mechanism.header, "histogram", np.zeros(4, int), 0))
