"""The survey page: a study as one HTML page with native controls, in one of its languages.

The page holds everything that it can say, so that ``survey.js`` has no words of its own and sets no
HTML. Three things keep an answer on the device where no script runs: the only button that could
submit is disabled, the form's method is "dialog", which submits nothing outside of a dialog, and
the policy of the page forbids its form to submit anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from warner.collector.access import ID_BYTES
from warner.collector.pages import render
from warner.collector.pages.wording import Words, WordsFile
from warner.collector.scripts import integrity
from warner.collector.submissions import HEAD_BYTES, INDEX_BYTES
from warner.collector.survey_document import (
    draw_of,
    epsilon_of_all,
    fingerprint,
    part_of,
    questions_of,
    survey_bytes,
    survey_digest,
)
from warner.collector.tokens import TOKEN_BYTES
from warner.design.privacy_words import (
    Strength,
    dots_of,
    largest,
    odds_of,
    strength,
)
from warner.domains import Domain
from warner.mechanisms import Mechanism, OneOf, Optimal, PerAttribute, Permanent
from warner.mechanisms.one_of import of_changed_answers
from warner.privacy.guarantees import LDP, Guarantee, compose
from warner.reports.block_schema import BLOCK
from warner.studies.study import Study
from warner.studies.texts import Texts

# -----------------------------------------------------------------------------------------------
# The questions. ``templates/question.html`` shows each as a native control of HTML.


def plain_number(number: float) -> str:
    """A number as HTML writes it."""
    return repr(number).removesuffix(".0")


_LONGEST_SCALE = 11  # numbers that stand in a row on a phone
MOST_RADIOS = 12  # more values are asked by a list that opens
NONRESPONSE = "silence"  # the value of a control that stands for no answer


@dataclass(frozen=True)
class Question:
    """What is needed to ask one question in one language."""

    id: str  # the prefix of the ids in the page, such as "q0"
    name: str  # the attribute or the public column
    domain: Domain  # the values, without nonresponse
    nonresponse: bool  # whether "no answer" is an answer
    texts: Texts
    language: str  # the language of the study's texts
    words: Words  # those of the page

    @property
    def label(self) -> str:
        """The text of the question."""
        return self.texts.question(self.name, self.language)

    @property
    def help(self) -> str:
        """The hint below the question."""
        return self.texts.help(self.name, self.language)

    @property
    def unit(self) -> str:
        """The unit of a number."""
        return self.texts.unit(self.name)

    def condition(self, questions: Iterable[Question]) -> tuple[str, list[int]] | None:
        """The field that decides whether this one is shown, and which of its choices show it."""
        stated = self.texts.only_if(self.name)
        if stated is None:
            return None
        other = next(one for one in questions if one.name == stated[0])
        return other.id, [other.spec["values"].index(label) for label in stated[1]]

    @property
    def spec(self) -> dict[str, Any]:
        """The domain as JSON data."""
        return self.domain.spec()

    @property
    def is_whole(self) -> bool:
        """Whether the answers are whole numbers."""
        return bool(self.spec["kind"] == "integers")

    @property
    def answers(self) -> Sequence[str] | None:
        """The texts of the values, where these are listed; None where they are numbers or cells."""
        spec = self.spec
        if spec["kind"] == "categorical":
            return self.texts.answers(self.name, self.language)[: self.domain.size]
        if self.is_whole and self.domain.size < MOST_RADIOS:
            unit = f"\N{NO-BREAK SPACE}{self.unit}" if self.unit else ""
            return [f"{value}{unit}" for value in range(spec["low"], spec["high"] + 1)]
        return None

    @property
    def is_long(self) -> bool:
        """Whether the answers are a list that opens, and no radio buttons."""
        return len(self.answers or ()) + self.nonresponse > MOST_RADIOS

    @property
    def is_scale(self) -> bool:
        """Whether the answers are numbers that stand in a row, as on a scale from 0 to 10."""
        return self.is_whole and not self.unit and 3 <= self.domain.size <= _LONGEST_SCALE

    @property
    def kind(self) -> str:
        """How ``survey.js`` reads the answer."""
        if self.answers is not None:
            return "choice"
        return {"grid": "grid", "dates": "date"}.get(self.spec["kind"], "number")

    def answer(self, index: int) -> str:
        """The displayed text of a value or of nonresponse."""
        if index >= self.domain.size:
            return self.words.plain("silence")
        return self.texts.answer(self.name, index, self.language)


# -----------------------------------------------------------------------------------------------
# What leaves a device, in words: the parts of the sealed report, and the law of each.
#
# All numbers are of the integers that the random draws are compared with, rounded against us. They
# are computed here and not on the device, which checks them: see ``warner.js``.


_TOO_RARE = 10.0  # of 100 people: a report that fewer send is no example
_MOST_LISTED = 12  # sensitive answers that are named one by one


@dataclass(frozen=True)
class Part:
    """A part of one person's sealed report: its bytes, and what they tell."""

    label: str | Markup
    start: int
    length: int
    meaning: Markup

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.length


