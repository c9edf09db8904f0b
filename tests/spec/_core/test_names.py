"""Names and arguments from elsewhere: what an error says of them."""

import copy
import inspect
import math
import pickle

import numpy as np
import pytest

import warner
from tests.refusals import refused
from warner import Categorical, RandomizedResponse, estimate
from warner.errors import ArgumentError, ArgumentTypeError
from warner.results.intervals import wald

DEVICE = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
REPORTS = DEVICE.randomize(["no"] * 60 + ["yes"] * 40)
RESULT = estimate(DEVICE.tally(REPORTS))
CHANGE = warner.compare_groups(RESULT, estimate(DEVICE.tally(REPORTS).of_others()))
FIT = warner.regress(REPORTS, {"age": np.arange(100.0) % 7})
LEAGUE = warner.benchmark([0.5, 0.5], DEVICE.domain, [RandomizedResponse], ["mle"], runs=2)


@pytest.mark.parametrize(
    ("module", "name", "text"),
    [
        (warner, "GRR", "is called warner.RandomizedResponse here."),
        (warner, "kRR", "is called warner.RandomizedResponse here."),
        (warner, "HR", "For an epsilon above 1, compare it with SubsetSelection"),
        (
            warner,
            "PEM",
            "is called warner.find here. The function warner.find() has the same purpose as",
        ),
        (warner, "OUE", "is called warner.UnaryEncoding(variant='oue') here"),
        (warner, "RAPPOR", "use warner.mechanisms.Permanent."),
        (warner, "Laplacian", "is called warner.Laplace here"),
        (warner, "PM", "is called warner.mechanisms.Piecewise here"),
        (warner, "EMS", "is called warner.estimators.literature.SmoothedEM here"),
        (warner, "Mechanism", "is called warner.mechanisms.Mechanism here"),
        (warner, "randomise", "is called mechanism.randomize(answers) here"),
        (warner, "Estimte", "Is 'estimate' meant?"),
        (warner, "zzz", "dir(warner) lists all names"),
        (warner, "NormSub", "is called warner.Inversion(constraint='project') here"),
        (warner, "GRR_Client", "is called warner.RandomizedResponse here."),
        (warner, "PrivKV", "PrivKV is not in this package; for keys with values"),
        (warner, "CLS", "is called warner.Inversion(constraint='project') here"),
        (warner, "FLH", "is called warner.LocalHashing(seeds=1024) here. The argument seeds is"),
        (warner, "HRR", "HRR is not in this package; warner.HadamardResponse supports"),
        (
            warner,
            "GHR",
            "GHR is not in this package; warner.HadamardResponse and warner.mechanisms.",
        ),
        (warner, "HM", "HM is not in this package; two mechanisms have this name"),
        (warner, "PowerNS", "not in this package. Power and Power-NS draw the estimates towards"),
        (warner, "MLE-Apx", "not in this package. MLE-Apx comes near the maximum of the likeli"),
        (warner.theory, "variance", "is called warner.theory.expected_loss here."),
        (warner.theory, "crame_rao", "Is 'cramer_rao' meant?"),
        (warner.mechanisms, "RandomisedResponse", "Is 'RandomizedResponse' meant?"),
        (RESULT, "summary", "Use table()"),
        (RESULT, "ci", "Use interval()"),
        (RESULT, "head", "Use top(10)"),
        (CHANGE, "top", "Use most_common(10)"),
        (RESULT, "std", "Use variance()**0.5"),
        (RESULT, "save", "Use table().xlsx()"),
        (RESULT, "to_dict", "Use to_json()"),
        (RESULT, "probabilites", "Is 'probabilities' meant?"),
        (DEVICE, "fit", "Use warner.estimate(mechanism.tally(reports))"),
        (DEVICE, "perturb", "Use randomize(answers)"),
        (REPORTS, "to_parquet", "Use warner.io.write_reports(...)"),
        (REPORTS, "zzz", "help(Reports) lists all names"),
        (DEVICE.domain, "lables", "Is 'labels' meant?"),
        (FIT, "params", "Use coefficients"),
        (FIT, "coef_", "Use coefficients"),
        (FIT, "intercept_", "Use coefficients"),
        (FIT, "bse", "Use standard_errors"),
        (FIT, "pvalues", "Use p_values"),
        (FIT, "tvalues", "Use z."),
        (FIT, "conf_int", "Use interval()"),
        (FIT, "nobs", "Use n."),
        (FIT, "predict_proba", "Use predict(...)"),
        (CHANGE, "pvalue", "Use test.p_value"),
        (REPORTS, "head", "Use to_frame('pandas')"),
        (REPORTS, "shape", "Use to_frame('pandas').shape"),
        (REPORTS, "size", "Use len(...)"),
        (REPORTS, "value_counts", "Use warner.estimate(mechanism.tally(reports))"),
        (RESULT, "to_csv", "Use table().csv()"),
        (RESULT.table(), "to_csv", "Use csv()"),
        (RESULT.table(), "to_excel", "Use xlsx()"),
        (RESULT.table(), "to_markdown", "Use to_frame('pandas').to_markdown()"),
        (RESULT.table(), "markdown", "Use to_frame('pandas').to_markdown()"),
        (RESULT, "yes", "Write ['yes'] in place of .yes"),
        (RESULT, "loc", "Use to_frame('pandas')"),
        (DEVICE.domain, "categories", "Use labels"),
        (DEVICE.domain, "values", "Use labels"),
    ],
)
def test_a_name_that_is_not_there(module: object, name: str, text: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    assert text in str(caught.value)
    assert not hasattr(module, name)


def test_a_table_that_is_asked_to_write_says_how_its_contents_are_written() -> None:
    for name, text in (("csv", "write_text(table.csv())"), ("xlsx", "write_bytes(table.xlsx())")):
        with pytest.raises(TypeError) as caught:
            getattr(RESULT.table(), name)("x.out")
        assert f"writes no file. Write Path('x.out').{text}" in str(caught.value)


def test_an_import_says_so_too() -> None:
    with pytest.raises(ImportError, match=r"is called warner\.RandomizedResponse here"):
        from warner import GRR  # type: ignore[attr-defined]  # noqa: F401


def test_every_name_of_the_literature_leads_somewhere() -> None:
    for word in warner._core.names._NAMES:
        with pytest.raises(AttributeError, match=r" is called (warner|mechanism)\."):
            getattr(warner, f"{word.upper()}_")


class _Broken(RandomizedResponse):
    @property
    def broken(self) -> int:
        raise AttributeError("of the property")


def test_errors_of_properties_and_of_private_names_stay() -> None:
    with pytest.raises(AttributeError, match="of the property"):
        _ = _Broken(DEVICE.domain, 1.0).broken
    with pytest.raises(AttributeError, match="has no attribute '_zzz'"):
        _ = DEVICE._zzz  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("call", "texts"),
    [
        (lambda: DEVICE.randomize(["no"], seed=42), ["'seed'", "rng=numpy.random.default_rng"]),
        (lambda: warner.plan(1.0, DEVICE.domain), ["needs the argument n", "plan(domain, epsilon"]),
        (lambda: warner.plan(DEVICE.domain, 1.0, 9, los="l1"), ["'los'", "Is 'loss' meant?"]),
        (lambda: warner.plan(DEVICE.domain, 1.0, 9, n=9), ["was given the argument 'n' twice"]),
        (lambda: RandomizedResponse(DEVICE.domain, p=0.75), ["'p'", "epsilon = log("]),
        (lambda: RandomizedResponse(DEVICE.domain, eps=1.0), ["Is 'epsilon' meant?"]),
        (
            lambda: RandomizedResponse(DEVICE.domain, 1.0, 2.0),
            ["takes 2 positional arguments", "got 3"],
        ),
        (lambda: RandomizedResponse(1.0, DEVICE.domain), ["must be a domain"]),
        (lambda: Categorical("yes", "no"), ["Write Categorical([...])"]),
        (lambda: warner.Integers(5), ["needs the argument high"]),
        (lambda: warner.SubsetSelection(DEVICE.domain, 1.0, k=2), ["Is 'size' meant"]),
        (lambda: estimate(), ["needs the argument tally"]),
        (
            lambda: DEVICE.randomize(REPORTS),
            ["must be the answers of people", "mechanism.tally(reports)"],
        ),
        (lambda: DEVICE.tally(["no", "yes"]), ["mechanism.randomize(answers)"]),
        (lambda: estimate(DEVICE.tally(REPORTS), by="ward"), ["mechanism.tally(reports, by="]),
        (lambda: warner.Study("study.toml"), ["Study.load(path)"]),  # type: ignore[arg-type]
        (lambda: wald([]), ["Pass result.data"]),  # type: ignore[arg-type]
        (lambda: warner.compare_groups([RESULT]), ["two estimates, or groups"]),
        (lambda: REPORTS + REPORTS, ["mechanism.tally(first) + mechanism.tally(second)"]),
        (lambda: DEVICE.randomize({"no"}), ["got a set", "a set holds equal answers"]),
        (lambda: DEVICE.tally(REPORTS, groupby=1), ["Is 'by' meant?"]),  # type: ignore[call-arg]
        (lambda: warner.regress(REPORTS, data={}), ["Is 'covariates' meant? Reports come first"]),
        (lambda: warner.Tally.from_tallies("week", DEVICE.tally(REPORTS)), ["north"]),
        (lambda: RESULT.plot(figsize=(6, 4)), ["Is 'width' meant"]),
        (lambda: RESULT.plot(label="x"), ["has no argument 'label'", "Is 'labels' meant?"]),
        (lambda: LEAGUE.to_latex(label="x"), ["has no argument 'label'", "loss, digits, errors"]),
        (lambda: LEAGUE.plot(label="x"), ["has no argument 'label'", "path, x, loss, lines"]),
        (lambda: RESULT.table().latex(label="x"), ["Write Table.latex(...)", "arguments: wide"]),
        (lambda: RESULT.table(top=5), ["has no argument 'top'", "Use top(10)"]),  # type: ignore[call-arg]
        (lambda: CHANGE.table(top=5), ["has no argument 'top'", "Use most_common(10)"]),  # type: ignore[call-arg]
        (lambda: CHANGE.table(5), ["takes no positional arguments; got 1"]),  # type: ignore[call-arg]
        (lambda: RESULT.interval("yes"), ["such as 0.95; got 'yes'.", "result[value].interval()"]),
    ],
)
def test_a_call_that_does_not_fit(call, texts) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError) as caught:
        call()
    for text in texts:
        assert text in str(caught.value)


