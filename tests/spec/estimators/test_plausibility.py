"""Counts that no answers make are refused, true reports are not, and trust is a decision."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import OptimizeResult
from scipy.stats import binom

from tests import registry
from warner import (
    Categorical,
    HadamardResponse,
    Integers,
    LocalHashing,
    Product,
    RandomizedResponse,
    Reports,
    SquareWave,
    SubsetSelection,
    Tally,
    UnaryEncoding,
    compare_groups,
    estimate,
    regress,
)
from warner.channels import DenseChannel
from warner.designs import Crosswise
from warner.errors import MismatchError
from warner.estimators import MaximumLikelihood
from warner.estimators.base import LikelihoodData
from warner.estimators.plausibility import (
    DOUBTFUL,
    IMPOSSIBLE,
    Plausibility,
    _best,
    plausibility_of_data,
)
from warner.regression.correlation import correlate
from warner.results.from_tally import GroupTable, likelihood_data, plausibility

SMOKING = Categorical(["never", "sometimes", "often"])
# Mechanisms whose reports are numbers in the range of the answers' own codes.
LIKE_CODES = {
    "randomised response of 3": RandomizedResponse(SMOKING, 1.0),
    "randomised response of 16": RandomizedResponse(Integers(0, 15), 1.0),
    "square wave of 82": SquareWave(Integers(0, 81), 1.0),
    "Hadamard of 16": HadamardResponse(Integers(0, 15), 1.0),
}


def _p_value(tally: Tally) -> float:
    return plausibility_of_data(likelihood_data(tally)).p_value


def _codes(size: int) -> list[int]:
    """The answers of 2,000 people to a question of ``size`` values."""
    if size == 3:
        return [0] * 1200 + [1] * 500 + [2] * 300
    shares = np.exp(-0.5 * ((np.arange(size) - 0.6 * size) / (0.15 * size)) ** 2)
    return np.repeat(np.arange(size), np.rint(2000 * shares / shares.sum()).astype(int)).tolist()


def test_answers_and_reports_of_one_seed_are_said_so() -> None:
    """Rejects a question about another epsilon where one seed drew answers and reports."""
    coin, shares = RandomizedResponse(Integers(0, 3), 1.0), [0.9, 0.05, 0.03, 0.02]
    answers = np.random.default_rng(1).choice(4, 2000, p=shares)
    tally = coin.tally(coin.reports(answers, simulated=True))
    with pytest.raises(MismatchError, match="Were the answers drawn with the same seed"):
        estimate(tally)


@pytest.mark.parametrize("name", LIKE_CODES)
def test_answers_are_not_reports(name: str) -> None:
    mechanism = LIKE_CODES[name]
    answers = mechanism.tally(mechanism.reports(_codes(mechanism.domain.size)))
    assert _p_value(answers) < IMPOSSIBLE
    with pytest.raises(
        MismatchError, match="answers that were not randomised, or reports made with"
    ):
        estimate(answers)
    result = estimate(answers.trusted())
    assert result.doubt.startswith("These reports are doubtful")
    assert result.doubt in result._repr_html_()
    assert result.to_json()["doubt"] == result.doubt


@pytest.mark.parametrize("name", LIKE_CODES)
def test_reports_of_another_epsilon_are_doubtful(name: str) -> None:
    read = LIKE_CODES[name]
    sent = type(read)(read.domain, 3.0)
    answers = [read.domain.labels[code] for code in _codes(read.domain.size) * 5]
    columns = sent.randomize(answers, np.random.default_rng(1)).columns
    assert _p_value(read.tally(read.reports(columns["report"]))) < DOUBTFUL


@pytest.mark.crossed(40)
@pytest.mark.parametrize("name", registry.MECHANISMS)
@pytest.mark.parametrize("size", [2, 5, 90])
def test_true_reports_are_plausible(name: str, size: int) -> None:
    # Rejects a test that takes the shares of nobody, or of everybody, for impossible.
    generator = np.random.default_rng(size)
    mechanism = registry.MECHANISMS[name](Integers(0, size - 1), 1.0)
    for answers in ([size - 1] * 400, generator.integers(0, size, 400).tolist()):
        tally = mechanism.tally(mechanism.randomize(answers, generator))
        assert _p_value(tally) > DOUBTFUL


@pytest.mark.parametrize("name", [*registry.KEYED, *registry.SILENT, *registry.PER_ATTRIBUTE])
def test_true_reports_of_several_parts_are_plausible(name: str) -> None:
    generator = np.random.default_rng(7)
    if name in registry.KEYED:
        mechanism = registry.KEYED[name](Categorical(["a", "b"]), Integers(0, 4), 1.0)
    elif name in registry.SILENT:
        mechanism = registry.SILENT[name](Integers(0, 9), 1.0)
    else:
        mechanism = registry.PER_ATTRIBUTE[name](1.0)
    labels = mechanism.domain.labels
    answers = [labels[i] for i in generator.integers(0, len(labels), 500)]
    tally = mechanism.tally(mechanism.randomize(answers, generator))
    for attribute in mechanism.domain.attributes if tally.ways else [None]:
        names = None if attribute is None else [attribute]
        assert plausibility_of_data(likelihood_data(tally, names)).p_value > DOUBTFUL


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("variant", ["oue", "sue"])
def test_one_forged_report_in_a_hundred_is_noticed(whole: bool, variant: str) -> None:
    """A hundred values, 20,000 people: the target's bit alone, all ones, all zeros, ten targets.

    The same report with as many ones as honest reports have is noticed among whole reports alone:
    by pairs of values. Rejects a program that tests sums of bits for whole reports.
    """
    size, n, forged = 100, 20_000, 200
    mechanism = UnaryEncoding(Integers(0, size - 1), 1.0, variant=variant)
    rng = np.random.default_rng(5)
    answers = rng.choice(size, n, p=rng.dirichlet(np.ones(size)))
    honest = mechanism.randomize(answers, rng=rng).columns["bits"]
    usual = round(float(np.bitwise_count(honest).sum(axis=1).mean()))
    patterns = [range(5, 6), range(size), range(0), range(10), *([range(usual)] if whole else [])]
    for pattern in patterns:
        bits = np.zeros((forged, size), dtype=np.uint8)
        bits[:, list(pattern)] = 1
        made_up = np.concatenate([honest[forged:], np.packbits(bits, axis=1)])
        reports = Reports(mechanism.header, {"bits": made_up})
        assert _p_value(mechanism.tally(reports, keep_reports=whole)) < 0.05
    reports = Reports(mechanism.header, {"bits": honest})
    assert _p_value(mechanism.tally(reports, keep_reports=whole)) > 0.05


def test_whole_reports_of_honest_people_are_seldom_doubtful() -> None:
    """400 surveys: the size is at most 5 %, within three standard errors of it."""
    # Rejects a test of pairs with the variance of bits that nobody answered: all answer one value.
    mechanism = UnaryEncoding(Integers(0, 11), 2.0, variant="sue")
    rng = np.random.default_rng(6)
    p_values = [
        _p_value(mechanism.tally(mechanism.randomize([3] * 300, rng=rng), keep_reports=True))
        for _ in range(400)
    ]
    assert np.mean(np.array(p_values) < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_reports_made_up_like_honest_ones_are_not_noticed() -> None:
    """They have the law of honest people who answer the target: no test can find them."""
    mechanism = UnaryEncoding(Integers(0, 11), 1.0, variant="oue")
    rng = np.random.default_rng(7)
    answers = rng.integers(0, 12, 5000)
    answers[:500] = 3
    reports = mechanism.randomize(answers, rng=rng)
    assert _p_value(mechanism.tally(reports, keep_reports=True)) > 0.01


def test_a_hash_function_that_is_chosen_too_often_is_noticed() -> None:
    mechanism = LocalHashing(Integers(0, 9), 1.0, seeds=64)
    generator = np.random.default_rng(4)
    columns = mechanism.randomize(generator.integers(0, 10, 5000), generator).columns
    fixed = {**columns, "seed": np.where(np.arange(5000) % 10 == 0, 3, columns["seed"])}
    assert _p_value(mechanism.tally(mechanism.reports(columns))) > DOUBTFUL
    assert _p_value(mechanism.tally(mechanism.reports(fixed))) < DOUBTFUL


def test_each_mechanism_and_each_attribute_is_tested() -> None:
    low, high = RandomizedResponse(SMOKING, 1.0), RandomizedResponse(SMOKING, 2.0)
    real = high.tally(high.randomize(["never", "often"] * 500))
    with pytest.raises(MismatchError, match="counts that chance cannot explain"):
        estimate([real, low.tally(low.reports(_codes(3)))])
    pair = RandomizedResponse(Product(a=SMOKING, b=SMOKING), 1.0)
    assert _p_value(pair.tally(pair.reports([0] * 1000))) < IMPOSSIBLE


def test_groups_are_tested_together() -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    wards = coin.tally(coin.reports([1] * 2000), {"ward": ["north", "south"] * 1000})
    for refused in (estimate, compare_groups):
        with pytest.raises(MismatchError, match="groups: has counts that chance cannot explain"):
            refused(wards)
    assert len(compare_groups(wards.trusted()).rows()) == 2
    assert estimate(wards.trusted()).doubt


CARD = Crosswise("1/4")
LIKE_NOBODY = {"same": 800, "different": 0}  # which no shares make


def _schools(**counts: dict[str, int]) -> Tally:
    """What the pupils of several schools ticked, by school."""
    said = [(s, word) for s, of in counts.items() for word, n in of.items() for _ in range(n)]
    codes = [CARD.report_code(word) for _, word in said]
    return CARD.tally(CARD.reports(codes), by={"school": [school for school, _ in said]})


def test_a_group_that_chance_does_not_make_is_refused() -> None:
    """Rejects a program that tests all people together alone, who are plausible here."""
    usual = {"same": 500, "different": 300}
    schools = _schools(a=usual, b=LIKE_NOBODY, c={"same": 350, "different": 450})
    assert plausibility(schools).note is None
    for refused in (estimate, compare_groups):
        with pytest.raises(MismatchError, match="group 'b': has counts that chance cannot explain"):
            refused(schools)
    result, compared = estimate(schools.trusted()), compare_groups(schools.trusted())
    assert result.doubt.startswith("b: These counts are doubtful: almost no survey with")
    assert "share of yes is -50.0 %" in result.doubt
    assert result["b"].doubt and not result["a"].doubt
    assert compared.doubt == result.doubt
    assert result.doubt in str(compared.table()).replace("\n", " ")
    assert compared.to_json()["doubt"] == result.doubt


def test_a_group_of_a_survey_with_weights_is_tested_as_people() -> None:
    """Rejects a program whose groups are plausible because their weights are."""
    schools = _schools(a={"same": 500, "different": 300}, b=LIKE_NOBODY)
    counts = {(school, w): schools[school,] for school, w in (("a", 1.0), ("b", 2.0))}
    codes = [c for t in counts.values() for c in np.repeat([0, 1], t.counts.tolist())]
    keys = [key for key, t in counts.items() for _ in range(t.n)]
    by = {"school": [s for s, _ in keys], "w": [w for _, w in keys]}
    with pytest.raises(MismatchError, match="group 'b': has counts that chance cannot explain"):
        estimate(CARD.tally(CARD.reports(codes), by=by), weights="w")


def test_other_doubtful_groups_are_named() -> None:
    few = {"same": 95, "different": 5}
    result = estimate(_schools(a={"same": 50, "different": 50}, b=few, c=few))
    assert result.doubt.endswith("These groups are doubtful in the same way: c.")


def test_groups_of_true_reports_are_seldom_doubtful() -> None:
    """41 groups of 40 people: some group is doubtful in at most 1 of 1,000 surveys, by the law.

    Rejects a program without the correction for the number of groups, by which it would be 1 in 170.
    """
    counts = {f"{k:02}": {"same": k, "different": 40 - k} for k in range(41)}
    groups = _schools(**counts).trusted()
    tested = GroupTable.of(groups).of_groups
    assert all(one is not None for one in tested)
    doubtful = np.array([one is not None and one.note is not None for one in tested])
    alone = np.array([plausibility(groups[f"{k:02}",]).note is not None for k in range(41)])
    for chance in np.linspace(0.25, 0.75, 11):
        law = binom.pmf(np.arange(41), 40, chance)
        assert 41 * law[doubtful].sum() <= 1e-3
    assert 41 * law[alone].sum() > 5e-3


def test_two_reports_have_exact_tails() -> None:
    """Rejects chi-square's tail, by which 95 of 100 at a chance of 5/6 are no reason for doubt."""
    card = Crosswise("1/6")
    said = Tally.from_counts(card, {"same": 95, "different": 5})
    assert _p_value(said) == pytest.approx(2 * binom.sf(94, 100, 5 / 6))
    assert "share of yes is -17.5 %" in estimate(said).doubt
    # At the worst share, the smaller of both tails is below 1/1000 in 1 of 1,000 surveys at most.
    p_values = np.array([_p_of_two(card, k, 100) for k in range(101)])
    for chance in np.linspace(1 / 6, 5 / 6, 9):
        chances = binom.pmf(np.arange(101), 100, chance)
        assert chances[p_values < 1e-3].sum() <= 1e-3


