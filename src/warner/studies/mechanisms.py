"""From the tables of a study file to mechanisms; every error names the table."""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
from collections.abc import Callable, Container, Mapping
from fractions import Fraction
from typing import Any

from warner._core.checks import budget, show
from warner._core.errors import WarnerError, message
from warner._core.names import called_here, home_of, known_elsewhere
from warner._core.text import meant
from warner.designs import PaperDesign, from_text
from warner.domains import NO_ANSWER, Categorical, Domain, Items, Missing, Product, with_missing
from warner.mechanisms import (
    HiddenQuestion,
    Mechanism,
    OneOf,
    Permanent,
    Repeated,
    with_nonresponse,
)
from warner.mechanisms.one_of import best_mechanism
from warner.studies.problems import Path, Problem, ProblemLog, StudyProblems, broken, in_words
from warner.studies.schema import ATTRIBUTE, BY_KEY, JOINT, MECHANISMS, Table, owners_of_keys

Spec = Mapping[str, Any]  # a table of a study file, or its options

# What can be done where nonresponse is a value and the mechanism does not go with it.
_KEYS_WITH_NONRESPONSE = (
    'Leave out the key "missing", and add "no answer" to the list "keys". In the answers, give it '
    "any number as its value"
)
_NUMBERS_WITH_NONRESPONSE = (
    "Use SquareWave, Piecewise, StochasticRounding or Laplace over the whole range"
)
_LABELS_WITH_NONRESPONSE = "Use SubsetSelection, UnaryEncoding or another mechanism of labels"


def built(where: str, spec: Spec, joint: Domain | None = None, rows: int = 1) -> Mechanism:
    """The mechanism of one table for one row of answers, ``joint`` the domain of a joint one."""
    form = ATTRIBUTE if joint is None else JOINT
    if joint is None and "design" in spec:
        return _of_design(where, spec)
    if joint is None and "items" in spec:
        return _of_items(where, spec, rows)
    if problems := table_problems(where, spec, form=form, has_domain=joint is None):
        raise StudyProblems(problems)
    cls = MECHANISMS[spec["mechanism"]]
    times = rows * spec.get("reports", 1)

    def made(domain: Domain) -> Mechanism:
        nats, options = share(spec["epsilon"], times), _shared(form.options(spec), times)
        keys = _labels(spec["keys"], domain.missing) if "keys" in spec else None
        values = domain.answered if cls.excludes_nonresponse else domain
        one = cls.from_study(values, nats, options, keys, spec.get("tags"))
        return with_nonresponse(one, domain) if values is not domain else one

    domain = joint
    try:
        domain = stated_domain(spec) if joint is None else joint
        mechanism = made(domain)
        if mechanism.shows_nonresponse:
            # A report could show that a person gave no answer, which is promised to be protected.
            lists = "list all combinations with" if domain.attributes else "list"
            rule = f"must {lists} {NO_ANSWER!r}: otherwise a report would show who gave no answer"
            remedy = "Complete this list"
            raise broken(("sensitive",), rule, None, remedy, f"{where}.sensitive")
        several = spec.get("reports", 1)
        return Repeated(mechanism, several) if several > 1 else mechanism
    except StudyProblems:
        raise
    except (WarnerError, TypeError) as error:
        problem = Problem(_key_of(spec, str(error)), f"{where}: {error}")
    if domain is not None and domain.nonresponse is not None and _works(made, domain.answered):
        rule = (
            f'"answer" cannot be used with {spec["mechanism"]}, which has no value for "no answer"'
        )
        remedy = _LABELS_WITH_NONRESPONSE
        if "keys" in spec:
            remedy = _KEYS_WITH_NONRESPONSE
        elif domain.answered.is_numeric:
            remedy = _NUMBERS_WITH_NONRESPONSE
        text = message(f"{where}.missing", rule, None, remedy)
        problem = Problem(("missing",), text)
    raise StudyProblems([problem])


def permanent(where: str, mechanism: Mechanism, repeat: Spec) -> Permanent:
    """The mechanism of a study with the table [repeat], from that of one round."""
    try:
        return Permanent(mechanism, repeat["forever"], repeat["values"])
    except WarnerError as error:
        key, _, rule = str(error).partition(": ")
        problem = Problem((key,), f"{where}, with [repeat]: {error}")
        if key == "forever":
            problem = Problem((), f"repeat.forever, for {where}: {rule}")
    raise StudyProblems([problem])


