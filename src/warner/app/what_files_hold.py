"""What files hold, and the mistakes with files that commands refuse."""

from __future__ import annotations

import contextlib
import csv
import math
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import click
import numpy as np

from warner import io as files
from warner._core.atomic_files import has_replaced, temporary_file, write_whole
from warner._core.checks import show
from warner._core.errors import ArgumentError, FileError, MismatchError, StudyError, WarnerError
from warner._core.foreign_tables import NO_CHANCE
from warner._core.progress import steps
from warner._core.text import RANDOMISE_FIRST, canonical, file_name_key, in_one_line
from warner.app.terminal import note, plural, say, warning
from warner.domains import Domain
from warner.io import data_sets, formats
from warner.io.parquet_format import is_remote
from warner.io.public_values import TOTALS
from warner.io.report_file import ReportFile
from warner.mechanisms import Mechanism, OneOf, from_header
from warner.reports.public_columns import Key, columns_of_both, secret_column
from warner.reports.sums_of_others import SumsOfFiles
from warner.reports.tally import (
    AND_OTHERS,
    TalliesOfGroups,
    Tally,
    dump_tallies,
    files_together,
    load_tallies,
    merge,
    merge_apart,
    parse_tallies,
    require_same,
    save_tallies,
)
from warner.reports.tally_kinds import twins_among

if TYPE_CHECKING:
    from warner.studies.study import Study

FILES = "file"  # what --by calls the column of the files themselves
RARE = 1e-3  # the probability below which equal counts, and even ones, are named
_SELDOM = "Chance makes such counts in fewer than 1 of 1,000 cases"
_NAMED = 3  # files of many that a message names
_NO_TWIN = 1e-15  # the same of counts that are looked for in many files, night after night
ALL_FILES = "the sum of all files"
NOT_BY_GROUPS = "needs a tally of groups, but this tally was counted for all people together"
LEAVE_ONE_OUT = (
    "Leave out one of the two files. If they are from different people, add --allow-equal"
)
_T = TypeVar("_T", bound=Tally)


def read_tallies(path: str, with_a_study: str = "") -> dict[str, Tally]:
    """The tallies in a tally file, or on standard input for ``-``, by attribute."""
    if path == "-":
        return parse_tallies(_standard_input().read(), "standard input")
    if Path(path).is_dir():
        rule = "is a folder, but this command needs a tally (file of counts)"
        remedy = f"Count the reports in it first: warner tally {shlex.quote(path)} -o tally.json"
        raise FileError(path, rule, None, remedy)
    if Path(path).is_file() and not is_tally_file(path):
        if formats.is_report_file(path):
            refuse_counts(path)
            rule = "is not a tally (file of counts): by its ending, it holds reports or answers"
            remedy = f"To count reports, run: warner tally {shlex.quote(path)}. {RANDOMISE_FIRST}"
            raise FileError(path, rule, None, remedy)
        formats.refuse_unread(path)
        from warner.studies.problems import study_data, study_text

        with contextlib.suppress(StudyError):
            study_data(study_text(path), path)
            rule = "is a study file, which says how answers are randomised and holds no counts"
            remedy = "Give the tally that 'warner tally' made from the reports of this study"
            raise FileError(path, rule, None, f"{remedy}{with_a_study}")
    return load_tallies(path)


def read_totals(path: str, with_a_study: str = "") -> dict[str, Tally]:
    """The tallies in a tally file of all people together."""
    tallies = read_tallies(path, with_a_study)
    if any(tally.columns for tally in tallies.values()):
        rule = (
            "is a tally of groups of people, but this command needs a tally of all people together"
        )
        remedy = "Run warner tally without --by"
        raise FileError(path, rule, None, remedy)
    return tallies


def _standard_input() -> BinaryIO:
    """Standard input; somebody at a keyboard is told that the command waits for it."""
    if sys.stdin.isatty():
        say('Waiting for input, because the file is given as "-". To stop, press Ctrl-C.')
    return sys.stdin.buffer


def read_or_count(path: str) -> dict[str, Tally]:
    """The tallies in a tally file, or those of a report file."""
    return files.tally_file(path) if formats.is_report_file(path) else read_tallies(path)


def refuse_counts(path: str) -> None:
    """Refuse the result of a statement of warner sql, by its line of names, in place of reports."""
    from warner.io.sql_statements import COLUMNS

    with contextlib.suppress(OSError), open(path, "rb") as file:
        first = file.readline(1000).decode("utf-8-sig", "replace")
        names = {name.strip(' "\n\r').lower() for name in re.split("[,;\t|]", first)}
        if not names.issuperset(COLUMNS):
            return
        rule = 'is the result of a statement of "warner sql", and holds counts in place of reports'
        command = f"warner tally --counts {shlex.quote(path)} --study STUDY -o tally.json"
        raise FileError(path, rule, None, f"Add --counts: {command}")


