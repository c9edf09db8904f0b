"""A slice of every attack, with fixed seeds; ``make attack`` runs many more cases.

What each attack must find is planted here too: an attack that finds nothing in a broken program is
a defect.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.attack import (
    __main__ as runner,
    canaries,
    enumeration,
    foreign,
    instances,
    laws,
    live,
    metamorphic,
    promises,
    samplers,
)
from tests.attack._frame import Finding, generator
from tests.attack._internals import Source
from tests.attack.attacks import ATTACKS
from tests.refusals import refused
from tests.registry import ALL, SENSITIVITIES, SEVERAL, smallest
from warner import Integers
from warner.channels import LikelihoodOperator
from warner.collector import survey_document
from warner.collector.pages import survey
from warner.design.privacy_words import strength
from warner.errors import ArgumentError, WarnerError
from warner.mechanisms import MECHANISMS, Mechanism

CASES = {
    "laws": 12,
    "boundaries": 20,
    "blackbox": 3,
    "answers": 30,
    "files": 8,
    "reports": 5,
    "tallies": 20,
    "wire": 30,
    "requests": 4,
    "spent": 3,
    "studies": 20,
    "live": 1,
    "promises": 6,
    "large": 3,
    "equal": 2,
    "logs": 2,
    "decay": 20,
    "clocks": 2,
    "kills": 1,
    "hypotheses": 20,
    "labels": 50,
}
ABC = warner.Categorical(["a", "b", "c"])


@pytest.mark.parametrize("name", CASES)
def test_a_slice_of_every_attack_finds_nothing(name: str) -> None:
    for number in range(CASES[name]):
        rng = generator(name, 0, number)
        try:
            # Seeded randomness alone, so that the test has one outcome.
            samplers.blackbox(rng, 20_000, system=False) if name == "blackbox" else ATTACKS[
                name
            ].case(rng)
        except Finding as finding:
            pytest.fail(f"{finding}; again: python -m tests.attack {name} --seed 0 --case {number}")


def test_the_slice_leaves_out_times_alone() -> None:
    assert set(CASES) == set(ATTACKS) - {"timing"}


REGISTERED: dict[str, Callable[[], Mechanism]] = {
    **{name: lambda name=name: smallest(name) for name in ALL},  # type: ignore[misc]
    **{
        name: lambda make=make: make(Integers(0, 3), 1.0)  # type: ignore[misc]
        for name, make in SENSITIVITIES.items()
    },
    **{name: lambda make=make: make(0.5) for name, make in SEVERAL.items()},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", REGISTERED)
def test_every_registered_law_is_enumerated_by_other_code(name: str) -> None:
    mechanism = REGISTERED[name]()
    if laws.small(mechanism):
        assert laws.check(mechanism) != "too large"
    else:
        enumeration.law(mechanism, enumeration.answers(mechanism)[0])


def test_every_mechanism_has_random_instances() -> None:
    made = {type(make(np.random.default_rng(7))).__name__ for make in instances.ALL.values()}
    # PersonalizedULDP sends reports of a utility-optimised mechanism.
    public = {cls.__name__ for cls in map(MECHANISMS.__getitem__, MECHANISMS)} - {
        "PersonalizedULDP"
    }
    assert len(public) > 15
    assert public <= made


class Broken(warner.RandomizedResponse):
    """Tells the truth more often than its thresholds say."""

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        found = super()._sample(index, source)["report"]
        return {"report": np.where(source.below(2**59, len(index)), index, found)}


def test_an_audit_below_the_truth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects an audit that states one part in 1e12 too little, and a mechanism that declares too
    little.
    """
    mechanism = warner.UnaryEncoding(ABC, 1.0)
    real = warner.audit
    low = mechanism.epsilon * (1 - 1e-12)
    monkeypatch.setattr(warner, "audit", lambda m: replace(real(m), epsilon=low))
    refused(Finding, "above the audited", laws.check, mechanism)
    monkeypatch.undo()
    monkeypatch.setattr(warner.UnaryEncoding, "guarantee", property(lambda self: warner.LDP(low)))
    refused(Finding, "", laws.check, warner.UnaryEncoding(ABC, 1.0))


