"""Combined, personalised and keyed mechanisms."""

from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.spec.mechanisms._survey import AGE, BOTH, SEX, _survey
from warner import (
    Categorical,
    Integers,
    Interval,
    PerAttribute,
    Product,
    RandomizedResponse,
    UnaryEncoding,
    UtilityOptimizedRR,
    audit,
    estimate,
)
from warner.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    MismatchError,
    ValuesError,
    WarnerError,
)
from warner.io import write_reports
from warner.mechanisms import (
    Device,
    PersonalizedULDP,
    Repeated,
    UtilityOptimizedRappor,
    from_header,
)
from warner.privacy import ULDP
from warner.results.from_tally import likelihood_data


def test_mechanisms_alone_say_what_the_attributes_are() -> None:
    """Rejects: attributes in another order, or names that are no keywords refused."""
    sex, age = RandomizedResponse(SEX, 1.0), RandomizedResponse(AGE, 1.0)
    ours = PerAttribute({"age group": age, "sex": sex})
    assert ours.domain == Product({"age group": AGE, "sex": SEX})
    assert ours.domain != Product({"sex": SEX, "age group": AGE})
    for wrong, words in {
        lambda: PerAttribute({"sex": SEX}): "mechanisms['sex']: must be a mechanism",
        lambda: PerAttribute(Product(sex=SEX)): "mechanisms: must be a dict",
        lambda: Product([SEX, AGE]): "Write Product({name: domain})",
        lambda: Product({}): "at least one question",
    }.items():
        with pytest.raises(WarnerError) as error:
            wrong()
        assert words in str(error.value)


@pytest.mark.parametrize(
    "mechanisms, match",
    [
        ({"sex": RandomizedResponse(SEX, 1.0)}, "has no mechanism for 'age'"),
        (
            {
                "sex": RandomizedResponse(SEX, 1.0),
                "age": RandomizedResponse(AGE, 1.0),
                "place": RandomizedResponse(AGE, 1.0),
            },
            "'place'",
        ),
        (
            {"sex": RandomizedResponse(SEX, 1.0), "age": RandomizedResponse(SEX, 1.0)},
            "the domain of its question",
        ),
        ({"sex": RandomizedResponse(SEX, 1.0), "age": 3}, "must be a mechanism"),
        (
            {"sex": RandomizedResponse(SEX, 1.0), "age": lambda d: d},
            "got a function that returns an Int",
        ),
        (
            {"sex": RandomizedResponse(SEX, 1.0), "age": Repeated(UnaryEncoding(AGE, 1.0), 2)},
            "several reports of bits",
        ),
        ([RandomizedResponse(SEX, 1.0)], "must be a dict"),
        (None, "must be a dict"),
    ],
)
def test_mechanisms_that_do_not_fit_the_attributes_are_refused(mechanisms: Any, match: str) -> None:
    with pytest.raises(
        (ArgumentError, ArgumentTypeError, MismatchError),
        match=match,
    ):
        PerAttribute(BOTH, mechanisms)


def test_only_a_product_has_attributes() -> None:
    with pytest.raises(ArgumentTypeError, match="Product"):
        PerAttribute(SEX, {"sex": RandomizedResponse(SEX, 1.0)})  # type: ignore[arg-type]


def test_names_that_make_one_column_twice_are_refused() -> None:
    inner = Repeated(RandomizedResponse(AGE, 1.0), 2)
    product = Product(**{"a": AGE, "a.1": AGE})
    with pytest.raises(ArgumentError, match="two columns the same name"):
        PerAttribute(product, {"a": inner, "a.1": RandomizedResponse(AGE, 1.0)})
    either_case = PerAttribute(
        Product(a=AGE, A=AGE), dict.fromkeys(("a", "A"), RandomizedResponse(AGE, 1.0))
    )
    with pytest.raises(ArgumentError, match="upper and lower case"):
        write_reports(either_case.randomize([{"a": 1, "A": 2}]), "never.parquet")


