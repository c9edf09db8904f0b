"""Plans and proposals."""

from __future__ import annotations

import json
import math
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import chi2, ncx2, norm

import warner
from tests.refusals import refused
from tests.spec.app._command import run
from warner import (
    Categorical,
    Grid,
    Integers,
    Interval,
    RandomizedResponse,
    SquareWave,
    UnaryEncoding,
    UtilityOptimizedRR,
    estimate,
    plan,
)
from warner.app.cli import main
from warner.app.show_designs import about_epsilon, in_odds
from warner.design.default_errors import (
    _drawn,
    can_simulate,
    distance_of_values,
    is_same_law,
    law_of,
    loss_of,
    made_shares,
    simulated_error,
    simulated_losses,
    typical_shares,
    usual_fit,
)
from warner.design.planning import candidates, options_of
from warner.design.privacy_words import odds_of
from warner.design.proposal import EPSILON_STEPS, propose, scenarios_of
from warner.domains import Optional
from warner.errors import ArgumentError, ArgumentTypeError, WarnerError
from warner.estimators.base import LikelihoodData
from warner.mechanisms import Mechanism
from warner.mechanisms.gaussian import Gaussian
from warner.results.recommend import recommended, recommended_fit
from warner.theory import people_for_difference, power_for_difference

YES_OR_NO = Categorical(["no", "yes"])


def test_a_plan_ranks_mechanisms_and_counts_people() -> None:
    twelve = Categorical([f"v{x}" for x in range(12)])
    ranking = warner.plan(twelve, 1.0, 10_000, sensitive=["v7", "v8"], loss="l1", error=0.1)
    errors = [option.error for option in ranking.results]
    assert errors == sorted(errors)
    assert ranking.no_protection.error < errors[0]
    assert ranking.best.name == "UtilityOptimizedRR"
    assert {
        "UtilityOptimizedRR",
        "UtilityOptimizedRappor",
        "RandomizedResponse",
        "LocalHashing",
    } <= {o.name for o in ranking.results}
    best = ranking.best
    assert best.people is not None and best.mechanism is not None
    uniform = np.full(12, 1 / 12)
    assert (
        warner.theory.expected_loss(best.mechanism, uniform, best.people, "l1")
        <= 0.1
        < warner.theory.expected_loss(best.mechanism, uniform, best.people - 1, "l1")
    )
    squares = warner.plan(twelve, 1.0, 10_000, error=1e-3, loss="l2")
    option = squares.best
    assert option.people is not None
    assert option.mechanism is not None
    assert squares.no_protection.people is not None
    assert warner.theory.expected_loss(option.mechanism, uniform, option.people, "l2") <= 1e-3
    assert not any(o.name.startswith("Utility") for o in squares.results)
    many = warner.plan(Integers(1, 5000), 1.0, 10)
    assert "LocalHashing" in {option.name for option in many.results}
    for wrong in (
        {"n": 0},
        {"epsilon": -1},
        {"error": 0},
        {"loss": "l3"},
        {"theta": [1.0]},
        {"sensitive": []},
        {"epsilon": 59.0, "loss": "l2"},
        {"error": 1e-300},
        {"n": 10**400},
    ):
        with pytest.raises(WarnerError):
            warner.plan(**({"domain": YES_OR_NO, "epsilon": 1.0, "n": 10} | wrong))  # type: ignore[arg-type]
    with pytest.raises(WarnerError):
        warner.plan(10, 1.0, 10)  # type: ignore[arg-type]
    with pytest.raises(WarnerError, match=r"^epsilon: must be above 0; got -1.0. Pass a positive"):
        warner.plan(YES_OR_NO, -1, 10)


def _made(
    domain: warner.domains.Domain, epsilon: float, **kwargs: object
) -> dict[str, warner.mechanisms.Mechanism]:
    """The candidates that fit, by name."""
    options = {"sensitive": None, "delta": None, "distance": None, "near": True} | kwargs
    found = {}
    for name, make in candidates(domain, **options):  # type: ignore[arg-type]
        try:
            found[name] = make(domain, epsilon)
        except ArgumentTypeError:
            continue
    return found


@pytest.mark.crossed(3)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.7])
@pytest.mark.parametrize("domain", [Integers(3, 11), Interval(0, 9, 6), Grid(3, 4, 0.7)])
def test_every_candidate_keeps_the_budget_between_any_two_values(
    domain: warner.domains.Domain, epsilon: float
) -> None:
    """Wrong programs: an epsilon per unit of distance without division by the diameter."""
    found = _made(domain, epsilon)
    for name, mechanism in found.items():
        assert mechanism.guarantee.between_any_values().epsilon <= epsilon, name
    wanted = {
        Integers: {
            "SquareWave",
            "Piecewise",
            "Laplace",
            "Geometric",
            "TruncatedGeometric",
            "Exponential",
        },
        Interval: {"SquareWave", "Piecewise", "Laplace"},
        Grid: {"PlanarGeometric", "PlanarLaplace", "Exponential"},
    }[type(domain)]
    assert wanted <= found.keys() and "RandomizedResponse" in found
    for other in {"PlanarGeometric", "Geometric", "SquareWave", "Exponential"} - wanted:
        assert other not in found


