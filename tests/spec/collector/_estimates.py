"""Estimates that go wrong in another process; it starts sooner where it imports no tests."""

from __future__ import annotations

import time

from warner.collector.live.estimates import Shown, StepEstimates
from warner.collector.live.state import Step


class Hungry(StepEstimates):
    """Takes far more memory than it may for one question."""

    def shown(self, step: Step, name: str) -> Shown:
        if name == "smokes":
            bytearray(2**31)
        return super().shown(step, name)

    def file(self, step: Step, name: str) -> str | bytes:
        return str(list(step.tallies))


class Endless(StepEstimates):
    """Never ends."""

    def shown(self, step: Step, name: str) -> Shown:
        time.sleep(600)
        raise AssertionError
