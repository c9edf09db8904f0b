"""Mechanisms and estimators from outside the package, which all of it then knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from warner._core.checks import kind
from warner._core.errors import ArgumentError, ArgumentTypeError
from warner.estimators import Estimator
from warner.mechanisms import MECHANISMS, Mechanism
from warner.mechanisms.headers import add_mechanism, forget_built
from warner.results.recommend import METHODS, add_method

_M = TypeVar("_M", bound=type[Mechanism])
_E = TypeVar("_E", bound=Callable[[], Estimator])


@overload
def register(thing: _M) -> _M: ...


@overload
def register(thing: str) -> Callable[[_E], _E]: ...


def register(thing: Any) -> Any:
    """Make a mechanism or an estimator of your own known to all of the package.

    A registered mechanism is known by the name of its class. Headers of reports and of tallies can
    then name it, so files, ``estimate``, ``audit`` and the command line read its reports. Study
    files can name it, and ``plan`` ranks it with the others where ``cls(domain, epsilon)`` makes
    it. Its ``version`` stands in headers, and another version is refused; raise it whenever the law
    or the form of reports changes.

    An estimator gets a name, for ``estimate(tally, "name")``, ``compare``, ``benchmark`` and
    ``warner estimate -m name``.

    The command line knows what it is told to load: ``warner --load mine.py estimate tally.json``,
    and what installed packages declare as entry points of the group ``warner``. Study files and
    report files load no code.

    Args:
        thing: a class of mechanisms, as the decorator ``@warner.register``; or the name of an
            estimator, as ``@warner.register("name")`` above a class whose options all have
            defaults, or ``warner.register("name")(function)`` for a function without arguments
            that returns an estimator.

    Returns:
        The class itself; of a name, a decorator.

    Raises:
        ArgumentError: a name that is taken. Defining the same class again is allowed.
        ArgumentTypeError: neither a class of mechanisms nor a name, or a mechanism that lacks
            methods.

    >>> from warner.estimators import Inversion
    >>> from warner.results.registration import for_a_while
    >>> with for_a_while():
    ...     _ = register("cut-at-one-percent")(lambda: Inversion("threshold", alpha=0.01))
    ...     coin = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    ...     tally = coin.tally(coin.randomize(["no", "yes"] * 500))
    ...     warner.estimate(tally, "cut-at-one-percent").method
    "Inversion(constraint='threshold', alpha=0.01)"
    """
    if isinstance(thing, str):
        return _named(thing)
    if isinstance(thing, type) and issubclass(thing, Mechanism):
        add_mechanism(thing)
        return thing
    if isinstance(thing, type) and issubclass(thing, Estimator):
        rule, remedy = "needs a name", "Write @warner.register('my-method') above the class"
        raise ArgumentError("estimator", rule, thing.__name__, remedy)
    rule = "must be a class of mechanisms, or the name of an estimator"
    raise ArgumentTypeError("register", rule, kind(thing))


def _named(name: str) -> Callable[[Any], Any]:
    """The decorator that gives an estimator a name."""

    def decorated(make: Any) -> Any:
        if isinstance(make, type) and issubclass(make, Mechanism):
            rule, remedy = "has the name of its class", "Write @warner.register above it"
            raise ArgumentError("mechanism", rule, repr(name), remedy)
        add_method(name, make)
        return make

    return decorated


@contextmanager
def for_a_while() -> Iterator[None]:
    """Forget at the end of the block what was registered in it, as tests and documents need."""
    mechanisms, methods = dict(MECHANISMS), dict(METHODS)
    try:
        yield
    finally:
        for known, before in ((MECHANISMS, mechanisms), (METHODS, methods)):
            known.clear()
            known.update(before)  # type: ignore[arg-type]
        forget_built()
