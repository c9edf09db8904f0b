"""warner: learn the distribution of sensitive answers without collecting them.

values --randomize--> Reports --tally--> Tally --estimate--> Estimate

The names here serve most studies. The packages below hold all of them:

    warner.domains      what a person can answer
    warner.mechanisms   how an answer is randomised
    warner.privacy      guarantees, and how they compose
    warner.estimators   how shares are estimated from a tally
    warner.theory       expected errors in closed form
    warner.testing      tests for mechanisms and estimators of your own
    warner.io           report files and data frames
    warner.errors       every error that warner raises
    warner.metrics      losses between distributions
    warner.designs      questions on paper: crosswise, forced response and others
    warner.design       comparisons of methods and of ways to ask
    warner.results      graphical models, tests between groups, progress of long work
    warner.spark        reports in a Spark cluster
"""

from __future__ import annotations

from typing import Any as _Any

from warner._core.foreign_tables import ForeignTable as _ForeignTable, register_reader as _register
from warner._core.names import attach as _attach

__version__ = "0.1.0"

# A module is imported when one of its names is first asked for, so each program loads what it uses.
__getattr__, _, _names = _attach(__name__, __file__)

# Packages that are there without an import of their own, beside the names that serve most studies.
_PACKAGES = ("design", "designs", "metrics", "results", "spark")
_ROOMS = (
    "channels",
    "regression",
    "reports",
    "studies",
)  # in which scripts and messages name modules
__all__ = [name for name in _names if name not in (*_PACKAGES, *_ROOMS)]


def __dir__() -> list[str]:
    """The public names and packages, without modules that Python sets while it imports."""
    return sorted([*__all__, *_PACKAGES, "__version__"])


def _frame_of_reports(data: _Any) -> _ForeignTable | None:
    """The data frame that an object is, by a reader that is imported for such objects alone."""
    # Frames have columns by their class; data sets of Arrow have scanners, and readers streams.
    if not any(hasattr(type(data), name) for name in ("columns", "scanner", "__arrow_c_stream__")):
        return None
    from warner.io.frames import frame_of_reports

    return frame_of_reports(data)


_register(_frame_of_reports)
