"""Commands before a survey: plan and audit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from warner._core.atomic_files import write_whole
from warner._core.checks import unknown
from warner._core.errors import ArgumentError, WarnerError
from warner._core.progress import steps
from warner._core.table import as_text
from warner._core.text import canonical, series, visible
from warner.app import terminal
from warner.app.commands.options import (
    Below1,
    Loss,
    Output,
    is_given,
    names_in,
    refuse_given,
    smallest_group,
    table_of_rows,
    written,
)
from warner.app.draft import LEAST_TO_ASK_ONE, Draft, asked_mechanisms, of_one_round
from warner.app.show_designs import (
    WEIGHT,
    about_crowds,
    about_differences,
    about_drawn_again,
    about_rounds,
    comments,
    influence_of_blocks,
    people_of_blocks,
    plan_of_labels,
    show_audits,
    show_blocks,
    show_gain,
    show_on_paper,
    show_plan,
    show_proposals,
    shown_once,
    unusual_budgets,
    why_one,
)
from warner.app.what_files_hold import (
    grouped_mechanisms,
    is_tally_file,
    mechanisms_of,
    read_totals,
    say_written,
)
from warner.collector.scripts import scripts_digest
from warner.collector.survey_document import about_fingerprint, survey_document
from warner.design.audits import audit as audit_mechanism
from warner.design.charts import DrawnWidths, draw_widths, odds, table_of_odds
from warner.design.default_errors import MOST_SIMULATED, can_simulate, loss_of
from warner.design.paper_plans import (
    SEARCHED,
    PlannedDesign,
    WidestAnswer,
    designs_of_width,
    table_of_designs,
    widths_of_designs,
)
from warner.design.planning import Plan, WantedDifference, plan as make_plan
from warner.design.privacy_words import Example, example_of, patterns_of
from warner.design.proposal import DEFAULT_WIDTH, around
from warner.design.schemes import clusters as find_clusters, gain_of_one
from warner.design.shuffling import shuffled
from warner.designs import PaperDesign, from_text
from warner.designs.texts import BOTH_CARDS, BY_DEVICE, NAMES_OF_GROUPS, name_of, on_one_card
from warner.domains import Items
from warner.mechanisms import HiddenQuestion, Mechanism, OneOf, from_header
from warner.mechanisms.one_of import permanent_of
from warner.results.drawing import FORMATS, save
from warner.studies.public import TABLE, audit_of, audit_text, number_of_groups
from warner.studies.study import Study


def _as_width(context: click.Context, _: click.Parameter, margin: float | None) -> float | None:
    """Half of the width, which is then given."""
    if margin is not None:
        context.default_map = {"width": 2 * margin}
    return margin


@click.command()
@click.argument("study", type=click.Path(dir_okay=False), required=False)
@click.option(
    "--design",
    "designs",
    metavar="NAME:P",
    multiple=True,
    help="A design on paper, such as crosswise:1/4, in place of a study file. It is compared "
    "with the best way of randomising that protects people as much. Repeat the option to "
    "compare several designs. If you leave out the chances, as in crosswise, the command "
    "chooses the chances that protect most and still make intervals as narrow as --width says. "
    "To see the designs that are usual with a device, write its name: "
    f"{series([*BY_DEVICE], 'or')}.",
)
@click.option(
    "--people",
    type=click.IntRange(1),
    default=10_000,
    help="How many people will answer. Default: the number of people in the study's table "
    "[collect], or 10,000.",
)
@click.option(
    "--error",
    type=click.FloatRange(0, min_open=True),
    help="The average error that you accept. The table then says how many people this needs. "
    "To choose how errors are measured, add --loss. For the width of an interval, use --width.",
)
@click.option(
    "--difference",
    type=Below1(2, "{} points"),
    help="A difference between the shares of two groups, such as 0.02 for 2 points, that a test at "
    "the 5 % level should detect. The table then says how many people this needs in all groups "
    "together.",
)
@click.option(
    "--groups",
    type=click.IntRange(2),
    default=2,
    show_default="2, or the number of values of the public column, if STUDY has one such column",
    help="How many groups of people are to be compared. All groups have the same size. With "
    "three groups or more, one test compares all groups at once.",
)
@click.option(
    "--by",
    metavar="COLUMN,...",
    help="The public columns of the study that make the groups to be compared. Default for a "
    "draft: all public columns together make the groups.",
)
@click.option(
    "--power",
    type=Below1(80),
    default=0.8,
    show_default=True,
    help="The probability with which a test should detect the difference between groups "
    "(--difference).",
)
@click.option(
    "--loss",
    type=Loss(("l1", "l2", "w1"), elsewhere="kl js cdf"),
    help="How the errors of shares are measured. l2: the sum of the squared errors. l1: the "
    "sum of the absolute errors, which is twice the total variation. w1: the Wasserstein-1 "
    "distance, for numbers and places. Default: w1 for numbers and places, l2 for labels.",
)
@click.option(
    "--runs",
    type=click.IntRange(2),
    default=12,
    show_default=True,
    help="With --loss w1: how many surveys are simulated for each mechanism that may be the best.",
)
@click.option(
    "--share",
    type=Below1(10),
    default=0.1,
    show_default=True,
    help="The share for which the width of the interval is computed, such as 0.1 for 10 %. "
    "Only for a draft or a design on paper. Default with --design: 0.5, where intervals are "
    "about the widest. If there are more than two answers: the share whose interval is the "
    "widest.",
)
@click.option(
    "--width",
    type=Below1(3, "\N{PLUS-MINUS SIGN}{} points", times=2),
    default=DEFAULT_WIDTH,
    show_default=True,
    help="How wide the whole interval of a share may be, from its lower to its upper end: 0.06 or "
    "6% for \N{PLUS-MINUS SIGN}3 points. The "
    "command says how many people this needs. Only for a draft or a design on paper.",
)
@click.option(
    "--margin",
    type=Below1(3, "\N{PLUS-MINUS SIGN}{} points"),
    callback=_as_width,
    help="Half of --width, in place of it: 0.03 or 3% for \N{PLUS-MINUS SIGN}3 points.",
)
@click.option(
    "--sizes",
    metavar="N,N,...",
    help="How many people are in each group, such as 800,700,500. The intervals of these groups "
    "are then listed too. Only for a draft or a design on paper. Default: groups of equal size.",
)
@click.option(
    "--design-effect",
    type=click.FloatRange(1),
    default=1.0,
    show_default=True,
    help="For designs on paper: if people are drawn in clusters or have weights, the survey "
    "needs more people. Give how many times as many (the design effect), such as 1.3.",
)
@click.option(
    "--write",
    metavar="FILE",
    help="For a draft: write the completed study to this file, with the proposed mechanisms and "
    "epsilons. Texts and comments of the draft stay as they are.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.1,
    show_default=True,
    help="If STUDY is the tally of a pilot: a limit for Cramer's V, which says from 0 to 1 how "
    "strongly two questions depend on each other. From this limit on, they are put into one "
    "group.",
)
@click.option(
    "--largest",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="If STUDY is the tally of a pilot: how many combinations of answers a group of questions "
    "may have at most.",
)
@click.option(
    "--level",
    type=float,
    default=0.95,
    show_default=True,
    help="If STUDY is the tally of a pilot in which no question truly depends on another: the "
    "probability that the command makes no group. It is the same for any number of questions.",
)
@click.option(
    "--shuffled",
    is_flag=True,
    help="Also say how well people are protected against somebody who sees only the published "
    "counts, and no single report. Give the number of people with --people. Not for a draft.",
)
@click.option(
    "--plot",
    "plot_path",
    metavar="FILE",
    help=f"Draw a picture ({FORMATS}) of how the interval of a share becomes narrower when more "
    "people answer, with a line for each epsilon or --design. Dashed lines show the people and "
    "the width that you gave.",
)
@written
def plan(study: str | None, designs: tuple[str, ...], output: Output, **choices: Any) -> None:
    """Propose how to randomise answers and how many people to ask, or rank ways to do so.

    A draft is a study file in which questions lack a mechanism (how answers are randomised) or an
    epsilon (how much a report may reveal). The command proposes both. It says how wide the
    intervals of "warner estimate" will be, how many people are needed, and what epsilon means in
    odds. If the draft has a budget, it is split over the questions. With --write, the completed
    study is written to a file.

    \b
        warner plan draft.toml --people 2000 --write study.toml
        warner plan draft.toml --people 2000 --plot people.svg

    If the study is complete, its mechanisms are compared with other mechanisms that protect the
    same answers at the same epsilon. Mechanisms for labels are ranked by the error of the estimate
    that is right on average (unbiased), computed as if all values were equally common. A second
    column has the error of "warner estimate", which is usually smaller. This second error is
    simulated, with shares like those of a typical question. Mechanisms for numbers and places are
    ranked by this simulated error. In Python, warner.plan takes your own guess of the shares.

    With --difference, the mechanism whose test needs the fewest people comes first. A second table
    shows how many people are needed at other epsilons.

    STUDY may also be the tally of a pilot, a small survey before the real one, made with warner
    tally --ways 2. Questions that depend on each other are then put into groups, to be randomised
    together. The command prints one group on each line. Write each group of two or more questions
    into the study file, as a table [[joint]].

    \b
        warner tally pilot.parquet --ways 2 -o pairs.json
        warner plan pairs.json

    Before there is a study, --design says how many people a question on paper needs.

    \b
        warner plan --design crosswise:1/4 --people 300 --width 0.06
        warner plan --design crosswise:1/4 --design warner:2/3 --share 0.1
        warner plan --design crosswise:1/4 --people 300 --difference 0.1
    """
    if study is None and not designs:
        remedy = (
            "Name a study file: warner plan study.toml. For a question on paper, before there is a "
            "study, run: warner plan --design crosswise:1/4"
        )
        raise ArgumentError("STUDY", "is missing", None, remedy)
    if study is not None and designs:
        rule, remedy = "cannot be used with a file", f"Leave out --design, or {study}"
        raise ArgumentError("--design", rule, " ".join(designs), remedy)
    if choices["margin"] is not None and choices["width"] != 2 * choices["margin"]:
        remedy = "Leave out one of them: --width is twice the --margin"
        raise ArgumentError("--margin", "cannot be used with --width", None, remedy)
    if choices["difference"] is None:
        remedy = "Add --difference 0.05 for 5 points, or leave out --power"
        refuse_given(["power"], "can be used only together with --difference", remedy)
    plot_path = choices["plot_path"]
    if study is None or is_tally_file(study):
        refuse_given(["by"], "can be used only with a study file or a draft")
    if plot_path is not None and study is not None and is_tally_file(study):
        rule = "can be used only with a study file, a draft or --design, not with a tally"
        raise ArgumentError("--plot", rule)
    if study is None:
        output.check(plot=plot_path)
        _plan_on_paper(designs, output, choices)
        return
    output.check(study, plot=plot_path)
    if is_tally_file(study):
        _group_attributes(study, output, choices["threshold"], choices["largest"], choices["level"])
        return
    draft = Draft.load(study)
    if not is_given("people"):
        choices["people"] = draft.data.get("collect", {}).get("people", choices["people"])
    if is_given("by") and is_given("groups"):
        remedy = "Leave out --groups: --by gives the number of groups"
        raise ArgumentError("--by", "cannot be used with --groups", choices["by"], remedy)
    columns = _groups_of(draft.study, names_in(choices["by"]))
    if not is_given("groups") and (is_given("by") or len(columns) == 1):
        choices["groups"] = math.prod(columns.values())
    if draft.missing and choices["shuffled"]:
        name, keys = next(iter(draft.missing.items()))
        rule = f"needs a complete study, and {name} has no {' and no '.join(keys)}"
        remedy = f"To complete it, run: warner plan {study} --write complete.toml"
        raise ArgumentError("--shuffled", rule, None, remedy)
    if draft.missing:
        refuse_given(["design_effect"], _NEEDS_DESIGNS)
        about = "can be used only with a complete study or --design"
        refuse_given(["error", "loss", "runs"], about)
        _propose(draft, output, choices, columns)
        return
    if choices["write"] is not None:
        rule = (
            "is only for drafts, and this study is complete: each question has a mechanism and an "
            "epsilon"
        )
        raise ArgumentError("--write", rule, None, "Leave out --write")
    chosen, people = dict(grouped_mechanisms(draft.study)), dict[str, int]()
    draws = {n: m for n, m in chosen.items() if isinstance(m, OneOf | HiddenQuestion)}
    for question, draw in draws.items():
        del chosen[question]
        # Two questions may have items of one name.
        before = f"{question}: " if isinstance(draw.domain, Items) else ""
        numbers = people_of_blocks(draw, choices["people"])
        alone = {} if isinstance(draw, HiddenQuestion) else draw.parts
        for (name, inner), block in zip(alone.items(), draw.blocks, strict=False):
            if len(block) == 1:
                chosen[before + name], people[before + name] = inner, numbers[name]
    chosen = {name: of_one_round(mechanism) for name, mechanism in chosen.items()}
    on_paper = {
        name: _on_paper(name, mechanism, choices)
        for name, mechanism in chosen.items()
        if isinstance(mechanism, PaperDesign)
    }
    if len(on_paper) < len(chosen):
        refuse_given(["design_effect"], _NEEDS_DESIGNS)
    if not on_paper:
        refuse_given(
            [*([] if plot_path is not None else ["share", "width"]), "sizes"],
            "is for a draft or a design on paper, and in this study each question has a mechanism "
            "and an epsilon",
            'To see intervals, copy the study and delete the lines "mechanism = ..." from the copy',
        )
    plans = {
        attribute: result
        for attribute, mechanism in steps(chosen.items(), "planning")
        if (
            result := on_paper[attribute].ranking
            if attribute in on_paper
            else _planned(attribute, mechanism, choices, people.get(attribute))
        )
        is not None
    }

    of_study = grouped_mechanisms(draft.study) if choices["shuffled"] else {}
    crowds = {
        name: shuffled(mechanism, people.get(name, choices["people"]))
        for name, mechanism in steps(of_study.items(), "hiding people among others")
    }

    if plot_path is not None:
        aims = choices["share"], choices["width"]
        questions = {name: chosen[name] for name in plans}
        _draw(
            draft,
            plot_path,
            {
                name: widths_of_designs([on_paper[name]])
                if name in on_paper
                else around(mechanism, people.get(name, choices["people"]), *aims).drawn_widths(
                    name
                )
                for name, mechanism in steps(questions.items(), "planning")
            },
        )

    def show() -> None:
        if math.isfinite(draft.study.epsilon):
            terminal.show(draft.study.spending, "")
        for question, draw in draws.items():
            show_blocks(draw, choices["people"], question)
        # Blocks of items have numbers of people that differ by rounding alone.
        numbers = sorted({result.n for result in plans.values()}, reverse=True)
        rounded = {n: n - 1 if n - 1 in numbers else n for n in numbers}
        laws = {
            name: plan_of_labels(chosen[name], rounded[result.n]) for name, result in plans.items()
        }
        said: set[str] = set()
        for attribute, title in shown_once(laws):
            show_plan(
                title,
                plans[attribute],
                chosen[attribute],
                on_paper.get(attribute),
                said,
                draft.study.round is not None,
            )
        if plans:
            terminal.explain(WEIGHT)
        if len(on_paper) < len(plans):
            terminal.show(*about_differences(choices["difference"], bool(draws)))
        terminal.show(*about_crowds(crowds, draft.study.public))
        if not draws and (gain := _gain(draft)) > 1:
            show_gain(gain, draft.study.epsilon, draft.study.rounds > 1)

    def data() -> dict[str, Any]:
        planned = {
            name: result.to_json() | (on_paper[name].row() if name in on_paper else {})
            for name, result in plans.items()
        }
        return planned | ({"shuffled": {n: vars(c) for n, c in crowds.items()}} if crowds else {})

    output.write(
        show,
        data,
        lambda: table_of_rows(
            {"attribute": name, **row} for name, result in plans.items() for row in result.rows()
        ),
        lambda: [
            replace(result.table(), title=f"{name}: {result.table().title}".rstrip(": "))
            for name, result in plans.items()
        ],
    )


def _groups_of(study: Study, names: Sequence[str]) -> dict[str, int]:
    """The public columns that make groups, all or those of --by, and how many groups each makes."""
    drawn = study.design
    no_groups = () if drawn is None else (drawn.weights, drawn.cluster)
    sizes = {name: number_of_groups({name: domain}) for name, domain in study.public.items()}
    for name in names:
        if name not in sizes:
            raise unknown("--by", name, sizes, "the public columns of the study")
        if sizes[name] < 2:
            rule = f"needs columns with listed values, and {name} has no list of values"
            remedy = "Give the number of groups in place of --by: --groups 4"
            raise ArgumentError("--by", rule, None, remedy)
    if names:
        return {name: sizes[name] for name in names}
    return {name: size for name, size in sizes.items() if size > 1 and name not in no_groups}


def _draw(draft: Draft, path: str, panels: Mapping[str, DrawnWidths]) -> None:
    """Write the picture of the widths of all questions, with the texts of those that have one."""
    if not panels:
        rule = (
            "has nothing to show, because the command proposes nothing for any of these questions"
        )
        raise ArgumentError("--plot", rule)
    texts = draft.study.labels
    draw_widths({texts.get(name, name): each for name, each in panels.items()}, path)
    say_written(path)


_NEEDS_DESIGNS = "can be used only with --design, or with a study whose questions all have a design"
_NOT_ON_PAPER = ("write", "threshold", "largest", "level", "shuffled")


def _plan_on_paper(texts: tuple[str, ...], output: Output, choices: Mapping[str, Any]) -> None:
    """Print what designs for paper need, each beside the best mechanism that protects as much."""
    refuse_given(_NOT_ON_PAPER, "is for a study file, and cannot be used with --design")
    if choices["loss"] == "w1":
        raise ArgumentError("--loss", "must be l1 or l2 with --design", "w1")
    if choices["loss"] is not None and len(texts) > 1:
        rule = "can be used only with one design"
        raise ArgumentError("--loss", rule, None, "Leave --loss out, or give one --design")
    share = choices["share"] if is_given("share") else 0.5
    people, effect = choices["people"], choices["design_effect"]
    stated: list[tuple[str, str | None, PaperDesign]] = []
    for text in itertools.chain.from_iterable(BY_DEVICE.get(each, [each]) for each in texts):
        # Both cards together err as much as one card.
        one_card = on_one_card(text)
        prefix = "" if one_card == text else BOTH_CARDS.removesuffix(name_of(one_card))
        if one_card in SEARCHED:  # a name without chances
            searched = designs_of_width(one_card, choices["width"], people / effect, share)
            stated += [(prefix + design.text, by, design) for by, design in searched]
        elif name_of(one_card) in NAMES_OF_GROUPS:
            rule = (
                "must be a design with one card for everybody, because this command cannot plan "
                "other designs"
            )
            raise ArgumentError("--design", rule, text, "For example --design warner:2/3")
        else:
            design = from_text(one_card)
            stated.append((prefix + design.text, None, design))
    if choices["loss"] == "l1":
        rule = "cannot be used with --loss l1, because intervals are computed from squared errors"
        unused = ["sizes"] if choices["difference"] is None else []
        unused += ["width"] if all(by is None for _, by, _ in stated) else []
        refuse_given(unused, rule, "Leave out --loss or {}")
    planned = [
        replace(_on_paper(text, design, choices, by), stated=text) for text, by, design in stated
    ]
    if choices["plot_path"] is not None:
        title = "Designs on paper" if len(planned) > 1 else planned[0].text
        draw_widths({title: widths_of_designs(planned)}, choices["plot_path"])
        say_written(choices["plot_path"])
    output.write(
        lambda: show_on_paper(planned),
        lambda: {each.text: {**each.ranking.to_json(), **each.row()} for each in planned},
        lambda: table_of_designs(planned),
        lambda: [table_of_designs(planned)],
    )


def _on_paper(
    name: str, design: PaperDesign, choices: Mapping[str, Any], by: str | None = None
) -> PlannedDesign:
    """What to expect of one design for paper, of a question or without a study."""
    has_share, has_sizes = is_given("share"), choices["sizes"] is not None
    has_two = design.domain.size == 2
    if has_share and not has_two and choices["difference"] is not None:
        rule = "cannot be used with --difference for a design with more than two answers"
        raise ArgumentError("--share", rule, name, "Leave out --share")
    share = 0.5 if has_two else WidestAnswer.of(design).share
    share = choices["share"] if has_share else share
    groups = choices["groups"] if is_given("groups") else 1
    sizes = _sizes(choices["sizes"], choices["people"], groups)
    difference = None
    if has_sizes and choices["difference"] is not None:
        if len(sizes) < 2:
            rule = "must give the sizes of two groups or more for --difference"
            raise ArgumentError("--sizes", rule, repr(choices["sizes"]))
        difference = WantedDifference(choices["difference"], len(sizes), choices["power"])
        choices = {**choices, "difference": None}
    theta = [1 - share, share] if has_share and has_two else None
    ranking = _planned(name, design, choices, None, theta)
    assert ranking is not None
    width, effect = choices["width"], choices["design_effect"]
    return PlannedDesign(design, ranking, share, width, sizes, difference, effect, by)


def _gain(draft: Draft) -> float:
    """What asking each person one question of a complete study gains; 1 where it cannot be."""
    study = draft.study
    if study.groups or "ask" in draft.data or len(study.mechanisms) < LEAST_TO_ASK_ONE:
        return 1.0
    # In rounds, devices refuse an epsilon of one round that is not below that of all rounds.
    limits = [math.inf, *(m.forever for asked_of in study.permanent for m in asked_of.values())]
    if study.epsilon >= min(limits):
        return 1.0
    return gain_of_one(draft.domains, [study.epsilon] * len(draft.domains))


def _propose(
    draft: Draft, output: Output, choices: Mapping[str, Any], columns: Mapping[str, int]
) -> None:
    """Print proposals for what a draft lacks, and write the completed study."""
    of_study, groups = len(draft.study.by_group), choices["groups"]
    are_crossed = False
    if not (is_given("groups") or is_given("by")):
        groups = of_study if of_study > 1 else math.prod(columns.values())
        are_crossed = of_study <= 1 < len(columns)
    sizes = _sizes(choices["sizes"], choices["people"], groups)
    aims = choices["people"], choices["share"], choices["width"]
    drawn = draft if draft.draws else draft.asking_one()
    reason = ""
    if drawn is not None:
        planned = drawn.proposals(*aims)
        epsilons = drawn.epsilons(planned)
        times = gain_of_one(drawn.domains, epsilons)
        if draft.draws or times > 1:
            reason = why_one(times, epsilons, draft.draws, draft.study.rounds > 1)
            draft = drawn
    if not reason:
        planned = draft.proposals(*aims)
    if choices["plot_path"] is not None:
        _draw(
            draft,
            choices["plot_path"],
            {
                name: (
                    each.proposal
                    if len(each.proposal.offers) > 1
                    else around(each.proposal.mechanism, each.proposal.n, *aims[1:])
                ).drawn_widths(name)
                for name, each in planned.items()
            },
        )

    aim, share = None, choices["share"] if is_given("share") else None
    if choices["difference"] is not None:
        aim = WantedDifference(choices["difference"], max(2, groups), choices["power"])
    needed = {name: each.people_for(aim, share) for name, each in planned.items()} if aim else {}

    def data() -> dict[str, Any]:
        return {
            name: {
                **each.to_json(),
                **({"wanted": asdict(aim)} if aim is not None else {}),
                **({"by_epsilon": list(map(asdict, needed[name]))} if needed.get(name) else {}),
                "groups": [
                    {"people": n, "share_width": widths.share, "mean_width": widths.mean}
                    for n in sizes
                    for widths in [each.proposal.widths(max(1, n // each.among))]
                ],
            }
            for name, each in planned.items()
        }

    def show() -> None:
        mechanisms = asked_mechanisms(draft.study)
        fixed = {
            name: f"{type(of_one_round(mechanism)).__name__}, epsilon {mechanism.requested:.4g}"
            for name, mechanism in mechanisms.items()
            if name not in planned
        }
        repeats = draft.study.rounds > 1
        show_proposals(planned, sizes, fixed, draft.total(planned), reason, repeats, aim, share)
        if are_crossed and choices["sizes"] is None:
            terminal.show(
                f"The groups are the {groups:,} combinations of {' and '.join(columns)}. For the "
                f"groups of one column, add --by {next(iter(columns))}."
            )

    output.write(
        show,
        data,
        lambda: table_of_rows(
            {"attribute": name, "proposed": offer is each.proposal.best}
            | {key: value for key, value in offer.row().items() if not isinstance(value, dict)}
            | {"people": None if offer.people is None else offer.people * each.among}
            | ({} if row is None else {"people_for_difference": row.people})
            for name, each in planned.items()
            for offer, row in itertools.zip_longest(each.proposal.offers, needed.get(name, []))
        ),
    )
    if (path := choices["write"]) is not None:
        text = draft.completed(planned, {name: comments(each) for name, each in planned.items()})
        Study.parse(text, path)
        write_whole(path, text.encode())
        say_written(path)
        terminal.say(f"The completed study is {path}, with the proposals for {', '.join(planned)}.")


def _sizes(stated: str | None, people: int, groups: int) -> list[int]:
    """The numbers of people of groups whose intervals are printed."""
    if stated is not None:
        try:
            sizes = [int(size) for size in stated.split(",")]
        except ValueError:
            sizes = []
        if not sizes or min(sizes) < 1:
            rule = "must be whole numbers of people, such as 800,700,500"
            raise ArgumentError("--sizes", rule, repr(stated))
        if is_given("groups") and len(sizes) != groups:
            rule = f"must be one number for each of {groups} groups (--groups)"
            remedy = "Leave out --groups, or give that many numbers"
            raise ArgumentError("--sizes", rule, repr(stated), remedy)
        return sizes
    return [max(1, people // groups)] if groups > 1 else []


_OF_PLANS = ("error", "difference", "groups", "power", "runs")


def _planned(
    attribute: str,
    mechanism: Mechanism,
    choices: Mapping[str, Any],
    people: int | None,
    theta: Sequence[float] | None = None,
) -> Plan | None:
    """The plan for one attribute; None where no mechanism can be compared with its own."""
    loss = choices["loss"]
    guarantee, domain = mechanism.guarantee, mechanism.domain
    if guarantee.epsilon == float("inf"):
        rule = "is not protected (its epsilon is infinite), so there are no mechanisms to compare"
        raise ArgumentError(f"attributes.{attribute}", rule)
    if loss is None:
        loss = loss_of(domain, choices["difference"])
    if loss == "w1" and not can_simulate(domain):
        about = f"--loss w1 is only for numbers or places, with at most {MOST_SIMULATED} values"
    elif loss != "w1" and not guarantee.bounds_all_pairs:
        about = (
            f"--loss {loss} compares only ways of randomising with the guarantee LDP or ULDP, and "
            f"this question has {guarantee}"
        )
    else:
        near, n, effect = loss == "w1", people or choices["people"], choices["design_effect"]
        result = make_plan(
            domain,
            mechanism.requested,
            max(1, math.floor(n / effect)),
            guarantee.sensitive,
            theta,
            loss,
            distance=mechanism.distance_unit if near else None,
            also={type(mechanism).__name__: mechanism} if near or mechanism.is_on_paper else None,
            **{name: choices[name] for name in _OF_PLANS},
        )
        if effect != 1:
            result = result.for_people(n, effect)
        return result.best_beside(mechanism) if mechanism.is_on_paper else result
    terminal.note(f"{attribute} is left out: {about}.")
    return None


_DELTA = 1e-6  # of what is promised against who sees published counts alone


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--samples",
    type=click.IntRange(1000),
    help="Also test the code that makes reports: make this many reports for each value, and "
    "compute from these reports a lower limit of epsilon.",
)
@click.option(
    "--shuffled",
    "people",
    type=click.IntRange(2),
    metavar="PEOPLE",
    help="Also say how well people are protected against somebody who sees only the published "
    "counts of this many people.",
)
@click.option(
    "--delta",
    type=float,
    help="With --shuffled: how probable it may be that this protection fails (delta). Default: "
    "one in a million; for more than 100,000 people, less.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --shuffled: how many times the same people send reports.",
)
@click.option(
    "--after",
    "earlier",
    metavar="STUDY",
    help="For a study in rounds ([repeat]) that you changed: the study file of the last round. "
    "The command says which questions spend epsilon again, because each device must draw a new "
    "permanent report.",
)
@smallest_group
@click.option(
    "--plot",
    "plot_path",
    metavar="FILE",
    help="Draw a picture for a consent form. It shows, of 100 people with the same answer, how "
    f"many send the report that points to this answer ({FORMATS}). Only for questions with labels.",
)
@written
def audit(
    files: tuple[str, ...],
    samples: int | None,
    people: int | None,
    delta: float | None,
    rounds: int,
    earlier: str | None,
    smallest_group: int,
    plot_path: str | None,
    output: Output,
) -> None:
    """Compute exactly how much a report can reveal (epsilon), from a study, reports or a tally.

    The command also lists the public columns, which are not protected. It warns if public columns
    make groups of so few people that a group can point at a person.

    The exit status is 1 if a mechanism spends more epsilon than the study requests, if the reports
    in FILE were simulated with a seed, or if the study says who may answer its survey page
    (access) and "warner collect serve" refuses to ask it, such as with a larger epsilon than 10.

    \b
        warner audit study.toml
        warner audit study.toml --shuffled 10000
        warner audit week03.toml --after week02.toml
        warner audit study.toml --plot consent.svg
    """
    file, *others = files
    if others:
        rule = "must be one file, because files do not say which studies the same person answers"
        each = (
            "Audit each study by itself. A person who answers several studies spends the sum of "
            "their epsilons. A person whose device chooses one of these studies by chance "
            "spends at most the largest epsilon"
        )
        raise ArgumentError("FILE", rule, f"{len(files)} files", each)
    output.check(file, *([] if earlier is None else [earlier]), plot=plot_path)
    if people is None and (rounds > 1 or delta is not None):
        option, remedy = "--delta", None
        if rounds > 1:
            option = "--rounds"
            remedy = (
                f"Without --shuffled, {rounds:,} new reports of a person spend {rounds:,} times "
                "the epsilon of one report. To spend less, write a table [repeat] into the study"
            )
        raise ArgumentError(option, "needs --shuffled", None, remedy)
    if delta is None:
        delta = min(_DELTA, 0.1 / (people or 1))
    audited = mechanisms_of(file)
    mechanisms, simulated, most, public, sizes, repeated, served, spending, spent = audited
    again = None if earlier is None else _drawn_again(file, earlier)
    results = {
        attribute: audit_mechanism(m, samples, None, people, delta, rounds)
        for attribute, m in steps(mechanisms.items(), "auditing")
    }
    larger = [
        f"{name}: a report spends at least epsilon = {result.total:.6g}, which is more than it "
        f"promises ({mechanisms[name].guarantee})."
        for name, result in results.items()
        if not result.holds
        and result.total is not None
        and result.total > mechanisms[name].guarantee.total
    ]
    if larger:  # what a study says of a person is the sum of what mechanisms state
        spending, spent = " ".join(larger), None
    if plot_path is not None:
        _draw_odds(file, plot_path, mechanisms)
    if simulated:
        reason = "the reports are simulated, and anyone who knows the seed can undo the randomising"
        results = {
            attribute: replace(result, holds=False, violation=reason)
            for attribute, result in results.items()
        }

    refused = ""
    if served is not None:
        try:
            survey_document(served)
        except WarnerError as error:
            refused = f'"warner collect serve" refuses this study: {error}'

    def figures() -> dict[str, dict[str, Any]]:
        audits: dict[str, Any] = {name: result.rows()[0] for name, result in results.items()}
        for attribute, mechanism in mechanisms.items():
            if isinstance(mechanism, OneOf | HiddenQuestion):
                influences = influence_of_blocks(mechanism)
                audits[attribute]["blocks"] = {
                    name: {
                        "mechanism": type(inner).__name__,
                        "requested": inner.requested,
                        "guarantee": str(inner.guarantee),
                        "epsilon": inner.guarantee.total,
                        "asked": odds / 2**64,
                        "influence": influences[name][0],
                        "influence_of_all": influences[name][1],
                    }
                    for (name, inner), odds in zip(
                        mechanism.parts.items(), mechanism.odds, strict=True
                    )
                }
            if of_devices := permanent_of(attribute, mechanism):
                permanent = of_devices.values()
                audits[attribute]["repeat"] = {
                    "rounds": repeated,
                    "epsilon_of_rounds": max(m.of_rounds(repeated).epsilon for m in permanent),
                    "epsilon_forever": max(m.of_rounds(None).epsilon for m in permanent),
                    "values": max(m.values for m in permanent),
                    "epsilon_of_values": max(m.of_values().epsilon for m in permanent),
                    "hides_changes": False,  # epsilon_of_values compares those who change alike
                    **({} if again is None else {"drawn_again": bool({*of_devices} & {*again})}),
                }
        if spent is not None:
            audits[_IN_ALL] = dict(spent)
            if any("repeat" in each for each in audits.values()):
                audits[_IN_ALL]["hides_changes"] = False
        return audits

    def data() -> dict[str, Any]:
        audits: dict[str, Any] = _with_infinity_as_text(figures())
        return audits | ({TABLE: audit_of(public, smallest_group, sizes)} if public else {})

    def rows() -> Iterator[dict[str, Any]]:
        for name, row in figures().items():
            inside = {**row.pop("blocks", {})}
            repeat = row.pop("repeat", {})
            yield {"attribute": name, **row, **repeat}
            for block, of_block in inside.items():
                yield {"attribute": name, "block": block, **of_block}

    def show() -> None:
        show_audits(results, samples, mechanisms)
        crowds = {name: one.shuffled for name, one in results.items() if one.shuffled is not None}
        for name, mechanism in mechanisms.items():
            for line in patterns_of(mechanism, name):
                click.echo(visible(line))
        terminal.show(
            *([spending] if spending else []),
            *about_crowds(crowds, public),
            *about_rounds(mechanisms, repeated),
            *([] if again is None else [about_drawn_again(again, str(earlier))]),
            *unusual_budgets(mechanisms, most),
        )
        if most > 1:
            terminal.show(
                f"The epsilons are for one row of answers. A person can have up to {most:,} rows, "
                f"and with {most:,} rows spends {most:,} times as much."
            )
        if served is not None:
            terminal.show(refused or about_fingerprint(served))
            terminal.show(
                f"SHA-256 fingerprint of the scripts on the survey page: {scripts_digest()}"
            )
        if public:
            terminal.show(audit_text(public, smallest_group, sizes))

    output.write(
        show,
        data,
        lambda: table_of_rows(rows()),
    )
    if refused or not all(result.holds for result in results.values()):
        raise SystemExit(1)


def _drawn_again(file: str, earlier: str) -> dict[str, float]:
    """{question: epsilon of its new permanent report}, of those asked before with another one."""
    studies = [Study.load(path) for path in (earlier, file)]
    before, now = (
        {
            (n, canonical(m.memo.header)): m
            for asked_of in each.permanent
            for n, m in asked_of.items()
        }
        for each in studies
    )
    for path, permanent in ((earlier, before), (file, now)):
        if not permanent:
            rule = "needs two studies in rounds, which have a table [repeat]"
            raise ArgumentError("--after", rule, path, "Leave out --after")
    names = {name for name, _ in before}
    draws_anew = any(each.draw is not None for each in studies)
    draws_anew &= studies[0].draw_digest != studies[1].draw_digest
    return {
        name: mechanism.of_rounds(None).epsilon
        for (name, header), mechanism in now.items()
        if name in names and (draws_anew or (name, header) not in before)
    }


_IN_ALL = "all.questions"  # of one person; no question has a point in its name


def _with_infinity_as_text(figures: Any) -> Any:
    """Figures as JSON has them, which knows no infinity."""
    if isinstance(figures, dict):
        return {name: _with_infinity_as_text(of) for name, of in figures.items()}
    return "inf" if figures == float("inf") else figures


def _draw_odds(file: str, path: str, mechanisms: Mapping[str, Mechanism]) -> None:
    """Write the odds of all questions that have an example, and name those without one."""
    examples: dict[str, Example | None] = {}
    for question, mechanism in mechanisms.items():
        parts: Mapping[str, Mechanism] = {question: mechanism}
        if isinstance(mechanism, OneOf) and not isinstance(mechanism.domain, Items):
            parts = mechanism.parts
        examples |= {name: example_of(each) for name, each in parts.items()}
    drawn = {name: each for name, each in examples.items() if each is not None}
    if not drawn:
        rule = "can show only questions whose reports point to one answer"
        raise ArgumentError("--plot", rule, ", ".join(examples))
    if Path(file).suffix == ".toml":
        study = Study.load(file)
        drawn = {
            study.labels.get(name, name): each.in_words_of(_answers(study, name))
            for name, each in drawn.items()
        }
    alike: dict[Example, list[str]] = {}
    for name, each in drawn.items():
        alike.setdefault(each, []).append(name)
    panels = {"; ".join(names): each for each, names in alike.items()}
    save(odds(panels), path, [table_of_odds(name, each) for name, each in panels.items()])
    say_written(path)
    if without := [name for name, each in examples.items() if each is None]:
        terminal.note(
            "Not in the picture, because their reports do not point to one answer: "
            f"{', '.join(without)}."
        )


def _answers(study: Study, name: str) -> dict[str, str]:
    """{value: the text that people read}, of a question of labels."""
    if name not in study.domains:
        return {}
    texts = study.texts.answers(name, study.languages[0])
    return dict(zip(map(as_text, study.domains[name].labels), texts, strict=False))


def _group_attributes(
    path: str, output: Output, threshold: float, largest: int, level: float
) -> None:
    """Print groups of attributes that depend on each other, one in each line."""
    tallies = read_totals(path)
    for tally in tallies.values():
        mechanism = from_header(tally.header)
        if isinstance(mechanism, OneOf | HiddenQuestion):
            rule = (
                "counts people who were asked different questions, so the tally does not show "
                "which questions depend on each other"
            )
            remedy = (
                'Ask everybody all questions in a pilot: write the line each = "all" into the '
                "table [ask]. Then make the tally: warner tally --ways 2"
            )
            raise ArgumentError(path, rule, None, remedy)
        if not mechanism.attribute_domains:
            rule = "has no counts of the reports on two questions together"
            raise ArgumentError(path, rule, None, "Make the tally with warner tally --ways 2")
    groups = {
        name: find_clusters(tally, threshold, largest, level) for name, tally in tallies.items()
    }

    def show() -> None:
        for of_name in groups.values():
            for group in of_name:
                click.echo(", ".join(group))

    output.write(
        show,
        lambda: groups,
        lambda: table_of_rows(
            {"tally": name, "group": number, "attribute": attribute}
            for name, of_name in groups.items()
            for number, group in enumerate(of_name, 1)
            for attribute in group
        ),
    )
