"""Methods of the literature, kept for comparison and for reproducing published results.

Each method works as its paper says. No method here is recommended, because those in the right
column err less. ``docs/estimators.md`` has the figures, which are measured by
``bench/accuracy.py``, ``python -m papers P1`` and ``bench/logspline_against_smoothed_em.py``.

| method here          | published in                    | use instead                          |
| -------------------- | ------------------------------- | ------------------------------------ |
| ``BiasCorrection``   | [P1 alg 2]                      | ``MaximumLikelihood()``              |
| ``MixtureReduction`` | [P3 algs 1-3]                   | ``EmpiricalBayes()``                 |
| ``SmoothedEM``       | Li et al. (2020), EMS           | ``LogSpline()``                      |
| ``WienerFilter``     | Fang et al. (2023), IIW         | ``EmpiricalBayes()``, ``LogSpline()``|

>>> from warner.estimators.literature import SmoothedEM
>>> SmoothedEM()
SmoothedEM(tolerance=0.001, steps=10000)
"""

from __future__ import annotations

from warner.estimators.literature.bias_correction import BiasCorrection
from warner.estimators.literature.mixture_reduction import MixtureReduction
from warner.estimators.literature.smoothed_em import SmoothedEM, WienerFilter

__all__ = ["BiasCorrection", "MixtureReduction", "SmoothedEM", "WienerFilter"]
