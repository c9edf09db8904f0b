"""Commands from answers to tallies: randomize, tally, merge, and sql for reports in a database."""

from __future__ import annotations

import contextlib
import shlex
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from warner import io as files, results
from warner._core.checks import integer, show
from warner._core.errors import ArgumentError, EmptyError, FileError, SmallGroupWarning
from warner._core.progress import stage, steps
from warner._core.sampling import Source
from warner._core.text import series
from warner.app.commands.options import (
    additions,
    allow_implausible,
    are_simulated,
    generator,
    names_in,
    per_person,
    several_reports,
    smallest_group,
    tally_files,
    tally_output,
)
from warner.app.counting import (
    CountRequest,
    column_names,
    count_all,
    files_of,
    require_plausible_counts,
)
from warner.app.expected_groups import require_groups, require_named, require_reports
from warner.app.ledger import Ledger
from warner.app.new_study.text import listed
from warner.app.terminal import note, plural, say, warning
from warner.app.what_files_hold import (
    add_tallies,
    paths_of_groups,
    read_tallies,
    refuse_copies,
    refuse_overwriting,
    refuse_repeated,
    refuse_shared_outputs,
    require_folder_of,
    say_written,
    warn_of_simulation,
    write_tallies,
    write_text,
)
from warner.designs import PaperDesign
from warner.io import formats, public_values, read_answers, sql_statements
from warner.io.counts_by_hand import (
    DESIGN,
    CountsByHand,
    groups_without_count,
    percentages,
    uneven_sheets,
)
from warner.mechanisms import from_header
from warner.reports.public_columns import about_alike_groups, about_small_groups
from warner.reports.tally import (
    Tally,
    of_one_round,
    require_tally_ending,
    warn_of_unknown_rounds,
)
from warner.studies.public import declared
from warner.studies.study import Study

_PEOPLE = ("person", "people")


