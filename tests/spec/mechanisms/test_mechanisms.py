"""Options, matrices and families of mechanisms."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.io._sealed import COIN
from warner import Integers, LocalHashing, Tally, UtilityOptimizedRR
from warner._core.exact import log_ratio
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    MismatchError,
    ReportError,
    ValuesError,
    WarnerError,
)
from warner.mechanisms import UtilityOptimizedRappor, from_header
from warner.privacy import ULDP
from warner.privacy.report_laws import worst_ratio
from warner.reports.reports import Reports
from warner.reports.tally_kinds import Counted


def test_variants_may_be_written_in_capitals_as_in_papers() -> None:
    """Rejects two headers for one law: reports of the two would not add up."""
    domain = warner.Integers(0, 3)
    assert warner.UnaryEncoding(domain, 1.0, "OUE") == warner.UnaryEncoding(domain, 1.0, "oue")
    guarded = [UtilityOptimizedRappor(domain, 1.0, [0], variant) for variant in ("Best", "best")]
    assert guarded[0] == guarded[1] and guarded[0].options() == {"variant": "best"}
    refused(ArgumentError, "must be 'sue', 'oue'", warner.UnaryEncoding, domain, 1.0, "OUEE")


def test_mechanism_options_are_checked() -> None:
    domain = warner.Integers(0, 9)
    for build in (
        lambda: warner.UnaryEncoding(domain, 1.0, variant="best"),
        lambda: warner.UnaryEncoding(domain, 1.0, variant=1.0),
        lambda: warner.UnaryEncoding(domain, 1.0, variant=0.0),
        lambda: warner.UnaryEncoding(domain, 1.0, variant=None),
        lambda: warner.LocalHashing(domain, 1.0, buckets=1),
        lambda: warner.LocalHashing(domain, 1.0, seeds=0),
        lambda: warner.LocalHashing(domain, 1.0, seeds=1.5),
        lambda: warner.LocalHashing(domain, 1.0, seeds=2**40),
        lambda: warner.SubsetSelection(domain, 1.0, size=10),
        lambda: warner.SubsetSelection(domain, 1.0, size=0),
        lambda: warner.MatrixMechanism(domain, np.eye(9)),
        lambda: warner.MatrixMechanism(domain, np.full((2, 10), 0.4)),
        lambda: warner.MatrixMechanism(domain, "matrix"),
        lambda: warner.MatrixMechanism(domain, np.full((2, 10), np.nan)),
        lambda: warner.MatrixMechanism(warner.Integers(0, 1), [[1e-12, 0.5], [1 - 1e-12, 0.5]]),
        lambda: warner.RandomizedResponse(["a", "b"], 1.0),
        lambda: warner.Categorical(["a"]),
        lambda: warner.Categorical(["a", "a"]),
        lambda: warner.Categorical([1, True]),
        lambda: warner.Categorical([1.5, 2.5]),
        lambda: warner.Categorical("abc"),
        lambda: warner.Integers(3, 3),
        lambda: warner.Interval(1, 0, 4),
        lambda: warner.Interval(0, 1, 1),
        lambda: warner.Interval(0, float("inf"), 4),
        lambda: warner.Grid(1, 1),
        lambda: warner.Grid(2, 2, side=0),
        lambda: warner.Product(),
        lambda: warner.Product(a=3),
    ):
        said = refused((ArgumentError, ArgumentTypeError), "", build)
        assert ": " in said and said.endswith(".")


def test_a_channel_keeps_the_budget_it_is_given() -> None:
    domain, matrix = warner.Integers(0, 1), [[0.75, 0.25], [0.25, 0.75]]
    assert warner.MatrixMechanism(domain, matrix, epsilon=1.2).requested == 1.2
    with pytest.raises(BudgetError, match=r"needs an epsilon of at least 1\.09"):
        warner.MatrixMechanism(domain, matrix, epsilon=1.0)
    # The budget that it has is enough, and the next smaller float is not.
    least = warner.MatrixMechanism(domain, matrix).epsilon
    assert warner.MatrixMechanism(domain, matrix, epsilon=least).epsilon == least
    refused(BudgetError, "", warner.MatrixMechanism, domain, matrix, math.nextafter(least, 0))
    refused(
        BudgetError,
        "keeps no epsilon, because a row has 0 beside larger entries",
        warner.MatrixMechanism,
        domain,
        [[1.0, 0.5], [0.0, 0.5]],
        1.0,
    )
    transposed = "Its rows sum to 1: pass the transposed matrix"
    refused(ArgumentError, transposed, warner.MatrixMechanism, domain, [[0.75, 0.25], [0.5, 0.5]])
    certain = warner.MatrixMechanism(domain, [[1.0, 0.5], [0.0, 0.5]])
    assert certain.epsilon == float("inf")
    assert certain.randomize([0] * 50).columns["report"].max() == 0


def test_messages_state_name_rule_value_and_remedy() -> None:
    said = refused(BudgetError, "", warner.RandomizedResponse, warner.Integers(0, 1), -1)
    assert said == "epsilon: must be above 0; got -1.0. Pass a positive number such as 1.0."
    said = refused(ValuesError, "", warner.Categorical(["no", "yes"]).encode, ["no", "perhaps"])
    assert said == (
        "values: position 1: must be one of 'no', 'yes'; got another string. "
        "Correct the answers, or allow one more value, such as 'other'."
    )


def test_outputs_of_other_packages_are_taken_where_they_are_exact() -> None:
    unary, coin = warner.UnaryEncoding(Integers(0, 2), 1.0), COIN
    bits = np.array([[0, 1, 1], [1, 0, 0]])
    wanted = unary.reports(bits).columns["bits"].tolist()
    for dtype in (bool, np.float32, np.float64, np.float16, np.int8, np.uint64):
        assert unary.reports(bits.astype(dtype)).columns["bits"].tolist() == wanted
        assert coin.reports(bits[0].astype(dtype)).columns["report"].tolist() == [0, 1, 1]
    assert coin.reports([0.0, 1.0]).columns["report"].tolist() == [0, 1]
    for outputs in ([0.5, 1], [float("nan"), 1], [float("inf"), 0], [1 - 2**-53, 0]):
        refused(ReportError, r"1 of 2 float64 values.*zeros and ones", coin.reports, outputs)
    refused(ReportError, "got texts. Convert the array", coin.reports, ["0", "1"])
    refused(ReportError, "0 to 1", coin.reports, [2.0, 0.0])


def test_matrices_that_would_lose_a_part_are_refused() -> None:
    plain = np.array([[0.7, 0.3], [0.3, 0.7]])
    domain = warner.Integers(0, 1)
    wrong: list[tuple[Any, str]] = [
        (plain + 1j * np.array([[1, 1], [-1, -1]]), "real numbers"),
        ([[0.7 + 1j, 0.3], [0.3, 0.7]], "real numbers"),
        (np.ma.array(plain, mask=[[True, False], [False, False]]), "no masked"),
        ([["a", "b"], ["c", "d"]], "array of numbers"),
    ]
    for matrix, rule in wrong:
        refused(WarnerError, f"matrix: must .*{rule}", warner.MatrixMechanism, domain, matrix)
        with pytest.raises(WarnerError, match=f"matrix: must .*{rule}"):
            warner.privacy.postprocessing.decompose(matrix, [True, False])
    assert (
        warner.MatrixMechanism(domain, np.ma.array(plain)).header
        == warner.MatrixMechanism(domain, plain).header
    )


# What local hashing promises: its defaults, what it refuses, and what old files need.


TEN = Integers(0, 9)


def test_the_smallest_field_and_the_tally_that_fits_are_the_default() -> None:
    few, many = LocalHashing(TEN, 1.0), LocalHashing(Integers(0, 4999), 1.0)
    assert (few.prime, few.whole_reports, few.seeds) == (11, True, None)
    assert (many.prime, many.whole_reports) == (5003, False)
    assert few.parameters() == {"buckets": 4, "prime": 11, "whole_reports": True}
    assert from_header(many.header).header == many.header


def test_a_pool_of_seeds_is_as_before() -> None:
    """The header of a file that an earlier version wrote, and its reports by the same generator."""
    pool = LocalHashing(TEN, 1.0, seeds=64)
    assert pool.parameters() == {"buckets": 4, "seeds": 64}
    assert pool.thresholds()["hash_family"] == "1"
    reports = pool.randomize([3, 1, 4, 1, 5], np.random.default_rng(2))
    assert {name: column.tolist() for name, column in reports.columns.items()} == {
        "seed": [22, 53, 0, 16, 28],
        "bucket": [2, 1, 1, 2, 1],
    }
    assert pool.whole_reports and pool.prime is None


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"prime": 7}, ArgumentError),
        ({"prime": 13}, ArgumentError),
        ({"prime": 15}, ArgumentError),
        ({"prime": 2**40}, ArgumentError),
        ({"seeds": 8, "prime": 11}, ArgumentError),
        ({"seeds": 8, "whole_reports": True}, ArgumentError),
        ({"whole_reports": 1}, ArgumentTypeError),
        ({"whole_reports": True, "prime": 10007}, ArgumentError),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], error: type[Exception]) -> None:
    refused(error, "", LocalHashing, TEN, 1.0, **wrong)


def test_two_to_the_26_values_are_reported_and_counted() -> None:
    """The counts themselves would take a while; the columns and the law take nothing."""
    mechanism = LocalHashing(Integers(0, 2**26 - 1), 2.0)
    reports = mechanism.randomize([0, 2**26 - 1, 12345], np.random.default_rng(0))
    assert mechanism.schema.cells == 2**26 and 1.99 < mechanism.epsilon <= 2
    assert {column.dtype.itemsize for column in reports.columns.values()} == {1, 4}


def test_both_tallies_count_the_same_reports(tmp_path: Path) -> None:
    """Whole reports that are kept have the likelihood of the tally of whole reports."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 10, 3000)
    found = {}
    for whole in (True, False):
        mechanism = LocalHashing(TEN, 1.0, whole_reports=whole)
        reports = mechanism.randomize(values, np.random.default_rng(4))
        half = [mechanism.reports({k: v[i::2] for k, v in reports.columns.items()}) for i in (0, 1)]
        for keep in (False, True):
            tally = sum(mechanism.tally(part, keep_reports=keep) for part in half)
            assert isinstance(tally, Tally)
            assert (tally.counts == mechanism.tally(reports, keep_reports=keep).counts).all()
            tally.save(tmp_path / "t.json")
            assert Tally.load(tmp_path / "t.json") == tally
            found[whole, keep] = tally
    inverted = [warner.estimate(t, warner.Inversion()).probabilities for t in found.values()]
    for other in inverted[1:]:
        assert other == pytest.approx(inverted[0], abs=1e-12)
    whole, kept = found[True, False], found[False, True]
    best = [warner.estimate(t, warner.MaximumLikelihood()) for t in (whole, kept)]
    assert best[0].probabilities == pytest.approx(best[1].probabilities, abs=1e-6)
    assert best[0].log_likelihood == pytest.approx(best[1].log_likelihood, rel=1e-12)


