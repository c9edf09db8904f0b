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

__all__ = ["arrow_csv", "duckdb", "feather", "imported", "not_installed", "pa", "pc", "pq", "scipy"]

_EXTRAS = {
    "altair": "plot",
    "babel": "serve",
    "click": "cli",
    "cryptography": "serve",
    "duckdb": "files",
    "formulaic": "formula",
    "httptools": "serve",
    "jinja2": "serve",
    "openpyxl": "excel",
    "ot": "emd",
    "playwright": "verify",
    "psycopg": "postgres",
    "pyarrow": "files",
    "pyxform": "xlsform",
    "rich": "cli",
    "segno": "serve",
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
    raise not_installed(package, purpose)


def not_installed(
    package: str, purpose: str | None = None, otherwise: str = ""
) -> MissingExtraError:
    """The error that a package is missing; ``otherwise`` says what else can be done."""
    rule = "is not installed"
    if purpose is not None:
        rule = f"needs the package {package}, which is not installed"
    extra = _EXTRAS.get(package)  # None for what comes with every ordinary installation
    command = package if extra is None else f'"warner[{extra}]"'
    remedy = f"Run: pip install {command}{otherwise}"
    return MissingExtraError(purpose or package, rule, None, remedy)


class Deferred:
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
    duckdb = Deferred("duckdb")
    pa, pc = Deferred("pyarrow"), Deferred("pyarrow.compute")
    arrow_csv, pq = Deferred("pyarrow.csv"), Deferred("pyarrow.parquet")
    feather, scipy = Deferred("pyarrow.feather"), Deferred("scipy")