def _of_design(where: str, spec: Spec) -> PaperDesign:
    """The design for paper of a question."""
    rule = (
        'cannot be used with the key "design", because people then randomise their answers '
        "themselves"
    )
    others = ("mechanism", "epsilon", "reports", "keys", "tags", "items", "each", "split")
    rules = dict.fromkeys((*others, *ATTRIBUTE.options(spec)), rule)
    problems = _left_out(where, spec, rules)
    # They are about true answers, which a table of what people said has none of.
    for about in ("missing", "empty"):
        if about in spec and (about == "empty" or spec[about] == "drop"):
            use = "used" if about == "empty" else "'drop'"
            rule = f'cannot be {use} with the key "design", because tables have what people said'
            remedy = (
                f'Leave out the key "{about}". Leave the cells of these people empty, and add '
                "--drop-missing to warner estimate, report or regress"
            )
            problems.append(Problem((about,), message(f"{where}.{about}", rule, None, remedy)))
    if problems := problems or domain_problems(where, spec):
        raise StudyProblems(problems)
    try:
        return from_text(spec["design"], stated_domain(spec))
    except WarnerError as error:
        # A design refuses its own chances by their names.
        key = "design" if not str(error).startswith("domain") else _key_of(spec, "", BY_KEY)[0]
        problem = Problem((key,), f"{where}.{key}: {error}".replace(": design:", ":"))
    raise StudyProblems([problem])


def _works(made: Callable[[Domain], Mechanism], domain: Domain) -> bool:
    """Whether a mechanism can be made for a domain."""
    with contextlib.suppress(WarnerError, TypeError):
        made(domain)
        return True
    return False


def table_problems(
    where: str,
    spec: Spec,
    ignored: Container[str] = (),
    has_domain: bool = True,
    form: Table = ATTRIBUTE,
) -> list[Problem]:
    """What is wrong with a table, as far as it shows before the mechanism is made."""
    problems: list[Problem] = []
    misspelt: set[str] = set()
    ticked = "items" in spec
    if ticked or "each" in spec or "split" in spec:
        problems += _item_problems(where, spec, form.options(spec), ticked)
    for key in ("epsilon",) if ticked else ("mechanism", "epsilon"):
        if key not in spec and key not in ignored:
            near = [word for word in form.options(spec) if meant(word, [key])][:1]
            misspelt.update(near)
            remedy = f"Is {near[0]!r} a misspelt {key!r}?" if near else _NEEDED[key]
            text = message(f"{where}.{key}", "is missing", None, remedy)
            problems.append(Problem(tuple(near), text))
    name = None if ticked else spec.get("mechanism")
    if name in MECHANISMS:
        problems += _option_problems(where, spec, form.options(spec), misspelt, ignored)
    elif name is not None:
        here = called_here(str(name))
        is_here = here is not None and here.split()[0] in MECHANISMS
        elsewhere = None if home_of(str(name)) else known_elsewhere(str(name))
        hint = (elsewhere or "").removesuffix(".") or meant(name, MECHANISMS)
        hint = f"In warner it is called {here}" if is_here else hint
        rule = "must be the name of a mechanism"
        if not is_here:
            rule = f"must be one of {', '.join(MECHANISMS)}"
            hint = hint or (
                "Is it a mechanism of your own? Write --load FILE.py before the name of the "
                "command (in Python: import the file first)"
            )
        text = message(f"{where}.mechanism", rule, show(name), hint)
        problems.append(Problem(("mechanism",), text))
    if has_domain:
        problems += domain_problems(where, spec)
    if "epsilon" in spec:
        try:
            budget(spec["epsilon"], infinite=True)
        except WarnerError as error:
            problems.append(Problem(("epsilon",), f"{where}: {error}"))
    return problems


_NEEDED = {
    "mechanism": 'Write for example mechanism = "RandomizedResponse". To get a proposal, run: '
    "warner plan",
    "epsilon": "Write for example epsilon = 1.0. A smaller epsilon protects more",
}