def test_metric_candidates_keep_the_epsilon_of_their_distance() -> None:
    for distance in (1.0, 2.5):
        for domain in (Integers(0, 15), Grid(4, 4)):
            found = _made(domain, 1.0, distance=distance)
            assert len(found) >= 3 and "RandomizedResponse" not in found
            for name, mechanism in found.items():
                guarantee = mechanism.guarantee
                assert guarantee.is_metric and guarantee.epsilon * distance <= 1 + 1e-9, name


def test_numbers_are_judged_by_simulated_estimates() -> None:
    domain = Integers(0, 7)
    ranking = plan(domain, 1.0, 10_000, loss="w1", runs=2, error=0.1)
    names = [result.name for result in ranking.results]
    assert {"SquareWave", "Laplace", "UnaryEncoding variant='oue'"} <= set(names)
    assert ranking.left_out["Geometric"] == "it tells the same as Laplace"
    first = ranking.best
    assert (
        first.judged == "LogSpline(), 2 simulated tallies"
        and 0 < first.standard_error < first.error
    )
    assert first.default is not None and first.default.error == first.error
    assert first.people == pytest.approx(10_000 * (first.error / 0.1) ** 2, rel=1e-3)
    assert ranking.no_protection.error < 0.2


def test_what_uses_the_order_of_many_numbers_errs_less() -> None:
    """Means of 4 runs with standard errors: 0.44 +- 0.05 against 2.3 +- 0.4."""
    domain = Integers(0, 31)
    wave, response = (
        simulated_error(domain, make(domain, 1.0), made_shares(domain), 10_000, 4)
        for make in (warner.SquareWave, warner.RandomizedResponse)
    )
    assert wave[0] + 4 * (wave[1] + response[1]) < 2 * response[0] and wave[0] < response[0] / 2


def test_a_plan_says_why_no_protection_can_err_more() -> None:
    """Rejects a private error below that of open answers without a word."""
    said = 'An error below that of "no protection" is no mistake'
    for epsilon, is_below in ((4.0, True), (0.5, False)):
        ranking = plan(Integers(0, 31), epsilon, 10_000, loss="l2")
        default, without = ranking.best.default, ranking.no_protection.default
        assert default is not None and without is not None
        assert (default.error < without.error) == is_below == (said in str(ranking))


def test_the_error_of_no_protection_is_that_of_shares() -> None:
    """E W1 = h sum_x E |F_n(x) - F(x)|, with E |.| = sqrt(2 F (1 - F) / (pi n)) for large n."""
    domain = Interval(0, 50, 10)
    below = np.cumsum(made_shares(domain))[:-1]
    expected = 5 * np.sqrt(2 * below * (1 - below) / (np.pi * 4000)).sum()
    error, margin = simulated_error(domain, None, made_shares(domain), 4000, 400)
    assert abs(error - expected) < 4 * margin and margin < 0.05 * expected


def test_losses_and_guarantees_that_values_do_not_have_are_refused() -> None:
    labels = Categorical(["a", "b", "c"])
    assert not can_simulate(labels) and not can_simulate(Integers(0, 5000))
    for kwargs, rule in (
        ({"loss": "w1"}, "needs values that are numbers or places"),
        ({"delta": 0.1}, "be used only with the loss 'w1'"),
        ({"distance": 1.0}, "be used only with the loss 'w1'"),
    ):
        with pytest.raises(ArgumentError, match=rule):
            plan(labels, 1.0, 100, **kwargs)  # type: ignore[arg-type]
    refused(ArgumentError, "number of values", plan, Integers(0, 5000), 1.0, 100, loss="w1")
    for kwargs in ({"distance": 0.0}, {"delta": 1.0}, {"runs": 1}):
        with pytest.raises(ArgumentError):
            plan(Integers(0, 9), 1.0, 100, loss="w1", **kwargs)  # type: ignore[arg-type]


def test_the_command_ranks_numbers_places_and_labels(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        '[attributes.q]\nvalues = ["a", "b", "c"]\nmechanism = "RandomizedResponse"\nepsilon = '
        '1.0\n[attributes.x]\nintegers = [0, 3]\nmechanism = "UnaryEncoding"\nvariant = '
        "0.7\nepsilon = 1.0\n"
        "[attributes.place]\ngrid = { rows = 3, columns = 3 }\n"
        'mechanism = "PlanarGeometric"\nepsilon = 0.5\n'
        '[attributes.noisy]\nintegers = [0, 3]\nmechanism = "Gaussian"\ndelta = 1e-3\nepsilon = 1.0\n'
    )

    def run(*args: str) -> str:
        result = CliRunner().invoke(main, ["plan", str(study), "--runs", "2", *args])
        assert result.exit_code == 0, result.output
        return result.stdout

    shown = run("--wide")
    assert "the unbiased estimate, by a formula" in shown and "Wasserstein-1 distance" in shown
    assert "PlanarGeometric (in the study)" in shown
    assert "UnaryEncoding, as given (in the study)" in shown
    assert "Gaussian (in the study)" in shown and "TruncatedGeometric" in shown
    closed = json.loads(run("--json", "--loss", "l2"))
    assert list(closed) == ["q", "x"] and closed["x"]["results"][0]["standard_error"] == 0