def test_kept_reports_that_cannot_be_are_refused() -> None:
    mechanism = LocalHashing(TEN, 1.0, whole_reports=False)
    reports = mechanism.randomize([1, 2], np.random.default_rng(5))
    tally = mechanism.tally(reports, keep_reports=True)
    assert tally.rows is not None
    for rows in (tally.rows + np.uint8(200), tally.rows[:, :2]):
        refused((MismatchError, ReportError), "", mechanism.report_channel, rows)


@pytest.mark.parametrize(
    "counts",
    [[60] * 10, [0] * 10, [60, 60, 60, 1, 1, 1, 1, 1, 1, 1], [5] * 10],
)
def test_support_counts_that_no_reports_have_are_refused(counts: list[int]) -> None:
    """p = 11 and g = 4: each report supports 2 or 3 residues, of which 10 are values."""
    hashing = LocalHashing(TEN, 1.0, whole_reports=False)
    tally = hashing.tally(hashing.randomize([1, 2, 3] * 20))
    warner.estimate(tally)
    with pytest.raises(MismatchError, match="has counts that"):
        forged = Counted.together(tally.kind, np.array(counts), tally.n)
        warner.estimate(Tally(tally.header, forged))


def test_the_bounds_of_support_counts_are_reached() -> None:
    """Every report alone passes: the bounds are not too strict."""
    for values, prime, buckets in [(10, 11, 4), (2, 2, 3), (3, 17, 2), (5, 5, 5)]:
        domain = Integers(0, values - 1)
        hashing = LocalHashing(domain, 1.0, buckets, prime=prime, whole_reports=False)
        outputs = hashing.outputs()
        for first in range(0, hashing.n_reports, 7):
            one = {name: column[first : first + 1] for name, column in outputs.items()}
            hashing.channel_for(hashing.tally(hashing.reports(one)))


