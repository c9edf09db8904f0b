"""Counting files for warner tally: arguments, copies, files of other programs and checkpoints."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from warner import io as files
from warner._core.checks import show
from warner._core.errors import (
    ArgumentError,
    EmptyError,
    FileError,
    FrameWarning,
    WarnerError,
)
from warner._core.foreign_tables import NO_CHANCE
from warner._core.progress import stage
from warner._core.text import canonical, in_one_line, series
from warner.app.new_study.text import listed
from warner.app.terminal import note, plural, say, warning
from warner.app.what_files_hold import (
    LEAVE_ONE_OUT,
    RARE,
    CountsBefore,
    add_tallies,
    as_file,
    fingerprint,
    of_two_origins,
    other_questions,
    refuse_copies,
    refuse_counts,
    require_study,
    warn_of_simulation,
    warn_of_title,
)
from warner.io import data_sets, foreign_files, formats, parquet_format
from warner.io.data_sets import DataFile, FileState
from warner.io.foreign_files import columns_of_texts
from warner.io.parquet_format import ending, is_remote, redacted_address
from warner.io.stated_headers import codes_in_words, listed_codes
from warner.mechanisms import from_header
from warner.mechanisms.copies import log_chance_of_rows
from warner.reports.reports import text_start
from warner.reports.tally import (
    OF_TWO_ROUNDS,
    Tally,
    dump_tallies,
    merge_apart,
    parse_tallies,
    require_same,
    total_of_round,
)
from warner.studies.public import declared
from warner.studies.study import Study


@dataclass(frozen=True)
class CountRequest:
    """What is to be counted, and how."""

    plan: Study | None  # the study, or None
    columns: Mapping[str, Any]  # the columns of reports, as the option --column names them
    by: Sequence[str] | None  # the public columns that group people, or None
    ways: int | None  # the number of attributes of each marginal table, or None
    # whether to keep the distinct reports of bits; None where they are few and say more
    keep_reports: bool | None
    allow_equal: bool = False  # whether files may have equal counts
    allow_simulated: bool = False  # whether simulated reports may be added to real ones
    # whether files without the header of warner are refused; False where somebody says that their
    # reports are of the study, None where nobody says anything and a warning is due
    require_headers: bool | None = None
    simulated: bool = False  # whether all reports are a simulation, whatever their files say
    round: int | None = None  # the round that the option --round says
    allow_implausible: bool = False  # whether counts may be such that no answers make by chance

    @property
    def asked(self) -> dict[str, Any]:
        """What a checkpoint must agree with, as JSON data."""
        study = None if self.plan is None else [self.plan.digest, self.plan.rows_per_person]
        by = None if self.by is None else list(self.by)
        return {
            "study": study,
            "columns": dict(self.columns),
            "by": by,
            "ways": self.ways,
            "keep_reports": self.keep_reports,
        }


Totals = dict[str | None, dict[str, Tally]]
"""{group of the study: {attribute: tally}}."""


def count_all(paths: Sequence[str], request: CountRequest, checkpoint: str | None) -> Totals:
    """The sum of the tallies of files and data sets."""
    is_whole = request.require_headers is True
    members = {path: files_of(path, is_whole) for path in dict.fromkeys(paths)}
    _refuse_alike(members)
    _refuse_repeated(paths, members)
    if checkpoint is not None and "-" in members:
        rule, remedy = "cannot be used with standard input", "Name a file in place of -"
        raise ArgumentError("--checkpoint", rule, None, remedy)
    files_to_count = [file for files_of_path in members.values() for file in files_of_path]
    states = {file.path: (0, 0) if file.path == "-" else file.state() for file in files_to_count}
    opened = (
        nullcontext()
        if checkpoint is None
        else Checkpoint(checkpoint, request.asked, files_to_count)
    )
    with parquet_format.shared_connection(), opened as memory:
        many = sum(map(len, members.values()))
        arguments = [in_one_line(redacted_address(path)) for path in members]
        others = DuplicateCheck(arguments, request, many)
        sums = _count_members(members, states, request, memory, others)
        by_group: dict[str | None, dict[str, dict[str, Tally]]] = {}
        for one in sums:
            if not one.totals:
                raise EmptyError(one.path, "holds no reports")
            for group, tallies in one.totals.items():
                marked = {name: t.marked(request.simulated) for name, t in tallies.items()}
                if one.foreign:
                    marked = {
                        n: t.not_checked(_unknown(one, t.simulated)) for n, t in marked.items()
                    }
                one.totals[group] = by_group.setdefault(group, {})[one.path] = marked
        _say(sums, request.require_headers is None)
        if request.round is None:
            _warn_of_rounds(sums, request.plan)
        try:
            others.refuse_sums()
            return {
                group: add_tallies(by_path, request.allow_equal, request.allow_simulated)
                for group, by_path in by_group.items()
            }
        except WarnerError:
            if memory is not None:
                memory.undo()  # either argument can then be left out
            raise


def _count_members(
    members: Mapping[str, Sequence[DataFile]],
    states: Mapping[str, FileState],
    request: CountRequest,
    memory: Checkpoint | None,
    others: DuplicateCheck,
) -> list[GroupTotals]:
    """The sums of the files of each argument."""
    mechanisms = {} if request.plan is None or request.plan.groups else request.plan.mechanisms
    codes = codes_in_words(mechanisms)
    cards: dict[str, Any] = {name: m for name, m in mechanisms.items() if m.is_on_paper}
    listed = {n: f"{m.text} (codes: {listed_codes(m.report_words)})" for n, m in cards.items()}
    by_card = "cards: " + "; ".join(f"{name} {card}" for name, card in listed.items())
    if len(listed) == 1:
        by_card = f"the card of {next(iter(listed.values()))}"
    by_card = by_card if cards and len(cards) == len(mechanisms) else ""
    sums = {
        path: GroupTotals(
            in_one_line(redacted_address(path)), request.allow_simulated, codes, by_card
        )
        for path in members
    }
    named_files = [(path, file) for path, inside in members.items() for file in inside]
    if memory is not None:
        # What was counted before comes first, so that it is the new file that is refused.
        named_files.sort(key=lambda pair: not memory.knows(pair[1]))
    # What was counted before takes no time, and says nothing of the time that the rest takes.
    old = {file.path for _, file in named_files if memory is not None and memory.knows(file)}
    done, total = 0, sum(size for name, (size, _) in states.items() if name not in old)
    with stage("counting bytes", total) as tell:
        for path, file in named_files:
            state = file.state() if memory is not None else None
            counted = _counted(file, request, memory, existed=states[file.path] != (0, 0))
            if not counted.tallies:  # a file without rows is read again, which costs nothing
                sums[path].empty.append(file.name)
                continue
            if request.require_headers and counted.foreign:
                what = "it is complete" if counted.named else "its reports are of this study"
                rule = f"was written by another program, so it does not say whether {what}"
                remedy = (
                    "Leave the file out. If you know that all its reports are of this study, write "
                    "--of-this-study in place of --require-headers"
                )
                raise FileError(file.name, rule, None, remedy)
            others.refuse_copy(sums[path].path, file.name, file.path == path, counted)
            # Without a study, all files are warner's own.
            if request.plan and not request.allow_implausible and file.path not in old:
                require_plausible_counts(file.name, counted.tallies)
            sums[path].add(file.name, counted.of_file(request.columns))
            if file.path in old:
                continue
            if memory is not None and state is not None:
                memory.add(file, state, counted)
            done += states[file.path][0]
            tell(done)
    return list(sums.values())


def require_plausible_counts(path: str, tallies: Mapping[str, Tally]) -> None:
    """Refuse a file whose counts no answers make by chance, while it can still be named."""
    from warner.results.from_tally import require_plausible

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FrameWarning)  # the test of the sum of all files tells it
        for name, tally in tallies.items():
            if tally.n:
                require_plausible(tally, f"{name!r} in {path}")


# Endings of files that look like data, and are not read.
_DATA = (".orc", ".avro", ".arrow", ".feather", ".tsv", ".xlsx", *data_sets.PACKED)
_JSON = (".json", ".jsonl", ".ndjson")


def files_of(path: str, is_whole: bool = False) -> list[DataFile]:
    """The files of an argument; if ``is_whole``, none that looks like data may be left unread."""
    if not data_sets.is_data_set(path):
        return [DataFile(path, data_sets.folder_values(path))]
    left_out: list[str] = []
    members = data_sets.files_of(path, left_out)
    name = in_one_line(redacted_address(path))
    data = [each for each in left_out if _looks_like_data(each)]
    if data:
        many = plural(len(data), "file that looks", "files that look")
        what = f"{many} like data"
        names = listed([in_one_line(redacted_address(each)) for each in data], 3)
        remedy = f"If reports are in there, write them as {formats.suffixes(writable=True)}"
        if is_whole:
            away = "If not, put them into another folder"
            raise FileError(name, f"has {what} and cannot be read: {names}. {remedy}", None, away)
        left = "was left out" if len(data) == 1 else "were left out"
        warning(f"{name}: {what} {left}: {names}. {remedy}.")
    if others := [each for each in left_out if each not in data]:
        many = plural(len(others), "file was", "files were")
        whose = "its name has" if len(others) == 1 else "their names have"
        shown = [in_one_line(redacted_address(each)) for each in others]
        note(f"{name}: {many} left out, because {whose} no known ending. {_example(shown)}")
    return members


def _looks_like_data(path: str) -> bool:
    """Whether a file that is left out may hold reports: no tally, and no checkpoint of warner."""
    if is_remote(path) or ending(path) not in _JSON:
        read = [form.suffix for form in formats.FORMATS]  # as in part-0.parquet.snappy
        endings = {ending(path), *(each.lower() for each in Path(path).suffixes)}
        return not endings.isdisjoint((*_DATA, *_JSON, *read))
    with open(path, "rb") as file:
        start = file.read(200)
    return b'"warner-tally"' not in start and not start.startswith(_START)


def _example(names: Sequence[str]) -> str:
    """A sentence with the name of a file, or of the first of several."""
    return f"{'It is' if len(names) == 1 else 'The first is'} {names[0]}."


def _refuse_alike(sources: Mapping[str, Sequence[DataFile]]) -> None:
    """Refuse different addresses that have one name without their queries and passwords."""
    for paths in (sources, {file.path for members in sources.values() for file in members}):
        named: dict[str, str] = {}
        for path in paths:
            if named.setdefault(redacted_address(path), path) != path:
                rule = (
                    "stands for several addresses, which differ only in the password or after the "
                    "question mark"
                )
                remedy = "Count each address with a command of its own"
                raise ArgumentError(redacted_address(path), rule, None, remedy)


def _refuse_repeated(paths: Sequence[str], sources: Mapping[str, Sequence[DataFile]]) -> None:
    """Refuse a file that is named twice: by one argument, by two, or under two names."""
    for path in sources:
        if paths.count(path) > 1:
            rule = "is named twice, and would be counted twice"
            raise ArgumentError(redacted_address(path), rule, None, "Name it only once")
    seen: dict[str, tuple[str, str]] = {}
    for path, members in sources.items():
        for file in members:
            first, other = seen.setdefault(file.place, (path, file.name))
            if other != file.name:
                rule = f"is the same file as {other}, and would be counted twice"
                raise ArgumentError(file.name, rule, None, "Leave out one of the two files")
            if first != path:
                a, b = redacted_address(first), redacted_address(path)
                rule = f"is in both {a} and {b}, and would be counted twice"
                raise ArgumentError(file.name, rule, None, f"Leave out {a} or {b}")


@dataclass
class DuplicateCheck:
    """All files that were counted before, against which each file is checked."""

    # Equal counts of two files named one by one are refused. In folders they are refused where
    # chance cannot explain them: the chance of any equal pair of m files is at most m (m - 1) / 2
    # times that of one pair (the union bound), which is at most the product of its attributes.
    # A million reports of 16 values have 1e-42, those of one question with yes and no have 1e-3, so
    # copies of such files are not noticed.

    paths: Sequence[str]  # the arguments of the command
    wanted: CountRequest  # what is counted
    many: int  # the number of files
    seals: dict[str, str] = field(default_factory=dict)  # {digest of the content: file}
    counts: dict[str | None, CountsBefore] = field(default_factory=dict)  # {group: its counts}
    # {group: the argument and the tallies of the first file}
    firsts: dict[str | None, tuple[str, dict[str, Tally]]] = field(default_factory=dict)
    # the groups and arguments whose first file was compared
    checked: set[tuple[str | None, str]] = field(default_factory=set)

    def refuse_copy(self, path: str, name: str, alone: bool, counted: CountedFile) -> None:
        """Refuse a file that does not go with those before it."""
        other = self.seals.setdefault(counted.seal, name)
        if other != name and not self.wanted.allow_equal:
            rule = f"has the same content as {other}, and would be counted twice"
            raise ArgumentError(name, rule, None, LEAVE_ONE_OUT)
        first, tallies = self.firsts.setdefault(counted.group, (path, counted.tallies))
        if first != path and (counted.group, path) not in self.checked:
            self.checked.add((counted.group, path))
            both = {first: tallies, path: counted.tallies}
            add_tallies(both, True, self.wanted.allow_simulated, self.paths)
        if not self.wanted.allow_equal:
            before = self.counts.setdefault(counted.group, CountsBefore())
            pairs = self.many * (self.many - 1) / 2
            before.require_new(name, counted.tallies, alone, pairs)
            before.require_new_groups(name, counted.tallies)
            # The seal of a file of warner counts its reports.
            if counted.foreign:  # of a single file, the sum tells what may be chance
                rare = RARE / self.many if self.many > 1 else NO_CHANCE
                refuse_copies(name, counted.tallies, rare)

    def refuse_sums(self) -> None:
        """Refuse files with the counts of several others; arguments are compared when added."""
        for before in self.counts.values() if self.many > len(self.paths) else ():
            before.require_no_sums()


def _counted(
    file: DataFile, request: CountRequest, memory: Checkpoint | None, existed: bool
) -> CountedFile:
    """The tallies of a file, from the checkpoint if it has them."""
    try:
        remembered = None if memory is None else memory.found(file)
        return _count(file, request) if remembered is None else remembered
    except WarnerError as error:
        if not (existed and file.is_gone):
            # Such a name may have line ends, and a message is one line.
            shown = in_one_line(file.path)
            error.args = tuple(
                each.replace(file.path, shown) if isinstance(each, str) else each
                for each in error.args
            )
            raise
    except Exception:
        # The errors of a database or a file system, each of its own class.
        if not (existed and file.is_gone):
            raise
    rule = "was removed while it was counted"
    raise FileError(file.name, rule, None, "Run the command again")


def _count(file: DataFile, request: CountRequest) -> CountedFile:
    """The tallies of a file."""
    with as_file(file.path, for_sql=True) as path:
        if path == file.path:
            refuse_counts(path)
        if request.plan is not None and foreign_files.is_foreign(path):
            return _count_foreign(file, path, request.plan, request)
        opened = files.open_reports(path)
        other_title = None
        if request.plan is not None:
            opened = require_study(opened, request.plan, request.ways is not None)
            other_title = opened.other_title(request.plan.titles)
        tallies = files.tally_file(
            opened, request.by or (), ways=request.ways, keep_reports=request.keep_reports
        )
        first = next(iter(tallies.values()))
        for i, name in enumerate(request.by or ()):
            if text := file.values.get(name):
                here = foreign_files.folder_keys(path, name, opened.public[name], text)
                groups = zip(first, first.sizes.tolist(), strict=True)
                elsewhere = sum(n for key, n in groups if (key[i],) not in here)
                foreign_files.require_folder(path, name, text, elsewhere)
        if request.plan is not None and opened.round is not None:
            tallies = request.plan.of_round(tallies, opened.path)
        seal = opened.end["sha256"]
        return CountedFile(opened.group, seal, tallies, False, other_title=other_title)


@dataclass
class GroupTotals:
    """The sums of the files of an argument, by the group of the study."""

    path: str  # the argument
    allow_simulated: bool  # whether simulated reports may be added to real ones
    codes: str  # which value each code of reports stands for
    by_card: str  # the same of cards, where all questions have one
    # {group: {attribute: the sum so far}}
    totals: dict[str | None, dict[str, Tally]] = field(default_factory=dict)
    firsts: dict[str | None, str] = field(default_factory=dict)  # {group: the first file}
    # {a file that another program wrote: the number of its rows}
    foreign: dict[str, int] = field(default_factory=dict)
    # the number of reports of each report file of warner
    own: list[int] = field(default_factory=list)
    # whether all reports of the files of another program name their mechanism, or the study
    named: bool = True
    empty: list[str] = field(default_factory=list)  # the files without rows, which add nothing
    # the files of permanent reports that do not say their round
    of_no_round: list[str] = field(default_factory=list)
    # {for which other study reports are: the files}
    other_titles: dict[str, list[str]] = field(default_factory=dict)

    def add(self, path: str, counted: CountedFile) -> None:
        """Add the tallies of a file."""
        rows = next(iter(counted.tallies.values())).n
        if any(tally.is_permanent and tally.round is None for tally in counted.tallies.values()):
            self.of_no_round.append(path)
        if counted.other_title is not None:
            self.other_titles.setdefault(counted.other_title, []).append(path)
        if not counted.foreign:
            self.own.append(rows)
        else:
            self.foreign[path] = rows
            self.named = self.named and counted.named
        first = self.firsts.setdefault(counted.group, path)
        sums = self.totals.get(counted.group)
        if sums is None:
            self.totals[counted.group] = dict(counted.tallies)
            return
        if sums.keys() != counted.tallies.keys():
            remedy = "Count the two files with two commands"
            files = (first, sums), (path, counted.tallies)
            raise other_questions("files", *files, remedy=remedy)
        for name, tally in counted.tallies.items():
            require_same(sums[name].header, tally.header, f"{name!r} in {first} and in {path}")
            marks = {sums[name].simulated, tally.simulated}
            if len(marks) > 1 and not self.allow_simulated:
                raise of_two_origins(*((path, first) if tally.simulated else (first, path)))
            sums[name] = merge_apart([sums[name].marked(any(marks)), tally.marked(any(marks))])


# -----------------------------------------------------------------------------------------------
# Files that other programs wrote.


class CountedFile(NamedTuple):
    """What was counted in a file."""

    group: str | None  # the group of the study that its people belong to; None where there is none
    seal: str  # the digest of its content
    tallies: dict[str, Tally]  # {attribute: tally}; empty for a file without rows
    foreign: bool  # whether another program wrote the file
    named: bool = False  # whether all its reports name their mechanism, or the study
    # for which study its reports are, where it has another title than the study that is given
    other_title: str | None = None

    def of_file(self, columns: Mapping[str, Any]) -> CountedFile:
        """The same counts, which say of which file, columns and round they are.

        Few people can send the same reports as others, in the same order.
        """
        chances = (
            min(
                math.log(max(tally.chance_of_a_twin, sys.float_info.min)),
                log_chance_of_rows(from_header(tally.header), tally.n),
            )
            for tally in self.tallies.values()
        )
        if sum(chances) > math.log(NO_CHANCE):
            return self
        of = canonical(dict(columns))
        marked = {
            name: tally.of_files([fingerprint(self.seal, of, str(tally.round))])
            for name, tally in self.tallies.items()
        }
        return self._replace(tallies=marked)


def column_names(stated: Sequence[str]) -> dict[str, Any]:
    """The columns that the option --column names.

    >>> column_names(["age=report", "place.seed=s", "place.bucket=b"])
    {'age': 'report', 'place': {'seed': 's', 'bucket': 'b'}}
    """
    columns: dict[str, Any] = {}
    for text in stated:
        name, sign, column = text.partition("=")
        attribute, dot, inner = name.partition(".")
        if not (sign and attribute and column):
            rule = "must be QUESTION=COLUMN"
            raise ArgumentError("--column", rule, show(text), "For example --column age=report")
        stated_before = columns.setdefault(attribute, {} if dot else column)
        if dot and isinstance(stated_before, dict) and inner not in stated_before:
            stated_before[inner] = column
        elif dot or text != f"{attribute}={stated_before}" or stated.count(text) > 1:
            raise ArgumentError("--column", "must name each question only once", show(text))
    return columns


def _count_foreign(source: DataFile, path: str, plan: Study, request: CountRequest) -> CountedFile:
    """The tallies of a file that another program wrote."""
    if plan.groups:
        rule = "does not say which group of the study each row belongs to"
        remedy = "Count each group with a study file of its own"
        raise ArgumentError(source.name, rule, None, remedy)
    columns, ways = request.columns, request.ways
    by = {n: declared(plan.public, n, "--by", plan.domains) for n in request.by or ()}
    opened = foreign_files.open_foreign(path)
    of_rounds = plan.rounds_in({*opened.names, *source.values}, by)
    layout, names = plan.layout, list(plan.mechanisms)
    starts = {name: text_start(layout, i) for i, name in enumerate(names, 1)}
    counted: dict[str, Tally] = {}
    with foreign_files.digest_beside(opened) as digest:
        # Engines write files without rows; their columns are checked.
        with suppress(EmptyError):
            counted = foreign_files.tally_foreign(
                opened,
                plan.mechanisms,
                columns,
                by | of_rounds,
                ways,
                bool(request.keep_reports),
                source.values,
                starts,
            )
        seal = digest()
    if not counted:
        return CountedFile(None, seal, {}, True)
    if of_rounds:
        counted = plan.of_round(total_of_round(counted, of_rounds, source.name), source.name)
    most = plan.rows_per_person
    tallies = {name: tally.per_person(most) for name, tally in counted.items()}
    texts = columns_of_texts(opened, plan.mechanisms, columns)
    for name, column in texts.items():
        if name in opened.names and name != column:
            warning(
                f"{source.name} has a column {name!r} beside the reports on {name!r}. If this "
                "column holds the true answers, they are not protected. The program that wrote "
                "this file must not ask this question."
            )
    others = {name: m for name, m in plan.mechanisms.items() if name not in texts}
    stated = opened.stated(others, foreign_files.named_columns(opened, others, columns, ways))
    return CountedFile(None, seal, tallies, True, not stated.silent_on)


def _say(sums: Sequence[GroupTotals], is_open: bool) -> None:
    """Say what is to be said of the files, once for all arguments that it is true of.

    ``is_open``: the command does not say, either, that foreign files are of this study.
    """
    foreign: dict[tuple[str, bool], list[GroupTotals]] = {}
    simulated = []
    for one in sums:
        if one.empty:
            many = plural(len(one.empty), "file has no rows", "files have no rows")
            note(f"{one.path}: {many}. {_example(one.empty)}")
        marked = any(t.simulated for tallies in one.totals.values() for t in tallies.values())
        if one.foreign:
            foreign.setdefault(("" if one.named else one.codes, marked), []).append(one)
        if marked:
            simulated.append(one.path)
        for other_title, paths in one.other_titles.items():
            warn_of_title(_few(paths), other_title)
    for (codes, marked), alike in foreign.items():
        _say_foreign(alike, codes, marked, is_open)
    if simulated:
        warn_of_simulation(_few(simulated))


def _warn_of_rounds(sums: Sequence[GroupTotals], plan: Study | None) -> None:
    """Say where several files are added that may be of several rounds of the same people."""
    silent = [path for one in sums for path in one.of_no_round]
    if not silent or sum(len(one.own) + len(one.foreign) for one in sums) < 2:
        return
    number = None if plan is None else plan.round
    counted_as = f" They are counted as round {number}, as the study says." if number else ""
    how = "with the study file of that round" if number else "with --round N"
    text = (
        f"{_few(silent)}: the reports do not say which round they are from.{counted_as} "
        f"{OF_TWO_ROUNDS} Then count each round by itself, {how}."
    )
    warning(text)


def _few(paths: Sequence[str]) -> str:
    """The arguments that a message is about.

    >>> _few(["a.csv", "b.csv"]), _few(["a.csv", "b.csv", "c.csv"])
    ('a.csv and b.csv', 'a.csv and 2 others')
    """
    return " and ".join(paths) if len(paths) < 3 else f"{paths[0]} and {len(paths) - 1:,} others"


def _unknown(one: GroupTotals, marked: bool, whole: str = "the file is") -> list[str]:
    """What files of another program do not say, so that nothing can check it."""
    return [
        *([] if one.named or one.by_card else ["which mechanism and epsilon made the reports"]),
        *([] if marked else ["whether the reports are simulated"]),
        f"whether {whole} complete",
    ]


def _say_foreign(sums: Sequence[GroupTotals], codes: str, marked: bool, is_open: bool) -> None:
    """Say what was checked of files that another program wrote, and what was not."""
    rows = sum(sum(one.foreign.values()) for one in sums)
    if codes and sums[0].by_card:
        people = plural(rows, "person", "people")
        say(f"{_few([one.path for one in sums])}: holds what {people} said with {sums[0].by_card}.")
        return
    files_read = sum(len(one.foreign) for one in sums)
    report_counts = [n for one in sums for n in one.own]
    where = f" in {files_read:,} files" if files_read > 1 else ""
    whole, they = ("the files are", "files do") if files_read > 1 else ("the file is", "file does")
    checked = "belongs to this study and " * (not codes)
    unknown = series(_unknown(sums[0], marked, whole), "and")
    counted_as = (
        f" The reports were counted with what the study says: {codes}. Answers that were not "
        "randomised can look the same. If you know that all these reports are of this study, add "
        "--of-this-study. To refuse files from other programs, add --require-headers."
        if codes and is_open
        else ""
    )
    beside = ""
    if many := len(report_counts):
        report_files = plural(many, "report file", "report files")
        reports = plural(sum(report_counts), "report", "reports")
        beside = f" Also counted: {report_files} from warner with {reports}."
    text = (
        f"{_few([one.path for one in sums])}: written by another program, "
        f"{plural(rows, 'row', 'rows')}{where}. Every report {checked}is one that the mechanisms "
        f"of the study can send. Not checked, because the {they} not say it: "
        f"{unknown}.{counted_as}{beside}"
    )
    # Also with --quiet: reports of another epsilon would be counted without a word.
    if codes and is_open:
        warning(text)
    else:
        say(text)


# -----------------------------------------------------------------------------------------------
# Checkpoints of long counts.


_FORMAT = "warner-checkpoint"
_SCHEMA = 1
_START = b'{"asked":'
_OPTIONS = {"by": "--by", "columns": "--column", "ways": "--ways", "keep_reports": "--keep-reports"}


class CheckpointInUse(ArgumentError):
    """A checkpoint that another run writes: a job can try again later."""

    passes = True


class Checkpoint:
    """The files that are counted, on the disk; a context manager, which closes the file."""

    # The first line says what was asked. Each other line holds the tallies of one file, its size,
    # the time of its last change, what identifies its content, and a checksum. It is on the disk
    # before the next file is opened; one that was cut off counts as not there.
    # A file whose size and time of change are as they were is not read again. Otherwise its content
    # is compared: a copied or touched file is the same, a changed one is refused.
    # Files have a line only when they passed the checks against all before them. They are known
    # again by their real paths, else by their names: a folder may be moved with its checkpoint.

    def __init__(self, path: str, request: Mapping[str, Any], inputs: Iterable[DataFile]) -> None:
        self._path = path
        self._anew = f"To count all files again, delete {path}"
        self._entries: dict[str, dict[str, Any]] = {}  # by the real paths of files, or addresses
        self._known: dict[str, dict[str, Any]] = {}  # those of the files to count, by their paths
        self._file: BinaryIO = open(path, "a+b")  # noqa: SIM115 - closed by __exit__
        try:
            self._lock()
            self._read(json.loads(canonical(dict(request))))
            self._match(list(inputs))
            self._size = self._file.seek(0, os.SEEK_END)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _lock(self) -> None:
        """Refuse a checkpoint that another process writes, where the system can say so."""
        try:
            import fcntl
        except ImportError:  # Windows
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            pass
        rule = "is in use by another run of warner"
        remedy = "Wait until that run ends, or name another file"
        raise CheckpointInUse(self._path, rule, None, remedy)

    def _read(self, request: Mapping[str, Any]) -> None:
        """Read all whole lines, and cut off what follows them."""
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        torn = lines.pop()
        head = {"format": _FORMAT, "schema": _SCHEMA, "asked": request}
        if not lines:
            # A file that holds something else is left as it is.
            if torn[: len(_START)] != _START[: len(torn)]:
                raise self._other_file()
            self._file.truncate(0)
            self._append(head)
            return
        if not (lines[0].startswith(_START) and f'"{_FORMAT}"'.encode() in lines[0]):
            raise self._other_file()
        head_read = self._parsed(lines[0])
        if head_read.get("format") != _FORMAT or not isinstance(head_read.get("asked"), dict):
            raise self._altered()
        if head_read != head:
            raise self._otherwise(head_read, request)
        for line in lines[1:]:
            entry = self._parsed(line)
            if "seal" not in entry or not isinstance(entry.get("file"), str):
                raise self._altered()
            real_path = entry.get("place") or DataFile(entry["file"]).place
            if self._entries.setdefault(real_path, entry) is not entry:
                raise self._altered()
        self._file.truncate(sum(len(line) + 1 for line in lines))

    def _altered(self) -> FileError:
        return FileError(
            self._path,
            "was written by --checkpoint, and was changed or damaged since",
            None,
            self._anew,
        )

    def _other_file(self) -> FileError:
        remedy = "Name a file that does not exist yet"
        return FileError(self._path, "was not written by --checkpoint", None, remedy)

    def _otherwise(self, head_read: Mapping[str, Any], request: Mapping[str, Any]) -> ArgumentError:
        """The error of a checkpoint of another study or of other options."""
        there = head_read["asked"]
        remedy = "Use the same options again, or name another file with --checkpoint"
        if head_read.get("schema") != _SCHEMA:
            rule, remedy = "was written by another version of warner", self._anew
        elif there.get("study") != request["study"]:
            rule, remedy = "was made with another study", "Name another file with --checkpoint"
            if None in (there.get("study"), request["study"]):
                with_study = "with --study, but this command has no --study"
                without = "without --study, but this command has a --study"
                rule = f"was made {with_study if request['study'] is None else without}"
        else:
            others = [name for key, name in _OPTIONS.items() if there.get(key) != request[key]]
            rule = f"was made with another value of {', '.join(others)}"
        return ArgumentError(self._path, rule, None, remedy)

    def _parsed(self, line: bytes) -> dict[str, Any]:
        """The entry of a line, whose checksum is compared."""
        try:
            entry = json.loads(line)
            checksum = entry.pop("sha256")
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            raise self._altered() from None
        if checksum != _checksum(entry):
            raise self._altered()
        return dict(entry)

    def _append(self, entry: Mapping[str, Any]) -> None:
        """Write a line, and wait until it is on the disk."""
        text = canonical({**entry, "sha256": _checksum(entry)})
        self._file.seek(0, os.SEEK_END)
        self._file.write(text.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _match(self, inputs: Sequence[DataFile]) -> None:
        """Find the line of each file, and refuse lines of files that are not asked for."""
        left = dict(self._entries)
        for file in inputs:
            if file.place in left:
                self._known[file.path] = left.pop(file.place)
        names = {entry["file"]: real_path for real_path, entry in left.items()}
        for file in inputs:
            if file.path not in self._known and file.name in names:
                self._known[file.path] = left.pop(names.pop(file.name))
        if left:
            many = "1 file that is" if len(left) == 1 else f"{len(left):,} files that are"
            shown = _example(sorted(entry["file"] for entry in left.values()))
            rule = f"holds counts of {many} not named in this command. {shown.removesuffix('.')}"
            remedy = f"Put removed files back, and name all counted files. {self._anew}"
            raise ArgumentError(self._path, rule, None, remedy)

    def knows(self, file: DataFile) -> bool:
        """Whether a file has a line."""
        return file.path in self._known

    def found(self, file: DataFile) -> CountedFile | None:
        """What was counted in a file; None for a file that is not counted yet."""
        entry = self._known.get(file.path)
        if entry is None:
            return None
        if [*file.state()] != entry["state"]:
            with as_file(file.path, for_sql=True) as path:
                seal = foreign_files.content_digest(path)
            if seal != entry["seal"]:
                rule = f"was changed after it was counted for {self._path}"
                by_week = (
                    "Where files are corrected often, tally each week alone and run warner merge"
                )
                raise FileError(file.name, rule, None, f"{self._anew}. {by_week}")
        try:
            tallies = parse_tallies(entry["tallies"].encode(), self._path)
        except WarnerError:
            raise self._altered() from None
        # Tallies of different files may be equal: the contents of the files are not.
        others = {name: tally.of_others() for name, tally in tallies.items()}
        return CountedFile(entry["group"], entry["seal"], others, entry["foreign"], entry["named"])

    def add(self, file: DataFile, before: FileState, counted: CountedFile) -> None:
        """Keep what was counted in a file, after it passed all checks."""
        if file.state() != before:
            rule = "was changed while it was counted"
            raise FileError(file.name, rule, None, "Run the command again")
        self._append(
            {
                "file": file.name,
                "place": file.place,
                "state": [*before],
                "seal": counted.seal,
                "group": counted.group,
                "foreign": counted.foreign,
                "named": counted.named,
                "tallies": dump_tallies(counted.tallies),
            }
        )

    def undo(self) -> None:
        """Leave out the lines that were added since the checkpoint was opened."""
        self._file.truncate(self._size)


def _checksum(entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(dict(entry)).encode()).hexdigest()