def test_a_sampler_that_does_not_follow_its_law_is_found() -> None:
    """Rejects a sampler that tells the truth in one report of 32 whatever its law says: 8 standard
    errors of 40,000 reports.
    """
    rng = np.random.default_rng(3)
    mechanism = Broken(ABC, 0.1)
    with pytest.raises(Finding, match="p ="):
        samplers.against(
            "broken",
            enumeration.law(mechanism, 0),
            Counter(samplers._keys(mechanism.randomize(["a"] * 40_000, rng))),
            "seeded",
        )
    with pytest.raises(Finding, match="rules out"):
        samplers.against("broken", {(0,): Fraction(1)}, Counter({(0,): 9, (1,): 1}), "seeded")


def test_a_comparison_with_the_wrong_side_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects U <= T where U < T is meant: the boundary has probability 2^-64, and only chosen
    words meet it.
    """
    real = Source.below
    monkeypatch.setattr(
        Source, "below", lambda self, t, n, more=(): real(self, min(t + 1, 2**64 - 1), n, more)
    )
    with pytest.raises(Finding):
        for number in range(40):
            samplers._below(np.random.default_rng(number))


def test_an_error_that_shows_the_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects an answer in a message, an attribute of an error, and the context of an error."""

    def shown(values: Any) -> None:
        raise ArgumentError(f"got {values!r}")

    def kept(values: Any) -> None:
        error = ArgumentError("refused")
        error.value = canaries.TEXT  # type: ignore[attr-defined]
        raise error

    def chained(values: Any) -> None:
        try:
            raise KeyError(canaries.TEXT)
        except KeyError:
            raise ArgumentError("refused") from None

    for bad in (shown, kept, chained):
        with pytest.raises(ArgumentError) as caught:
            bad([canaries.TEXT])
        with pytest.raises(Finding, match="shows a hostile answer"):
            canaries.silent("here", canaries.reach(caught.value))


def test_what_depends_on_the_answers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a program that ends a row group, or writes a line, where the raw file says so."""
    real = metamorphic.besides_reports
    calls: list[int] = []

    def uneven(path: str) -> Any:
        calls.append(1)
        return real(path), len(calls)

    monkeypatch.setattr(metamorphic, "besides_reports", uneven)
    with pytest.raises(Finding, match="depends on the answers"):
        metamorphic.same_but_for_reports(np.random.default_rng(1), 50)


@pytest.mark.parametrize("taker", canaries.TAKERS)
@pytest.mark.parametrize(
    "bad",
    [canaries.Loud("a"), canaries.LoudInteger(1), canaries.LoudFloat(0.5)],
    ids=lambda v: type(v).__name__,
)
def test_operations_of_derived_classes_are_not_run(taker: str, bad: Any) -> None:
    """Rejects a domain that hashes or compares answers of a class derived from str, int or float by
    that class's own methods.
    """
    own = canaries.TAKERS[taker]
    take = own.encode if isinstance(own, warner.domains.Domain) else own.randomize
    for values in (
        [bad],
        [(bad, bad)],
        [{"a": bad, "b": bad}],
        [{"key": bad, "value": bad}],
        [[{"key": bad, "value": 0.5}]],
        [[{"key": "a", "value": bad}]],
    ):
        try:
            take(values)
        except WarnerError as error:
            canaries.silent(taker, canaries.reach(error))


def test_a_derived_class_is_taken_as_its_base() -> None:
    assert ABC.encode([canaries.Loud("b")]).tolist() == [1]
    assert Integers(0, 4).encode([canaries.LoudInteger(3)]).tolist() == [3]
    assert warner.Interval(0.0, 1.0, 4).encode(
        [canaries.LoudFloat(0.5), canaries.LoudInteger(1)]
    ).tolist() == [2, 3]
    assert warner.Grid(2, 3).encode([(canaries.LoudInteger(1), 2)]).tolist() == [5]
    assert warner.domains.Points([[0.0, 1.0], [2.0, 3.0]]).encode(
        [(canaries.LoudFloat(2.0), canaries.LoudInteger(3))]
    ).tolist() == [1]


@pytest.mark.parametrize(
    ("place", "finding", "first"),  # case, of those that find it
    [
        ("served", "without an explicit yes", 2),
        ("promised", "nobody can be sure", 1),
        ("together", "nats together", 21),
    ],
)
def test_a_survey_that_hides_little_and_does_not_say_so_is_found(
    monkeypatch: pytest.MonkeyPatch, place: str, finding: str, first: int
) -> None:
    """Rejects a cap on the odds of neighbours alone, and a promise that is the same for all."""
    monkeypatch.setattr(promises.shutil, "which", lambda name: None)
    near = lambda promised: strength(warner.LDP(promised.epsilon / 10))
    judge = near if place == "promised" else strength
    at_worst = property(lambda question: max(judge(m.guarantee) for m in question.mechanisms))
    monkeypatch.setattr(survey_document.Question, "strength", at_worst)
    if place != "promised":
        module = survey_document if place == "served" else survey
        monkeypatch.setattr(module, "strength", near)
    with pytest.raises(Finding, match=finding):
        for number in range(first, first + 20):
            promises.case(generator("promises", 0, number))


def test_readers_that_disagree_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a reader that takes a forged file which the other reader refuses."""
    monkeypatch.setattr(foreign, "tally_file", lambda path: {})
    with pytest.raises(Finding, match="one reader takes"):
        for number in range(10):
            foreign.report_files(generator("reports", 0, number))