def _item_problems(where: str, spec: Spec, options: Spec, ticked: bool) -> list[Problem]:
    """What does not go with items that people tick, and what goes with them alone."""
    rule, keys = 'can be used only with the key "items"', ["each", "split"]
    if ticked:
        rule = 'cannot be used with the key "items": each item is answered with no or yes'
        keys = ["mechanism", "reports", "keys", "tags", "missing", "empty", *options]
    return _left_out(where, spec, dict.fromkeys(keys, rule))


def _left_out(where: str, spec: Spec, rules: Mapping[str, str]) -> list[Problem]:
    """The problems of keys that must be left out, each by its rule."""
    return [
        Problem((key,), message(f"{where}.{key}", rule, None, f'Leave out the key "{key}"'))
        for key, rule in rules.items()
        if key in spec
    ]


def _of_items(where: str, spec: Spec, rows: int) -> OneOf:
    """The mechanism of a question with items: each person is asked one of them, or two."""
    if problems := table_problems(where, spec):
        raise StudyProblems(problems)
    try:
        items = stated_domain(spec)
        assert isinstance(items, Items)
        usual = "pair" if len(items.items) >= _LEAST_FOR_PAIRS else "one"
        blocks = "pairs" if spec.get("each", usual) == "pair" else "attributes"
        return OneOf(items, share(spec["epsilon"], rows), blocks)
    except WarnerError as error:
        key = ("each",) if str(error).startswith("blocks") else _key_of(spec, str(error))
        problem = Problem(key, f"{where}: {error}")
    raise StudyProblems([problem])


_LEAST_FOR_PAIRS = 3  # items; of two there is one pair, and nothing to draw


def domain_problems(where: str, spec: Spec) -> list[Problem]:
    """What is wrong with the domain that a table states; arguments as :func:`table_problems`."""
    try:
        stated_domain(spec)
    except WarnerError as error:
        return [Problem(_key_of(spec, str(error), BY_KEY), f"{where}: {error}")]
    return []


def _key_of(spec: Spec, text: str, within: Container[str] = ()) -> Path:
    """The key of a table that the text of an error begins with, as ``epsilon: must be ...``."""
    word = text.partition(":")[0].partition(" ")[0]
    for key, value in spec.items():
        if key == word:
            return (key,)
        if isinstance(value, Mapping) and word in value:
            return key, word
    return next(((key,) for key in spec if key in within), ())


def share(budget: float, times: int) -> float:
    """The largest float that, multiplied exactly by ``times``, is at most ``budget``.

    >>> share(1.0, 1), share(0.3, 3) * 3 <= 0.3
    (1.0, True)
    """
    # What is no budget is left to the mechanism, which names it as it was stated.
    if times == 1 or not 0 < budget <= sys.float_info.max:
        return budget
    single = budget / times
    while single > 0 and Fraction(single) * times > Fraction(budget):
        single = math.nextafter(single, 0.0)
    return single


def _shared(options: Spec, times: int) -> dict[str, Any]:
    """The options of one of several reports: a delta is of all of them together."""
    delta = options.get("delta")
    if isinstance(delta, int | float) and not isinstance(delta, bool):
        return {**options, "delta": share(delta, times)}
    return dict(options)


def _option_problems(
    where: str, spec: Spec, options: Spec, misspelt: Container[str], ignored: Container[str]
) -> list[Problem]:
    """Options that the mechanism does not have, and the lack of those that it needs."""
    name, cls = spec["mechanism"], MECHANISMS[spec["mechanism"]]
    parameters = inspect.signature(cls).parameters
    allowed = {key: p for key, p in parameters.items() if key not in cls.not_options}
    problems = []

    def add(key: str, rule: str, remedy: str | None = None) -> None:
        path = (key,) if key in spec else ()
        problems.append(Problem(path, message(f"{where}.{key}", rule, None, remedy)))

    for key, parameter in allowed.items():
        # With tags, no value need be sensitive for everyone.
        is_needed = parameter.default is inspect.Parameter.empty and not (
            key == "sensitive" and "tags" in spec
        )
        if is_needed and key not in options:
            add(key, f"is missing: {name} needs this key")
    if "tags" in spec and not cls.takes_tags:
        add("tags", f"can be used only with {_named('takes_tags')}, not with {name}")
    if ("keys" in spec) != cls.takes_keys and "keys" not in ignored:
        others = f"can be used only with {_named('takes_keys')}, not with"
        add("keys", f"{'are needed by' if cls.takes_keys else others} {name}")
    for option in options:
        if option not in allowed and option not in misspelt:
            names = [*allowed, "tags"] if cls.takes_tags else [*allowed]
            has = f"whose options are {', '.join(names)}" if names else "which has no options"
            remedy = meant(option, [key for key in ATTRIBUTE.keys if key not in ("keys", "tags")])
            if option not in _TABLES and (headers := owners_of_keys().get(option)):
                remedy = f"It belongs in {' or '.join(headers)}"
            add(option, f"is not an option of {name}, {has}", remedy or "Leave out this key")
    return problems