def _p_of_two(card: Crosswise, same: int, n: int) -> float:
    return _p_value(Tally.from_counts(card, {"same": same, "different": n - same}))


def test_a_reversed_chance_is_hinted_at_in_groups_and_regressions() -> None:
    """Rejects a program that says it of one estimate of all people alone."""
    card, generator = Crosswise("5/6"), np.random.default_rng(2)
    sent = Crosswise("1/6")
    answers = np.where(generator.random(1200) < 0.1, "yes", "no").tolist()
    codes = sent.randomize(answers, generator).columns["report"]
    wards, ages = np.arange(1200) % 2, np.arange(1200) % 50
    hint = "With crosswise:1/6, the same counts would give"
    tally = card.tally(card.reports(codes), by={"ward": wards.tolist()})
    for result in (estimate(tally.total()), estimate(tally)):
        assert result.hint.startswith(hint) and hint in " ".join(str(result.table()).split())
    compared = compare_groups(tally)
    assert compared.hint == estimate(tally).hint and not compared.doubt
    assert hint in " ".join(str(compared.table()).split())
    assert "WARNING" not in str(compared.table())
    regression = regress(card.reports(codes), {"age": ages})
    assert regression.doubts == (estimate(tally).hint,)
    assert hint in " ".join(str(regression.table()).split())
    assert "WARNING" not in str(regression.table())
    correlated = correlate({"x": card.reports(codes)}, {"age": ages.astype(float)})
    assert correlated.doubts == regression.doubts
    right = regress(sent.reports(codes), {"age": ages})
    assert not right.doubts and "doubts" not in right.to_json()