def test_the_epsilon_of_probabilities_is_that_of_the_mechanism() -> None:
    """Rejects the formula of randomised response for unary encoding, and for all others."""
    ten, p, q = warner.Integers(0, 9), 0.75, 0.25
    right = {RandomizedResponse: math.log(p * 9 / (1 - p)), warner.UnaryEncoding: math.log(9)}
    for cls, epsilon in right.items():
        with pytest.raises(TypeError) as caught:
            cls(ten, p=p, q=q)  # type: ignore[operator]
        formula = str(caught.value).split("epsilon = ")[1].split(", where")[0]
        formula = formula.replace("p (", "p * (").replace("q (", "q * (")
        value = eval(formula, {"log": math.log, "p": p, "q": q, "K": 10})
        assert value == pytest.approx(epsilon)
    for cls in (warner.SubsetSelection, warner.SquareWave, warner.LocalHashing):
        with pytest.raises(TypeError, match="Is 'epsilon' meant, which sets the probabilities"):
            cls(ten, q=q)
    with pytest.raises(TypeError, match="Write estimate"):
        estimate(DEVICE.tally(REPORTS), p=p)  # type: ignore[call-overload]


def test_a_type_error_of_the_callers_own_code_stays() -> None:
    class Odd(Categorical):
        def __init__(self) -> None:
            super().__init__(["a", "b"])
            len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len"):
        Odd()