@click.command()
@click.argument("study", type=click.Path(dir_okay=False))
@click.argument("values", default="-")
@click.option(
    "-o",
    "--output",
    default="-",
    help=f"The report file to write, {formats.suffixes(writable=True)}. Default: print the "
    "reports as CSV.",
)
@click.option(
    "--bare",
    is_flag=True,
    help="Say that VALUES has no first line of column names. Its columns must be in the order "
    "of the study: first the public columns, then the questions.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Only for simulations, never for real answers: a number. The same number gives the "
    "same reports again. If you made up the answers with a seed of numpy.random.default_rng, "
    "give another number here: with the same number, the noise would depend on the answers.",
)
@click.option(
    "--keep-order",
    is_flag=True,
    help="Write the reports in the order of the rows of VALUES. This order can reveal who answered "
    "what.",
)
@click.option(
    "--blocks",
    is_flag=True,
    help="Write a Parquet file with 4,096 reports in each row, as bytes. Spark reads such "
    "files several times faster. Cannot be used if the study has public columns.",
)
@click.option(
    "--group",
    metavar="NAME",
    help="The group to which all people in VALUES belong. Without --group, VALUES must have a "
    "column with the group of each person. The study says which column this is.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The ledger: a file that records which answers were randomised, and how much privacy "
    "this cost (epsilon). Keep this file as secret as the answers. Default: study.ledger, in "
    "the folder of study.toml. The command reads all files *.ledger in the folders of the "
    "study and of the ledger.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Randomise these answers even if they were randomised before. This costs people's privacy "
    "again.",
)
def randomize(
    study: str,
    values: str,
    output: str,
    bare: bool,
    seed: int | None,
    keep_order: bool,
    blocks: bool,
    group: str | None,
    ledger: str | None,
    again: bool,
) -> None:
    """Randomise the answers in VALUES as the study file STUDY says.

    VALUES is a file with one row for each person and one column for each question: CSV, Parquet,
    JSON, JSON lines, Feather or Excel. The file may have any name; - is standard input. In an Excel
    file, the command reads the sheet with these columns. To read Excel files, first run: pip
    install "warner[excel]"

    A blank line counts as a row of empty cells, except at the end of the file. If VALUES has
    answers that the study does not allow, the command lists their rows, and writes no file.

    If an answer is missing, the command stops. The study can change this for a question. With the
    line missing = "answer", "no answer" is randomised like any other answer. With missing = "drop",
    a person without an answer is left out, with all their other answers. The collector can then see
    who sent no report.

    The reports are written in random order, because the order of people can reveal who answered
    what. Run this once: a second run on the same answers costs people's privacy again.

    If the study says rows_per_person = 3, VALUES may have up to three rows for one person. Check
    this yourself: the command cannot check it, because rows do not name people. Each row spends a
    part of the person's privacy budget.

    If the study has groups, a column of VALUES names the group of each person. Groups are not
    randomised. Each group gets a report file: with -o reports.parquet, the file of the group NAME
    is reports.NAME.parquet.

    Answers that were randomised before are refused, because a second report on the same answer
    costs the person's privacy twice. The ledger recognises such answers also in another file, and
    also if more people were added at the end. The ledger can miss a few answers from standard
    input. It can also miss a file with a single question, if the rows are in another order.
    Simulations with --seed are not recorded. An output file that exists is never replaced.

    Public columns of the study, such as [public.ward], are not randomised. They are written beside
    the reports. Columns of VALUES that the study does not name are left out.

    \b
        warner randomize study.toml answers.csv -o reports.parquet
        warner randomize study.toml answers.csv --blocks -o reports.parquet
        echo yes | warner randomize study.toml --bare
    """
    plan = Study.load(study)
    studies: dict[str | None, Study] = (
        plan.by_group if group is None else {group: _group(plan, group)}
    )
    apart = len(studies) > 1
    paths = paths_of_groups(output, studies)
    if apart and output == "-":
        groups = ", ".join(plan.groups)
        rule = f"has groups ({groups}), and each group needs a report file of its own"
        first = next(iter(plan.groups))
        remedy = f"Write for example -o reports.csv, which makes reports.{first}.csv and so on"
        raise ArgumentError(study, rule, None, remedy)
    for path in paths.values():
        refuse_overwriting(path, study, values)
    # The reports of a simulation spend nothing: they are of nobody.
    path_of_ledger = ledger or str(Path(study).with_suffix(".ledger"))
    refuse_overwriting(path_of_ledger, study, values)
    memory = Ledger(path_of_ledger, values, Path(study).parent) if seed is None else None
    mechanisms = {n: m for one in studies.values() for n, m in one.mechanisms.items()}
    by_card = [name for name, m in mechanisms.items() if isinstance(m, PaperDesign)]
    if by_card and seed is None:
        rule = (
            f"lets people randomise their answers to {', '.join(by_card)} themselves, on paper. If "
            "this command randomised these answers again, estimates would be wrong"
        )
        remedy = (
            f"To count what people said, run: warner estimate {shlex.quote(values)} --study "
            f"{shlex.quote(study)}. To simulate people who answer, add --seed"
        )
        raise FileError(study, rule, None, remedy)
    rng = generator(seed)
    source = Source(rng, "--seed")
    writers = {
        name: files.ReportWriter(
            paths[name],
            group_study.mechanisms,
            keep_order=keep_order,
            rng=rng,
            group=name,
            reports_per_person=group_study.rows_per_person,
            public=plan.public,
            titles=plan.titles,
            of_round=plan.round,
            blocks=blocks,
        )
        for name, group_study in studies.items()
    }
    copies = public_values.AnswerCopyCheck(plan.public, plan.answer_columns)
    done: dict[str | None, int] = {}
    dropped: list[int] = []
    with contextlib.ExitStack() as opened:
        with stage("randomising") as tell:
            for batches in _batches(plan, studies, values, bare, copies, dropped):
                for name, batch in batches.items():
                    # Nothing is written for a group of which there is nobody.
                    if name not in done:
                        opened.enter_context(writers[name])
                    public = {column: batch[column] for column in plan.public}
                    writers[name].write(studies[name].randomize_encoded(batch, source), public)
                    if memory is not None:
                        memory.add(name, {a: batch[a] for a in studies[name].mechanisms})
                    done[name] = done.get(name, 0) + len(next(iter(batch.values())))
                tell(sum(done.values()))
        copies.refuse()
        for column, answers in copies.near_copies():
            warning(
                f"public.{column} nearly repeats the answers in the column {answers!r}. Whoever "
                "has the reports can tell most of these answers from this public column, "
                f"however small epsilon is. Take public.{column} out of the study."
            )
        if memory is not None:
            if not again:
                memory.refuse(studies)
            for name in done:
                writers[name].finish()
            # Before the files get their names: a crash after that must not lose what was spent.
            memory.enter(studies, again)
    for name, group_study in studies.items():
        if name not in done:
            note(f"The group {name} has no people, so {paths[name]} was not written")
            continue
        many = group_study.rows_per_person
        who = plural(done[name], *(("row", "rows") if many > 1 else _PEOPLE))
        whose = f"{name}: {who} in {paths[name]}" if apart else who
        if group_study.rounds > 1:  # a rehearsal of one round: people spend in all of them
            say(f"{whose}. {group_study.spending}")
            continue
        whom = f"A person with {many} rows" if many > 1 else "Each person"
        say(f"{whose}. {whom} spends {_spent(group_study)}")
    if memory is not None and memory.at_most > memory.in_all:
        say(_about_earlier_runs(memory))
    if output != "-" and not apart:
        say_written(output)
    if dropped:
        left, out = sum(done.values()), sum(dropped)
        whole = plural(left + out, *(("row", "rows") if plan.rows_per_person > 1 else _PEOPLE))
        note(
            'Left out with all their answers, because an answer is missing (missing = "drop" in '
            f"the study): {out:,} of {whole}. The collector can see who sent no report. To "
            'protect this too, write missing = "answer" into the study.'
        )
    if memory is not None and memory.is_entered:
        said = (
            f"{path_of_ledger} records that these answers were randomised. Keep this file as "
            "secret as the answers."
        )
        if memory.is_known:
            said += (
                f" Together with earlier runs, epsilon = {memory.in_all:.10g} is now spent on "
                "these answers."
            )
        say(said)
    if plan.public:
        names = ", ".join(plan.public)
        say(f"Public columns, written without protection: {names}")
    if seed is not None:
        note(
            "Simulation only: anyone who knows the seed can undo the randomising. The reports are "
            "marked as simulated."
        )


