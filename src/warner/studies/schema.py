"""What a study file may hold: its tables and keys as data, and the check of a file against them."""

from __future__ import annotations

import copy
import operator
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import GenericAlias
from typing import Any, Literal, Union, get_args, get_origin

from warner._core.checks import show
from warner._core.errors import message
from warner._core.text import meant, nearest, unreadable
from warner.domains import Domain, StudyEntry, domain_classes
from warner.mechanisms import MECHANISMS as _ALL, Mechanism
from warner.mechanisms.headers import LARGEST_PARTS
from warner.studies.problems import Path, Problem, ProblemLog, in_words, question_at


class _OfStudies(Mapping[str, type[Mechanism]]):
    """The mechanisms that a study file can name, with those that were registered since."""

    def __getitem__(self, name: str) -> type[Mechanism]:
        if not _ALL[name].is_of_studies:
            raise KeyError(name)
        return _ALL[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, cls in _ALL.items() if cls.is_of_studies)

    def __len__(self) -> int:
        return sum(1 for _ in self)


MECHANISMS = _OfStudies()
# The domains that a study file can state, by the key that states them.
ENTRIES: dict[str, StudyEntry] = {cls.study.key: cls.study for cls in domain_classes() if cls.study}
BY_KEY: dict[str, type[Domain]] = {cls.study.key: cls for cls in domain_classes() if cls.study}

# What stands in a first study in place of labels or limits that nobody has stated yet.
TO_DECIDE = "TO DECIDE"
UNDECIDED = "is still to be decided"

_SURROGATES = re.compile("[\ud800-\udfff]")
_TYPES = {str: "text in quotes", int: "a whole number", float: "a number", bool: "true or false"}
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
# The limits of a number: how it is compared, in words, and in a JSON schema.
_LIMITS: dict[str, tuple[Any, str, str]] = {
    "ge": (operator.ge, "must be at least", "minimum"),
    "gt": (operator.gt, "must be above", "exclusiveMinimum"),
    "le": (operator.le, "must be at most", "maximum"),
    "lt": (operator.lt, "must be below", "exclusiveMaximum"),
}
_TABLES_OF_DOMAINS = ("attributes", "public")


@dataclass(frozen=True)
class Key:
    """One key of a table."""

    # What its value must be: a :class:`Table`, or a type made of str, int, float, bool, datetime,
    # Literal, list, tuple, dict and unions. A date is checked elsewhere, because TOML has other
    # kinds of dates too, and JSON has texts.
    form: Any
    description: str = ""  # one line for the JSON schema
    is_needed: bool = False  # whether the key must be stated
    default: Any = None  # its value where it is left out; None for none
    entries: int = 0  # the least number of entries of a list or a table
    limits: Mapping[str, float] = field(default_factory=dict)  # {"ge", "gt", "le" or "lt": number}


