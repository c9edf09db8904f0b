"""Packages that not every program uses: they are imported when they are first used.

One that is not installed is refused by a MissingExtraError with the command that installs it.
Labels on devices and in notebooks need NumPy alone; SciPy and Narwhals come with an ordinary
installation, and are left out by ``pip install --no-deps``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from warner._core.errors import MissingExtraError

__all__ = ["arrow_csv", "duckdb", "feather", "imported", "pa", "pc", "pq", "scipy"]

_EXTRAS = {
    "altair": "plot",
    "click": "cli",
    "duckdb": "files",
    "formulaic": "formula",
    "httptools": "serve",
    "jinja2": "serve",
    "openpyxl": "excel",
    "ot": "emd",
    "psycopg": "postgres",
    "pyarrow": "files",
    "pyxform": "xlsform",
    "rich": "cli",
    "sqlglot": "sql",
    "starlette": "serve",
    "typst": "report",
    "uvicorn": "serve",
    "vl_convert": "plot",
}


def imported(name: str, purpose: str | None = None) -> ModuleType:
    """Import a module of an extra that ``purpose`` needs; None for the package itself."""
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or package).partition(".")[0] != package:
            raise
    rule = "is not installed" if purpose is None else f"needs {package}, which is not installed"
    extra = _EXTRAS.get(package)  # None for what comes with every ordinary installation
    remedy = f"Run pip install {package}" if extra is None else f'Run pip install "warner[{extra}]"'
    raise MissingExtraError(purpose or package, rule, None, remedy)


class _Extra:
    """Stands for a module, and imports it when one of its names is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # tools look for such names in everything
        if self._module is None:
            self._module = imported(self._name)
        return getattr(self._module, name)


if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as arrow_csv
    import pyarrow.feather as feather
    import pyarrow.parquet as pq
    import scipy
else:
    duckdb = _Extra("duckdb")
    pa, pc = _Extra("pyarrow"), _Extra("pyarrow.compute")
    arrow_csv, pq = _Extra("pyarrow.csv"), _Extra("pyarrow.parquet")
    feather, scipy = _Extra("pyarrow.feather"), _Extra("scipy")