def _about_earlier_runs(memory: Ledger) -> str:
    """What a person has spent who was in earlier runs, too."""
    runs = plural(memory.earlier, "earlier run", "earlier runs")
    record = "records" if len(memory.recorded_in) == 1 else "record"
    too = "that run" if memory.earlier == 1 else "all of them"
    spent = f"at most epsilon = {memory.at_most:.10g}"
    if memory.at_most == float("inf"):
        spent = "epsilon without limit"
    said = (
        f"{series(memory.recorded_in, 'and')} {record} {runs}. A person who was in {too} and in "
        f"this run has now spent {spent} in all."
    )
    if memory.has_twin and not memory.is_known:
        said += (
            " An earlier run had the same number of people. Check that the earlier run did not "
            "have the same answers in another order."
        )
    return said


def _group(study: Study, name: str) -> Study:
    """The study of one group, by its name on the command line."""
    if name not in study.groups:
        rule = (
            f"must be one of {', '.join(study.groups)}"
            if study.groups
            else "can be used only with a study that has groups"
        )
        raise ArgumentError("--group", rule, repr(name))
    return study.groups[name]


def _batches(
    plan: Study,
    studies: Mapping[str | None, Study],
    values: str,
    bare: bool,
    copies: public_values.AnswerCopyCheck,
    dropped: list[int],
) -> Iterator[Mapping[str | None, Mapping[str, Any]]]:
    """The answers in a file, a batch at a time, by group; ``dropped`` gets the numbers left out."""
    watch = copies.add if plan.public else None
    mechanisms = {name: group_study.mechanisms for name, group_study in studies.items()}
    if len(studies) > 1:
        named = {str(name): group_study for name, group_study in mechanisms.items()}
        column = plan.group_column
        for batches in read_answers.read_groups(
            values, column, named, bare, plan.public, watch, dropped.append
        ):
            yield dict(batches.items())
        return
    ((name, group_study),) = mechanisms.items()
    if name is not None and not bare:
        read_answers.require_group(values, plan.group_column, name)
    for batch in files.read_values(
        values, {**plan.public, **group_study}, bare, watch, dropped.append
    ):
        yield {name: batch}


def _spent(study: Study) -> str:
    """What one person spends, in words, and on which attributes it protects less than all."""
    mechanisms = study.mechanisms
    unprotected = [name for name, m in mechanisms.items() if m.guarantee.epsilon == float("inf")]
    if unprotected:
        names = ", ".join(unprotected)
        return (
            f"epsilon without limit: there is NO PROTECTION of {names}. These answers are "
            "sent as they are."
        )
    partial = [
        name
        for name, m in mechanisms.items()
        if m.sensitive_mask is not None and not m.sensitive_mask.all()
    ]
    metric = [name for name, m in mechanisms.items() if m.guarantee.is_metric]
    delta = f", delta = {study.delta:.4g}" if study.delta else ""
    spent = f"at most epsilon = {study.epsilon:.10g}{delta} in this run."
    if partial:
        spent += f" Only the sensitive values of {', '.join(partial)} are protected."
    if metric:
        spent += (
            f" This epsilon is for the two values of {', '.join(metric)} that are farthest apart. "
            "Closer values are protected more."
        )
    return f"{spent} Do this once: a second run on the same answers costs as much again."


