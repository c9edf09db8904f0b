"""What the command that estimates was asked for: its tallies, groups, pictures and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from warner._core.errors import ArgumentError
from warner._core.table import Table
from warner.app import terminal
from warner.app.commands.options import (
    Output,
    design_of,
    is_given,
    names_in,
    refuse_given,
)
from warner.app.on_paper import COUNTS_BY_GROUP, OnPaper
from warner.app.requested import Wanted, asked_groups, headings, that_were_asked
from warner.app.show_estimates import show_sources
from warner.app.terminal import say
from warner.app.what_files_hold import (
    FILES,
    NOT_BY_GROUPS,
    apart,
    chosen_tallies,
    group_and_file,
    one_or_all,
    refuse_equal,
    refuse_questions,
    refuse_shared_outputs,
    require_study_of_tallies,
    say_written,
    tallies_together,
    to_have_groups,
    warn_of_design,
)
from warner.domains import Categorical
from warner.reports.tally import TalliesOfGroups, Tally, require_one_round
from warner.results.estimate import Estimate
from warner.results.from_tally import by_mechanism

if TYPE_CHECKING:
    from warner._core.survey_design import SurveyDesign
    from warner.results.differences import Differences
    from warner.studies.study import Study


_COMPARED = "--compare-groups --of mean"
# Options that are of one way to estimate alone, with what they go with.
_OF_GROUPS = {
    "pool": "--by",
    "margins": "--by",
    "time": "--by",
    "reference": "--compare-groups",
    "between": "--compare-groups",
    "quantity": "--compare-groups",
    "same_people": "--compare-groups",
    "within": "--compare-groups",
}
_OF_TABLES = ("by", "only", "joint", "compare_groups", "margins", "study")
_NOT_OF_TWO_CARDS = (
    *("kind", "summaries", "plot_paths", "background", "target", "weights", "cluster", "strata"),
    *_OF_TABLES,
)
_NOT_OF_GROUPS = ("joint", "kind", "with_reports", "background")
_SAME_PEOPLE = (
    "The files are of several rounds, which the same people answered. The intervals of differences "
    "are computed as if these were different people. To compare two rounds of the same people, add "
    "--same-people."
)


@dataclass(frozen=True)
class EstimateRequest:
    """What is to be estimated, and how it is shown: see the options of the command."""

    tallies: tuple[str, ...]
    method_name: str | None
    only: tuple[str, ...]
    joint: tuple[str, ...]
    by: str | None
    is_total: bool
    pool: str | None
    time: str | None
    margins: str | None
    compare_groups: bool
    reference: str | None
    between: str | None
    same_people: bool
    within: str | None
    quantity: str | None
    level: float
    target: str
    kind: str | None
    summaries: tuple[str, ...]
    output: Output
    no_shares: bool
    plot_paths: tuple[str, ...]
    with_reports: bool
    top: int | None
    title: str | None
    background: tuple[str, ...]
    forged: float | None
    allow_equal: bool
    allow_simulated: bool
    allow_implausible: bool
    study: str | None
    weights: str | None
    cluster: str | None
    strata: str | None
    on_paper: str | None
    counts: tuple[str, ...]
    drop_missing: bool
    group: str | None

    @cached_property
    def stated(self) -> Study | None:
        """The study that is named."""
        if self.study is None:
            return None
        from warner.studies.study import Study

        return Study.load(self.study)

    @cached_property
    def design(self) -> SurveyDesign | None:
        """How people were drawn, as the options or the study say."""
        return design_of(self.weights, self.cluster, self.strata, self.stated)

    def texts(self, name: str | None) -> tuple[str | None, tuple[str, ...] | None]:
        """The texts of a question and of its answers, where the study states them."""
        if self.stated is None or name is None:
            return None, None
        question, domain = headings(self.stated).get(name), self.stated.domains.get(name)
        if domain is None or domain.is_numeric:  # of drawn questions, and of numbers as they are
            return question, None
        return question, self.stated.texts.answers(name, self.stated.languages[0])

    def unit(self, name: str | None) -> str | None:
        """What the numbers of a question count, where the study states it."""
        return None if self.stated is None else self.stated.texts.units.get(str(name))

    def draw(
        self,
        results: Mapping[str, Estimate | Differences],
        attribute_of: Mapping[str, str] | None = None,
    ) -> None:
        """Write one picture; ``attribute_of`` has attributes other than the name of a result."""
        if not self.plot_paths:
            return
        from warner.results.charts import pictured
        from warner.results.charts_of_groups import forest, legend_of_forest
        from warner.results.drawing import drawn_together, page, save, titled

        is_single = len(results) == 1
        title = self.title if is_single else None
        pictures, tables = [], []
        legend: dict[str, None] = {}  # of all differences, each sentence once
        for name, result in results.items():
            attribute = (attribute_of or {}).get(name, name)
            question, labels = self.texts(attribute)
            named = (question or attribute) + name.removeprefix(attribute)
            unit = self.unit(attribute)
            if isinstance(result, Estimate):
                shown, (level, target) = replace(result, attribute=named), self.intervals
                options = None, level, target, self.top, title, None, False, labels, unit
                picture, tables_of = pictured(shown, *options)
                tables += tables_of()
            else:
                labels = None if result.test is None else labels  # without, of several questions
                heading = title or named
                picture = forest(result, self.top, heading, True, labels, unit, is_single)
                legend |= dict.fromkeys(legend_of_forest(result))
                table = result.table()
                if len(results) > 1:
                    table = replace(table, title=f"{named}: {table.title}")
                tables.append(table)
            pictures.append(picture)
        charts = drawn_together(pictures)
        above = titled(self.title or "Differences between groups", list(legend))
        whole = charts[0] if is_single else page(charts, above if legend else self.title)
        for path in self.plot_paths:
            save(whole, path, tables)
            say_written(path)

    def write(
        self,
        show: Callable[[], object],
        data: Callable[[], Sequence[Mapping[str, Any]]],
        table: Callable[[], Table],
        paper: Callable[[], Sequence[Table]],
    ) -> None:
        """Write the result, with the tests of designs in which two groups had different cards."""
        tests = self.paper.origin.design_tests
        sentences = [test.sentence for test in tests]
        made = [test.data for test in tests if test.data]  # none where few had one of the cards
        of_tests = {"fit_tests": made} if made else {}
        summary = [("Test of the design", test.law) for test in tests]

        def with_tests(of: Table) -> Table:
            return replace(of, notes=[*of.notes, *sentences], summary=[*of.summary, *summary])

        def show_all() -> None:
            show()
            terminal.show(*sentences)

        self.output.write(
            show_all,
            lambda: [{**each, **of_tests} for each in data()],
            table,
            lambda: list(map(with_tests, paper())),
        )
        if self.output.paths or self.output.as_csv or self.output.as_json:
            for sentence in sentences:  # also where a file of numbers has no sentences
                terminal.note(sentence)

    @property
    def named_columns(self) -> list[str]:
        """The public columns that --by and --within name."""
        return [name for name in names_in(self.by) + names_in(self.within) if name != FILES]

    @property
    def named_groups(self) -> list[str]:
        """The groups that --between and --reference name, which each comparison has to have."""
        named = [*names_in(self.between), self.reference]
        return [name for name in dict.fromkeys(named) if name not in (None, "pairs")]

    @cached_property  # so that what is said of its files is said once
    def paper(self) -> OnPaper:
        """What people said on paper."""
        stated = self.on_paper, self.counts, self.named_columns, self.design
        paper = OnPaper(
            *stated, self.drop_missing, self.group, study=self.stated, is_total=self.is_total
        )
        is_more = any(is_given(name) for name in (*_NOT_OF_TWO_CARDS, "drop_missing"))
        return replace(paper, is_on_one_card=paper.has_one_share and is_more)

    @property
    def columns(self) -> list[str] | None:
        """The columns of groups of people in a table of what they said; None for all together."""
        by = [*self.named_columns, *self.paper.not_groups]
        is_total = self.by is None and self.design is None and not self.compare_groups
        return None if is_total else by

    @property
    def lists_single_values(self) -> bool:
        """Whether numbers are single values, as codes are, and no method for numbers is named."""
        is_chosen = self.method_name or self.kind or self.quantity
        return self.top is not None and is_chosen is None

    def tallies_together(self) -> dict[str, list[Tally]]:
        """The tallies of all files by attribute, or that of the counts on the command line."""
        allowed = self.allow_equal, self.allow_simulated, self.allow_implausible
        together = self.paper.tallies(self.tallies, self.columns, *allowed, self.only)
        refuse_questions(names_in(self.by), together)
        self._require_study(together)
        if self.design is None:
            warn_of_design([tally for parts in together.values() for tally in parts])
            if self.is_total:
                return {name: [t.total() for t in parts] for name, parts in together.items()}
        return together

    def _require_study(self, together: Mapping[str, Sequence[Tally]]) -> None:
        """Refuse a study that these tallies are not of; a design on the command line is checked."""
        if self.stated is not None and self.on_paper is None:
            chosen = chosen_tallies(together, self.only)
            require_study_of_tallies(chosen, self.stated, str(self.study))

    def read(self, path: str) -> dict[str, Tally]:
        """The tallies of a file."""
        tallies = self.paper.read(path, self.columns)
        if self.design is None:
            warn_of_design(tallies.values())
        return tallies

    @cached_property
    def wanted(self) -> Wanted:
        """The summaries of numbers."""
        return Wanted.of_options(self.summaries)

    def require_posterior(self, estimates: Iterable[Estimate]) -> None:
        """Refuse ``--interval posterior`` of questions that have no such intervals."""
        for result in estimates if self.kind == "posterior" else ():
            if self.target != "population":
                rule, remedy = (
                    "posterior needs --target population",
                    "Leave out --interval",
                )
                raise ArgumentError("--interval", rule, f"--target {self.target}", remedy)
            if not result.has_posterior_intervals:
                rule = "posterior needs numbers that are estimated as a smooth curve"
                remedy = "Leave out --interval, or name the questions of numbers with --only"
                raise ArgumentError("--interval", rule, result.attribute, remedy)

    @property
    def intervals(self) -> tuple[float, str]:
        """The coverage of the intervals, and for whom they are."""
        return self.level, self.target

    def check(self) -> None:
        """Refuse options that do not go together, and outputs that would replace inputs."""
        way = "--compare-groups" if self.compare_groups else "--by" if self.by else None
        for name, needed in _OF_GROUPS.items():
            if needed == "--compare-groups" != way:
                refuse_given([name], f"needs {needed}", f"Add {needed}")
            elif way is None:
                to_write = f"Write --by {self.time} --pool path --time {self.time}"
                refuse_given([name], f"needs {needed}", to_write if name == "time" else None)
            elif way != needed:
                refuse_given([name], f"needs {needed}, and cannot be used with {way}", None)
        if way is not None:
            why = f"cannot be used with {way}, because made-up reports of one group can move the "
            each = f"Leave out {way}: the limits of each group are then printed"
            if len(self.tallies) > 1:
                each = f"Estimate each file by itself, without {way}"
            refuse_given(["forged"], f"{why}shares of other groups", each)
            rule, remedy = f"cannot be used with {way}", f"Leave out {{}} or {way}"
            refuse_given(_NOT_OF_GROUPS, rule, remedy)
            own_methods = {
                "--compare-groups": self.compare_groups,
                "--margins": self.margins is not None,
                f"--pool {self.pool}": self.pool not in (None, "none"),
            }
            for other in [option for option, is_used in own_methods.items() if is_used]:
                because = f"cannot be used with {other}, which has a method of its own"
                refuse_given(["method_name"], because, f"Leave out {{}} or {other}")
            if self.compare_groups or self.margins is not None:
                other = way if self.compare_groups else "--margins"
                rule, remedy = f"cannot be used with {other}", f"Leave out {{}} or {other}"
                refuse_given(["is_total"], rule, remedy)
        if both := [name for name in names_in(self.within) if name in names_in(self.by)]:
            rule, remedy = (
                "must name other columns than --by",
                f"Leave {both[0]} out of one of them",
            )
            raise ArgumentError("--within", rule, both[0], remedy)
        if self.no_shares and not self.summaries:
            remedy = "Add for example --summary mean,median"
            raise ArgumentError("--no-shares", "needs --summary", None, remedy)
        if self.compare_groups and self.summaries:
            summaries = [*self.wanted.common, *chain(*self.wanted.own.values())]
            codes = [one.code.removeprefix("quantile:") for one in summaries]
            comparable = [code for code in codes if ":" not in code and code != "variance"]
            of = [*comparable, "mean"][0]
            remedy = f"Leave out --summary, and say what to compare: --of {of}"
            raise ArgumentError("--summary", "cannot be used with --compare-groups", None, remedy)
        if self.by is not None and self.summaries:
            rule = "cannot be used with --by and --summary"
            leave_out = f"Leave out {{}} or --summary, or compare groups: {_COMPARED}"
            picture = "Leave out --summary: the picture of numbers shows mean and median anyway"
            refuse_given(["margins"], rule, leave_out)
            refuse_given(["plot_paths"], rule, picture)
            refuse_given(["top", *([] if self.pool == "none" else ["pool"])], rule, leave_out)
        if self.design is not None:
            drawn = f"when people were drawn with a survey design ({self.design.text})"
            alone = ("pool", "time", "margins", "background", "forged", "within")
            refuse_given(alone, f"cannot be used {drawn}")
        self.paper.check(self.tallies if is_given("tallies") else ())
        has_groups = self.paper.is_of_groups or self.paper.is_on_one_card
        if self.group is not None and (self.counts or not has_groups):
            if self.counts:
                refuse_given(["group"], "cannot be used with --counts")
            rule = "needs a design of two groups"
            raise ArgumentError("--group", rule, None, "For example --design cheating:1/4,3/4")
        if self.paper.is_of_groups:
            refuse_given(_NOT_OF_TWO_CARDS, f"cannot be used with --design {self.on_paper}")
        if self.counts:
            refuse_given(_OF_TABLES, "cannot be used with --design and --counts", COUNTS_BY_GROUP)
        if not self.plot_paths:
            refuse_given(["title", "with_reports"], "needs --plot", None)
        inputs = [group_and_file(text)[1] if way else text for text in self.tallies]
        margins = [self.margins] if self.margins else []
        for path in self.plot_paths or (None,):
            self.output.check(*inputs, *margins, plot=path)
        refuse_shared_outputs(*(("--plot", path) for path in self.plot_paths))

    @cached_property
    def _all_groups(self) -> dict[str, TalliesOfGroups]:
        """The groups of all questions; files are added where they are no groups themselves."""
        by = [] if self.design is not None else self.named_columns
        names, files = map(list, zip(*map(group_and_file, self.tallies), strict=True))
        is_by_file = FILES in names_in(self.by) or (self.by is None and self.within is not None)
        is_by_file = is_by_file and len(files) > 1

        def read(path: str) -> dict[str, Tally]:
            alone = is_by_file and not by and self.design is None
            return {n: t.total() if alone else t for n, t in self.read(path).items()}

        # Files can have equal counts by chance where each is a group, since small groups have few
        # reports, but not where they are added.
        allowed = len(files) > 1, self.allow_simulated, self.allow_implausible
        together = tallies_together(files, read, *allowed, self.only)
        self._require_study(together)
        rounds = [tally.round for tally in next(iter(together.values()))]
        if self.compare_groups:
            if not self.same_people and len({*rounds} - {None}) > 1:
                say(_SAME_PEOPLE)
        elif is_by_file and None not in rounds:  # a shell lists week10 before week2
            order = sorted(range(len(rounds)), key=lambda i: rounds[i] or 0)
            names, files = [names[i] for i in order], [files[i] for i in order]
            together = {name: [parts[i] for i in order] for name, parts in together.items()}
        flat, grouped = apart(together)
        refuse_questions(by, together)
        public = next(iter(grouped.values()))[0].names if grouped else ()
        is_compared = is_by_file or {*names_in(self.by)} - {FILES}
        if not is_compared and {*names_in(self.within)} & {*public}:
            self._refuse_no_groups(public)
        if len(set(names)) < len(names) and (is_by_file or not grouped):
            remedy = f"Give each file a name of its own: north={files[0]}"
            raise ArgumentError("groups", "must have different names", ", ".join(names), remedy)
        if grouped:
            of_files = [
                dict(zip(grouped, of, strict=True)) for of in zip(*grouped.values(), strict=True)
            ]
            refuse_equal(dict(zip(files, of_files, strict=True)), self.allow_equal)
            if is_by_file:
                if self.is_total:
                    require_one_round(rounds)
                column = Categorical(names)
                grouped = {
                    name: [
                        (tally.by(*by) if by else tally).among(FILES, column, file)
                        for file, tally in zip(names, parts, strict=True)
                    ]
                    for name, parts in grouped.items()
                }
                by = [FILES, *by] if self.design is None else []
            elif len(files) > 1:
                self._refuse_unclear_files(next(iter(grouped.values()))[0].names)
            return {name: one_or_all(by_mechanism(parts, by)) for name, parts in grouped.items()}
        if by:
            columns = ",".join(by)
            remedy = f"{to_have_groups(files, columns)}. For all people together, leave out --by"
            raise ArgumentError("--by", NOT_BY_GROUPS, None, remedy)
        if len(files) < 2:
            option, rule = "--compare-groups", "needs a tally of groups of people"
            remedy = f"{to_have_groups(files, None)}. Or name a file for each group"
            if self.by:
                option, rule = "--by file", "needs at least 2 files"
                remedy = "Name the other files too"
            raise ArgumentError(option, rule, None, remedy)
        return {
            attribute: {(name,): tally for name, tally in zip(names, parts, strict=True)}
            for attribute, parts in flat.items()
        }

    def _refuse_no_groups(self, columns: Sequence[str]) -> None:
        """Refuse to compare the groups of one file that no option names."""
        others = [name for name in columns if name not in names_in(self.within)]
        remedy = "Give several files: the command then compares the files"
        if others:
            remedy = f"To compare the groups of {others[0]}, add --by {others[0]}"
        raise ArgumentError("--within", "needs groups to compare", None, remedy)

    def _refuse_unclear_files(self, columns: Sequence[str]) -> None:
        """Refuse to add up files that may be groups, such as two weeks of the same people."""
        names = [group_and_file(text)[0] for text in self.tallies]
        is_named = any(group_and_file(text)[1] != text for text in self.tallies)
        all_columns = ",".join(columns)
        if self.compare_groups and self.by is None and self.design is None:
            rule = (
                f"have groups by {', '.join(columns)}, so the command can compare the files or "
                "these groups. Say which"
            )
            remedy = (
                "To compare the files, add --by file. To compare the files within each group, "
                f"add --within {all_columns}. To compare the groups, add --by "
                f"{all_columns}{' and give the files no names' * is_named}. The files are then "
                "added up, so the files must be of different people"
            )
            raise ArgumentError("files", rule, None, remedy)
        if is_named:
            by = self.by or all_columns
            rule = f"are added up for each {by}, so the names of the files would not be used"
            apart = f"To keep the files apart, write --by file,{by}"
            remedy = f"{apart}. To add the files up, leave out the names"
            raise ArgumentError("files", rule, ", ".join(names), remedy)

    def groups(self) -> list[tuple[str, TalliesOfGroups, list[str] | None]]:
        """The groups of the questions that are asked for, and the attributes of each."""
        return that_were_asked(asked_groups(self._all_groups, self.only))[0]

    def show_sources(self, of: Mapping[str, TalliesOfGroups] | None = None) -> None:
        """Print which reports on these questions are estimated together, of all groups or these."""
        listed = (self._all_groups if of is None else of).items()
        together = {n: parts for n, parts in listed if isinstance(parts, list)}
        if self.design is not None:  # people of one weight are no group
            drawn, by = self.design.columns, names_in(self.by)
            for name, parts in together.items():
                columns = by or [c for c in parts[0].names if c not in drawn]
                together[name] = [t.by(*columns) if columns else t.total() for t in parts]
        show_sources(chosen_tallies(together, self.only))
