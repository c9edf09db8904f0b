"""Reports in a Spark cluster: counted there by the library's own counters, and made there.

A Spark frame can also be given to ``mechanism.tally``: it is then counted by one GROUP BY per
column, which needs nothing on the cluster. The functions here run the counters of warner in the
Python workers of the cluster, so warner must be installed there. They are faster for reports of
bits, and they count what no GROUP BY of columns counts: hashes, tuples and blocks of reports.

Spark Connect and Sail have the same frames. Needs ``pip install "warner[spark]"``.
"""

from __future__ import annotations

from warner.spark.randomizing import randomize
from warner.spark.tallying import tally

__all__ = ["randomize", "tally"]
