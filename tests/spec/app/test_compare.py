"""The command that compares methods."""

from __future__ import annotations

import json

from tests.spec.design._tally import _tally
from warner import Categorical


def test_the_command_prints_a_table_and_json(tmp_path: object) -> None:
    from pathlib import Path

    from click.testing import CliRunner

    from warner.app.cli import main

    path = str(Path(str(tmp_path)) / "t.json")
    _tally(Categorical(["a", "b", "c"])).save(path)
    table = CliRunner().invoke(
        main, ["benchmark", path, "-m", "mle", "-m", "project", "-m", "spline", "--runs", "3"]
    )
    assert (
        table.exit_code == 0
        and "MaximumLikelihood" in table.output
        and "LogSpline() is left out" in table.output
    )
    data = json.loads(
        CliRunner().invoke(main, ["benchmark", path, "-m", "mle", "--runs", "3", "--json"]).output
    )
    assert data["value"]["results"][0]["method"].startswith("MaximumLikelihood")
    assert CliRunner().invoke(main, ["benchmark", path, "--only", "nothing"]).exit_code != 0
