"""The bar in one line: it says how far work is, leaves nothing behind, and False tells nobody."""

from __future__ import annotations

import io

import pytest

import warner
from warner._core.progress import Stage, stage, steps
from warner._core.text_bar import TextBar


def _drawn(clock: list[float], *shown: tuple[Stage, ...]) -> list[str]:
    screen, times = io.StringIO(), iter(clock)
    bar = TextBar(screen, lambda: next(times))
    for stages in shown:
        bar(stages)
    return [line.rstrip() for line in screen.getvalue().split("\r") if line.strip()]


def test_the_bar_says_how_far_work_is() -> None:
    outer = Stage("estimating groups", 1, 4)
    lines = _drawn([0.0, 10.0], (outer,), (outer, Stage("bootstrap", 3, 20)))
    assert lines == ["estimating groups  ######..................  1 of 4, 10 s, about 30 s left"]
    inner = (Stage("a", 1, 2), Stage("b", 3, 20))
    assert _drawn([0.0, 4.0], inner, inner)[0].endswith("4.0 s left (b: 3 of 20)")
    assert _drawn([0.0, 3.0], (Stage("iterations"),), (Stage("iterations", 7),)) == [
        "iterations  7, 3.0 s"
    ]


def test_quick_work_draws_nothing_and_lines_are_not_drawn_too_often() -> None:
    assert _drawn([0.0, 0.2], (Stage("x", 0, 2),), (Stage("x", 1, 2),)) == []
    many = [(Stage("x", i, 1000),) for i in range(1000)]
    assert len(_drawn([i / 100 for i in range(1000)], *many)) <= 100


def test_the_line_is_removed_also_after_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), warner.progress():
        raise KeyboardInterrupt
    with warner.progress(True), stage("x", 2) as tell:
        tell(1)
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.replace("\r", "").strip() == ""


def test_false_tells_nobody_inside_a_listener() -> None:
    heard: list[object] = []
    with warner.progress(heard.append), warner.progress(False):
        list(steps([1, 2], "quiet"))
    assert heard == []
    with (
        pytest.raises(warner.errors.ArgumentTypeError, match="True, or a function"),
        warner.progress(3),
    ):  # type: ignore[arg-type]
        pass


def test_names_that_screens_cannot_show_are_escaped() -> None:
    (line,) = _drawn([0.0, 3.0], (Stage("a\x1b[2J", 1, 2),), (Stage("a\x1b[2J", 1, 2),))
    assert "\x1b" not in line