def test_a_prime_with_seeds_is_refused_and_both_are_named() -> None:
    with pytest.raises(
        ArgumentError, match=r"prime: cannot be used with the argument seeds.*got 11\."
    ):
        LocalHashing(Integers(0, 9), 1.0, seeds=4, prime=11)


# Projective geometry response: its options, its limits and large domains.


@pytest.mark.parametrize(
    "size, options, words",
    [
        (10, {"prime": 4}, "prime: must.*Pass 5"),
        (10, {"prime": 1}, "prime: must be from 2 to"),
        (10, {"prime": 2**25 + 1}, "prime: must be from 2 to"),
        (10, {"prime": True}, "prime"),
        (2**25 + 5, {}, r"domain: .*33,554,432.*HadamardResponse"),
        (10**5, {"prime": 9973}, r"prime: .*33,554,432.*Leave out the argument prime"),
        (10, {"blocks": 0}, "blocks: must be from 1 to 10"),
        (10, {"blocks": 11}, "blocks: must be from 1 to 10"),
        # Of 4 blocks for 5 values, each has room for 2, so 3 are filled. The rest only adds noise.
        (
            5,
            {"prime": 2, "blocks": 4},
            r"5 values fill only 3 blocks of up to 2 values; got 4\. Pass 3",
        ),
    ],
)
def test_primes_and_blocks_that_do_not_fit_are_refused_with_those_that_do(
    size: int, options: dict[str, int], words: str
) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=words):
        warner.mechanisms.ProjectiveGeometryResponse(Integers(1, size), 1.0, **options)