def _kind_of(study: Study) -> str:
    """The end of the names of words that depend on how people are let in."""
    return {"invited": "_invited", "tokens": "_tokens"}.get(str(study.collect.access), "")


def parts(
    study: Study, protected: Sequence[Question], public: Sequence[Question], words: Words
) -> list[Part]:
    """The parts of a report in their order; the first is the head of the body."""
    kind, tokens = _kind_of(study), study.collect.tokens
    listed: list[tuple[str | Markup, int, Markup]] = [
        (words("part_header"), HEAD_BYTES, words("part_header_meaning")),
        (
            words(f"part_id{kind}"),
            ID_BYTES if tokens is None else TOKEN_BYTES,
            words(f"part_id{kind}_meaning", issuer=tokens and tokens.issuer),
        ),
        *((column.label, INDEX_BYTES, words("part_public_meaning")) for column in public),
    ]
    if (draw := draw_of(study)) is not None:
        listed += _parts_of_draw(draw, study.collect.has_codes, protected, words)
    else:
        for question in protected:
            mechanism = study.mechanisms[question.name]
            sentences = [words("part_answer_meaning"), *law(mechanism, question)]
            meaning = _meaning(sentences, mechanism, words)
            listed.append((question.label, mechanism.schema.bytes_per_report, meaning))
    made: list[Part] = []
    for label, length, meaning in listed:
        made.append(Part(label, made[-1].end if made else 0, length, meaning))
    return made


def _meaning(sentences: Sequence[Markup], mechanism: Mechanism, words: Words) -> Markup:
    """What the bytes of a report tell, with their epsilon."""
    promised = mechanism.guarantee
    unit = "epsilon_per_unit" if promised.is_metric else "epsilon"
    return Markup('{} <span class="epsilon">{}</span>').format(
        Markup(" ").join(sentences), words(unit, epsilon=words.at_most(promised.epsilon))
    )


def _parts_of_draw(
    draw: OneOf, has_codes: bool, protected: Sequence[Question], words: Words
) -> Iterator[tuple[str | Markup, int, Markup]]:
    """The parts of a report on a block that was drawn; ``survey.js`` shows what is said of it."""
    by_name = {question.name: question for question in protected}
    odds: dict[Markup, list[int]] = {}
    meanings: dict[Markup, list[int]] = {}
    most = max(schema.file_width for schema in draw.schema.parts.values())
    for i, (names, (name, inner)) in enumerate(zip(draw.blocks, draw.parts.items(), strict=True)):
        questions = [by_name[one] for one in names]
        share = words.of_hundred(draw.odds[i] / 2**64)
        said = [*_law_of_block(inner, questions, words)]
        if draw.schema.parts[name].file_width < most:
            said.append(words("part_unused"))
        odds.setdefault(words("part_block_odds", share=share), []).append(i)
        meanings.setdefault(_meaning(said, inner, words), []).append(i)
    kind = "part_block_meaning" + ("_invited" if has_codes else "")
    length = draw.schema.empty(1)[BLOCK].nbytes
    yield (
        words("part_block"),
        length,
        Markup("{} {}").format(words(kind), _of_blocks(odds)),
    )
    label = Markup('<span data-fill="asked"></span>')
    yield label, draw.schema.bytes_per_report - length, _of_blocks(meanings)