@pytest.mark.parametrize(
    "values",
    [
        [{"sex": "f"}],
        [{"sex": "f", "age": 1}, {"sex": "m"}],
        [{"sex": "f", "age": None}],
        [{"sex": "f", "age": 4}],
        [{"sex": "f", "age": 1, "more": 0}],
        {"sex": ["f", "m"]},
        {"sex": ["f", "m"], "age": [1]},
        {"sex": [], "age": []},
        [],
        ["f"],
        "f",
        None,
        3,
    ],
    ids=repr,
)
def test_answers_that_are_not_whole_are_refused_and_nothing_is_sent(values: Any) -> None:
    refused((ArgumentError, ArgumentTypeError, EmptyError), "", _survey().randomize, values)


def test_a_refused_answer_is_named_by_attribute_and_position_never_by_value() -> None:
    with pytest.raises(ValuesError, match="sex: position 1") as caught:
        _survey().randomize([{"sex": "f", "age": 1}, {"sex": "a-secret-7391", "age": 1}])
    assert (
        "7391"
        not in f"{caught.value} {caught.value.__cause__} {caught.value.__context__} {vars(caught.value)}"
    )


def test_lists_dicts_and_frames_are_the_same_answers() -> None:
    import polars as pl
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"sex": ["f", "m", "f"], "age": [0, 3, 2]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    survey = _survey()
    given = (columns, rows, pl.DataFrame(columns), pa.table(columns))
    found = {survey.randomize(v, np.random.default_rng(1)).to_bytes(keep_order=True) for v in given}
    assert len(found) == 1


def test_numbers_reach_their_mechanism_and_not_their_bins() -> None:
    """The mutant that encodes first would make all numbers of a bin alike: then windows start at
    the same cells.
    """
    domain = Interval(0.0, 1.0, 2)
    survey = PerAttribute(
        Product(sex=SEX, x=domain),
        {"sex": RandomizedResponse(SEX, 1.0), "x": warner.SquareWave(domain, 4.0, cells=64)},
    )
    n = 4000
    means = [
        survey.randomize({"sex": ["f"] * n, "x": [x] * n}, np.random.default_rng(0))
        .columns["x.report"]
        .mean()
        for x in (0.01, 0.49)
    ]  # one bin
    assert means[1] - means[0] > 5
    twice = Repeated(warner.SquareWave(domain, 4.0, cells=64), 2)
    means = [
        twice.randomize([x] * n, np.random.default_rng(0)).columns["2.report"].mean()
        for x in (0.01, 0.49)
    ]
    assert means[1] - means[0] > 5


@pytest.mark.parametrize(
    "change",
    [
        {"parts": []},
        {"parts": [["sex", {}]]},
        {"parts": 3},
        {},
        {"parts": [["sex", "x"], ["age", "y"]]},
    ],
    ids=repr,
)
def test_forged_parts_are_refused(change: Any) -> None:
    for mechanism in (_survey(), Repeated(RandomizedResponse(AGE, 1.0), 2)):
        with pytest.raises(MismatchError):
            warner.mechanisms.from_header({**mechanism.header, "parameters": change})


def test_pairs_that_a_device_draws_do_not_go_into_tuples_or_repetitions() -> None:
    """Padding and the draw among a person's pairs happen in KeyValue.randomize alone; without them
    frequencies came out l times too high.
    """
    key = warner.KeyValue(
        warner.Categorical(["a", "b"]), warner.Integers(0, 3), 2.0, key="direct", pairs=3
    )
    with pytest.raises(ArgumentError, match="pairs=3"):
        warner.PerAttribute(warner.Product(job=key.domain), {"job": key})
    refused(ArgumentError, "pairs=3", warner.mechanisms.Repeated, key, 2)


def test_attributes_that_are_no_names_are_refused_by_name() -> None:
    survey = PerAttribute(Product(a=Integers(0, 1)), {"a": lambda d: RandomizedResponse(d, 1.0)})
    tally = survey.tally(survey.randomize({"a": [0, 1]}, np.random.default_rng(1)))
    with pytest.raises(ArgumentError, match="attributes"):
        estimate(tally, attributes=[["a"]])  # type: ignore[list-item]