COIN = RandomizedResponse(Integers(0, 1), 1.0)


def test_two_groups_need_what_the_normal_test_needs() -> None:
    """m = (z_0.975 + z_0.8)^2 (V1 + V2) / d^2, up to the far tail and rounding up."""
    p = np.e / (1 + np.e)
    mu = 1 - p + (2 * p - 1) * np.array([0.49, 0.51])
    variances = mu * (1 - mu) / (2 * p - 1) ** 2
    m = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * variances.sum() / 0.02**2
    found = people_for_difference(COIN, 0.02)
    assert found % 2 == 0 and found == pytest.approx(2 * m, abs=4)
    # Without protection, of proportions 0.49 and 0.51.
    plain = (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 * 2 * 0.2499 / 0.02**2
    assert people_for_difference(Integers(0, 1), 0.02) == pytest.approx(2 * plain, abs=4)


def test_power_is_the_inverse_of_people() -> None:
    for groups in (2, 3, 10):
        n = people_for_difference(COIN, 0.05, [0.8, 0.2], groups, power=0.9)
        assert n % groups == 0
        assert power_for_difference(COIN, 0.05, n, [0.8, 0.2], groups) == pytest.approx(
            0.9, abs=1e-3
        )
        assert power_for_difference(COIN, 0.05, n - groups, [0.8, 0.2], groups) < 0.9
    assert people_for_difference(COIN, 0.05, groups=3) > people_for_difference(COIN, 0.05)


def _power_of_all_shares(mechanism: Mechanism, theta: list[float], n: int) -> float:
    """The power of the test of K shares in 3 groups, from its noncentral law by scipy."""
    centre = np.array(theta)
    step = 0.025 * np.append(1.0, -centre[1:] / (1 - centre[0]))
    rate = 2 * step @ np.linalg.pinv(mechanism.channel().covariance(centre)) @ step
    degrees = 2 * (centre.size - 1)
    return float(ncx2.sf(chi2.ppf(0.95, degrees), degrees, n / 3 * rate))


def test_three_groups_are_planned_by_the_test_of_all_their_shares() -> None:
    """Rejects 2 degrees of freedom for 3 shares in 3 groups (12,255 and 186,630 people), which
    gives a power of 0.7, and the variance of one share where the sum of all shares helps too.
    """
    three = Categorical(["free", "pro", "team"])
    even, uneven = [1 / 3] * 3, [0.6, 0.3, 0.1]
    first, second = (RandomizedResponse(three, epsilon) for epsilon in (1.872, 0.468))
    assert people_for_difference(first, 0.05, groups=3) == 15_204
    assert people_for_difference(second, 0.05, groups=3) == 231_213
    assert power_for_difference(first, 0.05, 12_255, groups=3) == pytest.approx(0.697, abs=1e-3)
    for mechanism in (first, warner.UnaryEncoding(three, 1.0)):
        for theta in (even, uneven):
            n = people_for_difference(mechanism, 0.05, theta, groups=3)
            assert _power_of_all_shares(mechanism, theta, n) == pytest.approx(0.8, abs=1e-3)
            assert _power_of_all_shares(mechanism, theta, n - 300) < 0.8
    # Of two groups it is the test of one share. Of two values, no share is free beside the other.
    assert people_for_difference(first, 0.05) < people_for_difference(first, 0.05, groups=3) / 2
    assert people_for_difference(COIN, 0.05, groups=3) == 27_072
    many = [RandomizedResponse(Integers(0, size - 1), 1.0) for size in (64, 65)]
    by_covariance, by_variance = (people_for_difference(m, 0.05, groups=3) for m in many)
    assert by_covariance < by_variance < 1.1 * by_covariance
    refused(
        ArgumentError,
        "groups: must be at most 500,001 for 2,001 values; got 1,000,000",
        *(power_for_difference, Integers(0, 2000), 0.1, 100),
        groups=10**6,
    )


def test_the_noisiest_value_decides() -> None:
    protected = warner.UtilityOptimizedRR(Integers(0, 9), 1.0, sensitive=[0, 1])
    everyone = RandomizedResponse(Integers(0, 9), 1.0)
    some = people_for_difference(protected, 0.02)
    assert (
        people_for_difference(Integers(0, 9), 0.02) < some < people_for_difference(everyone, 0.02)
    )


def test_shares_stay_in_the_simplex() -> None:
    for share in (0.0, 0.001, 1.0):
        assert people_for_difference(COIN, 0.3, [1 - share, share]) > 0
    assert people_for_difference(Integers(0, 99), 0.9, groups=4) > 0
    assert people_for_difference(Integers(0, 1), 0.5, [1.0, 0.0], groups=3) > 0


def test_a_plan_sorts_by_people_and_says_what_epsilon_buys() -> None:
    found = plan(Integers(0, 4), 1.0, n=20_000, difference=0.02)
    people = [result.people for result in found.results]
    assert None not in people and people == sorted(people, key=lambda n: n or 0)
    assert [row.epsilon for row in found.by_epsilon] == [0.25, 0.5, 1.0, 2.0, 4.0]
    bought = [row.people for row in found.by_epsilon]
    assert bought == sorted(bought, reverse=True) and bought[2] == people[0]
    assert found.no_protection.people is not None and found.no_protection.people < bought[-1]
    assert found.best.power is not None and 0.05 < found.best.power < 0.8
    data = json.loads(json.dumps(found.to_json()))
    assert data["wanted"] == {"difference": 0.02, "groups": 2, "power": 0.8}
    assert data["by_epsilon"][2]["people"] == bought[2]
    assert "power" not in plan(YES_OR_NO, 1.0, n=10).best.row()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"difference": 0.0}, "difference: must be above 0 and below 1"),
        ({"difference": 1.0}, "difference: must be above 0 and below 1"),
        ({"difference": 1e-9}, "difference: is so small that more than"),
        ({"difference": 0.1, "groups": 1}, "groups: must be from 2"),
        ({"difference": 0.1, "power": 1.0}, "power: must be above 0 and below 1"),
        ({"difference": 0.1, "power": 0.01}, "power: must be above"),
        ({"difference": 0.1, "error": 0.1}, "error: cannot be used together with difference"),
        ({"difference": 0.1, "loss": "w1"}, "difference: needs the loss"),
    ],
)
def test_wrong_questions_are_named(options: dict[str, Any], text: str) -> None:
    refused(ArgumentError, text, plan, Integers(0, 3), 1.0, n=100, **options)


