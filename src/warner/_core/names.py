"""Names and arguments that users bring from elsewhere: errors say what they are called here."""

from __future__ import annotations

import contextlib
import dis
import inspect
import re
import sys
from collections.abc import Callable, Collection
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from lazy_loader import attach_stub

from warner._core.errors import WarnerError, message
from warner._core.text import meant

P = ParamSpec("P")
T = TypeVar("T")


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {_plain(word): here for words, here in table.items() for word in words.split()}


# Names of the literature and of other packages, from which docs/names.md is made. Behind a class
# stand its options.
LITERATURE = {
    "Mechanisms of labels": {
        "k-RR GRR RR DE direct-encoding": "RandomizedResponse",
        "SUE UE RAPPOR basic-RAPPOR symmetric-unary-encoding": "UnaryEncoding",
        "OUE optimized-unary-encoding optimised-unary-encoding": "UnaryEncoding variant='oue'",
        "OLH LH optimized-local-hashing optimal-local-hashing": "LocalHashing",
        "BLH": "LocalHashing buckets=2",
        "FLH fast-local-hashing": "LocalHashing seeds=1024",
        "SS k-subset": "SubsetSelection",
        "HR": "HadamardResponse",
        "PG PGR": "ProjectiveGeometryResponse",
    },
    "Mechanisms that protect some labels": {
        "uRR": "UtilityOptimizedRR",
        "uRAP": "UtilityOptimizedRappor",
        "uSS uBD utility-optimized-subset-selection": "UtilityOptimizedSubset",
        "PUM": "PersonalizedULDP",
    },
    "Mechanisms of numbers and places": {
        "SW": "SquareWave",
        "PM": "Piecewise",
        "SR Duchi": "StochasticRounding",
        "Laplacian Laplace-mechanism": "Laplace",
        "geo-indistinguishability": "PlanarLaplace",
    },
    "Several questions, many rounds": {
        "PCKV PCKV-UE": "KeyValue key='unary'",
        "PCKV-GRR": "KeyValue key='direct'",
        "SPL RR-Ind-Joint": "PerAttribute",
        "SMP": "OneOf",
        "RS+FD RS+RFD RSpFD": "HiddenQuestion",
        "PRR IRR L-GRR L-SUE L-OSUE memoization": "Permanent",
    },
    "Words that nobody has listed": {"PEM heavy-hitters heavy-hitter": "find"},
    "Designs for paper": {
        "Warners-model": "Warner",
        "forced FR FRR forced-answer": "ForcedResponse",
        "UQM UQT unrelated-question": "Unrelated",
        "UQTunknown": "UnrelatedUnknown",
        "CWM crosswise crosswise-model": "Crosswise",
        "triangular triangular-model": "Triangular",
        "SLD": "StochasticLieDetector",
        "CDM cheating-detection": "Cheating",
        "ICT item-count unmatched-count": "ListExperiment",
    },
    "Estimators and guarantees": {
        "EM IBU": "ExpectationMaximization",
        "MLE": "MaximumLikelihood",
        "INV": "Inversion",
        "Norm-Sub CLS INV-P": "Inversion constraint='project'",
        "Norm-Cut": "Inversion constraint='norm-cut'",
        "Norm-Mul INV-N": "Inversion constraint='normalize'",
        "Base-Cut": "Inversion constraint='threshold', rest='discard'",
        "EMS": "SmoothedEM",
        "MR": "MixtureReduction",
        "IIW": "WienerFilter",
        "d-privacy": "MetricLDP",
    },
}
FURTHER = {  # what else a name stands for, or does not
    "RAPPOR": "For RAPPOR's permanent reports, which people send in many rounds, use "
    "warner.mechanisms.Permanent.",
    "Base-Cut": "Fang et al. (2023) give the name Base-Cut to another method: "
    "warner.Inversion(constraint='norm-cut'), which is Norm-Cut in Wang et al. (2020).",
    "FLH": "The argument seeds is the number of hash functions that FLH chooses. LocalHashing "
    "counts how often their values collide, where the formulae of FLH suppose a share of 1/g.",
    "IBU": "If IBU runs until it converges, it gives the same result as warner.MaximumLikelihood.",
    "PEM": "The function warner.find() has the same purpose as PEM (the prefix extending method), "
    "but works in another way. See the guide 'Words that nobody has listed'.",
    "HR": "HadamardResponse is made for an epsilon of 1 or less. With 100 values its error is 1.3 "
    "times the error of SubsetSelection at epsilon 1, and 14 times at epsilon 4. For an epsilon "
    "above 1, compare it with SubsetSelection. If reports must be short, compare it with "
    "warner.mechanisms.ProjectiveGeometryResponse. The general form of Hadamard response is not "
    "here; these two mechanisms come nearest to it.",
}
_ABSENT = {  # what papers compare with, and this package does not have
    "PrivUnit": "it randomises vectors, and the mechanisms here labels, numbers and places",
    "THE SHE": "unary encoding has less error: warner.UnaryEncoding(variant='oue')",
    "CMS HCMS": "for many values see warner.LocalHashing and "
    "warner.mechanisms.ProjectiveGeometryResponse",
    "PrivKV PrivKVM": "for keys with values see warner.mechanisms.KeyValue",
    "AHEAD HIO HH": "for ranges of numbers see warner.SquareWave",
    "CALM HDG": "for several questions see warner.mechanisms.PerAttribute and OneOf",
    "PrivSet Wheel": "for sets see warner.domains.Items",
    "GHR": "warner.HadamardResponse and warner.mechanisms.ProjectiveGeometryResponse come nearest "
    "to the general form of Hadamard response",
    "HRR": "warner.HadamardResponse supports the true value and other values as often as HRR, so "
    "its estimates have the same variance",
    "HM": "two mechanisms have this name. The hybrid mechanism of numbers draws one of "
    "warner.mechanisms.Piecewise and StochasticRounding; up to an epsilon of 0.61 it is "
    "StochasticRounding. The Hadamard mechanism of labels is nearest to warner.HadamardResponse",
}
_POWER = (
    "Power and Power-NS draw the estimates towards a power law that is fitted to all of them. "
    "warner.EmpiricalBayes(), or 'eb', draws them towards a distribution of any form"
)
CONSTRAINTS_ELSEWHERE = {  # what to say of ways to make estimates shares that are not here
    "base-cut": "Two methods have this name: Base-Cut of Wang et al. (2020) is "
    "Inversion('threshold', rest='discard'), and Base-Cut of Fang et al. (2023) is "
    "Inversion('norm-cut')",
    "base-pos": "Base-Pos sets negative estimates to 0, so that the sum of all is above 1. "
    "'norm-mul' does the same, and then divides all estimates by their sum",
    "mle-apx": "MLE-Apx comes near the maximum of the likelihood, as if the noise were normal. "
    "warner.MaximumLikelihood(), or 'mle', is the maximum itself",
    "power-ns": _POWER,
    "power": _POWER,
    "norm": "Norm adds the same number to all estimates, and some can stay negative. 'norm-sub' "
    "sets those to 0, and adds the same number to all others",
}
LOSSES_ELSEWHERE = {  # what to say of losses that other papers use
    "mse": "'l2' is the sum of squared errors: for K shares, K times their MSE",
    "rmse": "'l2' is the sum of squared errors: for K shares, K times the square of their RMSE",
    "mae": "'l1' is the sum of absolute errors: for K shares, K times their MAE",
    "tv": "'l1' is twice the total variation",
    "tvd": "'l1' is twice the total variation",
    "emd": "'w1' is the earth mover's distance of values on a line",
}
_NAMES = {name: here for table in LITERATURE.values() for name, here in _by_word(table).items()}
_ABSENT = _by_word(_ABSENT)
_NAMES |= _by_word(
    {
        "compare difference differences": "compare_groups",
        "randomize randomise perturb": "mechanism.randomize(answers)",
        "tally tallyby count": "mechanism.tally(reports)",
        "fit": "estimate",
        "variance mse expectederror": "expected_loss",
    }
)