def _of_blocks(sentences: dict[Markup, list[int]]) -> Markup:
    """What is said of each block, hidden until the block is drawn."""
    one = Markup('<span data-blocks="{}" hidden>{}</span>')
    return Markup("").join(
        one.format(" ".join(map(str, blocks)), said) for said, blocks in sentences.items()
    )


def _law_of_block(
    mechanism: Mechanism, questions: Sequence[Question], words: Words
) -> Iterator[Markup]:
    """What a report tells of the answers to the questions of one block, as sentences."""
    if len(questions) == 1:
        yield words("part_answer_meaning")
        yield from law(mechanism, questions[0], drawn=True)
        return
    if isinstance(mechanism, PerAttribute):
        yield words("part_answers_meaning_each")
        for question in questions:
            sentences = law(part_of(mechanism, question.name), question, drawn=True)
            yield Markup("{} — {}").format(question.label, Markup(" ").join(sentences))
        return
    yield words("part_answers_meaning")
    promised = mechanism.guarantee
    if strength(promised) is Strength.NONE:
        yield words("law_weak")
        return
    factor = words.at_most(math.exp(promised.total))
    sure = words.at_most(100 / (1 + math.exp(-promised.total)))
    yield words("law_bound_together", factor=factor, certainty=sure)


def _together(study: Study, words: Words) -> list[Markup]:
    """What all reports of a person tell together; [] where it differs from answer to answer."""
    if study.round is not None:
        return _of_rounds(study, words)
    mechanisms = study.mechanisms.values() if study.draw is None else [study.draw]
    each = [mechanism.guarantee for mechanism in mechanisms]
    if any(g.sensitive is not None or g.is_metric or g.delta is not None for g in each):
        return []
    promised = compose(each)
    if strength(promised) is Strength.NONE:
        return [words("law_weak")]
    factor = words.at_most(math.exp(promised.total))
    sure = words.at_most(100 / (1 + math.exp(-promised.total)))
    return [words("total_bound", factor=factor, certainty=sure)]


_DOTS = 100  # people in the picture
_ROW = 20  # people in a row of it


