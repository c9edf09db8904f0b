"""Personalised protection: values that are sensitive for one person only stay secret [P2 sec 5].

This module has the device's half. The collector knows the common mechanism alone. The collector's
half is :mod:`warner.results.redistribution`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    EmptyError,
    ValuesError,
    message,
)
from warner._core.foreign_tables import index_of_answers
from warner._core.sampling import Source
from warner.channels import Channel
from warner.domains import Domain, Tagged
from warner.mechanisms.base import CountedAsAnother, Mechanism
from warner.mechanisms.utility_optimized import UtilityOptimized
from warner.privacy.guarantees import Guarantee
from warner.privacy.report_laws import (
    ambiguous_report,
    common_denominator,
    epsilon_of,
    worst_ratio,
)
from warner.reports.reports import Reports
from warner.reports.schema import Rows
from warner.reports.tally_kinds import Counted

_TABLE = 2**16  # values up to which a device looks answers up in a table


class PersonalizedULDP(CountedAsAnother):
    """A utility-optimised mechanism common to all people, with tags for individual secrets.

    Each device replaces its owner's secret values by the placeholder of their tag, for example
    "@home". It then randomises the result by the common mechanism over values and placeholders.
    That mechanism protects the placeholders and the values that are sensitive for everybody.
    Reports, tallies and headers belong to this common mechanism. They contain the names of the
    tags, but not which values a person tagged.

    Args:
        common: a UtilityOptimizedRR, UtilityOptimizedSubset or UtilityOptimizedRappor on the plain
            domain, with the values that are sensitive for everybody. Or one of these classes, with
            ``domain``
            and ``epsilon``; then no value need be sensitive for everybody.
        tags: the names of the tags, such as "home", "work", "other".
        domain: the plain domain. This and the following arguments are only for a class.
        epsilon: budget in nats.
        sensitive: the values that are sensitive for everybody, if any.
        options: further arguments of the class, such as ``keep``.

    Attributes:
        domain: the plain values and the placeholders; channel, audit and estimates are over it.
        plain_domain: the values that people answer with.
        tags: the names of the tags.
        mechanism: the common mechanism over values and placeholders. It holds no person's secrets.
        common: the mechanism on the plain domain; None where no value is sensitive for everybody.
        guarantee: ULDP of the common sensitive values and the placeholders, and for each person
            also of that person's secret values [P2 prop 11].

    The method ``randomize`` raises an error. Use a :meth:`device`, which knows its owner's secrets.

    Raises:
        ArgumentTypeError: a common mechanism of another kind, or arguments of a class beside a
            mechanism.

    Source: [P2 sec 5.1, 5.2].

    >>> from warner import Integers, UtilityOptimizedRR, audit
    >>> common = UtilityOptimizedRR(Integers(0, 9), 1.0, sensitive=[3])
    >>> city = PersonalizedULDP(common, ["home", "work"])
    >>> phone = city.device({"home": [4], "work": [7, 8]})
    >>> city.tally(phone.randomize([4, 9, 8])).n, audit(city).holds, audit(phone).holds
    (3, True, True)
    >>> PersonalizedULDP(UtilityOptimizedRR, ["home"], Integers(0, 9), 1.0).guarantee.sensitive
    ('@home',)
    """

    references = ("P2",)

    def __init__(
        self,
        common: UtilityOptimized | type[UtilityOptimized],
        tags: Sequence[str],
        domain: Domain | None = None,
        epsilon: float | None = None,
        sensitive: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        if isinstance(common, type):
            plain = _plain(common, domain, epsilon, sensitive, options)
            if plain is None:
                assert domain is not None and epsilon is not None
                made = common.with_placeholders(domain, epsilon, tags, [], options)
                self._describe(made, None)
                return
        else:
            plain = common
            _require_utility_optimized("common", type(plain), kind(plain))
            given = [a for a in (domain, epsilon, *options.values()) if a is not None]
            if given or not isinstance(sensitive, tuple) or sensitive:
                rule = "has a domain, an epsilon and options already, so no others can be given"
                remedy = "Pass only the mechanism and the tags"
                raise ArgumentTypeError("common", rule, None, remedy)
        mechanism = plain.with_placeholders(
            plain.domain, plain.requested, tags, plain.sensitive, plain.options()
        )
        self._describe(mechanism, plain)

    @classmethod
    def of(
        cls,
        mechanism: type[UtilityOptimized],
        domain: Domain,
        epsilon: float,
        tags: Sequence[str],
        sensitive: Sequence[Any] = (),
        **options: Any,
    ) -> PersonalizedULDP:
        """Personalised protection by a class of mechanism.

        With no ``sensitive`` values, only the values that a person declares secret are protected.
        The constructor takes the same arguments in another order.

        Args:
            mechanism: the class, UtilityOptimizedRR, UtilityOptimizedSubset or
                UtilityOptimizedRappor.
            domain: the plain domain.
            epsilon: nats.
            tags: at least one.
            sensitive: the values that are sensitive for everybody, if any.
            options: further arguments of ``mechanism``, such as ``keep``.

        Raises:
            ArgumentTypeError: another class of mechanism.

        Source: [P2 sec 5.1], where no value need be sensitive for everybody.

        >>> from warner import Integers, UtilityOptimizedRR
        >>> city = PersonalizedULDP.of(UtilityOptimizedRR, Integers(0, 99), 1.0, ["home"])
        >>> city.guarantee.sensitive
        ('@home',)
        """
        subject = mechanism if isinstance(mechanism, type) else type(None)
        _require_utility_optimized("mechanism", subject, kind(mechanism))
        return cls(mechanism, tags, domain, epsilon, sensitive, **options)

    def _describe(self, mechanism: UtilityOptimized, common: UtilityOptimized | None) -> None:
        """Take over the facts of the mechanism over values and placeholders."""
        assert isinstance(mechanism.domain, Tagged)
        self.mechanism, self.common, self._counted_as = mechanism, common, mechanism
        self.domain, self.requested = mechanism.domain, mechanism.requested
        self.plain_domain, self.tags = mechanism.domain.domain, mechanism.domain.tags
        self.schema, self.law = mechanism.schema, mechanism.law
        self.sensitive_mask = mechanism.sensitive_mask
        self.header = mechanism.header

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    @property
    def guarantee(self) -> Guarantee:
        return self.mechanism.guarantee

    def parameters(self) -> dict[str, Any]:
        return self.mechanism.parameters()

    def thresholds(self) -> dict[str, str]:
        return self.mechanism.thresholds()

    # On the device.

    def device(self, secret: Mapping[str, Iterable[Any]] | None = None) -> Device:
        """One person's device.

        Args:
            secret: {tag: the owner's secret values}; None for a person without secrets.

        Returns:
            Device: it randomises this person's answers.

        Raises:
            ArgumentError: an unknown tag, or a value that is outside the domain, under two tags, or
                sensitive for everybody. The message names the tag, never the value.
        """
        return Device(self, {} if secret is None else secret)

    def encode(self, values: Any) -> NoReturn:
        """Raise an error: only a :meth:`device` knows which answers are secret."""
        rule = "must be randomised on a person's device, which knows the secret values of its owner"
        remedy = (
            "Use mechanism.device({tag: secret values}).randomize(values), or mechanism.device() "
            "for a person without secrets"
        )
        raise ArgumentTypeError("values", rule, None, remedy)

    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        return self.mechanism._sample(index, source)

    # At the collector.

    def channel(self) -> Channel:
        return self.mechanism.channel()

    def _counted(self, rows: Rows, ways: int | None, keep_reports: bool | None) -> Counted:
        return self.mechanism._counted(rows, ways, keep_reports)

    # For the audit.

    def protected(self) -> np.ndarray:
        return self.mechanism.protected()

    def __repr__(self) -> str:
        if self.common is not None:
            return f"PersonalizedULDP({self.common!r}, {list(self.tags)!r})"
        made = self.mechanism
        options = "".join(f", {name}={value!r}" for name, value in made.options().items())
        return (
            f"PersonalizedULDP.of({type(made).__name__}, {self.plain_domain!r}, "
            f"{made.requested!r}, {list(self.tags)!r}{options})"
        )


def _require_utility_optimized(name: str, cls: type, got: str) -> None:
    """Refuse a class of mechanism that does not protect some values more than others."""
    if not issubclass(cls, UtilityOptimized):
        rule = (
            "must be the class UtilityOptimizedRR, UtilityOptimizedSubset or "
            "UtilityOptimizedRappor, or a mechanism of one of these classes"
        )
        raise ArgumentTypeError(name, rule, got)


def _plain(
    cls: type[UtilityOptimized],
    domain: Domain | None,
    epsilon: float | None,
    sensitive: Sequence[Any],
    options: Mapping[str, Any],
) -> UtilityOptimized | None:
    """The mechanism on the plain domain; None where no value is sensitive for everybody."""
    _require_utility_optimized("common", cls, cls.__name__)
    if domain is None or epsilon is None:
        rule = "is a class, which needs a domain and an epsilon"
        raise ArgumentTypeError("common", rule, cls.__name__, "Pass domain= and epsilon=")
    if not isinstance(sensitive, str) and hasattr(sensitive, "__len__") and not len(sensitive):
        return None
    return cls(domain, epsilon, sensitive=sensitive, **options)


class Device:
    """One person's device: it holds the person's secret values and randomises the answers.

    No attribute shows the secret values. A device cannot be pickled or copied.

    Args:
        personalized: the mechanism common to all people.
        secret: {tag: the owner's secret values}.

    Raises:
        ArgumentError, ArgumentTypeError: see :meth:`PersonalizedULDP.device`.

    >>> from warner import Integers, UtilityOptimizedRR
    >>> city = PersonalizedULDP(UtilityOptimizedRR(Integers(0, 9), 1.0, sensitive=[3]), ["home"])
    >>> phone = city.device({"home": [4]})
    >>> phone, len(phone.randomize([4, 9])), phone.violation() is None
    (Device(secret), 2, True)
    """

    __slots__ = ("__encode", "__secrets", "_mechanism", "_plain")

    def __init__(self, personalized: PersonalizedULDP, secret: Mapping[str, Iterable[Any]]) -> None:
        domain, placeholders = personalized.plain_domain, _placeholders(personalized, secret)
        # Secrets in order, and the value sent for each. A last place stands for all other values.
        hidden = np.array([*sorted(placeholders), domain.size], dtype=np.int64)
        sent = np.array([*(placeholders[x] for x in sorted(placeholders)), 0], dtype=np.int64)
        small = domain.size <= _TABLE
        table = np.arange(domain.size if small else 0, dtype=np.int64)
        if small and placeholders:
            table[hidden[:-1]] = sent[:-1]

        def encode(answers: Any) -> np.ndarray:
            index = domain.encode(answers)
            # The operations are the same for secret answers, so time does not reveal them.
            if small:
                return np.asarray(table[index])
            position = np.searchsorted(hidden, index)
            return np.where(hidden[position] == index, sent[position], index)

        # Closures, which no listing of attributes shows.
        self.__encode = encode
        self.__secrets = placeholders.copy
        self._mechanism, self._plain = personalized.mechanism, domain

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Randomise this person's answers, each independently. See Mechanism.randomize.

        Args:
            values: n answers in the plain domain. Secret values are replaced here by placeholders.
            rng: None for the operating system's randomness; a generator makes a simulation.

        Returns:
            Reports: n reports of the common mechanism.
        """
        source = Source(rng)
        columns = self._mechanism.randomize_index(self.__encode(values), source)
        return Reports(self._mechanism.header, columns, source.simulated, index_of_answers(values))

    @property
    def mechanism(self) -> Mechanism:
        """The common mechanism over values and placeholders, which everybody may know."""
        return self._mechanism

    def violation(self) -> str | None:
        """How the reports of this device break the promise to its owner; None if they keep it.

        The promise is ULDP at the epsilon of the common mechanism [P2 prop 11]. It protects
        what is sensitive for everybody, and the owner's secret values. Every secret value must
        be sent as a placeholder. If the common mechanism is enumerable, all reports are also
        compared under all answers, in exact arithmetic. Otherwise the law of the common
        mechanism bounds the rest.

        Returns:
            The violation in words that name no value, or None.
        """
        common, size = self._mechanism, self._plain.size
        sent = self.__encode(self._plain.labels)
        # What the owner declared, and whatever else is replaced.
        hidden = sent != np.arange(size)
        hidden[list(self.__secrets())] = True
        if not common.sensitive_mask[sent[hidden]].all():
            return "a secret value is sent as a value that is not sensitive"
        if not common.is_enumerable:
            return None
        table, _ = common_denominator(common.probabilities()[:, sent])
        protected = common.protected()
        if ambiguous_report(table, hidden | common.sensitive_mask[:size], protected) is not None:
            return "an unprotected report does not name one value that is not sensitive"
        if epsilon_of(worst_ratio(table[protected])) > common.epsilon:
            return "a protected report has larger odds than the common mechanism allows"
        return None

    def __repr__(self) -> str:
        return "Device(secret)"

    def __getstate__(self) -> NoReturn:
        raise ArgumentTypeError("device", "is a person's secret and cannot be written or copied")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__getstate__()


def _placeholders(
    personalized: PersonalizedULDP, secret: Mapping[str, Iterable[Any]]
) -> dict[int, int]:
    """{index of a secret value: index of the placeholder of its tag}, checked."""
    if not isinstance(secret, Mapping):
        raise ArgumentTypeError("secret", "must be a dict {tag: list of values}", kind(secret))
    size, tags = personalized.plain_domain.size, personalized.tags
    placeholders: dict[int, int] = {}
    for tag, values in secret.items():
        if tag not in tags:
            rule = "names an unknown tag"
            raise ArgumentError("secret", rule, None, f"The tags are {', '.join(tags)}")
        index, problem = _secret_index(personalized, tag, values)
        if problem is None and any(x in placeholders for x in index):
            rule = "has a value that another tag has too"
            problem = message(f"secret {tag}", rule, None, "Give each value only one tag")
        if problem is not None:
            raise ArgumentError(problem)
        placeholders |= dict.fromkeys(index, size + tags.index(tag))
    return placeholders


def _secret_index(
    personalized: PersonalizedULDP, tag: str, values: Iterable[Any]
) -> tuple[list[int], str | None]:
    """The indices of one tag's secret values, or an error that names none of them."""
    if (
        isinstance(values, str)
        or not hasattr(values, "__iter__")
        or (isinstance(values, np.ndarray) and not values.ndim)
    ):
        raise ArgumentTypeError(f"secret {tag}", "must be a list of values", kind(values))
    try:
        index = personalized.plain_domain.encode(list(values))
    except EmptyError:
        return [], None  # a tag that this person does not use
    except (ValuesError, ArgumentTypeError):
        rule, remedy = "has values that are not in the domain", "Remove or correct them"
        return [], message(f"secret {tag}", rule, None, remedy)
    if personalized.mechanism.sensitive_mask[index].any():
        return [], message(
            f"secret {tag}",
            "has a value that is sensitive for everyone",
            None,
            "Leave the value out: it is protected already",
        )
    return index.tolist(), None