def write_tallies(tallies: Mapping[str, Tally], path: str, group: str | None = None) -> None:
    """Write tallies to a file, or to standard output for ``-``, and print the number of reports."""
    if path == "-":
        click.echo(dump_tallies(tallies), nl=False)
    else:
        save_tallies(tallies, path)
    first = next(iter(tallies.values()))
    counted = plural(first.n, "report", "reports")
    if first.names:
        counted += f" in {plural(first.n_groups, 'group', 'groups')} by {', '.join(first.names)}"
    if first.reports_per_person > 1:
        counted += f", up to {first.reports_per_person:,} by the same person"
    counted += _of_questions(tallies)
    say(counted if group is None else f"{group}: {counted} in {path}")
    if path != "-" and group is None:
        say_written(path)


def _of_questions(tallies: Mapping[str, Tally]) -> str:
    """The questions of a tally file of several, with the number of reports where they differ."""
    from warner.app.new_study.text import listed

    if len(tallies) < 2:
        return ""
    if len({tally.n for tally in tallies.values()}) == 1:
        return f", on each of {len(tallies):,} questions: {listed(list(tallies))}"
    return f"; by question: {listed([f'{name} {t.n:,}' for name, t in tallies.items()])}"


def of_group(path: str, group: str | None) -> str:
    """The file of one group, beside the file that a person named.

    >>> of_group("out/reports.parquet", "clinic A"), of_group("tally.json", None)
    ('out/reports.clinic A.parquet', 'tally.json')
    """
    if group is None:
        return path
    file = Path(path)
    return str(file.with_name(f"{file.stem}.{group}{file.suffix}"))


def paths_of_groups(path: str, groups: Iterable[str | None]) -> dict[str | None, str]:
    """The file of each group: ``path`` itself where there is one group only."""
    listed = list(groups)
    keys = {file_name_key(str(group)): group for group in listed}
    if len(keys) < len(listed):
        rule = (
            "must have names that differ in more than capital letters, because files are named "
            "after groups"
        )
        raise ArgumentError("groups", rule, ", ".join(map(str, listed)), "Rename one group")
    return {group: of_group(path, group if len(listed) > 1 else None) for group in listed}


def warn_of_simulation(path: str) -> None:
    """Say that a file holds reports, or counts of reports, that were made with a seed."""
    note(
        f"{path}: these reports are simulated, because they were made with a seed. If you invent "
        "answers too, use another seed for them: with the same seed, estimates can be far off"
    )


def warn_of_design(tallies: Iterable[Tally]) -> None:
    """Say where a study drew people in a way that an estimate without a design leaves out."""
    drawn = next((tally.survey_design for tally in tallies if tally.survey_design), None)
    if drawn is not None:
        roles = " ".join(f"--{role} {shlex.quote(name)}" for role, name in drawn.roles.items())
        warning(
            f"The study says how people were drawn: {drawn.text}. These estimates do not "
            f"use that. To use it, add {roles}."
        )


def warn_of_title(path: str, other_title: str) -> None:
    """Say that files hold reports for a study of another title, as ``other_title`` says it."""
    rest = "Both studies have the same questions, so the reports were counted."
    warning(f"{path}: these are {other_title}. {rest}")


def tallies_together(
    paths: Sequence[str],
    read: Callable[[str], dict[str, Tally]],
    equal: bool,
    simulated: bool,
    implausible: bool = False,
    only: tuple[str, ...] = (),
) -> dict[str, list[Tally]]:
    """The tallies of several files, by attribute, to be estimated together."""
    refuse_repeated(paths)
    for text in paths:
        name, path = group_and_file(text)
        if path != text and Path(path).is_file():
            rule = f"names {path} {name!r}, but names of files are used only where files are groups"
            remedy = f"Run: warner estimate {shlex.join(paths)} --by file"
            raise FileError(text, rule, None, remedy)
    parts = {path: read(path) for path in steps(paths, "reading files")}
    if implausible:
        parts = {path: {n: t.trusted() for n, t in of.items()} for path, of in parts.items()}
    marked = _of_one_origin(parts, simulated)
    refuse_equal(marked, equal)
    marked = _with_same_attributes(marked, only)
    if len(paths) > 1 and not equal:
        with contextlib.suppress(MismatchError):  # of several mechanisms or rounds there is no sum
            by_name = {name: [of[name] for of in marked.values()] for name in marked[paths[0]]}
            refuse_copies(ALL_FILES, {name: merge(of) for name, of in by_name.items()})
    together = {name: [of[name] for of in marked.values()] for name in marked[paths[0]]}
    other_file = {  # of a question whose values are not those of the first file
        name: path
        for name, (first, *_) in together.items()
        for path, of in marked.items()
        if of[name].header.get("domain") != first.header.get("domain")
    }
    alike = {name: parts for name, parts in together.items() if name not in other_file}
    for name in chosen_tallies({n: together[n] for n in other_file}, only):
        rule = (
            f"cannot be estimated together: {name!r} has other values in {paths[0]} than in "
            f"{other_file[name]}"
        )
        remedy = "Estimate each file on its own"
        if names := list(chosen_tallies(alike, only)):
            remedy = f"To estimate the other questions, write {_only(names)}"
        raise MismatchError("files", rule, None, remedy)
    return alike


