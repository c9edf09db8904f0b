"""Small wrong changes of what decides privacy and correctness, and the tests that must notice each.

A mutation that changes nothing but speed is none: of each the reason says what would be wrong.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A wrong program: one text of a file in ``src/warner`` stands for another."""

    file: str
    old: str  # occurs exactly once
    new: str
    wrong: str  # what goes wrong, in words
    tests: tuple[str, ...]  # those nearest to it, under tests


_SAMPLING = ("laws/_core/test_sampling.py", "parity/_core/test_sampling.py")
_ORDERS = ("spec/_core/test_shuffle.py", "parity/_core/test_sampling.py")
_DIRECT = (
    "laws/mechanisms",
    "parity/mechanisms/test_laws.py",
    "spec/mechanisms/test_mechanisms.py",
)
_PRIVACY = (
    "parity/test_report_laws.py",
    "spec/test_privacy.py",
    "laws/test_privacy.py",
    "spec/mechanisms/test_metric.py",
)
_ESTIMATES = (
    "spec/estimators/test_inversion.py",
    "spec/estimators/test_estimators.py",
    "parity/estimators/test_maximum_likelihood.py",
    "laws/estimators/test_estimators.py",
)
_INTERVALS = (
    "spec/results/test_intervals.py",
    "parity/results/test_intervals.py",
    "spec/results/test_reports_per_person.py",
)
_TALLIES = (
    "spec/reports/test_simulated.py",
    "spec/reports/test_grouped_tally.py",
    "laws/reports/test_tally.py",
    "spec/results/test_reports_per_person.py",
)
_STORES = (
    "spec/collector/test_stores.py",
    "spec/collector/test_collector.py",
    "spec/collector/test_backups.py",
)
_INTAKE = ("spec/collector/web/test_application.py", "laws/collector/test_over_http.py")
_REGRESSION = (
    "parity/regression/test_pieces.py",
    "parity/regression/test_answer.py",
    "spec/regression/test_answer.py",
    "spec/regression/test_models.py",
)