@pytest.mark.parametrize("epsilon", [40.0, 60.0])
def test_a_huge_budget_is_refused_at_once(epsilon: float) -> None:
    start = time.perf_counter()
    with pytest.raises(BudgetError, match="too large"):
        warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 10**6), epsilon, prime=1009)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 5.0, 12.0, 20.0])
def test_few_reports_more_than_values_are_never_needed_beyond_the_prime(epsilon: float) -> None:
    size = 1000
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, size), epsilon)
    assert size <= mechanism.n_reports <= size * mechanism.prime + 1


def test_the_header_names_the_prime_that_was_chosen() -> None:
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 100), 1.5)
    assert mechanism.parameters() == {"prime": 5}
    again = warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 100), 1.5, prime=5)
    assert again.header == mechanism.header


def test_a_hundred_thousand_values() -> None:
    """Randomised, counted and inverted, with intervals, in a second or so."""
    size, n = 10**5, 2 * 10**5
    rng = np.random.default_rng(7)
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(Integers(0, size - 1), 2.0)
    answers = np.where(rng.random(n) < 0.5, 77, rng.integers(0, size, n))
    tally = mechanism.tally(mechanism.randomize(answers, rng=rng))
    result = warner.estimate(tally, warner.Inversion())
    shares = result.probabilities
    error = np.sqrt(mechanism.channel().variance(np.full(size, 1 / size))[0] / n)
    assert shares.argmax() == 77 and abs(shares[77] - 0.5) < 5 * error
    others = np.delete(shares, 77)
    # The sum over all values of the squared error is the theory's, within five standard errors.
    assert np.mean(others**2) == pytest.approx(error**2, rel=0.05)


def test_a_plan_ranks_it_between_subset_selection_and_hadamard_response() -> None:
    plan = warner.plan(Integers(1, 3000), 2.0, loss="l2", n=10**5)
    names = [result.name for result in plan.results]
    order = [names.index(name) for name in ("SubsetSelection", "ProjectiveGeometryResponse")]
    assert order[0] < order[1] < names.index("HadamardResponse")


def test_several_blocks_serve_where_one_block_fits_badly() -> None:
    """With 10^5 values, the best prime at e = 8103 makes more than 2^25 reports in one block."""
    domain, epsilon = Integers(1, 10**5), 9.0
    one, best = (
        warner.mechanisms.ProjectiveGeometryResponse(domain, epsilon, blocks=h) for h in (1, None)
    )
    assert best.blocks > 1 and best.n_reports < 2**25
    even = np.full(10**5, 1e-5)
    assert one.channel().variance(even).sum() > 1.5 * best.channel().variance(even).sum()
    assert best.parameters() == {"prime": best.prime, "blocks": best.blocks}


def test_one_block_is_kept_where_several_save_little() -> None:
    assert warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 3000), 2.0).blocks == 1
    assert (
        warner.mechanisms.ProjectiveGeometryResponse(Integers(1, 5), 1.0, prime=2, blocks=3).blocks
        == 3
    )


