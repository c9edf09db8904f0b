"""The rows of a channel that belong to given reports."""

from __future__ import annotations

import numpy as np

from warner.mechanisms import Mechanism
from warner.reports.reports import Reports
from warner.results.from_tally import likelihood_data


def _rows(mechanism: Mechanism) -> np.ndarray:
    """What each possible report adds to the weights, (outputs, rows of the channel), by tallying it
    alone.
    """
    outputs = Reports(mechanism.header, mechanism.outputs())
    return np.stack(
        [likelihood_data(mechanism.tally(outputs[i : i + 1])).weights for i in range(len(outputs))]
    )
