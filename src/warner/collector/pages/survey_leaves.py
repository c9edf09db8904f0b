"""What leaves a device, in words: the parts of the sealed report, and the law of each.

All numbers are of the integers that the random draws are compared with, rounded against us. They
are computed here and not on the device, which checks them: see ``warner.js``.
"""

from __future__ import annotations

import math

from warner._core.html import Markup, text
from warner.collector.pages.survey_questions import Question
from warner.collector.pages.words import Words
from warner.design.privacy_words import Strength, strength
from warner.design.proposal_odds import odds_of
from warner.mechanisms import Mechanism
from warner.studies.study import Study

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