MUTATIONS = [
    # How random words become decisions, subsets and orders.
    Mutation(
        "_core/sampling.py",
        "result = head < pivot\n        tied = np.flatnonzero(head == pivot)\n"
        "        if tied.size:\n            low =",
        "result = head <= pivot\n        tied = np.flatnonzero(head == pivot)\n"
        "        if tied.size > 1:\n            low =",
        "one decision alone is made by 16 bits",
        _SAMPLING,
    ),
    Mutation(
        "_core/sampling.py",
        'codes = np.searchsorted(edges, u, side="right")',
        'codes = np.searchsorted(edges, u, side="left")',
        "words at the edge of a byte's cell count for the cell before",
        _SAMPLING,
    ),
    Mutation(
        "_core/sampling.py",
        "code[block][u[block] >= np.uint64(total)] = count + _BEYOND",
        "code[block][u[block] > np.uint64(total)] = count + _BEYOND",
        "the first word beyond all cells is not drawn again",
        _SAMPLING,
    ),
    Mutation(
        "_core/sampling.py",
        "order[start:stop] = order[start:stop][permutation(source, stop - start)]",
        "order[start:stop] = order[start:stop]",
        "rows that draw one place keep their order",
        _ORDERS,
    ),
    Mutation(
        "_core/sampling.py",
        "yield block[permutation(self._source, len(block))]",
        "yield block",
        "rows from a temporary file stay in the order in which they came, within a bucket",
        _ORDERS,
    ),
    Mutation(
        "_core/sampling.py",
        "if isinstance(bits, _OF_WORDS):",
        "if True:",
        "words of the Mersenne twister have 32 bits",
        _SAMPLING,
    ),
    Mutation(
        "_core/special.py",
        "unfinished &= np.abs",
        "unfinished = np.abs",
        "gamma probabilities of many points take ten thousand steps",
        ("parity/_core/test_special.py",),
    ),
    # Whether reports were left out.
    Mutation(
        "mechanisms/copies.py",
        "evenly = min(least * reports, 1 - 1e-12)",
        "evenly = 1 - 1e-12",
        "people who answer differently seldom send one report, and are told to have been dropped",
        ("spec/mechanisms/test_copies.py",),
    ),
    # The laws of the simplest mechanism, and of any matrix.
    Mutation(
        "mechanisms/direct.py",
        "return down(divide(other_width, ONE) * odds), other_width",
        "return down(divide(other_width, ONE) * odds) + 1, other_width",
        "the true answer's width is rounded up: more than epsilon",
        _DIRECT,
    ),
    Mutation(
        "mechanisms/direct.py",
        "wrong >= true",
        "wrong > true",
        "the true answer takes the chance of another one",
        _DIRECT,
    ),
    Mutation(
        "mechanisms/direct.py",
        "total = true_width + (size - 1) * other_width",
        "total = true_width + size * other_width",
        "the stated law is not the sampled one",
        _DIRECT,
    ),
    Mutation(
        "mechanisms/direct.py",
        'report[rows] = np.minimum(np.searchsorted(edges, u[rows], side="right"), last)',
        'report[rows] = np.minimum(np.searchsorted(edges, u[rows], side="left"), last)',
        "a word at an edge makes the report before it",
        _DIRECT,
    ),
    Mutation(
        "mechanisms/direct.py",
        "if realised > self.requested:",
        "if realised > self.requested + 0.01:",
        "a matrix may need a little more than its budget",
        _DIRECT,
    ),
    # The epsilon that a law really has.
    Mutation(
        "privacy/report_laws.py",
        "for a, b in ((true_bit, other_bit), (other_bit, true_bit)):",
        "for a, b in ((true_bit, other_bit),):",
        "of two bits that differ one is forgotten",
        _PRIVACY,
    ),
    Mutation(
        "privacy/report_laws.py",
        "return INFINITE if INFINITE in ratios else math.prod(ratios, start=Fraction(1))",
        "return INFINITE if INFINITE in ratios else max(ratios)",
        "several reports tell as much as the worst of them",
        _PRIVACY,
    ),
    Mutation(
        "privacy/report_laws.py",
        "slopes = (row[:, None] - row[None, :] + ROUNDING",
        "slopes = (row[:, None] - row[None, :] - ROUNDING",
        "an epsilon from logarithms is lowered by their error",
        _PRIVACY,
    ),
    Mutation(
        "privacy/report_laws.py",
        "total = max(total, high / low, low / high)",
        "total = max(total, high / low)",
        "evidence against a sensitive value is not counted",
        _PRIVACY,
    ),
    Mutation(
        "privacy/guarantees.py",
        "if product < math.inf else None",
        "if product <= math.inf else None",
        "a metric guarantee without limit ends in another error",
        _PRIVACY,
    ),
    Mutation(
        "privacy/guarantees.py",
        "if exact is not None and Fraction(product) < exact:\n"
        "            return math.nextafter(product, math.inf)",
        "if exact is not None and Fraction(product) < exact:\n"
        "            return math.nextafter(product, -math.inf)",
        "the epsilon between the farthest values is rounded down",
        _PRIVACY,
    ),
    # Estimates.
    Mutation(
        "estimators/inversion.py",
        "variance = spread * data.n / (data.n - 1) if data.n > 1",
        "variance = spread if data.n > 1",
        "the variance of a mean is that of the sample, too small for few people",
        _ESTIMATES,
    ),
    Mutation(
        "estimators/inversion.py",
        "if bias**2 <= noise:",
        "if bias**2 >= noise:",
        "a biased mean is taken where people are many",
        (*_ESTIMATES, "spec/mechanisms/test_numbers.py"),
    ),
    Mutation(
        "estimators/newton.py",
        "if state.gap < best.gap:",
        "if state.gap <= target:",
        "the best point is forgotten where none reaches the target",
        _ESTIMATES,
    ),
    Mutation(
        "estimators/newton.py",
        "hessian[np.diag_indices(size)] += z / theta",
        "hessian[np.diag_indices(size)] += z * theta",
        "steps at the border are wrong",
        _ESTIMATES,
    ),
    Mutation(
        "estimators/base.py",
        "return max(0.0, float(s.max()) - 1) * channel.rows_per_report",
        "return max(0.0, float(s.max()) - 1)",
        "the certificate of bit sums promises K times too much",
        _ESTIMATES,
    ),
    Mutation(
        "results/from_tally.py",
        'side_by_side(parts, "people")',
        "side_by_side(parts)",
        "people of the surer of two mechanisms count for more than their weights",
        ("parity/results/test_survey_designs.py",),
    ),
    # Intervals.
    Mutation(
        "results/intervals.py",
        "growth = n * (spent + np.log(max(spent, 1.0)) + 1) / most",
        "growth = n * (spent + np.log(max(spent, 1.0))) / most",
        "intervals at every look are not the published ones",
        _INTERVALS,
    ),
    Mutation(
        "results/intervals.py",
        '[alpha / 2, 1 - alpha / 2], axis=0, method="weibull")',
        "[alpha / 2, 1 - alpha / 2], axis=0)",
        "few replicates make narrow intervals",
        _INTERVALS,
    ),
    Mutation(
        "results/intervals.py",
        "not (data.weights[d <= 0] > 0).any()",
        "not (data.weights[d <= 0] >= 0).any()",
        "a saturated likelihood has the observed information, not the expected one",
        _INTERVALS,
    ),
    Mutation(
        "results/intervals.py",
        "chosen_of = np.minimum(1.0, ranks / max(shares.size - 1, 1))",
        "chosen_of = np.minimum(1.0, ranks / shares.size)",
        "the limits of a share that was chosen are wider than stated",
        _INTERVALS,
    ),
    Mutation(
        "results/share_noise.py",
        "return np.asarray(variance - (shares - shares**2))",
        "return np.asarray(variance + (shares - shares**2))",
        "intervals for the respondents count people as drawn twice",
        _INTERVALS,
    ),
    Mutation(
        "results/share_noise.py",
        'independent = data.n / data.reports_per_person if target == "population" else data.n',
        'independent = data.n if target == "population" else data.n',
        "several reports of one person count as several people near 0",
        _INTERVALS,
    ),
    # Tallies and their sums.
    Mutation(
        "reports/tally.py",
        "max(self.reports_per_person, other.reports_per_person)",
        "min(self.reports_per_person, other.reports_per_person)",
        "a sum forgets that people sent several reports",
        _TALLIES,
    ),
    Mutation(
        "reports/tally.py",
        "mark = [self.simulated, self.reports_per_person]",
        "mark = [False, self.reports_per_person]",
        "a simulation and real reports are equal",
        _TALLIES,
    ),
    Mutation(
        "reports/tally.py",
        "table[different] += np.add.reduceat(counted.counts[order], start, axis=0)",
        "table[different] = np.add.reduceat(counted.counts[order], start, axis=0)",
        "a group of two tallies has the counts of the last",
        _TALLIES,
    ),
    Mutation(
        "reports/tally.py",
        "self.is_trusted and other.is_trusted",
        "self.is_trusted or other.is_trusted",
        "forged counts are trusted beside trusted ones",
        (*_TALLIES, "spec/estimators/test_plausibility.py"),
    ),
    # Reports of real people, counted once.
    Mutation(
        "reports/sums_of_others.py",
        "return float(least[look.groups].sum())",
        "return float(least[look.groups].max())",
        "a compacted file whose groups tell together alone is counted beside its parts",
        ("spec/app/test_compacted_files.py",),
    ),
    Mutation(
        "collector/stores.py",
        '"secure_delete = ON",',
        '"secure_delete = OFF",',
        "ids of people stay in the file after the survey is closed",
        _STORES,
    ),
    Mutation(
        "collector/stores.py",
        "places.setdefault(content[start : start + ID_BYTES], start // ID_BYTES)",
        "places[content[start : start + ID_BYTES]] = start // ID_BYTES",
        "of two reports with one id the second is counted",
        _STORES,
    ),
    Mutation(
        "collector/stores.py",
        "is_behind = content == _sealed(last) and last > commits",
        "is_behind = content == _sealed(last) and last > commits + 1",
        "one lost commit goes unnoticed",
        _STORES,
    ),
    Mutation(
        "collector/stores.py",
        'self._run("VACUUM")',
        'self._run("SELECT 1")',
        "the file shows in which order reports came",
        _STORES,
    ),
    Mutation(
        "collector/web/intake.py",
        "if left or not 1 <= count <= MOST or not body.startswith(self._form.head):",
        "if left or not 1 <= count <= MOST:",
        "reports on another study are counted beside those of this one",
        _INTAKE,
    ),
    Mutation(
        "collector/web/intake.py",
        "if len(group) > 1 and isinstance(error, Refused) and error.position is not None:",
        "if len(group) > 2 and isinstance(error, Refused) and error.position is not None:",
        "a good request is refused together with the bad one beside it",
        _INTAKE,
    ),
    # Regression.
    Mutation(
        "regression/likelihood.py",
        "return gradient.ravel(), complete - missing, complete",
        "return gradient.ravel(), complete, complete",
        "errors of coefficients leave out the noise of the reports",
        _REGRESSION,
    ),
    Mutation(
        "regression/likelihood.py",
        "return pairs.outer(np.sqrt(pairs.counts)[:, None] * scores, pairs.group)",
        "return pairs.outer(pairs.counts[:, None] * scores, pairs.group)",
        "robust errors square the number of people who are alike",
        _REGRESSION,
    ),
    Mutation(
        "regression/likelihood.py",
        "among = squares - mean.T @ scores",
        "among = squares + mean.T @ scores",
        "the information about random intercepts is wrong",
        _REGRESSION,
    ),
    Mutation(
        "regression/likelihood.py",
        "logs = np.log(masses * scale / np.sqrt(2 * np.pi)) + 0.5 * (points**2 - nodes**2)",
        "logs = np.log(masses / np.sqrt(2 * np.pi)) + 0.5 * (points**2 - nodes**2)",
        "the weights of nodes do not know how close these are",
        _REGRESSION,
    ),
]
