"""What results of somebody's own code depend on: the code, what it reads, the package's version."""

from __future__ import annotations

import ast
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
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from warner._core.text import canonical
from warner.domains import Domain
from warner.mechanisms import Mechanism
from warner.mechanisms.headers import is_of_package


@functools.lru_cache(maxsize=1)
def version_here() -> str:
    """The version of the package; "" where it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("warner")
    except PackageNotFoundError:
        return ""


def code_of(cls: type[Any]) -> str:
    """The code of a class and its author's modules that it imports; "" of a class of warner."""
    if is_of_package(cls):
        return ""
    try:
        sources = [inspect.getsource(each) for each in _own_modules(cls)]
        return f"{cls.__qualname__}: {''.join(sources or [inspect.getsource(cls)])}"
    except (OSError, TypeError):  # typed in, so that there is no file
        functions = [each for each in vars(cls).values() if hasattr(each, "__code__")]
        return f"{cls.__qualname__}: {[each.__code__.co_code.hex() for each in functions]}"


def _own_modules(cls: type[Any]) -> list[Any]:
    """The module of a class and all that it imports, without those of installed packages."""
    modules: dict[str, Any] = {}
    waiting = [inspect.getmodule(cls)]
    while waiting:
        module = waiting.pop()
        file = getattr(module, "__file__", None)
        if module is None or file is None or module.__name__ in modules or _is_installed(file):
            continue
        modules[module.__name__] = module
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                parents = module.__name__.split(".")[: -node.level] if node.level else []
                origin = ".".join([*parents, *([node.module] if node.module else [])])
                names = [origin, *(f"{origin}.{each.name}" for each in node.names)]
            waiting += [sys.modules.get(name) for name in names]
    return [modules[name] for name in sorted(modules)]


def _is_installed(file: str) -> bool:
    """Whether a file is of Python, of an installed package, or of this package."""
    paths = sysconfig.get_paths()
    roots = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    roots.add(str(Path(__file__).parents[1]))
    return any(Path(file).is_relative_to(root) for root in roots)


class _NoFormError(Exception):
    """A value that has no text which changes whenever the value does."""


def values_of(cls: type[Any]) -> tuple[dict[str, list[str]], list[str]]:
    """What the code of a class reads beside its options: {name: forms}, and names without a form.

    A name is read by a method of the class or by a function of its author that a method names.
    """
    read = _Read({}, [], set())
    read.follow(cls.__qualname__, cls)
    return read.forms, read.unknown


class _Read(NamedTuple):
    """The values that code reads, as they are found on the way through its functions."""

    forms: dict[str, list[str]]  # several of a name that is in several modules
    unknown: list[str]
    seen: set[int]

    def follow(self, name: str, value: Any) -> None:
        """Add a value, or what the code of a function or a class reads."""
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
                self.forms.setdefault(name, []).append(_form(value))
            except (_NoFormError, RecursionError):
                self.unknown.append(f"{name} ({type(value).__name__})")

    def _code(self, function: FunctionType, code: CodeType) -> None:
        """Add the globals that code reads, and the attributes of its author's modules."""
        value: Any = None
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                value = function.__globals__.get(step.argval)
                is_there = step.argval in function.__globals__
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType):
                is_there = not _is_imported("", value) and hasattr(value, step.argval)
                value = getattr(value, step.argval, None)
            else:
                value, is_there = None, False
            if is_there:
                self.follow(step.argval, value)
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                self._code(function, inner)


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


def _form(value: Any) -> str:
    """A text that changes whenever a value does."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {content}"
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple | list):
        return f"{type(value).__name__} {[_form(each) for each in value]}"
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__} {sorted(map(_form, value))}"
    if isinstance(value, Mapping):
        return f"{[(_form(key), _form(each)) for key, each in value.items()]}"
    if isinstance(value, Mechanism):
        return canonical(value.header)
    if isinstance(value, Domain):
        return canonical(value.spec())
    if is_dataclass(value) and not isinstance(value, type):
        options = {each.name: _form(getattr(value, each.name)) for each in fields(value)}
        return f"{type(value).__qualname__} {options}{code_of(type(value))}"
    raise _NoFormError


_PLAIN = (
    type(None), bool, int, float, complex, str, bytes, np.generic, Fraction, Decimal, range,
    Enum, Path, re.Pattern,
)  # fmt: skip


def digest(content: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of JSON data."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:16]
