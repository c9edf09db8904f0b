"""Reports, which are the columns that leave the device, and tallies, which are their counts."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