# What methods are called elsewhere; of several the first that the object has.
_METHODS = _by_word(
    {
        "summary describe show": "table() to_frame('pandas')",
        "head largest first top mostcommon": "top(10) most_common(10) to_frame('pandas')",
        "todict asdict": "to_json() rows",
        "toframe dataframe": "to_frame() table().to_frame()",
        "topandas todf": "to_frame('pandas') table().to_frame('pandas')",
        "topolars": "to_frame('polars') table().to_frame('polars')",
        "tocsv": "csv() table().csv() warner.io.write_reports(...)",
        "toexcel": "xlsx() table().xlsx() warner.io.write_reports(...)",
        "tohtml": "html() table().html()",
        "tolatex latex": "latex() table().latex()",
        "tomarkdown markdown": "to_frame('pandas').to_markdown()",
        "tostring": "text() table().text()",
        "toparquet": "warner.io.write_reports(...)",
        "write dump tofile totoml": "save(path) table().csv()",
        "save": "xlsx() table().xlsx() to_json()",
        "n nobs size nrow": "n len(...)",
        "shape": "to_frame('pandas').shape",
        "loc iloc at columns dtypes index tolist tonumpy sortvalues pivot": "to_frame('pandas')",
        "valuecounts": "rows() warner.estimate(mechanism.tally(reports))",
        "params coef coefs beta intercept": "coefficients",
        "pvalue pvalues": "p_values test.p_value",
        "statistic chi2": "test.statistic",
        "bar hist barplot": "plot()",
        "categories classes unique levels": "labels",
        "tvalues zvalues": "z",
        "llf loglik": "log_likelihood",
        "vcov covparams": "covariance",
        "ci confint confidenceinterval intervals": "interval() table()",
        "std sd standarddeviation": "variance()**0.5",
        "bse se stderr standarderror": "standard_errors interval(kind='wald')",
        "median": "quantile(0.5)",
        "above below between greater less cdf cumulative": "range()",
        "quantiles percentile": "quantile(0.9)",
        "share shares estimates values proportions theta": "probabilities "
        "to_frame('pandas') labels",
        "difference differences compare": "warner.compare_groups(tally)",
        "predictproba": "predict(...) probabilities",
        "fit predict decode estimate inversetransform": "warner.estimate(mechanism.tally(reports))",
        "perturb privatize sanitize obfuscate randomise sample transform fittransform": "randomize("
        "answers)",
        "aggregate count counts tallyby": "tally(reports) table",
    }
)