SEX, AGE = Categorical(["f", "m"]), Integers(0, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        (RandomizedResponse(AGE, 1.0),),
        (RandomizedResponse(AGE, 1.0), 0),
        (RandomizedResponse(AGE, 1.0), 1.5),
        (RandomizedResponse(AGE, 1.0), True),
        ([RandomizedResponse(AGE, 1.0)], 2),
        ([],),
        ([RandomizedResponse(AGE, 1.0), RandomizedResponse(SEX, 1.0)],),
        ([RandomizedResponse(AGE, 1.0), 3],),
        (3, 2),
        ("ab", 2),
        (Repeated(RandomizedResponse(AGE, 1.0), 2), 2),
        ([warner.UtilityOptimizedRR(AGE, 1.0, [0]), warner.UtilityOptimizedRR(AGE, 1.0, [1])],),
    ],
    ids=repr,
)
def test_reports_that_cannot_be_repeated_are_refused(arguments: tuple[Any, ...]) -> None:
    refused((ArgumentError, ArgumentTypeError, MismatchError), "", Repeated, *arguments)


def test_equal_mechanisms_in_any_order_are_one_mechanism() -> None:
    a, b = RandomizedResponse(AGE, 1.0), UnaryEncoding(AGE, 1.0)
    assert Repeated([a, b, a]).header == Repeated([a, a, b]).header
    assert Repeated(a, 2).header == Repeated([a, a]).header != Repeated([a, b]).header


@pytest.mark.parametrize(
    "mechanism",
    [
        Repeated(RandomizedResponse(Integers(0, 6), 0.7), 25),
        Repeated(UnaryEncoding(Integers(0, 6), 0.7), 25),
        Repeated(
            [RandomizedResponse(Integers(0, 6), 0.7)] * 10
            + [warner.mechanisms.TruncatedGeometric(Integers(0, 6), 0.3)] * 15
        ),
    ],
    ids=["RR", "unary", "RR and geometric"],
)
def test_one_persons_maximum_is_the_likeliest_value(mechanism: Repeated) -> None:
    """[P4 sec VI, theorem 7]: every distribution on argmax_x Pr(z | x) is a maximum, and no other."""
    for seed in range(8):
        tally = mechanism.tally(mechanism.randomize([seed % 7], np.random.default_rng(seed)))
        data = likelihood_data(tally)
        row = data.channel.dense()[0]
        best = row > row.max() * (1 - 1e-12)
        found = estimate(tally, warner.MaximumLikelihood())
        assert found.probabilities[best].sum() == pytest.approx(1, abs=1e-6)
        assert str(found.unique).startswith("unique") == (best.sum() == 1)


def test_a_person_of_many_reports_is_recognised() -> None:
    """[P4 sec VI-C]: the probability of error goes to 0 with the number of reports."""
    right = {}
    for times in (1, 20, 400):
        mechanism = Repeated(RandomizedResponse(Integers(0, 6), 0.7), times)
        rng = np.random.default_rng(0)
        tallies = [mechanism.tally(mechanism.randomize([3], rng)) for _ in range(15)]
        fits = [warner.MaximumLikelihood().fit(likelihood_data(tally)) for tally in tallies]
        right[times] = sum(int(fit.shares.argmax() == 3) for fit in fits)
    assert right[1] < right[20] < right[400] == 15


def test_reports_of_one_person_are_not_those_of_several() -> None:
    """The wrong way, all reports as of independent people, has the same maximum for one report each
    and another for several.
    """
    domain, rng = Integers(0, 4), np.random.default_rng(0)
    part = RandomizedResponse(domain, 1.0)
    for times in (1, 4):
        mechanism = Repeated(part, times)
        reports = mechanism.randomize(rng.choice(5, 2000, p=[0.5, 0.3, 0.2, 0, 0]), rng)
        whole = estimate(mechanism.tally(reports), warner.MaximumLikelihood()).probabilities
        each = [part.tally(part.reports(reports.columns[f"{i + 1}.report"])) for i in range(times)]
        apart = estimate(sum(each), warner.MaximumLikelihood()).probabilities
        assert (np.abs(whole - apart).max() < 1e-6) == (times == 1)
        # The mean of the inversions is the same either way.
        same = estimate(mechanism.tally(reports), warner.Inversion()).probabilities
        assert same == pytest.approx(
            estimate(sum(each), warner.Inversion()).probabilities, abs=1e-12
        )