_TABLES = ("attributes", "joint", "ask", "repeat", "public", "design", "collect", "groups")


def _named(capability: str) -> str:
    """The names of the mechanisms that have a capability."""
    return " or ".join(name for name, cls in MECHANISMS.items() if getattr(cls, capability))


def stated_domain(spec: Spec) -> Domain:
    """The one domain that the table of an attribute states; its answers must differ as text."""
    (key,) = (key for key in BY_KEY if key in spec)
    domain = BY_KEY[key].from_study(spec[key])
    if isinstance(domain, Items):
        return Items(domain.items, spec.get("split"))
    _ = domain.text
    if "missing" in spec or "empty" in spec:
        return with_missing(domain, spec.get("missing", "refuse"), spec.get("empty", [""]))
    return domain


def _labels(values: list[Any], missing: Missing) -> Domain:
    """The keys of pairs, whose labels must differ as text, with the policy of the attribute."""
    keys = Categorical(values)
    _ = keys.text
    if missing == Missing("refuse", ()):
        return keys
    return with_missing(keys, missing.policy, missing.empty)


def together(specs: Mapping[str, Spec], names: list[str], path: Path) -> Product:
    """The domain of attributes that are randomised as one value."""
    log = ProblemLog()
    elsewhere = ("mechanism", "epsilon", "design", "reports", "keys", "tags")
    for i, name in enumerate(names):
        with log.within():
            listed, where = (*path, "attributes", i), f"{in_words(path)}.attributes"
            if name not in specs:
                rule = f"must name questions of the study: {', '.join(specs)}"
                raise broken(listed, rule, show(name), meant(name, specs), where)
            if name in names[:i]:
                raise broken(listed, f"names {name!r} twice", None, None, where)
            spec, table = specs[name], ("attributes", name)
            for key in (*elsewhere, *ATTRIBUTE.options(spec)):
                if key in spec:
                    rule = (
                        f"must be written in [[{path[0]}]], because {name!r} is randomised "
                        "together with other questions there"
                    )
                    raise broken((*table, key), rule)
            if "items" in spec:
                rule = "cannot be in [[joint]], because each person is asked only some of the items"
                raise broken((*table, "items"), rule, None, f"Remove {name!r} from [[joint]]")
            log.keep(domain_problems(in_words(table), spec), table)
    log.refuse()
    return Product(**{name: stated_domain(specs[name]) for name in names})


# -----------------------------------------------------------------------------------------------
# The table [ask]: each person is asked some questions only, which are drawn by chance.


def is_drawn(ask: Any) -> bool:
    """Whether the table [ask] of a study draws what each person is asked."""
    return isinstance(ask, Mapping) and ask.get("each") != "all"


_LEAST_TO_DRAW = 2


