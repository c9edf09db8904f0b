"""The owner's live page. It can be read without script; ``live.js`` draws it again at each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from warner._core import html
from warner._core.html import Markup, table, text
from warner._core.text import visible
from warner.collector.live.state import LiveView, Section, TableView
from warner.collector.live.tables import (
    OPEN_TO_ALL,
    STATUS,
    GroupsView,
    about_count,
    about_intervals,
    about_step,
    command,
    progress,
    reject_rows,
)
from warner.studies.public import SMALLEST_GROUP
from warner.studies.study import Study

FIELD = "anti_forgery"  # the name of the hidden field of both forms

_DOWNLOADS = (
    ("live/tally.json", "Tally", "the counts of the last step, for warner estimate"),
    ("live/estimates.json", "Estimates as JSON", "what warner estimate --json writes"),
    ("live/estimates.csv", "Estimates as CSV", "for spreadsheets"),
    ("live/picture.png", "Picture", "a chart as PNG"),
)
_CARDS = (
    ("live/card.html", "Deployment card", "what is protected, and who sees what"),
    ("live/card.json", "Deployment card as JSON", "for registries"),
)


def live_page(
    view: LiveView,
    study: Study,
    anti_forgery: str,
    by: str | None = None,
    groups: GroupsView | None = None,
) -> str:
    """The live page."""
    title = _title(study)
    parts = [
        f'<header><h1{_language(study)}>{title}</h1><p id="status">{text(STATUS[view.status])}</p>'
        "</header>",
        '<main><p id="progress" role="status">',
        text(progress(view)),
        f'</p><p><progress id="bar" aria-label="Reports of the planned number" '
        f'max="{view.planned}" value="{min(view.counted, view.planned)}"></progress></p>',
        f'<p id="about-count">{text(about_count(view))}</p>',
        f'<p id="about-step">{text(about_step(view))}</p>',
        "" if study.collect.access == "invited" else f"<p>{OPEN_TO_ALL}</p>",
        '<p id="connection" role="status" hidden></p>',
        '<div id="sections">',
        *(section_html(section) for section in view.sections),
        "</div>",
        *_groups(view, study, by, groups),
        '<section><h2>What the intervals hold</h2><p id="about-intervals">',
        text(about_intervals(view)),
        "</p></section>",
        *_rejects(view),
        *_downloads(view),
        *_forms(view, study, anti_forgery),
        "</main>",
        f"<footer><p>Study <code>{study.digest}</code></p></footer>",
    ]
    return page_html(f"{title}: live result", parts, script="live.js")


def page_html(title: str, parts: Iterable[str], script: str = "", style: str = "live.css") -> str:
    """A whole page in English. Addresses are relative, for an application below another path."""
    module = f'<script type="module" src="{script}"></script>' if script else ""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title}</title><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{style}">{module}</head>\n'
        f"<body>\n{body}\n</body></html>\n"
    )


def _title(study: Study) -> Markup:
    return text(visible(study.title) or "Survey")


def _language(study: Study) -> str:
    """The attribute of an element in the language of the study; "" where that is the page's."""
    language = study.languages[0]
    return "" if language == "en" else f' lang="{text(language)}"'


def section_html(section: Section, level: int = 2) -> Markup:
    """A section of one question."""
    tables = "\n".join(table_html(table) for table in section.tables)
    notes = "".join(f"<p>{text(note)}</p>" for note in section.notes)
    return Markup(
        f"<section><h{level}>{text(section.heading)}</h{level}>\n{tables}\n"
        f'<div class="notes">{notes}</div></section>'
    )


def table_html(table: TableView) -> Markup:
    """A table, folded where it is long."""
    head: list[object] = [*table.head]
    rows: list[list[object]] = [[*row.cells] for row in table.rows]
    if table.largest:
        head.append("")
        for cells, row in zip(rows, table.rows, strict=True):
            share, low, high = row.bar or (0.0, 0.0, 0.0)
            cells.append(html.interval_bar(share, low, high, table.largest))
    drawn = html.table(head, rows, table.caption)
    if not table.is_long:
        return drawn
    return Markup(f"<details><summary>All {len(table.rows):,} rows</summary>{drawn}</details>")


def _groups(
    view: LiveView, study: Study, by: str | None, groups: GroupsView | None
) -> Iterator[str]:
    """Links to the tables by public columns, and those that were asked for."""
    if not study.public:
        return
    yield '<section id="groups"><h2>Groups</h2>'
    links = ", ".join(
        f'<a href="live?by={quote(name, safe="")}#groups">{text(_column(study, name))}</a>'
        for name in study.public
    )
    yield (
        f"<p>Tables by {links}. Public columns are not protected. Groups of fewer than "
        f"{SMALLEST_GROUP} people are hidden. {_about_groups(view)}</p>"
    )
    if by is not None and groups is None:
        yield "<p>There are no tables of groups yet.</p>"
    elif groups is not None:
        yield from _group_tables(groups)
    yield "</section>"


