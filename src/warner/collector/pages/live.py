"""The owner's pages: the live page, which ``live.js`` draws again, and the deployment card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warner._core.text import of_hundred, visible
from warner.collector.live.state import LiveView
from warner.collector.live.tables import GroupsView, event_of
from warner.collector.pages import render
from warner.design.privacy_words import OPEN_TO_ALL
from warner.reports.public_columns import SMALLEST_GROUP
from warner.studies.study import Study

_MOST_DRAWS = 50
FIELD = "anti_forgery"  # the name of the hidden field of all forms


def live_page(
    view: LiveView,
    study: Study,
    anti_forgery: str,
    by: str | None = None,
    groups: GroupsView | None = None,
    record: Sequence[tuple[str, str, str]] = (),
    may_close: bool = True,
) -> str:
    """The live page, of somebody who may close and open the survey or only look."""
    event = event_of(view)
    return render(
        "live",
        title=visible(study.title) or "Survey",
        subject="live result",
        style="live.css",
        view=view,
        event=event,
        study=study,
        open_to_all=OPEN_TO_ALL,
        smallest_group=SMALLEST_GROUP,
        rejects=[(reason, f"{count:,}") for reason, count in event["rejects"]],
        by=by,
        groups=groups,
        field=FIELD,
        anti_forgery=anti_forgery,
        may_close=may_close,
        record=[(when, what, visible(who) or "-") for when, what, who in record],
    )


def card_page(card: Mapping[str, Any]) -> str:
    """A deployment card as HTML."""
    rows = [
        (
            visible(question["text"]),
            question["mechanism"],
            *map(_figure, (question["epsilon_per_report"], question["report_weight"])),
        )
        for question in card["questions"]
    ]
    return render(
        "card",
        title=visible(card["deployment"]["title"]) or "Survey",
        subject="deployment card",
        style="../live.css",
        card=card,
        questions=rows,
        draws=_draws(card),
    )


def _draws(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The questions of each draw and how many of 100 people are asked them."""
    text_of = {question["name"]: visible(question["text"]) for question in card["questions"]}
    blocks = card["design"]["blocks"] if card["design"] else []
    shown = blocks[:_MOST_DRAWS]
    rows = [
        ("; ".join(text_of[name] for name in block["questions"]), of_hundred(block["share"]))
        for block in shown
    ]
    rest = sum(block["share"] for block in blocks[_MOST_DRAWS:])
    return [*rows, (f"{len(blocks) - len(shown):,} more", of_hundred(rest))] if rest else rows


def no_owner_page() -> str:
    """What somebody sees who has not the owner's token."""
    return render("no_owner")


def _figure(value: float | None) -> str:
    return "unlimited" if value is None else f"{value:,.6g}"
