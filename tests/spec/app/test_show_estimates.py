"""Nothing raw reaches the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.spec._labels import _estimate
from warner._core.text import unreadable, visible
from warner.app.cli import main
from warner.app.show_estimates import show_estimate


def test_nothing_raw_reaches_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    show_estimate(
        _estimate(["[bold]x[/bold]", "y[/]"], "\x1b[2J\u202ename [red]"), 0.95, "population"
    )
    shown = capsys.readouterr().out
    assert unreadable(shown.replace("\n", "")) is None
    assert "\\x1b[2J\\u202ename [red]" in shown and "[bold]x[/bold]" in shown
    # A key of a foreign study, in a message.
    (tmp_path / "study.toml").write_text(
        '"\\u001b[31mkey" = 1\n[attributes.a]\nvalues = [1, 2]\nmechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    )
    result = CliRunner().invoke(main, ["audit", str(tmp_path / "study.toml")])
    assert (
        result.exit_code == 1
        and "\\x1b[31mkey" in result.output
        and unreadable(result.output.replace("\n", "")) is None
    )
    assert visible("plain\ntext") == "plain\ntext"