@pytest.mark.parametrize(
    "mechanism", [RandomizedResponse(SEX, 1.0), UnaryEncoding(AGE, 1.0)], ids=["values", "bits"]
)
def test_as_many_reports_as_there_may_be_are_audited(
    mechanism: warner.mechanisms.Mechanism,
) -> None:
    """Rejects a message that makes a float of 2^10000 tuples."""
    many = Repeated(mechanism, 10_000)
    refused(ArgumentError, r"too many combinations .* got \d\.\d\de\+\d+", many.channel)
    assert warner.audit(many).influence is None


# Secrets that differ from person to person, and the devices that know them.


DOMAIN = Integers(0, 9)
# What a person imports who writes a mechanism again from its repr.
NAMES = {
    name: getattr(package, name)
    for package in (warner.domains, warner.mechanisms)
    for name in package.__all__
}

CITY = PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 1.0, [3]), ["home", "work"])


def test_a_secret_map_sends_the_stand_in_and_nothing_else() -> None:
    """At a large budget the common mechanism says what it was given: the bot for secret values, the
    value for others.
    """
    loud = PersonalizedULDP(UtilityOptimizedRR(DOMAIN, 20.0, [3]), ["home", "work"])
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
    city = PersonalizedULDP(
        UtilityOptimizedRR(warner.Categorical(labels), 1.0, labels[:1]), ["home"]
    )
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
            (tmp_path / "reports").unlink(missing_ok=True)  # which reports never replace
            reports.save(tmp_path / "reports", keep_order=True)
            tally = city.tally(reports)
            tally.save(tmp_path / "tally.json")
            texts.append(
                (tmp_path / "reports").read_bytes()
                + (tmp_path / "tally.json").read_bytes()
                + repr(city).encode()
            )
            for write in (pickle.dumps, json.dumps, copy.deepcopy, lambda d: d.__getstate__()):
                said = refused((ArgumentTypeError, TypeError), "", write, device)
                assert secret not in said
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
    with pytest.raises(
        ArgumentTypeError, match=r"randomised on a person's device.*mechanism\.device"
    ):
        survey.randomize([{"place": 3, "smokes": "no"}])


def test_real_answers_of_a_personalized_mechanism_go_through_a_device() -> None:
    refused(
        ArgumentTypeError,
        r"randomised on a person's device.*mechanism\.device",
        CITY.randomize,
        [3],
    )


def from_header_again(city: PersonalizedULDP) -> dict[str, object]:
    return warner.mechanisms.from_header(city.mechanism.header).header


def test_bad_maps_are_refused_without_naming_the_value() -> None:
    for secret, rule in (
        ({"home": [3]}, "sensitive for everyone"),
        ({"home": [4], "work": [4]}, "another tag"),
        ({"gym": [4]}, "unknown tag"),
        ({"home": [4444]}, "not in the domain"),
        ({"home": 4}, "home"),
        ([4], "dict"),
    ):
        with pytest.raises(WarnerError, match=rule) as error:
            CITY.device(secret)  # type: ignore[arg-type]
        assert (
            "4" not in str(error.value).replace("0.4", "") and error.value.__context__ is None
        ) or rule in ("", "dict")
    for tags in ([], ["a", "a"], "home", [3], [""], ["@home"], ["a=b"], ["a.b"], ["a "], ["a\nb"]):
        with pytest.raises(WarnerError):
            PersonalizedULDP(CITY.common, tags)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="common"):
        PersonalizedULDP(warner.RandomizedResponse(DOMAIN, 1.0), ["home"])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="look like"):
        PersonalizedULDP(
            UtilityOptimizedRR(warner.Categorical(["a", "@home"]), 1.0, ["a"]), ["home"]
        )