def _with_same_attributes(
    parts: Mapping[str, dict[str, Tally]], only: tuple[str, ...]
) -> dict[str, dict[str, Tally]]:
    """The tallies of files with the same attributes, or of those that --only names."""
    first = next(iter(parts))
    of_only = {
        path: {name: of[name] for name in chosen_tallies({n: [t] for n, t in of.items()}, only)}
        for path, of in parts.items()
    }
    for chosen in (parts, of_only):
        if chosen[first] and all(of.keys() == chosen[first].keys() for of in chosen.values()):
            return dict(chosen)
    other = next(path for path, of in parts.items() if of.keys() != parts[first].keys())
    in_all = [name for name in parts[first] if all(name in of for of in parts.values())]
    remedy = "Estimate the files with separate commands"
    if in_all:
        remedy += f", or add {_only(in_all)} for the questions that all files have"
    raise other_questions("files", (first, parts[first]), (other, parts[other]), remedy=remedy)


def _only(names: Sequence[str]) -> str:
    """The option that chooses these questions."""
    return f"--only {shlex.quote(','.join(names))}"


def other_questions(what: str, *files: tuple[str, Iterable[str]], remedy: str) -> MismatchError:
    """The error of two files that are about different questions."""
    got = " and ".join(f"{path} ({', '.join(names)})" for path, names in files)
    return MismatchError(what, "must be about the same questions", got, remedy)


def attributes_of(parts: Sequence[Tally]) -> list[str]:
    """The attributes that tallies of one domain are about; [] where they are of one question."""
    return list(from_header(parts[0].header).attribute_domains)


def chosen_tallies(
    tallies: Mapping[str, Sequence[_T]], only: tuple[str, ...]
) -> dict[str, Sequence[_T]]:
    """The tallies of the attributes that --only names, or that hold them; all without --only."""
    return {
        name: parts
        for name, parts in tallies.items()
        if not only or name in only or set(only) & set(attributes_of(parts))
    }


def apart(
    tallies: Mapping[str, Sequence[Tally]],
) -> tuple[dict[str, list[Tally]], dict[str, list[Tally]]]:
    """The tallies without groups, or those with groups: files are all of one sort."""
    flat, grouped = {}, {}
    for name, parts in tallies.items():
        flat[name] = [tally for tally in parts if not tally.columns]
        grouped[name] = [tally for tally in parts if tally.columns]
        if flat[name] and grouped[name]:
            rule = "must not mix tallies of groups and tallies of all people together"
            names_by = shlex.quote(",".join(grouped[name][0].names))
            remedy = (
                f"Make each tally with --by {names_by} (warner tally or warner collect pull). If "
                "you need no groups, run: warner estimate --total"
            )
            raise MismatchError("files", rule, None, remedy)
        for later in grouped[name][1:]:  # refused if their columns do not belong together
            columns_of_both(grouped[name][0].columns, later.columns)
    is_flat = any(flat.values())
    return (flat, {}) if is_flat else ({}, grouped)


def refuse_questions(by: Sequence[str], tallies: Mapping[str, Sequence[Tally]]) -> None:
    """Refuse questions that are named where public columns are."""
    for name in by:
        for question, (tally, *_) in tallies.items():
            attributes = from_header(tally.header).domain.attributes
            if name not in tally.names and name in (question, *attributes):
                raise secret_column("--by", name, tally.names)


def to_have_groups(paths: Sequence[str], by: str | None) -> str:
    """What to do where files have no groups, by the columns of --by or by any."""
    option = f"--by {by or 'COLUMN'}"
    if paths and all(path == "-" or is_tally_file(path) for path in paths):
        return f"Make the tally with warner tally {option}, or warner collect pull {option}"
    with contextlib.suppress(WarnerError):
        names = [name for path in paths for name in files.open_reports(path).public]
        spellings = {name.casefold(): name for name in names}
        columns = [spellings.get(n.strip().casefold(), n) for n in by.split(",")] if by else []
        option = f"--by {shlex.quote(','.join(columns))}" if columns else option
        return f"Count the groups first: warner tally {shlex.join(paths)} {option} -o tally.json"
    return f"The table needs the column {by}" if by else "Add --by COLUMN"


def one_or_all(parts: Sequence[Tally]) -> Tally | Sequence[Tally]:
    """A single tally itself, or several."""
    return parts[0] if len(parts) == 1 else parts


def refuse_repeated(paths: Sequence[str]) -> None:
    """Refuse a file that is named twice."""
    places = [str(Path(path).resolve()) for path in paths]
    if len(set(places)) < len(places):
        rule, remedy = "must not be added twice", "Name each file once"
        raise ArgumentError("tallies", rule, ", ".join(paths), remedy)


def _of_one_origin(
    parts: Mapping[str, dict[str, Tally]], allow_simulated: bool
) -> dict[str, dict[str, Tally]]:
    """The tallies of several inputs, all marked as simulated where some may be and are."""
    simulated = [path for path, of in parts.items() if any(t.simulated for t in of.values())]
    real = [path for path, of in parts.items() if not all(t.simulated for t in of.values())]
    if simulated and real and not allow_simulated:
        raise of_two_origins(simulated[0], real[0])
    return {
        path: {name: tally.marked(bool(simulated)) for name, tally in tallies.items()}
        for path, tallies in parts.items()
    }


