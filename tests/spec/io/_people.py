"""Studies, their command line, and people in order."""

from __future__ import annotations

from click.testing import CliRunner, Result

import warner
from warner.app import cli
from warner.reports.reports import Reports

LONG = "yes, for many years and every day"


STUDY = f"""
[attributes.smokes]
values = ["no", "{LONG}"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.age]
integers = [0, 99]
mechanism = "UnaryEncoding"
epsilon = 1.0
"""


ONE = (
    '[attributes.q]\nvalues = ["", "no", "yes"]\nmechanism = "RandomizedResponse"\nepsilon = inf\n'
)


N = 5000


def run(*args: str, text: str | None = None, ok: bool = True) -> Result:
    result = CliRunner().invoke(cli.main, list(args), input=text)
    assert (result.exit_code == 0) is ok, result.output + str(result.exception)
    assert ok or isinstance(result.exception, SystemExit), result.exception
    return result


def _sorted_people() -> dict[str, Reports]:
    """2,000 people in the order of their answers, which these reports show, twice each."""
    plain = warner.RandomizedResponse(warner.Integers(0, 1999), float("inf"))
    return {name: plain.randomize(list(range(2000))) for name in ("a", "b")}


COIN = warner.RandomizedResponse(warner.Integers(0, 2), 1.0)