def test_values_in_blocks_are_estimated_without_bias() -> None:
    """A wrong inverse that forgets the share of the block is 40 standard errors off."""
    mechanism = warner.mechanisms.ProjectiveGeometryResponse(
        Integers(1, 40), 2.0, prime=3, blocks=2
    )
    rng, n = np.random.default_rng(5), 200_000
    answers = np.where(rng.random(n) < 0.7, rng.integers(1, 6, n), 30)
    tally = mechanism.tally(mechanism.randomize(answers, rng=rng))
    shares = warner.estimate(tally, warner.Inversion()).probabilities
    truth = np.bincount(answers - 1, minlength=40) / n
    error = np.sqrt(mechanism.channel().variance(truth) / n)
    assert (abs(shares - truth) < 5 * error).all()
    posterior = warner.estimate(tally).probabilities
    assert ((posterior - truth) ** 2).sum() < ((shares - truth) ** 2).sum()


# What utility-optimised mechanisms promise [P2].


DOMAIN = Integers(0, 9)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize(
    "size, sensitive", [(2, [1]), (5, [0, 3]), (6, [2]), (7, [0, 1, 2, 3, 4, 5])]
)
@pytest.mark.parametrize("keep", [None, "sue", "oue", 0.8])
def test_both_conditions_hold_exactly_and_tightly(
    epsilon: float, size: int, sensitive: list[int], keep: str | float | None
) -> None:
    """[P2 def 2] by enumerating every serialised report: invertible ones name one value, the others
    keep epsilon and need it.
    """
    domain = Integers(0, size - 1)
    mechanism: warner.mechanisms.Mechanism = (
        UtilityOptimizedRR(domain, epsilon, sensitive)
        if keep is None
        else UtilityOptimizedRappor(domain, epsilon, sensitive, keep)
    )
    table = mechanism.probabilities()
    sensitive_mask = np.isin(np.arange(size), sensitive)
    protected = mechanism.protected()
    assert set(table.sum(axis=0)) == {Fraction(1)}
    for y in np.flatnonzero(~protected):
        (maker,) = np.flatnonzero(table[y] > 0)
        assert not sensitive_mask[maker]
    assert epsilon - 1e-9 <= log_ratio(worst_ratio(table[protected]), 1) <= epsilon
    assert mechanism.epsilon == log_ratio(worst_ratio(table[protected]), 1)
    assert isinstance(mechanism.guarantee, ULDP) and mechanism.guarantee.sensitive == tuple(
        sensitive
    )
    result = warner.audit(mechanism)
    assert result.holds and result.epsilon == mechanism.epsilon
    # No sensitive value ever makes an unprotected report: that would reveal it.
    drawn = mechanism.randomize(np.repeat(sensitive, 3000), np.random.default_rng(0))
    outputs = dict(
        zip(Reports(mechanism.header, mechanism.outputs()).records(), protected, strict=True)
    )
    assert all(outputs[record] for record in set(drawn.records()))


def test_mangats_response_is_the_binary_case() -> None:
    """[P2 sec 3.1]: 1 is always reported as 1, 0 as 1 with p = e^-epsilon."""
    table = UtilityOptimizedRR(Integers(0, 1), 1.0, [1]).probabilities().astype(float)
    assert table == pytest.approx(np.array([[1 - np.exp(-1), 0], [np.exp(-1), 1]]), abs=1e-15)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_with_everything_sensitive_the_law_is_the_plain_mechanisms(epsilon: float) -> None:
    domain = Integers(0, 4)
    everything = domain.labels
    plain = warner.RandomizedResponse(domain, epsilon).probabilities()
    assert (UtilityOptimizedRR(domain, epsilon, everything).probabilities() == plain).all()
    for keep in ("sue", "oue", 0.7):
        bits = warner.UnaryEncoding(domain, epsilon, keep)
        same = UtilityOptimizedRappor(domain, epsilon, everything, keep)
        assert (same.outputs()["bits"] == bits.outputs()["bits"]).all() and (
            same.probabilities() == bits.probabilities()
        ).all()


