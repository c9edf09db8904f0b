"""Attack: the exact epsilon of random instances, by an independent enumeration, against what is
declared and audited.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import warner
from tests.attack import enumeration as own
from tests.attack._frame import require
from tests.attack.instances import ALL
from warner.mechanisms import Mechanism

_LARGEST = 12_000  # probabilities that one case enumerates
_ROUNDED = Decimal("1e-12")  # nats: what slopes and deltas of double precision may differ by


def small(mechanism: Mechanism) -> bool:
    """Whether an instance can be enumerated in well under a second."""
    try:
        return mechanism.n_reports * mechanism.domain.size <= _LARGEST
    except NotImplementedError:
        return False


def draw(rng: np.random.Generator, name: str) -> Mechanism | None:
    """A random instance; None where its budget cannot be honoured, or it is too large."""
    try:
        mechanism = ALL[name](rng)
    except (warner.errors.BudgetError, warner.errors.ArgumentError, warner.errors.MismatchError):
        return None
    return mechanism if small(mechanism) else None


def case(rng: np.random.Generator) -> str | None:
    names = list(ALL)
    name = names[rng.integers(len(names))]
    mechanism = draw(rng, name)
    return None if mechanism is None else check(mechanism)


def check(mechanism: Mechanism) -> str:
    """exact <= declared <= requested, and an audit that is never below the exact."""
    asked = own.answers(mechanism)
    if len(asked) * mechanism.n_reports > 4 * _LARGEST:
        return "too large"
    laws = [own.law(mechanism, answer) for answer in asked]
    own.check_sums(laws)
    _same(mechanism, asked, laws)
    promised, audit = mechanism.guarantee, warner.audit(mechanism)
    text = f"{mechanism!r}: "
    require(audit.holds, f"{text}the audit says {audit.violation}")
    pairs = [(a, b) for a in range(len(laws)) for b in range(len(laws)) if a != b]
    unit = Decimal(1 if mechanism.distance_unit is None else mechanism.distance_unit)
    requested = Decimal(mechanism.requested)
    if isinstance(promised, warner.privacy.ApproximateLDP):
        delta = max(_delta(laws[a], laws[b], promised.epsilon) for a, b in pairs)
        require(
            delta <= Decimal(promised.delta),
            f"{text}delta {delta} above the declared {promised.delta!r}",
        )
        require(
            promised.epsilon <= mechanism.requested,
            f"{text}epsilon {promised.epsilon!r} above the requested",
        )
        asked_delta = getattr(mechanism, "delta", None)  # that of several reports has no limit
        require(
            asked_delta is None or promised.delta <= asked_delta, f"{text}delta above the requested"
        )
        require(
            audit.delta is not None and delta <= Decimal(audit.delta),
            f"{text}audited delta {audit.delta!r} below {delta}",
        )
        return f"delta {delta:.6g}"
    if isinstance(promised, warner.privacy.MetricLDP):
        slope = total = Decimal(0)
        for a, b, distance in own.separation(mechanism, asked):
            spent = own.nats(own.worst(laws, a, b))
            slope, total = max(slope, own.WIDE.divide(spent, distance)), max(total, spent)
        # Distances are rounded to floats, and slopes found from them: they are held to a part in
        # 1e12.
        room = (
            _ROUNDED * (1 + slope) if mechanism.n_reports > 1 and _rounds(mechanism) else Decimal(0)
        )
        require(
            slope <= Decimal(promised.epsilon) + room,
            f"{text}slope {slope} above the declared {promised.epsilon!r}",
        )
        require(
            total <= Decimal(promised.total) + room,
            f"{text}total {total} above the declared {promised.total!r}",
        )
        require(
            slope * unit <= Decimal(audit.epsilon) + room,
            f"{text}slope {slope} times {unit} above the audited {audit.epsilon!r}",
        )
        require(
            total <= Decimal(audit.total or 0) + room,
            f"{text}total {total} above the audited {audit.total!r}",
        )
        require(
            Decimal(mechanism.epsilon) <= requested,
            f"{text}declared {mechanism.epsilon!r} above the requested",
        )
        return f"slope {slope:.6g}"
    mask = own.guarded(mechanism, asked)
    exact = _one_sided(laws, pairs, mask)
    if isinstance(promised, warner.privacy.ULDP):
        exact = max(exact, _protected(text, laws, pairs, mask))
    require(
        exact <= Decimal(promised.epsilon),
        f"{text}epsilon {exact} above the declared {promised.epsilon!r}",
    )
    require(
        Decimal(promised.epsilon) <= requested,
        f"{text}declared {promised.epsilon!r} above the requested {requested}",
    )
    require(
        exact <= Decimal(audit.epsilon),
        f"{text}epsilon {exact} above the audited {audit.epsilon!r}",
    )
    require(
        exact <= Decimal(audit.total or 0),
        f"{text}epsilon {exact} above the audited total {audit.total!r}",
    )
    return f"epsilon {exact:.6g}"


def _rounds(mechanism: Any) -> bool:
    """Whether distances between values are no whole numbers."""
    parts = (
        mechanism.parts.values()
        if isinstance(mechanism, warner.PerAttribute | warner.mechanisms.Repeated)
        else [mechanism]
    )
    return any(isinstance(part, warner.mechanisms.Exponential) for part in parts)


def _one_sided(
    laws: list[own.Law], pairs: list[tuple[int, int]], mask: list[bool] | None
) -> Decimal:
    """The worst ratio of a protected answer to any other, over all reports; of all answers where
    all are protected.
    """
    ratios = [own.worst(laws, a, b) for a, b in pairs if mask is None or mask[a]]
    return max((own.nats(r) for r in ratios if r is None or r > 0), default=Decimal(0))


def _protected(
    text: str, laws: list[own.Law], pairs: list[tuple[int, int]], mask: list[bool] | None
) -> Decimal:
    """The worst ratio of any two answers over the reports that a protected one can make; any other
    report must name its answer.
    """
    assert mask is not None
    keys = {
        key
        for one, inside in zip(laws, mask, strict=True)
        if inside
        for key, share in one.items()
        if share
    }
    for key in {key for one in laws for key, share in one.items() if share} - keys:
        makers = sum(bool(one.get(key)) for one in laws)
        require(makers == 1, f"{text}an unprotected report comes from {makers} answers")
    ratios = [own.worst(laws, a, b, keys) for a, b in pairs]
    return max((own.nats(r) for r in ratios if r is None or r > 0), default=Decimal(0))


def _delta(high: own.Law, low: own.Law, epsilon: float) -> Decimal:
    e = own.WIDE.exp(Decimal(epsilon))
    total = Decimal(0)
    for key, share in high.items():
        more = own.WIDE.subtract(
            own.decimal_of(share), own.WIDE.multiply(e, own.decimal_of(low.get(key, Fraction(0))))
        )
        total = own.WIDE.add(total, max(more, Decimal(0)))
    return total


def _same(mechanism: Any, asked: list[Any], laws: list[own.Law]) -> None:
    """The probabilities that the mechanism states of its reports are those of its thresholds, where
    answers are values.
    """
    if mechanism.represents_interval or isinstance(
        mechanism.domain, warner.Product | warner.Interval
    ):
        return  # pairs have positions, and a bin stands for many numbers
    if not mechanism.is_enumerable:
        return
    keys, stated = own.keys_of(mechanism), mechanism.probabilities()
    require(len(set(keys)) == len(keys), f"{mechanism!r}: a report is listed twice")
    for x, one in enumerate(laws):
        for key, share in zip(keys, stated[:, x].tolist(), strict=True):
            require(
                share == one.get(key, 0),
                f"{mechanism!r}: states another probability of a report than its thresholds",
            )
    if isinstance(mechanism, warner.mechanisms.Exponential):
        _exponential(mechanism, laws)
    if isinstance(mechanism, warner.MatrixMechanism):
        stated_of = mechanism.parameters()
        if isinstance(mechanism, warner.Optimal):
            entries = {
                "1": Fraction(1),
                "e": Fraction(math.exp(mechanism.requested)),
                "-": Fraction(0),
            }
            matrix = [
                [entries[symbol] * int(weight, 16) / 2**64 for symbol in row]
                for row, weight in zip(stated_of["rows"], stated_of["weights"], strict=True)
            ]
        else:
            matrix = stated_of["matrix"]
        for x, one in enumerate(laws):
            for (y,), share in one.items():
                near = abs(share - Fraction(matrix[y][x])) <= Fraction(1, 2**38)
                require(
                    near and (share == 0) == (matrix[y][x] == 0),
                    f"{mechanism!r}: the law sampled is not the matrix",
                )


def _exponential(mechanism: Any, laws: list[own.Law]) -> None:
    """The exponential mechanism's law is a table: compared with its definition, by decimals."""
    points = mechanism.domain.points
    for x, one in enumerate(laws):
        weights = []
        for z in range(len(points)):
            square = sum(
                (Fraction(float(u)) - Fraction(float(v))) ** 2
                for u, v in zip(points[x], points[z], strict=True)
            )
            distance = own.WIDE.sqrt(own.decimal_of(square))
            weights.append(
                own.WIDE.exp(-own.WIDE.multiply(Decimal(mechanism.requested) / 2, distance))
            )
        for z, weight in enumerate(weights):
            gap = abs(own.decimal_of(one[(z,)]) - weight / sum(weights))
            require(gap < Decimal("1e-12"), f"{mechanism!r}: not the exponential law")
