"""The commands say the weight of a report, and that answers randomised again spend again."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from warner.app.cli import main


def test_the_commands_say_the_weight_and_that_answers_randomised_again_spend_again(
    tmp_path: Path,
) -> None:
    text = 'budget = 0.3\n[attributes.a]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = 0.1\n'
    (tmp_path / "s.toml").write_text(
        text + text.removeprefix("budget = 0.3\n").replace(".a]", ".b]").replace("0.1", "0.2")
    )
    (tmp_path / "x.csv").write_text("a,b\n" + "no,yes\n" * 3)
    run = CliRunner().invoke
    spent = run(
        main,
        [
            "randomize",
            str(tmp_path / "s.toml"),
            str(tmp_path / "x.csv"),
            "-o",
            str(tmp_path / "r.csv"),
        ],
    )
    assert spent.exit_code == 0, spent.output
    assert (
        "epsilon = 0.3 in all. Randomising the same answers again spends as much again"
        in spent.stderr
    )
    for command in ("audit", "plan"):
        shown = run(main, [command, str(tmp_path / "s.toml")])
        assert shown.exit_code == 0 and "weight of one report" in shown.output
        assert (
            "20.02 people" in shown.output and "10.03 people" in shown.output
        )  # (e + 1) / (e - 1)
        data = json.loads(run(main, [command, str(tmp_path / "s.toml"), "--json"]).stdout)
        assert set(data) == {"a", "b"}
