"""Which partition a worker works on."""

from __future__ import annotations


def partition() -> int | None:
    """The number of the partition of this worker; None outside Spark, and where it is not known.

    >>> partition() is None
    True
    """
    try:
        from pyspark import TaskContext

        context = TaskContext.get()
        return None if context is None else int(context.partitionId())
    except Exception:  # pyspark is not there, or the engine has no such context
        return None