@click.command(epilog=f"Report files end in {formats.suffixes()}.")
@click.argument("reports", nargs=-1)
@tally_output
@click.option(
    "--study",
    type=click.Path(dir_okay=False),
    help="The study file. Reports that were not made as this file says are refused.",
)
@click.option(
    "--ways",
    type=click.IntRange(1),
    help="Also count answers to several questions together: 2 for all pairs of questions, 3 "
    "for all groups of three. This is needed to estimate the shares of combinations of answers.",
)
@click.option(
    "--keep-reports/--no-keep-reports",
    default=None,
    help="If each report is a row of zeros and ones: count how often each whole row occurs, "
    "not only how often each place has a one. Estimates can then be more precise, but the "
    "tally grows with the number of people. Default: whole rows are counted only in files that "
    "warner wrote, for up to about 100,000 reports, and only if this lowers the variance of "
    "estimates by at least 5 %.",
)
@click.option(
    "--by",
    metavar="NAME,NAME,...",
    help="Count each group of people separately, by these public columns of the reports. The "
    "columns in the study's table [design] are added.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="In files from other programs: the column with the reports on question NAME. If each "
    "report has several parts, each in a column of its own, give the beginning of these "
    "columns' names, or write NAME.PART=COLUMN for each part.",
)
@click.option(
    "--round",
    "number",
    type=click.IntRange(1),
    metavar="N",
    help="If the same people report in several rounds: say that all these reports are of round "
    "N. Tallies of two rounds are then not added by mistake. Not needed if the study says its "
    "round, or if a table has a column named round.",
)
@click.option(
    "--checkpoint",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="A file that keeps the counts of all files read so far. If you run the same command "
    "again, also with more files, it reads only the files that are not yet counted.",
)
@click.option(
    "--counts",
    type=click.Path(dir_okay=False),
    multiple=True,
    metavar="FILE.csv",
    help='A file of counts, in place of reports: the result of the statement that "warner sql" '
    "prints, or a table with the columns attribute (the question), value (what was reported) "
    "and count. REPORTS are then files of counts too. May be repeated; all files are added up.",
)
@click.option(
    "--require-headers/--of-this-study",
    default=None,
    help="Refuse files that warner did not write, or that another program saved again. Such files "
    "do not say which study their reports are from, or whether they are complete. If you know that "
    "all reports were made as the study says, --of-this-study counts them without a warning. "
    "Default: count them with a warning.",
)
@click.option(
    "--expect-reports",
    type=click.IntRange(1),
    metavar="N",
    help="Write a tally only if exactly N reports were counted.",
)
@click.option(
    "--expect-groups",
    multiple=True,
    metavar="N or COLUMN=VALUES",
    help="Write a tally only if these groups, and no others, were counted: week=2026-W45..2026-W48 "
    "or ward=north,south. Or give just the number of groups. May be repeated: with a week and "
    "a ward, there must be reports of each ward in each week.",
)
@smallest_group
@several_reports
@are_simulated
@additions
@allow_implausible
def tally(
    reports: tuple[str, ...],
    output: str,
    study: str | None,
    ways: int | None,
    keep_reports: bool | None,
    by: str | None,
    columns: tuple[str, ...],
    number: int | None,
    checkpoint: str | None,
    counts: tuple[str, ...],
    require_headers: bool | None,
    expect_reports: int | None,
    expect_groups: tuple[str, ...],
    smallest_group: int,
    reports_per_person: int | None,
    simulated: bool,
    allow_equal: bool,
    allow_simulated: bool,
    allow_implausible: bool,
) -> None:
    """Count the reports in one or more files (- is a file on standard input).

    REPORTS are files, folders, or patterns such as 'lake/**/*.parquet' in quotes. They may be web
    addresses such as s3://bucket/reports/, which need the package s3fs or DuckDB's own extension.
    In a folder, only report files are counted: the last line of this page says how their names end.
    The command prints how many other files there are.

    If a file is wrong, the command names it and stops, and no tally is written. With --checkpoint,
    the next run goes on with the files that are not yet counted.

    The name of a folder can stand for a public column: files in a folder named ward=north need no
    column ward.

    Two files with the same content are refused, because their reports would be counted twice. Two
    files or groups of --by are also refused if their counts agree more closely than chance can
    explain. A file that holds the reports of several other files is refused too.

    If the study has groups, each group gets a tally file: with -o tally.json, the file of the group
    NAME is tally.NAME.json. Give all these files together to warner estimate.

    With --by, people are counted separately, for example for each ward and week, in one tally file.
    The command "warner merge" adds such tallies: ward to ward and week to week.

    Parquet and CSV files from other programs need --study, because only the study says what their
    reports mean. Their columns must be called QUESTION_report. For a column with another name, add
    --column.

    The command checks that the study can make such reports, and that randomised answers can give
    such counts by chance. Answers that were not randomised can still pass these checks if a
    question has few values. The command cannot check whether a file from another program is
    complete: see --require-headers.

    Survey tools keep a report as text in a hidden field, which warner.js fills. The text names its
    study, which the command checks. Do not ask the question itself in that tool: it would store the
    true answer beside the report.

    \b
        warner tally export.csv --study study.toml --column smokes=q7_report -o tally.json
        warner tally reports.parquet -o tally.json
        warner tally reports.parquet --by ward,week -o groups.json
        warner tally spark.parquet --study study.toml --column smokes=report -o tally.json
        warner tally lake/ --study study.toml --checkpoint lake.jsonl -o tally.json
        warner tally reports.parquet --ways 2 -o pairs.json
        warner tally lake/ --by week --require-headers --expect-groups 5 -o weeks.json
        warner tally --counts counts.csv --study study.toml -o tally.json
        warner tally --counts monday.csv tuesday.csv --study study.toml -o tally.json
        warner estimate pairs.json --joint sex,age
    """
    refuse_overwriting(output, *reports, *([study] if study else []), *counts)
    require_tally_ending(output)
    if checkpoint is not None:
        require_folder_of(checkpoint)
    plan = None if study is None else Study.load(study)
    for option, is_given in (("--of-this-study", require_headers is False), ("--column", columns)):
        if plan is None and is_given:
            raise ArgumentError(option, "needs --study, which says what the reports are")
    if counts:
        others = {
            "--checkpoint": checkpoint,
            "--ways": ways,
            "--by": by,
            "--column": columns,
            "--keep-reports": keep_reports,
            "--require-headers": require_headers,
        }
        wrong = [name for name, given in others.items() if given]
        paths_of_counts = [file.path for path in (*counts, *reports) for file in files_of(path)]
        counts_read = tallies_of_counts(paths_of_counts, plan, wrong, allow_equal)
        if not allow_implausible:
            for path, tallies in counts_read.items():
                require_plausible_counts(path, tallies)
        added = add_tallies(counts_read, allow_equal, allow_simulated or simulated)
        added = {name: tally.marked(simulated) for name, tally in added.items()}
        total = _of_study(per_person(added, reports_per_person), plan, number)
        for one in total.values():
            warn_of_unknown_rounds([one])
        _test(total, allow_implausible)
        require_reports([total], expect_reports)
        require_groups([total], expect_groups)
        one = next(iter(total.values()))
        is_paper = isinstance(from_header(one.header), PaperDesign)
        if is_paper and (text := groups_without_count(one)):
            warning(text)
        if one.names:
            _warn_of_groups([total], smallest_group)
        write_tallies(total, output)
        return
    if not reports:
        rule, remedy = "is missing", "Name files of reports, or a file of counts with --counts"
        raise ArgumentError("REPORTS", rule, None, remedy)
    names = None if by is None else names_in(by)
    if plan is not None and plan.design is not None:
        names = list(dict.fromkeys([*(names or ()), *plan.design.columns]))
    # Before many files are read.
    require_named(expect_groups, names or (), {} if plan is None else plan.public)
    refuse_shared_outputs(("--output", output), ("--checkpoint", checkpoint))
    request = CountRequest(
        plan,
        column_names(columns),
        names,
        ways,
        keep_reports,
        allow_equal,
        allow_simulated or simulated,
        require_headers,
        simulated,
        number,
        allow_implausible,
    )
    with warnings.catch_warnings():
        # Groups that are small in one file may be large in all of them, which are told below.
        warnings.simplefilter("ignore", SmallGroupWarning)
        counted = count_all(reports, request, checkpoint)
    paths = paths_of_groups(output, counted)
    if len(counted) > 1 and output == "-":
        rule = (
            f"belong to the groups {', '.join(map(str, counted))}, and each group gets its own "
            "tally file"
        )
        first = next(iter(counted))
        remedy = f"Write for example -o tally.json, which makes tally.{first}.json and so on"
        raise ArgumentError("reports", rule, None, remedy)
    for path in paths.values():
        refuse_overwriting(path, *reports, *([checkpoint] if checkpoint else []))
    totals = {
        group: _of_study(per_person(group_tallies, reports_per_person), plan, number)
        for group, group_tallies in counted.items()
    }
    require_reports(totals.values(), expect_reports)
    require_groups(totals.values(), expect_groups)
    for total in totals.values():
        if plan is not None:  # reports of warner's own files name their mechanism
            _test(total, allow_implausible)
    if names is not None:
        _warn_of_groups(totals.values(), smallest_group)
    for group, total in totals.items():
        write_tallies(total, paths[group], group if len(counted) > 1 else None)
    if study is not None and plan is not None and plan.design is not None:
        written = "TALLY" if output == "-" else shlex.join(paths.values())
        say(
            f"The study says how people were drawn ({plan.design.text}). To use this in "
            f"estimates, run: warner estimate {written} --study {shlex.quote(study)}"
        )


