"""What utility-optimised and personalised mechanisms promise, from the device to the estimate [P2]."""

from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import warner
from warner import LDP, Integers, Personalized, UtilityOptimizedRappor, UtilityOptimizedRR
from warner._core.exact import log_ratio
from warner.app.study import Study
from warner.design.audits.serialised import enumerated
from warner.domains import Tagged, from_spec
from warner.mechanisms import from_header
from warner.privacy import OSLDP, ULDP
from warner.privacy.likelihood_ratios import ambiguous_report, worst_ratio
from warner.reports.reports import Reports

DOMAIN = Integers(0, 9)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize(
    "size, sensitive", [(2, [1]), (5, [0, 3]), (6, [2]), (7, [0, 1, 2, 3, 4, 5])]
)
@pytest.mark.parametrize("keep", [None, "symmetric", "optimized", 0.8])
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
    table, sensitive_mask, protected = (
        mechanism.probabilities(),
        np.isin(np.arange(size), sensitive),
        mechanism.protected(),
    )
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
    for keep in ("symmetric", "optimized", 0.7):
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
    assert (
        table[0, 0] == pytest.approx(c1)
        and table[1, 0] == pytest.approx(c2)
        and table[5, 5] == pytest.approx(c3)
        and table[0, 5] == pytest.approx(c2)
    )
    assert members * c2 + c1 > 1
    rappor = UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1, 2])
    h = np.exp(0.5)
    channel = rappor.channel()
    assert channel.q == pytest.approx([1 / (h + 1)] * 3 + [0] * 7)
    assert channel.gap == pytest.approx([(h - 1) / (h + 1)] * 3 + [1 - 1 / h] * 7)


class Leaky(UtilityOptimizedRR):
    """A wrong program: now and then a sensitive value is sent as another, unprotected one."""

    def probabilities(self) -> np.ndarray:
        table = super().probabilities()
        table[5, 0] = Fraction(1, 1000)
        table[0, 0] -= Fraction(1, 1000)
        return table


def test_an_audit_names_the_report_that_breaks_the_definition() -> None:
    broken = warner.audit(Leaky(DOMAIN, 1.0, [0, 1]))
    assert not broken.holds and "report 5" in str(broken.violation)
    # Claims: what is broken is the report, or the report and the pair of values.
    matrix = np.array([[0.5, 0.1], [0.5, 0.9]])
    mixing = warner.ChannelMechanism(Integers(0, 1), matrix, sensitive=[0])
    assert isinstance(mixing.guarantee, ULDP) and mixing.epsilon == pytest.approx(np.log(5))
    assert not warner.audit(mixing, claim=ULDP(1.0, (0,))).holds
    assert "report 0 comes from 0, 5 times as likely as from 1" in str(
        warner.audit(mixing, claim=ULDP(1.0, (0,))).violation
    )
    assert "report 0" in str(warner.audit(mixing, claim=LDP(1.0)).violation)
    assert (
        warner.audit(mixing, claim=ULDP(1.7, (0,))).holds
        and warner.audit(mixing, claim=OSLDP(1.7, (0,))).holds
    )
    uninvertible = warner.ChannelMechanism(
        Integers(0, 2), [[0.5, 0.5, 0.5], [0.5, 0.0, 0.0], [0.0, 0.5, 0.5]], sensitive=[0]
    )
    assert isinstance(uninvertible.guarantee, OSLDP) and uninvertible.epsilon == np.inf
    assert "unprotected report 2 comes from 1 and from 2" in str(
        warner.audit(uninvertible, claim=ULDP(9.0, (0,))).violation
    )
    one_sided = warner.ChannelMechanism(
        Integers(0, 2), [[1.0, 0.5, 0.5], [0.0, 0.5, 0.5]], sensitive=[0]
    )
    assert isinstance(one_sided.guarantee, OSLDP) and one_sided.epsilon == pytest.approx(np.log(2))
    assert warner.audit(one_sided).holds and warner.audit(one_sided, claim=OSLDP(0.7, (0,))).holds
    with pytest.raises(warner.errors.ArgumentError, match="too many to list"):
        warner.audit(warner.UnaryEncoding(Integers(0, 30), 1.0), claim=LDP(1.0))
    with pytest.raises(warner.errors.ArgumentTypeError, match="claim"):
        warner.audit(mixing, claim=1.0)  # type: ignore[arg-type]
    with pytest.raises(warner.errors.ArgumentError, match="do not go with a claim"):
        warner.audit(mixing, samples=1000, claim=LDP(1.0))
    assert warner.audit(uninvertible, claim=ULDP(9.0, (0,))).epsilon == np.inf
    assert "1 sensitive value" in warner.audit(one_sided).guarantee and "one-sided" in str(
        warner.audit(one_sided)
    )


