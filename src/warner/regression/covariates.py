"""Public covariates as the columns of a regression: frames, columns of text, formulas."""

from __future__ import annotations

import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from warner._core.checks import array_of, as_float, kind, same_length, unknown
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    WarnerError,
)
from warner._core.extras import not_installed
from warner._core.foreign_tables import categories_of
from warner._core.survey_design import are_numbers_of_people, code_of_missing
from warner._core.text import meant
from warner.channels import FloatArray

INTERCEPT = "Intercept"
_NAME = r"(?:[^\W\d]\w*|`[^`~]+`)"  # R's backticks stand around any other name
_SUM_OF_NAMES = re.compile(rf"\s*~?\s*{_NAME}(\s*\+\s*{_NAME})*\s*")
_SEVERAL_WORDS = re.compile(r"\w+(?:\s+\w+)+")
_WORDS = re.compile(r"`([^`~]+)`|(\w+)")
_MOST_CODES = 20  # different numbers written as text that may be codes of categories
_NUMBER_AND_UNIT = re.compile(
    r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*([^\d.,\s][^\d.,]*|)\s*"
)
_ABSENT = frozenset(["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "."])  # as programs write it
_NUMBER = re.compile(r"\s*[-+]?[0-9]+(?:[.,][0-9]+)?\s*")
_MISSING = "Leave these people out of both covariates and reports"
_MISSING_TEXT = f"{_MISSING}, or give them a category of their own, such as 'not known'"
_LARGEST = 1e100
_FEWEST_IDS = 10
_TOLERANCE = 1e-9  # of the largest singular value of columns of length 1

Column = np.ndarray  # float64 (n,), or strings (n,)


class Design(ABC):
    """How covariates become the columns of a regression, for these people and for others."""

    names: tuple[str, ...]  # (p,) of the columns, such as Intercept, age, ward[T.north]

    @property
    def baselines(self) -> Mapping[str, str]:
        """{column of text: the label that its others are compared with}, as far as it is stated."""
        return {}

    @abstractmethod
    def matrix(self, covariates: Any) -> FloatArray:
        """The columns (n, p) of some covariates."""


@dataclass(frozen=True)
class PlainDesign(Design):
    """An intercept, numbers as they are, and text as one column for each level but the first."""

    levels: Mapping[str, tuple[str, ...] | None]  # of columns, in order; None for numbers

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        names = [INTERCEPT]
        for name, levels in self.levels.items():
            names += [name] if levels is None else [f"{name}[T.{level}]" for level in levels[1:]]
        return tuple(names)

    @property
    def baselines(self) -> Mapping[str, str]:
        return {name: levels[0] for name, levels in self.levels.items() if levels}

    @classmethod
    def of(
        cls, columns: Mapping[str, Column], ordered: Mapping[str, tuple[str, ...]] | None = None
    ) -> PlainDesign:
        """The design of some columns, whose levels may have an order that is not alphabetical."""
        levels: dict[str, tuple[str, ...] | None] = {}
        for name, column in columns.items():
            different = np.unique(column)
            if len(different) < 2:
                rule = f"column {name!r} must not have the same value in all rows"
                remedy = "Leave out this column: the regression has an intercept already"
                raise ArgumentError("covariates", rule, None, remedy)
            if column.dtype.kind != "f" and len(different) == len(column) >= _FEWEST_IDS:
                raise _one_for_each(name)
            if column.dtype.kind != "f" and (unit := _unit_of(different)) is not None:
                text = f"with {unit!r} behind them" if unit else "that are written as text"
                rule = f"column {name!r} holds numbers {text}"
                raise ArgumentError("covariates", rule, None, "Convert the column to numbers alone")
            levels[name] = None if column.dtype.kind == "f" else tuple(different.tolist())
        return cls({name: (ordered or {}).get(name, each) for name, each in levels.items()})

    def matrix(self, covariates: Any) -> FloatArray:
        codes = [n for n, of in self.levels.items() if of and all(map(str.isdecimal, of))]
        columns = with_codes_as_labels(columns_of(covariates, self.levels), codes)
        made: list[np.ndarray] = []
        for name, levels in self.levels.items():
            column = _column(columns, name)
            if (column.dtype.kind == "f") != (levels is None):
                expected = "numbers" if levels is None else "text"
                rule = f"column {name!r} must hold {expected}, as in the regression"
                raise ArgumentError("covariates", rule, None, f"Convert {name!r} to {expected}")
            if levels is None:
                made.append(column)
                continue
            unseen = column[~np.isin(column, levels)]
            if unseen.size:
                rule = f"column {name!r} must hold only values that were in the regression"
                remedy = "Leave out the rows with this value"
                raise ArgumentError("covariates", rule, repr(str(unseen[0])), remedy)
            made += [(column == level).astype(np.float64) for level in levels[1:]]
        length = len(next(iter(columns.values())))
        return np.stack([np.ones(length), *made], axis=1)


@dataclass(frozen=True)
class FormulaDesign(Design):
    """The columns of a formula, as the library formulaic makes them by its model specification."""

    spec: Any

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(str(name) for name in self.spec.column_names)

    @property
    def baselines(self) -> Mapping[str, str]:
        baselines: dict[str, str] = {}
        for factor, (_, state) in self.spec.encoder_state.items():
            levels = [str(level) for level in state.get("categories", ())]
            rest = [level for level in levels if f"{factor}[T.{level}]" not in self.names]
            if len(rest) == 1 < len(levels):  # else the factor has no columns of its own
                baselines[str(factor)] = rest[0]
        return baselines

    @classmethod
    def of(
        cls,
        formula: str,
        columns: Mapping[str, Column],
        ordered: Mapping[str, tuple[str, ...]] | None = None,
    ) -> FormulaDesign:
        """The design of a formula, in which levels may have an order that is not alphabetical."""
        _refuse_bare_names(formula, columns)
        _refuse_powers(formula)
        _refuse_bars(formula)
        left, _, right = formula.partition("~")
        if right and left.strip():
            rule = "must have no left side, because the outcome is always the hidden answer"
            raise ArgumentError("formula", rule, repr(formula), f"Write {right.strip()!r}")
        try:
            import formulaic
        except ImportError:
            raise not_installed("formulaic", "this formula", _without_package(formula)) from None
        problem, remedy = "cannot be read", _remedy_of(formula, columns)
        try:
            parsed = formulaic.Formula(formula)
            problem = "does not fit the covariates"
            return cls(_made(parsed, columns, ordered).model_spec)
        # formulaic evaluates the terms, which may raise anything, with values of covariates in it.
        except Exception:
            pass
        absent = _no_column(formula, columns)
        if absent is not None and problem != "cannot be read":
            problem = f"{problem}, which have no column {absent!r}"
            remedy = meant(absent, columns) or remedy
        raise ArgumentError("formula", problem, repr(formula), remedy)

    def matrix(self, covariates: Any) -> FloatArray:
        columns = columns_of(covariates, self.spec.required_variables)
        try:
            made = np.asarray(_made(self.spec, columns), dtype=np.float64)
            if np.isfinite(made).all() and len(made) == len(next(iter(columns.values()))):
                return made
        except Exception:
            pass
        rule = "must have the columns and values of the regression, and finite numbers in every row"
        raise ArgumentError("covariates", rule)


# How R and Stata choose the label to compare with: relevel(ward, ref = "A"), ib2.ward.
_RELEVELLED = re.compile(
    r"(?:relevel|factor)\(\s*`?(\w+)(?:[^)]*?ref\s*=\s*['\"]([^'\"]+))?|\bi[bn0-9]*[.](\w+)"
)


_POWER = re.compile(r"(\w+|`[^`]+`)\s*(?:\^|\*\*)\s*(\d+)")


def _refuse_bars(formula: str) -> None:
    """Refuse random intercepts as R writes them, such as (1 | school).

    >>> _refuse_bars("age + `a | b` + {age | 1}")
    """
    bare = re.sub(r"`[^`]*`|\{[^}]*\}", "", formula)
    if (bar := re.search(r"\|\s*(\w+)", bare)) is not None:
        remedy = (
            f"For groups whose people are alike, pass random={bar[1]!r} (in a command --random)"
        )
        raise ArgumentError("formula", "cannot have |", repr(formula), remedy)


def _refuse_powers(formula: str) -> None:
    """Refuse a power of one column that is the column alone, or that is written as in R.

    >>> _refuse_powers("ward + I(age**2) + (ward + age)^2")
    """
    if (power := re.search(r"\bI\(\s*(\w+|`[^`]+`)\s*\^\s*(\d+)\s*\)", formula)) is not None:
        rule = "has ^ inside I(...), where a power is written with **"
        raise ArgumentError("formula", rule, repr(power[0]), f"Write I({power[1]}**{power[2]})")
    outside = formula
    while (inner := re.sub(r"\w*\([^()]*\)", "", outside)) != outside:
        outside = inner
    if (power := _POWER.search(outside)) is not None:
        rule = "has a power outside I(...), where a power means the column itself"
        remedy = f"Write I({power[1]}**{power[2]})"
        raise ArgumentError("formula", rule, repr(power[0]), remedy)


def _without_package(formula: str) -> str:
    """What to write in place of a sum in which numbers are codes; "" of other formulas.

    >>> _without_package("C(ward) + age"), _without_package("ward * age")
    (". Or write 'ward + age', and --reference ward=VALUE or baselines={'ward': VALUE}", '')
    """
    coded = re.search(r"\bC\((\w+)\)", formula)
    plain = re.sub(r"\bC\((\w+)\)", r"\1", formula)
    if coded is None or names_of_sum(plain) is None:
        return ""
    name = coded[1]
    return f". Or write {plain!r}, and --reference {name}=VALUE or baselines={{{name!r}: VALUE}}"


def _remedy_of(formula: str, columns: Iterable[str]) -> str:
    """What to write instead of a formula that cannot be read.

    >>> _remedy_of("log(aeg)", ["age", "ward"])
    "For example 'age + ward'"
    >>> _remedy_of("age + relevel(ward, ref='A')", ["age", "ward"])
    "Write ward alone. To compare with the label A, add --reference ward=A, or in Python pass \
baselines={'ward': 'A'}"
    """
    relevelled = _RELEVELLED.search(formula)
    if relevelled is None:
        return f"For example '{' + '.join(map(in_formula, list(columns)[:2]))}'"
    name, label = relevelled[1] or relevelled[3], relevelled[2] or "VALUE"
    return (
        f"Write {name} alone. To compare with the label {label}, add --reference {name}={label}, "
        f"or in Python pass baselines={{{name!r}: {label!r}}}"
    )


def _no_column(formula: str, columns: Iterable[str]) -> str | None:
    """The first name in a formula that is no column, no function and no name of an argument.

    >>> _no_column("np.log(age) + C(ward, base='a') + I(wrad)", ["age", "ward"])
    'wrad'
    """
    bare = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "", formula)
    names = re.findall(r"(?<![\w.])[^\W\d]\w*\b(?!\s*(?:[(.]|=[^=]))", bare)
    return next((name for name in names if name not in {*columns, "True", "False"}), None)


def _made(
    spec: Any,
    columns: Mapping[str, Column],
    ordered: Mapping[str, tuple[str, ...]] | None = None,
) -> Any:
    """The model matrix of a formula or a specification. Names of the caller are not seen."""
    import pandas

    frame = pandas.DataFrame(dict(columns))
    for name, levels in (ordered or {}).items():
        if name in columns:  # an outcome beside a hidden answer is not
            frame[name] = pandas.Categorical(frame[name], categories=list(levels))
    return spec.get_model_matrix(frame, context={}, na_action="raise")


def design_of(
    columns: Mapping[str, Column],
    formula: str | None,
    ordered: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Design, FloatArray]:
    """The design of some columns, by formulaic unless a sum of names, and its columns (n, p)."""
    design: Design
    if formula is None:
        design = PlainDesign.of(columns, ordered)
    elif not isinstance(formula, str):
        rule, remedy = "must be text such as 'age + ward'", "The covariates come before the formula"
        raise ArgumentTypeError("formula", rule, kind(formula), remedy)
    elif (names := names_of_sum(formula)) is not None:
        for name in names:
            if name not in columns:
                _refuse_bare_names(formula, columns)
                raise unknown("name in the formula", name, columns, "the columns")
        design = PlainDesign.of({name: columns[name] for name in names}, ordered)
    else:
        design = FormulaDesign.of(formula, columns, ordered)
    return design, design.matrix(columns)


def levels_stated(covariates: Any, columns: Mapping[str, Column]) -> dict[str, tuple[str, ...]]:
    """{column: its levels}, in the order of the categories of covariates that have one."""
    if isinstance(covariates, np.ndarray | list | tuple):
        return {}
    is_mapping = isinstance(covariates, Mapping)
    table: Any = covariates if is_mapping else _frame(covariates)
    ordered = {}
    for name in table if is_mapping else table.columns:
        column = columns.get(str(name))
        stated = table[name] if is_mapping else table[name].to_native()
        if column is not None and column.dtype.kind != "f" and (labels := categories_of(stated)):
            present = set(np.unique(column).tolist())
            ordered[str(name)] = tuple(str(label) for label in labels if str(label) in present)
    return ordered


def levels_from(
    columns: Mapping[str, Column],
    baselines: Mapping[str, Any],
    stated: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    """{column: its levels}, the baseline first, then in the order stated or of the alphabet."""
    ordered = dict(stated)
    for name, level in baselines.items():
        if name not in columns:
            raise unknown("baselines", name, columns, "the columns")
        column, argument = columns[name], f"baseline of {name!r}"
        if column.dtype.kind == "f":
            rule = (
                "cannot be chosen, because this column has numbers with decimals, or more than "
                f"{_MOST_CODES} different numbers"
            )
            raise ArgumentError(argument, rule, None, "Leave out this baseline")
        others = list(stated.get(name, np.unique(column).tolist()))
        if name not in stated and all(map(str.isdecimal, others)):
            others.sort(key=int)
        written = f"{level:.15g}" if isinstance(level, float) else str(level)
        if written not in others:
            raise unknown(argument, level, others)
        others.remove(written)
        ordered[name] = written, *others
    return ordered


def are_codes(column: Column) -> bool:
    """Whether numbers are few whole ones, so that they may be codes of categories."""
    if not len(column):
        return False
    different = np.unique(column)
    is_whole = column.dtype.kind == "f" and bool((different == np.floor(different)).all())
    return is_whole and len(different) <= _MOST_CODES and different[0] >= 0


def with_codes_as_labels(columns: Mapping[str, Column], names: Iterable[str]) -> dict[str, Column]:
    """The columns, of which some hold their codes as text.

    >>> with_codes_as_labels({"ward": np.array([1.0, 12.0])}, ["ward"])["ward"].tolist()
    ['1', '12']
    """
    chosen = [name for name in names if name in columns and are_codes(columns[name])]
    return {**columns, **{n: columns[n].astype(np.int64).astype(str) for n in chosen}}


def words_of(formula: str) -> list[str]:
    """The names and numbers in a formula, without backticks.

    >>> words_of("age*`age group` + I(x)")
    ['age', 'age group', 'I', 'x']
    """
    return [quoted or word for quoted, word in _WORDS.findall(formula)]


def in_formula(name: str) -> str:
    """A name as a formula has it, with backticks where it needs them.

    >>> in_formula("age"), in_formula("age group")
    ('age', '`age group`')
    """
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def doubts_of_columns(columns: Mapping[str, Column], names: Iterable[str]) -> tuple[str, ...]:
    """What readers have to know of columns of numbers that seem to hold codes such as 999."""
    used = [name for name in dict.fromkeys(names) if name in columns]
    codes = [code_of_missing(n, columns[n]) for n in used if columns[n].dtype.kind == "f"]
    return tuple(
        f"WARNING: {code}. If this number stands for a missing value, all coefficients are wrong: "
        "leave out the people with this number."
        for code in codes
        if code
    )


def names_bare(formula: str, columns: Iterable[str]) -> list[str]:
    """The columns that a formula names without the backticks that they need.

    >>> names_bare("age group + `ward no` + a-b", ["age group", "ward no", "a", "b", "a-b"])
    ['age group']
    """
    bare = re.sub(r"`[^`]*`", "``", formula)
    return [
        name
        for name in columns
        if in_formula(name) != name
        and (_SEVERAL_WORDS.fullmatch(name) or not set(words_of(name)) <= set(columns))
        and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", bare)
    ]


def with_backticks(formula: str, columns: Iterable[str]) -> str:
    """The formula with the backticks that names of columns need and that nobody wrote.

    Names that may also be computed, such as a-b where there is a column a, stay as they are.

    >>> with_backticks("ever lied ~ age group + a-b", ["ever lied", "age", "age group", "a", "a-b"])
    '`ever lied` ~ `age group` + a-b'
    """
    names = [
        name
        for name in names_bare(formula, columns)
        if _SEVERAL_WORDS.fullmatch(name) or set(words_of(name)).isdisjoint(columns)
    ]
    for name in sorted(names, key=len, reverse=True):
        bare, quoted = rf"(?<!\w){re.escape(name)}(?!\w)", in_formula(name).replace("\\", r"\\")
        pieces = re.split("(`[^`]*`)", formula)
        pieces[::2] = [re.sub(bare, quoted, piece) for piece in pieces[::2]]
        formula = "".join(pieces)
    return formula


def _refuse_bare_names(formula: str, columns: Iterable[str]) -> None:
    """Say which name of a formula needs backticks: no library reads it without them."""
    if names := names_bare(formula, columns):
        rule = f"must have backticks around {names[0]!r}"
        remedy = f"Write {in_formula(names[0])}, and in a shell put the formula in single quotes"
        raise ArgumentError("formula", rule, repr(formula), remedy)


def refuse_numbers_of_people(columns: Mapping[str, Any]) -> None:
    """Refuse a column that has each number of a run of whole numbers once, as ids have them."""
    for name, values in columns.items():
        column = np.asarray(values)
        if column.dtype.kind in "iuf" and are_numbers_of_people(column):
            raise _one_for_each(name)


def _one_for_each(name: str) -> ArgumentError:
    rule = f"column {name!r} has a different value for every person, as an identity number has"
    remedy = f"Leave out {name!r}: name the other columns, such as 'age + ward'"
    return ArgumentError("covariates", rule, None, remedy)


def names_of_sum(formula: Any) -> list[str] | None:
    """The names in a sum of names, of which "1" has none; None for every other formula.

    >>> names_of_sum("age + ward"), names_of_sum("1"), names_of_sum("age:ward")
    (['age', 'ward'], [], None)
    >>> names_of_sum("`age group` + ward")
    ['age group', 'ward']
    """
    if not isinstance(formula, str):
        return None
    if formula.strip() == "1":
        return []
    if not _SUM_OF_NAMES.fullmatch(formula):
        return None
    return [name.strip("`") for name in re.findall(_NAME, formula)]


def check_independent(names: tuple[str, ...], triangle: FloatArray) -> None:
    """Refuse columns (p,), of triangle R (r, p), of which some are sums of multiples of others."""
    lengths = np.sqrt((triangle**2).sum(axis=0))
    scaled = triangle / np.where(lengths > 0, lengths, 1.0)
    _, values, directions = np.linalg.svd(scaled, full_matrices=True)
    values = np.concatenate([values, np.zeros(len(names) - len(values))])
    null = directions[values <= _TOLERANCE * max(float(values[0]), 1e-300)]
    if not len(null):
        return
    largest = np.abs(null).max(axis=0)
    concerned = [name for name, size in zip(names, largest, strict=True) if size > 1e-6]
    listed = ", ".join(repr(name) for name in concerned[:8]) + ", ..." * (len(concerned) > 8)
    rule = f"columns {listed} are collinear: one of them can be computed from the others"
    raise ArgumentError("covariates", rule, None, "Leave out one of these columns")


def columns_of(covariates: Any, used: Container[str] | None = None) -> dict[str, Column]:
    """The columns (n,) of covariates: float64 or text; if not ``used``, only where they are so."""
    if isinstance(covariates, np.ndarray | list | tuple):
        columns = _of_array(covariates)
    else:
        is_mapping = isinstance(covariates, Mapping)
        table, check = (covariates, _checked) if is_mapping else (_frame(covariates), _of_frame)
        columns, unusable = {}, None
        for name in table if is_mapping else table.columns:
            try:
                columns[str(name)] = check(str(name), table[name])
            except WarnerError as error:
                unusable = unusable or error
                if used is None or name in used:
                    raise
        if not columns and unusable is not None:
            raise unusable
    if not columns:
        remedy = "For a regression without covariates, the formula is 1, as in 'smokes ~ 1'"
        raise ArgumentError("covariates", "must have at least one column", None, remedy)
    same_length("covariates", columns)
    return columns


def _of_array(values: Any) -> dict[str, Column]:
    """The columns of an array, x1 .. xp."""
    array = array_of(values)
    if np.ma.is_masked(values):
        raise ArgumentError("covariates", "must have no masked (missing) entries", None, _MISSING)
    if array.ndim not in (1, 2):
        rule = "must be a data frame, a dict of columns, or an array with a row for each person"
        raise ArgumentTypeError("covariates", rule, f"shape {array.shape}")
    table = array[:, None] if array.ndim == 1 else array
    return {f"x{i + 1}": _checked(f"x{i + 1}", column) for i, column in enumerate(table.T)}


def _frame(data: Any) -> Any:
    """A frame, as Narwhals has it."""
    import narwhals.stable.v2 as nw

    try:
        return nw.from_native(data).lazy().collect()
    except TypeError:
        rule = "must be a data frame, a dict of columns, or an array with a row for each person"
        remedy = "For one column write {'age': column}"
        raise ArgumentTypeError("covariates", rule, kind(data), remedy) from None


def _of_frame(name: str, series: Any) -> Column:
    """One column of a frame, as :func:`_checked` gives it."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    has_numbers = dtype.is_numeric() or dtype == nw.Boolean
    if missing := int(series.null_count()):
        remedy = _MISSING if has_numbers else _MISSING_TEXT
        raise _without_values(name, missing, len(series), remedy)
    if has_numbers:
        return _checked(name, series.cast(nw.Float64).to_numpy())
    is_text = dtype in (nw.String, nw.Categorical, nw.Enum)
    return _checked(name, (series.cast(nw.String) if is_text else series).to_list())


def _checked(name: str, values: Any) -> Column:
    """One column as float64 or text, without missing and infinite values."""
    array = array_of(values)
    if np.ma.is_masked(values):
        rule = f"column {name!r} must have no masked (missing) entries"
        remedy = _MISSING if array.dtype.kind in "biuf" else _MISSING_TEXT
        raise ArgumentError("covariates", rule, None, remedy)
    if array.ndim != 1:
        rule = f"column {name!r} must be a list with one value for each person"
        remedy = "Give the columns of a table one by one, each with its own name"
        raise ArgumentError("covariates", rule, None, remedy)
    if array.dtype.kind in "OU":
        array = _of_objects(name, array.astype(object))
    elif array.dtype.kind not in "biuf":
        raise _neither(name)
    if array.dtype.kind == "U":
        return array
    column = array.astype(np.float64)
    if missing := int(np.isnan(column).sum()):
        raise _without_values(name, missing, len(column), _MISSING)
    if infinite := int(np.isinf(column).sum()):
        rule = f"column {name!r} must hold finite numbers"
        got = f"infinity in {infinite} of {len(column)} rows"
        raise ArgumentError("covariates", rule, got, "Correct or leave out these rows")
    largest = float(np.abs(column).max(initial=0.0))
    if largest and not 1 / _LARGEST <= largest <= _LARGEST:
        # Squares of such numbers are infinite, or 0.
        rule = f"column {name!r} must hold numbers whose largest is between 1e-100 and 1e100"
        raise ArgumentError(
            "covariates", rule, f"{largest:.3g}", "Write the column in another unit"
        )
    return column


def _of_objects(name: str, array: np.ndarray) -> np.ndarray:
    """A column of Python objects as numbers or as text."""
    missing = [
        value is None or value != value or (isinstance(value, str) and value.strip() in _ABSENT)
        for value in array
    ]
    if any(missing):
        has_text = any(isinstance(v, str) for v, no in zip(array, missing, strict=True) if not no)
        remedy = _MISSING_TEXT if has_text else _MISSING
        raise _without_values(name, sum(missing), len(array), remedy)
    if all(isinstance(value, str) for value in array):
        with_comma = [value for value in array if "," in value]
        if with_comma and all(map(_NUMBER.fullmatch, array)):
            rule = f"column {name!r} must hold numbers with a decimal point"
            got = f"{len(with_comma):,} of {len(array):,} entries with a decimal comma"
            raise ArgumentError("covariates", rule, got, "Write for example 3.5")
        return array.astype(str)
    if all(isinstance(value, numbers.Real | bool | np.bool_) for value in array):
        return np.array([as_float(value) for value in array])
    raise _neither(name)


def _without_values(name: str, missing: int, rows: int, remedy: str) -> WarnerError:
    rule = f"column {name!r} must have a value in every row"
    got = f"none in {missing} of {rows} rows"
    return ArgumentError("covariates", rule, got, remedy)


def _neither(name: str) -> WarnerError:
    rule = f"column {name!r} must hold numbers or text"
    return ArgumentTypeError(
        "covariates", rule, None, "Convert the column, for example dates to numbers of days"
    )


def _column(columns: Mapping[str, Column], name: str) -> Column:
    """A column by its name."""
    if name not in columns:
        raise ArgumentError("covariates", f"must have the column {name!r}, as in the regression")
    return columns[name]


def _unit_of(texts: np.ndarray) -> str | None:
    """What stands behind the number of each text; None where not all are numbers of one unit.

    A few numbers may be codes of categories.

    >>> ages = np.array([str(age) for age in range(18, 80)])
    >>> _unit_of(ages), _unit_of(np.char.add(ages, " years")), _unit_of(ages[:5])
    ('', 'years', None)
    """
    if len(texts) <= _MOST_CODES:
        return None
    matches = [_NUMBER_AND_UNIT.fullmatch(text) for text in texts]
    units = {match and match[1] for match in matches}
    return units.pop() if len(units) == 1 else None
