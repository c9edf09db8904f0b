"""The command that writes a report for readers: report."""

from __future__ import annotations

import datetime
import importlib.metadata
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from warner._core.errors import ArgumentError
from warner._core.progress import steps
from warner._core.survey_design import SurveyDesign
from warner._core.text import meant
from warner.app.commands.options import (
    additions,
    allow_implausible,
    attributes,
    design_of,
    forged_part,
    names_in,
    of_intervals,
    require_drawn,
    survey_design,
    tally_files,
)
from warner.app.on_paper import OnPaper, paper_options
from warner.app.report.question import Question, Settings
from warner.app.report.sections import Source, build
from warner.app.report.writers import require_typst, write_report
from warner.app.requested import (
    Wanted,
    asked_tallies,
    estimates_of,
    headings,
    method_option,
    summary,
    that_were_asked,
)
from warner.app.terminal import say
from warner.app.what_files_hold import (
    FILES,
    NOT_BY_GROUPS,
    apart,
    attributes_of,
    chosen_tallies,
    refuse_overwriting,
    refuse_questions,
    require_study_of_tallies,
    to_have_groups,
    warn_of_design,
)
from warner.domains import Items
from warner.estimators import Estimator
from warner.mechanisms import from_header
from warner.reports.tally import Tally
from warner.results.from_tally import by_group, by_mechanism, label
from warner.results.named_summaries import SINGLE_CODES, may_be_codes
from warner.results.recommend import method, tells_numbers_apart
from warner.studies.study import Study

_DEFAULT_SUMMARIES = "mean,median"
_SHOWN = 10  # names of groups in a message
_FEW_PEOPLE, _MANY_GROUPS = 10, 20  # groups that nobody means to compare