@pytest.mark.parametrize(
    "kind, options", [(UtilityOptimizedRR, {}), (UtilityOptimizedRappor, {"variant": "oue"})]
)
def test_nothing_need_be_sensitive_for_everyone_where_people_have_tags(
    kind: type, options: dict[str, str]
) -> None:
    """[P2 sec 5.1]: then the bots alone are sensitive. Values without a tag may be recognised; no
    value may be protected by nothing.
    """
    city = PersonalizedULDP.of(kind, DOMAIN, 1.0, ["home", "work"], **options)
    assert city.common is None
    assert city.guarantee.sensitive == ("@home", "@work")
    assert city.epsilon <= 1.0
    check = warner.audit(city.mechanism)
    assert check.holds and check.epsilon == pytest.approx(1.0, abs=1e-9)
    rng = np.random.default_rng(0)
    device = city.device({"home": [DOMAIN.labels[1]]})
    reports = device.randomize([DOMAIN.labels[1]] * 6000, rng)
    open_ = city.device().randomize([DOMAIN.labels[0]] * 4000, rng)
    result = warner.estimate([city.tally(reports), city.tally(open_)], warner.Inversion("project"))
    known = np.eye(DOMAIN.size)[1]
    shares = result.redistribute({"home": known}).probabilities
    assert shares[:2] == pytest.approx([0.4, 0.6], abs=0.1)
    assert from_header(city.mechanism.header).header == city.mechanism.header
    assert eval(repr(city), NAMES).mechanism.header == city.mechanism.header
    refused(ArgumentError, "sensitive", kind, DOMAIN, 1.0, sensitive=[])
    with pytest.raises(ArgumentTypeError, match="mechanism"):
        PersonalizedULDP.of(warner.RandomizedResponse, DOMAIN, 1.0, ["home"])  # type: ignore[arg-type]


PLACES = Integers(0, 9)
CITIES = [
    PersonalizedULDP(UtilityOptimizedRR(PLACES, 1.0, [3]), ["home", "work"]),
    PersonalizedULDP(UtilityOptimizedRR, ["home", "work"], PLACES, 1.0),
    PersonalizedULDP(UtilityOptimizedRappor, ["home"], Integers(0, 5), 1.0, variant=0.8),
    PersonalizedULDP(UtilityOptimizedRR, ["home"], Integers(0, 4_999), 1.0, sensitive=[3]),
]
SECRETS: list[dict[str, list[int]]] = [{}, {"home": []}, {"home": [4]}, {"home": [0, 5]}]


@pytest.mark.parametrize("city", CITIES, ids=repr)
def test_the_audit_of_a_device_is_the_same_whatever_its_secrets_are(city: PersonalizedULDP) -> None:
    found = {astuple(audit(city.device(secret))) for secret in SECRETS}
    assert len(found) == 1
    result = audit(city.device(SECRETS[2]))
    assert result.holds and result.epsilon == audit(city).epsilon
    assert result.mechanism == "Device(secret)"


def _with_map(city: PersonalizedULDP, sent: np.ndarray) -> Device:
    """A device with another map than its owner's: the wrong programs below."""
    device = city.device({"home": [4]})
    object.__setattr__(device, "_Device__encode", lambda answers: sent[np.asarray(answers)])
    return device


@pytest.mark.parametrize("city", CITIES, ids=repr)
def test_a_device_that_sends_a_secret_as_another_value_is_caught(city: PersonalizedULDP) -> None:
    # The map that forgets the secret, one that sends it as another value, and one that hides
    # another value instead.
    for answer, other in ((4, 4), (4, 2), (2, city.plain_domain.size)):
        sent = np.arange(city.plain_domain.size)
        sent[answer] = other
        result = audit(_with_map(city, sent))
        assert not result.holds
        assert result.violation == "a secret value is sent as a value that is not sensitive"


def test_a_common_mechanism_that_names_secrets_is_caught_without_naming_them() -> None:
    """Wrong program: the placeholder is reported by values too, so that reports name two values."""
    city = CITIES[1]
    device = city.device({"home": [4]})

    class Wrong(UtilityOptimizedRR):
        def protected(self) -> np.ndarray:
            return np.zeros(self.domain.size, dtype=bool)

    wrong = Wrong(city.domain, 1.0, ["@home", "@work"])
    object.__setattr__(device, "_mechanism", wrong)
    violation = device.violation()
    assert violation == "an unprotected report does not name one value that is not sensitive"