def drawn(
    ask: Spec, specs: Mapping[str, Spec], rows: int = 1, repeat: Spec | None = None
) -> OneOf | HiddenQuestion:
    """The mechanism of a study with the table [ask], for one row of answers."""
    if len(specs) < _LEAST_TO_DRAW:
        rule = "needs two or more questions (attributes) to draw from"
        raise broken(("ask",), rule, None, "Leave out the table [ask]")
    log = ProblemLog()
    alone = ask.get("each") == "one"
    if ask.get("hide") and not alone:
        rule = 'can be used only with each = "one"'
        raise broken(("ask", "hide"), rule, None, 'Leave out the key "hide"')
    whole = ask.get("epsilon")
    if whole is not None or not alone:
        with log.within("ask"):
            _check_whole(whole)
        log.refuse()
    domains: dict[str, Domain] = {}
    mechanisms: dict[str, Mechanism] = {}
    for name, spec in specs.items():
        path, where = ("attributes", name), f"attributes.{name}"
        problems = _drawn_problems(where, spec, alone) or domain_problems(where, spec)
        log.keep(problems, path)
        if not problems:
            domains[name] = stated_domain(spec)
        if alone and not problems:
            with log.within(*path):
                once = _drawn_alone(where, spec, whole, rows)
                mechanisms[name] = once if repeat is None else permanent(where, once, repeat)
                domains[name] = mechanisms[name].domain
    log.refuse()
    blocks, several = _BLOCKS.get(ask.get("each"), (ask.get("blocks", "attributes"), 1))
    try:
        if ask.get("hide"):
            return HiddenQuestion(Product(**domains), None, mechanisms)
        if alone:
            return OneOf(Product(**domains), None, blocks, mechanisms)
        return OneOf(Product(**domains), share(whole or 0.0, rows), blocks, ask=several)
    except WarnerError as error:
        key = _key_of(ask, str(error), ("blocks",))
        problem = Problem(("ask", *key), f"ask: {error}")
    raise StudyProblems([problem])


def _check_whole(epsilon: float | None) -> None:
    """Refuse an epsilon of [ask] that is no budget."""
    if epsilon is None:
        raise broken(("epsilon",), "is missing", None, _NEEDED["epsilon"], "ask.epsilon")
    try:
        budget(epsilon)
    except WarnerError as error:
        problem = Problem(("epsilon",), f"ask: {error}")
    else:
        return
    raise StudyProblems([problem])


_BLOCKS: dict[Any, tuple[Any, int]] = {"pair": ("pairs", 1), 2: ("attributes", 2)}


def _drawn_problems(where: str, spec: Spec, alone: bool) -> list[Problem]:
    """What in the table of an attribute does not go with [ask]."""
    rules = {
        "design": "cannot be used with [ask]: on paper each person is asked every question",
        "reports": "cannot be used with [ask], where each person sends one report",
        "keys": "cannot be used with [ask], where each answer is one value",
        "items": "cannot be used with [ask], because each person is asked only some items already",
    }
    if not alone:
        rule = (
            'can be used only with each = "one" in [ask], because otherwise the questions of a '
            "person share one epsilon"
        )
        options = ("mechanism", "epsilon", "tags", *ATTRIBUTE.options(spec))
        rules |= dict.fromkeys(options, rule)
    problems = _left_out(where, spec, rules)
    if spec.get("missing") == "drop":
        rule = "cannot be 'drop' with [ask], because each person is asked only some questions"
        remedy = 'Write missing = "answer", which makes "no answer" a value of its own'
        problems.append(Problem(("missing",), message(f"{where}.missing", rule, None, remedy)))
    return problems


def _drawn_alone(where: str, spec: Spec, whole: float | None, rows: int) -> Mechanism:
    """The mechanism of one question that is asked alone: its own, or the better of two."""
    if "epsilon" not in spec and whole is None:
        remedy = "Write epsilon in [ask], for all questions, or in this table"
        raise broken(("epsilon",), "is missing", None, remedy, f"{where}.epsilon")
    stated = {**spec, "epsilon": spec.get("epsilon", whole)}
    if "mechanism" in spec:
        mechanism = built(where, stated, None, rows)
    else:
        for key in ("tags", *ATTRIBUTE.options(spec)):
            if key in spec:
                rule = 'can be used only together with the key "mechanism"'
                remedy = 'Write the key "mechanism" too'
                raise broken((key,), rule, None, remedy, f"{where}.{key}")
        if problems := table_problems(where, stated, ("mechanism",)):
            raise StudyProblems(problems)
        mechanism = best_mechanism(stated_domain(spec), share(stated["epsilon"], rows))
    most = mechanism.guarantee.between_any_values().epsilon
    if whole is not None and most > share(whole, rows):
        rule = f"must be at most {whole!r}, the epsilon of [ask]"
        remedy = "Lower this epsilon, or raise the epsilon of [ask]"
        raise broken(("epsilon",), rule, repr(stated["epsilon"]), remedy, f"{where}.epsilon")
    return mechanism