def _of_study(
    tallies: Mapping[str, Tally], plan: Study | None, number: int | None
) -> dict[str, Tally]:
    """The same tallies, which say of which round they are and how people were drawn.

    A study need say neither, and a report file can say its round by itself.
    """
    said = dict(tallies) if plan is None else plan.of_round(tallies)
    if number is not None:
        _require_round(number, any(tally.is_permanent for tally in said.values()), plan)
        said = of_one_round(said, number, "--round says", "Leave out --round")
    return said if plan is None else {n: t.of_survey(plan.design) for n, t in said.items()}


def _require_round(number: int, is_repeated: bool, plan: Study | None) -> None:
    """Refuse a number that is no round of the study."""
    if not is_repeated:
        rule = "can be used only with a study of several rounds, which has a table [repeat]"
        raise ArgumentError("--round", rule, str(number), "Leave out --round")
    if plan is not None:
        integer("--round", number, 1, plan.rounds, "Give one of the rounds of the study")


def _test(tallies: Mapping[str, Tally], allow_implausible: bool) -> None:
    """Refuse counts that no answers make by chance, and say which are doubtful."""
    for name, tally in tallies.items():
        plausible = results.plausibility(tally)
        if not allow_implausible:
            plausible.require(f"{name!r} in the sum of all files")
        if plausible.note is not None:
            warning(f"{name}: {plausible.note}")


