"""Options that several commands have, and where a command writes its result."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np
from click.core import ParameterSource

from warner._core.atomic_files import require_ending, write_whole
from warner._core.checks import choice, confidence_level
from warner._core.errors import ArgumentError
from warner._core.extras import imported
from warner._core.html import page
from warner._core.names import LOSSES_ELSEWHERE
from warner._core.table import Column, Table
from warner.app.terminal import note, shown_with, with_errors
from warner.app.what_files_hold import (
    group_and_file,
    named_files,
    refuse_overwriting,
    refuse_shared_outputs,
    say_written,
    write_text,
)
from warner.reports.public_columns import SMALLEST_GROUP
from warner.reports.tally import MOST_PER_PERSON, Tally

if TYPE_CHECKING:
    from warner._core.survey_design import SurveyDesign
    from warner.studies.study import Study


Command = TypeVar("Command", bound=Callable[..., None])


def options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


class GroupInWholeSentences(click.Group):
    """Commands with a first sentence each, which is never cut off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands of the help."""
        listed = [(name, each.get_short_help_str(200)) for name, each in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(listed)


study_file = click.argument("study", type=click.Path(dir_okay=False))
tally_output = options(
    click.option(
        "-o",
        "--output",
        default="-",
        help="The tally file to write (JSON). Default: print the tally.",
    ),
    # As for other commands; beside -o it must not take the place of the file.
    click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        help="Write JSON, as without this option: a tally is JSON.",
    ),
)


def tally_files(name: str, **attributes: Any) -> Callable[[Command], Command]:
    """The argument of tally files, which patterns in quotes can name."""
    return click.argument(
        name, nargs=-1, callback=lambda _context, _option, paths: named_files(paths), **attributes
    )


study_output = click.option(
    "-o", "--output", default="-", help="The study file to write. Default: print the study."
)
force = click.option("--force", is_flag=True, help="Replace the output if it exists.")
several_reports = click.option(
    "--reports-per-person",
    type=click.IntRange(1, MOST_PER_PERSON),
    metavar="T",
    help="Say that each person sent up to T reports, about different answers. Intervals for "
    "the population then count people, not reports. Not needed if the study says "
    "rows_per_person: its reports then state this number.",
)
are_simulated = click.option(
    "--simulated",
    is_flag=True,
    help="Say that the reports are simulated, such as the reports of warner randomize --seed. The "
    "result and its tally are then marked as simulated.",
)
smallest_group = click.option(
    "--smallest-group",
    type=click.IntRange(1),
    metavar="N",
    default=SMALLEST_GROUP,
    show_default=True,
    help="Warn if public columns make groups of fewer people than this, because a small group can "
    "point at a person.",
)
level = click.option(
    "--level",
    type=float,
    callback=lambda _context, _option, level: confidence_level(level, "--level"),
    default=0.95,
    show_default=True,
    help="How sure intervals are: with 0.95, 95 % of such intervals contain the true value.",
)
of_intervals = options(
    level,
    click.option(
        "--target",
        type=click.Choice(["population", "respondents"]),
        default="population",
        show_default=True,
        help="For whom intervals hold: for the population that people were drawn from, or only for "
        "the people who answered.",
    ),
)
additions = options(
    click.option(
        "--allow-equal",
        is_flag=True,
        help="Add files even if their counts are equal. Use this only if you know that the "
        "files are from different people.",
    ),
    click.option(
        "--allow-simulated",
        is_flag=True,
        help="Add simulated reports to real ones. The sum counts as simulated.",
    ),
)
survey_design = options(
    click.option(
        "--weights",
        metavar="NAME",
        help="The public column with the weight of each person: how many people the person stands "
        "for. Only the proportions of the weights matter.",
    ),
    click.option(
        "--cluster",
        metavar="NAME",
        help="If people were drawn in clusters: the public column with the cluster, such as the "
        "school that was drawn first.",
    ),
    click.option(
        "--strata",
        metavar="NAME",
        help="If people or clusters were drawn separately from each part of the population "
        "(stratum): the public column with these parts.",
    ),
)
allow_implausible = click.option(
    "--allow-implausible",
    is_flag=True,
    help="Accept counts that randomised answers hardly ever give. Such counts mostly come from "
    "answers that were not randomised.",
)
attributes = options(
    click.option(
        "--only",
        metavar="NAME,NAME,...",
        multiple=True,
        callback=lambda _context, _option, texts: tuple(
            n for text in texts for n in names_in(text)
        ),
        help="Show only these questions, by their names in the study.",
    ),
    click.option(
        "--joint",
        metavar="NAME,NAME,...",
        multiple=True,
        help="Say how common each combination of answers to these questions is. This needs a tally "
        'made with "warner tally --ways", or a study that asks or randomises these questions '
        "together. May be repeated.",
    ),
)


def design_of(
    weights: str | None, cluster: str | None, strata: str | None, study: Study | None
) -> SurveyDesign | None:
    """The survey design that options name, or else that of a study."""
    from warner._core.survey_design import SurveyDesign

    named = SurveyDesign.of(weights, cluster, strata)
    return study.design if named is None and study is not None else named


def require_drawn(
    design: SurveyDesign, grouped: Mapping[str, Sequence[Tally]], tallies: Sequence[str]
) -> None:
    """Refuse tallies that are not counted by the columns of a survey design."""
    if not grouped:
        columns = ", ".join(design.columns)
        rule = f"must be a tally of groups by {columns}, because these say how people were drawn"
        remedy = f"Make it with warner tally --by {','.join(design.columns)}"
        raise ArgumentError(", ".join(tallies), rule, None, remedy)
    for parts in grouped.values():
        design.require_columns(parts[0].names, "the tally")


@dataclass(frozen=True)
class Output:
    """Where a command writes its result, and in which form."""

    paths: tuple[str, ...] = ()  # the files; () for standard output
    # the form of all of them. Without either, a name that ends in .json, .csv, .xlsx or .parquet
    # states it, and everything else is what a terminal shows
    as_json: bool = False
    as_csv: bool = False
    wide: bool = False  # whether lines are as long as they need to be
    explain: bool = False  # whether tables say how their numbers were computed
    about: tuple[str, ...] = ()  # sentences of workbooks on the whole result

    def check(self, *inputs: str, plot: str | None = None) -> None:
        """Refuse forms that exclude each other, and files that would replace another."""
        if self.as_json and self.as_csv:
            raise ArgumentError("--json and --csv", "cannot be used together", None, _BY_ENDING)
        ends = [".json"] if self.as_json else [".csv"] if self.as_csv else _ENDINGS
        flag = "--json" if self.as_json else "--csv"
        absent = [
            path for path in inputs if path != "-" and not Path(group_and_file(path)[1]).exists()
        ]
        if (self.as_json or self.as_csv) and 0 < len(absent) < len(inputs):
            # It may be a misspelt input, so that no command is named that leaves it out.
            remedy = (
                "Correct its name. If the command is to write this file, put -o before its "
                f"name: {flag} only prints"
            )
            raise ArgumentError(absent[0], "does not exist", None, remedy)
        for path in (*self.paths, plot):
            refuse_overwriting(path, *inputs)
        if plot is not None:
            from warner.results.drawing import FORMATS, SUFFIXES

            if Path(plot).suffix.lower() not in SUFFIXES:
                raise ArgumentError("--plot", f"must end in {FORMATS}", plot)
        refuse_shared_outputs(*(("--output", path) for path in self.paths), ("--plot", plot))
        text = ", or .txt for the table as text, .html, .tex or .typ for the tables of an article"
        text = "" if len(ends) == 1 else text
        papers = _PAPERS if len(ends) > 1 else ()
        draws = any(p.name == "plot_paths" for p in click.get_current_context().command.params)
        for path in self.paths:
            remedy = f"Give it a name that ends in {' or '.join(ends)}{text}"
            if draws and path.lower().endswith(_PICTURES):
                remedy = f"To draw a picture, write --plot {path}"
            elif path.lower().endswith(tuple(set(_ENDINGS) - set(ends))):
                rule = f"writes {ends[0][1:].upper()}, but the name {path} says another format"
                remedy = f"Leave out {flag}: the ending of the name says what to write"
                raise ArgumentError(flag, rule, None, remedy)
            elif papers and path.lower().endswith(_OF_WORD):
                remedy = f"Write -o {Path(path).with_suffix('.html')}, and open this page in Word"
            require_ending(path, *ends, *papers, remedy=remedy)
            if path.lower().endswith(".xlsx"):
                imported("openpyxl", "an Excel file")
            elif path.lower().endswith(".parquet"):
                imported("pyarrow", "a Parquet file")

    def write(
        self,
        show: Callable[[], object],  # prints what a terminal shows
        data: Callable[[], Any],  # as JSON
        table: Callable[[], Table],  # for CSV, Excel and Parquet
        paper: Callable[[], Sequence[Table]] | None = None,  # what people read, in articles
        latex: Callable[[], str] | None = None,  # where the result writes its own
    ) -> None:
        """Write the result to all files."""
        if paper is None:
            for path in self.paths:
                if path.lower().endswith(_PAPERS):
                    rule = (
                        f"must not end in {Path(path).suffix}, because this result has no tables "
                        "for articles"
                    )
                    remedy = "Give it a name that ends in .txt for the table as text"
                    raise ArgumentError(path, rule, None, remedy)
        warned: dict[str, None] = {}
        for path in self.paths or ("-",):
            ending = path.lower().rpartition(".")[2] if not (self.as_json or self.as_csv) else ""
            if self.as_json or ending == "json":
                warned |= _warnings(table())
                write_text(as_json(data()) + "\n", path)
            elif self.as_csv or ending == "csv":
                made = table()
                warned |= _warnings(made)
                write_text(made.csv(), path)
            elif ending in ("xlsx", "parquet"):
                made = table()
                warned |= _warnings(made)
                if ending == "xlsx":  # which people read
                    tables = paper() if paper is not None else []
                    articles = [with_errors(each, in_article=True) for each in tables]
                    write_whole(path, made.read_as(tables, self.about).xlsx(shown=articles))
                else:
                    write_whole(path, made.parquet())
                say_written(path)
            elif latex is not None and ending == "tex":
                write_text(latex().rstrip() + "\n", path)
            elif paper is not None and f".{ending}" in _PAPERS:
                tables = [with_errors(each, in_article=True) for each in paper()]
                warned |= _warnings(*tables)
                if ending in ("html", "htm"):
                    write_text(page(Path(path).stem, [t.document(self.wide) for t in tables]), path)
                    continue
                texts = [
                    each.latex(self.wide) if ending == "tex" else each.typst(self.wide)
                    for each in tables
                ]
                write_text("\n\n".join(text.rstrip() for text in texts) + "\n", path)
            else:
                with shown_with(self.wide, self.explain):
                    if path == "-":
                        show()
                    else:
                        text = io.StringIO()
                        with contextlib.redirect_stdout(text):
                            show()
                        write_text(text.getvalue(), path)
        # A file has numbers alone, or hides its notes.
        for sentence in warned:
            note(sentence)


def _warnings(*tables: Table) -> dict[str, None]:
    """The warnings among the notes of tables, each once."""
    notes = (sentence for table in tables for sentence in table.notes)
    return dict.fromkeys(sentence for sentence in notes if sentence.startswith("WARNING"))


_PICTURES = (".png", ".svg")
_PAPERS = (".html", ".htm", ".tex", ".typ")  # the tables of articles
_OF_WORD = (".docx", ".doc", ".odt", ".rtf")
_ENDINGS = [".json", ".csv", ".xlsx", ".parquet"]
_BY_ENDING = "To get both, name a .json and a .csv file with -o"


def written(command: Command) -> Command:
    """The options of a result that is printed or written; the command receives ``output``."""

    @functools.wraps(command)
    def with_output(
        *,
        output_paths: tuple[str, ...],
        as_json: bool,
        as_csv: bool,
        wide: bool,
        explain: bool,
        **rest: Any,
    ) -> None:
        command(output=Output(output_paths, as_json, as_csv, wide, explain), **rest)

    return options(
        click.option(
            "-o",
            "--output",
            "output_paths",
            metavar="FILE",
            multiple=True,
            help="Write the result to this file. Its ending chooses the form: .json, .csv, .xlsx "
            "or .parquet for programs, .txt for what the terminal shows, and for the tables of an "
            "article, if the command makes such tables, .html for Word, .tex or .typ. May be "
            "repeated. Default: print the result.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV, for spreadsheets."),
        click.option(
            "--wide",
            is_flag=True,
            help="Show all columns of tables, even if lines become long. Without --wide, LaTeX "
            "and Typst files have only the columns that fit into an article.",
        ),
        click.option("--explain", is_flag=True, help="Also say how the numbers were computed."),
    )(with_output)  # type: ignore[return-value]


def names_in(text: str | None) -> list[str]:
    """The names in a list with commas; quotes are about a name that has a comma itself.

    >>> names_in("ward, week"), names_in('"north, 3",south'), names_in(None)
    (['ward', 'week'], ['north, 3', 'south'], [])
    """
    if text is None:
        return []
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    return [name.strip() for line in lines for name in line] or [""]


def per_person(tallies: dict[str, Tally], most: int | None) -> dict[str, Tally]:
    """The tallies, with the reports of one person where --reports-per-person states them."""
    if most is None:
        return tallies
    return {name: tally.per_person(most) for name, tally in tallies.items()}


def generator(seed: int | None) -> np.random.Generator | None:
    """The source of repeatable randomness, or None for the operating system's."""
    return None if seed is None else np.random.default_rng(seed)


