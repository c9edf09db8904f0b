"""Reports of the same people again and again: one is kept, and degraded in each round."""

from __future__ import annotations

import copy
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NoReturn, Self, TypeAlias, get_args

import numpy as np

from warner._core.checks import budget, integer, kind, probability
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    MemoFullError,
    MismatchError,
)
from warner._core.exact import ONE, exp, power_below
from warner._core.sampling import Source, uniform_subsets
from warner._core.text import AS_WRITTEN, canonical
from warner.channels import Channel
from warner.domains import Domain
from warner.mechanisms.base import CountedAsAnother, Mechanism
from warner.mechanisms.bit_vectors import SubsetSelection, UnaryEncoding
from warner.mechanisms.device_program import number, program
from warner.mechanisms.direct import RandomizedResponse
from warner.mechanisms.geometry import HadamardResponse, ProjectiveGeometryResponse
from warner.mechanisms.headers import from_header
from warner.mechanisms.local_hashing import LocalHashing
from warner.privacy.guarantees import LDP, Guarantee, compose
from warner.privacy.report_laws import (
    OneHotBits,
    ReportDistribution,
    TwoProbabilities,
    epsilon_of,
)
from warner.reports.reports import Reports
from warner.reports.schema import IntegerColumns

_Whole: TypeAlias = (
    RandomizedResponse
    | SubsetSelection
    | HadamardResponse
    | LocalHashing
    | ProjectiveGeometryResponse
)
DEGRADED = (*(one.__name__ for one in get_args(_Whole)), UnaryEncoding.__name__)
"""The names of the mechanisms whose reports can be degraded."""
_MOST_VALUES = 1000
_KEY_BYTES = 32


class _Degrading:
    """What each round does to a permanent report: it is kept as a whole, or a uniform one is sent.

    Pr(y | z) = a [y = z] + (1 - a) / |Y|
    """

    def __init__(self, memo: _Whole, keep: int) -> None:
        self.memo, self.keep = memo, keep

    def fields(self) -> dict[str, int]:
        """The integers that a round samples from."""
        return {"keep": self.keep}

    def law(self) -> ReportDistribution:
        """The law of one report of a fresh memo."""
        law, a, share = self.memo.law, Fraction(self.keep, ONE), self._uniform_share()
        high, low = (a * p + (1 - a) * share for p in (law.high, law.low))
        return TwoProbabilities(high, low, law.log_scale)

    def _uniform_share(self) -> Fraction:
        """The probability of each report of a uniform one, in the unit of the memo's law."""
        memo, law = self.memo, self.memo.law
        if isinstance(memo, SubsetSelection):
            return law.low + (law.high - law.low) * Fraction(memo.subset, memo.domain.size)
        return Fraction(1, memo.buckets if isinstance(memo, LocalHashing) else memo.n_reports)

    def ratio_of(self, rounds: int) -> Fraction:
        """The largest likelihood ratio of the reports of several rounds on one value."""
        # Given z, a report y has the weight 1 where y != z, and 1 / s where y = z, up to a factor,
        # with s = (1 - a) / (1 - a + m a). The ratio grows with the weight of the reports z of one
        # value alone, and that is largest where all rounds send the same report:
        #   (m x + h (1 - x)) / (m x + l (1 - x)),   x = s^T,
        # where h / m and l / m are the two likelihoods of the memo. It falls in x.
        count, unit = self.memo.n_reports, self._uniform_share()
        high, low = (p / unit for p in (self.memo.law.high, self.memo.law.low))
        x = power_below(Fraction(ONE - self.keep, ONE - self.keep + count * self.keep), rounds)
        return (count * x + high * (1 - x)) / (count * x + low * (1 - x))

    def draw(self, memo: Mapping[str, np.ndarray], source: Source) -> dict[str, np.ndarray]:
        """The reports of one round, from the permanent reports of n people."""
        n = len(next(iter(memo.values())))
        stays = source.below(self.keep, n)
        schema = self.memo.schema
        if isinstance(schema, IntegerColumns):
            sizes = zip(schema.names, schema.sizes, strict=True)
            fresh = {name: source.uniform(size, n) for name, size in sizes}
            return {name: np.where(stays, memo[name], fresh[name]) for name in memo}
        assert isinstance(self.memo, SubsetSelection)
        same_size = np.zeros(n, dtype=bool)
        size, members = self.memo.domain.size, self.memo.subset
        subsets = uniform_subsets(source, size, members, same_size, self.memo.schema.bytes)
        return {"bits": np.where(stays[:, None], memo["bits"], subsets)}


