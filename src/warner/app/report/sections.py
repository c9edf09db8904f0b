"""A report as a whole: its questions, and its sections on privacy, meaning and method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from warner._core.references import references
from warner._core.table import Column, Table
from warner._core.text import canonical, lead, visible
from warner.app.report.content import Block, Points, Report, Section
from warner.app.report.question import Question, Settings, upper
from warner.app.show_estimates import reports_in_words
from warner.app.terminal import plural
from warner.app.ways import WAYS, by_way
from warner.design.privacy_words import (
    CHANGED_ALIKE,
    OPEN_TO_ALL,
    Strength,
    about_draw,
    about_public,
    in_numbers,
    largest,
    of_a_person,
    of_guarantee,
    of_mechanism,
    strength,
)
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, Permanent, from_header
from warner.mechanisms.one_of import of_changed_answers, permanent_of, permanent_of_people
from warner.privacy.guarantees import Guarantee, side_by_side
from warner.reports.public_columns import SMALLEST_GROUP, about_small_groups
from warner.reports.tally import Tally
from warner.results.from_tally import by_group
from warner.results.tables import FOLLOWED, IF_FOLLOWED, NO_INTERVALS, has_paper, how_made

_SIMULATED = (
    "This is a simulation: the numbers are only a trial. All chance came from one start number, "
    "the seed. Whoever knows the seed can undo the randomising, so such reports protect nobody."
)
_IN_SEVERAL_WAYS = (
    "Answers to one question were randomised in different ways (mechanisms or epsilons). Reports "
    "that tell more count more. The estimates assume that the true shares are the same in all "
    "ways, in each group that is shown and among all people together."
)
_LEFT_OUT = "People who did not answer one of these questions were left out with all their answers"
_OF_DIFFERENT_PEOPLE = (
    "Whoever answered twice counts as two people, and tells more than is said below."
)
_OVERLAP = (
    "Two intervals that overlap do not show that two groups are alike. Differences have intervals "
    "of their own."
)
# Intervals of a posterior hold under a prior, unlike the others.
_OF_POSTERIOR = (
    "The intervals of shares assume that neighbouring numbers are about equally frequent. Only "
    "round numbers and both ends may be more frequent. If another number is much more frequent "
    "than its neighbours, its interval can miss the true share."
)
_WHILE_NOBODY_KNOWS = (
    "On paper, they are true only while nobody who sees the sheet knows how the die or the coin "
    "fell, or which birthday the person thought of."
)
_OF_TWO_ANSWERS = (
    "The table is about somebody who first thought two answers of a person equally likely, and "
    "then sees the person's report."
)
_OF_BANDS = (
    "The interval of a range of numbers (a band) contains the true share a little less often if "
    "neighbouring numbers in the range have very different shares."
)


@dataclass(frozen=True)
class Source:
    """What a report is made of."""

    tallies: Mapping[str, Sequence[Tally]]  # {attribute: its tallies}, one of each file
    questions: Sequence[Question]  # the results
    title: str = ""  # the title; "" for one made of the questions
    date: str = ""  # the date to print; "" for none
    rounds: int = 1  # how often the survey is held with fresh reports of the same people
    version: str = ""  # of the program
    nobody: Sequence[str] = ()  # the questions that nobody was asked
    public: Sequence[str] = ()  # the columns that were sent unprotected
    is_open: bool = False  # whether one person could send several reports
    has_rows: bool = False  # whether the report was made from a file with a row for each person
    beside: Sequence[str] = ()  # the further columns of this file


def build(source: Source, settings: Settings) -> Report:
    """The report of some questions."""
    first = [parts[0] for parts in source.tallies.values()]
    people = max(sum(tally.n for tally in parts) for parts in source.tallies.values())
    randomized = " with randomised answers" if _is_randomized(source) else ""
    title = source.title or f"Results of a survey{randomized}"
    is_simulated = any(tally.simulated for parts in source.tallies.values() for tally in parts)
    reports = "reports" if any(tally.reports_per_person > 1 for tally in first) else "people"
    # Joint shares are of questions that stand alone, too, and items are of one question.
    single = [q for q in source.questions if len(q.attributes or ()) < 2] or source.questions
    count = len({q.items_of or q.name for q in single})
    drawn = "" if settings.design is None else f", {visible(settings.design.text)}"
    people_and_questions = f"{people:,} {reports}, {plural(count, 'question', 'questions')}{drawn}"
    return Report(
        f"{visible(title)} (simulation)" if is_simulated else visible(title),
        tuple(filter(None, (people_and_questions, source.date))),
        _SIMULATED if is_simulated else "",
        tuple(_sections(source, settings, title)),
    )


def _sections(source: Source, settings: Settings, title: str) -> Iterator[Section]:
    """The sections of a report; of one page, the results and what a report tells of a person."""
    if settings.is_short:
        # The result comes first, and what holds for all of it after the last question: a section of
        # its own needs a second page.
        *questions, last = (question.section() for question in source.questions)
        limits = [*_about_limits(source, settings), *_not_allowed_for(source, settings)]
        yield from questions
        yield replace(last, blocks=(*last.blocks, " ".join(limits)))
        yield _privacy(source, settings)
        return
    points = Points(tuple(question.in_short() for question in source.questions))
    yield Section("In short", (points, *_about_limits(source, settings)))
    yield from (question.section() for question in source.questions)
    yield _privacy(source, settings)
    yield _meaning(source, settings)
    yield _method(source, settings)
    yield _citation(source, title)


def _about_limits(source: Source, settings: Settings) -> list[str]:
    """Who was not asked, and what the numbers in brackets are."""
    hidden = "chance changed answers"
    if _hidden(source) is Strength.STRONG:
        hidden = "single answers are hidden by chance"
    reasons = [
        *[hidden] * _is_randomized(source),
        *["other people could have been drawn"] * (settings.target == "population"),
    ]
    because = f", because {' and '.join(reasons)}" * bool(reasons)
    about = [f"Each number is uncertain{because}."]
    if any(question.is_bounded for question in source.questions):
        level = f"{100 * settings.level:.4g} %"
        level_said = f"The numbers in brackets are {level} intervals"
        if settings.is_short:  # where they also stand in a column
            level_said = f"The {level} interval beside each number is"
        about = [f"{level_said} {_for_whom(settings)}.", *about]
    names = [visible(settings.labels.get(name, name)) for name in source.nobody]
    nobody = [f"Nobody was asked these questions: {'; '.join(names)}."] if names else []
    shown = [question for question in source.questions if question.shows_differences]
    moved = dict.fromkeys(question.about_unbiased for question in shown)
    ways = any(len(by_way(question.parts)) > 1 for question in source.questions)
    return [*nobody, *about, *[_OF_DIFFERENT_PEOPLE] * ways, *filter(None, moved)]


def _for_whom(settings: Settings) -> str:
    """For whom the intervals are."""
    return (
        "for the population that these people were drawn from"
        if settings.target == "population"
        else "for the people who answered and for nobody else"
    )


def _not_allowed_for(source: Source, settings: Settings) -> list[str]:
    """What may be wrong with the answers themselves, which no interval allows for."""
    drawn = ", for people who did not answer, or for people who were not chosen at random"
    drawn = drawn if settings.target == "population" else ""
    is_on_paper = any(has_paper(q.estimate.data.channel) for q in source.questions)
    return [
        f"The intervals do not allow for untrue answers{drawn}.",
        *[IF_FOLLOWED if settings.is_short else FOLLOWED] * is_on_paper,
    ]


def _mechanisms(source: Source) -> list[dict[str, tuple[Mechanism, int]]]:
    """The mechanisms of each file, with the most reports that one person sent."""
    files: dict[tuple[bool, int], dict[str, tuple[Mechanism, int]]] = {}
    for name, parts in source.tallies.items():
        of_way = {False: 0, True: 0}
        for tally in parts:
            mechanism = from_header(tally.header)
            number = mechanism.is_on_paper, of_way[mechanism.is_on_paper]
            files.setdefault(number, {})[name] = mechanism, tally.reports_per_person
            of_way[mechanism.is_on_paper] += 1
    return list(files.values())


def _guarantees(source: Source) -> list[Guarantee]:
    """What each question guarantees of all reports on it that one person sends in all rounds."""
    return [
        mechanism.of_reports(count * source.rounds)
        for mechanisms in _mechanisms(source)
        for mechanism, count in mechanisms.values()
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
    """What a report tells about a person: each question, all together, and all rounds."""
    made_from = (
        "a file with a row for each person, which tells more about a person than the counts here"
        if source.has_rows
        else "counts of reports alone"
    )
    most = "nearly everything" if _hidden(source) is Strength.NONE else "a lot"
    blocks: list[Block] = [
        "The answers of each person were randomised: chance kept or changed them. The results are "
        f"called reports. This document was made from {made_from}."
        if _hidden(source) is Strength.STRONG
        else "The answers of each person were randomised before they were counted. How much a "
        "randomised answer, called a report, tells about a person depends on the question and the "
        f"answer. It can be {most}."
        if _is_randomized(source)
        else "Not all answers were randomised: some were counted as people gave them."
    ]
    blocks += _of_each_question(source, settings)
    blocks += _totals(_mechanisms(source), source.rounds)
    beside = (
        f"The file also has the {'column' if len(source.beside) == 1 else 'columns'} "
        f"{', '.join(map(visible, source.beside))}. Whoever sees the file can read "
        "what stands there beside the report of each person."
    )
    more = (
        about_public([visible(name) for name in source.public]) if source.public else "",
        _about_small_groups(source, settings),
        beside if source.beside else "",
        OPEN_TO_ALL if source.is_open else "",
    )
    blocks += filter(None, more)
    return Section("What a report tells about a person", tuple(blocks))


def _about_small_groups(source: Source, settings: Settings) -> str:
    """How many groups of the question that has the smallest one can point at a person; "" for none.

    The columns of a survey design, such as weights, make groups that no table shows.
    """
    sizes = [each.group_sizes for each in source.questions if each.group_sizes.size]
    sentences = [about_small_groups([min(sizes, key=min)])] if sizes else []
    if settings.design is not None:
        parts_of = [parts for parts in source.tallies.values() if parts[0].names]
        alike = [sum(t.n for t in of) for parts in parts_of for of in by_group(parts).values()]
        if min(alike, default=SMALLEST_GROUP) < SMALLEST_GROUP:
            columns = " and ".join(map(visible, settings.design.columns))
            sentences.append(
                f"What says how people were drawn ({columns}) is not protected either. Together "
                "with the other public columns, it can point at a person."
            )
    return " ".join(filter(None, sentences))


_CELLS = {"question": "question", "sends": "of 100 people with each answer", "sure": "at most"}


def _of_each_question(source: Source, settings: Settings) -> list[Block]:
    """What one report on each question tells: a table, and what needs more words."""
    blocks: list[Block] = []
    # {cells of the table, or one sentence: {question: its reports, and whether on paper}}
    facts: dict[tuple[str, ...], dict[str, tuple[int, bool]]] = {}
    for of_all, parts in source.tallies.items():
        for tally in parts:
            whole = from_header(tally.header)
            if isinstance(whole, OneOf | HiddenQuestion):
                draw = about_draw(whole, visible(settings.labels.get(of_all, of_all)))
                blocks += [draw] if draw not in blocks else []
            for name, mechanism in _questions_of(of_all, whole):
                fact = in_numbers(mechanism) or (" ".join(of_mechanism(mechanism)),)
                reports = facts.setdefault(fact, {})
                heading = visible(settings.labels.get(name, name))
                before, _ = reports.get(heading, (0, False))
                reports[heading] = before + tally.n, mechanism.is_on_paper
    listed = [heading for reports in facts.values() for heading in reports]
    ways = {on_paper for reports in facts.values() for _, on_paper in reports.values()}
    rows, points = [], []
    for fact, reports in facts.items():
        named = " / ".join(
            f"{heading} ({n:,} {WAYS[on_paper] if len(ways) > 1 else 'reports'})"
            if listed.count(heading) > 1
            else heading
            for heading, (n, on_paper) in reports.items()
        )
        if len(fact) == 1:
            points.append(f"{lead(named)} {fact[0]}")
        else:
            rows.append(dict(zip(_CELLS, (named, *fact), strict=True)))
    is_simulated = any(tally.simulated for parts in source.tallies.values() for tally in parts)
    about = [
        "The numbers below follow from the chances with which answers were changed.",
        *["They would be true in a real survey, but not for these simulated reports."]
        * is_simulated,
        *[_WHILE_NOBODY_KNOWS] * (True in ways),
        *[_OF_TWO_ANSWERS] * bool(rows),
    ]
    blocks.append(" ".join(about))
    if rows:
        columns = [Column(*cell) for cell in _CELLS.items() if any(row[cell[0]] for row in rows)]
        caption = "How sure somebody can be of one of the two answers"
        blocks.append(Table(columns, rows, title=caption))
    return [*blocks, Points(tuple(points))] if points else blocks


def _questions_of(name: str, mechanism: Mechanism) -> list[tuple[str, Mechanism]]:
    """The mechanism of each question, where people are asked one by one; else the whole."""
    if isinstance(mechanism, OneOf) and max(map(len, mechanism.blocks)) == 1:
        return list(mechanism.parts.items())
    return [(name, mechanism)]


def _totals(files: Sequence[Mapping[str, tuple[Mechanism, int]]], rounds: int) -> list[Block]:
    """What all reports of one person tell together, and all rounds."""
    once: dict[str, list[Guarantee]] = {}  # {how people answered: the guarantee of each file}
    all_rounds: dict[str, list[Guarantee]] = {}
    mechanisms_of = [{name: mechanism for name, (mechanism, _) in of.items()} for of in files]
    most_of = [max(count for _, count in of_file.values()) for of_file in files]
    permanent = [permanent_of_people(mechanisms) for mechanisms in mechanisms_of]
    for mechanisms, most in zip(mechanisms_of, most_of, strict=True):
        on_paper = next(mechanism.is_on_paper for mechanism in mechanisms.values())
        one, several = of_a_person(mechanisms, most, rounds)
        if one is None or several is None:
            return [
                "What all questions together tell about a person cannot be said in one number. See "
                "each question above."
            ]
        once.setdefault(WAYS[on_paper], []).append(one)
        all_rounds.setdefault(WAYS[on_paper], []).append(several)
    questions = max(len(of_file) for of_file in files)
    blocks: list[Block] = []
    if questions > 1 or max(most_of) > 1:
        together = "All reports of one person together tell more than each report alone."
        said = _totals_by_way(once, "all reports of one person", questions > 1)
        blocks.append(" ".join([together, *said]))
    if all(permanent):
        blocks.append(" ".join(_of_permanent(permanent, most_of, rounds, questions > 1)))
    elif rounds > 1:
        together = (
            f"If the same people answer in {rounds} rounds, every further round can reveal more "
            "about each of them."
        )
        seen = f"what one person sends in all {rounds} rounds"
        sums = list(_totals_by_way(all_rounds, seen, questions > 1))
        if any(permanent_of(n, m) for of_file in mechanisms_of for n, m in of_file.items()):
            sums.append(CHANGED_ALIKE)
        blocks.append(" ".join([together, *sums]))
    else:
        blocks.append(
            "All this is for one round of the survey. If the same people are asked again, every "
            "further round can reveal more about each of them."
        )
    return blocks


def _of_permanent(
    files: Sequence[Sequence[Mapping[str, Permanent]]],
    most_of: Sequence[int],
    rounds: int,
    is_several: bool,
) -> Iterator[str]:
    """What all rounds tell where devices keep permanent reports, as an audit says it."""
    yield (
        "Each device keeps one permanent report of each answer. All that the device sends in all "
        "rounds tells no more about an answer than this report. What follows is for a person whose "
        f"answer{'s stay' if is_several else ' stays'} the same."
    )
    all_rounds = [(f"all {rounds} rounds", rounds)] if rounds > 1 else []
    for span, many in (*all_rounds, ("any number of rounds", None)):
        stays = []
        for of_file, most in zip(files, most_of, strict=True):
            reports = None if many is None else many * most
            stays += [
                side_by_side({name: m.of_rounds(reports) for name, m in kind.items()})
                for kind in of_file
            ]
        yield from _total_of(largest(stays), f"what one person sends in {span}", is_several)
    answers, changed = of_changed_answers([kind for of_file in files for kind in of_file])
    if answers > 1:
        yield (
            f"If answers change, a device reports on up to {answers} different answers to a "
            "question."
        )
        yield from _total_of(changed, "what one person sends in all rounds", True)
        yield CHANGED_ALIKE


def _total_of(guarantee: Guarantee, seen: str, is_several: bool) -> Iterator[str]:
    """What several reports of a person tell, and their epsilon."""
    yield from of_guarantee(guarantee, seen, is_several)
    yield f"The total epsilon is {guarantee.total:.4g}."


def _totals_by_way(
    by_way: Mapping[str, list[Guarantee]], seen: str, is_several: bool
) -> Iterator[str]:
    """What several reports of a person tell, in each way of answering, where there are two."""
    for way, guarantees in by_way.items():
        guarantee = largest(guarantees)
        yield from _total_of(guarantee, seen + f" {way}" * (len(by_way) > 1), is_several)


def _meaning(source: Source, settings: Settings) -> Section:
    """What the intervals say and what they do not."""
    level = f"{100 * settings.level:.4g}"
    is_population = settings.target == "population"
    drawn = " and for the chance by which people were drawn" * is_population
    kinds = {question.interval_kind for question in source.questions}
    unless = f". Only where a table says so, the {level} % are for all its intervals at once"
    unless = unless if "simultaneous" in kinds else ""
    says = [
        f"The {level} % intervals are {_for_whom(settings)}. If the survey were made 100 times in "
        f"this way, the interval of a number would contain the true number in about {level} of "
        "them or more.",
        *(
            f"{question.lead} {_OF_POSTERIOR}"
            for question in source.questions
            if question.interval_kind == "posterior"
        ),
        *(f"{question.lead} {_OF_BANDS}" for question in source.questions if question.has_bands),
        f"The intervals allow for the chance by which answers were changed{drawn}.",
        "The ends of an interval are rounded outwards, so that the interval does not become "
        "shorter.",
        f"The {level} % are for each interval by itself{unless}. Among many intervals, some miss "
        "the true number.",
    ]
    dropped = [visible(settings.labels.get(name, name)) for name in settings.dropped]
    headers = [{canonical(tally.header) for tally in parts} for parts in source.tallies.values()]
    is_in_several_ways = any(len(different) > 1 for different in headers)
    is_of_several = _hidden(source) < Strength.NONE
    is_of_several &= not any(question.has_single_people for question in source.questions)
    says_not = [
        *_not_allowed_for(source, settings),
        *[f"{_LEFT_OUT}: {'; '.join(dropped)}"] * bool(dropped),
        *[_IN_SEVERAL_WAYS] * is_in_several_ways,
        "An interval that begins at 0 leaves open whether anybody gives this answer.",
        *[_OVERLAP] * any(question.has_groups for question in source.questions),
        *["No number in this report is about a single person."] * is_of_several,
    ]
    return Section(
        "What the numbers say, and what they do not",
        ("They say:", Points(tuple(says)), "Keep in mind:", Points(tuple(says_not))),
    )


def _method(source: Source, settings: Settings) -> Section:
    """How reports were made and how shares were estimated."""
    rows = []
    each = [
        (name, mechanism, count)
        for mechanisms in _mechanisms(source)
        for of_all, (whole, count) in mechanisms.items()
        for name, mechanism in _questions_of(of_all, whole)
    ]
    for name, mechanism, count in each:
        noun = "bins" if mechanism.domain.is_binned else "values"
        values = f"{mechanism.domain.size:,} {noun}"
        if isinstance(mechanism, OneOf | HiddenQuestion):
            values = f"one of {len(mechanism.blocks):,}"
        kind = type(mechanism).__name__ + (f", {count} of a person" if count > 1 else "")
        epsilon = mechanism.guarantee.epsilon
        rows.append((f"{visible(name)} ({values})", kind, f"{epsilon:.6g}"))
    head = ("attribute", "mechanism", "epsilon")
    listed = [dict(zip(head, row, strict=True)) for row in dict.fromkeys(rows)]
    who = (
        "The answers" if _is_randomized(source) else "Where epsilon is a finite number, the answers"
    )
    on_paper = {mechanism.is_on_paper for _, mechanism, _ in each}
    how = (
        f"{who} of each person were randomised before they were counted (local differential "
        "privacy). Epsilon says how much a report can tell. Each epsilon was computed exactly."
    )
    if on_paper == {True, False}:
        how += (
            " On paper, people randomised their answers themselves, such as by a die, a coin or a "
            "birthday. On paper, epsilon follows from the chances of the die, the coin or the "
            "birthday."
        )
    elif on_paper == {True}:
        how = (
            "People randomised their answers themselves on paper, such as by a die, a coin or a "
            "birthday (randomised response). Epsilon says how much a report can tell. It follows "
            "from the chances of the die, the coin or the birthday."
        )
    blocks: list[Block] = [how, Table(head, listed, title="How answers were randomised")]
    notes: dict[str, list[str]] = {}
    for question in source.questions:
        result = question.estimate
        kind = question.interval_kind
        about = NO_INTERVALS if kind == "none" else how_made(result, kind)
        about = f"Intervals of shares: {about[:1].lower()}{about[1:]}" if about else ""
        summary = result.estimator.summary
        summary = f"{upper(summary)}." if summary else ""
        text = f"{summary} {about} Name of the method in the program: {result.method}."
        notes.setdefault(text.strip(), []).append(visible(question.name))
    if said := [
        visible(f"{counted}. {chances}".strip())
        for name, parts in source.tallies.items()
        for counted, chances in [reports_in_words(name, parts)]
        if counted
    ]:
        blocks += ["What people ticked:", Points(tuple(said))]
    prints = [
        f"{visible(name)}: " + ", ".join(tally.digest[:16] for tally in parts)
        for name, parts in source.tallies.items()
    ]
    blocks += [
        "Shares were estimated from the counts of reports:",
        Points(tuple(f"{', '.join(names)}: {text}" for text, names in notes.items())),
        "Fingerprints of the counts (the first digits of SHA-256). Equal counts have equal "
        "fingerprints:",
        Points(tuple(prints)),
    ]
    return Section("Method", tuple(blocks))


def _citation(source: Source, title: str) -> Section:
    """How to cite the report and the methods."""
    version = f", version {source.version}" if source.version else ""
    date = f" {source.date}." if source.date else ""
    program = f"warner{version}: learning the distribution of sensitive answers without collecting "
    # Sources that are not of the list of references are BibTeX, which no reader wants.
    sources = {
        key: references()[key].line()
        for mechanisms in _mechanisms(source)
        for mechanism, _ in mechanisms.values()
        for key in ("warner1965", *mechanism.sources)
        if key in references()
    }
    return Section(
        "How to cite",
        (
            Points(
                (
                    f"This report: {visible(title)}.{date}",
                    f"The program: The warner developers, {program}them.",
                    *(f"Randomised response: {line}" for line in sources.values()),
                    "Local differential privacy: S. P. Kasiviswanathan, H. K. Lee, K. Nissim, "
                    "S. Raskhodnikova and A. Smith, What can we learn privately? SIAM Journal on "
                    "Computing 40 (2011), 793-826.",
                )
            ),
        ),
    )