def test_published_probabilities() -> None:
    """[P2 eqs 6, 9-11] in floating point; the mutant with c3 = c1 (a non-sensitive value kept as
    often as a sensitive one) sums to more than 1.
    """
    e, members = np.e, 3
    table = UtilityOptimizedRR(DOMAIN, 1.0, [0, 1, 2]).probabilities().astype(float)
    c1, c2, c3 = e / (members + e - 1), 1 / (members + e - 1), (e - 1) / (members + e - 1)
    assert table[0, 0] == pytest.approx(c1)
    assert table[1, 0] == pytest.approx(c2)
    assert table[5, 5] == pytest.approx(c3)
    assert table[0, 5] == pytest.approx(c2)
    assert members * c2 + c1 > 1
    rappor = UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1, 2])
    h = np.exp(0.5)
    channel = rappor.channel()
    assert channel.q == pytest.approx([1 / (h + 1)] * 3 + [0] * 7)
    assert channel.gap == pytest.approx([(h - 1) / (h + 1)] * 3 + [1 - 1 / h] * 7)


@pytest.mark.parametrize("make", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_values_of_a_grid_survive_a_file(
    make: type[warner.mechanisms.Mechanism], tmp_path: Path
) -> None:
    """A pair is a tuple in Python and a list in JSON; the header is the same either way."""
    mechanism = make(warner.Grid(2, 2), 1.0, sensitive=[(0, 1)])  # type: ignore[call-arg]
    reports = mechanism.randomize([(0, 1), (1, 1)] * 50, np.random.default_rng(0))
    tally = mechanism.tally(Reports.from_bytes(reports.to_bytes()))
    tally.save(tmp_path / "t.json")
    loaded = warner.Tally.load(tmp_path / "t.json")
    assert (loaded + tally).n == 200 and warner.estimate(loaded).n == 100


@pytest.mark.parametrize("make", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_sensitive_values_are_checked(make: type[warner.mechanisms.Mechanism]) -> None:
    for wrong, rule in (
        ([], "would be sent unprotected"),
        ([10], "must be among the 10 values of the question; got 10"),
        ([0, 0], "twice"),
        (3, "list"),
        ("0", "list"),
        ([None], "sensitive|values"),
    ):
        with pytest.raises(WarnerError, match=rule):
            make(DOMAIN, 1.0, sensitive=wrong)  # type: ignore[call-arg]
    for epsilon in (0, -1, float("nan"), float("inf"), 60.0, True):
        with pytest.raises(WarnerError):
            make(DOMAIN, epsilon, sensitive=[0])  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        make(DOMAIN, 1.0)  # type: ignore[call-arg]


def test_reports_that_cannot_be_are_refused(tmp_path: Path) -> None:
    mechanism = UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1])
    bits = np.zeros((2, 10), dtype=int)
    bits[1, [4, 7]] = 1
    refused(ReportError, "non-sensitive", mechanism.reports, bits)
    bits[1, 7] = 0
    assert len(mechanism.reports(bits)) == 2


@pytest.mark.parametrize(("size", "times"), [(4, "0.63"), (10, "0.80"), (100, "0.97")])
def test_local_hashing_says_by_how_much_its_error_is_less_than_that_of_the_paper(
    size: int, times: str
) -> None:
    """Rejects figures in the docstring that are of another mechanism, or of an earlier one."""
    own, other = np.e / (np.e + 3), 1 / 4  # the paper's, at epsilon 1 with 4 buckets
    even = np.full(size, 1 / size)
    supported = own / size + other * (1 - 1 / size)
    chance_of_people = (1 - 1 / size) / size
    paper = supported * (1 - supported) / (own - other) ** 2 - chance_of_people

    def ratio(**options: Any) -> float:
        mechanism = warner.LocalHashing(warner.Integers(1, size), 1.0, **options)
        assert mechanism.buckets == 4
        return (float(mechanism.channel().variance(even).mean()) - chance_of_people) / paper

    assert f"{ratio():.2f}" == times
    assert f"{times} times" in " ".join(str(warner.LocalHashing.__doc__).split())
    assert ratio(prime=4001, whole_reports=False) == pytest.approx(1, abs=0.003)


def test_reports_of_another_mechanism_are_told_what_differs() -> None:
    """Rejects "different values, or another order", and "the one" and "the other" without names."""
    ours = warner.RandomizedResponse(warner.Categorical(["no", "yes"]), 1.0)
    for values, epsilon, said in (
        (["yes", "no"], 1.0, "together: the same values in another order"),
        (["no", "never"], 1.0, "together: different values. Count the reports with the mechanism"),
        (["no", "yes"], 2.0, "the tally would have epsilon 1.0, and the reports have 2.0"),
    ):
        reports = warner.RandomizedResponse(warner.Categorical(values), epsilon).randomize(["no"])
        refused(MismatchError, said, ours.tally, reports)
