"""The command that regresses a hidden answer on public columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click

from warner import io as files
from warner._core.errors import ArgumentError
from warner._core.text import meant
from warner.app.commands.options import (
    Output,
    design_of,
    level,
    survey_design,
    table_of_rows,
    written,
)
from warner.app.what_files_hold import require_study, warn_of_simulation
from warner.mechanisms import Mechanism
from warner.regression.answer import regress as regress_answer
from warner.studies.study import Study

_SUM_OF_NAMES = re.compile(r"\s*\w+(\s*\+\s*\w+)*\s*")


@click.command()
@click.argument("reports", type=click.Path(dir_okay=False))
@click.argument("formula")
@click.option(
    "--study",
    type=click.Path(dir_okay=False),
    help="Refuse reports that were not made as this study file says. Its table [design] says how "
    "people were drawn.",
)
@click.option(
    "--mean",
    is_flag=True,
    help="Regress the mean of a number, by least squares. Default: the odds of each answer, by "
    "maximum likelihood.",
)
@click.option(
    "--reference",
    metavar="VALUE",
    help="The answer that odds are against. Default: the first one of the attribute.",
)
@click.option(
    "--errors",
    type=click.Choice(["observed", "sandwich"]),
    help="Standard errors from the observed information, the default, or from the sandwich "
    "formula, which holds also where the model is wrong. A survey design has its own errors.",
)
@survey_design
@level
@written
def regress(
    reports: str,
    formula: str,
    study: str | None,
    mean: bool,
    reference: str | None,
    errors: str | None,
    weights: str | None,
    cluster: str | None,
    strata: str | None,
    level: float,
    output: Output,
) -> None:
    """Regress the hidden answer to a question on public columns of a report file.

    REPORTS is a report file with public columns, which the study declares and nothing protects.
    FORMULA is ATTRIBUTE ~ COLUMN + COLUMN. ATTRIBUTE alone takes all public columns. Labels become
    a column for each value but the first of the alphabet, with which the others are compared.
    Products, powers and functions need the package formulaic (the extra 'formula').

    \b
        warner regress reports.parquet "smokes ~ hospital"
        warner regress reports.parquet "smokes ~ hospital + age:hospital" -o odds.csv
        warner regress reports.parquet "units ~ age" --mean

    Of a survey in clusters, from strata or with unequal weights, errors are from the sums over
    clusters. The columns that say so are no covariates, unless FORMULA names them.

    \b
        warner regress reports.parquet "smokes ~ age" --weights w --cluster school --strata region
    """
    output.check(reports, *([study] if study else []))
    opened = files.open_reports(reports)
    plan = None if study is None else Study.load(study)
    if plan is not None:
        require_study(opened, plan, together=False)
    design = design_of(weights, cluster, strata, plan)
    roles: dict[str, Any] = {} if design is None else design.roles
    if opened.simulation:
        warn_of_simulation(reports)
    name, _, right = (side.strip() for side in formula.partition("~"))
    public = files.read_public(reports)
    if not public:
        rule = "has no public columns"
        raise ArgumentError(reports, rule, None, "Declare them in the study: [public.NAME]")
    mechanisms = opened.mechanisms
    key, attribute = _holder(mechanisms, name)
    answers = files.read_reports(reports)[key]
    if design is not None:
        design.require_columns(public, reports)
    chosen, written_formula = _covariates(right, public)
    chosen |= {name: public[name] for name in roles.values()}
    named = [term.strip() for term in right.split("+")]
    if right and any(name in named for name in roles.values()):
        # A column of the design that the formula names is a covariate as well.
        written_formula = written_formula or right
    if mean:
        if reference is not None or errors is not None:
            rule = "do not go with --mean"
            raise ArgumentError("--reference and --errors", rule)
        result: Any = regress_answer(
            answers, chosen, written_formula, attribute=attribute, kind="mean", **roles
        )
    else:
        mechanism = mechanisms[key]
        domain = mechanism.attribute_domains[name] if attribute else mechanism.domain
        against = None if reference is None else _value(reference, domain.labels)
        result = regress_answer(
            answers, chosen, written_formula, against, errors, attribute, **roles
        )
    output.write(
        lambda: click.echo(f"{name}\n{result.table(level)}"),
        lambda: {"attribute": name, **result.to_json(level)},
        lambda: table_of_rows(result.rows(level), result.simulated),
    )


def _holder(mechanisms: Mapping[str, Mechanism], name: str) -> tuple[str, str | None]:
    """Which reports are about an attribute, and its name where they are of several."""
    if name in mechanisms:
        return name, None
    together = {key: list(each.attribute_domains) for key, each in mechanisms.items()}
    for key, inside in together.items():
        if name in inside:
            return key, name
    names = list(dict.fromkeys([*mechanisms, *(n for inside in together.values() for n in inside)]))
    rule = f"must begin with one of {', '.join(names)}"
    raise ArgumentError("FORMULA", rule, repr(name), meant(name, names) or "As in smokes ~ ward")


def _covariates(right: str, public: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The public columns on the right of a formula, and the formula where it is more than a sum."""
    if not right:
        return dict(public), None
    if not _SUM_OF_NAMES.fullmatch(right):
        return dict(public), right
    names = [term.strip() for term in right.split("+")]
    for name in names:
        if name not in public:
            rule = f"must name public columns, which are {', '.join(public)}"
            raise ArgumentError("FORMULA", rule, repr(name), meant(name, list(public)))
    return {name: public[name] for name in names}, None


def _value(text: str, labels: Any) -> Any:
    """The value of a domain that is written so."""
    return next((label for label in labels if str(label) == text), text)