def test_the_command_prints_both_tables(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        '[attributes.smokes]\nvalues = ["no", "yes"]\nmechanism = "RandomizedResponse"\n'
        "epsilon = 1.0\n[attributes.age]\nintegers = [0, 9]\nmechanism = "
        '"UnaryEncoding"\nepsilon = 1.0\n'
    )
    asked = ["plan", str(study), "--difference", "0.02", "--groups", "3", "--power", "0.9"]
    shown = CliRunner().invoke(main, asked)
    assert shown.exit_code == 0, shown.output
    assert "of 3 groups of equal size" in shown.output
    said = " ".join(shown.output.split())
    assert (
        "one test of the shares in all 3 groups at the 5 % level finds with probability 0.9" in said
    )
    assert (
        "one test of all shares in all 3 groups at the 5 % level finds with probability 0.9" in said
    )
    assert "equally frequent): 49 % in one group, 51 % in another, and 50 % in the others." in said
    assert "equally frequent): 9 % in one group, 11 % in another, and 10 % in the others." in said
    n = people_for_difference(COIN, 0.02, groups=3, power=0.9)
    assert shown.output.count(f"{n:,}") >= 2 and "no protection" in shown.output
    data = json.loads(CliRunner().invoke(main, [*asked, "--json"]).output)
    assert data["age"]["wanted"]["groups"] == 3 and data["age"]["loss"] == "l2"


def test_a_difference_is_between_the_groups_of_the_only_public_column(tmp_path: Path) -> None:
    """Rejects two groups where the study has three, and a test of all that is taken for one of two."""
    study = tmp_path / "study.toml"
    text = '[attributes.smokes]\nvalues = ["no", "yes"]\ndesign = "crosswise:1/4"\n'
    text += '[public.region]\nvalues = ["n", "s", "w"]\n[public.day]\ndates = "week"\n'
    drawn = '[public.w]\nintegers = [1, 500]\n[design]\nweights = "w"\n'
    for more, groups in (("", 3), (drawn, 3), ('[public.sex]\nvalues = ["f", "m"]\n', 2)):
        study.write_text(text + more)
        shown = CliRunner().invoke(main, ["plan", str(study), "--difference", "0.1"])
        said = " ".join(shown.output.split())
        assert f"of {groups} groups of equal size" in said
        assert ("shares in all 3 groups at the 5 % level" in said) is (groups == 3)
        assert ("between two of the groups" in said) is (groups == 3)


def test_a_plan_is_for_the_groups_of_the_public_columns_that_by_names(tmp_path: Path) -> None:
    """Rejects six groups of both columns where one is meant, without a word on it; and two groups
    where a column has no listed values.
    """
    study = tmp_path / "study.toml"
    text = '[attributes.smokes]\nvalues = ["no", "yes"]\n[public.day]\ndates = "week"\n'
    text += '[public.ward]\nvalues = ["n", "s", "w"]\n[public.sex]\nvalues = ["f", "m"]\n'
    study.write_text(text)

    def said(*more: str) -> str:
        asked = CliRunner().invoke(main, ["plan", str(study), "--people", "6000", *more])
        return " ".join(asked.output.split())

    crossed = "The groups are the 6 combinations of ward and sex. For the groups of one column, "
    assert f"{crossed}add --by ward." in said()
    for more, people in ((["ward"], 2000), (["sex"], 3000), (["ward,sex"], 1000)):
        asked = said("--by", *more, "--json")
        assert f'"groups": [ {{ "people": {people},' in asked
        assert "combinations" not in said("--by", *more)
    of_day = said("--by", "day")
    assert "needs columns with listed values, and day has no list of values. Give the" in of_day
    assert "Give the number of groups in place of --by: --groups 4." in of_day
    assert "Is 'ward' meant?" in said("--by", "wad")
    assert "--by: cannot be used with --groups" in said("--by", "ward", "--groups", "3")
    study.write_text(text.replace('"yes"]', '"yes"]\ndesign = "crosswise:1/4"', 1))
    assert "of 3 groups of equal size" in said("--difference", "0.1", "--by", "ward")
    design = CliRunner().invoke(main, ["plan", "--design", "crosswise:1/4", "--by", "ward"])
    assert "--by: can be used only with a study file or a draft" in design.output