@dataclass(frozen=True)
class Table:
    """One kind of table."""

    name: str  # of the table in the JSON schema
    keys: Mapping[str, Key]  # its keys
    header: str = ""  # where it stands in a file, in words; "" for the table of a domain
    # Whether further keys are options of a mechanism, which its constructor checks.
    is_open: bool = False
    one_of: tuple[str, ...] = ()  # keys of which exactly one must be stated
    example: str = ""  # one of these, written in a file, where no domain is stated by them

    def options(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The further keys of a table."""
        return {key: value for key, value in table.items() if key not in self.keys}

    def checked(self, table: Any, path: Path, log: ProblemLog) -> dict[str, Any]:
        """A table with its defaults, its keys in the order of the schema; nothing that is None."""
        if not isinstance(table, Mapping):
            log.keep([_problem(path, "must be a table", table)])
            return {}
        lacking = [key for key, of in self.keys.items() if of.is_needed and key not in table]
        for key in table:
            if not isinstance(key, str) or (key not in self.keys and not self.is_open):
                # A misspelt key and the lack of the right one are one mistake.
                near = nearest(str(key), lacking)
                if "attributes" in lacking and question_at(str(key), table[key]) is not None:
                    near = "attributes"
                if near is not None:
                    lacking.remove(near)
                log.keep([_unknown_key((*path, str(key)), near, table[key])])
        log.keep(_problem((*path, key), "is missing") for key in lacking)
        stated: dict[str, Any] = {}
        for key, of in self.keys.items():
            value = table.get(key)
            if value is not None or (of.is_needed and key in table):
                stated[key] = _checked_value(of, value, (*path, key), log)
            elif of.default is not None:
                stated[key] = copy.deepcopy(of.default)
        others = {key: v for key, v in self.options(table).items() if v is not None}
        # Where a key is unknown, it may be a misspelt one of these, which is said already.
        is_clear = self.is_open or not others
        if self.one_of and is_clear and sum(key in stated for key in self.one_of) != 1:
            log.keep([self._no_single_form(table, path)])
        return stated | copy.deepcopy(others)

    def _no_single_form(self, table: Mapping[str, Any], path: Path) -> Problem:
        """The problem of a table that has none of the keys of which it needs one, or several."""
        rule = f"must have exactly one of the keys {', '.join(self.one_of)}"
        stated = [key for key in self.one_of if key in table]
        if stated:
            text = message(in_words(path), rule, " and ".join(stated), "Keep one of them")
            return Problem((*path, stated[-1] if len(stated) < 2 else stated[1]), text)
        near = next((key for key in table if meant(str(key), self.one_of)), None)
        if near is not None:
            question = f"Is {near!r} a misspelt key?"
            return Problem((*path, near), message(in_words(path), rule, None, question))
        examples = [e.example for key, e in ENTRIES.items() if key in self.one_of and e.example]
        remedy = f"For example {' or '.join(examples[:3]) or self.example}"
        return Problem(path, message(in_words(path), rule, None, remedy))

    def json(self, tables: dict[str, Any]) -> dict[str, Any]:
        """The JSON schema of the table; those of the tables in it are added to ``tables``."""
        needed = [key for key, of in self.keys.items() if of.is_needed]
        return {
            "title": self.name,
            "type": "object",
            "properties": {key: _json_of_key(of, tables) for key, of in self.keys.items()},
            **({"required": needed} if needed else {}),
            "additionalProperties": self.is_open,
        }


# -----------------------------------------------------------------------------------------------
# The check of one value.


def _checked_value(key: Key, value: Any, path: Path, log: ProblemLog) -> Any:
    """The value of a key, with the problems of its type, its length and its limits."""
    before = len(log.problems)
    checked = _checked(key.form, value, path, log)
    if len(log.problems) == before:
        if key.entries and len(checked) < key.entries:
            log.keep([_problem(path, f"must have {key.entries} or more entries", len(checked))])
        for name, limit in key.limits.items():
            holds, words, _ = _LIMITS[name]
            if not holds(value, limit):
                log.keep([_problem(path, f"{words} {limit}", value)])
    return checked


def _checked(form: Any, value: Any, path: Path, log: ProblemLog) -> Any:
    """A value that must have a form, see :class:`Key`; never converted, but copied."""
    if isinstance(form, Table):
        return form.checked(value, path, log)
    origin, of = get_origin(form), get_args(form)
    if origin in (Union, types.UnionType):
        return _checked_union(of, value, path, log)
    if origin is dict:
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    log.keep([_problem((*path, str(key)), "must have text as its name", key)])
            return {key: _checked(of[1], v, (*path, key), log) for key, v in value.items()}
        rule = "must be a table"
    elif origin in (list, tuple):
        if isinstance(value, list | tuple):
            forms = of if origin is tuple else of * len(value)
            if len(value) == len(forms):
                pairs = enumerate(zip(forms, value, strict=True))
                return origin(_checked(each, v, (*path, i), log) for i, (each, v) in pairs)
            side = "at most " if len(value) > len(forms) else ""
            rule = f"must have {side}{len(forms)}{'' if side else ' or more'} entries"
        else:
            rule = "must be a list"
    elif origin is Literal:
        if any(value == each and type(value) is type(each) for each in of):
            return value
        *others, last = map(repr, of)
        rule = f"must be {', '.join(others)} or {last}"
    else:
        if form is datetime or _is_of(form, value):
            return value
        rule = f"must be {_TYPES[form]}"
    log.keep([_problem(path, rule, value)])
    return value


def _checked_union(forms: tuple[Any, ...], value: Any, path: Path, log: ProblemLog) -> Any:
    """A value of one of several forms: one simple type or another, or a table."""
    simple = [form for form in forms if form in _TYPES]
    tables = [form for form in forms if form not in _TYPES]
    if tables and isinstance(value, Mapping):
        return _checked(tables[0], value, path, log)
    if not any(_is_of(form, value) for form in simple):
        rule = f"must be {' or '.join(_TYPES[form] for form in simple)}"
        log.keep([_problem(path, rule, value)])
    return value


def _is_of(form: type, value: Any) -> bool:
    """Whether a value is of a simple type; a whole number is a number, a truth value is none."""
    if isinstance(value, bool):
        return form is bool
    if form is str:  # text that no file can hold is none
        return isinstance(value, str) and not _SURROGATES.search(value)
    return isinstance(value, int | float if form is float else form)


def _problem(path: Path, rule: str, value: Any = None) -> Problem:
    """The problem of one value; the remedy shows how a domain is written."""
    entry = ENTRIES.get(str(path[2])) if len(path) > 2 and path[0] in _TABLES_OF_DOMAINS else None
    remedy = f"Write for example {entry.example}" if entry is not None and entry.example else None
    if isinstance(value, str) and value == TO_DECIDE:
        return Problem(path, message(in_words(path), UNDECIDED, None, remedy))
    if isinstance(value, str) and (surrogate := _SURROGATES.search(value)) is not None:
        rule = f"must not contain {unreadable(surrogate[0])}"
    got = None if rule == "is missing" else show(value)
    return Problem(path, message(in_words(path), rule, got, remedy))


_OTHER_NAMES = {"texts": "answers"}  # of keys, which spelling does not show
_LIMITS_OF_DATES = ("from", "to", "start", "stop", "end", "first", "last", "min", "max")


def _unknown_key(path: Path, near: str | None, value: Any = None) -> Problem:
    """A key that does not belong to its table, with the one that is meant, or its own table."""
    key, rule = str(path[-1]), "is not a key of a study file"
    of_study = nearest(key, STUDY.keys) in (None, "attributes")
    if len(path) == 1 and of_study and (name := question_at(key, value)) is not None:
        remedy = f"For a question, write [attributes.{name}]"
        return Problem(path, message(in_words(path), rule, None, remedy))
    if len(path) == 1 and isinstance(value, Mapping) and (of_top := value.keys() & {*STUDY.keys}):
        remedy = f"Write {', '.join(sorted(of_top))} at the top of the file, without [{key}]"
        return Problem(path, message(in_words(path), rule, None, remedy))
    owners = owners_of_keys()
    if key in _OTHER_NAMES:
        remedy = f"Is {_OTHER_NAMES[key]!r} meant?"
    elif path[0] == "public" and key in _LIMITS_OF_DATES:
        dates = f"{path[1]}=2026-12-01..2026-12-28"
        remedy = (
            f"Remove {key!r}: a public column takes all dates. To refuse reports of other dates, "
            f"write for example warner tally --expect-groups {dates}"
        )
    elif near is not None or key not in owners:
        written = [name for name, headers in owners.items() if headers]
        remedy = meant(key, [near] if near else sorted(written)) or "Remove it"
    else:
        rule = "is not a key of this table"
        remedy = f"It belongs in {' or '.join(owners[key])}" if owners[key] else "Remove it"
    return Problem(path, message(in_words(path), rule, None, remedy))


def owners_of_keys() -> dict[str, list[str]]:
    """{key: where it stands in a study file, in words}; an empty list for the key of a domain."""
    owners: dict[str, list[str]] = {}
    tables = (STUDY, ATTRIBUTE, ASK, REPEAT, COLLECT, GROUP, JOINT, PUBLIC, CHANGE, *_DOMAIN_TABLES)
    for table in tables:
        for name in table.keys:
            owners.setdefault(name, []).extend(filter(None, [table.header]))
    return owners


# -----------------------------------------------------------------------------------------------
# The JSON schema, which editors of study files read.


def json_schema() -> dict[str, Any]:
    """The JSON schema of study files."""
    tables: dict[str, Any] = {}
    return {**STUDY.json(tables), "$defs": tables}


def _json_of_key(key: Key, tables: dict[str, Any]) -> dict[str, Any]:
    schema = _json(key.form, tables)
    if key.entries:
        schema["minItems" if schema["type"] == "array" else "minProperties"] = key.entries
    schema |= {_LIMITS[name][2]: limit for name, limit in key.limits.items()}
    if key.default is not None:
        schema["default"] = key.default
    if key.description:
        schema["description"] = key.description.format(mechanisms=", ".join(MECHANISMS))
    return schema


def _json(form: Any, tables: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a form."""
    if isinstance(form, Table):
        tables[form.name] = form.json(tables)
        return {"$ref": f"#/$defs/{form.name}"}
    origin, of = get_origin(form), get_args(form)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_json(each, tables) for each in of]}
    if origin is dict:
        return {"type": "object", "additionalProperties": _json(of[1], tables)}
    if origin is tuple:
        each = [_json(one, tables) for one in of]
        return {"type": "array", "prefixItems": each, "minItems": len(of), "maxItems": len(of)}
    if origin is list:
        return {"type": "array", "items": _json(of[0], tables)}
    if origin is Literal:
        types_of = {type(each) for each in of}
        kind_of_all = {"type": _JSON_TYPES[types_of.pop()]} if len(types_of) == 1 else {}
        return {**kind_of_all, "enum": list(of)}
    if form is datetime:
        return {"type": "string", "format": "date-time"}
    return {"type": _JSON_TYPES[form]}


