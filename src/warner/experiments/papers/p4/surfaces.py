"""P4, figures 4 and 5: the log-likelihood of three values, where its maximum is and is not unique.

The rows of the matrices are values in the paper and columns here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warner.channels import DenseChannel
from warner.domains import Integers
from warner.estimators import ExpectationMaximization, MaximumLikelihood
from warner.estimators.likelihood_data import LikelihoodData
