"""Personalised protection: what is sensitive for one person alone stays her secret [P2 sec 5].

This is the device's half; the collector's, which knows only the common mechanism, is warner.results.redistribution.
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
from warner._core.sampling import Source
from warner.domains import Domain, Tagged
from warner.mechanisms.utility_optimized import UtilityOptimized
from warner.reports.reports import Reports

_TABLE = 2**16  # values up to which a device looks answers up in a table


class Personalized:
    """A utility-optimised mechanism common to all, and tags that stand in for what is sensitive for one person.

    Each device maps its own secret values to the bot of their tag, "@home" say, and sends that through the common mechanism over
    values and bots, whose sensitive values are the common ones and the bots. Reports, tallies and headers are those of this
    common mechanism: they say what tags there are, and nothing of any map.

    Args:
        common: UtilityOptimizedRR or UtilityOptimizedRappor on the plain domain, with what is sensitive for everyone. Where nothing
            is, there is no such mechanism: use :meth:`of`.
        tags: names, such as "home", "work", "other".

    Attributes:
        mechanism: the common mechanism over values and bots, for its ``channel``, ``header`` and audit. It knows no map: real answers
            go through a ``device``.
        common: the mechanism on the plain domain, None where nothing is sensitive for everyone.
        guarantee: ULDP of the common sensitive values and the bots; for each person also of her own secret values [P2 prop 11].

    Source: [P2 sec 5.1, 5.2].

    >>> from warner import Integers, UtilityOptimizedRR
    >>> city = Personalized(UtilityOptimizedRR(Integers(0, 99), 1.0, sensitive=[13]), ["home", "work"])
    >>> phone = city.device({"home": [42], "work": [7, 8]})
    >>> city.tally(phone.randomize([42, 99, 8])).n
    3
    """

    def __init__(self, common: UtilityOptimized, tags: Sequence[str]) -> None:
        if not isinstance(common, UtilityOptimized):
            raise ArgumentTypeError(
                message(
                    "common", "must be UtilityOptimizedRR or UtilityOptimizedRappor", kind(common)
                )
            )
        self.common: UtilityOptimized | None = common
        self._extend(
            type(common),
            common.domain,
            common.requested,
            tags,
            list(common.sensitive),
            common.common(),
        )

    @classmethod
    def of(
        cls,
        mechanism: type[UtilityOptimized],
        domain: Domain,
        epsilon: float,
        tags: Sequence[str],
        sensitive: Any = (),
        **options: Any,
    ) -> Personalized:
        """Personalised protection by a class of mechanism: with no ``sensitive`` values, only what a person declares secret is protected.

        Args:
            mechanism: UtilityOptimizedRR or UtilityOptimizedRappor, the class.
            domain: the plain domain.
            epsilon: nats.
            tags: at least one.
            sensitive: what is sensitive for everyone, if anything.
            options: further arguments of ``mechanism``, such as ``keep``.

        Source: [P2 sec 5.1], where the values that are sensitive for everyone may be none.

        >>> from warner import Integers, UtilityOptimizedRR
        >>> city = Personalized.of(UtilityOptimizedRR, Integers(0, 99), 1.0, ["home"])
        >>> city.guarantee.sensitive
        ('@home',)
        """
        if not (isinstance(mechanism, type) and issubclass(mechanism, UtilityOptimized)):
            raise ArgumentTypeError(
                message(
                    "mechanism",
                    "must be UtilityOptimizedRR or UtilityOptimizedRappor, the class",
                    kind(mechanism),
                )
            )
        if not isinstance(sensitive, str) and hasattr(sensitive, "__len__") and len(sensitive) == 0:
            made = cls.__new__(cls)
            made.common = None
            made._extend(mechanism, domain, epsilon, tags, [], options)
            return made
        return cls(mechanism(domain, epsilon, sensitive=sensitive, **options), tags)  # type: ignore[call-arg]

    def _extend(
        self,
        made_by: type[UtilityOptimized],
        domain: Domain,
        epsilon: float,
        tags: Sequence[str],
        sensitive: list[Any],
        options: Mapping[str, Any],
    ) -> None:
        """Make the common mechanism over values and bots."""
        extended = Tagged(domain, tags)
        bots = extended.decode(np.arange(domain.size, extended.size))
        self.mechanism = made_by(extended, epsilon, sensitive=[*sensitive, *bots], **options)  # type: ignore[call-arg]
        self.domain, self.tags = domain, extended.tags

    @property
    def guarantee(self) -> Any:
        return self.mechanism.guarantee

    @property
    def epsilon(self) -> float:
        return self.mechanism.epsilon

    def device(self, secret: Mapping[str, Iterable[Any]] | None = None) -> Device:
        """One person's device, with what is secret to her: {tag: values}; None for a person without secrets.

        Raises:
            ArgumentError: an unknown tag, a value outside the domain, under two tags, or sensitive for everyone anyway. The
                message names the tag, never the value.
        """
        return Device(self, {} if secret is None else secret)

    def tally(self, reports: Reports, keep_reports: bool = False) -> Any:
        """Count reports of any number of devices."""
        return self.mechanism.tally(reports, keep_reports)

    def channel(self) -> Any:
        """The channel over values and bots."""
        return self.mechanism.channel()

    def __repr__(self) -> str:
        if self.common is not None:
            return f"Personalized({self.common!r}, {list(self.tags)!r})"
        made = self.mechanism
        options = "".join(f", {name}={value!r}" for name, value in made.common().items())
        return f"Personalized.of({type(made).__name__}, {self.domain!r}, {made.requested!r}, {list(self.tags)!r}{options})"


class Device:
    """One person's secret map and the sampler. It shows nothing of the map, and is refused by everything that writes objects."""

    __slots__ = ("__encode", "_mechanism")

    def __init__(self, personalized: Personalized, secret: Mapping[str, Iterable[Any]]) -> None:
        domain, tags = personalized.domain, personalized.tags
        if not isinstance(secret, Mapping):
            raise ArgumentTypeError(
                message("secret", "must be a dict of tags and their values", kind(secret))
            )
        bots: dict[int, int] = {}
        for tag, values in secret.items():
            if tag not in tags:
                raise ArgumentError(
                    message(
                        "secret",
                        "names a tag that is not there",
                        None,
                        f"Tags are {', '.join(tags)}",
                    )
                )
            if (
                isinstance(values, str)
                or not hasattr(values, "__iter__")
                or (isinstance(values, np.ndarray) and not values.ndim)
            ):
                raise ArgumentTypeError(
                    message(f"secret {tag}", "must be a list of values", kind(values))
                )
            problem = None
            try:
                index = domain.encode(list(values))
            except EmptyError:
                continue  # a tag that this person has no use for
            except (ValuesError, ArgumentTypeError):
                problem = message(f"secret {tag}", "has values that are not in the domain")
            if problem is None and personalized.mechanism.sensitive_mask[index].any():
                problem = message(
                    f"secret {tag}",
                    "has a value that is sensitive for everyone",
                    None,
                    "It is protected already: leave it out",
                )
            if problem is None and any(x in bots for x in index.tolist()):
                problem = message(
                    f"secret {tag}",
                    "shares a value with another tag",
                    None,
                    "Give each value one tag",
                )
            if problem is not None:
                raise ArgumentError(problem)
            bots |= dict.fromkeys(index.tolist(), domain.size + tags.index(tag))

        # Secrets in order, and what is sent for each; after them a place for all other values, which stay themselves.
        hidden = np.array([*sorted(bots), domain.size], dtype=np.int64)
        sent = np.array([*(bots[value] for value in sorted(bots)), 0], dtype=np.int64)
        small = domain.size <= _TABLE
        table = np.arange(domain.size if small else 0, dtype=np.int64)
        if small and bots:
            table[hidden[:-1]] = sent[:-1]

        def encode(answers: Any) -> np.ndarray:
            index = domain.encode(answers)
            # The same operations for a secret answer as for any other, so that time does not tell them apart.
            if small:
                return table[index]
            place = np.searchsorted(hidden, index)
            return np.where(hidden[place] == index, sent[place], index)

        # In a closure, where no listing of attributes shows it.
        self.__encode = encode
        self._mechanism = personalized.mechanism

    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Reports of this person's answers, each on its own, the plain values: what is secret is replaced here.

        See Mechanism.randomize.
        """
        source = Source(rng)
        columns = self._mechanism.randomize_index(self.__encode(values), source)
        return Reports(self._mechanism.header, columns, source.simulated)

    def __repr__(self) -> str:
        return "Device(secret)"

    def __getstate__(self) -> NoReturn:
        raise ArgumentTypeError(
            message("device", "is a person's secret and cannot be written or copied")
        )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__getstate__()
