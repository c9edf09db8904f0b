"""What the results of somebody's own code depend on: the code itself, and the package's version."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import sys
import sysconfig
from pathlib import Path
from typing import Any

from warner._core.text import canonical
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


def digest(content: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of JSON data."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()[:16]