def test_a_class_that_lacks_methods_says_which_and_what_they_take() -> None:
    """Rejects Python's "Can't instantiate abstract class", which names no argument."""

    class Own(warner.mechanisms.Mechanism):
        def thresholds(self) -> dict[str, str]:
            return {}

    class OwnEstimator(warner.estimators.Estimator):
        """Without a method."""

    said = r"Own: cannot be made, because it has no _sample\(self, index, source\), channel\(self\)"
    refused(TypeError, said, Own, DEVICE.domain, 1.0)
    refused(TypeError, r"OwnEstimator: .* no _fit\(self, data\)\. Write", OwnEstimator)

    class Whole(OwnEstimator):
        def _fit(self, data: object) -> warner.estimators.base.Fit:
            raise NotImplementedError

    refused(TypeError, r"Whole\(\) takes no arguments", Whole, 3)


def test_explained_functions_stay_what_they_are() -> None:
    assert list(inspect.signature(RandomizedResponse).parameters) == ["domain", "epsilon"]
    assert pickle.loads(pickle.dumps(warner.plan)) is warner.plan
    assert warner.plan.__globals__ is vars(inspect.getmodule(warner.plan))
    assert copy.deepcopy(DEVICE) == DEVICE == pickle.loads(pickle.dumps(DEVICE))