def test_samples_and_claims_about_a_device_are_refused() -> None:
    device = CITIES[0].device({"home": [4]})
    options: list[dict[str, Any]] = [{"samples": 100}, {"claim": ULDP(1.0, (3, 4))}]
    for more in options:
        refused(ArgumentTypeError, "or audit device.mechanism", audit, device, **more)


def test_the_constructor_takes_a_class_where_nothing_is_sensitive_for_everyone() -> None:
    city = PersonalizedULDP(UtilityOptimizedRR, ["home"], PLACES, 1.0)
    assert city.common is None
    assert (
        city.header
        == PersonalizedULDP.of(UtilityOptimizedRR, PLACES, 1.0, ["home"]).header
        == eval(repr(city), NAMES).header
    )
    both = PersonalizedULDP(UtilityOptimizedRR, ["home"], PLACES, 1.0, sensitive=[3])
    assert both.header == PersonalizedULDP(UtilityOptimizedRR(PLACES, 1.0, [3]), ["home"]).header
    for arguments in ({}, {"domain": PLACES}, {"epsilon": 1.0}):
        with pytest.raises(ArgumentTypeError, match="needs a domain and an epsilon"):
            PersonalizedULDP(UtilityOptimizedRR, ["home"], **arguments)  # type: ignore[arg-type]
    for more in ({"domain": PLACES}, {"sensitive": [3]}, {"keep": 0.5}):
        with pytest.raises(ArgumentTypeError, match="Pass only the mechanism and the tags"):
            PersonalizedULDP(UtilityOptimizedRR(PLACES, 1.0, [3]), ["home"], **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("sensitive", [[], [3]])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("kind", [UtilityOptimizedRR, UtilityOptimizedRappor])
def test_shares_of_tags_from_several_budgets_are_given_back(
    kind: type[UtilityOptimizedRR], keep: bool, sensitive: list[int]
) -> None:
    rng = np.random.default_rng(5)
    tallies = []
    for epsilon, people in ((0.5, 2_000), (2.0, 4_000)):
        city = PersonalizedULDP(kind, ["home"], PLACES, epsilon, sensitive=sensitive)
        reports = city.device({"home": [4]}).randomize([4, 7, 8] * (people // 3), rng)
        tallies.append(city.tally(reports, keep_reports=keep))
    result = estimate(tallies, warner.MaximumLikelihood())
    known = np.eye(10)[4]
    given = result.redistribute({"home": known})
    assert given.probabilities[[4, 7, 8]] == pytest.approx([1 / 3] * 3, abs=0.05)
    unknown = result.redistribute()
    assert unknown.probabilities.sum() == pytest.approx(1)
    assert unknown.tag_shares["home"] == pytest.approx(1 / 3, abs=0.05)
    if not keep:
        low, high = given.interval(replicates=20, rng=rng).T
        assert 0.27 < low[4] < given.probabilities[4] < high[4] < 0.4


def test_a_value_that_one_group_does_not_protect_can_stand_behind_a_tag() -> None:
    rng = np.random.default_rng(6)
    tallies = []
    for sensitive in ([3], [3, 7]):
        city = PersonalizedULDP(UtilityOptimizedRR, ["home"], PLACES, 3.0, sensitive=sensitive)
        reports = city.device({"home": [4]}).randomize([4, 7, 3] * 300, rng)
        tallies.append(city.tally(reports))
    matrix = estimate(tallies, warner.MaximumLikelihood()).redistribute().matrix
    assert matrix[7, -1] > 0.9 and matrix[3, -1] == 0


def test_tables_of_combinations_say_how_one_question_is_estimated() -> None:
    """Rejects a table of groups with rows of all combinations and no word on single questions."""
    both = PerAttribute({"sex": RandomizedResponse(SEX, 2.0), "age": RandomizedResponse(AGE, 2.0)})
    rng = np.random.default_rng(1)
    reports = both.randomize({"sex": ["f"] * 40, "age": [AGE.labels[0]] * 40}, rng)
    wards = {"ward": ["north", "south"] * 20}
    hint = "These are combinations of sex and age."
    for tally in (both.tally(reports), both.tally(reports, wards)):
        assert hint in " ".join(str(estimate(tally)).split())
        assert hint not in " ".join(str(estimate(tally, attributes=["sex"])).split())