def _warn_of_groups(totals: Iterable[Mapping[str, Tally]], smallest: int) -> None:
    """Say which groups can point at a person, and which a reader takes for one."""
    of_people = [next(iter(total.values())) for total in totals]  # the same in all attributes
    if text := about_small_groups([tally.sizes for tally in of_people], smallest):
        say(text)
    keys = dict.fromkeys(key for tally in of_people for key in tally)
    if of_people and (text := about_alike_groups(of_people[0].columns, list(keys))):
        warning(text)


@click.command()
@tally_files("tallies", required=True)
@tally_output
@several_reports
@additions
def merge(
    tallies: tuple[str, ...],
    output: str,
    reports_per_person: int | None,
    allow_equal: bool,
    allow_simulated: bool,
) -> None:
    """Add up tallies (files of counts) of the same study, or of the same group of a study.

    TALLIES are files, or patterns such as 'day=*/tally.json' in quotes. The order of the files does
    not matter. The command refuses equal tallies, because they are most likely copies. It also
    refuses a tally of files that another tally already counts. If chance cannot explain them, equal
    counts of two groups are refused too, and so are counts that are the sum of other tallies.

    Tallies of answers that were randomised in different ways cannot be added. Give them together to
    the command "warner estimate".

    Tallies that were made with warner tally --by are added group by group.

    If the same people answered on several days, the sum has several reports of each person. Say up
    to how many:

    \b
        warner merge monday.json tuesday.json --reports-per-person 2 -o days.json
    """
    refuse_overwriting(output, *tallies)
    require_tally_ending(output)
    refuse_repeated(tallies)
    parts = {path: read_tallies(path) for path in steps(tallies, "reading tallies")}
    total = add_tallies(parts, allow_equal, allow_simulated)
    for one in total.values():
        warn_of_unknown_rounds([one])
    added = {path: next(iter(of_file.values())) for path, of_file in parts.items()}
    counted = [f"{plural(t.n, 'report', 'reports')} of {path}" for path, t in added.items()]
    say(" ".join([f"Added: {listed(counted)}.", *_about_groups(added)]))
    write_tallies(per_person(total, reports_per_person), output)


