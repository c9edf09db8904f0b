"""The survey document: all that a device needs to ask a study's questions and to randomise.

The collector serves it as ``/study.json``. It is canonical JSON, so its bytes have one digest, and
the survey page shows it. ``warner.js`` reads it. It recomputes the odds of each question from the
integers of its program, and refuses a document that does not hold what it states.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from warner._core.checks import show
from warner._core.errors import WarnerError
from warner._core.text import at_most, canonical
from warner.design.privacy_words import Strength, strength
from warner.domains import Domain, Items
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, PerAttribute, Permanent
from warner.mechanisms.one_of import of_changed_answers
from warner.privacy.guarantees import Guarantee
from warner.studies.problems import ProblemLog, broken
from warner.studies.study import Study
from warner.studies.texts import Texts, Tokens
from warner.theory.inversion import max_influence

FORMAT = 1
# The kinds of domains that a page can ask and that warner.js encodes.
_ASKED = ("categorical", "integers", "interval", "grid")
_SAFE = 2**53 - 1  # integers beyond it are no numbers of JavaScript
_MOST_DELTA = 1e-3  # as warner.js


@dataclass(frozen=True)
class Question:
    """A question of a study."""

    name: str
    domain: Domain
    # That may randomise the answer: one, or those of the blocks that hold the question.
    mechanisms: tuple[Mechanism, ...]
    share_asked: float = 1.0  # of the people, on average
    rounds: int = 1  # in which the same people are asked

    @property
    def epsilon(self) -> float:
        """The most that a report spends on it."""
        return max(mechanism.guarantee.total for mechanism in self.mechanisms)

    @property
    def delta(self) -> float | None:
        """The largest delta; None for pure privacy."""
        deltas = (mechanism.guarantee.delta for mechanism in self.mechanisms)
        return max((delta for delta in deltas if delta is not None), default=None)

    @property
    def weight(self) -> float | None:
        """The largest change that one report makes to the count of an answer; None for unknown.

        Where few people are asked the question, each of them stands for several.
        """
        if any(mechanism.domain != self.domain for mechanism in self.mechanisms):
            return None  # a report on several questions together
        weights = [max_influence(mechanism) for mechanism in different(self.mechanisms)]
        known_weights = [weight for weight in weights if weight is not None]
        if len(known_weights) < len(weights):
            return None
        return max(known_weights) / self.share_asked

    @property
    def promised(self) -> list[Guarantee]:
        """What each mechanism guarantees of the reports of all rounds together."""
        return [mechanism.of_reports(self.rounds) for mechanism in self.mechanisms]

    @property
    def strength(self) -> Strength:
        """How well its answers are hidden, at worst: what people are promised follows it."""
        return max(map(strength, self.promised))


def draw_of(study: Study) -> OneOf | None:
    """The mechanism that draws what a person is asked, also of items; None where all is asked."""
    if study.design is not None:
        rule = "cannot be served: the live page computes as if people were a simple random sample"
        remedy = (
            "Serve a copy of the study without [design], and keep this file for "
            '"warner estimate --study"'
        )
        raise broken(("design",), rule, None, remedy, "design")
    if isinstance(study.draw, HiddenQuestion):
        rule = "cannot be served: a survey page does not hide which questions were asked"
        raise broken(("ask", "hide"), rule, None, 'Remove the key "hide" from [ask]', "ask.hide")
    only = next(iter(study.mechanisms.values())) if len(study.mechanisms) == 1 else None
    if not isinstance(only, OneOf):
        return None
    if shared := [name for name in only.domain.attributes if name in study.public]:
        rule = "cannot be served: an item has the same name as this public column"
        raise broken(
            ("public", shared[0]),
            rule,
            None,
            "Rename the column or the item",
            f"public.{shared[0]}",
        )
    return only


def questions_of(study: Study) -> Iterator[Question]:
    """The questions that people are asked, all of them or some that are drawn."""
    draw = draw_of(study)
    if draw is None:
        for name, mechanism in study.mechanisms.items():
            yield Question(name, mechanism.domain, (mechanism,), rounds=study.rounds)
        return
    for name, domain in draw.domain.attributes.items():
        blocks = zip(draw.blocks, draw.parts.values(), draw.odds, strict=True)
        holding = [(part_of(inner, name), odds) for block, inner, odds in blocks if name in block]
        share = sum(odds for _, odds in holding) / 2**64
        yield Question(name, domain, tuple(inner for inner, _ in holding), share, study.rounds)


def different(mechanisms: Iterable[Mechanism]) -> list[Mechanism]:
    """Of mechanisms with one header the first one."""
    return list({canonical(one.header): one for one in mechanisms}.values())


def part_of(mechanism: Mechanism, name: str) -> Mechanism:
    """The mechanism of one question of a block, which may be that of all its questions."""
    return mechanism.parts[name] if isinstance(mechanism, PerAttribute) else mechanism


def survey_document(study: Study) -> dict[str, Any]:
    """What a device is told of a study, as JSON data.

    >>> study = Study.parse('''
    ... [attributes.smokes]
    ... values = ["no", "yes"]
    ... mechanism = "RandomizedResponse"
    ... epsilon = 1.0
    ... ''')
    >>> document = survey_document(study)
    >>> [question["name"] for question in document["questions"]], document["languages"]
    (['smokes'], ['en'])
    """
    if study.groups:
        rule = "cannot be served: a survey page cannot know to which group a person belongs"
        raise broken(
            ("groups",), rule, None, "Write one study for each group, and serve each of them"
        )
    problems, texts, collect, draw = ProblemLog(), study.texts, study.collect, draw_of(study)
    if study.rows_per_person > 1:
        rule = "cannot be served: on a survey page, each person gives one row of answers"
        remedy = (
            "Remove rows_per_person. To ask the same people again, such as every day, see "
            "docs/recipes/weekly.md"
        )
        problems.add(("rows_per_person",), rule, None, remedy)
    if study.rounds > 1 and study.round is None:
        rule = "must say which round is served"
        remedy = "Write its number into [repeat]: for the first round, round = 1"
        problems.add(("repeat", "round"), rule, None, remedy, "repeat.round")
    questions, columns = [], []
    for question in questions_of(study):
        with problems.within():
            questions.append(_question(texts, question, collect.weak_protection, draw))
    for name, domain in study.public.items():
        with problems.within():
            _refuse_domain(f"public.{name}", domain)
            columns.append(_asked(texts, name, domain))
    problems.refuse()
    return {
        "format": FORMAT,
        "study": study.digest,
        "layout": study.layout,
        "title": {tag: texts.title(tag) for tag in study.languages},
        "introduction": {tag: texts.introduction(tag) for tag in study.languages},
        **_shown_texts("consent", texts.consent, study.languages),
        **_shown_texts("thanks", texts.thanks, study.languages),
        **({"link": collect.link} if collect.link else {}),
        "languages": list(study.languages),
        "epsilon": study.epsilon,
        "questions": questions,
        **({} if draw is None else {"program": draw.device_program()}),
        **({} if study.round is None else {"repeat": _repeat(study)}),
        "public": columns,
        "access": collect.access or "open",  # unsaid where no collector serves it
        **_tokens(collect.tokens),
        "contact": collect.contact,
        "opens": _moment(collect.opens),
        "closes": _moment(collect.closes),
        **({"weak_protection": True} if collect.weak_protection else {}),
    }


def survey_bytes(study: Study) -> bytes:
    """The bytes of :func:`survey_document` as they are served: canonical JSON, in ASCII."""
    return canonical(survey_document(study)).encode("ascii")


def survey_digest(served: bytes) -> str:
    """The SHA-256 of a served document, in hexadecimal digits."""
    return hashlib.sha256(served).hexdigest()


def fingerprint(study: Study) -> str:
    """The digest of what is served, in groups of four digits, which people compare."""
    digest = survey_digest(survey_bytes(study))
    return " ".join(digest[i : i + 4] for i in range(0, len(digest), 4))


def about_fingerprint(study: Study) -> str:
    """What a command prints, so that the fingerprint can stand in an invitation."""
    return (
        "Put this fingerprint of the survey into the invitation. The survey page shows the same "
        f"fingerprint:\n{fingerprint(study)}"
    )


def _refuse_attribute(name: str, domain: Domain, mechanism: Mechanism) -> None:
    """Refuse an attribute that no device can answer."""
    key = f"attributes.{name}"
    if mechanism.takes_keys or domain.pairs or domain.tags:
        rule = "cannot be served: a survey page cannot ask for pairs of key and value, or for tags"
        raise broken((), rule, None, "Use a mechanism that needs no keys and no tags", key)
    if isinstance(domain, Items):
        rule = "cannot be served with other questions, because each person is asked only some items"
        remedy = (
            "Serve this question as a study by itself, or write each item as a question and use "
            "[ask]"
        )
        raise broken((), rule, None, remedy, key)
    if domain.attributes:
        rule = "cannot be served: a survey page makes a separate report for each question"
        raise broken(
            (), rule, None, "Remove [[joint]], so that each question is randomised by itself", name
        )
    if domain.missing.policy == "drop":
        rule = 'missing = "drop" cannot be served: a missing report would show who gave no answer'
        remedy = 'Write missing = "answer", which hides who gave no answer'
        raise broken((), rule, None, remedy, key)
    _refuse_domain(key, domain.answered)


def _refuse_domain(key: str, domain: Domain) -> None:
    """Refuse values that a page cannot ask for or that are no numbers of a browser."""
    spec = domain.spec()
    if spec["kind"] not in (*_ASKED, "dates"):
        rule = (
            "cannot be served: a survey page can ask only for a value from a list, an integer, a "
            "number or a cell of a grid"
        )
        raise broken((), rule, spec["kind"], "Use one of these kinds", key)
    stated = [spec.get("low"), spec.get("high"), *spec.get("values", ())]
    far = [v for v in stated if isinstance(v, int) and abs(v) > _SAFE]
    if far:
        rule = "cannot be served: browsers cannot hold integers beyond 2^53 exactly"
        raise broken(
            (),
            rule,
            show(far[0]),
            "Subtract a fixed number from all values, or write them as texts",
            key,
        )


def _program(key: str, mechanism: Mechanism, rounds: int, weak: bool) -> dict[str, Any]:
    """The device program of a mechanism, which may be one with weak protection."""
    problem = None
    try:
        program = mechanism.device_program()
    except WarnerError as error:
        problem = error
    if problem is not None:
        raise broken((), f"cannot be served: {problem}".removesuffix("."), None, None, key)
    guarantee = mechanism.of_reports(rounds)
    if strength(guarantee) is Strength.NONE and not weak:
        of_all = " in all rounds together" if isinstance(mechanism, Permanent) else ""
        rule = f"cannot be served: epsilon must be at most 10 between any two answers{of_all}"
        total, remedy = (
            _too_weak_in_rounds(mechanism)
            if isinstance(mechanism, Permanent)
            else _too_weak(mechanism)
        )
        remedy += (
            ". Or write weak_protection = true in [collect]: the page then tells people that "
            "these answers are hardly hidden"
        )
        raise broken((), rule, total, remedy, key)
    if (guarantee.delta or 0.0) > _MOST_DELTA:
        rule = f"cannot be served: delta must be at most {_MOST_DELTA:g}"
        raise broken((), rule, f"{guarantee.delta:.4g}", "Choose a smaller delta", key)
    return program


def _too_weak(mechanism: Mechanism) -> tuple[str, str]:
    """The epsilon between the most distant answers with where it is from, and how to lower it."""
    guarantee = mechanism.guarantee
    total = at_most(guarantee.total, 4)
    if guarantee.diameter is not None:
        far = at_most(guarantee.diameter, 4)
        total += f" ({guarantee.epsilon:.4g} for each unit of distance, times {far} units)"
    return total, f"Lower epsilon to {_down(10 * mechanism.requested / guarantee.total)}"


def _too_weak_in_rounds(mechanism: Permanent) -> tuple[str, str]:
    """The same of the permanent reports on as many answers as a device may report on."""
    forever, values = mechanism.forever, mechanism.values
    total = at_most(mechanism.of_values().total, 4)
    total += f" (forever = {forever:g}, for each of {values} answers)" if values > 1 else ""
    lower = _down(10 / values)
    if float(lower) > mechanism.requested:
        return total, f"Set forever = {lower} in [repeat]"
    if values > 1 and forever <= 10:
        return total, f"Set values = {math.floor(10 / forever)} in [repeat]"
    return total, f"Set forever = {lower} in [repeat], and choose a smaller epsilon than {lower}"


def _down(number: float) -> str:
    """A number rounded down to three digits, so that it can be copied."""
    step = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.floor(number / step) * step:.3g}"


def _question(texts: Texts, question: Question, weak: bool, draw: OneOf | None) -> dict[str, Any]:
    """One question with its program, which is that of all questions where some are drawn."""
    name, domain = question.name, question.domain
    _refuse_attribute(name, domain, question.mechanisms[0])
    key, rounds = f"attributes.{name}", question.rounds
    programs = [_program(key, one, rounds, weak) for one in different(question.mechanisms)]
    return {
        **_asked(texts, name, domain.answered),
        "silence": domain.nonresponse is not None,
        "epsilon": question.epsilon,
        "delta": question.delta,
        **({"program": programs[0]} if draw is None else {}),
    }


def _shown_texts(
    key: str, text: Callable[[str], str], languages: Sequence[str]
) -> dict[str, dict[str, str]]:
    """A text in each language, where the study has it."""
    by_language = {tag: text(tag) for tag in languages}
    return {key: by_language} if any(by_language.values()) else {}


def _asked(texts: Texts, name: str, domain: Domain) -> dict[str, Any]:
    """The texts and values of a question or of a public column."""
    form = domain.text
    has_labels = form is not None and form.labels is not None
    tags = texts.languages
    return {
        "name": name,
        "label": {tag: texts.question(name, tag) for tag in tags},
        "help": {tag: texts.help(name, tag) for tag in tags},
        "domain": domain.spec(),
        "answers": {
            tag: list(texts.answers(name, tag)[: domain.size]) if has_labels else [] for tag in tags
        },
        "unit": texts.unit(name),
    }


def epsilon_of_all(study: Study) -> float:
    """What all reports of a person spend; of a survey in rounds, of answers that change alike."""
    if study.round is None:
        return study.epsilon
    return of_changed_answers(study.permanent)[1].total


def _repeat(study: Study) -> dict[str, Any]:
    """Which round is asked, and what all reports of a device spend."""
    values, of_all = of_changed_answers(study.permanent)
    return {
        "round": study.round,
        "rounds": study.rounds,
        "values": values,
        "epsilon": of_all.total,
        **({} if study.draw is None else {"draw": study.draw_digest}),
    }


def _tokens(tokens: Tokens | None) -> dict[str, Any]:
    """Where a device exchanges its code, with the keys of the issuer."""
    if tokens is None:
        return {}
    keys, wait = list(tokens.keys), tokens.wait
    return {"tokens": {"issuer": tokens.issuer, "keys": keys, "wait": wait}}


def _moment(moment: datetime | None) -> str | None:
    """A moment as ISO 8601 with its offset."""
    return None if moment is None else moment.isoformat()
