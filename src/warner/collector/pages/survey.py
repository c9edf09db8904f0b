"""The survey page: a study as one HTML page with native controls, in one of its languages.

The page holds everything that it can say, so that ``survey.js`` has no words of its own and sets no
HTML. Three things keep an answer on the device where no script runs: the only button that could
submit is disabled, the form's method is "dialog", which submits nothing outside of a dialog, and
the policy of the page forbids its form to submit anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from warner._core.html import Markup, text
from warner.collector.pages.survey_leaves import (
    bytes_sent,
    parts,
    report_bytes,
    total_epsilon,
)
from warner.collector.pages.survey_questions import Question
from warner.collector.pages.survey_states import states
from warner.collector.pages.words import LANGUAGES, Words, direction, words_of
from warner.collector.survey_document import integrity, survey_bytes
from warner.design.privacy_words import Strength, strength
from warner.privacy.guarantees import LDP
from warner.studies.study import Study

_CODE_LENGTH = 24  # letters of a code, with marks between them
_STATIC = ("collector", "static")
_CURRENT = ' aria-current="page"'


def survey_page(study: Study, language: str | None = None) -> str:
    """The page that asks the questions of a study.

    >>> study = Study.parse('''
    ... title = "Smoking"
    ... [attributes.smokes]
    ... label = "Do you smoke?"
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> page = survey_page(study)
    >>> "Of 100 people whose answer is “no”, 73 send the report that speaks most for it" in page
    True
    """
    tag = chosen_language(study, language)
    words, texts = Words(tag), study.texts
    count = len(study.mechanisms)
    asked = [
        Question(
            place=f"q{i}",
            name=name,
            domain=mechanism.domain.answered,
            silence=mechanism.domain.silence is not None,
            texts=texts,
            language=tag,
            words=words,
            number=_number(i, count, words),
        )
        for i, (name, mechanism) in enumerate(study.mechanisms.items())
    ]
    public = [
        Question(f"p{i}", name, domain, False, texts, tag, words, Markup(""))
        for i, (name, domain) in enumerate(study.public.items())
    ]
    title = texts.title(tag) or words.plain("untitled")
    digest = hashlib.sha256(survey_bytes(study)).hexdigest()
    return f"""<!DOCTYPE html>
<html lang="{text(tag)}" dir="{direction(tag)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{text(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="survey.css">
<link rel="modulepreload" href="outbox.js" integrity="{integrity(*_STATIC, "outbox.js")}">
<link rel="modulepreload" href="warner.js" integrity="{integrity("browser", "warner.js")}">
<script type="module" src="survey.js" integrity="{integrity(*_STATIC, "survey.js")}"></script>
</head>
<body data-fingerprint="{digest}" data-error-prefix="{text(words.plain("error_prefix"))}">
<a class="skip" href="#questions">{words("skip")}</a>
<header>
<p class="badge">{_SHIELD if _badge(study) == "badge" else ""}{words(_badge(study))}</p>
{_languages(study, tag, words)}
</header>
<main id="main">
<h1>{text(title)}</h1>
{_introduction(texts.introduction(tag))}
{_promise(study, tag, words)}
<p class="progress" id="loading" role="status" hidden>{words("loading")}</p>
<div class="notice" id="left-over" hidden>
<p>{words("left_over")}</p>
<p><button type="button" data-action="drop-left-over">{words("left_over_delete")}</button></p>
</div>
<p class="notice" id="cleared" role="status" tabindex="-1" hidden>{words("cleared")}</p>
<div class="errors" id="errors" role="alert" aria-labelledby="errors-title" tabindex="-1" hidden>
<h2 id="errors-title">{words("error_title")}</h2>
<p>{words("error_intro")}</p>
<ul></ul>
</div>
{_form(study, asked, public, words)}
{_review(study, asked, public, words)}
{_states(study, asked, public, words)}
</main>
{_footer(study, digest, words)}
</body>
</html>
"""


def chosen_language(study: Study, language: str | None) -> str:
    """The study's language that was asked for, or its first one."""
    wanted = (language or "").lower()
    return next((tag for tag in study.languages if tag.lower() == wanted), study.languages[0])


# The outline of a shield; the words beside it say the same.
_SHIELD = Markup(
    '<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">'
    '<path fill="currentColor" d="M12 1 3 5v6c0 5.6 3.8 10.7 9 12 5.2-1.3 9-6.4 9-12V5l-9-4zm-1.2 '
    '15.6-4.2-4.2 1.6-1.6 2.6 2.6 5.2-5.2 1.6 1.6-6.8 6.8z"/></svg>'
)


def _number(i: int, count: int, words: Words) -> Markup:
    """The line above a question."""
    if count == 1:
        return Markup("")
    shown = words("question_number", number=i + 1, count=count)
    return Markup(f'<span class="number">{shown}</span> ')


def _languages(study: Study, tag: str, words: Words) -> str:
    """Links to the page in the study's languages, where there are several."""
    if len(study.languages) == 1:
        return ""
    links = "\n".join(
        f'<li><a href="?lang={text(other)}" lang="{text(other)}" hreflang="{text(other)}"'
        f"{_CURRENT if other == tag else ''}>{text(_language_name(other))}</a></li>"
        for other in study.languages
    )
    name = text(words.plain("languages"))
    return f'<nav class="languages" aria-label="{name}"><ul>\n{links}\n</ul></nav>'


def _language_name(tag: str) -> str:
    """How a language calls itself; its tag where the page has no words in it."""
    base, _, rest = tag.partition("-")
    if base not in LANGUAGES:
        return _NAMES.get(base, tag)
    return words_of(base)["language_name"] + (f" ({rest})" if rest else "")


# Languages of many studies, as they call themselves.
_NAMES = {
    "ar": "العربية",
    "cs": "Čeština",
    "da": "Dansk",
    "el": "Ελληνικά",
    "es": "Español",
    "fa": "فارسی",
    "fi": "Suomi",
    "fr": "Français",
    "he": "עברית",
    "hi": "हिन्दी",
    "hu": "Magyar",
    "it": "Italiano",
    "ja": "日本語",
    "ko": "한국어",
    "nl": "Nederlands",
    "no": "Norsk",
    "pl": "Polski",
    "pt": "Português",
    "ro": "Română",
    "ru": "Русский",
    "sv": "Svenska",
    "sw": "Kiswahili",
    "tr": "Türkçe",
    "uk": "Українська",
    "ur": "اردو",
    "vi": "Tiếng Việt",
    "zh": "中文",
}


def _introduction(introduction: str) -> str:
    """The owner's text above the questions, by paragraphs."""
    paragraphs = [part.strip() for part in introduction.replace("\r\n", "\n").split("\n\n")]
    return "\n".join(
        f'<p class="introduction">{text(part).replace(chr(10), "<br>")}</p>'
        for part in paragraphs
        if part
    )


def _promises(study: Study) -> list[str]:
    """What may be promised, and what has to be added: ``promisesOf`` of warner.js says the same.

    First how well answers are hidden, ``strong``, or which less than that occur; ``together`` where
    all answers together are hidden less than the one that is hidden least.
    """
    promised = [mechanism.guarantee for mechanism in study.mechanisms.values()]
    levels = {strength(each) for each in promised}
    least = max(levels)
    below = sorted(levels - {Strength.STRONG}, reverse=True) or [Strength.STRONG]
    conditions = {
        "together": strength(LDP(study.epsilon)) > least,
        "sensitive": any(each.sensitive is not None for each in promised),
        "public": bool(study.public),
    }
    return [level.name.lower() for level in below] + [
        key for key, is_so in conditions.items() if is_so
    ]


def _badge(study: Study) -> str:
    """The key of the words at the top of the page."""
    return "badge_hardly" if "none" in _promises(study) else "badge"


def _concerned(study: Study, level: str, tag: str, words: Words) -> str:
    """Which questions hide their answers no better than this; "" where all of them do so."""
    names = [n for n, m in study.mechanisms.items() if strength(m.guarantee).name.lower() == level]
    if not 0 < len(names) < len(study.mechanisms):
        return ""
    questions = "; ".join(study.texts.question(name, tag) for name in names)
    return f" {words('promise_concerns', questions=questions)}"


def _promise(study: Study, tag: str, words: Words) -> str:
    """How answers are protected and which are not, and why nothing happens without a script."""
    promises = _promises(study)
    told = [words("promise_start")]
    for key in promises:
        concerned = "" if key == "strong" else _concerned(study, key, tag, words)
        told.append(Markup(f"{words(f'promise_{key}')}{concerned}"))
    badge, kind = text(words.plain(_badge(study))), " hardly" if "none" in promises else ""
    paragraphs = "\n".join(f"<p>{sentences}</p>" for sentences in told)
    return f"""<aside class="promise{kind}" id="promise" data-promises="{" ".join(promises)}"
aria-label="{badge}"{words.mark}>
{paragraphs}
</aside>
<noscript><p class="notice">{words("no_script")}</p></noscript>"""


def _form(study: Study, asked: list[Question], public: list[Question], words: Words) -> str:
    """The questions, with buttons that a script makes work."""
    code = ""
    if study.collect.access == "invited":
        code = (
            f'<fieldset class="question" id="code" aria-describedby="code-help code-error">\n'
            f'<legend><span class="label">{words("code_title")}</span></legend>\n'
            f'<p class="help" id="code-help">{words("code_help")}</p>\n'
            f'<p class="error" id="code-error" hidden>{words("code_error")}</p>\n'
            f'<label class="field-label" for="code-0">{words("code_label")}</label>\n'
            f'<input type="text" id="code-0" name="code-0" class="code" maxlength="{_CODE_LENGTH}" '
            'autocomplete="off" autocapitalize="characters" autocorrect="off" spellcheck="false" '
            'dir="ltr">\n</fieldset>'
        )
    open_part = ""
    if public:
        open_part = (
            f'<div class="public" role="group" aria-labelledby="public-title">\n'
            f'<h2 id="public-title">{words("public_title")}</h2>\n'
            f'<p class="notice">{words("public_note")}</p>\n{_all(public)}\n</div>'
        )
    return f"""<form id="questions" method="dialog" autocomplete="off" novalidate tabindex="-1"
aria-label="{text(words.plain("protected_title"))}"{words.mark}>
{_warnings(study, words)}{code}
{_all(asked)}
{open_part}
<div class="buttons">
<button type="submit" class="primary" id="continue" disabled>{words("continue")}</button>
<button type="button" id="clear" data-action="clear" disabled>{words("clear")}</button>
</div>
<p class="quiet">{words("continue_note")}</p>
</form>"""


def _warnings(study: Study, words: Words) -> str:
    """What keeps people from a second report, where a browser keeps nothing or has made one."""
    names = ["keeps_nothing", *(["already"] if study.collect.access == "invited" else [])]
    return "".join(
        f'<p class="notice" data-when="{name.replace("_", "-")}" hidden>{words(name)}</p>\n'
        for name in names
    )


def _all(questions: Iterable[Question]) -> str:
    return "\n".join(question.html() for question in questions)


def _review(study: Study, asked: list[Question], public: list[Question], words: Words) -> str:
    """The answers once more, what will leave the device, and the button that sends."""
    open_mark = f' <span class="tag">{words("review_public")}</span>'
    rows = [(question, "") for question in asked] + [(question, open_mark) for question in public]
    answers = "\n".join(
        f'<div><dt>{text(question.label)}{mark}</dt><dd data-review="{question.place}"></dd></div>'
        for question, mark in rows
    )
    invited = study.collect.access == "invited"
    once = "before_once_code" if invited else "before_once_browser"
    final = "before_send_invited" if invited else "before_send"
    asks = f"<p>{words('leaves_asks')}</p>\n" if invited else ""
    return f"""<section id="review" tabindex="-1" aria-labelledby="review-title" hidden>
<h2 id="review-title">{words("review_title")}</h2>
<p class="quiet">{words("review_note")}</p>
<dl class="answers">
{answers}
</dl>
<section class="leaves" aria-labelledby="leaves-title">
<h2 id="leaves-title">{words("leaves_title")}</h2>
{asks}<p>{words("leaves_intro", bytes=report_bytes(study))}</p>
{parts(study, asked, public, words)}
<p><strong>{words("total", epsilon=total_epsilon(study, words))}</strong></p>
<p>{words("computed")}</p>
<p>{words("address")}</p>
</section>
<section class="before" aria-labelledby="before-title">
<h2 id="before-title">{words("before_title")}</h2>
<ul>
<li>{words(final)}</li>
<li>{words("before_once")}</li>
<li>{words(once)}</li>
</ul>
{_warnings(study, words)}<div class="buttons">
<button type="button" class="primary" id="send" data-action="send">{words("send")}</button>
<button type="button" data-action="back">{words("back")}</button>
<button type="button" data-action="clear">{words("stop")}</button>
</div>
</section>
</section>"""


def _states(study: Study, asked: list[Question], public: list[Question], words: Words) -> str:
    """The panels of everything that comes after the questions."""
    invited = study.collect.access == "invited"
    return states(bytes_sent(study, asked, public, words), invited, words)


def _footer(study: Study, digest: str, words: Words) -> str:
    """Who asks, until when, and the fingerprint by which people know that it is the same survey."""
    collect = study.collect
    times = ""
    for key, moment in (("opens", collect.opens), ("closes", collect.closes)):
        if moment is not None:
            shown = moment.strftime("%Y-%m-%d %H:%M %Z").strip()
            times += f'<p><time datetime="{moment.isoformat()}">{words(key, time=shown)}</time></p>'
    contact = f"<p>{words('contact')} {_contact(collect.contact)}</p>" if collect.contact else ""
    return f"""<footer>
<h2>{words("footer_title")}</h2>
{contact}{times}
<p>{words("fingerprint")}: <code class="bytes">{_grouped(digest)}</code></p>
<p class="quiet">{words("fingerprint_note")}</p>
<p>{words("source")} <a href="study.json">study.json</a>, <a href="warner.js">warner.js</a></p>
</footer>"""


def _contact(contact: str) -> Markup:
    """Whom people can ask; an address of e-mail is a link."""
    shown = text(contact)
    name, at, host = contact.partition("@")
    is_mail = bool(name and at and "." in host) and not any(sign in contact for sign in " <>\"'?&:")
    return Markup(f'<a href="mailto:{shown}">{shown}</a>') if is_mail else shown


def _grouped(digits: str) -> str:
    """Hexadecimal digits in groups of four, which lines may break between."""
    return " ".join(digits[i : i + 4] for i in range(0, len(digits), 4))