def _about_groups(added: Mapping[str, Tally]) -> list[str]:
    """Which groups several files have, and which one file alone, in sentences."""
    from warner.results.from_tally import label

    if not next(iter(added.values())).names:
        return []
    said = []
    files_of = Counter(key for tally in added.values() for key in tally)
    names = {key: label(key) if len(key) == 1 else f"({label(key)})" for key in files_of}
    several = [names[key] for key, files in files_of.items() if files > 1]
    alone = [names[key] for key, files in files_of.items() if files == 1]
    for where, groups in (("more than one file", several), ("only one of the files", alone)):
        if groups:
            are = "group is" if len(groups) == 1 else "groups are"
            said.append(f"{len(groups):,} {are} in {where}: {listed(groups)}.")
    return said


# -----------------------------------------------------------------------------------------------
# Reports in a database or a warehouse: the statement that counts them there, and its result.


@click.command()
@click.argument("study", type=click.Path(dir_okay=False))
@click.option(
    "--dialect",
    type=click.Choice(sql_statements.DIALECTS),
    required=True,
    help="The database that will run the statement.",
)
@click.option("--table", help="The table of reports, with one row for each person.")
@click.option(
    "--dbt",
    "macro",
    metavar="NAME",
    help="Print a macro for dbt, which a dbt model calls with its table. Use this in place of "
    "--table.",
)
@click.option(
    "--by",
    metavar="NAME,NAME,...",
    help="Count each group of people separately, by these public columns of the study.",
)
@click.option(
    "--column",
    "--columns",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="The column with the reports on question NAME, if it is not called NAME_report. If "
    "each report has several parts, each in a column of its own, give the beginning of these "
    "columns' names, or write NAME.PART=COLUMN for each part.",
)
@click.option(
    "--round",
    "number",
    type=click.IntRange(1),
    metavar="N",
    help="If the same people report in several rounds: count only the rows with N in the "
    "column round. Without --round, the statement counts all rows of the table as if they were "
    "of one round, and nothing checks this.",
)
@are_simulated
@click.option(
    "-o", "--output", default="-", help="The SQL file to write. Default: print the statement."
)
def sql(
    study: str,
    dialect: str,
    table: str | None,
    macro: str | None,
    by: str | None,
    columns: tuple[str, ...],
    number: int | None,
    simulated: bool,
    output: str,
) -> None:
    """Print one SQL statement that counts the reports in a table.

    The reports stay in the database; only counts leave it. Save the result as CSV, with its first
    line of column names. Then make the tally with warner tally --counts. It is the same tally as
    from a file of these reports.

    The result also counts what is wrong, such as missing reports and values that no report can
    have. The result names its study, and "warner tally --counts" refuses it with another study. A
    database does not know whether reports are simulated: if they are, add --simulated.

    Columns of reports must hold numbers. If they hold texts or truth values, make a view that turns
    these values into numbers. The statement quotes all names. For Snowflake, it first writes plain
    names in capitals, as Snowflake itself does. A name in double quotes stays as it is: --column
    'age="age_report"'.

    If there is a table for each day or each part of the data, run the statement on each table: the
    command "warner tally --counts" adds the results.

    \b
        warner sql study.toml --dialect duckdb --table reports -o count.sql
        duckdb -csv survey.db < count.sql > counts.csv
        warner tally --counts counts.csv --study study.toml -o tally.json
    \b
        psql --csv -f count.sql > counts.csv
        bq --format=csv query --nouse_legacy_sql --max_rows=1000000 < count.sql > counts.csv
        snowsql -f count.sql -o output_format=csv -o friendly=false > counts.csv
        spark-sql --conf spark.sql.cli.print.header=true -f count.sql > counts.csv
        sqlite3 -header -csv survey.db < count.sql > counts.csv
        mariadb --batch --raw survey < count.sql > counts.csv
        clickhouse client --format CSVWithNames < count.sql > counts.csv
        trino --output-format=CSV_HEADER -f count.sql > counts.csv
    \b
        warner sql study.toml --dialect snowflake --dbt survey_counts -o macros/survey_counts.sql
        echo "{{ survey_counts(ref('reports')) }}" > models/survey_counts.sql
    """
    refuse_overwriting(output, study)
    if (table is None) == (macro is None):
        raise click.UsageError("Give either --table or --dbt.")
    target = sql_statements.DbtMacro(macro) if macro is not None else table or ""
    plan = _whole(study, Study.load(study))
    names = names_in(by)
    for name in names:
        declared(plan.public, name, "--by", plan.domains)
        if names.count(name) > 1:
            raise ArgumentError("--by", "must name each column only once", f"{show(name)} twice")
    named = column_names(columns)
    if number is not None:
        _require_round(number, plan.rounds > 1, plan)
    text = files.count_statement(
        plan.mechanisms,
        target,
        dialect,
        named,
        {name: plan.public[name] for name in names},
        study=plan.digest,
        simulated=simulated,
        number=number,
    )
    # A model of dbt is a query without a semicolon.
    write_text(f"{text}\n" if macro else f"{text};\n", output)


