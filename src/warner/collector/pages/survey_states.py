"""What the survey page says after the questions: sealed, sent, closed and all that can go wrong.

All panels stand in the page, hidden. ``survey.js`` shows one at a time and moves the focus to it.
"""

from __future__ import annotations

from warner._core.html import Markup
from warner.collector.pages.words import Words


def states(sent_bytes: Markup, invited: bool, words: Words) -> Markup:
    """All panels."""
    kind = "_invited" if invited else ""
    after = f"leaves_after{kind}"
    reload = Markup(f'<a class="button" href="" data-action="reload">{words("reload")}</a>')
    panels = [
        _panel("sealing", words(f"sealing{kind}")),
        _panel(
            "pending",
            words("pending_title"),
            _paragraph(words("pending")),
            _reasons(words),
            _stop_notes(words),
            _buttons(_button("try", words("try_now"), "primary"), _stop(words)),
        ),
        _panel(
            "memory",
            words("memory_title"),
            _paragraph(words("memory"), "notice"),
            _reasons(words),
            _buttons(_button("try", words("memory_send"), "primary"), _stop(words)),
        ),
        _panel(
            "sent",
            words("sent_title"),
            _paragraph(words(f"sent{kind}")),
            Markup(f"<h3>{words('sent_left_title')}</h3>"),
            Markup(f'<div data-when="bytes">{_paragraph(words(after))}{sent_bytes}</div>'),
            Markup(f'<p data-when="no-bytes" hidden>{words("leaves_gone")}</p>'),
            Markup(f"<h3>{words('sent_cannot_title')}</h3>"),
            _paragraph(words(f"sent_cannot{kind}")),
            Markup(f"<h3>{words('sent_can_title')}</h3>"),
            _paragraph(words(f"sent_can{kind}")),
            _buttons(_button("forget", words("forget"))),
        ),
        _panel("deleted", words("deleted_title"), _paragraph(words("deleted"))),
        _panel("closed", words("closed_title"), _paragraph(words("closed"))),
        _panel(
            "closed-pending",
            words("closed_title"),
            _paragraph(words("closed_pending")),
            _buttons(_button("try", words("try_now"), "primary"), _stop(words)),
        ),
        _panel("not-open", words("not_open_title"), _paragraph(words("not_open")), reload),
        _panel(
            "not-open-pending",
            words("not_open_title"),
            _paragraph(words("not_open_pending")),
            _buttons(_button("try", words("try_now"), "primary"), _stop(words)),
        ),
        _panel(
            "other-study",
            words("other_study_title"),
            _paragraph(words("other_study")),
            _buttons(_stop(words), reload),
        ),
        _panel(
            "rejected",
            words("rejected_title"),
            _paragraph(words("rejected")),
            _reason(),
            _buttons(_button("try", words("try_now")), _stop(words)),
        ),
        _panel("refused", words("refused_title"), _paragraph(words("refused")), _reason(), reload),
        _panel("insecure", words("refused_title"), _paragraph(words("insecure"))),
        _panel("old-browser", words("refused_title"), _paragraph(words("old_browser"))),
    ]
    if invited:
        back, clear = _button("back", words("back")), _button("clear", words("stop"))
        panels += [
            _panel(
                "waiting",
                words("waiting_title"),
                _paragraph(words("waiting")),
                _reasons(words),
                _buttons(_button("send", words("try_now"), "primary"), back, clear),
            ),
            _panel("spent", words("spent_title"), _paragraph(words("spent"))),
            _panel(
                "not-invited",
                words("not_invited_title"),
                _paragraph(words("not_invited")),
                _buttons(_button("back", words("not_invited_back"), "primary"), clear),
            ),
        ]
    return Markup("\n".join(panels))


def _panel(name: str, title: Markup, *content: Markup) -> Markup:
    """One panel, which can take the focus."""
    inner = "\n".join(content)
    return Markup(
        f'<section class="state" role="group" id="state-{name}" data-state="{name}" tabindex="-1" '
        f'aria-labelledby="state-{name}-title" hidden>\n'
        f'<h2 id="state-{name}-title">{title}</h2>\n{inner}\n</section>'
    )


def _paragraph(words: Markup, kind: str = "") -> Markup:
    return Markup(f'<p class="{kind}">{words}</p>' if kind else f"<p>{words}</p>")


def _button(action: str, label: Markup, kind: str = "") -> Markup:
    """A button; ``survey.js`` knows what it does by ``data-action``."""
    style = f' class="{kind}"' if kind else ""
    return Markup(f'<button type="button" data-action="{action}"{style}>{label}</button>')


def _stop(words: Words) -> Markup:
    return _button("stop", words("stop_pending"))


def _buttons(*buttons: Markup) -> Markup:
    return Markup(f'<div class="buttons">{" ".join(buttons)}</div>')


def _reason() -> Markup:
    """Room for the name of an error, which is for the owner of the survey."""
    return Markup('<p><code class="reason" data-fill="reason"></code></p>')


def _reasons(words: Words) -> Markup:
    """Why a report is not sent yet; one of these is shown, and read aloud when it changes."""
    names = ("asking", "sending", "offline", "unavailable", "busy")
    listed = "".join(
        f'<span data-reason="{name}" hidden>{words(f"pending_{name}")}</span>' for name in names
    )
    return Markup(f'<p class="progress" role="status">{listed}</p>')


def _stop_notes(words: Words) -> Markup:
    """What deleting means before a sending was tried, and after it."""
    return Markup(
        f'<p class="quiet" data-when="untried">{words("pending_stop_sure")}</p>'
        f'<p class="quiet" data-when="tried" hidden>{words("pending_stop_unsure")}</p>'
    )