# -----------------------------------------------------------------------------------------------
# The tables of a study file.


def _of_entry(entry: StudyEntry) -> Key:
    """The key of a domain; its value may be a table."""
    form = entry.form
    if isinstance(form, Mapping):
        fields = {
            name: Key(of, is_needed=default is ..., default=None if default is ... else default)
            for name, (of, default) in form.items()
        }
        form = Table(f"{entry.key.title()}Spec", fields)
    return Key(form, entry.description)


def _text(description: str) -> Key:
    """A text that people read."""
    return Key(str | dict[str, str], f"{description}; one text, or one for each language")


_LABELS = list[str | int | bool]
_DOMAIN_KEYS = {key: _of_entry(entry) for key, entry in ENTRIES.items()}
_DOMAIN_TABLES = [key.form for key in _DOMAIN_KEYS.values() if isinstance(key.form, Table)]
SHOWN = {
    "label": _text("the text of the question, for reports and pages"),
    "help": _text("a hint below the question"),
    "answers": Key(
        dict[str, list[str]],
        "for each language, the texts that people read for the values, in the order of the values",
    ),
}
_MECHANISM = Key(str, "one of {mechanisms}")
_EPSILON = Key(float, "the privacy budget; a smaller epsilon protects more")
_REPORTS = Key(
    int,
    "how many reports of one value a person sends; the epsilon is for all of them together",
    limits={"ge": 1, "le": LARGEST_PARTS},
)
_BUDGETS = {
    "delta": Key(
        float, "the largest sum of the deltas of all attributes", limits={"ge": 0, "lt": 1}
    ),
    "budget": Key(
        float, "the largest sum of the epsilons that one person may spend", limits={"gt": 0}
    ),
}

