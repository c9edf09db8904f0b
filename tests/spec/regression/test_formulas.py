"""Formulas of regressions, as formulaic reads them."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from warner import Categorical, RandomizedResponse, regress
from warner.errors import ArgumentError, ArgumentTypeError, MissingExtraError

N = 300
RNG = np.random.default_rng(1)
PEOPLE = {"age": RNG.normal(50, 10, N), "ward": RNG.choice(["east", "north"], N)}
REPORTS = RandomizedResponse(Categorical(["no", "yes"]), 3.0).randomize(
    np.where(RNG.random(N) < PEOPLE["age"] / 100, "yes", "no").tolist(), rng=RNG
)


def test_a_formula_is_the_plain_design_where_it_says_the_same() -> None:
    plain = regress(REPORTS, PEOPLE)
    found = regress(REPORTS, PEOPLE, "age + ward")
    assert set(found.names) == set(plain.names)
    order = [found.names.index(name) for name in plain.names]
    assert found.coefficients[:, order] == pytest.approx(plain.coefficients, rel=1e-6)
    new = {"age": [40.0, 60.0], "ward": ["north", "north"]}
    assert found.predict(new).shares == pytest.approx(plain.predict(new).shares)


def test_interactions_functions_and_no_intercept() -> None:
    found = regress(REPORTS, PEOPLE, "~ 0 + ward + ward:np.log(age)")
    assert len(found.names) == 4 and "Intercept" not in found.names
    assert found.predict({"age": [40.0], "ward": ["east"]}).shares.shape == (1, 2)
    assert found.wald("ward").degrees == 2


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("answer ~ age", "no left side"),
        ("height", "does not fit the covariates"),
        ("age +", "cannot be read"),
        ("np.log(age - 50)", "finite terms in every row|does not fit"),
        ("age + I(2 * age)", "are collinear"),
    ],
)
def test_formulas_that_do_not_fit_are_refused(formula: str, text: str) -> None:
    with np.errstate(all="ignore"), pytest.raises(ArgumentError, match=text) as caught:
        regress(REPORTS, PEOPLE, formula)
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_formula_is_text_and_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentTypeError, match="formula: must be text"):
        regress(REPORTS, PEOPLE, 3)  # type: ignore[arg-type]
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "formulaic":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"Install warner\[formula\]"):
        regress(REPORTS, PEOPLE, "age")


def test_means_take_formulas_too() -> None:
    from warner import Integers, Laplace

    reports = Laplace(Integers(0, 10), 4.0).randomize((PEOPLE["age"] // 10).astype(int), rng=RNG)
    assert regress(reports, PEOPLE, "age", kind="mean").names == ("Intercept", "age")