def _picture(study: Study, protected: Sequence[Question], words: Words) -> Markup:
    """100 people with each of two answers as dots, those filled who send the same report."""
    if draw_of(study) is not None:
        return Markup("")
    for question in protected:
        mechanism = study.mechanisms[question.name]
        odds = odds_of(mechanism)
        if (
            question.spec["kind"] not in ("categorical", "integers")
            or isinstance(mechanism, Optimal)
            or odds.sent is None
            or odds.sent_by_other is None
            or odds.sent < _TOO_RARE
        ):
            continue
        encoded = mechanism.domain.encode([odds.answer, odds.other])
        answer, other = (question.answer(int(x)) for x in encoded)
        dot = Markup('<circle cx="{}" cy="{}" r="4" class="{}"/>')
        rows = Markup("").join(
            Markup('<p>{}</p><svg viewBox="0 0 {} {}" aria-hidden="true">{}</svg>').format(
                label,
                10 * _ROW,
                10 * (_DOTS // _ROW),
                Markup("").join(
                    dot.format(10 * (i % _ROW) + 5, 10 * (i // _ROW) + 5, "on" if i < n else "off")
                    for i in range(_DOTS)
                ),
            )
            for label, n in ((answer, round(odds.sent)), (other, round(odds.sent_by_other)))
        )
        filled = {
            "question": question.label,
            "answer": answer,
            "sent": words.of_hundred(odds.sent / 100),
            "other": other,
            "sent_by_other": words.of_hundred(odds.sent_by_other / 100),
        }
        figure = '<figure class="people">{}<figcaption>{}</figcaption></figure>'
        return Markup(figure).format(rows, words("picture", **filled))
    return Markup("")


def _of_rounds(study: Study, words: Words) -> list[Markup]:
    """What the reports of one round, of all rounds and of any number tell, in odds."""
    values, _ = of_changed_answers(study.permanent)

    def odds(of_each: Callable[[Permanent], Guarantee]) -> str:
        promised = largest([compose(map(of_each, m.values())) for m in study.permanent])
        return words.at_most(math.exp(min(promised.total, 700.0)))

    sentences = [
        words(
            "rounds_bound",
            round=words.decimal(study.round or 1),
            rounds=words.decimal(study.rounds),
            one=odds(lambda m: m.guarantee),
            many=odds(lambda m: m.of_rounds(study.rounds)),
            ever=odds(lambda m: m.of_rounds(None)),
        )
    ]
    if values > 1:
        most = odds(lambda m: m.of_values())
        sentences.append(words("rounds_values", values=words.count(values), most=most))
    return [*sentences, words("rounds_change")]


def law(mechanism: Mechanism, question: Question, drawn: bool = False) -> list[Markup]:
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
    example = _example(mechanism, question, drawn)
    return [*example, words("law_bound", factor=factor, certainty=sure)]


def _sensitive(mechanism: Mechanism, question: Question, factor: str) -> Markup:
    """What is told where some answers alone are protected."""
    words, mask = question.words, mechanism.sensitive_mask
    listed = [] if mask is None else [i for i in range(len(mask)) if mask[i]]
    if len(listed) > _MOST_LISTED:
        return words("law_sensitive_many", factor=factor, count=len(listed))
    return words("law_sensitive", factor=factor, answers=", ".join(map(question.answer, listed)))


def _commonest(mechanism: Optimal, question: Question) -> Iterator[Markup]:
    """The report that is sent most, as numbers of people and as dots of the answers."""
    table = mechanism.probabilities().astype(float)
    report = int(table.mean(axis=1).argmax())
    favoured = np.flatnonzero(table[report] > table[report].mean())
    labels = [question.answer(int(x)) for x in (favoured[0], table[report].argmin())]
    sent, by_other = (
        question.words.of_hundred(float(p)) for p in (table[report].max(), table[report].min())
    )
    yield question.words(
        "law_example", answer=labels[0], sent=sent, other=labels[1], sent_by_other=by_other
    )
    listed = ", ".join(question.answer(int(x)) for x in favoured)
    dots = '<span class="dots" role="img" aria-label="{}">{}</span>'
    yield Markup(dots).format(listed, dots_of(mechanism, report))


def _example(mechanism: Mechanism, question: Question, drawn: bool) -> Iterator[Markup]:
    """The report that tells two answers apart most, as numbers of people."""
    if question.spec["kind"] not in ("categorical", "integers"):
        return
    words, odds = question.words, odds_of(mechanism)
    if isinstance(mechanism, Optimal):
        yield from _commonest(mechanism, question)
        return
    if odds.sent is None or odds.sent_by_other is None or odds.sent < _TOO_RARE:
        # Where that report is rare or none is listed, warner.js computes the numbers from the
        # program. Those of a block that is drawn have no room.
        if drawn:
            return
        room = {key: f"{{{key}}}" for key in ("of", "same", "other")}  # for the script
        sentence = words.plain("law_example_here", **room, answer=question.answer(0))
        empty = Markup('<span data-law="{}" data-text="{}" hidden></span>')
        yield empty.format(question.name, sentence)
        return
    answer, other = map(question.answer, mechanism.domain.encode([odds.answer, odds.other]))
    sent, by_other = (words.of_hundred(n / 100) for n in (odds.sent, odds.sent_by_other))
    yield words("law_example", answer=answer, sent=sent, other=other, sent_by_other=by_other)


# -----------------------------------------------------------------------------------------------
# The page.


def survey_page(
    study: Study,
    language: str | None = None,
    translations: Mapping[str, WordsFile] | None = None,
    preview: bool = False,
    brand: Collection[str] = (),
) -> str:
    """The page that asks the questions of a study, with translations before the words of warner.

    A preview says that nothing is counted; ``brand`` names what the page loads of its owner.

    >>> study = Study.parse('''
    ... title = "Smoking"
    ... [attributes.smokes]
    ... label = "Do you smoke?"
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> page = survey_page(study)
    >>> "Of 100 people whose answer is “no”, 73 send the report that points to “no”" in page
    True
    """
    tag = chosen_language(study, language)
    words, texts, draw = Words(tag, translations), study.texts, draw_of(study)
    tokens = study.collect.tokens
    protected = [
        Question(
            id=f"q{i}",
            name=question.name,
            domain=question.domain.answered,
            nonresponse=question.domain.nonresponse is not None,
            texts=texts,
            language=tag,
            words=words,
        )
        for i, question in enumerate(questions_of(study))
    ]
    public = [
        Question(f"p{i}", name, domain, False, texts, tag, words)
        for i, (name, domain) in enumerate(study.public.items())
    ]
    return render(
        "survey",
        study=study,
        language=tag,
        languages=[Words(one, translations) for one in study.languages],
        w=words,
        title=texts.title(tag) or words.plain("untitled"),
        introduction=_paragraphs(texts.introduction(tag)),
        preview=preview,
        brand=brand,
        consent=_paragraphs(texts.consent(tag)),
        thanks=_paragraphs(texts.thanks(tag)),
        promises=_promises(study, tag),
        kind=_kind_of(study),
        issuer=tokens and tokens.issuer,
        minutes=tokens and math.ceil(tokens.wait / 60),
        protected=protected,
        public=public,
        parts=parts(study, protected, public, words),
        together=_together(study, words),
        picture=_picture(study, protected, words),
        sizes=() if draw is None else sorted({len(block) for block in draw.blocks}),
        digest=survey_digest(survey_bytes(study)),
        fingerprint=fingerprint(study),
        integrity=integrity,
        nonresponse=NONRESPONSE,
        plain_number=plain_number,
        is_mail_address=_is_mail_address,
    )


def _paragraphs(text: str) -> list[str]:
    """The parts of a text between empty lines."""
    paragraphs = text.replace("\r\n", "\n").split("\n\n")
    return [stripped for paragraph in paragraphs if (stripped := paragraph.strip())]


def chosen_language(study: Study, language: str | None) -> str:
    """The study's language that was asked for, or its first one."""
    lower = (language or "").lower()
    return next((tag for tag in study.languages if tag.lower() == lower), study.languages[0])


def _promises(study: Study, language: str) -> dict[str, str]:
    """What may be promised, and what is added, with the questions concerned, "" for all of them."""
    # promisesOf of warner.js says the same. First that it is of all rounds; then how well answers
    # are hidden: strong, or which less than that occur; and how well all of them together, where
    # that is less than the least hidden one.
    listed = list(questions_of(study))
    levels = {question.name: question.strength for question in listed}
    least = max(levels.values())
    below = sorted({*levels.values()} - {Strength.STRONG}, reverse=True)
    promises = {} if study.round is None else {"rounds": ""}
    for level in below:
        names = [name for name, own_level in levels.items() if own_level is level]
        some = names if len(names) < len(levels) else []
        questions = [study.texts.question(name, language) for name in some]
        promises[level.name.lower()] = "; ".join(questions)
    together = strength(LDP(epsilon_of_all(study)))
    conditions = {
        "strong": not below,
        "together": least < together < Strength.NONE,
        "together_hardly": least < together is Strength.NONE,
        "sensitive": any(m.guarantee.sensitive is not None for q in listed for m in q.mechanisms),
        "drawn": draw_of(study) is not None,
        "public": bool(study.public),
    }
    return promises | {key: "" for key, is_so in conditions.items() if is_so}


def _is_mail_address(contact: str) -> bool:
    """Whether a contact can be a link to an address of e-mail."""
    name, at, host = contact.partition("@")
    return bool(name and at and "." in host) and not any(sign in contact for sign in " <>\"'?&:")