def of_two_origins(simulated: str, real: str) -> MismatchError:
    """The error of two files, of which one holds simulated reports."""
    rule = f"holds simulated reports, but {real} holds real reports"
    remedy = (
        "Leave out the simulated reports, or add --allow-simulated to count all reports as "
        "simulated"
    )
    return MismatchError(simulated, rule, None, remedy)


def refuse_equal(
    parts: Mapping[str, dict[str, Tally]], allow_equal: bool, whatever_name: bool = False
) -> None:
    """Refuse two inputs with equal counts, or with an equal group that is hardly one by chance.

    Groups of other names are compared, in one input and in two, if ``whatever_name``.
    """
    if allow_equal or (len(parts) == 1 and not whatever_name):
        return
    before = CountsBefore()
    for path, tallies in parts.items():
        before.require_new(path, tallies)
    before.require_no_sums()
    _refuse_common(parts)
    pairs = len(parts) * (len(parts) - 1) / 2
    for attribute in dict.fromkeys(name for tallies in parts.values() for name in tallies):
        paths = [path for path, tallies in parts.items() if attribute in tallies]
        for twins in twins_among([parts[path][attribute] for path in paths]):
            if twins.groups and twins.chance * pairs < NO_CHANCE:
                raise _counted_twice(
                    f"{paths[twins.first]} and {paths[twins.second]}", f" in {twins.groups}"
                )
    for path, tallies in parts.items() if whatever_name else ():
        before.require_new_groups(path, tallies)


def fingerprint(*contents: str) -> str:
    """32 hexadecimal digits that tell contents apart, and not what they are."""
    return blake2b(canonical(contents).encode(), digest_size=16).hexdigest()


def _files_of(tallies: Mapping[str, Tally]) -> frozenset[str]:
    """Fingerprints of the files in a sum, or of its counts where other people hardly have these."""
    if marks := files_together((tally.n, tally.files) for tally in tallies.values()):
        return marks
    chance = math.prod(tally.chance_of_a_twin for tally in tallies.values())
    digests = [f"{name!r}:{tally.digest}" for name, tally in sorted(tallies.items())]
    return frozenset([fingerprint(*digests)] if chance < _NO_TWIN else [])


def _refuse_common(parts: Mapping[str, dict[str, Tally]]) -> None:
    """Refuse two sums that hold the reports of one file, as a running total and one of its days."""
    first: dict[tuple[str, str, bool], str] = {}
    files = {path: _files_of(of) for path, of in parts.items()}
    marks = {
        # Of other questions, or with groups and without, they are refused with their own words.
        path: {
            (mark, name, bool(tally.columns))
            for mark in files[path] - {AND_OTHERS}
            for name, tally in of.items()
        }
        for path, of in parts.items()
    }
    for path, of_path in marks.items():
        other = next((first[mark] for mark in sorted(of_path) if mark in first), None)
        if other is None:
            first |= dict.fromkeys(of_path, path)
            continue
        many = plural(len({m for m, *_ in of_path & marks[other]}), "file", "files")
        if AND_OTHERS in files[path] | files[other]:
            many = f"at least {many}"
        both = f"{other} and {path}, which have the reports of {many} in common"
        within = {
            marks[a] <= marks[b] and AND_OTHERS not in files[a]: a
            for a, b in ((path, other), (other, path))
        }
        which = f"Leave {within[True]} out" if True in within else "Count all files in one run"
        remedy = f"{which}. If their reports are from different people, add --allow-equal"
        raise ArgumentError(both, "must not be counted twice", None, remedy)