def _whole(path: str, plan: Study) -> Study:
    """The study, which must have no groups: a table does not say of which group it is."""
    if plan.groups:
        rule = "has groups, and a table does not say which group a row is from"
        remedy = "Count each group with a study file of its own"
        raise ArgumentError(path, rule, None, remedy)
    return plan


def tallies_of_counts(
    paths: Sequence[str], plan: Study | None, others: Sequence[str], equal: bool = False
) -> dict[str, dict[str, Tally]]:
    """The tallies that the results of counting statements hold, and lines that say so."""
    if others:
        listed_others = ", ".join(others)
        remedy = f"Leave {listed_others} out"
        if again := [name for name in others if name in ("--by", "--column")]:
            remedy = f'Run "warner sql" again with {" and ".join(again)}'
        raise ArgumentError("--counts", f"cannot be used with {listed_others}", None, remedy)
    if plan is None:
        raise ArgumentError("--counts", "needs --study, which says what the reports are")
    refuse_repeated(paths)
    whole = _whole("--study", plan)
    totals: dict[str, dict[str, Tally]] = {}
    for path in paths:
        try:
            table = files.read_counts(path, whole.mechanisms.values(), list(whole.public))
            tallies = table.tallies(whole.mechanisms, whole.public, whole.digest)
        except EmptyError:
            if len(paths) == 1:
                raise
            note(f"{path}: the table had no rows, so it adds nothing.")
            continue
        most = whole.rows_per_person
        totals[path] = {name: tally.per_person(most) for name, tally in tallies.items()}
        first = next(iter(tallies.values()))
        if table.by_hand:
            for name, tally in tallies.items():
                if not isinstance(mechanism := from_header(tally.header), PaperDesign):
                    # Also with --quiet: with the card of the sheet the counts mean other shares.
                    warning(
                        f"{name}: the counts are taken as counts of reports that a device "
                        f"randomised ({type(mechanism).__name__}). If they come from a paper "
                        "sheet, give the study of that sheet with --study."
                    )
            designs = {
                name: mechanism.text
                for name, mechanism in whole.mechanisms.items()
                if isinstance(mechanism, PaperDesign)
            }
            if designs and isinstance(table, CountsByHand) and not table.names_designs:
                of_study = "; ".join(f"{name!r} {text}" for name, text in designs.items())
                say(
                    f"{path}: the table has no column {DESIGN}, which names the design on the "
                    f"sheets. So the design of the study was used: {of_study}."
                )
            for text in {uneven_sheets(tallies), *map(percentages, tallies.values())} - {""}:
                warning(f"{path}: {text}")
            continue
        if not equal:
            refuse_copies(path, totals[path])
        unknown = ["which mechanism and epsilon made the reports"]
        unknown += [] if first.simulated else ["whether they are simulated"]
        if any(tally.may_mix_rounds for tally in tallies.values()):
            unknown.append(
                "whether all rows are of one round (warner sql --round N counts only the rows of "
                "round N)"
            )
        last = "whether a report is in the table twice"
        totals[path] = {n: t.not_checked([*unknown, last]) for n, t in totals[path].items()}
        say(
            f"{path}: a database counted {plural(first.n, 'row', 'rows')}. The command checked "
            "that the statement was made for this study, that every report is possible in this "
            "study, and that all counts agree. Not checked, because a database does not say it: "
            f"{', '.join(unknown)}, and {last}."
        )
        if table.by:
            say(
                f"{path}: Not checked either: whether a column says the same as the folder of its "
                "file, if the table was a pattern of files."
            )
        if first.simulated:
            warn_of_simulation(path)
    if not totals:
        raise EmptyError("--counts", "has nothing to count, because no table has rows")
    if len(totals) > 1:
        of_files = {path: next(iter(tallies.values())) for path, tallies in totals.items()}
        if len({tuple(tally.names) for tally in of_files.values()}) == 1:
            for sentence in _about_groups(of_files):
                say(sentence)
    return totals
