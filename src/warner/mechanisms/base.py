"""The base class of mechanisms, which joins the device, the collector and the audit of one law.

A new mechanism declares its schema (the columns of a report), its law (exact likelihood ratios),
its sampler and its channel. For the audit it also lists the exact probabilities of all its reports.
Checks, serialised forms, tallies and headers follow from these.
"""

from __future__ import annotations

from warner.mechanisms.collector import Collector
from warner.mechanisms.device import Randomizer
from warner.mechanisms.enumeration import Enumeration


class Mechanism(Randomizer, Collector, Enumeration):
    """A local randomiser on a domain. Abstract.

    The three bases have one file each:

    - :class:`~warner.mechanisms.device.Randomizer`: ``encode``, ``randomize``;
    - :class:`~warner.mechanisms.collector.Collector`: ``reports``, ``tally``, ``channel``;
    - :class:`~warner.mechanisms.enumeration.Enumeration`: ``outputs``, ``probabilities``.

    Their common part (``domain``, ``epsilon``, ``guarantee``, ``header``) is a
    :class:`~warner.mechanisms.description.Description`.
    """
