"""The tuned constants of empirical Bayes, each with its reason.

Two benchmarks judge the method as a whole: ``bench/shrinkage_errs_least.py``, on draws that nothing
was designed on, and ``bench/accuracy.py``, the league. "Tuned" below means: chosen in simulations
during development, and judged since by these two only. Where a test shows that another value does
harm, the test is named. Where a constant follows from an argument, the argument stands there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Settings:
    """The constants, by the file that uses them.

    Shares are in units of 1, and noise is in units of its standard deviation.
    """

    # ---- estimator.py
    # A second pass is made where the reports are worth this many times as much. Less than 1 % more
    # reports does not repay the pass.
    worthwhile_gain: float = 1.01
    # Largest number of rows of data that tell predictions apart. Beyond, the prior is learnt
    # without the predictions, which bounds the time of a fit.
    most_rows: int = 256

    # ---- whole_reports.py
    # Whole reports are used from this many reports per value on. With fewer, one Newton step is
    # far from efficient. Tuned.
    reports_per_value: float = 10
    # Largest number of multiplications for whole reports: some seconds of one
    # core.
    whole_report_work: float = 1e10
    # Gain in variance for which reports that are all listed are weighted by their probabilities.
    # Up to a gain of 0.04 on paper, errors were within 0.3 % of those without (Hadamard response
    # of 260 to 1000 values, 25 runs each), and the second pass doubles the time.
    gain_of_weights: float = 0.05
    # Random signs in the vectors that estimate a trace, and the number of the most common values,
    # whose part of it is exact. tests/parity, test_whole_reports.py: it is then within 1 %.
    trace_numbers: int = 4096
    trace_values: int = 8
    # Residual of the conjugate gradients, relative to that of no step. The step is about as large
    # as the noise, so the rest is far below it.
    step_precision: float = 1e-8
    # Steps of the conjugate gradients; 20 are usual, and 60 where most people have one value.
    step_iterations: int = 200

    # ---- small_domain.py
    # Largest domain with the exact sum. Measured: the two methods err about equally at 10 values;
    # at 20 values the learnt prior errs a few per cent less.
    small_domain: int = 7
    # Concentrations per value of the symmetric Dirichlet laws: from one value having everything
    # (1/16) to all values alike (128).
    # tests/statistical, test_small_domain.py: draws under this mixture cover the truth.
    dirichlet_concentrations: tuple[float, ...] = tuple(float(2.0**k) for k in range(-4, 8))
    # The weight of concentration 2^k before the data is this to the power |k|. So the flat law,
    # k = 0, weighs most. Equal weights err most at shares near those that they favour: for two
    # values the largest error over all shares was 1.33 times that of the projected inversion, and
    # the mean over all shares 1.07 times. With the flat law alone these are 1.19 and 0.97, but
    # shares near 0, or all alike, err up to 30 times the best method's error.
    # bench/few_values_err_little.py: the errors on the whole simplex.
    dirichlet_weight: float = 0.6
    # Lattice steps per sd of the least noise, at least: sums over the lattice are then integrals
    # to 1e-8.
    lattice_steps: float = 3.0
    # Steps of the lattice over [0, 1]. Finer lattices cost more than the exact sum is worth, for
    # with so little noise shares hardly shrink.
    coarsest_lattice: int = 2**8
    finest_lattice: int = 2**12

    # ---- noise.py
    # Distance of atoms: a prior with finer structure than 0.4 sd cannot be told from one without.
    atom_step: float = 0.4
    # Atoms reach this far from any estimate: beyond 4.5 sd a normal law has 7e-6 of its mass.
    atom_reach: float = 4.5
    # Ratio of neighbouring atoms below the resolution of the noise. Tuned.
    atom_ratio: float = 1.25
    # Smallest atom above 0, in units of 1/K: smaller shares count as absent. Tuned.
    lowest_atom: float = 0.03
    # Largest number of atoms; bounds the time of a fit.
    most_atoms: int = 1000
    # Largest number of kinds of noise with separate atoms; beyond, the least noise stands for
    # all. Bounds the number of atoms.
    most_noise_kinds: int = 8
    # Values whose data are closer than this are one row of the prior's data. A quarter of
    # ``atom_step``; tests/parity, test_prior.py: finer rows give the same prior.
    row_width: float = 0.1
    # Estimates closer than this, in units of the least noise, are the same. Far below what a
    # likelihood can tell, and far above rounding errors.
    same_estimate: float = 1e-9
    # Largest number of multiplications for the exact variance of a hash pool's
    # inverse, a fraction of a second.
    exact_pool_work: float = 1e8

    # ---- neighbours.py
    # Smallest domain with predictions: 32 values have 16 frequencies. Below, a pattern in the
    # spectrum is mostly chance. Tuned.
    least_values_in_order: int = 32
    # Frequencies within this factor have like powers, as in smooth spectra, which fall like powers
    # of the frequency. Tuned.
    near_frequencies: float = 1.5
    # Observations that near frequencies count for at most. A single line (a period) has none near
    # and is judged by all frequencies. Tuned.
    near_weight: float = 4.0
    # Observations that the base of the prior of powers counts for; half of it is on no power.
    power_pseudo_observations: float = 2.0
    # Sweeps of the prior of powers; it is usually steady after fewer.
    power_sweeps: int = 25
    # No prediction where (slope / its standard error)^2 is below this; above, the squared slope is
    # reduced by as much. Without order the ratio is chi-square with 1 degree of freedom: above 5
    # once in forty, half of these with the wrong sign.
    # tests/statistical, test_neighbours.py: labels in no order lose little.
    clear_slope: float = 5.0
    # The standard error holds for a z of its own. Shares in chance order make z too. Their
    # covariance with z is a sum over K / 2 frequencies of exponential powers p, (gain - h) p. The
    # second moment of p is twice its square, that of p^2 gain more. 1 + 3 covers shuffled shares.
    chance_order: float = 3.0
    # Noise makes z as shares in chance order do. Its slope has four times the variance too, which
    # matters where d is noise alone, as with more values than reports. This many values count as
    # before: they were tuned without it, and accept one shuffled order in twenty.
    values_of_chance: float = 1000.0
    # Largest sum of fourth powers over the squared sum of squares: then no fewer than ten values
    # make up the spread. tests/statistical, test_neighbours.py rejects the method with neither
    # this limit nor ``odd_value``.
    peakedness: float = 0.1
    # The likelihood of a prediction far from the share, relative to its peak: odd values are not
    # in line with the others.
    odd_value: float = 0.01
    # Smallest sd of a prediction: half of ``atom_step``, which could not tell finer ones.
    finest_prediction: float = 0.2

    # ---- prior.py
    # Shapes of the Gamma laws: from a few large shares to all alike. Tuned as a grid.
    gamma_shapes: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 4.0, 12.0, 50.0, 300.0)
    # Mean of the bulk in units of 1/K; the other values are few and large. Tuned as a grid.
    bulks: tuple[float, ...] = (
        *(1.0, 0.93, 0.85, 0.75, 0.65, 0.5, 0.35, 0.2, 0.08, 0.03, 0.01, 0.001),
    )
    # The share of the values that is present, in laws with absent values. Tuned as a grid.
    present: tuple[float, ...] = (0.1, 0.25, 0.5)
    # Pseudo-observations of the base law; infinity is the base alone.
    # tests/statistical, test_prior.py rejects (0.01,), the nonparametric prior.
    base_concentrations: tuple[float, ...] = (6.0, 24.0, np.inf)
    # Sweeps of the posteriors; they are usually steady after fewer.
    prior_sweeps: int = 30
    # Where data cannot tell laws apart, that of smaller risk counts more: weights are divided by
    # the risk. That minimises the expected ratio of the error to the error under each law, not the
    # expected error. Risks below ``risk_floor`` / K^2 per value count as equal. Tuned.
    risk_floor: float = 1e-2


SETTINGS = Settings()