_ARGUMENTS = _by_word(
    {
        "seed randomstate": "For a repeatable simulation pass rng=numpy.random.default_rng(42)",
        "p q prob probability": "Is 'epsilon' meant, which sets the probabilities?",
        "eps budget": "Is 'epsilon' meant?",
        "optimal optimized optimised": "Is 'variant' meant, such as variant='oue'?",
        "g": "Is 'buckets' meant?",
        "d k w omega": "Is 'size' meant?",
        "width precision margin": "To get the epsilon for intervals of this width, call "
        "warner.design.propose(domain, n, width=0.06)",
        "data x": "Is 'covariates' meant? Reports come first: regress(reports, covariates)",
        "groupby": "Is 'by' meant?",
        "figsize ax": "Is 'width' meant, such as width=600?",
        "by groups": "Count by group: mechanism.tally(reports, by={...})",
        "alpha confidence conf": "Is 'level' meant, such as level=0.95?",
    }
)

_EPSILON_OF = {  # of the probabilities that papers state; each mechanism has its own formula
    "RandomizedResponse": "Pass epsilon = log(p (K - 1) / (1 - p)), where p is the probability of "
    "the true value among K values",
    "UnaryEncoding": "Pass epsilon = log(p (1 - q) / (q (1 - p))), where p is the probability of a "
    "1 in the bit of the true value, and q in the other bits",
}

_PACKAGES = (
    "mechanisms",
    "designs",
    "estimators",
    "estimators.literature",
    "domains",
    "privacy",
    "design",
    "results",
    "io",
    "errors",
    "metrics",
    "theory",
)


# Each name as papers write it.
IN_PAPERS = [word for table in LITERATURE.values() for words in table for word in words.split()]