def _about_groups(view: LiveView) -> str:
    """When groups are shown, and when they change."""
    if view.fewest > 1:
        return (
            f"A step adds of each group no new person, or at least {view.fewest}. The first "
            "closing adds all who waited."
        )
    if view.fewest:
        return "With such small steps, a step can add a single person of a group."
    return (
        "Fewer than 50 people are planned for each group. So the groups are shown after the first "
        "closing of the survey, and before it all people together."
    )


def _column(study: Study, name: str) -> str:
    return visible(study.texts.question(name, study.languages[0]))


def _group_tables(groups: GroupsView) -> Iterator[str]:
    """The tables of the groups of one column."""
    yield (
        f"<p>Step {groups.step:,}, each group by itself. The intervals are narrowest near "
        f"{groups.planned:,} reports of a group.</p>"
    )
    if groups.problem:
        yield f"<p>No tables here: {text(groups.problem)}. The next step tries it again.</p>"
    for name, n, sections in groups.groups:
        inside = "\n".join(section_html(section, level=3) for section in sections)
        people = f"{n:,} {'person' if n == 1 else 'people'}"
        yield f"<details><summary>{text(name)}: {people}</summary>\n{inside}</details>"
    if groups.hidden:
        yield (
            f"<p>Hidden: {groups.hidden:,} small groups with {groups.hidden_people:,} people "
            "together.</p>"
        )
    if not groups.groups:
        return
    address = f"live/tally.json?by={quote(groups.column, safe='')}"
    yield (
        f'<p><a href="{address}" download="tally.{quote(groups.column, safe="")}.json">Tally of '
        f"these groups</a>, for <code>warner estimate --interval anytime:{groups.planned}</code> "
        "and <code>warner groups</code>.</p>"
    )


def _rejects(view: LiveView) -> Iterator[str]:
    """The table of refused requests."""
    rows = [[reason, f"{count:,}"] for reason, count in reject_rows(view.rejects)]
    yield '<section id="rejects"><h2>Refused requests</h2>'
    about = "Requests that were refused, by reason. Their contents are not kept."
    hidden = "" if rows else " hidden"
    yield f"<div{hidden}>{html.table(['reason', 'requests'], rows, about)}</div>"
    yield f"<p{' hidden' if rows else ''}>None so far.</p></section>"


def _downloads(view: LiveView) -> Iterator[str]:
    """Links to the files, and the command that repeats the estimates."""
    yield "<section><h2>Downloads</h2>"
    before, after = (" hidden", "") if view.step is not None else ("", " hidden")
    yield f'<p id="no-files"{before}>Before the first step there are the deployment cards only.</p>'
    yield (
        f'<div id="files"{after}><ul>{_items(_DOWNLOADS)}</ul>'
        "<p>The same numbers from the tally file:</p>"
        f'<pre><code id="command">{text(command(view))}</code></pre></div>'
    )
    yield f"<ul>{_items(_CARDS)}</ul></section>"


def _items(shown: Iterable[tuple[str, str, str]]) -> str:
    return "".join(
        f'<li><a href="{address}">{name}</a>: {about}</li>' for address, name, about in shown
    )


def _forms(view: LiveView, study: Study, anti_forgery: str) -> Iterator[str]:
    """The buttons that close and open the survey."""
    hidden = f'<input type="hidden" name="{FIELD}" value="{text(anti_forgery)}">'
    yield "<section><h2>Close or open</h2>"
    for_good = study.collect.keep_ids == "closed"
    after = (
        "Then the ids of submissions are dropped, and it cannot be opened again."
        if for_good
        else "It can be opened again."
    )
    # No click alone ends a survey for good.
    sure = (
        '<p><label><input type="checkbox" name="sure" value="yes" required> Yes, close it for '
        "good</label></p>"
        if for_good
        else ""
    )
    final = "" if view.is_final else " hidden"
    yield (
        f'<p id="final"{final}>The survey was closed for good: the ids of its submissions were '
        "dropped.</p>"
    )
    forms: Sequence[tuple[str, bool, str, str, str]] = (
        (
            "close",
            view.status != "closed",
            "Close the survey",
            "No more answers are counted, and all that were counted are published as the last "
            f"step. {after}",
            sure,
        ),
        (
            "open",
            view.status != "open" and not view.is_final,
            "Open the survey",
            "From then on answers are counted.",
            "",
        ),
    )
    for name, is_shown, label, about, more in forms:
        yield (
            f'<form id="{name}" method="post" action="live/{name}"'
            f"{'' if is_shown else ' hidden'}><p>{text(about)}</p>{hidden}{more}"
            f'<button type="submit">{label}</button></form>'
        )
    yield "</section>"


# -----------------------------------------------------------------------------------------------
# The deployment card as a page for readers.


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
