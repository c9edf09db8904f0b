"""What the options of several commands ask for: attributes, summaries, methods, and estimates."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np

from warner._core.atomic_files import read_whole
from warner._core.checks import choice, unknown
from warner._core.errors import ArgumentError, FileError, MethodWarning, message
from warner._core.table import as_text
from warner.app.terminal import note, say
from warner.app.what_files_hold import attributes_of, chosen_tallies, one_or_all
from warner.domains import Domain
from warner.estimators import Estimator
from warner.mechanisms import from_header
from warner.reports.tally import TalliesOfGroups, Tally
from warner.results.estimate import Estimate, estimate as estimate_tally
from warner.results.from_tally import likelihood_data
from warner.results.named_summaries import Named, applicable, is_by_question, parse
from warner.results.recommend import METHODS
from warner.results.solution import Solution

if TYPE_CHECKING:
    from warner._core.survey_design import SurveyDesign
    from warner.studies.study import Study

_T = TypeVar("_T", bound=Tally)
_P = TypeVar("_P", bound=Sequence[Tally] | TalliesOfGroups)
_Request = tuple[str, _P, list[str] | None]  # the name of a question, its tallies, its attributes


def headings(study: Study) -> dict[str, str]:
    """{attribute: the text of its question, with the unit of numbers}, where one is stated."""
    stated = study.labels
    for name, unit in study.texts.units.items():
        stated[name] = f"{stated.get(name, name)} ({unit})"
    return stated


def asked_tallies(
    tallies: Mapping[str, Sequence[_T]], only: tuple[str, ...], joint: tuple[str, ...]
) -> Iterator[tuple[str, Sequence[_T], list[str] | None]]:
    """What to estimate, as the options say."""
    inside = {name: attributes_of(parts) for name, parts in tallies.items()}
    names = dict.fromkeys([*tallies, *(each for inner in inside.values() for each in inner)])
    for name in only:
        choice("--only", name, tuple(names))
    chosen = chosen_tallies(tallies, only)
    if not joint:
        for name, parts in chosen.items():
            for question, attributes in _each_question(name, parts[0]):
                if attributes is None or _is_chosen(only, name, question, *attributes):
                    yield question, parts, attributes
    for text in joint:
        attributes = [attribute.strip() for attribute in text.split(",")]
        if missing := [name for name in attributes if name not in names]:
            rule = f"must be one or more of the questions {', '.join(names)}"
            raise ArgumentError("--joint", rule, ", ".join(missing))
        # The tallies that have all of them; where none has, the first says why.
        fits = [name for name in chosen if set(attributes) <= {name, *inside[name]}]
        if not fits and len(set(attributes)) > 1 and set(attributes) <= set(names):
            rule = "needs questions that were counted together"
            remedy = f"To count them together, run: warner tally --ways {len(attributes)}"
            raise ArgumentError("--joint", rule, text, remedy)
        if any(not inside[name] for name in fits):  # of a tally of one question
            remedy = f"For one question, write --only {attributes[0]}"
            raise ArgumentError("--joint", "must name several questions", text, remedy)
        for name in fits or list(chosen)[:1]:
            yield " x ".join(attributes), chosen[name], attributes


def asked_groups(
    groups: Mapping[str, TalliesOfGroups], only: tuple[str, ...]
) -> Iterator[tuple[str, TalliesOfGroups, list[str] | None]]:
    """What to estimate or to compare of groups of people, as :func:`asked_tallies` says it."""
    questions = {
        name: dict(_each_question(name, each_tally(parts)[0])) for name, parts in groups.items()
    }
    names = dict.fromkeys([*groups, *(each for inner in questions.values() for each in inner)])
    for name in only:
        choice("--only", name, tuple(names))
    for name, parts in groups.items():
        for question, attributes in questions[name].items():
            if _is_chosen(only, name, question, *(attributes or ())):
                yield question, parts, attributes


def _is_chosen(only: tuple[str, ...], *names: str) -> bool:
    """Whether --only names one of these, or is not given."""
    return not only or not set(only).isdisjoint(names)


def _each_question(name: str, tally: Tally) -> Iterator[tuple[str, list[str] | None]]:
    """The questions of a tally, with their attributes; None for all that it counts together."""
    from warner.domains import Items
    from warner.mechanisms import HiddenQuestion, OneOf

    mechanism = from_header(tally.header)
    inside = len(mechanism.domain.attributes)
    is_drawn = isinstance(mechanism, OneOf | HiddenQuestion)
    total = tally.total()
    has_all = (tally.ways or inside) >= inside
    is_together = has_all or not is_drawn
    if has_all and not is_drawn and inside > 1 and total.n:
        is_together = not is_by_question(likelihood_data(total, None))
    if is_together:
        yield name, None
    else:  # nobody was asked all of them together, or nobody reads so many combinations
        # Two questions may have items of one name.
        before = f"{name}: " if isinstance(mechanism.domain, Items) else ""
        yield from ((before + each, [each]) for each in attributes_of([tally]))


def that_were_asked(requests: Iterable[_Request[_P]]) -> tuple[list[_Request[_P]], list[str]]:
    """The questions that somebody was asked, and the names of the others, which are said."""
    listed = list(requests)
    nobody = [name for name, parts, names in listed if not were_asked(parts, names)]
    if len(nobody) == len(listed):
        return listed, []  # the estimate says why there is none
    if nobody:
        note(f"Questions left out, because nobody was asked them: {', '.join(nobody)}")
    return [request for request in listed if request[0] not in nobody], nobody


def were_asked(parts: Sequence[Tally] | TalliesOfGroups, attributes: list[str] | None) -> bool:
    """Whether somebody was asked these questions, of several each two together."""
    from warner.mechanisms import OneOf

    return any(
        not isinstance(mechanism := from_header(tally.header), OneOf)
        or attributes is None
        or mechanism.were_asked(tally.total(), attributes)
        for tally in each_tally(parts)
    )


def each_tally(parts: Sequence[Tally] | TalliesOfGroups) -> list[Tally]:
    """The tallies of files, of groups, or of one file with all groups."""
    if isinstance(parts, Tally):
        return [parts]
    return list(parts.values() if isinstance(parts, Mapping) else parts)


def question_of_item(name: str, tally: Tally, attributes: list[str] | None) -> str | None:
    """The question that has an item among those that people tick; None for other estimates."""
    from warner.domains import Items

    if attributes is None or not isinstance(from_header(tally.header).domain, Items):
        return None
    question, between, item = name.rpartition(f": {attributes[0]}")
    return question if between and not item else None


def estimates_of(
    name: str,
    parts: Sequence[Tally],
    chosen: Estimator | None,
    names: list[str] | None,
    only: tuple[str, ...],
    design: SurveyDesign | None = None,
) -> Iterator[Estimate]:
    """The estimate asked for, and of attributes that are randomised together also each alone."""
    survey: dict[str, Any] = {} if design is None else {**design.roles, "by": ()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MethodWarning)
        result = estimate_tally(one_or_all(parts), chosen, names, **survey)
    if result.advice is not None:
        say(f"{name}: {result.advice}")
    if names is not None or not only or name in only:
        yield replace(result, attribute=name)
    inner = [] if names is not None or parts[0].ways is not None else attributes_of(parts)
    for attribute in inner:
        if not only or attribute in only:
            yield result.marginal(attribute)


# -----------------------------------------------------------------------------------------------
# Background knowledge about tags from CSV files, as ``--background TAG=FILE`` names them.


def backgrounds(
    estimates: Sequence[Solution], options: tuple[str, ...]
) -> dict[str, dict[str, np.ndarray]]:
    """The distributions (K,) of the values that people hide under tags."""
    hidden: dict[str, dict[str, np.ndarray]] = {}
    domains = {str(e.attribute): e.domain for e in estimates if e.domain.tags}
    for option in options:
        name, equals, path = option.partition("=")
        attribute, dot, tag = name.rpartition(".")
        tag = tag.removeprefix("@")
        places = [a for a, d in domains.items() if tag in d.tags and (not dot or a == attribute)]
        if not equals or len(places) != 1 or tag in hidden.get(places[0], {}):
            tags = ", ".join(f"{a}.{t}" for a, d in domains.items() for t in d.tags)
            if not tags:
                rule = (
                    'is for questions that list tags such as "@home" among their answers (key '
                    '"tags"), but no question of this study lists tags'
                )
                raise ArgumentError("--background", rule, repr(option), "Leave out --background")
            rule = f"must be TAG=FILE with a tag of the questions ({tags}), and each tag only once"
            raise ArgumentError("--background", rule, repr(option))
        shares = _shares(path, domains[places[0]].untagged)
        hidden.setdefault(places[0], {})[tag] = shares
    return hidden


def _shares(path: str, domain: Domain) -> np.ndarray:
    """The shares (K,) in a CSV file with the columns value,share."""
    labels = {as_text(value): i for i, value in enumerate(domain.labels)}
    shares = np.full(domain.size, np.nan)
    line, data = 1, read_whole(path)
    problem = None
    try:
        for row in csv.DictReader(data.decode("utf-8-sig").splitlines()):
            line += 1
            index = labels[row["value"]]
            if not np.isnan(shares[index]):
                raise KeyError
            shares[index] = float(row["share"])
    except (KeyError, TypeError, ValueError, csv.Error):
        rule = "must have a possible value and its share, and each value only once"
        problem = message(f"{path}, line {line}", rule, None, "The first line must be: value,share")
    if problem is None and line == 1:
        problem = message(path, "holds no shares", None, "The first line must be: value,share")
    if problem is not None:
        raise FileError(problem)  # outside the handler, whose exception would show a cell
    shares[np.isnan(shares)] = 0.0
    return shares


# -----------------------------------------------------------------------------------------------
# The option --summary.


summary = click.option(
    "--summary",
    "summaries",
    metavar="[NAME=]SUMMARY,...",
    multiple=True,
    help="Numbers that sum up the answers, each with an interval: mean, median, variance, "
    "quantile:Q, or the share above:X, below:X or between:X:Y. Write NAME=SUMMARY for the question "
    "NAME only. May be repeated.",
)


@dataclass(frozen=True)
class Wanted:
    """The summaries that a user asks for."""

    common: tuple[Named, ...] = ()  # of all attributes of numbers that are not named
    # of the attributes that are named
    own: dict[str, tuple[Named, ...]] = field(default_factory=dict)

    @classmethod
    def of_options(cls, texts: Iterable[str], default: str = "") -> Wanted:
        """What the options --summary say.

        >>> wanted = Wanted.of_options(["mean", "alcohol=mean,above:14"])
        >>> [named.text for named in wanted.own["alcohol"]], len(wanted.common)
        (['mean', 'share above 14'], 1)
        """
        common: list[Named] = []
        by_attribute: dict[str, tuple[Named, ...]] = {}
        for text in texts:
            name, sign, rest = text.rpartition("=")
            if sign:
                by_attribute[name] = by_attribute.get(name, ()) + parse(rest)
            else:
                common += parse(text)
        if default and not common:
            common += parse(default)
        return cls(tuple(dict.fromkeys(common)), by_attribute)

    def named(self, result: Estimate) -> tuple[Named, ...]:
        """The summaries of one estimate that apply to its values."""
        summaries = self.own.get(str(result.attribute), self.common)
        return applicable(result.domain, summaries)

    def check(self, results: Sequence[Estimate]) -> None:
        """Refuse summaries that are of no attribute."""
        names = list(dict.fromkeys(str(result.attribute) for result in results))
        for name, summaries in self.own.items():
            if name not in names:
                raise unknown("--summary", name, names, "the questions")
            of_it = [result for result in results if result.attribute == name]
            for one in summaries:
                if not any(one.applies_to(result.domain) for result in of_it):
                    _refuse(one, name)
        for one in self.common:
            if not any(one.applies_to(result.domain) for result in results):
                _refuse(one, ", ".join(names))


def _refuse(named: Named, attributes: str) -> None:
    rule = f"{named.code} needs a question whose values are numbers"
    raise ArgumentError("--summary", rule, attributes)


# -----------------------------------------------------------------------------------------------
# The option --method.


method_option = click.option(
    "-m",
    "--method",
    "method_name",
    help=f"How shares are estimated: {', '.join(METHODS)}. For em you can add how many steps it "
    "makes (em:100, em:auto) or where it starts (em:histogram). Default: the recommended method.",
)
