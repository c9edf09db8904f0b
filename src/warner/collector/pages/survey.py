"""The survey page: a study as one HTML page with native controls, in one of its languages.

The page holds everything that it can say, so that ``survey.js`` has no words of its own and sets no
HTML. Three things keep an answer on the device where no script runs: the only button that could
submit is disabled, the form's method is "dialog", which submits nothing outside of a dialog, and
the policy of the page forbids its form to submit anywhere.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from warner._core.html import Markup, text
from warner.collector.pages.survey_states import states
from warner.collector.pages.words import LANGUAGES, Words, direction, words_of
from warner.collector.survey_document import integrity, survey_bytes
from warner.design.privacy_words import Strength, odds_of, strength
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.privacy.guarantees import LDP
from warner.studies.study import Study
from warner.studies.texts import Texts

# -----------------------------------------------------------------------------------------------
# The questions of a survey as native controls of HTML, by the kind of their domain.
#
# Each question is a ``fieldset`` with the question as its ``legend``. ``survey.js`` reads the
# answer by ``data-kind``: an index of a choice, a number, a cell, or a date. All messages stand in
# the page, hidden until they are needed, so that the script has no texts of its own.


MOST_RADIOS = 12  # more values are asked by a list that opens
SILENCE = "silence"  # the value of a control that stands for no answer


@dataclass(frozen=True)
class Question:
    """What is needed to ask one question in one language.

    Attributes:
        place: the prefix of the ids in the page, such as "q0".
        name: the attribute or the public column.
        domain: the values, without silence.
        silence: whether "no answer" is an answer.
        texts: the texts of the study.
        language: the language of the study's texts.
        words: those of the page.
        number: the line above the question.
    """

    place: str
    name: str
    domain: Domain
    silence: bool
    texts: Texts
    language: str
    words: Words
    number: Markup

    @property
    def label(self) -> str:
        """The text of the question."""
        return self.texts.question(self.name, self.language)

    @property
    def spec(self) -> dict[str, Any]:
        """The domain as JSON data."""
        return self.domain.spec()

    @property
    def help(self) -> str:
        """The hint below the question."""
        return self.texts.help(self.name, self.language)

    @property
    def unit(self) -> str:
        """The unit of a number."""
        return self.texts.unit(self.name)

    def html(self) -> Markup:
        """The question with its controls."""
        asked = self._asked()
        described = [f"{self.place}-help"] if self.help else []
        described.append(f"{self.place}-error")
        helped = Markup("")
        if self.help:
            lines = text(self.help).replace("\n", "<br>")
            helped = Markup(f'<p class="help" id="{self.place}-help">{lines}</p>\n')
        return Markup(
            f'<fieldset class="question" id="{self.place}" data-question="{text(self.name)}" '
            f'data-kind="{asked.kind}" aria-describedby="{" ".join(described)}">\n'
            f'<legend>{self.number}<span class="label">{text(self.label)}</span></legend>\n'
            f'{helped}<p class="error" id="{self.place}-error" hidden>{asked.error}</p>\n'
            f"{asked.controls}\n</fieldset>"
        )

    def _asked(self) -> _Asked:
        """The controls for the values of this question."""
        values = self._shown_values()
        if values is not None:
            few = len(values) + self.silence <= MOST_RADIOS
            return self._radios(values) if few else self._select(values)
        kind = self.spec["kind"]
        return {"grid": self._grid, "dates": self._date}.get(kind, self._number)()

    def _shown_values(self) -> Sequence[str] | None:
        """The texts of the values, where these are listed; None where they are numbers or cells."""
        spec = self.spec
        if spec["kind"] == "categorical":
            return self.texts.answers(self.name, self.language)[: self.domain.size]
        if spec["kind"] == "integers" and self.domain.size < MOST_RADIOS:
            unit = f"\N{NO-BREAK SPACE}{self.unit}" if self.unit else ""
            return [f"{value}{unit}" for value in range(spec["low"], spec["high"] + 1)]
        return None

    def _radios(self, values: Sequence[str]) -> _Asked:
        """One radio button for each value."""
        options = [(str(i), text(value)) for i, value in enumerate(values)]
        if self.silence:
            options.append((SILENCE, self.words("silence")))
        rows = [
            f'<label class="option" for="{self.place}-{i}"><input type="radio" '
            f'id="{self.place}-{i}" name="{self.place}" value="{value}" required> '
            f"<span>{shown}</span></label>"
            for i, (value, shown) in enumerate(options)
        ]
        controls = Markup('<div class="options">\n' + "\n".join(rows) + "\n</div>")
        return _Asked("choice", controls, self.words("error_choose"))

    def _select(self, values: Sequence[str]) -> _Asked:
        """A list that opens, for many values."""
        options = "\n".join(
            f'<option value="{i}">{text(value)}</option>' for i, value in enumerate(values)
        )
        if self.silence:
            silence = text(self.words.plain("silence"))
            options += f'\n<option value="{SILENCE}"{self.words.mark}>{silence}</option>'
        prompt = text(self.words.plain("select_prompt"))
        controls = Markup(
            f'<label class="field-label" for="{self.place}-0">{self.words("choose_one")}</label>\n'
            f'<select id="{self.place}-0" name="{self.place}" autocomplete="off" required>\n'
            f'<option value=""{self.words.mark}>{prompt}</option>\n{options}\n</select>'
        )
        return _Asked("choice", controls, self.words("error_choose"))

    def _number(self) -> _Asked:
        """A field for a number, with the limits of the domain."""
        spec = self.spec
        whole = spec["kind"] == "integers"
        shown = {key: self.words.decimal(spec[key]) for key in ("low", "high")}
        limits = (
            "" if spec.get("clip") else f' min="{_plain(spec["low"])}" max="{_plain(spec["high"])}"'
        )
        unit = (
            f' <span class="unit" id="{self.place}-unit">{text(self.unit)}</span>'
            if self.unit
            else ""
        )
        described = f' aria-describedby="{self.place}-unit"' if self.unit else ""
        required = "" if self.silence else " required"
        hint = self.words("number_range" if whole else "decimal_range", **shown)
        controls = Markup(
            f'<label class="field-label" for="{self.place}-0">{hint}</label>\n'
            f'<div class="number-field"><input type="number" id="{self.place}-0" '
            f'name="{self.place}" inputmode="{"numeric" if whole else "decimal"}" '
            f'step="{"1" if whole else "any"}"{limits} autocomplete="off"{described}{required}>'
            f"{unit}</div>\n{self._silence_box()}"
        )
        error = self.words("error_number" if whole else "error_decimal", **shown)
        return _Asked("number", controls, error)

    def _grid(self) -> _Asked:
        """Two lists that open: the row and the column of a cell, counted from 1."""
        spec = self.spec
        lists = "\n".join(
            f'<div><label class="field-label" for="{self.place}-{i}">'
            f"{self.words(f'grid_{axis}', count=spec[axis + 's'])}</label>\n"
            f'<select id="{self.place}-{i}" name="{self.place}-{axis}" autocomplete="off">\n'
            f'<option value="">\N{EN DASH}</option>\n'
            + "".join(f'<option value="{k}">{k + 1}</option>' for k in range(spec[axis + "s"]))
            + "\n</select></div>"
            for i, axis in enumerate(("row", "column"))
        )
        shown = text(self.words.plain("grid_cell", row="{row}", column="{column}"))
        controls = Markup(
            f'<div class="cell" data-shown="{shown}">\n{lists}\n</div>\n{self._silence_box()}'
        )
        return _Asked("grid", controls, self.words("error_grid"))

    def _date(self) -> _Asked:
        """A field for a date, of which only the day, the week or the month is sent."""
        unit = self.spec["unit"]
        hint = (
            self.words("number_answer")
            if unit == "day"
            else self.words("date_hint", unit=self.words.plain(f"unit_{unit}"))
        )
        controls = Markup(
            f'<label class="field-label" for="{self.place}-0">{hint}</label>\n'
            f'<input type="date" id="{self.place}-0" name="{self.place}" autocomplete="off" '
            "required>"
        )
        return _Asked("date", controls, self.words("error_date"))

    def _silence_box(self) -> Markup:
        """A box to tick instead of an answer, where silence is one."""
        if not self.silence:
            return Markup("")
        return Markup(
            f'<label class="option" for="{self.place}-silence"><input type="checkbox" '
            f'id="{self.place}-silence" name="{self.place}-silence" value="{SILENCE}"> '
            f"<span>{self.words('silence')}</span></label>"
        )


@dataclass(frozen=True)
class _Asked:
    """The controls of a question.

    Attributes:
        kind: how the script reads the answer.
        controls: the controls themselves.
        error: what is said when the answer is missing or out of range.
    """

    kind: str
    controls: Markup
    error: Markup


def _plain(number: float) -> str:
    """A number as HTML writes it."""
    return repr(number).removesuffix(".0")


# -----------------------------------------------------------------------------------------------
# What leaves a device, in words: the parts of the sealed report, and the law of each.
#
# All numbers are of the integers that the random draws are compared with, rounded against us. They
# are computed here and not on the device, which checks them: see ``warner.js``.


HEADER_BYTES = 36  # "WRN1" and the digest of the study
ID_BYTES = 16
INDEX_BYTES = 4  # the index of a public answer
_TOO_RARE = 10.0  # of 100 people: a report that fewer send is no example
_MOST_LISTED = 12  # sensitive answers that are named one by one


def report_bytes(study: Study) -> int:
    """The length of one person's sealed report with its header, in bytes."""
    answers = sum(mechanism.schema.bytes_per_report for mechanism in study.mechanisms.values())
    return HEADER_BYTES + ID_BYTES + INDEX_BYTES * len(study.public) + answers