@click.command()
@tally_files("tallies", metavar="[TALLY]...")
@click.option(
    "-o",
    "--output",
    "outputs",
    required=True,
    multiple=True,
    metavar="FILE",
    help="The file to write, .html or .pdf. With -, the HTML is printed. May be repeated.",
)
@click.option(
    "--study",
    metavar="FILE",
    help="The study file, for the title and the texts of questions in the report. Its table "
    "[design] says how people were drawn.",
)
@paper_options()
@click.option("--title", metavar="TEXT", help="The title. Default: the title of the study.")
@click.option(
    "--date",
    metavar="TEXT",
    help='A date to print in the report. The word "today" prints the date of today. Default: '
    "no date, so that the same tallies give the same file.",
)
@click.option(
    "--short",
    "is_short",
    is_flag=True,
    help="Write a short report of about one page: a table for each question, the clear "
    "differences between groups, and how much is revealed about each person.",
)
@summary
@method_option
@attributes
@click.option(
    "--by",
    metavar="NAME,NAME,...",
    help="Show results for groups of people, by these public columns. TALLY must be made with "
    "warner tally --by. Default: all columns of TALLY make the groups.",
)
@click.option(
    "--reference",
    metavar="NAME",
    help="Compare each group with this group. Default: each group is compared with all other "
    "groups together.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="How many times the same people send new reports. The file then says how well they are "
    "protected after all these rounds.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="The most answers that one table shows.",
)
@survey_design
@of_intervals
@forged_part
@additions
@allow_implausible
def report(
    tallies: tuple[str, ...],
    outputs: tuple[str, ...],
    study: str | None,
    on_paper: str | None,
    drop_missing: bool,
    counts: tuple[str, ...],
    title: str | None,
    date: str | None,
    is_short: bool,
    summaries: tuple[str, ...],
    method_name: str | None,
    only: tuple[str, ...],
    joint: tuple[str, ...],
    by: str | None,
    reference: str | None,
    rounds: int,
    top: int,
    weights: str | None,
    cluster: str | None,
    strata: str | None,
    level: float,
    target: str,
    forged: float | None,
    allow_equal: bool,
    allow_simulated: bool,
    allow_implausible: bool,
) -> None:
    """Turn TALLY, a file of counts, into a report for readers, as one HTML or PDF file.

    For each question, the file shows how many people answered, the shares with their intervals, and
    mean and median of numbers. If the tally has groups (warner tally --by), the file compares them.
    The file also says in plain words how well each person is protected, how the numbers were made,
    and what the numbers do not say.

    The file needs no network, no script and no other file. To write PDF, first run: pip install
    "warner[report]"

    If people were not drawn as a simple random sample, say how they were drawn: --weights,
    --cluster and --strata name public columns of the tally.

    \b
        warner report all.json --study study.toml -o report.html
        warner report all.json --summary mean,median,above:14 --rounds 10 -o report.pdf
        warner report --design crosswise:1/4 --counts same=680,different=320 -o report.html
    """
    loaded = None if study is None else Study.load(study)
    design = design_of(weights, cluster, strata, loaded)
    columns = names_in(by)
    paper = OnPaper(on_paper, counts, columns, design, drop_missing, study=loaded)
    paper.check(tallies)
    if paper.is_of_groups:
        rule = "must be a design with one card for everybody"
        remedy = f"For a table of this design, run: warner estimate --design {on_paper}"
        raise ArgumentError("--design", rule, on_paper, remedy)
    if not tallies and not paper.counts:
        raise click.UsageError("Missing argument 'TALLY...'.")
    suffixes = {path: ".html" if path == "-" else Path(path).suffix.lower() for path in outputs}
    for output, suffix in suffixes.items():
        if suffix not in (".html", ".pdf"):
            remedy = f"Write -o {shlex.quote(str(Path(output).with_suffix('.html')))}"
            raise ArgumentError("--output", "must end in .html or .pdf", output, remedy)
        if suffix == ".pdf":
            require_typst()
        refuse_overwriting(output, *tallies, *([study] if study else []))
    allowed = allow_equal, allow_simulated, allow_implausible
    together = paper.tallies(tallies, [*columns, *paper.not_groups], *allowed, only)
    refuse_questions(columns, together)
    if loaded is not None:
        require_study_of_tallies(chosen_tallies(together, only), loaded, str(study))
    flat, grouped = apart(together)
    if design is not None:
        require_drawn(design, grouped, tallies or ("--counts",))
    else:
        warn_of_design(tally for parts in together.values() for tally in parts)
    if by == FILES and not grouped:
        rule = "cannot be used for a report, which has the groups of one tally"
        remedy = "To see files beside each other, run: warner estimate FILE1 FILE2 --by file"
        raise ArgumentError("--by file", rule, None, remedy)
    for option, given in (("--by", by), ("--reference", reference)):
        if given is not None and not grouped:
            way = to_have_groups(tallies, by)
            remedy = f"{way}. For all people together, leave out {option}"
            raise ArgumentError(option, NOT_BY_GROUPS, None, remedy)
    chosen = None if method_name is None else method(method_name)
    used, groups = _without_groups(grouped, columns, design) if grouped else (flat, {})
    if by is None:
        _refuse_tiny_groups(groups)
    summaries_of = Wanted.of_options(summaries, _DEFAULT_SUMMARIES)
    if by is None and design is not None and design.strata is not None and not groups:
        say(f"To compare the groups of {design.strata}, add --by {design.strata}.")
    if reference is not None:
        _check_reference(reference, groups, design)
    labels = {} if loaded is None else headings(loaded)
    origin = paper.origin
    dropped = () if loaded is None else _dropped(loaded)
    if origin.has_rows:  # of a table with a row for each person, only --drop-missing leaves out
        dropped = tuple(name for name in dropped if name not in origin.left_out)
    settings = Settings(
        level,
        target,
        top,
        summaries_of,
        reference,
        labels,
        chosen,
        dropped,
        forged,
        design,
        is_short,
        origin.left_out,
    )
    questions, nobody = _questions(used, groups, chosen, only, joint, settings)
    if summaries:
        Wanted.of_options(summaries).check([question.estimate for question in questions])
    for question in questions:
        if may_be_codes(question.domain) and tells_numbers_apart(question.estimate.data):
            say(f"{question.name}: {SINGLE_CODES}")
    tallied = [name for parts in together.values() for tally in parts for name in tally.names]
    declared = [] if loaded is None else loaded.public
    public = list(dict.fromkeys([*declared, *tallied, *origin.public]))
    content = build(
        Source(
            chosen_tallies(together, only),
            questions,
            title if title is not None else "" if loaded is None else loaded.title,
            datetime.date.today().isoformat() if date == "today" else date or "",
            rounds,
            importlib.metadata.version("warner"),
            nobody,
            public,
            loaded is not None and loaded.collect.access == "open",
            origin.has_rows,
            [name for name in origin.beside if name not in public],
        ),
        settings,
    )
    for output, suffix in suffixes.items():
        write_report(content, output, suffix)


def _refuse_tiny_groups(groups: Mapping[str, Sequence[Tally]]) -> None:
    """Refuse groups that nobody named, and most of which are of a few people, as by a weight."""
    for tallies in groups.values():
        sizes = [sum(tally.n for tally in of_group) for of_group in by_group(tallies).values()]
        tiny = sum(size < _FEW_PEOPLE for size in sizes)
        if tiny > max(_MANY_GROUPS, len(sizes) / 2):
            rule = (
                f"has {len(sizes):,} groups by {', '.join(tallies[0].names)}, and {tiny:,} of them "
                f"are too small to compare: fewer than {_FEW_PEOPLE} people"
            )
            remedy = (
                "Name the columns that make groups, such as --by region. If a column has weights, "
                "name it with --weights"
            )
            raise ArgumentError("TALLY", rule, None, remedy)