@dataclass
class CountsBefore:
    """The counts of all files before, with which those of each file are compared."""

    # {digests of the tallies: the file, and whether it was named by itself}
    files: dict[str, tuple[str, bool]] = field(default_factory=dict)
    # {digest of all counts of a group: the file and the group}
    groups: dict[bytes, tuple[str, str]] = field(default_factory=dict)
    sums: SumsOfFiles = field(default_factory=SumsOfFiles)  # the counts that are added up

    def require_new(
        self, path: str, tallies: Mapping[str, Tally], alone: bool = True, pairs: float = 0.0
    ) -> None:
        """Refuse a file with the counts of one before, in a folder only where it is no chance."""
        content = ",".join(f"{name!r}:{t.digest}" for name, t in sorted(tallies.items()))
        other, both = self.files.setdefault(content, (path, alone))
        if other != path:
            # The noise of different questions is independent.
            chance = math.prod(tally.chance_of_a_twin for tally in tallies.values())
            if (both and alone) or chance * pairs < NO_CHANCE:
                raise _counted_twice(f"{other} and {path}")
            if chance * pairs < RARE:
                warning(
                    f"{other} and {path} have equal counts, and both were counted. {_SELDOM}. If "
                    "they hold the same reports, leave out one of the two files, and count again."
                )
        self.sums.add(path, tallies)

    def require_no_sums(self) -> None:
        """Refuse files that have the counts of several others, as where files were compacted."""
        refused = self.sums.equal(NO_CHANCE)
        if (equal := refused or self.sums.equal(RARE)) is None:
            return
        from warner.app.new_study.text import listed
        from warner.results.from_tally import label

        few, many, key = equal
        of_group = f" in the group {label(key)}" if key else ""
        together = f"{listed(few, _NAMED)} together" if len(few) > 1 else few[0]
        same = (
            f"{together}, with the same counts{of_group} as {len(many):,} others together: "
            f"{listed(many, _NAMED)}"
        )
        one = "the first ones" if len(few) > 1 else few[0]
        if refused is None:
            warning(
                f"These reports may be counted twice: {same}. {_SELDOM}. If they are the same "
                f"reports, leave out {one} or the {len(many):,} others, and count again."
            )
            return
        different = "If their reports are from different people, add --allow-equal"
        remedy = f"Leave out {one} or the {len(many):,} others. {different}"
        raise ArgumentError(same, "must not be counted twice", None, remedy)

    def require_new_groups(self, path: str, tallies: Mapping[str, Tally]) -> None:
        """Refuse a group with the counts of another, whatever its name, that are no chance."""
        from warner.results.from_tally import label

        grouped = {name: tally for name, tally in sorted(tallies.items()) if tally.columns}
        # Tallies of one file can have different groups, as where people left out a question.
        digests: dict[Key, Any] = {}
        for name, tally in grouped.items():
            start = f"{name!r}:{canonical(tally.header)}".encode()
            contents = zip(tally, tally.sizes.tolist(), tally.contents(), strict=True)
            for key, n, content in contents:
                if n:
                    digests.setdefault(key, blake2b(digest_size=16)).update(start + content)
        again: dict[Key, tuple[str, str]] = {}
        for key, digest in digests.items():
            here = path, f"the group {label(key)}"
            before = self.groups.setdefault(digest.digest(), here)
            if before != here:
                again[key] = before
        if not again:
            return
        chances = dict.fromkeys(again, 1.0)
        for tally in grouped.values():  # once for all groups: many small ones are alike by chance
            for key, chance in zip(tally, tally.chances_of_twins().tolist(), strict=True):
                if key in chances:
                    chances[key] *= chance
        # One pair of all groups is equal by chance: a union bound. So is one of the sets of k pairs
        # between two files, of which there are at most (pairs between them)^k / k!.
        pairs = len(self.groups) * (len(self.groups) + 1) / 2
        sizes = Counter(file for file, _ in self.groups.values())
        together = dict.fromkeys(sizes, len(sizes) * (len(sizes) + 1) / 2)
        for key, (other, _) in again.items():
            together[other] *= min(1.0, chances[key] * sizes[other] * len(digests))
        for key, (other, twin) in again.items():
            if min(chances[key] * pairs, together[other]) < NO_CHANCE:
                group = f"the group {label(key)}"
                raise _counted_twice(f"{twin} of {other} and {group} of {path}")


def _counted_twice(both: str, where: str = "") -> ArgumentError:
    """The error of two inputs, or of two groups, that are most likely of the same people."""
    which = f"{both}, which have equal counts{where}"
    return ArgumentError(which, "must not be counted twice", None, LEAVE_ONE_OUT)


def refuse_copies(path: str, tallies: Mapping[str, Tally], rare: float = RARE) -> None:
    """Refuse counts that are all even, or multiples of a number; those that may be chance warn."""
    from warner.mechanisms.copies import counted_twice

    mechanisms = {name: from_header(tally.header) for name, tally in tallies.items()}
    refused = counted_twice(mechanisms, tallies)
    if (copies := refused or counted_twice(mechanisms, tallies, rare)) is None:
        return
    of = "" if copies.group == "all" else f" of {copies.group}"
    often = "twice" if copies.times == 2 else f"{copies.times} times"
    because = f"hold each report {often}, because all counts{of} are {copies.seen_by}"
    remedy = (
        "Look for files that were loaded twice, or copied under another name. Delete the copies, "
        "and count again. If there are no copies, add --allow-equal"
    )
    if refused is None:
        warning(f"{path} may {because}. {_SELDOM}. {remedy}.")
        return
    raise FileError(path, f"seems to {because}", None, remedy)