def parts(study: Study, asked: list[Question], public: list[Question], words: Words) -> Markup:
    """The table of the parts of a report before it is made: how long each is, and what it tells."""
    rows = [
        _row(words("part_header"), HEADER_BYTES, words("part_header_meaning"), words),
        _row(*_id_words(study, words), words),
    ]
    rows += [
        _row(text(question.label), INDEX_BYTES, words("part_public_meaning"), words)
        for question in public
    ]
    for question in asked:
        mechanism = study.mechanisms[question.name]
        sentences = " ".join([words("part_answer_meaning"), *law(mechanism, question)])
        meaning = Markup(f'{sentences} <span class="epsilon">{_epsilon(mechanism, words)}</span>')
        rows.append(_row(text(question.label), mechanism.schema.bytes_per_report, meaning, words))
    return Markup(
        f'<table class="parts"><caption>{words("leaves_caption")}</caption>\n'
        f'<thead><tr><th scope="col">{words("part")}</th><th scope="col">{words("size")}</th>'
        f'<th scope="col">{words("meaning")}</th></tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table>"
    )


def bytes_sent(study: Study, asked: list[Question], public: list[Question], words: Words) -> Markup:
    """The same parts with room for their bytes, which ``survey.js`` fills in once they are made.

    Each room says in ``data-bytes`` where its part begins and ends.
    """
    name, _, _ = _id_words(study, words)
    lengths = [(words("part_header"), HEADER_BYTES), (name, ID_BYTES)]
    lengths += [(text(question.label), INDEX_BYTES) for question in public]
    lengths += [
        (text(question.label), study.mechanisms[question.name].schema.bytes_per_report)
        for question in asked
    ]
    rows, start = [], 0
    for label, length in lengths:
        rows.append(
            f'<tr><th scope="row">{label}</th>'
            f'<td><code class="bytes" data-bytes="{start}-{start + length}"></code></td></tr>'
        )
        start += length
    return Markup(
        f'<table class="parts sent-bytes"><caption>{words("leaves_caption_sent")}</caption>\n'
        f'<thead><tr><th scope="col">{words("part")}</th>'
        f'<th scope="col">{words("sent_bytes")}</th></tr></thead>\n<tbody>\n'
        + "\n".join(rows)
        + "\n</tbody></table>"
    )