@pytest.mark.parametrize("kind, size", [("shares", 3), ("mean", 16)])
def test_a_regression_tests_its_reports(kind: str, size: int) -> None:
    mechanism, ages = LIKE_CODES[f"randomised response of {size}"], np.arange(2000)
    codes = mechanism.reports(_codes(size)[:2000])
    with pytest.raises(MismatchError, match="reports: has counts that chance cannot explain"):
        regress(codes, {"age": ages}, kind=kind)  # type: ignore[call-overload]
    result = regress(codes, {"age": ages}, kind=kind, trusted=True)  # type: ignore[call-overload]
    assert result.n == 2000


def test_trust_belongs_to_each_part_of_a_sum_and_stays_out_of_files() -> None:
    coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
    one, two = (coin.tally(coin.reports([1] * n)) for n in (50, 60))
    wards = coin.tally(coin.reports([1] * 4), {"ward": ["n", "s"] * 2}).trusted()
    assert (one.trusted() + two.trusted()).is_trusted
    assert not (one.trusted() + two).is_trusted
    assert wards.total().is_trusted and wards["n",].is_trusted and wards.by("ward").is_trusted
    assert one == one.trusted()
    assert not Tally.from_json(json.loads(json.dumps(one.trusted().to_json()))).is_trusted


@pytest.mark.parametrize(("p", "words"), [(2e-5, "1 in 50,000"), (1e-30, "almost no")])
def test_the_note_says_how_rare_such_reports_are(p: float, words: str) -> None:
    assert words in str(Plausibility(p).note)
    assert Plausibility(2 * DOUBTFUL).note is None


