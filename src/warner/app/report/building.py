"""A whole report from tallies: what was asked, what is known, how private it is, how it was made.

It holds what the tallies hold, and the title and the texts of questions that a study states. It
has no path, no name of a user and no time, unless a date is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warner._core.text import visible
from warner.app.report.content import Block, Points, Report, Section, Table
from warner.app.report.questions import Question, Settings, lead
from warner.app.show_estimates import INTERVALS, NO_INTERVALS
from warner.app.terminal import plural
from warner.design.privacy_words import (
    hides_all,
    largest,
    of_a_person,
    of_guarantee,
    of_mechanism,
)
from warner.mechanisms import Mechanism, from_header
from warner.privacy.guarantees import Guarantee
from warner.reports.grouped_tally import AnyTally

_SIMULATED = (
    "Simulation. These reports were made with a seed, which undoes the randomisation. They protect "
    "nobody, and the numbers are of a trial."
)
# Intervals of these kinds do not hold each number as often as the others do.
_ON_AVERAGE = {
    "posterior": (
        "The intervals of single shares suppose that numbers next to each other are about equally "
        "frequent. Of few people, and of numbers of which most are near one end, they hold the "
        "true share less often than that."
    ),
    "average": (
        "The intervals hold as many of the shares on average over all answers; a large share is "
        "missed more often."
    ),
}


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

    tallies: Mapping[str, Sequence[AnyTally]]
    questions: Sequence[Question]
    title: str = ""
    date: str = ""
    rounds: int = 1
    version: str = ""


def build(source: Source, settings: Settings) -> Report:
    """The report of some questions.

    Args:
        source: the tallies and results.
        settings: how they are shown.
    """
    first = [parts[0] for parts in source.tallies.values()]
    people = max(sum(part.n for part in parts) for parts in source.tallies.values())
    title = source.title or "Results of a survey with randomised answers"
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
    return Section(
        "In short",
        (
            points,
            f"The numbers in brackets are {100 * settings.level:.4g} % intervals: the answers of "
            "single people are hidden by chance, so each number is known within limits only.",
        ),
    )


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


def _privacy(source: Source, settings: Settings) -> Section:
    """What a report tells of a person: each question, all together, and all rounds."""
    files = _mechanisms(source)
    known_to_hide = all(
        hides_all(mechanism.guarantee) for known in files for mechanism, _ in known.values()
    )
    blocks: list[Block] = [
        "The answers of each person were randomised: chance kept or changed them. What was counted "
        "are reports, not answers. This document was made from reports alone. An answer that was "
        "kept nowhere cannot be lost."
        if known_to_hide
        else "The answers of each person were randomised before they were counted. How much a "
        "report tells depends on the question.",
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
    kinds = {
        question.heading: question.estimate.interval_kind(settings.target)
        for question in source.questions
    }
    says = [
        f"An interval of {level} % is for {whom}. Of 100 surveys made in this way, the intervals "
        f"of one number hold the true number in about {level}.",
        *(
            f"{lead(heading)} {_ON_AVERAGE[kind]}"
            for heading, kind in kinds.items()
            if kind in _ON_AVERAGE
        ),
        "The intervals include the chance that hides the answers"
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
        "No number of this report is about a single person.",
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
    blocks: list[Block] = [
        "The answers of each person were randomised before they were counted (local differential "
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