def called_here(word: str) -> str | None:
    """The name of a class here, with its options, by its name in the literature.

    Other packages call the part on the device a client, as in ``GRR_Client``.

    >>> called_here("k-RR"), called_here("OUE"), called_here("GRR_Client")
    ('RandomizedResponse', "UnaryEncoding variant='oue'", 'RandomizedResponse')
    """
    return _NAMES.get(_plain(word).removesuffix("client"))


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], Any]:
    """The lazy names of a package by its stub; another name is refused with what is meant."""
    lookup, list_names, names = attach_stub(package, file)

    def get(name: str) -> Any:
        if name in names or name.startswith("__"):
            return lookup(name)
        caller = sys._getframe(1)
        if caller.f_code.co_name == "_handle_fromlist":  # looks whether it is a module
            raise AttributeError(name)
        # The statement "from warner import ..." does not show the text of an AttributeError.
        imported = dis.opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM"
        text = _no_such_name(package, name, names)
        raise ImportError(text) if imported else AttributeError(text)

    return get, list_names, names


def _no_such_name(package: str, name: str, names: list[str]) -> str:
    """The message about a name that a package does not have."""
    if sentence := known_elsewhere(name):
        return f"{package}.{sentence}"
    remedy = meant(name, names) or f"dir({package}) lists all names"
    return message(f"{package}.{name}", "does not exist", None, remedy)


def known_elsewhere(name: str) -> str | None:
    """What a name of the literature is called here, or that it is not here; None of others.

    >>> known_elsewhere("EMS")
    'EMS is called warner.estimators.literature.SmoothedEM here.'
    """
    head, _, options = (called_here(name) or name).partition(" ")
    options = f"({options})" if options else ""
    home = home_of(head)
    if home or head != name:
        further = {_plain(each): f" {text}" for each, text in FURTHER.items()}
        more = further.get(_plain(name), "")
        where = f"{home}." if home else ""
        return f"{name} is called {where}{head}{options} here.{more}"
    if why := _ABSENT.get(_plain(name)):
        return f"{name} is not in this package; {why}."
    if why := _by_word(CONSTRAINTS_ELSEWHERE).get(_plain(name)):
        return f"{name} is not in this package. {why}."
    return None


def home_of(name: str) -> str | None:
    """The package that has a public name; None where there is no such name.

    >>> home_of("Crosswise"), home_of("estimate")
    ('warner.designs', 'warner')
    """
    homes = ("warner", *(f"warner.{each}" for each in _PACKAGES))
    return next((home for home in homes if name in import_module(home).__all__), None)


class Hinting:
    """A class whose objects say what is meant where they have no such attribute.

    A class of a user that lacks methods says which, and what they take.
    """

    def __new__(cls, *args: Any, **keywords: Any) -> Self:
        if missing := getattr(cls, "__abstractmethods__", None):
            calls = [f"{name}{_names_taken(getattr(cls, name))}" for name in sorted(missing)]
            rule = f"cannot be made, because it has no {', '.join(calls)}"
            raise TypeError(message(cls.__name__, rule, None, "Write each method in the class"))
        if (args or keywords) and cls.__init__ is object.__init__:
            raise TypeError(f"{cls.__name__}() takes no arguments")  # as Python says itself
        return super().__new__(cls)

    if not TYPE_CHECKING:  # for a type checker every attribute would exist

        def __getattr__(self, name: str) -> Any:
            # Python's own error for what other packages look for, and of a property.
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)
            names = [each for each in dir(self) if not each.startswith("_")]
            kind = type(self).__name__
            remedy = meant(name, names) or f"help({kind}) lists all names"
            remedy = _method_meant(name, dir(self)) or remedy
            with contextlib.suppress(AttributeError, LookupError, TypeError, WarnerError):
                type(self).__getitem__(self, name)
                remedy = f"Write [{name!r}] in place of .{name}"
            raise AttributeError(message(f"{kind}.{name}", "does not exist", None, remedy))

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in ("__init__", "table"):
            if isinstance(vars(cls).get(name), FunctionType):
                setattr(cls, name, explained(vars(cls)[name]))


