"""Stores of benchmarks: what is kept, and which files are refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import warner
import warner.design.benchmark as module
from warner import Categorical, Integers, MatrixMechanism, RandomizedResponse, benchmark

NUMBERS = Integers(0, 3)
TRUTH = [0.4, 0.3, 0.2, 0.1]
run = partial(
    benchmark, TRUTH, NUMBERS, mechanisms=[RandomizedResponse], methods=["mle"], n=100, runs=2
)


def _blind(domain: Any, epsilon: float) -> MatrixMechanism:
    """A channel without an inverse: the values 0 and 1 make the same reports."""
    return MatrixMechanism(domain, [[0.6, 0.6, 0.4, 0.4], [0.4, 0.4, 0.6, 0.6]], epsilon)


def test_a_refusal_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejects a store in which each call does the runs of refused methods again, and adds lines."""
    store = tmp_path / "league.jsonl"
    league = partial(
        benchmark, TRUTH, NUMBERS, {"blind": _blind}, ["inversion", "mle"], runs=3, store=store
    )
    first = league()
    lines = store.read_text().splitlines()
    assert len(lines) == 1 + 3 + 1 and [key[1] for key in first.left_out] == ["inversion"]
    monkeypatch.setattr(module, "_work_on", lambda *task: pytest.fail("done again"))
    again = league()
    assert again.rows() == first.rows() and again.left_out == first.left_out
    assert store.read_text().splitlines() == lines


def test_a_refusal_by_one_loss_is_not_one_by_the_method(tmp_path: Path) -> None:
    """A method that is refused for one loss may have another."""
    store = tmp_path / "league.jsonl"
    league = partial(benchmark, TRUTH, NUMBERS, [RandomizedResponse], ["mean"], runs=2, store=store)
    assert not league(loss="l2").rows()
    assert [row["loss"] for row in league(loss="mae_mean").rows()] == ["mae_mean"]


def test_other_files_are_refused_with_a_remedy(tmp_path: Path) -> None:
    store = tmp_path / "league.jsonl"
    store.touch()
    run(store=store)  # an empty file holds nothing that could be lost
    lines = store.read_text().splitlines()
    for wrong in ("garbage", "[1]"):
        store.write_text("\n".join([*lines[:-1], wrong, lines[-1], ""]))
        with pytest.raises(warner.errors.FileError, match=r"line 3: is no finished .* Remove"):
            run(store=store)
    with pytest.raises(warner.errors.FileError, match="is a folder"):
        run(store=tmp_path)


def test_an_interrupt_says_where_the_finished_runs_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*task: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_work_on", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        run(store=tmp_path / "league.jsonl")
    assert "league.jsonl: the same call goes on" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"epsilon": []}, "epsilon: must hold at least one"),
        ({"epsilon": [0.5, -1.0]}, "epsilon: must be greater than 0; got -1"),
        ({"n": []}, "n: must hold"),
        ({"loss": []}, "loss: must hold"),
        ({"seed": None}, "seed: must be an integer; got None"),
        ({"mechanisms": []}, "got an empty list"),
        ({"methods": []}, "got an empty list"),
        ({"methods": [warner.MaximumLikelihood]}, "got a class"),
        ({"mechanisms": {"x": lambda d, e: None}}, "mechanism 'x': must be made .*; got None"),
        (
            {"mechanisms": {"x": lambda d, e: RandomizedResponse(d, 2 * e)}},
            "at most the budget of its row, 1.0; got 2.0",
        ),
        (
            {"mechanisms": {"x": lambda d, e: RandomizedResponse(Categorical(["a", "b"]), e)}},
            "must be of the domain of the benchmark; got Categorical",
        ),
    ],
)
def test_wrong_arguments_are_refused(changed: dict[str, Any], said: str) -> None:
    """Rejects leagues with no rows, and rows of a mechanism that spends more than they say."""
    arguments = {"mechanisms": [RandomizedResponse], "methods": ["mle"], "runs": 2, **changed}
    with pytest.raises(warner.WarnerError, match=said):
        benchmark(TRUTH, NUMBERS, **arguments)


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(TypeError) as caught:
        run(mechanisms={"OUE": partial(warner.UnaryEncoding, form="optimized")})
    assert "'OUE'" in caught.value.__notes__[0]


def test_a_lambda_with_a_name_and_no_protection_are_mechanisms() -> None:
    rows = benchmark(
        TRUTH,
        NUMBERS,
        {
            "RR": lambda d, e: RandomizedResponse(d, e),
            "none": lambda d, e: warner.RandomizedResponse(d, float("inf")),
        },
        ["inversion"],
        epsilon=[1.0, 1.0],
        runs=2,
    ).rows()
    assert [row["mechanism"] for row in rows] == ["RR", "none"]