def test_a_plan_is_for_the_people_whom_the_study_expects(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    text = '[collect]\npeople = 300\n[attributes.smokes]\nvalues = ["no", "yes"]\n'
    for more in ("", 'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'):
        study.write_text(text + more)
        for asked, people in (([], "300"), (["--people", "2000"], "2,000")):
            shown = CliRunner().invoke(main, ["plan", str(study), *asked])
            assert f"{people} people" in shown.output


NUMBERS, CELLS = warner.Integers(0, 4), warner.Grid(2, 3, 1.0)


@pytest.mark.parametrize(
    "mechanism", [warner.RandomizedResponse(NUMBERS, 1.0), warner.RandomizedResponse(CELLS, 1.0)]
)
def test_errors_of_a_plan_are_those_of_single_fits_and_do_not_change(mechanism: Mechanism) -> None:
    domain, errors = mechanism.domain, []
    theta, channel = made_shares(domain), mechanism.channel()
    for number in range(2):
        u = np.random.default_rng([0, number]).random(500)
        reports = [int(np.sum(np.cumsum(channel.matvec(theta))[:-1] <= each)) for each in u]
        w = np.bincount(reports, minlength=channel.shape[0]) / 500
        data = LikelihoodData(channel, w, 500, domain)
        errors.append(
            distance_of_values(recommended(domain, channel).fit(data).shares, theta, domain)
        )
    found = simulated_error(domain, mechanism, theta, 500, 2)
    assert found[0] == pytest.approx(np.mean(errors), rel=1e-6)
    assert simulated_error(domain, mechanism, theta, 500, 2) == found


def test_mechanisms_whose_reports_say_the_same_are_compared_once() -> None:
    """Wrong programs: laws compared by name or by their unbiased error; or by rounded ones."""
    three, many = Categorical(["a", "b", "c"]), Categorical([f"v{x}" for x in range(60)])
    subset, hyperplanes = warner.SubsetSelection, warner.mechanisms.ProjectiveGeometryResponse
    assert is_same_law(law_of(RandomizedResponse(three, 1.0)), law_of(subset(three, 1.0)))
    assert is_same_law(law_of(RandomizedResponse(three, 1.0)), law_of(hyperplanes(three, 1.0)))
    assert not is_same_law(law_of(RandomizedResponse(three, 1.0)), law_of(subset(three, 0.2)))
    for epsilon in (0.01, 1.0):
        laws = [law_of(m(many, epsilon)) for m in (RandomizedResponse, hyperplanes)]
        assert not is_same_law(*laws) and not is_same_law(laws[0], law_of(subset(many, epsilon)))
        near = law_of(RandomizedResponse(many, 1.001 * epsilon))
        assert not is_same_law(laws[0], near)
    ranking = plan(three, 1.0, 2000)
    assert ranking.left_out["SubsetSelection"].endswith("the same as RandomizedResponse")
    # With the same random numbers, equal laws have equal losses.
    numbers = Integers(0, 9)
    made = _made(numbers, 0.5)
    one, other = (
        simulated_losses(numbers, made[name], made_shares(numbers), 500, range(2))[0]
        for name in ("Laplace", "Geometric")
    )
    assert one == pytest.approx(other, rel=1e-3)


def test_a_kind_of_question_has_one_loss_in_python_and_on_the_command_line(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    mechanism = 'mechanism = "RandomizedResponse"\nepsilon = 1.0\n'
    study.write_text(
        f"[attributes.number]\nintegers = [0, 4]\n{mechanism}"
        f'[attributes.label]\nvalues = ["a", "b", "c"]\n{mechanism}'
    )
    arguments = ["plan", str(study), "--people", "500", "--runs", "2", "--json"]
    shown = json.loads(CliRunner().invoke(main, arguments).stdout)
    for name, domain in warner.Study.load(study).domains.items():
        found = plan(domain, 1.0, 500, runs=2)
        assert shown[name]["loss"] == found.loss == loss_of(domain)
        first = shown[name]["results"][0]
        assert first["error"] == pytest.approx(found.best.error)
        assert first["default_error"] == pytest.approx(found.best.row()["default_error"])
    assert shown["number"]["loss"] == "w1" and shown["label"]["loss"] == "l2"
    assert loss_of(Integers(0, 4), difference=0.1) == "l2"


_SIXTEEN = Categorical([f"v{x}" for x in range(16)])


@cache
def _default_errors_of_bits(people: int) -> np.ndarray:
    """The errors (60, 16) of default estimates of so many people's bits."""
    theta, errors = typical_shares(_SIXTEEN), []
    channel, rng = UnaryEncoding(_SIXTEEN, 1.0, variant="oue").channel(), np.random.default_rng(9)
    for _ in range(60):
        operator, w = channel.simulate_tally(theta, people, rng)
        data = LikelihoodData(operator, w, people, _SIXTEEN)
        errors.append(recommended(_SIXTEEN, channel).fit(data).shares - theta)
    return np.stack(errors)


@pytest.mark.parametrize("loss", ["l1", "l2"])
def test_the_default_error_is_that_of_estimates_and_not_of_the_unbiased_ones(loss: str) -> None:
    """Rejects the unbiased error, here twice as large, and the error at equal shares."""
    ranking = plan(_SIXTEEN, 1.0, 1000, loss=loss, error=0.4 if loss == "l1" else 0.015)
    # Judged by another mechanism than the one that was simulated.
    (result,) = [r for r in ranking if r.name == "UnaryEncoding variant='oue'"]
    assert result.default is not None and result.default.people is not None

    def simulated(people: int) -> float:
        errors = _default_errors_of_bits(people)
        losses = errors**2 if loss == "l2" else np.abs(errors)
        return float(losses.sum(axis=1).mean())

    assert simulated(1000) == pytest.approx(result.default.error, rel=0.25)
    wanted = 0.4 if loss == "l1" else 0.015
    assert simulated(result.default.people) == pytest.approx(wanted, rel=0.25)
    assert result.people is not None and result.people > 1.3 * result.default.people


def test_a_guess_has_its_own_default_error() -> None:
    domain = Categorical([f"v{x}" for x in range(30)])
    even = plan(domain, 1.0, 2000, theta=np.full(30, 1 / 30), error=0.01).best
    assert even.guessed is not None and even.default is not None
    assert even.guessed.error < even.default.error / 5  # nearly even shares are easily found
    assert even.guessed.people is not None and even.people is not None
    assert even.guessed.people < even.people / 10
    numbers = plan(Integers(0, 5), 1.0, 500, theta=[0.5, 0.5, 0, 0, 0, 0], runs=2).best
    assert numbers.guessed is not None and numbers.guessed.error == numbers.error


@pytest.mark.parametrize("guess", [None, [0.7, 0.2, 0.1]])
def test_a_plan_says_which_error_is_which_in_80_columns(guess: list[float] | None) -> None:
    domain = Categorical(["never", "sometimes", "often"])
    shown = plan(domain, 1.0, 2000, theta=guess, error=0.001).table().text(80)
    assert max(map(len, shown.split("\n"))) <= 80
    head = shown.split("\n")[1]
    assert "unbiased" in head and "default" in head and "needs" in head
    assert ("your guess" in head) == (guess is not None)
    said = " ".join(shown.split())
    assert "if the shares are typical (falling as 1, 1/2, 1/3 and so on)." in said
    assert "the error of estimates that are right on average (-m inversion), if the shares" in said


def test_the_usual_fit_is_the_recommended_one() -> None:
    """Of smooth shares, and of spikes, for which the maximum of the likelihood is taken."""
    domain = Integers(0, 40)
    spikes = np.where(np.arange(41) % 10 == 0, 1.0, 0.0)
    for theta, n in ((made_shares(domain), 2000), (spikes / spikes.sum(), 10**6)):
        channel = RandomizedResponse(domain, 2.0).channel()
        data = LikelihoodData(channel, channel.matvec(theta), n, domain)
        (usual, fit), (method, best) = usual_fit(data, theta), recommended_fit(data)
        assert type(usual) is type(method)
        assert fit.shares == pytest.approx(best.shares, abs=1e-4)


# Proposals for a draft, also where some people give no answer.


def test_a_yes_or_no_question_gets_randomised_response() -> None:
    found = propose(YES_OR_NO, 2000, 1.0)
    assert found.mechanism.header == RandomizedResponse(YES_OR_NO, 1.0).header
    assert found.epsilon == 1.0 and len(found.offers) == 1
    # 2 z sqrt((t (1 - t) + p (1 - p) / (2 p - 1)^2) / n) with p = e / (1 + e)
    p = math.e / (1 + math.e)
    variance = 0.09 + p * (1 - p) / (2 * p - 1) ** 2
    assert found.best.expected.share == pytest.approx(
        2 * 1.96 * math.sqrt(variance / 2000), rel=0.01
    )


def test_numbers_get_the_square_wave_at_its_estimate_and_not_at_the_unbiased_one() -> None:
    among = {"SquareWave": SquareWave, "GRR": RandomizedResponse}
    found = propose(Integers(0, 19), 1000, 1.0, among=among, width=0.2)
    assert isinstance(found.mechanism, SquareWave)
    assert found.best.expected.mean is not None and 0.7 < found.best.expected.mean < 4
    assert min(found.best.others, key=lambda name: found.best.others[name]) == "SquareWave"


def test_the_least_epsilon_that_meets_the_width_is_proposed() -> None:
    asked = partial(propose, YES_OR_NO, among={"RandomizedResponse": RandomizedResponse})
    few, many = asked(500), asked(50_000)
    (between,) = {offer.epsilon for offer in few.offers} - set(EPSILON_STEPS)
    assert between == few.epsilon and 10 * between == pytest.approx(round(10 * between))
    assert asked(500, epsilons=[between - 0.2]).meets is False
    assert [offer.epsilon for offer in many.offers] == list(EPSILON_STEPS)
    assert many.epsilon == EPSILON_STEPS[0] < few.epsilon and many.meets
    for proposal in (few, many):
        for offer in proposal.offers:
            width = offer.expected.share
            assert width is not None
            assert (width <= proposal.width) == (offer.epsilon >= proposal.epsilon)
    hopeless = asked(20)
    assert not hopeless.meets and hopeless.epsilon == EPSILON_STEPS[-1]


def test_the_people_of_a_width_have_that_width() -> None:
    found = propose(YES_OR_NO, 2000, 1.0)
    assert "Proposed: RandomizedResponse, epsilon = 1\n" in str(found)
    assert "people for 10 points" in str(found)
    assert "interval at 10 %: how wide the 95 % interval is" in str(found)
    needed = found.people(0.05)
    assert needed is not None
    assert found.widths(needed).share == pytest.approx(0.05, rel=0.02)


def test_a_proposal_that_misses_the_width_says_so_and_is_a_frame_of_numbers() -> None:
    """Rejects a table that only `meets` tells from a good one, one of 80 characters without the
    people that the width needs, and frames with texts such as "10.8 points" and "3 (proposed)".
    """
    found = propose(Categorical(["free", "pro", "team"]), 200, width=0.02)
    said = " ".join(found.table().text(80).split())
    assert not found.meets and "These intervals are wider than wanted. Ask more people" in said
    needed = f"{found.best.people:,}"
    assert f"for an interval of 2 points, {needed} people are enough. Or" in said
    assert "people for 2 points" in said and said.count(needed) == 2
    assert "wider than" not in str(propose(YES_OR_NO, 50_000)) and "0x" not in repr(found)
    for frame in (found.to_frame("polars"), found.table().to_frame("polars")):
        assert frame["epsilon"].to_list() == list(EPSILON_STEPS)
        assert frame["share_width"].to_list() == [each.expected.share for each in found.offers]
        assert frame["proposed"].to_list() == [False, False, False, True]
        assert frame["people"][3] == found.best.people and "mean_width" not in frame.columns
    numbers = propose(Integers(0, 19), 1000, 1.0, among={"SquareWave": SquareWave})
    assert numbers.to_frame("polars")["mean_width"][0] == numbers.best.expected.mean
    assert "people for 10 points" in numbers.table().text(80)


def test_sensitive_values_alone_are_protected_where_others_need_not_be() -> None:
    found = propose(Categorical(list("abcdef")), 2000, 1.0, sensitive=["a", "b"])
    assert found.best.name == "UtilityOptimizedRR"
    assert found.best.options == {"sensitive": ["a", "b"]}
    assert found.best.odds.answer in ("a", "b")


def test_odds_are_those_of_the_realised_law() -> None:
    coin = RandomizedResponse(YES_OR_NO, 1.0)
    odds = odds_of(coin)
    assert odds.sent is not None and odds.sent_by_other is not None
    assert odds.sent / odds.sent_by_other == pytest.approx(math.exp(coin.epsilon))
    assert odds.surer() == pytest.approx(odds.sent / 100)
    # Nothing is surer than e^epsilon, whatever was thought before.
    before = np.array([0.01, 0.3, 0.99])
    after = np.array([odds.surer(float(b)) for b in before])
    assert after / (1 - after) == pytest.approx(math.e * before / (1 - before))


def test_odds_say_whom_they_protect_and_how_surely() -> None:
    some = odds_of(UtilityOptimizedRR(Categorical(["a", "b", "c"]), 1.0, ["a"]))
    assert some.of_sensitive and some.of_all(2).of_sensitive and some.delta == 0
    assert 'who answer "a", 100 send this report' in in_odds(some)[2]
    assert any("grow at most 2.72 times" in each for each in about_epsilon())  # as in the table
    assert "sure of a sensitive answer" in in_odds(some)[0]
    assert "can become known" in in_odds(some)[1]
    rare = odds_of(Gaussian(Integers(0, 3), 1.0, 0.01))
    assert 0 < rare.delta <= 0.01 and rare.answer is None and not rare.of_sensitive
    assert rare.surer() == pytest.approx((math.e + rare.delta) / (1 + math.e))
    assert rare.of_all(2).delta == 2 * rare.delta
    assert "then sees the report and guesses, is right in at most 73.4 %" in in_odds(rare)[0]


def test_places_get_a_proposal_from_mechanisms_that_are_named() -> None:
    among = {"grr": RandomizedResponse, "bits": UnaryEncoding}
    found = propose(Grid(2, 2), 2000, 2.0, among=among)
    assert set(found.best.others) == set(among)
    assert found.best.expected.error > 0 and found.best.expected.kind == "score"


def test_what_is_no_question_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"must be a domain.*Integers\(low, high\)"):
        propose(["no", "yes"], 100)  # type: ignore[arg-type]
    for wrong in ({"share": 0.0}, {"width": 1.0}):
        refused(ArgumentError, "must be above 0 and below 1", propose, YES_OR_NO, 100, 1.0, **wrong)


def test_numbers_beside_nonresponse_get_a_proposal_of_the_same_kind() -> None:
    """A draft with missing = "answer" and numbers; the widths are those of an estimate."""
    domain = Optional(Interval(0, 60, bins=12))
    found = propose(domain, 2000, 1.7)
    assert not isinstance(found.mechanism, SquareWave)
    scenario = found.scenarios[0]
    tail, mean = scenario.functions
    assert tail @ scenario.theta == pytest.approx(0.1)  # the largest numbers, among all people
    assert tail[domain.nonresponse] == mean[domain.nonresponse] == 0
    # The weights are the derivative of the mean of those who answered.
    points, step = np.linspace(2.5, 57.5, 12), 1e-6
    moved = scenario.theta + step * np.eye(13)[3]
    before, after = (points @ t[:12] / t[:12].sum() for t in (scenario.theta, moved))
    assert mean[3] == pytest.approx((after - before) / step, rel=1e-3)
    rng = np.random.default_rng(1)
    reports = found.mechanism.randomize(domain.decode(rng.choice(13, 2000, p=scenario.theta)), rng)
    low, high = estimate(found.mechanism.tally(reports)).mean().interval()
    expected = found.best.expected
    assert expected.mean == pytest.approx(high - low, rel=0.5)
    assert expected.share is not None and found.best.people is not None


_SILENT = Optional(Interval(0.0, 10.0, bins=8))


def test_a_made_distribution_has_one_silent_person_in_ten() -> None:
    for scenario in scenarios_of(_SILENT, None, 0.1, 0.95):
        assert scenario.theta.sum() == pytest.approx(1) and scenario.theta[-1] == pytest.approx(0.1)
    shares = made_shares(_SILENT)
    assert shares[:-1] / 0.9 == pytest.approx(made_shares(_SILENT.answered))
    assert can_simulate(_SILENT) and not can_simulate(Optional(warner.Grid(2, 2)))


def test_the_distance_is_that_of_those_who_answered() -> None:
    p, q = np.array([0.2, 0.0, 0.8]), np.array([0.0, 0.5, 0.5])
    assert distance_of_values(p, q, Optional(Integers(3, 4))) == 1.0


def test_simulated_people_are_those_that_are_drawn_one_by_one() -> None:
    rng = np.random.default_rng(1)
    for n, number, size in ((1, 0, 3), (1000, 0, 3), (1000, 1, 500), (1000, 0, 2)):
        chances = rng.dirichlet(np.full(size, 0.3))
        ends = np.append(np.cumsum(chances)[:-1], np.inf)
        numbers = np.random.default_rng([0, number]).random(n)
        counts = np.bincount(np.searchsorted(ends, numbers, "right"), minlength=size)
        assert (_drawn(chances, n, number) == counts).all()


def test_candidates_for_numbers_have_nonresponse_beside_them() -> None:
    makers = dict(candidates(_SILENT, None, None, None, True))
    for name in ("SquareWave", "Piecewise", "Laplace"):
        made = makers[name](_SILENT, 1.0)
        assert isinstance(made, warner.mechanisms.WithNonresponse) and made.domain == _SILENT
        assert options_of(makers[name]) == {}  # a study names the mechanism of numbers alone


def test_a_draft_with_nonresponse_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draft = """
[attributes.units]
interval = { low = 0, high = 10, bins = 20 }
missing = "answer"
epsilon = 2.0
"""
    Path("draft.toml").write_text(draft)
    shown = run("plan", "draft.toml", "--people", "2000", "--write", "study.toml").output
    assert "mechanism = Piecewise" in shown and "of the mean" in shown
    (mechanism,) = warner.Study.load("study.toml").mechanisms.values()
    assert isinstance(mechanism, warner.mechanisms.WithNonresponse)
    assert warner.audit(mechanism).holds


def test_a_printed_proposal_says_of_which_shares_its_widths_are_not() -> None:
    """Rejects a table in Python that hides what the terminal says of shares near a half, and
    combinations of items that are planned as labels in silence."""
    several = warner.domains.Items(["tv", "radio"])
    words = "The interval of a share near 50 % is wider. To plan for that, pass share=0.5."
    for domain, names in ((warner.Categorical(["a", "b", "c"]), ""), (several, "tv, radio")):
        printed = " ".join(str(warner.design.propose(domain, 5000, 2.0)).split())
        assert words in printed
        assert ("combinations of the answers to tv, radio. So" in printed) == bool(names)
    for share in (0.4, 0.5, 0.6, 0.9):
        printed = " ".join(str(warner.design.propose(several, 5000, 2.0, share=share)).split())
        assert (words in printed) is (share == 0.9)
    point = str(warner.design.propose(several, 5000, 2.0, width=0.01).table())
    assert "1 point " in " ".join(point.split()) and "1 points" not in point
