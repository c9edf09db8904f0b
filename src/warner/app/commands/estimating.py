"""The command that estimates shares: of all people, of groups, and how groups differ."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from warner._core.errors import ArgumentError, EmptyError
from warner._core.progress import steps
from warner._core.survey_design import INTERVALS_OF_DRAWN
from warner._core.table import Table
from warner._core.text import series
from warner.app import terminal
from warner.app.commands.estimate_request import EstimateRequest
from warner.app.commands.options import (
    SHARES,
    additions,
    allow_implausible,
    attributes,
    forged_part,
    names_in,
    of_intervals,
    refuse_given,
    require_drawn,
    survey_design,
    table_of_rows,
    tally_files,
    written,
)
from warner.app.on_paper import group_option, paper_options
from warner.app.requested import (
    asked_tallies,
    backgrounds,
    each_tally,
    estimates_of,
    headings,
    method_option,
    question_of_item,
    summary,
    that_were_asked,
    were_asked,
)
from warner.app.show_estimates import (
    groups_shown,
    show_differences,
    show_estimate,
    show_group_estimates,
    show_items,
    show_redistributed,
    show_sources,
)
from warner.app.terminal import note, say
from warner.app.what_files_hold import (
    FILES,
    apart,
    chosen_tallies,
    one_or_all,
    read_margins,
    say_written,
)
from warner.reports.public_columns import Key
from warner.reports.tally import TalliesOfGroups, Tally
from warner.results.drawing import FORMATS
from warner.results.estimate import Estimate, estimate as estimate_groups
from warner.results.from_tally import POOLS, RESERVED, by_group, by_mechanism, label, within_values
from warner.results.intervals import at_every_look, with_plan
from warner.results.named_summaries import summary_rows
from warner.results.recommend import method
from warner.results.result_files import IF_FORGED, table_of_estimates, table_of_groups
from warner.results.shown import answered_tables, numbers_as_labels, summaries_shown
from warner.results.tables import estimate_table, index_of_yes

if TYPE_CHECKING:
    from warner.designs import ClassShares, ListShares
    from warner.results.differences import Differences
    from warner.results.forged import ForgedBounds
    from warner.results.weights import WeightedEstimate


_ABOUT_FORGED_GROUPS = (
    "The limits assume that at most this share of the reports of each group is made up. But "
    "whoever makes up reports can choose the group. If all made-up reports may be in one group, "
    "give their share among the reports of that group."
)


class IntervalKind(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A kind of intervals: one of six words, or anytime:N."""

    name = "interval"
    _kinds = ("score", "wald", "likelihood", "average", "simultaneous", "posterior")

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What the help shows in place of the value."""
        return f"[{'|'.join(self._kinds)}|anytime:N]"

    def convert(self, value: str, param: Any, ctx: Any) -> str:
        """The kind as it was written; refused where there is no such kind."""
        with contextlib.suppress(ArgumentError):
            if value in self._kinds or with_plan(value)[1] is not None:
                return value
        kinds = ", ".join((*self._kinds, "or anytime:N"))
        rule = f"{value!r} is not one of {kinds}, where N is the planned number of reports."
        self.fail(rule, param, ctx)


@click.command()
@tally_files("tallies", metavar="[[NAME=]TALLY]...")
@paper_options(of_groups=True)
@group_option
@method_option
@attributes
@click.option(
    "--by",
    metavar="NAME,NAME,...",
    help="Estimate the shares in groups of people, by these public columns. TALLY must be made "
    "with warner tally --by. People who differ only in other columns are put together. With "
    "--by file, each file is a group, named after it: tally.north.json is the group north. You "
    "can also write north=FILE. With --by file,platform, each platform of each file is a group.",
)
@click.option(
    "--total",
    "is_total",
    is_flag=True,
    help="If TALLY has groups (warner tally --by): estimate all people together, not each "
    "group by itself. If there are several files, some may be without groups. With --by, the "
    "last line of the table is all people together.",
)
@click.option(
    "--pool",
    type=click.Choice(POOLS),
    help='With --by: whether the other groups help to estimate a group. "none", the default: '
    'each group is estimated by itself. "partial": the shares of each group are moved towards '
    "the mean of all groups. The less the reports of a group tell, the further its shares are "
    'moved. "path": the shares of each group are moved towards the shares of the groups before '
    "and after it in time.",
)
@click.option("--time", metavar="NAME", help="With --pool path: the public column with the time.")
@click.option(
    "--margins",
    metavar="FILE",
    help="With --by: a CSV file that says how many people of the population are in each group, "
    "to weight the groups. Its columns are value,number or NAME,number, such as ward,number. "
    "For several public columns, the columns of the file are column,value,number.",
)
@click.option(
    "--compare-groups",
    is_flag=True,
    help="Print the differences between groups. With --by, its groups are compared; without "
    "--by, all groups. If several files have groups, say with --by or --within what to "
    "compare. Each difference has an interval and a p-value. A second p-value allows for the "
    "number of comparisons in the table (Holm's method). Comparisons of shares, of means and "
    "of quantiles are counted separately.",
)
@click.option(
    "--reference",
    metavar="NAME",
    help="With --compare-groups: compare each group with this group. Default: each group is "
    "compared with all other groups together. If there are two groups, the second is compared "
    'with the first. "pairs": compare every two groups, such as the six pairs of four groups. The '
    "second p-value then allows for all pairs.",
)
@click.option(
    "--between",
    metavar="NAME,NAME,...",
    help="With --compare-groups: compare only these groups. Tests and corrections of p-values are "
    "then of these groups alone. Write quotes about a name with a comma: "
    '\'"north, 3","south, 3"\'.',
)
@click.option(
    "--of",
    "quantity",
    metavar="shares|answered|numbers|mean|median|Q",
    help='With --compare-groups: what is compared. "shares": the share of each value. '
    '"answered": the share of each value among the people who answered, if "no answer" is one '
    'of the values. If the values are numbers, also "mean", "median", a quantile such as 0.25, '
    'or "numbers": mean, median, quartiles and bands of values. Default: "numbers" if there '
    'are more than 12 numbers, or ranges of numbers; otherwise "shares".',
)
@click.option(
    "--within",
    metavar="NAME,NAME,...",
    help="With --compare-groups: make a separate comparison for each value of these public "
    "columns. For example, --within platform compares two weeks on each platform. The groups "
    "of --by are compared; without --by, the files.",
)
@click.option(
    "--same-people",
    is_flag=True,
    help="With --compare-groups: say that the two groups are two rounds which the same people "
    "answered. The table then also shows how much surer a difference is if each person gave the "
    "same answer in both rounds.",
)
@survey_design
@click.option(
    "--study",
    type=click.Path(dir_okay=False),
    help="The study file. Estimates use what its table [design] says about how people were drawn. "
    "Pictures show its texts of questions and answers.",
)
@of_intervals
@click.option(
    "--interval",
    "kind",
    type=IntervalKind(),
    help="The kind of intervals. The kinds differ in what contains the truth with the "
    'probability of --level. "score": the interval of each share, also of a share that you '
    'picked because it is large. "wald": the interval of each share, around the estimate that '
    'is right on average. "likelihood": the interval of each share, computed from the '
    'likelihood ratio. "average": the interval of a share that is picked by chance. '
    '"simultaneous": the intervals of all shares at once. "posterior": the interval of each '
    "share or quantile of numbers that are estimated as a smooth curve. The interval of a "
    "quantile is then narrower than the default. It is right about as often as --level says if "
    'neighbouring numbers are about equally frequent. "anytime:N": the interval of each share, '
    "mean or quantile, even if you look again and again while reports arrive, up to the "
    'planned number N. Default: "likelihood" for designs on paper; for numbers that are '
    'estimated as a smooth curve, the posterior interval of this curve; otherwise "score". '
    f'{INTERVALS_OF_DRAWN} With --plot, only the default and "anytime:N" work. With --by or '
    "--compare-groups, --interval cannot be used.",
)
@summary
@click.option(
    "--no-shares",
    is_flag=True,
    help="With --summary: if a question has a summary, leave out its shares, in files too. "
    "This saves most of the time for a question with many values.",
)
@written
@click.option(
    "--plot",
    "plot_paths",
    metavar="FILE",
    multiple=True,
    help="Draw a picture of the shares, or with --compare-groups of the differences: "
    f"{FORMATS}. Several questions stand below each other. An .html file also has a table of "
    "the numbers. With --study, the picture shows the texts of questions and answers. May be "
    "repeated.",
)
@click.option(
    "--with-reports",
    is_flag=True,
    help="With --plot: beside each estimated share, also draw the share of the reports that "
    "name this value. So people see which reports came, and what is concluded from them.",
)
@click.option(
    "--top",
    type=click.IntRange(1),
    help="Print only this many shares, the largest. If answers are numbers, such as codes, "
    "these are the shares of single numbers, not of bands of numbers. With --by: the largest "
    "in all groups together. With --compare-groups: the largest in any group. A picture also "
    "shows the sum of the other shares. Without --top, a picture of more than 60 labels shows "
    "20.",
)
@click.option("--title", metavar="TEXT", help="The title of the picture.")
@click.option(
    "--background",
    multiple=True,
    metavar="TAG=FILE",
    help='If people could give a tag such as "@home" in place of the true value: a CSV file '
    "with the share of each true value among the people who gave the tag TAG. Its columns are "
    "value,share. If several questions have this tag, write QUESTION.TAG=FILE.",
)
@forged_part
@additions
@allow_implausible
def estimate(**choices: Any) -> None:
    """Estimate how common each answer is, with intervals, from TALLY or from several tallies.

    TALLY is a file of counts, made by "warner tally", or a report file. Default: -, a tally on
    standard input.

    Several files must be from different people. Their questions must have the same possible
    answers, but answers may be randomised in different ways. To see whether the files differ, add
    --by file --compare-groups.

    \b
        warner estimate low.json high.json
        warner estimate tally.*.json -o shares.csv

    CSV, Excel and Parquet files have the same columns for shares, groups and summaries. The page
    "Columns of a result" of the documentation says what each column holds.

    Answers that people randomised themselves, with a card on paper, need no study. TALLY may be a
    CSV or Excel table of what they said. It has a row for each person, or the columns value and
    count, or a column of counts for each word on the card. To make groups, name their columns with
    --by.

    \b
        warner estimate --design crosswise:1/4 --counts same=680,different=320
        warner estimate counts.xlsx --design crosswise:1/4 --by age
        warner estimate people.csv --design smokes=crosswise:1/4 --by age --compare-groups

    If the tally has groups (warner tally --by), the table has an estimate of each group by itself.
    Add --total to estimate all people as one group, or --by COLUMN to choose the columns that make
    groups. With --total and --by, the table of the groups ends with all people. To see how the
    groups differ, add --compare-groups. Each group can also be a file.

    \b
        warner estimate phones.json paper.json --total -o total.xlsx
        warner estimate tally.json --by ward --total -o wards.xlsx
        warner estimate tally.json --by week --pool path --plot weeks.png
        warner estimate tally.*.json --by file --margins census.csv
        warner estimate tally.json --by ward --compare-groups --reference north
        warner estimate tally.json --by ward --compare-groups --between north,south
        warner estimate before=spring.json after=autumn.json --compare-groups --of mean
        warner estimate week49.json week50.json --by week --within platform --compare-groups
        warner estimate tally.json --by ward --compare-groups --plot forest.svg

    With --with-reports, a picture shows the reports that were received and the shares that are
    concluded from these reports.

    \b
        warner estimate tally.json --only smokes --study study.toml --plot smokes.html
        warner estimate tally.json --only smokes --plot smokes.svg --with-reports

    If people were not drawn as a simple random sample, say how they were drawn: --weights,
    --cluster and --strata name public columns of the tally. Groups are then made by the other
    public columns, or by the columns of --by.

    \b
        warner tally reports.parquet --by w,school,region -o tally.json
        warner estimate tally.json --weights w --cluster school --strata region

    For an article, -o table.html writes the tables as a page that Word opens, -o table.tex as
    LaTeX, and -o table.typ as Typst. If a question has two answers and there are groups, these
    tables show only "yes".

    With --summary, the terminal shows summaries of numbers, such as the mean, in place of shares.
    Files have both shares and summaries.

    \b
        warner estimate tally.json --only alcohol --summary mean,median,above:14

    If people could give a tag such as "@home" in place of the true value, a second table spreads
    the share of the tag over the true values. For this, the command uses the shares in the file of
    --background. Without that file, the command uses the estimated shares of the values that are
    not sensitive.
    """
    if not (choices["tallies"] or choices["on_paper"] or choices["counts"]) and sys.stdin.isatty():
        example = "For counts on paper: warner estimate counts.csv --design crosswise:1/4"
        raise click.UsageError(f"Name a tally: warner estimate tally.json. {example}.")
    request = EstimateRequest(**{**choices, "tallies": choices["tallies"] or ("-",)})
    request.check()
    if request.stated is not None:  # a workbook has the questions in words
        texts = headings(request.stated).items()
        about = tuple(f"{name}: {text}" for name, text in texts if text and text != name)
        request = replace(request, output=replace(request.output, about=about))
    if request.paper.is_of_groups:
        _estimate_groups_on_paper(request)
    elif request.compare_groups:
        _compare_groups(request)
    elif request.design is not None:
        _estimate_survey(request)
    elif request.by is not None:
        _estimate_by(request)
    else:
        _estimate_shares(request)


def _estimate_groups_on_paper(request: EstimateRequest) -> None:
    """Estimate the shares of a design of several groups from the counts of each."""
    from warner.designs import LatentClasses, groups_from_text

    design = groups_from_text(request.paper.design)
    if isinstance(design, LatentClasses):
        words = [group.words for group in design.groups]
    else:
        words = [tuple(map(str, range(design.items + more))) for more in (1, 2)]
    counts = request.paper.counts_of_groups(request.tallies, words)
    result: ClassShares | ListShares
    if not isinstance(design, LatentClasses):
        result = design.estimate(counts, request.method_name or "difference")
    elif request.method_name is not None:
        rule = "cannot be used with this design, which is always estimated by maximum likelihood"
        raise ArgumentError("--method", rule, request.method_name, "Leave out --method")
    else:
        result = design.estimate(counts, trusted=request.allow_implausible)
    level = request.level
    request.output.write(
        lambda: terminal.show(result.table(level)),
        lambda: result.to_json(level),
        lambda: result.table(level),
        lambda: [result.table(level)],
    )


def _estimate_shares(request: EstimateRequest) -> None:
    """Estimate all people together, or each group alone where the tallies are of groups."""
    chosen = None if request.method_name is None else method(request.method_name)
    together = request.tallies_together()
    flat, grouped = apart(together)
    if grouped:
        _estimate_each_group(grouped, request)
        return
    only, (level, target), kind = request.only, request.intervals, request.kind
    wished, _ = that_were_asked(asked_tallies(flat, only, request.joint))
    estimates = [
        result
        for name, tally, names in steps(wished, "estimating")
        for result in estimates_of(name, tally, chosen, names, only)
    ]
    ticked = {name: question_of_item(name, tally[0], names) for name, tally, names in wished}
    if request.lists_single_values:
        estimates = [numbers_as_labels(result) for result in estimates]
    request.wanted.check(estimates)
    request.require_posterior(estimates)
    hidden = backgrounds(estimates, request.background)
    given_back = {
        i: result.redistribute(hidden.get(str(result.attribute)))
        for i, result in enumerate(estimates)
        if result.domain.tags
    }

    most = request.forged
    forged = [] if most is None else [e.if_forged(most, level, target, kind) for e in estimates]

    def data() -> list[dict[str, Any]]:
        return [
            _json_of(result, request)
            | (given_back[i].to_json() if i in given_back else {})
            | (forged[i].to_json() if forged else {})
            for i, result in enumerate(estimates)
        ]

    def show() -> None:
        for i, result in enumerate(estimates):
            question = ticked.get(str(result.attribute))
            if request.wanted.named(result):
                terminal.show(_table_of(result, request))
            elif question is None:
                parts = flat.get(str(result.attribute))
                show_estimate(result, level, target, kind, parts, request.top)
            elif not i or ticked.get(str(estimates[i - 1].attribute)) != question:
                items = [e for e in estimates[i:] if ticked.get(str(e.attribute)) == question]
                show_items(question, items, level, target, kind)
            if i in given_back:
                show_redistributed(given_back[i])
        for bounds in forged:
            terminal.show(bounds.table(), "")

    more_rows = [
        {"attribute": each.estimate.attribute, "n": each.estimate.n, "measure": measure} | row
        for measure, made in (
            ("share with tags given back", given_back.values()),
            (IF_FORGED, forged),
        )
        for each in made
        for row in each.rows()
    ]
    named = {str(result.attribute): result for result in estimates}
    _draw_shares(estimates, request, at_every_look(kind), _of_two_answers(wished, named))
    if len(request.tallies) > 1:
        show_sources(chosen_tallies(flat, only), of_all=True, target=target)
    request.write(
        show,
        data,
        lambda: table_of_estimates(
            estimates, level, target, more_rows, kind, request.wanted.named, not request.no_shares
        ),
        lambda: [
            *chain(*(_tables_of(result, request) for result in estimates)),
            *(bounds.table() for bounds in forged),
        ],
    )


def _draw_shares(
    estimates: Sequence[Estimate],
    request: EstimateRequest,
    kind: str | None = None,
    of_two_answers: Iterable[tuple[str, str, list[str]]] = (),
) -> None:
    """Write the picture of the shares of all people, with one panel for each question."""
    if not request.plot_paths:
        return
    from warner.results.charts import Questions, chart, numbers, received
    from warner.results.drawing import save

    texts = [request.texts(result.attribute) for result in estimates]
    named = [
        replace(result, attribute=question or result.attribute)
        for result, (question, _) in zip(estimates, texts, strict=True)
    ]
    labels, reports = [answers for _, answers in texts], request.with_reports
    panels: dict[int, Estimate | Questions] = dict(enumerate(named))
    for title, noun, names in of_two_answers:
        rows = [i for i, e in enumerate(estimates) if e.attribute in names]
        listed = {str(estimates[i].attribute).removeprefix(f"{title}: "): named[i] for i in rows}
        for i in rows[1:]:
            del panels[i]
        panels[rows[0]] = Questions(request.texts(title)[0] or title, noun, listed)
    texts_of = [None if isinstance(e, Questions) else labels[i] for i, e in panels.items()]
    units = [request.unit(estimates[i].attribute) for i in panels]
    shown = *request.intervals, request.top, request.title, kind, reports
    picture = chart(list(panels.values()), None, *shown, texts_of, units)
    level, target = request.intervals
    tables = [
        numbers(
            estimate_table(each, level, target, kind),
            None,
            received(each) if reports else None,
            answers,
        )
        for each, answers in zip(named, labels, strict=True)
    ]
    for path in request.plot_paths:
        save(picture, path, tables)
        say_written(path)


def _estimate_each_group(grouped: Mapping[str, Sequence[Tally]], request: EstimateRequest) -> None:
    """Write and print the estimates of the groups of all attributes, each group alone."""
    columns = next(iter(grouped.values()))[0].names
    add_by = f"Add --by {','.join(columns)}"
    together = "To estimate all people together, add --total"
    alone = "cannot be used while each group is estimated by itself"
    refuse_given(["plot_paths"], alone, f"{add_by}, or --total for all people together")
    refuse_given(["background"], "cannot be used with a tally of groups", together)
    refuse_given(["top"], alone, add_by)
    chosen = None if request.method_name is None else method(request.method_name)
    results: list[tuple[Key, Estimate | str]] = []  # the name where nobody of a group was asked
    wished, _ = that_were_asked(asked_tallies(grouped, request.only, request.joint))
    for name, parts, names in wished:
        anybody = were_asked(parts, names)  # else the estimate says why there is none
        for key, group_parts in steps(list(by_group(parts).items()), "estimating groups"):
            if anybody and not were_asked(group_parts, names):
                results.append((key, name))
                continue
            of_group = estimates_of(name, group_parts, chosen, names, request.only)
            results += [(key, result) for result in of_group]
    _write_groups(columns, results, request)
    if len(request.tallies) > 1:
        show_sources(chosen_tallies(grouped, request.only))
    say(f"The groups by {', '.join(columns)} are estimated separately. {together}.")


def _write_groups(
    columns: Sequence[str], results: Sequence[tuple[Key, Estimate | str]], request: EstimateRequest
) -> None:
    """Write and print groups that were each estimated alone, with the summaries asked for."""
    shown, most = (*request.intervals, request.kind), request.forged
    named = request.wanted.named
    of_groups = [result for _, result in results if isinstance(result, Estimate)]
    request.wanted.check(of_groups)
    request.require_posterior(of_groups)
    # Who makes reports up can choose their group as well: the part is one of each group's reports.
    forged: dict[int, ForgedBounds] = {
        i: result.if_forged(most, *shown)
        for i, (_, result) in enumerate(results)
        if most is not None and not isinstance(result, str)
    }
    more_rows = [
        (results[i][0], {"attribute": of.attribute, "n": of.n, "measure": IF_FORGED} | row)
        for i, bounds in forged.items()
        for of in [bounds.estimate]
        for row in bounds.rows()
    ]

    def tables() -> list[Table]:
        bounds = [
            replace(each.table(), title=f"{label(results[i][0])}, {each.table().title}")
            for i, each in forged.items()
        ]
        return [groups_shown(columns, results, *shown, named), *bounds]

    request.write(
        lambda: terminal.show(*tables()),
        lambda: [
            _json_of_group(dict(zip(columns, key, strict=True)), result, request)
            | (forged[i].to_json() if i in forged else {})
            for i, (key, result) in enumerate(results)
        ],
        lambda: table_of_groups(columns, results, *shown, named, not request.no_shares, more_rows),
        tables,
    )
    if forged and most is not None and most < 1:  # of a number, all may be in each group
        say(_ABOUT_FORGED_GROUPS)


def _json_of_group(
    group: Mapping[str, Any], result: Estimate | str, request: EstimateRequest
) -> dict[str, Any]:
    """A group as JSON data, whose rows have the columns that groups estimated together have."""
    if isinstance(result, str):
        return {"group": group, "attribute": result, "n": 0}
    entry = _json_of(result, request)

    def of_group(row: Mapping[str, Any]) -> dict[str, Any]:
        taken = {*RESERVED, *row}
        public = {f"{n} (public)" if n in taken else n: value for n, value in group.items()}
        return {**public, **row, "reports": result.n, "status": entry["status"]}

    listed = [name for name in ("shares", "summaries") if name in entry]
    rows = {name: [of_group(row) for row in entry[name]] for name in listed}
    return {"group": group} | entry | rows


def _estimate_survey(request: EstimateRequest) -> None:
    """Estimate a survey whose design is named, all people together or by groups."""
    assert request.design is not None
    chosen = None if request.method_name is None else method(request.method_name)
    wished: Sequence[tuple[str, TalliesOfGroups, list[str] | None]]
    if FILES in names_in(request.by):
        wished = request.groups()
    else:
        _, grouped = apart(request.tallies_together())
        require_drawn(request.design, grouped, request.tallies)
        listed, _ = that_were_asked(asked_tallies(grouped, request.only, request.joint))
        wished = [(name, one_or_all(by_mechanism(of)), inside) for name, of, inside in listed]
    request.show_sources({name: parts for name, parts, _ in wished})
    results = {
        name: replace(
            estimate_groups(
                parts,
                chosen,
                attributes,
                by=names_in(request.by) or (() if request.is_total else None),
                total=request.is_total and request.by is not None,
                **request.design.roles,
            ),
            attribute=name,
        )
        for name, parts, attributes in steps(wished, "estimating")
    }
    if request.lists_single_values:
        results = {name: numbers_as_labels(result) for name, result in results.items()}
    if any(result.names for result in results.values()):
        if request.kind is not None:
            rule = 'cannot be used with groups, which always have intervals of the kind "score"'
            raise ArgumentError("--interval", rule, request.kind, "Leave out --interval")
        _write_groups_together(results, request, {})
        return
    estimates, (level, target), kind = [*results.values()], request.intervals, request.kind
    request.wanted.check(estimates)
    request.require_posterior(estimates)
    _draw_shares(estimates, request)

    def show() -> None:
        for result in estimates:
            if request.wanted.named(result):
                terminal.show(_table_of(result, request))
            else:
                show_estimate(result, level, target, kind, None, request.top)

    request.write(
        show,
        lambda: [_json_of(result, request) for result in estimates],
        lambda: table_of_estimates(
            estimates, level, target, (), kind, request.wanted.named, not request.no_shares
        ),
        lambda: [*chain(*(_tables_of(result, request) for result in estimates))],
    )


def _of_yes(result: Estimate | Differences, *shown: Any) -> Table:
    """The table for an article: of two answers "yes" alone, as the other answer says the same."""
    table, domain = result.table(*shown), result.domain
    if domain.size != 2:
        return table
    other = domain.labels[1 - index_of_yes(domain)]
    return replace(table, rows=[row for row in table.rows if row.get("value") != other])


def _table_of(result: Estimate, request: EstimateRequest) -> Table:
    """An estimate as a table for people, or the summaries that were asked for."""
    shown = (*request.intervals, request.kind)
    if summaries := request.wanted.named(result):
        return summaries_shown(result, summaries, *shown)
    return estimate_table(result, *shown)


def _tables_of(result: Estimate, request: EstimateRequest) -> list[Table]:
    """The tables of an estimate for an article: shares, and those of the people who answered."""
    shown = (*request.intervals, request.kind)
    if request.wanted.named(result):
        return [_table_of(result, request)]
    table = _of_yes(result, *shown) if result.names else _table_of(result, request)
    return [table, *answered_tables(result, *shown)]


def _json_of(result: Estimate, request: EstimateRequest) -> dict[str, Any]:
    """An estimate as JSON data, with the summaries that were asked for."""
    summaries, shown = request.wanted.named(result), (*request.intervals, request.kind)
    if not summaries:
        return dict(result.to_json(*shown))
    stated = result.to_json(*shown) | {"summaries": summary_rows(result, summaries, *shown)}
    return {key: value for key, value in stated.items() if key != "shares" or not request.no_shares}


def _estimate_by(request: EstimateRequest) -> None:
    """Estimate the groups of each attribute together, pooled as the option says."""
    from warner.results.weights import weighted

    groups = request.groups()
    results = {
        name: replace(
            estimate_groups(
                _by_time(parts) if request.pool == "path" else parts,
                None if request.method_name is None else method(request.method_name),
                attributes=attributes,
                pool=request.pool,
                time=request.time,
                total=request.is_total,
            ),
            attribute=name,
        )
        for name, parts, attributes in steps(groups, "estimating")
    }
    request.show_sources()
    totals = {
        name: weighted(parts, read_margins(request.margins, parts), attributes=attributes)
        for name, parts, attributes in groups
        if request.margins is not None
    }
    _write_groups_together(results, request, totals)


def _write_groups_together(
    results: Mapping[str, Estimate],
    request: EstimateRequest,
    totals: Mapping[str, WeightedEstimate],
) -> None:
    """Write and print groups that were estimated in one table, and weighted sums of groups."""
    request.draw(results)
    if request.summaries:
        _write_summaries_of_groups(results, request)
        return
    intervals = request.intervals

    def show() -> None:
        for name, result in results.items():
            show_group_estimates(name, result, *intervals, request.top)
            if name in totals:
                terminal.show(totals[name].table(*intervals))

    def data() -> list[dict[str, Any]]:
        return [
            {"attribute": name, **result.to_json(*intervals)}
            | ({"weighted": totals[name].to_json(*intervals)} if name in totals else {})
            for name, result in results.items()
        ]

    weighted_rows = [
        {"attribute": name, "n": total.n, "status": "weighted"} | row
        for name, total in totals.items()
        for row in total.rows(*intervals)
    ]
    request.write(
        show,
        data,
        lambda: table_of_estimates(list(results.values()), *intervals, weighted_rows),
        lambda: [
            *chain(*(_tables_of(result, request) for result in results.values())),
            *(total.table(*intervals) for total in totals.values()),
        ],
    )


def _write_summaries_of_groups(results: Mapping[str, Estimate], request: EstimateRequest) -> None:
    """Write and print the summaries of groups that are estimated together, not pooled."""
    each_group: list[tuple[Key, Estimate | str]] = []
    for name, result in results.items():
        for key, n in zip(result.keys, result.sizes, strict=True):
            each_group.append((key, replace(result[key], attribute=name) if n else name))
        for key, whole in [] if result.groups is None else result.groups.last:
            each_group.append((key, replace(whole, attribute=name)))
    names = next(iter(results.values())).names
    _write_groups(names, each_group, request)


_IN_ROWS = (*RESERVED, "group", "reference", "difference", "p")  # columns of differences


class _Compared(NamedTuple):
    """What one table compares: the groups of a question, of whom --within may choose some."""

    attribute: str
    within: dict[str, Any]  # {public column: the value that all people of these groups have}
    groups: TalliesOfGroups
    attributes: list[str] | None
    source: TalliesOfGroups  # all groups of the question; questions of one tally have the same

    @property
    def title(self) -> str:
        """What the table is called, and no other one."""
        values = map(str, self.within.values())
        # Quoted where it is not plain where a value ends: "a, b" and "c" are not "a" and "b, c".
        quoted = [json.dumps(v, ensure_ascii=False) if {'"', ","} & {*v} else v for v in values]
        return ", ".join([self.attribute, *quoted])

    @property
    def described(self) -> str:
        """What the table compares, for a sentence: a question, and of which people."""
        chosen = ", ".join(f"{column} {value}" for column, value in self.within.items())
        return f"{self.attribute} ({chosen})" if chosen else self.attribute


def _compared_within(request: EstimateRequest) -> Iterator[_Compared]:
    """The comparisons of each question, one for each value of the columns of --within."""
    within = names_in(request.within)
    for name, groups, inside in request.groups():
        if not within:
            yield _Compared(name, {}, groups, inside, groups)
            continue
        for values, each in within_values(groups, within).items():
            alike = each_tally(each)
            columns = [f"{c} (public)" if c in _IN_ROWS else c for c in within]
            of_values = dict(zip(columns, values, strict=True))
            one = _Compared(name, of_values, one_or_all(alike), inside, groups)
            groups_of_one = {label(key) for key in chain(*alike)}
            if len(groups_of_one) > 1 and groups_of_one.issuperset(request.named_groups):
                yield one
            else:
                say(
                    f"Not compared: {one.described}, because all these people are in "
                    f"{', '.join(sorted(groups_of_one))}."
                )


def _compare_groups(request: EstimateRequest) -> None:
    """Compare the groups of each attribute."""
    from warner.results.differences import (
        NumbersOfRoundsError,
        compare_groups,
        corrected_together,
        in_one_table,
        quantity,
    )

    of = "codes" if request.lists_single_values else quantity("--of", request.quantity)
    options: dict[str, Any] = {
        "reference": request.reference,
        "between": names_in(request.between) or None,
        "of": of,
        "level": request.level,
        "target": request.target,
        "same_people": request.same_people,
    }
    if request.design is not None:
        options |= {**request.design.roles, "by": names_in(request.by) or None}
    tables = {one.title: one for one in _compared_within(request)}
    if not tables:
        rule, remedy = "splits the people so far that no table has two groups", "Leave out --within"
        if needed := request.named_groups:
            more = " and another group to compare it with" * (len(needed) < 2)
            rule = f"leaves no table with {series([*map(repr, needed)], 'and')}{more}"
            remedy = f"{remedy}, or name other groups"
        raise EmptyError("--within", rule, None, remedy)
    results: dict[str, Differences] = {}
    too_small: list[str] = []
    of_numbers: dict[str, NumbersOfRoundsError] = {}
    for title, one in tables.items():
        compared = {"a": one.groups, "attributes": one.attributes, **options}
        try:
            try:
                results[title] = compare_groups(**compared)
            except NumbersOfRoundsError as error:  # of one question, beside others with shares
                results[title] = compare_groups(**{**compared, "same_people": False})
                of_numbers[one.described] = error
        except EmptyError:  # one small platform does not keep the others from being compared
            if len(too_small) == len(tables) - 1:
                raise
            too_small.append(one.described)
    if too_small:
        tables = {title: one for title, one in tables.items() if title in results}
        named = _first_of(too_small)
        say(f"Not compared, because fewer than two groups have enough reports: {named}.")
    if of_numbers:
        if len(of_numbers) == len(results):
            raise next(iter(of_numbers.values()))
        note(
            f"Compared as if the rounds were of different people: {_first_of([*of_numbers])}. The "
            "option --same-people is for shares, and for means of at most 12 numbers. These "
            "intervals hold without it, too"
        )
    shown: dict[str, Differences] = dict(results)
    attribute_of = {title: one.attribute for title, one in tables.items()}
    by_values: dict[tuple[Any, ...], dict[str, _Compared]] = {}  # of --within, then by question
    for one in tables.values():
        by_values.setdefault(tuple(one.within.values()), {})[one.attribute] = one
    for questions in by_values.values():
        requests = [(name, one.source, one.attributes) for name, one in questions.items()]
        differences = {name: results[one.title] for name, one in questions.items()}
        for question, noun, names in _of_two_answers(requests, differences):
            corrected = corrected_together({name: differences[name] for name in names})
            for name, result in corrected.items():
                results[questions[name].title] = result
                del shown[questions[name].title]
            title = questions[names[0]]._replace(attribute=question).title
            rows_of = {name.removeprefix(f"{question}: "): r for name, r in corrected.items()}
            shown[title] = in_one_table(rows_of, noun)
            attribute_of[title] = question
    if request.top is not None:
        if all(result.of != "shares" for result in shown.values()) and not request.plot_paths:
            rule = "can be used only for shares, but here means, medians or quantiles are compared"
            raise ArgumentError("--top", rule, None, "Leave out --top, or add --of shares")
        shown = {name: result.most_common(request.top) for name, result in shown.items()}
    request.draw(shown, attribute_of)
    request.show_sources()

    def show() -> None:
        for name, result in shown.items():
            show_differences(name, result)
        if len(shown) > 1:
            terminal.show(
                "The column p (Holm) allows for the number of comparisons in its own table. It "
                f"does not allow for the comparisons in all {len(shown):,} tables together."
            )

    of_table = {title: {"attribute": one.attribute, **one.within} for title, one in tables.items()}
    rows = [of_table[title] | row for title, r in results.items() for row in r.rows()]
    is_simulated = any(result.simulated for result in results.values())
    request.write(
        show,
        lambda: [of_table[title] | result.to_json() for title, result in results.items()],
        lambda: table_of_rows(rows, is_simulated, SHARES),
        lambda: [_of_yes(replace(result, question=name)) for name, result in results.items()],
    )


def _first_of(titles: Sequence[str]) -> str:
    """The first of these tables, and how many more there are."""
    more = f"; and {len(titles) - _MOST_TITLES:,} more" * (len(titles) > _MOST_TITLES)
    return f"{'; '.join(titles[:_MOST_TITLES])}{more}"


_MOST_TITLES = 5  # of tables that are named
_DRAWN = "questions"  # of which each person was asked some


def _of_two_answers(
    requests: Iterable[tuple[str, Sequence[Tally] | TalliesOfGroups, list[str] | None]],
    results: Mapping[str, Estimate | Differences],
) -> Iterator[tuple[str, str, list[str]]]:
    """Title, noun and names of questions with two answers, of which each person is asked some."""
    tallies: dict[int, tuple[str, list[str]]] = {}
    for name, parts, inside in requests:
        result = results.get(name)
        if inside is None or result is None or result.domain.size != 2:
            continue
        if isinstance(result, Estimate) or result.of == "shares":
            title = question_of_item(name, each_tally(parts)[0], inside) or _DRAWN
            tallies.setdefault(id(parts), (title, []))[1].append(name)
    for title, names in tallies.values():
        if len(names) > 1:
            yield title, "question" if title == _DRAWN else "item", names


def _by_time(parts: TalliesOfGroups) -> TalliesOfGroups:
    """Groups whose names are numbers, with these numbers; public columns have their own values."""
    if not isinstance(parts, Mapping):
        return parts
    try:
        numbers = [float(key[0]) for key in parts]
    except ValueError:
        for name in map(label, parts):
            _require_time(name)
        return parts
    whole = [int(number) if number.is_integer() else number for number in numbers]
    return {(number,): tally for number, tally in zip(whole, parts.values(), strict=True)}


def _require_time(name: str) -> None:
    """Refuse the name of a file that says no time."""
    from warner.results.pooling import time_as_number

    try:
        time_as_number("file", name)
    except ArgumentError:
        rule = "needs names of files that are numbers or dates"
        remedy = "Write the time before each file: 1=week1.json 2=week2.json"
        raise ArgumentError("--pool path", rule, name, remedy) from None