def test_margins_of_subsets_are_tested_by_their_shares() -> None:
    both = Product(a=Categorical(["u", "v", "w"]), b=Categorical(["x", "y", "z"]))
    device = SubsetSelection(both, 0.5)
    assert device.subset > 1
    rng = np.random.default_rng(1)
    tally = device.tally(device.randomize([{"a": "u", "b": "z"}] * 3000, rng))
    for names in (["a"], ["a", "b"]):
        assert plausibility_of_data(likelihood_data(tally, names)).p_value > 1e-3
    # Everyone's subset is the same one, as if nothing had been drawn.
    bits = np.tile(np.arange(9) < device.subset, (3000, 1)).astype(np.uint8)
    same = device.tally(device.reports(bits))
    for names in (["a"], ["a", "b"]):
        assert plausibility_of_data(likelihood_data(same, names)).p_value < 1e-9


def test_the_test_of_cells_needs_no_linear_programme(monkeypatch: pytest.MonkeyPatch) -> None:
    # All gave one answer, and cells are fewer than answers: whether these shares are the only ones
    # is decided by scipy, which a device with numpy alone does not have.
    law = np.array([[0.5, 0.2, 0.3, 0.1], [0.3, 0.5, 0.2, 0.3], [0.2, 0.3, 0.5, 0.6]])
    programmes: list[object] = []
    monkeypatch.setattr(
        scipy.optimize, "linprog", lambda *a, **k: programmes.append(a) or OptimizeResult(status=2)
    )
    data = LikelihoodData(DenseChannel(law), law[:, 0], 2000, Integers(0, 3))
    MaximumLikelihood(gap=1e-5).fit(data)
    assert len(programmes) == 1
    assert _best(law, law[:, 0], 2000, 1) == pytest.approx(1.0)
    assert len(programmes) == 1