def _names_taken(method: Any) -> str:
    """The arguments of a method, such as "(self, index)"; "" of a property."""
    return f"({', '.join(inspect.signature(method).parameters)})" if callable(method) else ""


def _method_meant(word: str, names: Collection[str]) -> str:
    """The method among some names that does what a word says; "" where there is none."""
    for method in _METHODS.get(_plain(word), "").split():
        # Whoever has a length is asked it by a function.
        name = "__len__" if method == "len(...)" else re.split(r"\W", method)[0]
        if name in ("warner", *names):
            return f"Use {method}"
    return ""


def explained(function: Callable[P, T]) -> Callable[P, T]:
    """A function that says of arguments that it does not take what it takes."""
    problem_of = _problem_of

    def call(*args: P.args, **keywords: P.kwargs) -> T:
        try:
            return function(*args, **keywords)
        except TypeError as error:
            problem = problem_of(function, args, keywords, error)
            if problem is None:
                raise
        raise problem

    # With the globals of the function, by which doctest finds the examples of a module.
    its_globals = inspect.unwrap(function).__globals__
    here = FunctionType(call.__code__, its_globals, closure=call.__closure__)
    return wraps(function)(here)


def _problem_of(
    function: Callable[..., Any], args: Any, keywords: Any, error: TypeError
) -> TypeError | None:
    """What is wrong with the arguments of a call; None where the error is about something else."""
    # A TypeError of Python, and no error of warner: code that leaves out a mechanism because it
    # refuses a domain must not leave out a wrong call.
    if isinstance(error, WarnerError):
        return None
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **keywords)
    except TypeError:
        pass
    else:
        return None
    name, parameters = function.__name__, [*signature.parameters.values()]
    methods = dir(args[0]) if args and parameters[0].name == "self" else []
    if methods:
        name = f"{type(args[0]).__name__}.{name}".removesuffix(".__init__")
        args, parameters = args[1:], parameters[1:]
    parameters = [
        each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    names = [each.name for each in parameters]
    by_place = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    needed = [each.name for each in parameters if each.default is each.empty]
    call = f"{name}({', '.join([*needed, *['...'] * (len(needed) < len(names))])})"
    rest = [each for each in names if each not in needed]
    usage = f"Write {call}" + f"; optional arguments: {', '.join(rest)}" * bool(rest)
    for given in keywords:
        if given not in names:
            remedy = _ARGUMENTS.get(_plain(given), "")
            if "'epsilon' meant, which" in remedy:
                remedy = _EPSILON_OF.get(name, remedy)
            hinted = re.match("Is '(.*?)' meant", remedy)
            if not remedy or (hinted and hinted[1] not in names):  # which this function has not
                remedy = meant(given, names) or _method_meant(given, methods) or usage
            return TypeError(message(name, f"has no argument {given!r}", None, remedy))
    returned = str(signature.return_annotation)
    is_text = not names or (not by_place and returned in ("bytes", "str"))
    if len(args) == 1 and is_text and isinstance(args[0], str | Path):
        rule = "returns the contents, and writes no file"
        kind = "bytes" if "bytes" in returned else "text"
        remedy = f"Write Path({str(args[0])!r}).write_{kind}({name.lower()}())"
        return TypeError(message(name, rule, None, remedy))
    if len(args) > len(by_place):
        remedy = f"Write {name}([...])" if len(names) == 1 else usage
        if "between" in names:
            remedy = f"Of some groups write {name}({names[0]}, between=[...])"
        rule = f"takes {len(by_place) or 'no'} positional argument{'s' * (len(by_place) != 1)}"
        rule += f": {', '.join(by_place)}" * bool(by_place)
        return TypeError(message(name, rule, str(len(args)), remedy))
    twice = [each for each in by_place[: len(args)] if each in keywords]
    if twice:
        return TypeError(message(name, f"was given the argument {twice[0]!r} twice", None, usage))
    missing = [each for each in needed if each not in [*by_place[: len(args)], *keywords]]
    rule = f"needs the argument{'s' * (len(missing) > 1)} {', '.join(missing)}"
    return TypeError(message(name, rule, None, usage))
