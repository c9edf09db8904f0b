"""Estimates, and what is computed from them: intervals, summaries, tables and charts."""

from warner._core.names import attach
from warner._core.progress import progress

__getattr__, __dir__, _names = attach(__name__, __file__)
__all__ = [*_names, "progress"]