ATTRIBUTE = Table(
    "AttributeSpec",
    {
        **SHOWN,
        "unit": Key(str, "the unit of a number, which pages show beside it"),
        "only_if": Key(
            dict[str, _LABELS],
            "the answers to an earlier question after which this question is asked; for all other "
            'people the survey page does not show the question and sends "no answer", protected '
            'like any answer; needs missing = "answer"',
        ),
        **_DOMAIN_KEYS,
        "each": Key(
            Literal["one", "pair"],
            "for a question with items: whether each person is asked one item or a pair of "
            "items, drawn by chance; default: a pair, or one item if there are only two",
        ),
        "split": Key(
            str,
            "if each item has its own column: the text between the question and the item in the "
            "names of these columns, such as '/' in services/bank",
        ),
        "mechanism": _MECHANISM,
        "epsilon": _EPSILON,
        "design": Key(
            str,
            "the design by which people randomise their answers on paper, such as crosswise:1/4 "
            "or forced:1/6,1/6; it replaces mechanism and epsilon",
        ),
        "reports": _REPORTS,
        "keys": Key(
            _LABELS, "for the mechanism KeyValue: the list of keys to which the values belong"
        ),
        "tags": Key(
            list[str],
            "for utility-optimised mechanisms: names such as home, which are sent in place of "
            "answers that are secret for one person only",
        ),
        "missing": Key(
            Literal["refuse", "answer", "drop"],
            'what happens to people who gave no answer: with "refuse", the default, the file is '
            'refused; with "answer", "no answer" is a value of its own, randomised like any '
            'other; with "drop", the person is left out, and the collector sees that',
        ),
        "empty": Key(
            list[str],
            'what stands in the file where somebody gave no answer; default [""], an empty cell',
        ),
    },
    "a table [attributes.NAME]",
    is_open=True,
    one_of=tuple(ENTRIES),
)
JOINT = Table(
    "JointSpec",
    {
        "attributes": Key(
            list[str], "attributes that are randomised as one value", is_needed=True, entries=2
        ),
        "mechanism": replace(_MECHANISM, is_needed=True),
        "epsilon": replace(_EPSILON, is_needed=True),
        "reports": _REPORTS,
    },
    "a table [[joint]]",
    is_open=True,
)
ASK = Table(
    "AskSpec",
    {
        "each": Key(
            Literal["one", "pair", "all", 2],
            'what each person is asked, drawn by chance: "one" is one question; "pair" is two '
            "questions that are randomised together; 2 is two questions, each with half of the "
            'epsilon; "all" is every question, as without this table',
        ),
        "blocks": Key(
            list[list[str]],
            "lists of questions; each person is asked all questions of one list; it replaces the "
            'key "each"',
            entries=2,
        ),
        "epsilon": Key(
            float, "the epsilon that a person spends in all on the questions that they are asked"
        ),
        "hide": Key(
            bool,
            "whether to hide which question a person was asked: fake answers to all other "
            "questions are sent too, and the variance is multiplied by the number of questions",
        ),
    },
    "the table [ask]",
    one_of=("each", "blocks"),
    example='each = "one"',
)
REPEAT = Table(
    "RepeatSpec",
    {
        "rounds": Key(
            int,
            "in how many rounds the same people report; the epsilon of a question is for one round",
            is_needed=True,
            limits={"ge": 2},
        ),
        "forever": Key(
            float,
            "the largest epsilon that all reports on one value may spend, however many rounds "
            "there are: a device keeps a permanent report of each value",
            is_needed=True,
            limits={"gt": 0},
        ),
        "values": Key(
            int,
            "on how many different values a device may report; each value spends the epsilon of "
            'the key "forever"',
            default=1,
            limits={"ge": 1, "le": 1000},
        ),
        "round": Key(
            int,
            "the number of this round, counted from 1; a survey page asks one round, and the "
            "study file of the next round has the next number",
            limits={"ge": 1},
        ),
    },
    "the table [repeat]",
)
CHANGE = Table(
    "ChangeSpec", {"mechanism": _MECHANISM, "epsilon": _EPSILON, "reports": _REPORTS}, is_open=True
)
GROUP = Table(
    "GroupSpec",
    {
        "name": Key(str, "the group's name in the answers and in file names", is_needed=True),
        **_BUDGETS,
        "attributes": Key(
            GenericAlias(dict, (str, CHANGE)),
            "for each question, or 'a x b' for questions that are randomised together: what is "
            "different in this group",
            default={},
        ),
    },
    "a table [[groups]]",
)
PUBLIC = Table(
    "PublicSpec",
    {
        **SHOWN,
        "values": Key(_LABELS, "labels of the column"),
        "integers": Key(tuple[int, int], "[low, high], both included"),
        "dates": Key(Literal["day", "week", "month"], "dates, kept by day, week or month"),
    },
    "a table [public.NAME]",
    one_of=("values", "integers", "dates"),
)
DESIGN = Table(
    "DesignSpec",
    {
        "weights": Key(
            str,
            "the public column with the weights, which say for how many people each person "
            "stands; they are whole numbers from 1 on, in any unit, such as thousandths",
        ),
        "cluster": Key(
            str, "the public column with the clusters: what was drawn first, such as schools"
        ),
        "strata": Key(
            str,
            "the public column with the strata: the parts of the population that people were "
            "drawn from separately",
        ),
    },
    "the table [design]",
)
TOKENS = Table(
    "TokensSpec",
    {
        "issuer": Key(
            str, "the address at which devices reach warner collect issue", is_needed=True
        ),
        "keys": Key(
            list[str],
            "the issuer's public keys; to print them, run: warner collect keys STUDY",
            is_needed=True,
            entries=1,
        ),
        "wait": Key(
            int,
            "how many seconds a report waits at most on a device before it is sent; default 60",
            limits={"ge": 0, "le": 86_400},
        ),
    },
    "the table [collect.tokens]",
)
_WHEN = "when the survey {}: date, time and time zone, such as 2026-03-01T09:00:00+01:00"
# The defaults are those of :class:`warner.studies.texts.Collect`.
COLLECT = Table(
    "CollectSpec",
    {
        "people": Key(int, "the planned number of people", limits={"ge": 1}),
        "opens": Key(datetime, _WHEN.format("opens")),
        "closes": Key(datetime, _WHEN.format("closes")),
        "step": Key(
            int,
            "the number of new reports after which a new result is published; default 1 % of "
            "people, at least 50",
            limits={"ge": 1},
        ),
        "access": Key(
            Literal["open", "invited", "tokens"],
            'who may answer: with "open", everyone; with "invited", people with a code; with '
            '"tokens", people who exchange a code for a token, which does not show the code',
        ),
        "tokens": Key(TOKENS, 'with access = "tokens": where people exchange codes for tokens'),
        "contact": Key(str, "whom people can ask"),
        "origins": Key(
            list[str],
            "other web sites that may send reports by script, or show the survey in a frame, each "
            "written as https://app.example.org",
            entries=1,
        ),
        "link": Key(str, "a web address to go on to after the report was sent"),
        "per_page": Key(
            int, "how many questions stand on one page of the survey", limits={"ge": 1}
        ),
        "keep_ids": Key(
            Literal["closed", "always"],
            "how long the ids that show repeated reports are kept: until the survey closes "
            '("closed"), or also afterwards ("always")',
        ),
        "weak_protection": Key(
            bool,
            "whether to ask questions with very weak protection: an epsilon above 10 between the "
            "two most distant answers, in all rounds together; the page then shows a warning",
        ),
    },
    "the table [collect]",
)
STUDY = Table(
    "Study",
    {
        "title": Key(
            str | dict[str, str],
            "the name of the study, for reports and pages; one text, or one for each language",
            default="",
        ),
        "languages": Key(
            list[str],
            'the languages of the texts, default ["en"]; a text without a language is in the '
            "first of them",
            entries=1,
        ),
        "introduction": _text("what people read above the questions"),
        "consent": _text("what people agree to, by ticking a box, before they answer on the page"),
        "thanks": _text("what people read after their report was sent"),
        **_BUDGETS,
        "rows_per_person": Key(
            int,
            "how many rows of answers one person may have, such as one row a day; the epsilons "
            "are for all rows of a person together",
            limits={"ge": 1, "le": LARGEST_PARTS},
        ),
        "attributes": Key(GenericAlias(dict, (str, ATTRIBUTE)), is_needed=True, entries=1),
        "joint": Key(
            GenericAlias(list, JOINT), "attributes that are randomised together", entries=1
        ),
        "ask": Key(ASK, "whether each person is asked all questions, or some drawn by chance"),
        "repeat": Key(
            REPEAT,
            "in how many rounds the same people report, and what epsilon the rounds may spend",
        ),
        "public": Key(
            GenericAlias(dict, (str, PUBLIC)),
            "columns of the answers that are not protected: they are sent and stored beside the "
            "reports",
        ),
        "design": Key(
            DESIGN, "how people were drawn: which public columns hold weights, clusters and strata"
        ),
        "collect": Key(COLLECT, "how answers are collected from people"),
        "group_column": Key(str, "the public column of the answers that names the group"),
        "groups": Key(
            GenericAlias(list, GROUP), "groups of people with budgets of their own", entries=2
        ),
    },
    "the part of the file above the first table",
)