def _check_reference(
    reference: str, groups: Mapping[str, Sequence[Tally]], design: SurveyDesign | None
) -> None:
    """Refuse a reference that is no group."""
    if not groups and design is not None:
        rule = (
            "needs groups, but the public columns here only say how people were drawn "
            f"({design.text})"
        )
        remedy = f"Name the columns that make groups: --by {design.strata or 'NAME'}"
        raise ArgumentError("--reference", rule, reference, remedy)
    listed = [tally for tallies in groups.values() for tally in tallies]
    names = list(dict.fromkeys(label(key) for tally in listed for key in tally))
    if reference not in names:
        shown = "; ".join(names[:_SHOWN]) + ("; ..." if len(names) > _SHOWN else "")
        rule = f"must be one of the groups {shown}"
        columns = [
            name
            for tally in listed
            for key in tally
            if isinstance(key, tuple)
            for name, value in zip(tally.names, key, strict=True)
            if str(value) == reference
        ]
        alone = f"For groups by {columns[0]!r} alone, add --by {columns[0]}" if columns else None
        raise ArgumentError("--reference", rule, reference, alone or meant(reference, names))


def _dropped(study: Study) -> tuple[str, ...]:
    """The attributes at which people without an answer are left out."""
    domains = [
        (attribute, domain)
        for group_study in study.by_group.values()
        for name, mechanism in group_study.mechanisms.items()
        for attribute, domain in (mechanism.attribute_domains or {name: mechanism.domain}).items()
    ]
    return tuple(dict.fromkeys(attribute for attribute, d in domains if d.missing.policy == "drop"))


def _without_groups(
    grouped: Mapping[str, Sequence[Tally]], columns: Sequence[str], design: SurveyDesign | None
) -> tuple[dict[str, list[Tally]], dict[str, list[Tally]]]:
    """The tallies of all people, and the groups that are compared."""
    sums = {name: by_mechanism(parts) for name, parts in grouped.items()}
    if design is None:
        groups = {
            name: [tally.by(*columns) for tally in of] if columns else of
            for name, of in sums.items()
        }
        return {name: [tally.total() for tally in of] for name, of in groups.items()}, groups
    columns_of = {
        name: columns or [column for column in of[0].names if column not in design.columns]
        for name, of in sums.items()
    }
    return sums, {
        name: [tally.by(*columns_of[name]) for tally in of]
        for name, of in sums.items()
        if columns_of[name]
    }


def _questions(
    tallies: Mapping[str, Sequence[Tally]],
    groups: Mapping[str, Sequence[Tally]],
    chosen: Estimator | None,
    only: tuple[str, ...],
    joint: tuple[str, ...],
    settings: Settings,
) -> tuple[list[Question], list[str]]:
    """The results of all questions that are asked for, and the names of those without reports."""
    list(asked_tallies(tallies, only, ()))  # refuses names that are not there
    requests: list[tuple[str, Sequence[Tally], list[str] | None]] = []
    for name, parts in chosen_tallies(tallies, only).items():
        inside = attributes_of(parts)
        if inside and parts[0].ways is not None:
            # Tables of few attributes have no estimate of all together.
            requests += [(inner, parts, [inner]) for inner in inside if not only or inner in only]
        else:
            requests.append((name, parts, None))
    if joint:
        requests += asked_tallies(tallies, only, joint)
    questions: list[Question] = []
    wished, nobody = that_were_asked(requests)
    for name, parts, names in steps(wished, "estimating"):
        inside = attributes_of(parts)
        owner = next(each for each, held in tallies.items() if held is parts)
        mechanisms = [from_header(tally.header) for tally in parts]
        ticks = isinstance(mechanisms[0].domain, Items)
        # A report can show that its sender gave no answer.
        shown = any(m.shows_nonresponse or math.isinf(m.guarantee.total) for m in mechanisms)
        for result in estimates_of(name, parts, chosen, names, only, settings.design):
            if names is None and inside and result.attribute not in inside:
                continue
            inner = None if not inside else tuple(names or (str(result.attribute),))
            is_item = ticks and result.attribute in inside
            of = owner if is_item else ""
            of_groups = groups.get(owner, ())
            cells, drawn = ((), parts) if settings.design is None else (parts, ())
            questions.append(Question(result, settings, of_groups, inner, shown, of, cells, drawn))
    return questions, nobody