def test_items_of_a_result() -> None:
    assert dict(RESULT.items()) == {label: RESULT[label] for label in RESULT}
    wards = estimate({"north": DEVICE.tally(REPORTS), "south": DEVICE.tally(REPORTS).of_others()})
    assert [key for key, _ in wards.items()] == list(wards)


def test_names_of_methods_in_papers_lead_to_a_method_or_say_what_is_nearest() -> None:
    """Rejects a list of all methods, and 'RR' for HRR, 'LH' for FLH, 'MLE' for MLE-Apx."""
    ten = warner.Integers(0, 9)
    assert warner.Inversion("CLS") == warner.Inversion("norm-sub")
    league = warner.benchmark(np.full(10, 0.1), ten, ["FLH", "LocalHashing seeds=1024"], ["CLS"])
    assert league.rows()[0]["mean"] == league.rows()[1]["mean"]
    for name, said in (("Power-NS", "a power law"), ("MLE-Apx", "itself"), ("HM", "two mech")):
        refused(ArgumentError, said, estimate, DEVICE.tally(REPORTS), name)
    # Of HRR a report supports another value with probability 1/2, the true one with e / (e + 1).
    e, shares = math.e, np.eye(10)[0]
    variance = warner.HadamardResponse(ten, 1.0).channel().variance(shares)[1]
    assert variance == pytest.approx(0.25 / (e / (e + 1) - 0.5) ** 2)


def test_what_is_said_of_hadamard_response_is_its_law() -> None:
    """Rejects a sentence that a change of either mechanism would make wrong."""
    hundred, shares = warner.Integers(0, 99), np.full(100, 0.01)
    for epsilon, times in ((1.0, 1.3), (4.0, 14.0)):
        errors = [
            make(hundred, epsilon).channel().variance(shares).sum()
            for make in (warner.HadamardResponse, warner.SubsetSelection)
        ]
        assert errors[0] / errors[1] == pytest.approx(times, rel=0.04)
    said = warner._core.names.FURTHER["HR"]
    assert "1.3 times" in said and "14 times" in said


def test_a_refusal_of_groups_names_the_call_that_works() -> None:
    answers = ["no", "yes"] * 20
    by = {"ward": ["n", "s"] * 20, "year": ["1"] * 20 + ["2"] * 20}
    tally = DEVICE.tally(DEVICE.randomize(answers), by)
    refused(ArgumentTypeError, r"estimate\(tally.by\('ward'\)\)", estimate, tally, by="ward")
    words = r"Write compare_groups\(tally.by\('ward'\)\)"
    refused(ArgumentError, words, warner.compare_groups, tally, by="ward")
    for several in (["yes"], slice(1), np.array([True, False])):
        words = r"To choose several values, choose rows of estimate\.to_frame\('pandas'\)"
        refused(ArgumentError, words, RESULT.__getitem__, several)
    for backend in ("Pandas", "pd"):
        refused(ArgumentError, "Is 'pandas' meant", RESULT.to_frame, backend)
    groups = estimate(tally.by("ward"))
    words = r"Choose the group first, then a value: result\['n'\]\[value\]"
    refused(ArgumentError, words, lambda: groups["yes"]["n"])
    refused(ArgumentError, r"estimate\[group\].plot\(\)", groups.plot, truth=[0.5, 0.5])
    refused(ArgumentError, "Is 'yes' meant", lambda: groups["n"]["Yes"])
