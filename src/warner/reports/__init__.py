"""Reports, which are the columns that leave the device, and tallies, which are their counts."""

from warner._core.names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