def table_of_rows(
    rows: Iterable[Mapping[str, Any]], is_simulated: bool = False, shares: Collection[str] = ()
) -> Table:
    """Rows as a table for files, with all their columns; those of ``shares`` hold shares."""
    listed = list(rows)
    header = dict.fromkeys(key for row in listed for key in row)
    columns = [
        Column(key, _HEADINGS.get(key), "share" if key in shares else "text") for key in header
    ]
    return Table(columns, [{**header, **row} for row in listed], simulated=is_simulated)


# What stands in Excel above columns of files that no table for people has.
_HEADINGS = {"attribute": "question", "reference_estimate": "estimate of the reference"}
# of rows of shares
SHARES = ("estimate", "reference_estimate", "low", "high", "difference", "error")


def as_json(data: Any) -> str:
    """Data as the text of a JSON file, without its last line end.

    JSON has no infinite numbers, and other languages refuse Python's words for them.

    >>> as_json({"error": math.inf})
    '{\\n "error": null\\n}'
    """
    return json.dumps(_finite(data), indent=1, allow_nan=False)


def _finite(data: Any) -> Any:
    """Data with None in place of numbers that are not finite."""
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


class Loss(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A loss; a word of the literature is answered by what it is called here."""

    name = "loss"

    def __init__(self, losses: Collection[str], elsewhere: str = "") -> None:
        self.losses, self.elsewhere = tuple(losses), elsewhere

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """What the help shows in place of the value."""
        return f"[{'|'.join(self.losses)}]"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """The loss in small letters; another word is refused."""
        loss = str(value).lower()
        there = dict.fromkeys(self.elsewhere.split(), f"warner benchmark has {loss!r}")
        return str(choice("--loss", loss, self.losses, LOSSES_ELSEWHERE | there))


class Below1(click.FloatRange):
    """A number above 0 and below 1, which may be written in per cent.

    The remedy of a mistake shows the ``example`` in hundredths, with {} in ``unit`` for it. It
    stands for so many ``times`` hundredths, as 2 of half an interval.
    """

    def __init__(self, example: int, unit: str = "{} %", times: int = 1) -> None:
        super().__init__(0, 1, min_open=True, max_open=True)
        self.example, self.unit, self.times = example, unit, times

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The number; refused elsewhere with what to write in its place."""
        from warner.designs.chances import chance

        with contextlib.suppress(ArgumentError):
            if isinstance(value, str) and value.rstrip().endswith("%"):
                return float(chance("share", value))
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            number = float(self.example)
            with contextlib.suppress(ValueError):
                number = float(value) if 1 <= float(value) * self.times < 100 else number
            shown = self.unit.replace("{}", f"{number:g}")
            remedy = f"Write {number * self.times / 100:g} for {shown}"
            self.fail(f"{value} must be above 0 and below 1. {remedy}.", param, ctx)


def is_given(name: str) -> bool:
    """Whether somebody wrote an option of the command that runs."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def refuse_given(names: Iterable[str], rule: str, remedy: str | None = "Leave out {}") -> None:
    """Refuse options that somebody wrote; {} in the remedy is the option."""
    options = {p.name: p.opts[-1] for p in click.get_current_context().command.params}
    for name in filter(is_given, names):
        option = str(options[name])
        raise ArgumentError(option, rule, None, remedy and remedy.replace("{}", option))


class MadeUp(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A part of the reports, 1% or 0.01, or a number of reports such as 100."""

    name = "part or number"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The part as a number between 0 and 1, or a whole number; refused elsewhere."""
        from warner.designs.chances import chance

        # A comma separates thousands: 0,05 with a decimal comma is no number of reports.
        if re.fullmatch(r"[1-9]\d*|[1-9]\d{0,2}(,\d{3})+", str(value)):
            if value == "1":
                fault = "'1' could mean 1 report or all reports. Write a share such as 1%."
                self.fail(fault, param, ctx)
            return int(str(value).replace(",", ""))
        try:
            return float(chance("forged", value))
        except ArgumentError:
            self.fail(
                f"{value!r} must be above 0 % and below 100 % of the reports, such as 1% or 0.01, "
                "or a number of reports, such as 100.",
                param,
                ctx,
            )


forged_part = click.option(
    "--forged",
    type=MadeUp(),
    metavar="PART or N",
    help="Also show how low and how high each true share can be if some reports were made up. "
    "Give the largest share of reports that may be made up, such as 1%, or the largest number "
    "of such reports, such as 100.",
)
