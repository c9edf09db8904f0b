"""Several attributes of one person, each randomised on its own [P5 sec 3]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from warner._core.checks import kind
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    MismatchError,
    ValuesError,
    message,
)
from warner._core.sampling import Source
from warner.channels import Channel, KroneckerChannel, LikelihoodOperator
from warner.domains import LARGEST_SIZE, Domain, Product
from warner.mechanisms.base import ENUMERABLE, Mechanism
from warner.mechanisms.composite import Combined, typed
from warner.mechanisms.headers import from_header
from warner.privacy.guarantees import Guarantee, side_by_side
from warner.reports.marginal_tables import affordable, named, picked, tables
from warner.reports.tally import Tally


class PerAttribute(Combined):
    """Several attributes of one person, each randomised on its own; budgets add (RR-Independent, RR-Ind-Joint).

        Pr(y_1, .., y_d | x_1, .., x_d) = A_1[y_1, x_1] .. A_d[y_d, x_d]

    Args:
        product: the attributes and their domains.
        mechanisms: {attribute: a mechanism on its domain, or a function that makes one of the domain}.

    Answers are a list of dicts, a dict of columns, or a frame; numbers reach mechanisms of numbers as they are. A tally keeps tables of all
    subsets of ``ways`` attributes, and ``estimate(tally, attributes=[...])`` the joint distribution of some. The guarantee is the sum
    of the parts', for people who differ in every attribute.

    Raises:
        ArgumentError: an attribute without a mechanism, or a mechanism without an attribute.
        MismatchError: a mechanism on another domain than its attribute's.

    Source: [P5 sec 3]; METHODS 3.

    >>> from warner import Categorical, Integers, RandomizedResponse, UnaryEncoding
    >>> people = Product(smokes=Categorical(["no", "yes"]), age=Integers(18, 99))
    >>> survey = PerAttribute(people, {"smokes": lambda d: RandomizedResponse(d, 1.0), "age": lambda d: UnaryEncoding(d, 0.5)})
    >>> reports = survey.randomize([{"smokes": "no", "age": 31}, {"smokes": "yes", "age": 64}])
    >>> list(reports.columns), round(survey.epsilon, 9), survey.tally(reports).ways
    (['smokes.report', 'age.bits'], 1.5, 2)
    """

    domain: Product

    def __init__(
        self, product: Product, mechanisms: Mapping[str, Mechanism | Callable[[Domain], Mechanism]]
    ) -> None:
        if not isinstance(product, Product):
            raise ArgumentTypeError(
                message(
                    "product",
                    "must be a Product",
                    kind(product),
                    "For one attribute use its mechanism alone",
                )
            )
        if not isinstance(mechanisms, Mapping):
            raise ArgumentTypeError(
                message(
                    "mechanisms",
                    "must be a dict of attributes and their mechanisms",
                    kind(mechanisms),
                )
            )
        for name in product.domains:
            if name not in mechanisms:
                raise ArgumentError(
                    message(
                        "mechanisms",
                        f"has none for {name!r}",
                        ", ".join(map(str, mechanisms)) or "none",
                    )
                )
        for name in mechanisms:
            if name not in product.domains:
                raise ArgumentError(
                    message(
                        "mechanisms",
                        f"names {name!r}, which is no attribute",
                        None,
                        f"Attributes are {', '.join(product.domains)}",
                    )
                )
        self._assemble(
            product,
            {
                name: _made(name, mechanisms[name], domain)
                for name, domain in product.domains.items()
            },
        )
        sensitive_mask = [part.sensitive_mask for part in self.parts.values()]
        if any(mask is not None for mask in sensitive_mask) and product.size <= ENUMERABLE:
            # Whoever has a sensitive value in each attribute that has any. Only listed laws ask for it.
            masks = [
                np.ones(d.size, dtype=bool) if m is None else m
                for d, m in zip(product.domains.values(), sensitive_mask, strict=True)
            ]
            self.sensitive_mask = np.logical_and.reduce(np.meshgrid(*masks, indexing="ij")).ravel()

    def spent(self, guarantees: Mapping[str, Guarantee]) -> Guarantee:
        found: Guarantee = side_by_side(guarantees)
        return found

    def distances(self, index: Any = None) -> np.ndarray | None:
        if self.distance_unit is None:
            return None
        # Only a single attribute keeps its metric guarantee; several are bounded for any two values.
        (part,) = self.parts.values()
        assert part.distance_unit is not None
        found = part.distances(index)
        return None if found is None else found * part.distance_unit

    @property
    def sensitive(self) -> list[Any]:
        """(attribute, value) pairs, where not all values are protected."""
        return [(name, value) for name, part in self.parts.items() for value in part.sensitive]

    def parameters(self) -> dict[str, Any]:
        return {"parts": [[name, part.header] for name, part in self.parts.items()]}

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        if not isinstance(domain, Product):
            raise ValueError
        return cls(domain, {name: from_header(header) for name, header in parameters["parts"]})

    def __repr__(self) -> str:
        return f"PerAttribute({', '.join(f'{name}={part!r}' for name, part in self.parts.items())})"

    def encode(self, values: Any) -> Any:
        """Answers, checked, {attribute: what its mechanism's sampler takes}."""
        columns = self.domain.columns(values)
        found = {}
        problem = None
        for name, part in self.parts.items():
            try:
                found[name] = part.encode(columns[name])
            except ValuesError as error:
                problem = error.moved(f"{name}: position", 0)
            if problem is not None:
                raise problem
        return found

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        if not (int(index.min()) >= 0 and int(index.max()) < self.domain.size):
            raise ArgumentError(message("index", f"must lie in 0..{self.domain.size - 1}"))
        places = zip(self.parts.items(), np.unravel_index(index, self.domain.shape), strict=True)
        return self.schema.join(
            {
                name: typed(part, part.randomize_index(place, source))
                for (name, part), place in places
            }
        )

    def randomize_encoded(self, encoded: Any, source: Source) -> dict[str, np.ndarray]:
        columns = self.schema.join(
            {
                name: part.randomize_encoded(encoded[name], source)
                for name, part in self.parts.items()
            }
        )
        if len({len(column) for column in columns.values()}) != 1:
            raise ArgumentError(
                message(
                    "values",
                    "columns must have one length",
                    ", ".join(str(len(column)) for column in columns.values()),
                )
            )
        return columns

    def _tabled(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        out = np.full((1, 1), Fraction(1), dtype=object)
        for table in tables:
            out = (
                np.multiply.outer(out, table)
                .transpose(0, 2, 1, 3)
                .reshape(len(out) * len(table), -1)
            )
        return out

    def channel(self) -> Channel:
        return self._channel_of(list(self.parts))

    def _channel_of(self, names: Sequence[str]) -> Channel:
        channels = [self.parts[name].channel() for name in names]
        return channels[0] if len(channels) == 1 else KroneckerChannel(channels)

    def kept(self, ways: int | None, keep_reports: bool = False) -> int | None:
        if keep_reports:
            raise ArgumentError(
                message(
                    "keep_reports",
                    "does not go with tuples of attributes",
                    None,
                    "Leave it out: tables of bits are kept by co-occurrence",
                )
            )
        return affordable(self.schema.parts, ways)

    def tally_columns(
        self, columns: Mapping[str, np.ndarray], seen: np.ndarray | None = None, **how: Any
    ) -> Tally:
        kept = affordable(self.schema.parts, how.get("ways"))
        counts = tables(self.schema.parts, self.schema.split(columns), kept, seen)
        return Tally(
            self.header,
            f"{kept}-way",
            counts,
            len(next(iter(columns.values()))) if seen is None else int(seen.sum()),
        )

    def channel_for(
        self, tally: Tally, attributes: Any = None
    ) -> tuple[LikelihoodOperator, np.ndarray, Domain]:
        """Of the attributes asked for, in their order: all for None, where the tally keeps tables of all."""
        ways, known = tally.ways, list(self.parts)
        if ways is None:
            raise MismatchError(
                message(
                    "tally",
                    f"of kind {tally.kind!r} does not go with PerAttribute",
                    None,
                    "Tally the reports again",
                )
            )
        wanted = known if attributes is None else named(attributes, known)
        if len(wanted) > ways:
            got = "all" if attributes is None else ", ".join(wanted)
            example = f"Pass attributes=[...], at most {ways} of them, or tally with ways={len(wanted)} (--ways {len(wanted)})"
            raise ArgumentError(
                message(
                    "attributes",
                    f"can be {ways} together of {', '.join(known)}: the tally keeps no larger tables",
                    got,
                    example,
                )
            )
        table = picked(self.schema.parts, tally.counts, ways, wanted)
        if table is None:
            raise MismatchError(
                message(
                    "tally",
                    "does not fit its mechanism, PerAttribute",
                    None,
                    "Was the file altered?",
                )
            )
        domain = (
            Product(**{name: self.domain.domains[name] for name in wanted})
            if len(wanted) > 1
            else self.domain.domains[wanted[0]]
        )
        if domain.size > LARGEST_SIZE:
            raise ArgumentError(
                message(
                    "attributes",
                    f"must have at most {LARGEST_SIZE} tuples of values",
                    str(domain.size),
                    "Ask for fewer",
                )
            )
        return self._channel_of(wanted), table.ravel(), domain


def _made(name: str, mechanism: Any, domain: Domain) -> Mechanism:
    # A class wants a budget too.
    makes = callable(mechanism) and not isinstance(mechanism, type)
    made = mechanism if isinstance(mechanism, Mechanism) else mechanism(domain) if makes else None
    if not isinstance(made, Mechanism):
        raise ArgumentTypeError(
            message(
                f"mechanisms[{name!r}]",
                "must be a mechanism, or a function that makes one of the domain",
                kind(mechanism),
            )
        )
    if made.domain != domain:
        raise MismatchError(
            message(
                f"mechanisms[{name!r}]",
                "must be on the attribute's own domain",
                repr(made.domain),
                f"That is {domain!r}",
            )
        )
    if isinstance(made, Combined) and not made.schema.rows_are_reports:
        raise ArgumentError(
            message(
                f"mechanisms[{name!r}]",
                "sends several reports of bits, of which a table of tuples has no rows",
                None,
                "Use one report, or not of bits",
            )
        )
    return made