def law(mechanism: Mechanism, question: Question) -> list[Markup]:
    """What a report tells of one answer, as sentences."""
    words, promised = question.words, mechanism.guarantee
    total = promised.total
    factor = words.at_most(math.exp(min(promised.epsilon, 700.0)))
    if promised.sensitive is not None:
        return [_sensitive(mechanism, question, factor)]
    if promised.is_metric:
        far = (
            words("law_metric_far", factor=words.at_most(math.exp(total)))
            if strength(promised) < Strength.NONE
            else words("law_metric_open")
        )
        return [words("law_metric", factor=factor), far]
    if strength(promised) is Strength.NONE:
        return [words("law_weak")]
    if promised.delta is not None:
        return [words("law_delta", factor=factor, delta=words.at_most(promised.delta, 2))]
    sure = words.at_most(100 / (1 + math.exp(-total)))
    return [*_example(mechanism, question), words("law_bound", factor=factor, certainty=sure)]


def total_epsilon(study: Study, words: Words) -> str:
    """The epsilon of all reports of a person together, rounded up."""
    return words.at_most(study.epsilon)


def _row(label: Markup, length: int, meaning: Markup, words: Words) -> str:
    """One row of the table of parts; the unit is shown where the head of the table is not."""
    unit = words("byte") if length == 1 else words("bytes")
    size = f'{length} <span class="narrow">{unit}</span>'
    return f'<tr><th scope="row">{label}</th><td>{size}</td><td>{meaning}</td></tr>'


