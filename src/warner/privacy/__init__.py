"""Privacy guarantees, and the exact distributions of reports from which they are computed."""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
