"""What results of somebody's own code depend on: the code, what it reads, the package's version."""

from __future__ import annotations

import dis
import functools
import hashlib
import inspect
import re
import sys
import sysconfig
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from warner._core.text import canonical
from warner.domains import Domain
from warner.estimators import Estimator
from warner.mechanisms import Mechanism


@functools.lru_cache(maxsize=1)
def version_here() -> str:
    """The version of the package; "" where it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("warner")
    except PackageNotFoundError:
        return ""


def _is_installed(file: str) -> bool:
    """Whether a file is of Python, of an installed package, or of this package."""
    paths = sysconfig.get_paths()
    roots = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots.add(str(Path(__file__).parents[1]))
    return any(Path(file).is_relative_to(root) for root in roots)


class _NoFormError(Exception):
    """A value that has no text which changes whenever the value does."""


def contents_of(given: Mechanism | Estimator) -> tuple[dict[str, list[str]], list[str]]:
    """What the results of a mechanism or an estimator depend on: {name: forms}, and names without.

    These are its options, and of a class from outside the package its code with all that it reads:
    the code that runs, and not its file, which may have changed since it was imported.
    """
    read = _Read({}, [], set())
    read.follow(type(given).__qualname__, given)
    return read.forms, read.unknown


class _Read(NamedTuple):
    """The code and the values, as they are found on the way through functions."""

    forms: dict[str, list[str]]  # several of a name that is in several modules
    unknown: list[str]
    seen: set[int]

    def follow(self, name: str, value: Any) -> None:
        """Add a value, or the code of a function or a class and what it reads."""
        value = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        value = getattr(value, "func", value) if isinstance(value, cached_property) else value
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, ModuleType) or id(value) in self.seen or _is_imported(name, value):
            return
        if isinstance(value, type):
            self.seen.add(id(value))
            for base in value.__mro__:
                for key, each in vars(base).items() if not _is_imported("", base) else ():
                    if isinstance(each, FunctionType) or not key.startswith(("__", "_abc_")):
                        self.follow(f"{base.__qualname__}.{key}", each)
        elif isinstance(value, FunctionType):
            self.seen.add(id(value))
            self.forms.setdefault(value.__qualname__, []).append(_code_form(value.__code__))
            self._code(value, value.__code__)
            defaults = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
            cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
            for each in defaults:
                self.follow(f"{name}()", each)
            for key, cell in cells:
                with suppress(ValueError):  # not filled yet
                    self.follow(key, cell.cell_contents)
        elif not isinstance(value, MemberDescriptorType):
            try:
                self.forms.setdefault(name, []).append(self._form(value))
            except (_NoFormError, RecursionError):
                self.unknown.append(f"{name} ({type(value).__name__})")

    def _code(self, function: FunctionType, code: CodeType) -> None:
        """Add what code names: globals, what it imports, and members of its author's modules."""
        spaces = [function.__globals__]
        for step in dis.get_instructions(code):
            if step.opname == "IMPORT_NAME":
                spaces.append(self._imported(function, step.argval))
        for space in spaces:  # which grows
            for name in code.co_names:
                value = space.get(name)
                if isinstance(value, ModuleType) and not _is_imported("", value):
                    if all(vars(value) is not each for each in spaces):
                        spaces.append(vars(value))
                elif name in space:
                    self.follow(name, value)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._code(function, inner)

    def _imported(self, function: FunctionType, name: str) -> dict[str, Any]:
        """The module of an import inside a function, by its name; {} of another's."""
        package = function.__globals__.get("__package__") or ""
        for each in [f"{package}.{name}"] * bool(package) + [name]:
            with suppress(ImportError):
                module = import_module(each)
                return {} if _is_imported("", module) else {name: module, **vars(module)}
        self.unknown.append(f"{name} (a module)")
        return {}

    def _form(self, value: Any) -> str:
        """A text that changes whenever a value does."""
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return f"{value.dtype} {value.shape} {content}"
        if isinstance(value, _PLAIN):
            return f"{type(value).__name__} {value!r}"
        if isinstance(value, tuple | list):
            return f"{type(value).__name__} {[self._form(each) for each in value]}"
        if isinstance(value, set | frozenset):
            return f"{type(value).__name__} {sorted(map(self._form, value))}"
        if isinstance(value, Mapping):
            return f"{[(self._form(key), self._form(each)) for key, each in value.items()]}"
        if isinstance(value, Mechanism):
            self.follow(type(value).__qualname__, type(value))
            return canonical(value.header)
        if isinstance(value, Domain):
            return canonical(value.spec())
        if is_dataclass(value) and not isinstance(value, type):
            self.follow(type(value).__qualname__, type(value))
            options = {each.name: self._form(getattr(value, each.name)) for each in fields(value)}
            return f"{type(value).__qualname__} {options}"
        raise _NoFormError


def _code_form(code: CodeType) -> str:
    """A text that changes whenever the code of a function does."""
    consts = [
        _code_form(each)
        if isinstance(each, CodeType)
        else repr(sorted(each, key=repr) if isinstance(each, frozenset) else each)
        for each in code.co_consts
    ]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {consts}"


def _is_imported(name: str, value: Any) -> bool:
    """Whether a value is of Python, of an installed package, or of this package."""
    if isinstance(value, ModuleType):
        module: ModuleType | None = value
    else:
        module = sys.modules.get(getattr(value, "__module__", None) or type(value).__module__)
        # Or an object that a module makes for all, such as a distribution of SciPy.
        is_code = isinstance(value, type | FunctionType | BuiltinFunctionType | np.ufunc)
        if not is_code and (module is None or vars(module).get(name) is not value):
            return False
    if module is None or module.__name__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is None or _is_installed(file)


_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, np.generic, Fraction, Decimal, range,
    Enum, Path, re.Pattern,
)  # fmt: skip


def digest(content: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of JSON data."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:16]
