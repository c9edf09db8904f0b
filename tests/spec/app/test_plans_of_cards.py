"""What `warner plan` expects of cards with more than two answers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.spec.app._command import run
from warner.design.paper_plans import WidestAnswer
from warner.designs import from_text

CARD = "forced:never=0.1,once=0.05,several=0.05,often=0.05"


@pytest.mark.parametrize("text", [CARD, "forced:a=0.3,b=0.01,c=0.01"])
def test_the_widest_interval_of_a_card_is_planned_for(text: str) -> None:
    """Rejects equal shares, at which the interval of no answer is the widest."""
    design = from_text(text)
    widest, channel, rng = WidestAnswer.of(design), design.channel(), np.random.default_rng(5)
    grid = [WidestAnswer.of(design, share).variance for share in np.linspace(0.01, 0.99, 99)]
    assert max(grid) <= widest.variance * (1 + 1e-9) <= 1.001 * max(grid)
    shares = rng.dirichlet(np.full(design.domain.size, 0.5), 2000)
    assert max(channel.variance(each).max() for each in shares) <= widest.variance * (1 + 1e-9)


def test_a_card_with_several_answers_takes_a_share() -> None:
    """Rejects --share for two answers alone, and a plan that does not say of which answer it is."""
    notes = " ".join(run("plan", "--design", CARD, "--people", "1500").output.split())
    assert "the 95 % interval of a share of 53.3 % is at most about ±3.4 points" in notes
    assert (
        "if the other answers are equally common. The interval is widest for the answer 'never'."
        in notes
    )
    assert "For another share, add --share." in notes
    assert "all 4 answers" not in notes
    command = ("plan", "--design", CARD, "--people", "1500", "--share", "0.1", "--json")
    (row,) = json.loads(run(*command).output).values()
    said = 0.75 * 0.1 + 0.1
    width = 2 * 1.959964 * (said * (1 - said) / 0.75**2 / 1500) ** 0.5
    assert row["share"] == 0.1
    assert row["width"] == pytest.approx(width, rel=1e-5)
    refused = run(*command, "--sizes", "700,800", "--difference", "0.1", ok=False)
    assert "--share: cannot be used with --difference for a design with more than two" in (
        refused.output + refused.stderr
    )


def test_plans_of_several_designs_say_how_many_people_a_margin_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rejects a narrow table without the column that was asked for."""
    monkeypatch.setenv("COLUMNS", "80")
    designs = ("--design", "crosswise", "--people", "3000", "--difference", "0.05")
    shown = run("plan", *designs, "--margin", "0.04").output
    assert "people for \u00b14  people needed for 5 points\n" in shown