class _DegradingBits:
    """The same for bits: each is kept by itself, or a coin is sent that is 1 with probability c.

    Pr(bit | z) = a [bit = z] + (1 - a) c for 1
    """

    def __init__(self, memo: UnaryEncoding, keep: int, coin: int) -> None:
        self.memo, self.keep, self.coin = memo, keep, coin

    def fields(self) -> dict[str, int]:
        """The integers that a round samples from."""
        return {"keep": self.keep, "coin": self.coin}

    def law(self) -> OneHotBits:
        """The law of one report of a fresh memo."""
        law, coins = self.memo.law, (ONE - self.keep) * self.coin
        return OneHotBits(self.keep * law.keep + coins, self.keep * law.raised + coins, ONE**2)

    def ratio_of(self, rounds: int) -> Fraction:
        """The largest likelihood ratio of the reports of several rounds on one value."""
        # Two values differ in two bits. The ratio is largest where the first is 1 in all rounds,
        # and the second 0. With u = Pr(1 | z = 1), v = Pr(1 | z = 0), x = (v / u)^T and
        # w = ((1 - u) / (1 - v))^T it is
        #   (p + (1 - p) x) / (q + (1 - q) x)  (q w + 1 - q) / (p w + 1 - p),
        # and falls in x and in w.
        p, q = (Fraction(bit, ONE) for bit in (self.memo.law.keep, self.memo.law.raised))
        raised = (ONE - self.keep) * self.coin
        kept_one = raised + self.keep * ONE
        x = power_below(Fraction(raised, kept_one), rounds)
        w = power_below(Fraction(ONE**2 - kept_one, ONE**2 - raised), rounds)
        ones, zeros = (p + (1 - p) * x) / (q + (1 - q) * x), (q * w + 1 - q) / (p * w + 1 - p)
        return ones * zeros

    def draw(self, memo: Mapping[str, np.ndarray], source: Source) -> dict[str, np.ndarray]:
        """The reports of one round, from the permanent reports of n people."""
        bits, padding = memo["bits"], self.memo.schema.padding
        stays, coins = (
            source.bits(threshold, bits.size).reshape(bits.shape)
            for threshold in (self.keep, self.coin)
        )
        out = (bits & stays) | (coins & ~stays)
        out[:, -1] &= np.array(256 - 2**padding, np.uint8)
        return {"bits": out}


