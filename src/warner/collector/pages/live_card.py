"""The deployment card as a page for readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from warner._core.html import Markup, table, text
from warner._core.text import visible
from warner.collector.pages.live import page_html

_HEADINGS = {
    "deployment": "Deployment",
    "privacy": "Privacy of a person",
    "accounting": "Accounting",
    "who_sees_what": "Who sees what",
    "retention": "What is kept",
    "publication": "Publication",
    "implementation": "Implementation",
    "study": "Study",
}


def card_page(card: Mapping[str, Any]) -> str:
    """A deployment card as HTML."""
    title = text(visible(card["deployment"]["title"]) or "Survey")
    parts = [f"<header><h1>{title}: deployment card</h1></header><main>"]
    for key, heading in _HEADINGS.items():
        parts.append(f"<section><h2>{heading}</h2>{_list(card[key])}</section>")
        if key == "privacy":
            parts.extend(_questions(card["questions"]))
            items = "".join(f"<li>{text(line)}</li>" for line in card["unprotected"])
            parts.append(f"<section><h2>Not protected</h2><ul>{items}</ul></section>")
    parts.append('<p><a href="card.json">The same as JSON</a></p></main>')
    return page_html(f"{title}: deployment card", parts, style="../live.css")


def _questions(questions: list[Mapping[str, Any]]) -> Iterator[str]:
    """The questions: a table, and the odds of each in words."""
    head = ["question", "mechanism", "epsilon", "weight"]
    rows = [
        [
            visible(question["text"]),
            question["mechanism"],
            _figure(question["epsilon_per_report"]),
            _figure(question["report_weight"]),
        ]
        for question in questions
    ]
    about = (
        "Each question: how an answer is randomised, the epsilon of a report, and its weight: how "
        "many people one forged report can add to the unbiased count of an answer."
    )
    yield f"<section><h2>Questions</h2>{table(head, rows, about)}"
    for question in questions:
        words = "".join(f"<p>{text(sentence)}</p>" for sentence in question["in_words"])
        yield f"<h3>{text(visible(question['text']))}</h3>{words}"
    yield "</section>"


def _figure(value: float | None) -> str:
    return "unlimited" if value is None else f"{value:,.6g}"


def _list(facts: Mapping[str, Any]) -> Markup:
    """Facts with their names, as a list; those without a value are left out."""
    items = "".join(
        f"<dt>{text(key.replace('_', ' '))}</dt><dd>{_value(value)}</dd>"
        for key, value in facts.items()
        if value is not None and value != ""
    )
    return Markup(f"<dl>{items}</dl>")


def _value(value: Any) -> str:
    """A fact as text; of sentences one after the other."""
    if isinstance(value, list):
        return text(" ".join(map(str, value)))
    return text(f"{value:,.10g}" if isinstance(value, float) else visible(str(value)))
