"""The option --summary: which summaries of which attributes, and how a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import click

from warner._core.errors import ArgumentError
from warner.app.terminal import Side, console, table
from warner.results.estimate import Estimate
from warner.results.named_summaries import Named, applicable, parse, summary_rows
from warner.results.recommend import METHODS
from warner.results.tables import reports_of

summary = click.option(
    "--summary",
    "summaries",
    metavar="[NAME=]SUMMARY,...",
    multiple=True,
    help="Summaries of numbers, each with an interval: mean, median, variance, quantile:Q, "
    "above:X, below:X, between:X:Y. With NAME= for this attribute only. May be repeated.",
)


@dataclass(frozen=True)
class Wanted:
    """The summaries that a user asks for.

    Attributes:
        common: of all attributes of numbers that are not named.
        own: of the attributes that are named.
    """

    common: tuple[Named, ...] = ()
    own: dict[str, tuple[Named, ...]] = field(default_factory=dict)

    @classmethod
    def of_options(cls, texts: Iterable[str], default: str = "") -> Wanted:
        """What the options --summary say.

        >>> wanted = Wanted.of_options(["mean", "alcohol=mean,above:14"])
        >>> [named.text for named in wanted.own["alcohol"]], len(wanted.common)
        (['mean', 'share above 14'], 1)
        """
        common: list[Named] = []
        own: dict[str, tuple[Named, ...]] = {}
        for text in texts:
            name, sign, rest = text.rpartition("=")
            if sign:
                own[name] = own.get(name, ()) + parse(rest)
            else:
                common += parse(text)
        if default and not common:
            common += parse(default)
        return cls(tuple(dict.fromkeys(common)), own)

    def named(self, result: Estimate) -> tuple[Named, ...]:
        """The summaries of one estimate that apply to its values."""
        asked = self.own.get(str(result.attribute), self.common)
        return applicable(result.domain, asked)

    def check(self, results: Sequence[Estimate]) -> None:
        """Refuse summaries that are of no attribute."""
        known = list(dict.fromkeys(str(result.attribute) for result in results))
        for name, asked in self.own.items():
            if name not in known:
                rule = f"must be of one of {', '.join(known)}"
                raise ArgumentError("--summary", rule, name)
            of_it = [result for result in results if result.attribute == name]
            for one in asked:
                if not any(one.applies_to(result.domain) for result in of_it):
                    _refuse(one, name)
        for one in self.common:
            if not any(one.applies_to(result.domain) for result in results):
                _refuse(one, ", ".join(known))


def _refuse(named: Named, attributes: str) -> None:
    rule = f"{named.code} needs an attribute whose values are numbers"
    raise ArgumentError("--summary", rule, attributes)


def show_summaries(
    result: Estimate,
    asked: Sequence[Named],
    level: float,
    target: str,
    kind: str | None = None,
) -> None:
    """Print a table of summaries of one estimate."""
    columns: dict[str, Side] = {"summary": "left", "estimate": "right"}
    columns[f"{100 * level:.4g} % interval"] = "right"
    cells = [
        [row["text"], *figures(row["estimate"], row["low"], row["high"], row["is_share"])]
        for row in summary_rows(result, asked, level, target, kind)
    ]
    people = (
        "the population that these people were drawn from"
        if target == "population"
        else "these respondents"
    )
    screen = console()
    reports = reports_of(result.n, result.data.simulated)
    screen.print(f"{result.attribute}: {reports}, {result.method}", style="bold")
    screen.print(table(columns, cells))
    screen.print(f"Each interval is for {people}, and for its number alone.\n")


def figures(estimate: float, low: float, high: float, is_share: bool) -> list[str]:
    """An estimate and its interval as two cells.

    >>> figures(0.25, 0.125, 0.5, True), figures(9.8612, 8.6, 12.4, False)
    (['0.2500', '0.1250 .. 0.5000'], ['9.861', '8.6 .. 12.4'])
    """
    if is_share:
        return [f"{estimate:.4f}", f"{low:.4f} .. {high:.4f}"]
    return [f"{estimate:.4g}", f"{low:.4g} .. {high:.4g}"]


# -----------------------------------------------------------------------------------------------
# The option --method.


method_option = click.option(
    "-m",
    "--method",
    "method_name",
    help=f"The estimator: {', '.join(METHODS)}. em takes a number of steps, auto or a start: "
    "em:100, em:auto, em:histogram. Default: the recommended one.",
)