def _id_words(study: Study, words: Words) -> tuple[Markup, int, Markup]:
    """What the number of a report is called and tells, by who may answer."""
    key = "part_id_invited" if study.collect.access == "invited" else "part_id"
    return words(key), ID_BYTES, words(f"{key}_meaning")


def _epsilon(mechanism: Mechanism, words: Words) -> Markup:
    """The epsilon of one report, rounded up."""
    promised = mechanism.guarantee
    key = "epsilon_per_unit" if promised.is_metric else "epsilon"
    return words(key, epsilon=words.at_most(promised.epsilon))


def _sensitive(mechanism: Mechanism, question: Question, factor: str) -> Markup:
    """What is told where some answers alone are protected."""
    words, mask = question.words, mechanism.sensitive_mask
    listed = [] if mask is None else [i for i in range(len(mask)) if mask[i]]
    if len(listed) > _MOST_LISTED:
        return words("law_sensitive_many", factor=factor, count=len(listed))
    answers = ", ".join(_shown(question, i) for i in listed)
    return words("law_sensitive", factor=factor, answers=answers)


def _example(mechanism: Mechanism, question: Question) -> list[Markup]:
    """The report that tells two answers apart most, as numbers of people.

    Where that report is rare or none is listed, room for the same sentence about all reports that
    speak for an answer: ``warner.js`` computes its numbers from the integers of the program.
    """
    if question.spec["kind"] not in ("categorical", "integers"):
        return []
    words, odds = question.words, odds_of(mechanism)
    if odds.sent is None or odds.sent_by_other is None or odds.sent < _TOO_RARE:
        template = text(words.plain("law_example_here", **_ROOM, answer=_shown(question, 0)))
        law_of = f'data-law="{text(question.name)}" data-text="{template}"'
        return [Markup(f"<span {law_of}{words.mark} hidden></span>")]
    places = mechanism.domain.encode([odds.answer, odds.other]).tolist()
    answer, other = (_shown(question, place) for place in places)
    sent, by_other = (words.of_hundred(n / 100) for n in (odds.sent, odds.sent_by_other))
    return [words("law_example", answer=answer, sent=sent, other=other, sent_by_other=by_other)]


# What the script puts into the sentence.
_ROOM = {"of": "{of}", "same": "{same}", "other": "{other}"}


def _shown(question: Question, index: int) -> str:
    """The displayed text of a value or of silence."""
    if index >= question.domain.size:
        return question.words.plain("silence")
    return question.texts.answer(question.name, index, question.language)


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
