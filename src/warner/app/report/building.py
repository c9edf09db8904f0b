"""A whole report from tallies: what was asked, what is known, how private it is, how it was made.

It holds what the tallies hold, and the title and the texts of questions that a study states. It
has no path, no name of a user and no time, unless a date is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warner._core.text import visible
from warner.app.report.content import Block, Points, Report, Section, Table
from warner.app.report.questions import Question, Settings, lead
from warner.app.show_estimates import INTERVALS, NO_INTERVALS
from warner.app.terminal import plural
from warner.design.privacy_words import (
    Strength,
    largest,
    of_a_person,
    of_guarantee,
    of_mechanism,
    strength,
)
from warner.mechanisms import Mechanism, from_header
from warner.privacy.composition import compose
from warner.privacy.guarantees import Guarantee
from warner.reports.tally import Tally

_SIMULATED = (
    "Simulation. These reports were made with a seed, which undoes the randomisation. They protect "
    "nobody, and the numbers are of a trial."
)
# Intervals of a posterior do not hold each number as often as the others do.
_OF_POSTERIOR = (
    "The intervals of single shares suppose that numbers next to each other are about equally "
    "frequent. Of few people, and of numbers of which most are near one end, they hold the "
    "true share less often than that."
)


@dataclass(frozen=True)
class Source:
    """What a report is made of.

    Attributes:
        tallies: {attribute: its tallies}, one of each file.
        questions: the results.
        title: the title; "" for one made of the questions.
        date: the date to print; "" for none.
        rounds: how often the survey is held with fresh reports of the same people.
        version: of the program.
    """

    tallies: Mapping[str, Sequence[Tally]]
    questions: Sequence[Question]
    title: str = ""
    date: str = ""
    rounds: int = 1
    version: str = ""


def build(source: Source, settings: Settings) -> Report:
    """The report of some questions."""
    first = [parts[0] for parts in source.tallies.values()]
    people = max(sum(part.n for part in parts) for parts in source.tallies.values())
    randomized = " with randomised answers" if _is_randomized(source) else ""
    title = source.title or f"Results of a survey{randomized}"
    is_simulated = any(part.simulated for parts in source.tallies.values() for part in parts)
    reports = "reports" if any(part.reports_per_person > 1 for part in first) else "people"
    about = [f"{people:,} {reports}, {plural(len(source.questions), 'question', 'questions')}"]
    if source.date:
        about.append(source.date)
    return Report(
        f"{visible(title)} (simulation)" if is_simulated else visible(title),
        tuple(about),
        _SIMULATED if is_simulated else "",
        (
            _in_short(source, settings),
            *(question.section() for question in source.questions),
            _privacy(source, settings),
            _meaning(source, settings),
            _method(source, settings),
            _citation(source, title),
        ),
    )


def _in_short(source: Source, settings: Settings) -> Section:
    """The first section: one sentence for each question."""
    points = Points(tuple(question.in_short() for question in source.questions))
    hidden = (
        "the answers of single people are hidden by chance, so each number"
        if _hidden(source) is Strength.STRONG
        else "each number"
    )
    level = f"{100 * settings.level:.4g} %"
    about = f"The numbers in brackets are {level} intervals: {hidden} is known within limits only."
    return Section("In short", (points, about))


def _mechanisms(source: Source) -> list[dict[str, tuple[Mechanism, int]]]:
    """The mechanisms of each file, with the most reports that one person sent."""
    files = max(len(parts) for parts in source.tallies.values())
    return [
        {
            name: (from_header(parts[i].header), parts[i].reports_per_person)
            for name, parts in source.tallies.items()
            if i < len(parts)
        }
        for i in range(files)
    ]


def _guarantees(source: Source) -> list[Guarantee]:
    """What each question guarantees of all reports on it that one person sends in all rounds."""
    return [
        compose([mechanism.guarantee] * (count * source.rounds))
        for known in _mechanisms(source)
        for mechanism, count in known.values()
    ]


def _hidden(source: Source) -> Strength:
    """How well the answers to the question that is protected least are hidden."""
    promised = _guarantees(source)
    least = max(map(strength, promised))
    # Answers that are not sensitive are not hidden.
    return least if all(g.sensitive is None for g in promised) else max(least, Strength.WEAK)


def _is_randomized(source: Source) -> bool:
    """Whether no question has an infinite epsilon."""
    return all(math.isfinite(promised.total) for promised in _guarantees(source))


def _privacy(source: Source, settings: Settings) -> Section:
    """What a report tells of a person: each question, all together, and all rounds."""
    files = _mechanisms(source)
    most = "nearly everything" if _hidden(source) is Strength.NONE else "a lot"
    blocks: list[Block] = [
        "The answers of each person were randomised: chance kept or changed them. What was counted "
        "are reports, not answers. This document was made from reports alone. An answer that was "
        "kept nowhere cannot be lost."
        if _hidden(source) is Strength.STRONG
        else "The answers of each person were randomised before they were counted. How much a "
        f"report tells depends on the question and on the answer, and it can be {most}."
        if _is_randomized(source)
        else "Not all answers were randomised: some were counted as people gave them.",
        "The numbers below follow from the law by which the reports were made.",
    ]
    if any(part.simulated for parts in source.tallies.values() for part in parts):
        blocks.append("They would hold for reports that are made without a seed.")
    texts: dict[str, list[str]] = {}
    for known in files:
        for name, (mechanism, _) in known.items():
            sentences = " ".join(of_mechanism(mechanism))
            names = texts.setdefault(sentences, [])
            heading = visible(settings.labels.get(name, name))
            if heading not in names:
                names.append(heading)
    blocks.append(Points(tuple(_of_questions(names, text) for text, names in texts.items())))
    blocks += _totals(files, source.rounds)
    return Section("What a report tells of a person", tuple(blocks))


def _of_questions(names: Sequence[str], text: str) -> str:
    """Sentences with the questions that they are about."""
    return f"{lead(' / '.join(names))} {text}"


def _totals(files: Sequence[Mapping[str, tuple[Mechanism, int]]], rounds: int) -> list[Block]:
    """What all reports of one person tell together, and all rounds."""
    once: list[Guarantee] = []
    all_rounds: list[Guarantee] = []
    for known in files:
        most = max(count for _, count in known.values())
        mechanisms = {name: mechanism for name, (mechanism, _) in known.items()}
        one, several = of_a_person(mechanisms, most, rounds)
        if one is None or several is None:
            return ["The guarantees of the questions have no single sum; see each question."]
        once.append(one)
        all_rounds.append(several)
    questions = max(len(known) for known in files)
    blocks: list[Block] = []
    is_several = questions > 1 or any(count > 1 for known in files for _, count in known.values())
    if is_several:
        found = largest(once)
        sentences = of_guarantee(found, "A person's whole set of reports", questions > 1)
        blocks.append(
            f"Somebody who sees all reports of one person together learns more, because the odds "
            f"multiply. {' '.join(sentences)} The total epsilon is {found.total:.4g}."
        )
    if rounds > 1:
        found = largest(all_rounds)
        subject = f"The set of a person's reports of all {rounds} rounds"
        sentences = of_guarantee(found, subject, questions > 1)
        blocks.append(
            f"If the same people send fresh reports in {rounds} rounds, the odds multiply again. "
            f"{' '.join(sentences)} The total epsilon is {found.total:.4g}."
        )
    else:
        blocks.append(
            "This is for one round. If the same people are asked again with fresh reports, the "
            "odds multiply with each round."
        )
    return blocks


def _meaning(source: Source, settings: Settings) -> Section:
    """What the intervals say and what they do not."""
    level = f"{100 * settings.level:.4g}"
    whom = (
        "the population that these people were drawn from"
        if settings.target == "population"
        else "the people who answered"
    )
    says = [
        f"An interval of {level} % is for {whom}. Of 100 surveys made in this way, the intervals "
        f"of one number hold the true number in about {level} or more.",
        *(
            f"{question.lead} {_OF_POSTERIOR}"
            for question in source.questions
            if question.interval_kind == "posterior"
        ),
        "The intervals include the chance by which reports differ from answers"
        + (
            " and the chance by which people were drawn."
            if settings.target == "population"
            else "."
        ),
        "Each interval holds for its own number, unless the table says that all hold at once. Of "
        "many intervals, some miss.",
    ]
    dropped = [visible(settings.labels.get(name, name)) for name in settings.dropped]
    says_not = [
        "They do not include untrue answers, people who did not answer, or a choice of people that "
        "is not random.",
        *(
            [
                "People who left a question open were left out with all their answers, and are "
                "not counted here. This holds for: " + "; ".join(dropped)
            ]
            if dropped
            else []
        ),
        "An interval that begins at 0 does not show that nobody gives this answer.",
        "Two intervals that overlap do not show that two groups are alike. Differences have "
        "intervals of their own.",
        *(
            ["No number of this report is about a single person."]
            if _hidden(source) < Strength.NONE
            else []
        ),
    ]
    return Section(
        "What the numbers say, and what they do not",
        ("They say:", Points(tuple(says)), "They do not say:", Points(tuple(says_not))),
    )


def _method(source: Source, settings: Settings) -> Section:
    """How reports were made and how shares were estimated."""
    rows = []
    for known in _mechanisms(source):
        for name, (mechanism, count) in known.items():
            values = f"{mechanism.domain.size:,} " + (
                "bins" if mechanism.domain.is_binned else "values"
            )
            kind = type(mechanism).__name__ + (f", {count} of a person" if count > 1 else "")
            epsilon = mechanism.guarantee.epsilon
            rows.append((f"{visible(name)} ({values})", kind, f"{epsilon:.6g}"))
    head = ("attribute", "mechanism", "epsilon")
    who = "The answers" if _is_randomized(source) else "Where epsilon is finite, the answers"
    blocks: list[Block] = [
        f"{who} of each person were randomised before they were counted (local differential "
        "privacy). The epsilon is the exact one of the integers that were sampled; e to the power "
        "of epsilon is the factor named above.",
        Table("How reports were randomised", head, tuple(dict.fromkeys(rows))),
    ]
    notes: dict[str, list[str]] = {}
    for question in source.questions:
        result = question.estimate
        kind = question.interval_kind
        about = NO_INTERVALS if kind == "none" else INTERVALS.get(kind, "")
        about = f"Intervals of shares: {about[:1].lower()}{about[1:]}" if about else ""
        text = f"{result.method}. {_sentences(result.estimator.summary)} {about}"
        notes.setdefault(text.strip(), []).append(visible(question.name))
    blocks.append("Shares were estimated from the counts of reports:")
    blocks.append(Points(tuple(f"{', '.join(names)}: {text}" for text, names in notes.items())))
    prints = [
        f"{visible(name)}: " + ", ".join(part.digest[:16] for part in parts)
        for name, parts in source.tallies.items()
    ]
    blocks.append("The counts have these fingerprints (the first digits of SHA-256):")
    blocks.append(Points(tuple(prints)))
    return Section("Method", tuple(blocks))


def _sentences(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _citation(source: Source, title: str) -> Section:
    """How to cite the report and the methods."""
    version = f", version {source.version}" if source.version else ""
    date = f" {source.date}." if source.date else ""
    program = f"warner{version}: learning the distribution of sensitive answers without collecting "
    return Section(
        "How to cite",
        (
            Points(
                (
                    f"This report: {visible(title)}.{date}",
                    f"The program: The warner developers, {program}them.",
                    "Randomised response: S. L. Warner, Randomized response: a survey technique "
                    "for eliminating evasive answer bias. Journal of the American Statistical "
                    "Association 60 (1965), 63-69.",
                    "Local differential privacy: S. P. Kasiviswanathan, H. K. Lee, K. Nissim, "
                    "S. Raskhodnikova and A. Smith, What can we learn privately? SIAM Journal on "
                    "Computing 40 (2011), 793-826.",
                )
            ),
        ),
    )