def test_samplers_that_leak_are_caught_by_samples() -> None:
    class Naive(UtilityOptimizedRR):
        """Sends a sensitive value as it is, too often."""

        def _sample(self, index, source):  # type: ignore[no-untyped-def]
            report = super()._sample(index, source)["report"]
            return {"report": np.where(np.arange(len(index)) % 2 == 0, index, report)}

    assert not warner.audit(Naive(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds
    assert warner.audit(UtilityOptimizedRR(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds
    assert warner.audit(UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1, 2]), samples=20_000).holds


def test_guarantees_compose_where_a_proposition_says_so() -> None:
    ill, other = ("ill",), ("poor",)
    assert warner.compose([ULDP(0.5, ill), ULDP(0.25, ill)]) == ULDP(
        0.75, ill, "tuples of reports whose utility-optimised parts are all protected"
    )
    assert warner.compose([ULDP(0.5, ill), LDP(1.0)]).epsilon == 1.5 and isinstance(
        warner.compose([ULDP(0.5, ill), LDP(1.0)]), ULDP
    )
    assert warner.compose([ULDP(0.5, ill), OSLDP(1.0, ill)]) == OSLDP(1.5, ill) and ULDP(
        1.0, ill
    ).relaxed() == OSLDP(1.0, ill)
    with pytest.raises(warner.errors.MismatchError, match="same sensitive values"):
        warner.compose([ULDP(0.5, ill), ULDP(0.5, other)])
    for wrong in ([ULDP(0.5, ill), 1.0], [], 3):
        with pytest.raises(warner.WarnerError):
            warner.compose(wrong)
    for bad in (
        lambda: ULDP(-1.0, ill),
        lambda: ULDP(1.0, ()),
        lambda: OSLDP(float("nan"), ill),
        lambda: ULDP(1.0, "ill"),
    ):  # type: ignore[arg-type]
        with pytest.raises(warner.WarnerError):
            bad()
    # The sum is really needed, by enumeration of pairs of reports [P2 prop 1].
    a, b = (UtilityOptimizedRR(Integers(0, 3), e, [0, 1]).probabilities() for e in (0.5, 1.0))
    pairs = np.array([[x * y for x, y in zip(r, s, strict=True)] for r in a for s in b])
    sensitive_mask = np.array([True, True, False, False])
    protected = np.array([y0 < 2 and y1 < 2 for y0 in range(4) for y1 in range(4)])
    assert ambiguous_report(pairs, sensitive_mask, protected) is None
    assert log_ratio(worst_ratio(pairs[protected]), 1) == pytest.approx(1.5, abs=1e-12)


def test_post_processing_keeps_the_guarantee_only_where_it_keeps_data_types() -> None:
    channel = UtilityOptimizedRR(Integers(0, 3), 1.0, [0, 1]).probabilities().astype(float)
    sensitive_mask = np.array([True, True, False, False])
    blur = np.array([[0.7, 0.4, 0, 0], [0.3, 0.6, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    after = warner.privacy.postprocessing.post_process(
        blur, channel, sensitive_mask, sensitive_mask
    )
    assert (
        after == pytest.approx(blur @ channel)
        and (after[:2].max(axis=1) / after[:2].min(axis=1) <= np.e + 1e-12).all()
    )
    mixing = np.array([[1.0, 0, 0.5, 0], [0, 1, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1]])
    assert not warner.privacy.postprocessing.preserves_data_types(
        mixing, sensitive_mask, sensitive_mask
    )
    with pytest.raises(warner.errors.ArgumentError, match="guarantee is not kept"):
        warner.privacy.postprocessing.post_process(mixing, channel, sensitive_mask, sensitive_mask)
    with pytest.raises(warner.errors.ArgumentError, match="not utility-optimised"):
        warner.privacy.postprocessing.post_process(
            np.eye(2),
            np.array([[1.0, 0.5, 0.5], [0, 0.5, 0.5]]),
            [True, False, False],
            [True, False],
        )
    with pytest.raises(warner.WarnerError):
        warner.privacy.postprocessing.post_process([[2.0]], channel, sensitive_mask, sensitive_mask)


@pytest.mark.parametrize("factor", [1.0, 1 - 1e-14, 1 - 1e-10])
def test_decomposition_survives_rounding(factor: float) -> None:
    """Columns all alike but for rounding: what a value says more often than any other is then
    rounding too.
    """
    column = np.random.default_rng(0).dirichlet(np.ones(1000)) * factor
    channel = np.stack([column, column * (1 + 1e-16), column], axis=1)
    uldp, _, post = warner.privacy.postprocessing.decompose(channel, [True, False, False])
    assert post.sum(axis=0) == pytest.approx(
        np.ones(post.shape[1])
    ) and post @ uldp == pytest.approx(channel / channel.sum(axis=0), abs=1e-12)
    for wrong in ([1, 0, 0], [True], "abc", None, [False] * 3, [[True], [True, False]]):
        with pytest.raises(warner.errors.ArgumentError, match="booleans"):
            warner.privacy.postprocessing.decompose(channel, wrong)


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


@pytest.mark.parametrize("seed", range(20))
def test_one_sided_mechanisms_are_utility_optimised_ones_and_a_post_processing(seed: int) -> None:
    """[P2 prop 13] on random OSLDP channels: the product is the channel, and the first factor keeps
    both conditions at the same epsilon.
    """
    rng = np.random.default_rng(seed)
    size, reports, members = (
        int(rng.integers(3, 8)),
        int(rng.integers(3, 9)),
        int(rng.integers(1, 3)),
    )
    sensitive_mask = np.arange(size) < members
    channel = rng.dirichlet(np.full(reports, 0.7), size).T
    unseen = rng.random(reports) < 0.4  # what sensitive values never say
    unseen[0] = False
    channel[np.ix_(unseen, sensitive_mask)] = 0
    channel /= channel.sum(axis=0)
    seen = channel[:, sensitive_mask].max(axis=1) > 0
    epsilon = np.log(
        np.max(channel[seen][:, sensitive_mask].max(axis=1) / channel[seen].min(axis=1))
    )
    uldp, protected, post = warner.privacy.postprocessing.decompose(channel, sensitive_mask)
    assert post @ uldp == pytest.approx(channel, abs=1e-12)
    assert (
        uldp.sum(axis=0) == pytest.approx(np.ones(size))
        and post.sum(axis=0) == pytest.approx(np.ones(len(uldp)))
        and (post >= 0).all()
    )
    assert ambiguous_report(uldp, sensitive_mask, protected) is None
    assert (
        np.log((uldp[protected].max(axis=1) / uldp[protected].min(axis=1)).max()) <= epsilon + 1e-9
    )


# Bad input


@pytest.mark.parametrize("make", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_sensitive_values_are_checked(make: type[warner.mechanisms.Mechanism]) -> None:
    for wrong, rule in (
        ([], "sent as they are"),
        ([10], "not in the domain"),
        ([0, 0], "distinct"),
        (3, "list"),
        ("0", "list"),
        ([None], "sensitive|values"),
    ):
        with pytest.raises(warner.WarnerError, match=rule):
            make(DOMAIN, 1.0, sensitive=wrong)  # type: ignore[call-arg]
    for epsilon in (0, -1, float("nan"), float("inf"), 60.0, True):
        with pytest.raises(warner.WarnerError):
            make(DOMAIN, epsilon, sensitive=[0])  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        make(DOMAIN, 1.0)  # type: ignore[call-arg]


def test_reports_that_cannot_be_are_refused(tmp_path: Path) -> None:
    mechanism = UtilityOptimizedRappor(DOMAIN, 1.0, [0, 1])
    bits = np.zeros((2, 10), dtype=int)
    bits[1, [4, 7]] = 1
    with pytest.raises(warner.errors.ReportError, match="non-sensitive"):
        mechanism.reports(bits)
    bits[1, 7] = 0
    assert len(mechanism.reports(bits)) == 2


# Personalised


CITY = Personalized(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home", "work"])


def test_a_secret_map_sends_the_stand_in_and_nothing_else() -> None:
    """At a large budget the common mechanism says what it was given: the bot for secret values, the
    value for others.
    """
    loud = Personalized(UtilityOptimizedRR(DOMAIN, 20.0, [3]), ["home", "work"])
    device = loud.device({"home": [4], "work": [5, 6]})
    reports = device.randomize([4, 5, 6, 7, 3], np.random.default_rng(0))
    assert reports.columns["report"].tolist() == [10, 11, 11, 7, 3]
    assert loud.device().randomize([4], np.random.default_rng(0)).columns["report"].tolist() == [4]


def test_no_one_else_learns_the_map(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is written (reports, tallies, headers, reprs, logs, errors) is the same for devices
    with different maps.
    """
    labels = [f"place-{i:04d}" for i in range(50)]
    city = Personalized(UtilityOptimizedRR(warner.Categorical(labels), 1.0, labels[:1]), ["home"])
    with caplog.at_level(logging.DEBUG):
        texts = []
        for secret in ("place-0007", "place-0031"):
            device = city.device({"home": [secret]})
            reports = device.randomize([secret] * 30, np.random.default_rng(5))
            shown = [
                repr(device),
                str(device),
                repr(inspect.getmembers(device, lambda v: not callable(v))),
            ]
            assert not any(secret in text or "array" in text for text in shown) and not hasattr(
                device, "__dict__"
            )
            reports.save(tmp_path / "reports", keep_order=True)
            tally = city.tally(reports)
            tally.save(tmp_path / "tally.json")
            texts.append(
                (tmp_path / "reports").read_bytes()
                + (tmp_path / "tally.json").read_bytes()
                + repr(city).encode()
            )
            for write in (pickle.dumps, json.dumps, copy.deepcopy, lambda d: d.__getstate__()):
                with pytest.raises((warner.errors.ArgumentTypeError, TypeError)) as error:
                    write(device)
                assert secret not in str(error.value)
    assert texts[0] == texts[1]
    assert not caplog.text and capsys.readouterr() == ("", "")
    assert city.mechanism.header == from_header_again(city)


def test_a_personalized_mechanism_is_a_mechanism_like_any_other() -> None:
    size = CITY.domain.size
    assert isinstance(CITY, warner.mechanisms.Mechanism) and size == DOMAIN.size + 2
    found = warner.audit(CITY)
    assert found.holds and found.epsilon == warner.audit(CITY.mechanism).epsilon
    assert warner.audit(CITY, claim=CITY.guarantee).holds
    p = np.full(size, 1 / size)
    loss = warner.theory.expected_loss(CITY, p, 100)
    assert loss == warner.theory.expected_loss(CITY.mechanism, p, 100)
    ranking = warner.plan(CITY.domain, CITY.requested, 100, CITY.sensitive)
    assert "UtilityOptimizedRR" in [result.name for result in ranking.results]


def test_a_personalized_mechanism_is_one_attribute_of_several() -> None:
    smokes = warner.Categorical(["no", "yes"])
    survey = warner.PerAttribute(
        warner.Product(place=CITY.domain, smokes=smokes),
        {"place": CITY, "smokes": lambda d: warner.RandomizedResponse(d, 1.0)},
    )
    assert survey.parts["place"] is CITY and warner.audit(survey).holds
    again = warner.mechanisms.from_header(survey.header)
    assert again.header == survey.header
    with pytest.raises(warner.errors.ArgumentTypeError, match=r"go through a device.*city\.device"):
        survey.randomize([{"place": 3, "smokes": "no"}])


def test_real_answers_of_a_personalized_mechanism_go_through_a_device() -> None:
    with pytest.raises(warner.errors.ArgumentTypeError, match=r"go through a device.*city\.device"):
        CITY.randomize([3])


def from_header_again(city: Personalized) -> dict[str, object]:
    return warner.mechanisms.from_header(city.mechanism.header).header


def test_bad_maps_are_refused_without_naming_the_value() -> None:
    for secret, rule in (
        ({"home": [3]}, "sensitive for everyone"),
        ({"home": [4], "work": [4]}, "another tag"),
        ({"gym": [4]}, "not there"),
        ({"home": [4444]}, "not in the domain"),
        ({"home": 4}, "home"),
        ([4], "dict"),
    ):
        with pytest.raises(warner.WarnerError, match=rule) as error:
            CITY.device(secret)  # type: ignore[arg-type]
        assert (
            "4" not in str(error.value).replace("0.4", "") and error.value.__context__ is None
        ) or rule in ("", "dict")
    for tags in ([], ["a", "a"], "home", [3], [""], ["@home"], ["a=b"], ["a.b"], ["a "], ["a\nb"]):
        with pytest.raises(warner.WarnerError):
            Personalized(CITY.common, tags)  # type: ignore[arg-type]
    with pytest.raises(warner.errors.ArgumentTypeError, match="common"):
        Personalized(warner.RandomizedResponse(DOMAIN, 1.0), ["home"])  # type: ignore[arg-type]
    with pytest.raises(warner.errors.ArgumentError, match="look like"):
        Personalized(UtilityOptimizedRR(warner.Categorical(["a", "@home"]), 1.0, ["a"]), ["home"])


def _city(n: int, seed: int = 0) -> tuple[warner.Tally, np.ndarray, np.ndarray, np.ndarray]:
    """Reports of n people, each with a home of her own; the truth, where people at home are, and
    the true shares of what was mapped.
    """
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.full(10, 2.0))
    city = Personalized(UtilityOptimizedRR(DOMAIN, 2.0, [3]), ["home", "work"])
    values = rng.choice(10, n, p=theta)
    at_home = (rng.random(n) < 0.3) & (values != 3)
    devices = {x: city.device({"home": [x]}) for x in range(10) if x != 3}
    total, truth, homes = (
        None,
        np.bincount(values, minlength=10) / n,
        np.bincount(values[at_home], minlength=10) / at_home.sum(),
    )
    for x, device in devices.items():
        mine = values[at_home & (values == x)]
        if mine.size:
            part = city.tally(device.randomize(mine, rng))
            total = part if total is None else total + part
    rest = city.tally(city.device().randomize(values[~at_home], rng))
    assert total is not None
    mapped = np.append(np.bincount(values[~at_home], minlength=10), [at_home.sum(), 0]) / n
    return total + rest, truth, homes, mapped


@pytest.mark.parametrize("method", [warner.Inversion(), warner.MaximumLikelihood(), None], ids=repr)
def test_shares_of_stand_ins_are_given_back(method: warner.estimators.Estimator | None) -> None:
    tally, truth, homes, mapped = _city(200_000)
    result = warner.estimate(tally, method)
    assert result.domain.labels[-2:] == ["@home", "@work"]
    known = warner.redistribute(result, {"home": homes})
    assert known.probabilities == pytest.approx(
        truth, abs=0.015
    ) and known.probabilities.sum() == pytest.approx(result.probabilities.sum())
    assert (
        known.tag_shares["home"] > 0.2 and abs(known.tag_shares["work"]) < 0.02
    )  # a tag without users
    assert known.worst_case == pytest.approx(2 * sum(abs(v) for v in known.tag_shares.values()))
    blind = warner.redistribute(result)
    r = result.probabilities
    open_ = np.arange(10) != 3
    assert blind.probabilities == pytest.approx(
        r[:10] + (r[10] + r[11]) * np.where(open_, r[:10], 0) / r[:10][open_].sum()
    )
    # [P2 theorem 1] with the true losses, and its worst case.
    loss, error = float(np.abs(r - mapped).sum()), float(np.abs(known.probabilities - truth).sum())
    assert error <= known.bound(loss, {"home": 0.0}) <= known.bound(loss) == loss + known.worst_case
    wrong = warner.redistribute(result, {"home": homes[::-1]})
    assert np.abs(wrong.probabilities - truth).sum() <= wrong.bound(
        loss, {"home": float(np.abs(homes - homes[::-1]).sum())}
    )
    low, high = known.interval(rng=np.random.default_rng(0)).T
    assert (
        (low <= known.probabilities + 1e-9).all() and (known.probabilities <= high + 1e-9).all()
    ) or method is not None


def test_background_knowledge_is_checked() -> None:
    result = warner.estimate(_city(2000)[0])
    for wrong in (
        {"home": [0.5] * 10},
        {"home": [1.0]},
        {"gym": [0.1] * 10},
        {"home": [-0.1, 1.1, *[0] * 8]},
        {"home": "x"},
        {"home": [np.nan] * 10},
    ):
        with pytest.raises(warner.WarnerError):
            warner.redistribute(result, wrong)
    plain = UtilityOptimizedRR(DOMAIN, 1.0, [3])
    with pytest.raises(warner.errors.MismatchError, match="no tags"):
        warner.redistribute(warner.estimate(plain.tally(plain.randomize([1, 2]))))
    with pytest.raises(warner.errors.ArgumentTypeError):
        warner.redistribute(result.probabilities)  # type: ignore[arg-type]
    for loss in ({"home": 3.0}, {"gym": 0.1}):
        with pytest.raises(warner.errors.ArgumentError, match="background"):
            warner.redistribute(result).bound(0.1, loss)
    for bad_loss in (-1, float("nan"), "x"):
        with pytest.raises(warner.WarnerError):
            warner.redistribute(result).bound(bad_loss)  # type: ignore[arg-type]
    for is_enumerable in ([1], "home", 5):
        with pytest.raises(warner.errors.ArgumentTypeError, match="dict"):
            warner.redistribute(result, is_enumerable)  # type: ignore[arg-type]
    closed = Personalized(
        UtilityOptimizedRR(warner.Categorical(list("abc")), 0.1, list("abc")), ["h"]
    )
    negative = warner.estimate(
        closed.tally(closed.device().randomize(["b"] * 100, np.random.default_rng(0))),
        warner.Inversion(),
    )
    shares = warner.redistribute(negative).matrix[:, -1]
    assert (shares >= 0).all() and shares.sum() == pytest.approx(1)


def test_tagged_domains_encode_and_decode() -> None:
    tagged = Tagged(warner.Grid(2, 2), ["home"])
    assert tagged.encode([(1, 1), "@home", (0, 1)]).tolist() == [3, 4, 1] and tagged.decode(
        [4, 0]
    ) == ["@home", (0, 0)]
    assert from_spec(tagged.spec()) == tagged
    with pytest.raises(warner.errors.ValuesError) as error:
        tagged.encode([(0, 0), "@home", (5, 5)])
    assert error.value.position == 2 and error.value.__context__ is None
    numbers = Tagged(Integers(0, 3), ["home"])
    assert numbers.encode(np.array([1, 2])).tolist() == [1, 2]
    with pytest.raises(warner.errors.ArgumentTypeError):
        Tagged(numbers, ["work"])


# Studies and the plan


STUDY = """
[attributes.place]
values = ["clinic", "park", "school", "shop"]
mechanism = "UtilityOptimizedRR"
sensitive = ["clinic"]
tags = ["home"]
epsilon = 1.0
[attributes.age]
integers = [0, 30]
mechanism = "UtilityOptimizedRappor"
sensitive = [3, 4]
epsilon = 0.5
"""


def test_studies_name_sensitive_values_and_tags() -> None:
    study = Study.parse(STUDY)
    assert study.mechanisms["place"].domain.labels == ["clinic", "park", "school", "shop", "@home"]
    assert study.guarantee == OSLDP(
        study.epsilon, (("place", "clinic"), ("place", "@home"), ("age", 3), ("age", 4))
    )
    assert Study.parse(study.to_json()).digest == study.digest
    for old, new in (
        ('sensitive = ["clinic"]\ntags = ["home"]', "sensitive = []"),
        ('["clinic"]\ntags', '["moon"]\ntags'),
        ('tags = ["home"]', 'tags = ["home", "home"]'),
    ):
        with pytest.raises(warner.errors.StudyError, match=r"attributes\.place"):
            Study.parse(STUDY.replace(old, new))
    with pytest.raises(warner.errors.StudyError, match="go with UtilityOptimizedRR"):
        Study.parse(
            STUDY.replace("UtilityOptimizedRR", "RandomizedResponse").replace(
                'sensitive = ["clinic"]\n', ""
            )
        )


@pytest.mark.parametrize(
    "kind, options", [(UtilityOptimizedRR, {}), (UtilityOptimizedRappor, {"keep": "optimized"})]
)
def test_nothing_need_be_sensitive_for_everyone_where_people_have_tags(
    kind: type, options: dict[str, str]
) -> None:
    """[P2 sec 5.1]: then the bots alone are sensitive. Values without a tag may be recognised; no
    value may be protected by nothing.
    """
    city = Personalized.of(kind, DOMAIN, 1.0, ["home", "work"], **options)
    assert (
        city.common is None
        and city.guarantee.sensitive == ("@home", "@work")
        and city.epsilon <= 1.0
    )
    check = warner.audit(city.mechanism)
    assert check.holds and check.epsilon == pytest.approx(1.0, abs=1e-9)
    rng = np.random.default_rng(0)
    device = city.device({"home": [DOMAIN.labels[1]]})
    reports = device.randomize([DOMAIN.labels[1]] * 6000, rng)
    open_ = city.device().randomize([DOMAIN.labels[0]] * 4000, rng)
    result = warner.estimate([city.tally(reports), city.tally(open_)], warner.Inversion("project"))
    known = np.eye(DOMAIN.size)[1]
    shares = warner.redistribute(result, {"home": known}).probabilities
    assert shares[:2] == pytest.approx([0.4, 0.6], abs=0.1)
    assert from_header(city.mechanism.header).header == city.mechanism.header
    assert eval(repr(city), {**vars(warner)}).mechanism.header == city.mechanism.header
    with pytest.raises(warner.errors.ArgumentError, match="sensitive"):
        kind(DOMAIN, 1.0, sensitive=[])
    with pytest.raises(warner.errors.ArgumentTypeError, match="mechanism"):
        Personalized.of(warner.RandomizedResponse, DOMAIN, 1.0, ["home"])  # type: ignore[arg-type]


def test_a_study_with_tags_need_name_no_sensitive_value() -> None:
    for text in (
        STUDY.replace('sensitive = ["clinic"]', "sensitive = []"),
        STUDY.replace('sensitive = ["clinic"]\n', ""),
    ):
        study = Study.parse(text)
        assert study.mechanisms["place"].sensitive == ["@home"]
        assert Study.parse(study.to_json()).digest == study.digest
    assert Personalized.of(
        UtilityOptimizedRR, DOMAIN, 1.0, ["home"], sensitive=[3]
    ).mechanism.header == (
        Personalized(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home"]).mechanism.header
    )


def test_a_plan_ranks_mechanisms_and_counts_people() -> None:
    ranking = warner.plan(Integers(1, 100), 1.0, 10_000, sensitive=[7, 8], loss="l1", error=0.1)
    errors = [option.error for option in ranking.results]
    assert (
        errors == sorted(errors)
        and ranking.no_protection.error < errors[0]
        and ranking.best.name == "UtilityOptimizedRR"
    )
    assert {
        "UtilityOptimizedRR",
        "UtilityOptimizedRappor",
        "RandomizedResponse",
        "LocalHashing",
    } <= {o.name for o in ranking.results}
    best = ranking.best
    assert best.people is not None and best.mechanism is not None
    uniform = np.full(100, 0.01)
    assert (
        warner.design.theory.expected_loss(best.mechanism, uniform, best.people, "l1")
        <= 0.1
        < warner.design.theory.expected_loss(best.mechanism, uniform, best.people - 1, "l1")
    )
    squares = warner.plan(Integers(1, 100), 1.0, 10_000, error=1e-3, loss="l2")
    option = squares.best
    assert (
        option.people is not None
        and option.mechanism is not None
        and squares.no_protection.people is not None
    )
    assert (
        warner.design.theory.expected_loss(option.mechanism, uniform, option.people, "l2") <= 1e-3
    )
    assert not any(o.name.startswith("Utility") for o in squares.results)
    assert "LocalHashing" in warner.plan(Integers(1, 5000), 1.0, 10).left_out
    for wrong in (
        {"n": 0},
        {"epsilon": -1},
        {"error": 0},
        {"loss": "l3"},
        {"theta": [1.0]},
        {"sensitive": []},
        {"epsilon": 59.0},
        {"error": 1e-300},
        {"n": 10**400},
    ):
        with pytest.raises(warner.WarnerError):
            warner.plan(**({"domain": DOMAIN, "epsilon": 1.0, "n": 10} | wrong))  # type: ignore[arg-type]
    with pytest.raises(warner.WarnerError):
        warner.plan(10, 1.0, 10)  # type: ignore[arg-type]


def test_enumerated_counts_reports_that_serialise_alike_once() -> None:
    rows = np.array(
        [
            [Fraction(1, 2), Fraction(1, 4)],
            [Fraction(1, 2), Fraction(1, 4)],
            [Fraction(0), Fraction(1, 2)],
        ]
    )
    ratio, problem = enumerated(
        [b"a", b"a", b"b"], rows, np.array([True, False]), np.array([True, True, False])
    )
    assert ratio == 2 and problem is None