class Permanent(CountedAsAnother):
    """Reports in many rounds from one permanent report, which is drawn once and kept.

        z ~ A_forever(. | x), once for each value x;   each round  y = z with probability a, else
        a uniform report,   a = (r - 1) / (h - 1 - r (l - 1)),   r = exp(epsilon)

    h and l are the likelihoods of z under its value and under others, times the number |Y| of
    reports. One report has the law of ``mechanism``, at its epsilon: so one round is tallied and
    estimated as reports of the mechanism are, without more noise. For the K bits of
    UnaryEncoding each bit is kept by itself, or a coin is sent.

    What it protects:

    - ``epsilon``, one report;
    - :meth:`of_rounds`, all reports on an answer that stays the same. However many they are,
      ``forever`` bounds them, since they show no more than z does;
    - :meth:`of_values`, where an answer changes: each value has a permanent report of its own, and
      a device refuses more than ``values`` of them. It holds for two people of whom both or neither
      give the same answer in any two rounds: if one goes back to an earlier answer, so does the
      other. For other people there is no such bound: *that* an answer has changed, when, and
      whether it came back is not hidden in the long run, because the reports then vary about
      another permanent report.

    Devices keep the permanent reports: :meth:`device`. A device that loses them, or is set up anew,
    draws new ones and spends ``forever`` again.

    Args:
        mechanism: RandomizedResponse, SubsetSelection, HadamardResponse, LocalHashing,
            ProjectiveGeometryResponse or UnaryEncoding, at the epsilon of one round.
        forever: the epsilon of all reports on one value, in nats; larger than one round's.
        values: the most different values that a device reports on.

    Attributes:
        memo: the mechanism of the permanent report.
        values: as given.

    Raises:
        ArgumentTypeError: another mechanism.
        BudgetError: ``forever`` not above the epsilon of one round, or out of the range of 64-bit
            sampling.

    Source: Erlingsson, Pihur and Korolova (2014), who degrade bits; Arcolezi et al. (2024) for
    other mechanisms; METHODS 3.

    >>> from warner import Categorical
    >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 0.5)
    >>> weekly = Permanent(coin, forever=2.0, values=2)
    >>> [round(weekly.of_rounds(rounds).epsilon, 2) for rounds in (1, 4, 52)]
    [0.5, 1.6, 2.0]
    >>> phone = weekly.device()
    >>> len(phone.report("yes")), weekly.of_values().epsilon
    (1, 4.0)
    """

    is_of_studies = False  # a study says so in its table [repeat]
    is_permanent = True
    references = ("erlingsson2014", "arcolezi2024")

    memo: _Whole | UnaryEncoding

    def __init__(self, mechanism: Mechanism, forever: float, values: int = 1) -> None:
        if not isinstance(mechanism, _Whole | UnaryEncoding):
            names = f"{', '.join(DEGRADED[:-1])} or {DEGRADED[-1]}"
            rule = f"must be {names}, whose reports can be randomised again"
            raise ArgumentTypeError("mechanism", rule, kind(mechanism))
        nats, of_ever = budget(mechanism.requested), budget(forever, name="forever")
        if not nats < of_ever:
            rule = f"must be larger than the epsilon of one round, which is {nats!r}"
            remedy = "For only one round, use the mechanism without Permanent"
            raise BudgetError("forever", rule, repr(forever), remedy)
        try:
            memo = type(mechanism)(mechanism.domain, of_ever, **mechanism.parameters())
        except BudgetError as problem:
            said = str(problem).replace("epsilon: ", "forever: ", 1)
            raise BudgetError(said.replace("smaller epsilon", "smaller forever")) from None
        most = Fraction(exp(nats)) * (1 - Fraction(1, 10**59))
        if isinstance(memo, UnaryEncoding):
            # So that a bit of 1 stays 1 as often as in the mechanism.
            coin = ONE // 2 if memo.variant == "sue" else memo.law.keep
            keep = _largest(lambda a: _DegradingBits(memo, a, coin).law().ratio() <= most)
            self._complete(_DegradingBits(memo, keep, coin), values, nats)
        else:
            keep = _largest(lambda a: _Degrading(memo, a).law().ratio() <= most)
            self._complete(_Degrading(memo, keep), values, nats)

    @classmethod
    def rappor(cls, domain: Domain, f: float, p: float, q: float, values: int = 1) -> Self:
        """RAPPOR, by the parameters of its paper, with one bit for each value (basic RAPPOR).

        A permanent bit is the true one with probability 1 - f, else that of a fair coin. Each round
        sends 1 with probability q for a permanent bit of 1, and p for one of 0.

        Args:
            domain: K values.
            f, p, q: probabilities, p < q.
            values: the most different values that a device reports on.

        Source: Erlingsson, Pihur and Korolova (2014).

        >>> from warner import Integers
        >>> chrome = Permanent.rappor(Integers(0, 99), f=0.5, p=0.5, q=0.75)
        >>> round(2 * chrome.epsilon, 4), round(2 * chrome.memo.epsilon, 4)  # of two hash functions
        (1.0743, 4.3944)
        """
        f, p, q = (probability(name, v) for name, v in (("f", f), ("p", p), ("q", q)))
        if not p < q:
            raise ArgumentError("q", f"must be larger than p, which is {p!r}", repr(q))
        stays = 1 - f / 2
        memo = UnaryEncoding(domain, 2 * math.log(stays / (1 - stays)), variant=stays)
        shares = Fraction(q) - Fraction(p), Fraction(p) / (1 - Fraction(q) + Fraction(p))
        keep, coin = (math.floor(share * ONE) for share in shares)
        degrading = _DegradingBits(memo, keep, coin)
        made = cls.__new__(cls)
        made._complete(degrading, values, epsilon_of(degrading.law().ratio()))
        return made

    def _complete(
        self, degrading: _Degrading | _DegradingBits, values: int, requested: float
    ) -> None:
        """Take over what is kept, how it is degraded, and the epsilon of one round."""
        memo = degrading.memo
        super().__init__(memo.domain, requested)
        self.memo, self._degrading = memo, degrading
        self.values = min(integer("values", values, 1, _MOST_VALUES), memo.domain.size)
        # The same mechanism, with the law of one round.
        self._counted_as = copy.copy(memo)
        self.law = degrading.law()
        self._counted_as.law = self.law  # type: ignore[assignment]
        self.schema, self.has_report_channel = memo.schema, memo.has_report_channel
        self.represents_interval = memo.represents_interval
        self.check_realisable()

    @property
    def forever(self) -> float:
        """The epsilon of all reports on one value, as requested, in nats."""
        return self.memo.requested

    def of_rounds(self, rounds: int | None) -> Guarantee:
        """The guarantee of the reports of several rounds together, on an answer that stays.

        It is exact: the largest likelihood ratio of all sequences of reports, which are mixtures
        over the permanent report, rounded up. It does not exceed ``forever``.

        Args:
            rounds: how many; None for any number.

        >>> from warner import Categorical
        >>> three = RandomizedResponse(Categorical(["a", "b", "c"]), math.log(3))
        >>> memo = Permanent(three, math.log(7))
        >>> [round(math.exp(memo.of_rounds(n).epsilon), 3) for n in (1, 2, 4, 6, None)]
        [3.0, 5.588, 6.941, 6.998, 7.0]
        """
        if rounds is None:
            return LDP(self.memo.epsilon)
        many = integer("rounds", rounds, 1)
        return LDP(epsilon_of(self._degrading.ratio_of(many)))

    def of_values(self, values: int | None = None) -> Guarantee:
        """The guarantee of all reports, for ever, between people whose answers change alike.

        Both or neither of two such people give the same answer in any two rounds. Others can be
        told apart beyond it: they have another number of permanent reports.

        Args:
            values: how many different values; None for as many as a device reports on.
        """
        many = self.values if values is None else integer("values", values, 1, self.values)
        return compose([LDP(self.memo.epsilon)] * many)

    def of_reports(self, reports: int) -> Guarantee:
        """The guarantee of reports of several rounds, also where answers change alike."""
        return self.of_values() if reports > 1 else self.guarantee

    # On a device.

    def device(self, key: bytes | None = None, state: str | None = None) -> MemoDevice:
        """The device of one person, which keeps the permanent reports.

        Args:
            key: of a device that was set up before: its secret of 32 bytes, kept where only this
                installation can read it. None sets up a new device.
            state: the text that the device had after its last report.

        Raises:
            ArgumentTypeError, ArgumentError: no key of 32 bytes, or a key without a state: the memo
                is lost, and a new device spends ``forever`` again.
            MismatchError: a state that was altered, or of another installation or mechanism.

        >>> from warner import Categorical
        >>> weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 0.5), 2.0)
        >>> first = weekly.device()
        >>> _ = first.report("no")
        >>> again = weekly.device(first.key, first.state)
        >>> len(again.report("no")), round(again.spent.epsilon, 2)
        (1, 0.95)
        """
        return MemoDevice(self, key, state)

    def degrade(self, memo: Mapping[str, np.ndarray], source: Source) -> dict[str, np.ndarray]:
        """The reports of one round.

        Args:
            memo: the permanent reports of n people, as the columns of the schema.
            source: the randomness.
        """
        empty = self.schema.empty(len(next(iter(memo.values()))))
        for name, column in self._degrading.draw(memo, source).items():
            empty[name][:] = column
        return empty

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Simulate one round of people with fresh permanent reports. See Mechanism.randomize.

        Args:
            values: n answers in the domain.
            rng: the generator. Real answers go through :meth:`device`.

        Raises:
            ArgumentError: no generator.
        """
        if rng is None:
            self.encode(values)  # whose errors come first
            rule = "must be randomised on each person's device, which keeps the permanent reports"
            remedy = (
                "Use device = permanent.device(), then device.report(value). To simulate one "
                "round, pass rng="
            )
            raise ArgumentError("values", rule, None, remedy)
        return super().randomize(values, rng)

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self._degrading.draw(self.memo._sample(index, source), source)

    def _program(self) -> dict[str, Any]:
        integers = {name: number(value) for name, value in self._degrading.fields().items()}
        fields = {"size": self.domain.size, "memo": self.memo.device_program(), **integers}
        return program("permanent", fields)

    # What is stated.

    def parameters(self) -> dict[str, Any]:
        fields = {name: hex(value) for name, value in self._degrading.fields().items()}
        return {"memo": self.memo.header, **fields, "values": self.values}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        memo, keep = from_header(parameters["memo"]), int(parameters["keep"], 16)
        degrading: _Degrading | _DegradingBits
        if isinstance(memo, UnaryEncoding):
            degrading = _DegradingBits(memo, keep, int(parameters["coin"], 16))
        elif isinstance(memo, _Whole):
            degrading = _Degrading(memo, keep)
        else:
            rule = "names a mechanism whose reports cannot be permanent"
            raise MismatchError("header", rule, None, AS_WRITTEN)
        made = cls.__new__(cls)
        made._complete(degrading, parameters["values"], epsilon)
        return made

    def thresholds(self) -> dict[str, str]:
        return self.memo.thresholds()

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.references, *self.memo.sources)))

    def __repr__(self) -> str:
        return (
            f"Permanent({type(self.memo).__name__}, {self.domain!r}, {self.requested!r}, "
            f"forever={self.forever!r}, values={self.values})"
        )

    # At the collector: the mechanism of one round.

    def channel(self) -> Channel:
        channel = self._counted_as.channel()
        channel.memo = self.memo.channel()
        return channel

    def keeps_reports(self, n: int) -> bool:
        return self._counted_as.keeps_reports(n)

    @property
    def is_enumerable(self) -> bool:
        return self._counted_as.is_enumerable


def _largest(holds: Callable[[int], bool]) -> int:
    """The largest integer below 2^64 of which something holds that holds of all below it."""
    low, high = 0, ONE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


class MemoDevice:
    """One person's device for :class:`Permanent`: it keeps the permanent reports and degrades them.

    Its state is a text that the device keeps, sealed by a key that belongs to one installation.
    The state holds the permanent reports, each under a code of its value that nobody can tell
    without the key. So a state that is copied tells no more than all reports for ever may; it opens
    on no other installation; and one that was altered is refused. Keep the new :attr:`state`
    *before* a report is sent: otherwise the next round could draw another permanent report.

    Attributes:
        key: the secret of this installation, 32 bytes. Whoever has it and the state knows on which
            values was reported.

    A device cannot be pickled, and shows no value.

    >>> from warner import Categorical
    >>> weekly = Permanent(RandomizedResponse(Categorical(["no", "yes"]), 0.5), 2.0)
    >>> phone = weekly.device()
    >>> phone, len(phone.key), len(phone.report("yes"))
    (MemoDevice(secret), 32, 1)
    """

    __slots__ = ("__memos", "__simulated", "_key", "_mechanism")

    def __init__(self, mechanism: Permanent, key: bytes | None, state: str | None) -> None:
        self._mechanism = mechanism
        self.__memos: dict[str, tuple[str, int]] = {}
        self.__simulated = False
        if key is None and state is not None:
            rule = "is missing, and without it the state cannot be opened"
            remedy = "Pass device.key of the device that made the state"
            raise ArgumentError("key", rule, None, remedy)
        if key is not None and (not isinstance(key, bytes) or len(key) != _KEY_BYTES):
            got = f"{len(key)} bytes" if isinstance(key, bytes) else kind(key)
            raise ArgumentTypeError("key", f"must be {_KEY_BYTES} bytes, such as device.key", got)
        if key is not None and state is None:
            remedy = f"Pass the state that was saved with this key. {self._if_lost}"
            raise ArgumentError("state", "is missing", None, remedy)
        self._key = secrets.token_bytes(_KEY_BYTES) if key is None else key
        if state is not None:
            self._open(state)

    @property
    def _if_lost(self) -> str:
        """What to do without the state."""
        return (
            "If the state is lost, call permanent.device() without key and state. This makes a new "
            f"device, which spends epsilon {self._mechanism.forever:g} once more"
        )

    @property
    def key(self) -> bytes:
        return self._key

    @property
    def mechanism(self) -> Permanent:
        """The mechanism, which everybody may know."""
        return self._mechanism

    @property
    def state(self) -> str:
        """What the device must keep until the next round, as text."""
        content = self._content()
        return canonical({**content, "seal": self._code("seal", canonical(content))})

    def _content(self) -> dict[str, Any]:
        """The state without its seal."""
        memos = [[code, *entry] for code, entry in self.__memos.items()]
        law = hashlib.sha256(canonical(self._mechanism.header).encode()).hexdigest()
        marked = {"simulated": True} if self.__simulated else {}
        return {"format": "warner-memo", "schema": 1, "mechanism": law, "memos": memos, **marked}

    def _open(self, state: str) -> None:
        """Take over the permanent reports of a state."""
        try:
            stated = json.loads(state)
            content = {name: value for name, value in stated.items() if name != "seal"}
            sealed = hmac.compare_digest(stated["seal"], self._code("seal", canonical(content)))
            if sealed:
                self.__memos = {code: (memo, rounds) for code, memo, rounds in content["memos"]}
                self.__simulated = bool(content.get("simulated", False))
        except (TypeError, ValueError, KeyError, AttributeError):
            sealed = False
        if not sealed:
            rule = "does not belong to this key, or was altered"
            remedy = f"Pass the key and the state of the same device. {self._if_lost}"
            raise MismatchError("state", rule, None, remedy)
        if self._content() != content:
            rule = "belongs to another mechanism, domain or epsilon"
            raise MismatchError("state", rule, None, "Use the mechanism that made it")

    def _code(self, use: str, text: str) -> str:
        """A code of a text for one use, which nobody can make without the key."""
        return hmac.new(self._key, f"warner memo {use}\n{text}".encode(), "sha256").hexdigest()

    def report(self, value: Any, rng: np.random.Generator | None = None) -> Reports:
        """The report of one round.

        Args:
            value: the answer of this round. It is checked as by :meth:`Permanent.encode`.
            rng: None for the operating system's randomness; a generator makes a simulation, then
                and in all rounds of this device.

        Returns:
            Reports: one report. Keep :attr:`state` before it is sent.

        Raises:
            ValuesError: an answer outside the domain.
            ArgumentError: a simulation with the permanent reports of real rounds, or the reverse.
            MemoFullError: another value after as many as the mechanism allows. Nothing is to be
                sent then. That a device falls silent can show that its answers have changed.
        """
        mechanism, source = self._mechanism, Source(rng)
        index = mechanism.encode([value])
        law = mechanism.memo.header
        code = self._code("value", canonical([law["domain_sha256"], int(index[0])]))
        memos = dict(self.__memos)
        if memos and source.simulated != self.__simulated:
            # A seed that is known undoes the permanent report, in all rounds.
            rule = "must be given in every round of a device, or in no round"
            remedy = "For a simulation, make another device with permanent.device()"
            raise ArgumentError("rng", rule, None, remedy)
        if code not in memos:
            if len(memos) >= mechanism.values:
                answers = f"{mechanism.values} other answer{'s' * (mechanism.values > 1)}"
                rule = (
                    f"cannot be reported: this device has reported on {answers} already, and may "
                    "report on no more"
                )
                remedy = (
                    "Send nothing in this round. The key 'values' of [repeat] in the study says on "
                    "how many answers a device may report"
                )
                raise MemoFullError("answer", rule, None, remedy)
            drawn = Reports(law, mechanism.memo.randomize_encoded(index, source))
            memos[code] = (drawn.records()[0].hex(), 0)
        memo, rounds = memos[code]
        columns = mechanism.degrade(self._columns(bytes.fromhex(memo)), source)
        memos[code] = (memo, rounds + 1)
        self.__memos, self.__simulated = memos, source.simulated
        return Reports(mechanism.header, columns, source.simulated)

    def _columns(self, record: bytes) -> dict[str, np.ndarray]:
        """The columns of a record."""
        columns, start = {}, 0
        for name, empty in self._mechanism.schema.empty(1).items():
            array = np.frombuffer(record, empty.dtype.newbyteorder("<"), empty.size, start)
            columns[name] = array.astype(empty.dtype).reshape(empty.shape)
            start += empty.nbytes
        return columns

    @property
    def spent(self) -> Guarantee:
        """What all reports of this device together tell, of people whose answers change alike.

        A round without a report spends nothing.
        """
        of_each = [self._mechanism.of_rounds(rounds) for _, rounds in self.__memos.values()]
        return compose(of_each) if of_each else LDP(0.0)

    def __repr__(self) -> str:
        return "MemoDevice(secret)"

    def __getstate__(self) -> NoReturn:
        remedy = "Save device.state, and save device.key in another place"
        rule = "is a person's secret and cannot be pickled or copied"
        raise ArgumentTypeError("device", rule, None, remedy)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__getstate__()