def test_a_run_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    state = tmp_path / "state.json"
    done = []
    for _ in range(2):
        monkeypatch.setattr(
            sys, "argv", ["attack", "wire", "--minutes", "0.0001", "--resume", str(state)]
        )
        with pytest.raises(SystemExit) as ended:
            runner.main()
        assert ended.value.code == 0
        saved = json.loads(state.read_text())
        done.append((saved["seed"], saved["attacks"]["wire"]["done"]))
    assert done[0][0] == done[1][0] and 0 < done[0][1] < done[1][1]
    assert f"seed {done[0][0]}" in capfd.readouterr().out


def test_a_finding_is_printed_with_the_command_that_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Findings, foreign errors and processes that end are all reported, and counted in the exit
    status.
    """
    monkeypatch.chdir(Path(__file__).parents[2])
    lines = {
        "finding": 'print(\'{"start": 3}\\n{"end": 3, "finding": "too much", "line": null}\')',
        "process": "print('{\"start\": 3}', flush=True); import os; os.abort()",
    }
    for code in lines.values():

        class Played(subprocess.Popen):  # type: ignore[type-arg]
            def __init__(self, command: Any, code: str = code, **how: Any) -> None:
                super().__init__([sys.executable, "-c", code], **how)

        monkeypatch.setattr(runner.subprocess, "Popen", Played)
        monkeypatch.setattr(
            sys,
            "argv",
            [
                "attack",
                "wire",
                "--minutes",
                "0",
                "--seed",
                "9",
                "--resume",
                str(tmp_path / f"{code[:4]}.json"),
            ],
        )
        with pytest.raises(SystemExit) as ended:
            runner.main()
        assert ended.value.code == 1
        assert "again: python -m tests.attack wire --seed 9 --case 3" in capfd.readouterr().out
        (tmp_path / f"{code[:4]}.json").unlink()


def test_a_covariance_matrix_on_the_live_page_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = LikelihoodOperator.variance_of

    def of_matrix(self: LikelihoodOperator, c: np.ndarray, theta: np.ndarray) -> np.ndarray:
        if c.shape[1] == 1:  # of a mean
            return np.einsum("xb,xb->b", self.covariance(theta) @ c, c)
        return usual(self, c, theta)

    monkeypatch.setattr(LikelihoodOperator, "variance_of", of_matrix)
    monkeypatch.setattr(live, "_MECHANISMS", ("RandomizedResponse",))
    monkeypatch.setattr(live, "_BASE", 40e6)  # a right step of so many takes 28 MB
    with pytest.raises(Finding, match="a step takes"):
        live.case(generator("live", 0, 7), 2600)  # 2,283 numbers, whose matrix takes 42 MB