def write_text(text: str, path: str) -> None:
    """Write a text to a file and say so, or write it to standard output for ``-``."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_whole(path, text.encode())
        say_written(path)


def say_written(path: str) -> None:
    """Say on standard error, in one line, which file was written, and if it replaced another."""
    replaced = " (replaced the earlier file of this name)" if has_replaced(path) else ""
    say(f"Written: {in_one_line(path)}{replaced}")


def refuse_overwriting(output: str | None, *inputs: str) -> None:
    """Refuse an output that is one of the inputs, or that lies in a folder that is not there."""
    if output in (None, "-"):
        return
    require_folder_of(str(output))
    if not Path(str(output)).is_file():
        return
    target = Path(str(output)).stat()
    for path in inputs:
        try:
            status = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
        except (OSError, ValueError):
            continue  # no such file, or a standard input that is no file of the system
        if os.path.samestat(target, status):
            rule = "must not be one of the inputs"
            raise ArgumentError("--output", rule, str(output), "Choose another name")


def require_folder_of(path: str) -> None:
    """Refuse a file to be written in a folder that is not there, before hours of work."""
    if not Path(path).resolve().parent.is_dir():
        rule = f"cannot be written, because there is no folder {Path(path).parent}"
        raise ArgumentError(path, rule, None, "Make the folder, or correct its name")


def refuse_shared_outputs(*outputs: tuple[str, str | None]) -> None:
    """Refuse two results with one file name: the second would replace the first."""
    seen: dict[Path, str] = {}
    for option, path in outputs:
        if path is None or path == "-" or (Path(path).exists() and not Path(path).is_file()):
            continue
        real_path = Path(path).resolve()
        if real_path in seen:
            names = " and ".join(dict.fromkeys([seen[real_path], option]))
            rule = "must not be written to the same file"
            raise ArgumentError(names, rule, path, "Choose another name")
        seen[real_path] = option


def add_tallies(
    parts: Mapping[str, dict[str, Tally]],
    allow_equal: bool,
    allow_simulated: bool,
    inputs: Sequence[str] = (),
) -> dict[str, Tally]:
    """The sum of the tallies of several inputs."""
    parts = _of_one_origin(parts, allow_simulated)
    total: dict[str, Tally] = {}
    first = next(iter(parts), "")
    for path, tallies in steps(parts.items(), "adding tallies"):
        if total and tallies.keys() != total.keys():
            remedy = "Add the files with separate commands"
            raise other_questions("tallies", (first, total), (path, tallies), remedy=remedy)
        if total:
            apart({name: [total[name], tally] for name, tally in tallies.items()})
        try:
            total = {n: merge_apart([total[n], t]) if total else t for n, t in tallies.items()}
        except MismatchError as error:
            problem = error
        else:
            continue
        headers = [(tally.header, tallies[name].header) for name, tally in total.items()]
        one_kind = all(ours.get("domain") == theirs.get("domain") for ours, theirs in headers)
        run = f"{_TOGETHER} {' '.join(map(shlex.quote, inputs or parts))}" if one_kind else ""
        for ours, theirs in headers:
            require_same(ours, theirs, f"{first} and {path}", remedy=run)
        raise problem
    refuse_equal(parts, allow_equal, whatever_name=True)
    if total and not allow_equal:
        refuse_copies(ALL_FILES if len(parts) > 1 else first, total)
    people = {path: sum(tally.n for tally in of.values()) for path, of in parts.items()}
    marks = files_together((people[path], _files_of(of)) for path, of in parts.items())
    return {name: tally.of_files(marks) for name, tally in total.items()}


_TOGETHER = "Do not add them. To estimate them together, run: warner estimate"


def require_study(file: ReportFile, study: Study, together: bool) -> ReportFile:
    """The report file, refused where its headers are not those of the study."""
    # Headers are compared as text: no mechanism is built from one that was not expected.
    group_study = _study_of(file, study)
    # Reports that devices sent one by one do not say how many one person sends; the study does.
    most = max(file.reports_per_person, group_study.rows_per_person)
    file = replace(file, reports_per_person=most)
    mechanisms: dict[str, Mechanism] = dict(group_study.mechanisms)
    if together and len(mechanisms) > 1 and len(file.headers) == 1:
        # Reports of PerAttribute that were written as one attribute.
        mechanisms = dict.fromkeys(file.headers, group_study.together)
    return file.expected(mechanisms, group_study.public if file.format.holds_public else None)


def require_study_of_tallies(
    tallies: Mapping[str, Sequence[Tally]], study: Study, path: str
) -> None:
    """Refuse a study file that says other questions, values, mechanisms or epsilons than tallies.

    Of one question asked in two ways, as by phone and on paper, the study states one. Tallies of
    more people than it plans are no error, but may have a number that is mistyped.
    """
    stated: dict[str, list[Mechanism]] = {}
    for group_study in study.by_group.values():
        for name, mechanism in group_study.mechanisms.items():
            for each in {name: None, **mechanism.attribute_domains}:
                stated.setdefault(each, []).append(mechanism)
    most = study.rounds * study.rows_per_person  # reports of one person
    for name, parts in tallies.items():
        mechanisms = [from_header(tally.header) for tally in parts]
        inside = [] if name in stated else list(mechanisms[0].attribute_domains)
        for each in inside or [name]:
            if each not in stated:
                rule = f"does not have the question {each!r} of the tally"
                raise MismatchError(path, rule, None, _THEIR_STUDY)
            counted = [_about(mechanism, name, each) for mechanism in mechanisms]
            _require_stated(counted, [_about(one, name, each) for one in stated[each]], each, path)
        reports = sum(tally.n for tally in parts)
        if (planned := study.collect.planned) and reports > planned * most:
            warning(
                f"{name}: {reports:,} reports, but {path} states people = {planned:,} in "
                "[collect]. Check whether a number is mistyped, or people are counted twice. If "
                "more people answered, correct the number in the study."
            )


_THEIR_STUDY = "Name the study of these reports"


def _about(mechanism: Mechanism, name: str, question: str) -> Mechanism:
    """The mechanism of one question, where reports on several were counted under another name."""
    inside = name != question and question in mechanism.attribute_domains
    return mechanism.about([question]) if inside else mechanism


def _require_stated(
    counted: Sequence[Mechanism], stated: Sequence[Mechanism], question: str, path: str
) -> None:
    """Refuse mechanisms of a question, none of which is one that the study states."""
    digests = [
        {m.attribute_domains.get(question, m.domain).digest for m in of} for of in (counted, stated)
    ]
    if not digests[0] <= digests[1]:
        rule = f"states other possible answers to {question!r} than the tally has"
        raise MismatchError(path, rule, None, _THEIR_STUDY)
    laws = [_law_of(mechanism) for mechanism in stated]
    if not any(_law_of(mechanism) in laws for mechanism in counted):
        ours, theirs = (" or ".join(dict.fromkeys(map(_in_words, of))) for of in (stated, counted))
        rule = f"states {ours} for {question!r}, but the reports of the tally were made by {theirs}"
        if ours == theirs:
            rule = f"states other parameters of {ours} for {question!r} than the tally has"
        raise MismatchError(path, rule, None, _THEIR_STUDY)


def _law_of(mechanism: Mechanism) -> list[Any]:
    """What makes the reports of two mechanisms alike, in entries of their headers."""
    law = [mechanism.header[key] for key in ("mechanism", "requested", "parameters")]
    # Two computers may compute different rows of Optimal, which are equally good.
    return law[:2] if law[0] == "Optimal" else law


def _in_words(mechanism: Mechanism) -> str:
    """A mechanism and its epsilon, or the design of a card."""
    epsilon = f"{type(mechanism).__name__} at epsilon {mechanism.requested:.6g}"
    return str(getattr(mechanism, "text", epsilon))


def _study_of(file: ReportFile, study: Study) -> Study:
    """The study that the people of a report file answer."""
    if study.groups and file.group is None:
        # Reports that devices sent one by one: their headers say whose they can be.
        studies = list(study.groups.values())
        headers = [{n: m.header for n, m in of.mechanisms.items()} for of in studies]
        return studies[headers.index(file.headers)] if file.headers in headers else studies[0]
    group_study = study.by_group.get(file.group)
    if group_study is None:
        groups = f"has the groups {', '.join(study.groups)}" if study.groups else "has no groups"
        rule = f"has reports of the group {file.group!r}, but the study {groups}"
        remedy = "Name the study with which these reports were made"
        raise MismatchError(file.path, rule, None, remedy)
    return group_study


class Audited(NamedTuple):
    """What a file says of its reports."""

    # {name: mechanism}. Those of a study with groups are called "group: attribute"
    mechanisms: dict[str, Mechanism]
    simulated: bool  # whether the reports are simulated
    most: int  # the largest number of reports of one person
    # {name: domain} of the public columns; None for a column without a domain
    public: Mapping[str, Domain | None]
    # (G,) the number of reports of each group, of a tally of groups; else None
    sizes: np.ndarray | None = None
    rounds: int = 1  # in how many the same people report, of a study
    served: Study | None = None  # the study, where the survey page asks it
    spending: str = ""  # what a person spends in all, and how sure that makes others, of a study
    spent: Mapping[str, float] | None = None  # the same in numbers, see `Study.spent`


def mechanisms_of(path: str) -> Audited:
    """The mechanisms in a study, report or tally file, and what it says about its reports."""
    from warner.studies.study import Study

    if formats.is_report_file(path):
        opened = files.open_reports(path)
        most = opened.reports_per_person
        return Audited(opened.mechanisms, opened.simulation, most, opened.public)
    if is_tally_file(path):
        tallies = load_tallies(path)
        mechanisms = {name: from_header(t.header) for name, t in tallies.items()}
        most = max(t.reports_per_person for t in tallies.values())
        simulated = any(t.simulated for t in tallies.values())
        first = next(iter(tallies.values()))
        sizes = first.sizes if first.names else None
        return Audited(mechanisms, simulated, most, first.columns, sizes)
    study = Study.load(path)
    mechanisms, most = grouped_mechanisms(study), study.rows_per_person
    served = None if study.collect.access is None else study
    spending = " ".join([study.spending, *_about_a_person(study)])
    return Audited(
        mechanisms, False, most, study.public, None, study.rounds, served, spending, study.spent
    )


def _about_a_person(study: Study) -> list[str]:
    """How sure somebody can be who sees all that a person sends, in all rounds."""
    from warner.design.privacy_words import (
        CHANGED_ALIKE,
        largest,
        of_a_person,
        of_guarantee,
    )
    from warner.design.shuffling import protects_all_alike
    from warner.mechanisms.one_of import of_changed_answers

    rows, groups = study.rows_per_person, study.by_group.values()
    if study.rounds > 1:
        if all(len(group.mechanisms) == 1 for group in groups):
            return []  # the audit of the question says it
        most, guarantee = of_changed_answers(study.permanent)
        tells = of_guarantee(guarantee, "all reports of a person in all rounds", True)
        return [*tells, CHANGED_ALIKE] if most > 1 else tells
    sent = [of_a_person(group.mechanisms, rows, 1)[0] for group in groups]
    guarantees = [guarantee for guarantee in sent if guarantee is not None]
    if len(guarantees) < len(sent):
        return []
    is_one = rows == 1 and all(len(group.mechanisms) == 1 for group in groups)
    seen = "the report of a person" if is_one else "all reports of a person"
    joint = [domain for group in groups for domain in group.domains.values() if domain.attributes]
    if isinstance(draw := study.draw, OneOf) and max(map(len, draw.blocks)) == 1:
        joint = []  # the report is about one of the answers
    guarantee = largest(guarantees)
    if is_one and (guarantee.is_metric or not protects_all_alike(guarantee)):
        return []  # the audit of the question says it
    return of_guarantee(guarantee, seen, bool(joint) or not is_one)


def grouped_mechanisms(study: Study) -> dict[str, Mechanism]:
    """The mechanisms of a study by attribute, or of one with groups by "group: attribute"."""
    return {
        name if group is None else f"{group}: {name}": mechanism
        for group, group_study in study.by_group.items()
        for name, mechanism in group_study.mechanisms.items()
    }


def is_tally_file(path: str) -> bool:
    """Whether a file ends in .json and begins as tally files do."""
    if Path(path).suffix != ".json":
        return False
    start = Path(path).read_text(encoding="utf-8", errors="replace")[:200]
    return '"warner-tally"' in start


@contextlib.contextmanager
def as_file(path: str, for_sql: bool = False) -> Iterator[str]:
    """A file name for ``path``; standard input, read once only, becomes a temporary file."""
    if path != "-":
        with data_sets.local_name(path, for_sql) as near:
            yield near
        return
    stream = _standard_input()
    start = stream.read(4)
    suffix = ".parquet" if start == b"PAR1" else ".csv"
    with temporary_file(suffix=suffix) as copy, data_sets.named(copy, "standard input"):
        with open(copy, "wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file)
        yield copy


# -----------------------------------------------------------------------------------------------
# The files that commands about groups read: a tally file for each group, and margins.


def named_files(patterns: Iterable[str]) -> tuple[str, ...]:
    """The files that patterns in quotes match, as for warner tally; other names as they are."""
    names: list[str] = []
    for each in patterns:
        is_pattern = data_sets.is_data_set(each) and not is_remote(each)
        names += (data_sets.matching(each) if is_pattern else []) or [each]
    return tuple(names)


def tally_of(study: str) -> str:
    """The file for the tally of a study, so that studies in one folder do not share one.

    >>> tally_of("surveys/homework.toml")  # a point would make it the file of a group
    'homework_tally.json'
    """
    return f"{Path(study).stem}_tally.json"


def group_and_file(text: str) -> tuple[str, str]:
    """The name of a group and its file.

    >>> group_and_file("north=tally.json"), group_and_file("out/tally.clinic A.json")
    (('north', 'tally.json'), ('clinic A', 'out/tally.clinic A.json'))
    >>> group_and_file("south.json")
    ('south', 'south.json')
    """
    name, sign, file = text.partition("=")
    if sign and name and file and not Path(text).exists():
        return name, file
    stem = Path(text).stem
    return stem.partition(".")[2] or stem, text


def read_margins(path: str, groups: TalliesOfGroups) -> dict[str, dict[Any, float]]:
    """The margins of a population in a CSV file: column,value,number, or of one column less."""
    tallies = [groups] if isinstance(groups, Tally | Mapping) else groups
    columns = tuple(getattr(tallies[0], "names", ("group",)))
    keys = [key for of_mechanism in tallies for key in of_mechanism]
    values = {column: {str(key[i]): key[i] for key in keys} for i, column in enumerate(columns)}
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if header in (["value", "number"], [columns[0].lower(), "number"]) and len(columns) == 1:
        rows = [["column", *rows[0]], *([columns[0], *row] for row in rows[1:] if row)]
    elif header != ["column", "value", "number"]:
        rule = "must begin with the line column,value,number"
        if len(columns) == 1:
            rule = f"must begin with the line value,number or {columns[0]},number"
        raise FileError(path, rule, show(",".join(header)))
    margins: dict[str, dict[Any, float]] = {}
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        try:
            column, text, number = (cell.strip() for cell in row)
            amount = float(number)
        except ValueError:
            rule = f"line {line} must have a column, a value and a number"
            without = "Write the number without %: only the proportions of the numbers matter"
            raise FileError(path, rule, None, without if "%" in row[-1] else None) from None
        value = values.get(column, {}).get(text, text)
        if value is text and text.lower() in TOTALS:
            rule = f"line {line} has a sum of other lines"
            raise FileError(path, rule, show(text), "Delete this line")
        if value in margins.setdefault(column, {}):
            raise FileError(path, f"line {line} repeats a value of an earlier line")
        margins[column][value] = amount
    return margins
