"""The base of mechanisms: what one is, how it randomises, how its reports are counted, audited."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from warner._core.checks import budget, kind, show
from warner._core.errors import (
    ArgumentError,
    ArgumentTypeError,
    BudgetError,
    EmptyError,
    MismatchError,
    ReportError,
    ValuesError,
)
from warner._core.exact import ONE, check_epsilon, realise
from warner._core.foreign_tables import (
    ColumnNames,
    about_repeated,
    columns_of_frame,
    foreign_table,
    in_rows_of,
    index_of,
    index_of_answers,
)
from warner._core.names import Hinting, explained
from warner._core.pickles import without_cached
from warner._core.progress import steps
from warner._core.sampling import Source
from warner._core.text import AS_WRITTEN, canonical, look, magnitude, series
from warner.channels import Channel, LikelihoodOperator
from warner.domains import LARGEST_SIZE, Domain
from warner.domains.base import require_domain
from warner.privacy.guarantees import LDP, Guarantee, compose
from warner.privacy.report_laws import (
    INFINITE,
    ExactTable,
    ReportDistribution,
    epsilon_of,
    euclidean_distances,
)
from warner.reports.public_columns import Groups, group_people, warn_of_groups
from warner.reports.reports import Reports
from warner.reports.schema import ReportSchema, Rows, columns_from
from warner.reports.tally import Tally, require_same
from warner.reports.tally_kinds import Counted


@dataclass(frozen=True, eq=False)
class Dummies:
    """The reports of a dummy, with probabilities D[y] that depend on no answer.

    A mechanism offers them where epsilon bounds any two of its values, its report is one column
    ``report``, and the largest ratios to its reports A[y, x] are known exactly. Their product is at
    most exp(epsilon).

    Attributes:
        above: the largest A[y, x] / D[y] over all reports y and values x.
        below: the largest D[y] / A[y, x].
        sample: draws n reports from a source, as the schema's columns.
        shares: D (m,), as floats, in the order of the rows of the channel.
        exact: D (m,), as Fractions, in the order of ``outputs``.
    """

    above: Fraction
    below: Fraction
    sample: Callable[[int, Source], dict[str, np.ndarray]]
    shares: Callable[[], np.ndarray]
    exact: Callable[[], np.ndarray]


class ReportsAbout(NamedTuple):
    """The reports on one of several attributes, as rows of a channel.

    Attributes:
        channel: A (m, K), with one row for each report.
        row: (k,) the row of each report.
        people: (k,) whose reports they are, as numbers of n people.
    """

    channel: LikelihoodOperator
    row: np.ndarray
    people: np.ndarray


_CHUNK = 2**16  # people randomised at a time, which bounds memory and fits the cache

_BITS = 5e8  # bits of reports that are drawn in a second; subsets and unary reports alike

_LONG = 10.0  # seconds that are announced

_LISTED = 12  # words in a message

ENUMERABLE = 2**16  # probabilities that an audit compares one by one


class Mechanism(Hinting, ABC):
    """A local randomiser on a domain: its law, its sampler, its tallies and its channel. Abstract.

    Args:
        domain: K values.
        epsilon: budget in nats.
        infinite: whether an infinite budget is allowed.

    Attributes:
        domain: the values that a person can answer.
        requested: the argument ``epsilon``, in nats.
        epsilon: the epsilon of the law that is sampled, computed from integer thresholds.
        guarantee: the privacy guarantee of one report.
        schema: the columns of a report.
        law: the exact distribution of reports.
        sensitive_mask: which values are protected, (K,); None where all are.
        distance_unit: with metric privacy, ``epsilon`` bounds two values at this distance. None
            where ``epsilon`` bounds any two values.
        represents_interval: whether a value of the domain stands for an interval of answers.
            Reports can then distinguish answers within one bin of the domain.
        version: the version of the law and of the report format. It is raised when either changes.
        is_of_studies: whether a study file can name the mechanism.
        is_on_paper: whether people randomise themselves, and their reports are read in words.
        is_permanent: whether devices keep a report, and degrade it in each round.
        takes_keys: whether a study file must state the keys of a key-value mechanism.
        excludes_nonresponse: whether the mechanism is made on the answers alone, where nonresponse
            is a value, and goes with it by :func:`~warner.mechanisms.with_nonresponse`.
        takes_tags: whether a study file may state tags, whose placeholders join the values.
        references: the sources, as keys of the package's list or as BibTeX entries.
        for_papers: whether only papers use it, because others err less. The reference shows it on a
            page of its own.
        not_options: the constructor's arguments that a study file cannot set as options.
        answer_parts: {column: domain or mechanism that encodes it}, for an answer in several
            columns of a file. Empty for an answer in one column.
        takers: {attribute: domain or mechanism that encodes its answers}, where those of several
            attributes are encoded one by one. Empty for other mechanisms.
        has_report_channel: whether single reports have a channel, see :meth:`channel_of_reports`.
    """

    is_of_studies: ClassVar[bool] = True
    is_on_paper: ClassVar[bool] = False
    is_permanent: ClassVar[bool] = False
    takes_keys: ClassVar[bool] = False
    takes_tags: ClassVar[bool] = False
    excludes_nonresponse: ClassVar[bool] = False
    not_options: ClassVar[frozenset[str]] = frozenset({"domain", "epsilon"})
    references: ClassVar[tuple[str, ...]] = ()
    for_papers: ClassVar[bool] = False

    answer_parts: Mapping[str, Domain | Mechanism] = MappingProxyType({})
    takers: Mapping[str, Domain | Mechanism] = MappingProxyType({})
    has_report_channel = True
    represents_interval = False
    distance_unit: float | None = None
    sensitive_mask: np.ndarray | None = None
    version = 1
    # Set by every subclass's constructor:
    domain: Domain
    requested: float
    schema: ReportSchema
    law: ReportDistribution

    def __init__(self, domain: Domain, epsilon: float, infinite: bool = False) -> None:
        require_domain(domain)
        if domain.size > LARGEST_SIZE:
            rule = f"must have at most {LARGEST_SIZE} values"
            raise ArgumentError("domain", rule, magnitude(domain.size), domain.too_many)
        self.domain = domain
        self.requested = budget(epsilon, infinite=infinite)
        if not math.isinf(self.requested):
            check_epsilon(self.requested)

    @property
    def epsilon(self) -> float:
        return self._realised_epsilon

    @cached_property
    def _realised_epsilon(self) -> float:
        """The logarithm of the law's worst ratio, checked against the budget."""
        ratio = self.law.ratio()
        if math.isinf(self.requested):
            return epsilon_of(ratio)
        if ratio == INFINITE:
            # What protects in another way than LDP says so by a guarantee of its own.
            if type(self).guarantee is Mechanism.guarantee:
                whose = type(self).__name__
                rule = (
                    f"{self.requested:g} cannot be kept: {whose} has a report that is possible for "
                    "some answers and impossible for others, so the report tells too much"
                )
                remedy = f"Look for probabilities of 0 in {whose}"
                raise BudgetError("epsilon", rule, None, remedy)
            return epsilon_of(ratio)
        return realise(self.requested, ratio, 1, whose=type(self).__name__)

    def check_realisable(self) -> None:
        """Refuse a budget that 64-bit thresholds cannot realise. Every constructor calls this last.

        Raises:
            BudgetError: the law of the integer thresholds misses the requested epsilon.
            ArgumentTypeError: there is no law or no schema.
            MismatchError: a table of the law that is not of the schema's reports and the values.
        """
        check_law(self)
        # A subclass that changes the law calls this again, after the constructor of its base.
        vars(self).pop("_realised_epsilon", None)
        _ = self.epsilon

    @property
    def values_per_person(self) -> int:
        """The number of values that each person holds. A report is about one of them."""
        return 1

    @property
    def single_reports(self) -> tuple[Mechanism, ...]:
        """The mechanisms of the single reports that one person sends, in their order."""
        return (self,)

    @property
    def attribute_domains(self) -> Mapping[str, Domain]:
        """The attributes whose shares can be estimated: {name: domain}; {} for one question.

        Attributes that are randomised together are listed separately.
        """
        return self.domain.attributes

    @property
    def guarantee(self) -> Guarantee:
        return LDP(self.epsilon)

    def of_reports(self, reports: int) -> Guarantee:
        """The guarantee of this many reports of one person together."""
        return compose([self.guarantee] * reports)

    def about(self, attributes: Sequence[str]) -> Mechanism:
        """The mechanism of those reports that tell of some attributes; this one if all do."""
        return self

    def guarantee_at(self, epsilon: float) -> Guarantee:
        """The guarantee that this mechanism would give at another epsilon.

        Args:
            epsilon: in nats, with the meaning of ``requested``. With metric privacy it bounds two
                values that are ``distance_unit`` apart.

        Returns:
            Guarantee: at this epsilon. With metric privacy its epsilon is the argument divided by
                ``distance_unit``, in nats per unit of distance.
        """
        return self.guarantee.with_epsilon(epsilon, self.distance_unit)

    @property
    def sensitive(self) -> list[Any]:
        """The protected values in the domain's order; an empty list where all are protected."""
        if self.sensitive_mask is None:
            return []
        return self.domain.decode(np.flatnonzero(self.sensitive_mask))

    @property
    def shows_nonresponse(self) -> bool:
        """Whether a report can show that its sender gave no answer, since that is not sensitive."""
        if self.sensitive_mask is None:
            return False
        domain, shown = self.domain.untagged, np.flatnonzero(~self.sensitive_mask)
        if not domain.attributes:
            return domain.nonresponse is not None and domain.nonresponse in shown
        index = np.unravel_index(shown, domain.shape)
        parts = zip(domain.attributes.values(), index, strict=True)
        return any(
            attribute.nonresponse is not None and attribute.nonresponse in values
            for attribute, values in parts
        )

    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments other than domain and epsilon, as JSON data."""
        return {}

    @abstractmethod
    def thresholds(self) -> dict[str, str]:
        """The integers that the sampler compares with, in hexadecimal."""

    @cached_property
    def header(self) -> dict[str, Any]:
        """JSON data that can rebuild this mechanism. Reports and tallies carry them."""
        promised = self.guarantee
        header = {
            "mechanism": type(self).__name__,
            "version": self.version,
            "domain": self.domain.spec(),
            "domain_sha256": self.domain.digest,
            "requested": _finite(self.requested),
            "epsilon": _finite(promised.epsilon),
            **({} if promised.delta is None else {"delta": promised.delta}),
            "parameters": _json_data(self, "parameters()", self.parameters()),
            "thresholds": _json_data(self, "thresholds()", self.thresholds()),
        }
        # Read back as from a file, so that tuples are lists.
        as_read: dict[str, Any] = json.loads(canonical(header))
        return as_read

    def __eq__(self, other: object) -> bool:
        """Mechanisms of one class with the same law, domain and budget are equal."""
        return (
            isinstance(other, Mechanism)
            and type(self) is type(other)
            and (self is other or self._identity == other._identity)
        )

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> str:
        """What makes two mechanisms of one class equal: the header, as a digest."""
        return hashlib.sha256(canonical(self.header).encode()).hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The attributes without those that are computed from others on first use."""
        return without_cached(self)

    @classmethod
    def _rebuild(cls, domain: Domain, epsilon: float, parameters: Mapping[str, Any]) -> Self:
        """The mechanism of a header's domain, requested epsilon and parameters."""
        return cls(domain, epsilon, **parameters)

    @classmethod
    def from_study(
        cls,
        domain: Domain,
        epsilon: float,
        options: Mapping[str, Any],
        keys: Domain | None = None,
        tags: Sequence[str] | None = None,
    ) -> Self:
        """The mechanism that a study file states for an attribute.

        Args:
            domain: the domain of the attribute.
            epsilon: budget in nats.
            options: {name: value}, further arguments of the constructor.
            keys: the domain of the keys, needed where ``takes_keys``; else None.
            tags: the names of the tags, only where ``takes_tags``; else None.
        """
        return cls(domain, epsilon=epsilon, **options)

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources of this mechanism, and of those that it combines."""
        return self.references

    def bibtex(self) -> str:
        """The sources of the mechanism and the package itself as BibTeX, to be cited with results.

        >>> from warner import Categorical, SubsetSelection
        >>> print(SubsetSelection(Categorical(["a", "b", "c"]), 1.0).bibtex().splitlines()[0])
        @article{ye2018,
        """
        from warner._core.references import bibtex_of

        return bibtex_of(self.sources)

    def __repr__(self) -> str:
        more = "".join(f", {k}={show(v)}" for k, v in self.parameters().items())
        return f"{type(self).__name__}({self.domain!r}, {self.requested!r}{more})"

    @property
    def report_words(self) -> tuple[str, ...]:
        """The words of reports, in the order of their codes 0, 1, ....

        They are empty where a report is no single word. A crosswise design has "different" and
        "same"; randomised response has its values, written as in a text file.
        """
        return ()

    @property
    def reads_as(self) -> Mapping[str, int]:
        """Further words that are read as reports, with the codes of the reports."""
        return {}

    def report_code(self, word: Any) -> int:
        """The code of the report that a word says; case, and spaces around, do not matter.

        Args:
            word: a word of ``report_words`` or ``reads_as``.

        Raises:
            ReportError: another word, or a mechanism whose reports are no single words.

        >>> from warner import Categorical, RandomizedResponse
        >>> RandomizedResponse(Categorical(["no", "yes"]), 1.0).report_code("Yes")
        1
        """
        if not self.report_words:
            rule = "cannot be read as words, because this mechanism makes other reports"
            remedy = "Count the reports with mechanism.tally(reports)"
            raise ReportError("reports", rule, type(self).__name__, remedy)
        code = self.code_of_look.get(look(str(word)))
        if code is None:
            words = _alternatives(self.report_words)
            others = f", or {_alternatives(tuple(self.reads_as))}" if self.reads_as else ""
            raise ReportError("report", f"must be {words}{others}", show(word))
        return code

    @cached_property
    def code_of_look(self) -> dict[str, int]:
        """The code of each text that is read as a report, by its look."""
        words = {word: code for code, word in enumerate(self.report_words)}
        if self.is_on_paper and not any(word.isdecimal() for word in words):
            words |= {str(code): code for code in range(len(words))}  # 0 and 1 for no and yes
        return {look(word): code for word, code in (dict(self.reads_as) | words).items()}

    # The device: answers to reports.

    @abstractmethod
    def _sample(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Draw one report for each value of index (n,), as the schema's columns."""

    def check_combinable(self, argument: str) -> None:
        """Refuse a mechanism that cannot be combined with other reports of the same person.

        Args:
            argument: the name of the mechanism in the message.

        Raises:
            ArgumentError: a mechanism whose report is drawn among several answers of a person.
        """

    def dummies(self) -> Dummies | None:
        """The reports of a dummy, for people without an answer; None where there are none."""
        return None

    def encode(self, values: Any) -> np.ndarray:
        """Check answers and convert them to the form that the sampler takes.

        Args:
            values: n answers in the domain (a list, an array or a column).

        Returns:
            (n,) the indices of the answers; mechanisms of numbers return positions in [0, 1].

        Raises:
            ValuesError: an answer outside the domain, named by its position.
            EmptyError: no answers.
        """
        return self.domain.encode(values)

    @explained
    def randomize(self, values: Any, rng: np.random.Generator | None = None) -> Reports:
        """Randomise one answer per person, independently.

        Args:
            values: n answers in the domain (a list, an array or a column).
            rng: None for the operating system's randomness, which real answers need. A
                ``numpy.random.Generator`` makes a repeatable simulation, whose reports are marked
                as simulated.

        Returns:
            Reports: n reports in the order of ``values``.

        Raises:
            ValuesError: an answer outside the domain, named by its position; nothing is sent then.
            EmptyError: no answers.
            ArgumentError: pandas columns with different indexes; a generator with the seed with
                which the answers were drawn.
        """
        source, index = Source(rng), index_of_answers(values)
        try:
            columns = self.randomize_encoded(self.encode(values), source)
            return Reports(self.header, columns, source.simulated, index)
        except ValuesError as error:
            problem = in_rows_of(values, error)
        raise problem

    def device_program(self) -> dict[str, Any]:
        """All that a device in another language needs to randomise one answer, as JSON data.

        ``docs/device_programs.md`` defines the entries. The integers are those that are sampled.
        With the same random words, one 64-bit word for each decision, a device sends the same
        report as Python's reference sampler.

        Returns:
            {"sampler": the name of the algorithm, its integers, "columns": the layout of a report,
            "odds": the largest likelihood ratio of the integers, "odds_at_most": its bound}.

        Raises:
            ArgumentTypeError: a mechanism that devices in other languages do not know.
            ArgumentError: a mechanism whose reports can rule values out.

        >>> from warner import Categorical, RandomizedResponse
        >>> program = RandomizedResponse(Categorical(["no", "yes"]), 1.0).device_program()
        >>> program["sampler"], program["size"], program["columns"]
        ('direct', 2, [{'name': 'report', 'dtype': '|u1', 'length': 1}])
        """
        from warner.mechanisms.device_program import columns_of

        # A subclass with another sampler inherits the program of its base, which is not its own.
        if not issubclass(self._home("_program"), self._home("_sample")):
            raise self._no_program()
        return {**self._program(), "columns": columns_of(self.schema), **self._program_odds()}

    def _home(self, method: str) -> type:
        """The class that defines a method of this mechanism."""
        return next(one for one in type(self).__mro__ if method in vars(one))

    def _program(self) -> dict[str, Any]:
        """The program without its columns and odds."""
        raise self._no_program()

    def _no_program(self) -> ArgumentTypeError:
        rule = "has no program for other devices, because it runs only in Python"
        remedy = "Use another mechanism, or randomise in Python with warner"
        return ArgumentTypeError("mechanism", rule, type(self).__name__, remedy)

    def _program_odds(self) -> dict[str, Any]:
        """The odds of a program, and their bound."""
        from warner.mechanisms.device_program import odds

        return odds(self.law.ratio(), self.requested)

    def check_index(self, index: np.ndarray) -> None:
        """Refuse indices that are not positions in the domain.

        Args:
            index: (n,) integers.

        Raises:
            ArgumentError: an index outside 0..K-1.
        """
        if not (int(index.min()) >= 0 and int(index.max()) < self.domain.size):
            raise ArgumentError("index", f"must be from 0 to {self.domain.size - 1}")

    def randomize_index(self, index: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Randomise the answers of people who hold the domain's values at ``index``.

        Args:
            index: (n,) integers in 0..K-1.
            source: the randomness.

        Returns:
            {name: column}, the columns of n reports.

        Raises:
            ArgumentError: an index outside 0..K-1.
        """
        self.check_index(index)
        return self.randomize_encoded(index, source)

    def randomize_encoded(self, encoded: np.ndarray, source: Source) -> dict[str, np.ndarray]:
        """Randomise answers that :meth:`encode` returned, one chunk of people at a time.

        Args:
            encoded: (n, ...) the encoded answers.
            source: the randomness.

        Returns:
            {name: column}, the columns of n reports.

        Raises:
            ArgumentError: the source has the seed with which the answers were drawn.
        """
        source.require_other_answers(encoded)
        columns = self.schema.empty(len(encoded))
        starts: Iterable[int] = range(0, len(encoded), _CHUNK)
        bits = 8 * len(encoded) * self.schema.bytes_per_report
        if bits > _LONG * _BITS:
            # Reports of one bit for each value are long by nature.
            starts = steps(starts, f"drawing {bits:,} bits of reports", seconds=bits / _BITS)
        for start in starts:
            rows = slice(start, start + _CHUNK)
            chunk = {name: column[rows] for name, column in columns.items()}
            drawn = checked_reports(self, self._sample(encoded[rows], source), chunk)
            for name, column in chunk.items():
                column[...] = drawn[name]
        return columns

    # The collector: reports to counts, and the channel that produced them.

    @abstractmethod
    def channel(self) -> Channel:
        """The channel from K values to the rows of counts of this mechanism's tallies."""

    def checked_channel(self) -> Channel:
        """The channel, where it has the form that all else relies on.

        Returns:
            The channel (m, K).

        Raises:
            ArgumentTypeError: ``channel()`` of somebody's own class returns something else.
            MismatchError: its channel has not a column for each value.
        """
        channel, size = self.channel(), self.domain.size
        name = _member(self, "channel()")
        if not isinstance(channel, Channel):
            rule, remedy = "must return a channel", "For example DenseChannel(matrix)"
            raise ArgumentTypeError(name, rule, kind(channel), remedy)
        if channel.shape[1] != size:
            rule = f"must have {size} columns, one for each value"
            raise MismatchError(name, rule, f"the shape {channel.shape}")
        return channel

    def reports(self, outputs: Any, column: ColumnNames = None, simulated: bool = False) -> Reports:
        """Check reports that were made elsewhere, and give them this mechanism's header.

        Args:
            outputs: one integer column, a dict of columns, or for bit reports an (n, K) array of
                zeros and ones. Or a data frame of any library, eager or lazy.
            column: of a frame, the column of a report of one number; the beginning of the names of
                several columns; or {name in the schema: name in the frame}. None looks for the
                names of the schema and of report files.
            simulated: whether a program made the reports with a seed. Frames of Polars and of
                databases cannot say it. A frame that says it is believed.

        Returns:
            Reports: the checked reports, with this mechanism's header.

        Raises:
            ReportError: outputs that this mechanism cannot have sent, or a frame without the
                columns of its reports.
            ArgumentError: a column of something that is no frame.

        >>> from warner import Categorical, RandomizedResponse
        >>> import pyarrow
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> answers = pyarrow.table({"week": [1, 1, 2], "said": [0, 1, 1]})
        >>> coin.reports(answers, column="said")
        Reports(RandomizedResponse, epsilon=1.0, n=3)
        """
        table = foreign_table(outputs)
        made: Reports
        if table is not None:
            made = table.reports({"value": self}, {"value": column})["value"]
        else:
            refuse_column(column)
            if isinstance(outputs, Reports):
                self.check(outputs)
                made = outputs
            else:
                columns = columns_from(self.schema, outputs)
                made = Reports(self.header, columns, index=index_of(outputs))
        return made.marked(simulated)

    def check(self, reports: Reports) -> None:
        """Refuse reports of another mechanism, or reports that this mechanism cannot have sent.

        Args:
            reports: anything.

        Raises:
            ArgumentTypeError: not Reports.
            MismatchError: another mechanism, budget, domain, version or law.
            EmptyError: no reports.
            ReportError: wrong columns, or values that cannot be sent.
        """
        if not isinstance(reports, Reports):
            remedy = (
                "Make them with mechanism.randomize(answers). For reports of another program, use "
                "mechanism.reports(outputs)"
            )
            raise ArgumentTypeError("reports", "must be Reports of warner", kind(reports), remedy)
        who = "the tally would have", "the reports have"
        remedy = "Count the reports with the mechanism that made them"
        require_same(self.header, reports.header, "mechanism and reports", who, remedy)
        if len(reports) == 0:
            raise EmptyError("reports", "must not be empty")
        expected = self.schema.empty(0)
        if reports.columns.keys() != expected.keys():
            rule = f"must have these columns and no others: {', '.join(expected)}"
            raise ReportError("reports", rule, show(", ".join(reports.columns)))
        for name, column in expected.items():
            given = reports.columns[name]
            if given.dtype != column.dtype or given.shape[1:] != column.shape[1:]:
                shape = ", ".join(["n", *map(str, column.shape[1:])])
                rule = f"column {name!r} must hold {column.dtype} and have the shape ({shape})"
                raise ReportError("reports", rule, f"{given.dtype} of the shape {given.shape}")
        self.schema.check(reports.columns)

    @explained
    def tally(
        self,
        reports: Any,
        by: Any = None,
        *,
        keep_reports: bool | None = None,
        ways: int | None = None,
        column: ColumnNames = None,
    ) -> Tally:
        """Count reports. The tallies of batches add up exactly to the tally of all reports.

        Args:
            reports: n reports made by this mechanism. Or a data frame with such reports, eager or
                lazy, of any library: it is counted by its own GROUP BY. Or a stream of Arrow,
                which is read once: a reader, a data set, the result of a database.
            by: the public columns that make groups of people, such as a ward or a week: {name:
                values}, n values in the order of the reports, or columns of pandas with the index
                of the answers that were randomised, in any order; a series with a name stands
                for {name: series}. They are texts, integers, booleans or dates, or a
                :class:`~warner.reports.public_columns.PublicColumn` with its domain. Groups are
                in the order of categories, where a column says it: pandas, an Enum of Polars, an
                ordered dictionary of Arrow. Of a frame
                also the name of one of its columns, several names, or {name: domain}. None for
                all people together.
            keep_reports: whether to keep the distinct reports of K bits instead of their bit sums.
                Estimates can then use the likelihood of whole reports, but the tally grows with n.
                None keeps them as long as they are few, up to some 100,000, where they say at
                least 5 % more (:meth:`keeps_reports`). Frames, streams and databases are
                then counted by bit sums. The sum of a tally with reports and one without has bit
                sums. It has no effect on other mechanisms.
            ways: for PerAttribute, the number of attributes that each table combines.
            column: of a frame, the columns of the reports; as in :meth:`reports`. Where a frame
                says which mechanism made them (:meth:`warner.Reports.to_frame`), that is compared.

        Returns:
            Tally: the counts; with ``by`` of each group, as a mapping {public values: Tally}.

        Raises:
            FrameWarning: a frame does not say which mechanism made its reports. Only their ranges
                are checked, and the warning has the order of codes. Or reports stand twice, in the
                same order or with the same labels of pandas, so that people are counted twice.
            SmallGroupWarning: groups of fewer than 10 people, in which somebody may be recognised.
            MismatchError: reports of another mechanism, budget, domain or version.
            ReportError: reports that this mechanism cannot have sent, a frame without the columns
                of its reports, or public values of a frame that are missing or were never declared.
            ValuesError: a public value that is missing or was never declared, by its position.
            ArgumentError: a column of something that is no frame, no public columns or columns of
                another length, more groups than there is memory for, or ``ways`` of one attribute.

        >>> from warner import Categorical, RandomizedResponse
        >>> import pyarrow
        >>> coin = RandomizedResponse(Categorical(["no", "yes"]), 1.0)
        >>> table = pyarrow.table({"week": [1, 1, 2], "said": [0, 1, 1]})
        >>> coin.tally(table, column="said").n
        3
        >>> list(coin.tally(table, "week", column="said"))
        [(1,), (2,)]
        >>> groups = coin.tally(coin.randomize(["no", "yes", "no"]), {"year": [1, 1, 2]})
        >>> {key: tally.n for key, tally in groups.items()}
        {(1,): 2, (2,): 1}
        """
        # Reports come first: what a protocol looks for in them takes longer than counting few.
        table = None if isinstance(reports, Reports) else foreign_table(reports)
        by = columns_of_frame(by)
        if table is not None:
            self.allowed_ways(ways, keep_reports)
            options: dict[str, Any] = {"keep_reports": bool(keep_reports), "ways": ways}
            tallies: dict[str, Tally] = table.tally(
                {"value": self}, {"value": column}, by, **options
            )
            if by is not None:
                warn_of_groups(tallies["value"])
            return tallies["value"]
        refuse_column(column)
        self.check(reports)
        repeated = about_repeated(reports.index, reports.columns, reports.index is not None)
        groups = None if by is None else group_people(by, len(reports), reports.index)
        if by is not None and reports.file is not None:
            reports.file.require("by", by)
        counted = self._counted(Rows(reports.columns, groups), ways, keep_reports)
        tally = Tally(self.header, counted, groups, reports.simulated)
        if by is not None:
            warn_of_groups(tally)
        # Whoever estimates from a file does not need it.
        from warner.mechanisms.copies import warn_of_copies

        warn_of_copies(repeated, {"value": self}, {"value": tally})
        return tally

    def count(
        self,
        columns: Mapping[str, np.ndarray],
        groups: Groups | None = None,
        *,
        repeats: np.ndarray | None = None,
        ways: int | None = None,
        keep_reports: bool | None = False,
    ) -> Tally:
        """Count reports that are given as columns and already checked.

        Args:
            columns: the schema's columns, n rows.
            groups: the group of each report; None for all people together.
            repeats: int64 (n,), how often each report counts; None to count every report once.
            ways, keep_reports: as in :meth:`tally`.

        Returns:
            Tally: the counts.

        Raises:
            ArgumentError: ``ways`` for a mechanism of a single report, or more groups than there is
                memory for.
        """
        rows = Rows(columns, groups, repeats)
        return Tally(self.header, self._counted(rows, ways, keep_reports), groups)

    def _counted(self, rows: Rows, ways: int | None, keep_reports: bool | None) -> Counted:
        self.allowed_ways(ways, keep_reports)
        keeps = keep_reports or (keep_reports is None and self.keeps_reports(int(rows.sizes.sum())))
        counted: Counted = self.schema.count(rows, keeps)
        if keeps and keep_reports is None:
            return counted._replace(kind=replace(self.schema.kept_kind, while_few=True))
        return counted

    def keeps_reports(self, n: int) -> bool:
        """Whether a tally of n reports keeps them where it is not told whether it should.

        It does for bits that say at least 5 % more as whole reports than as bit sums, while they
        take at most 16 MB and the default estimate uses them. It does not for places.

        >>> from warner import Categorical, UnaryEncoding
        >>> at = {epsilon: UnaryEncoding(Categorical(range(16)), epsilon) for epsilon in (1.0, 4.0)}
        >>> at[4.0].keeps_reports(1000), at[4.0].keeps_reports(10**7), at[1.0].keeps_reports(1000)
        (True, False, False)
        """
        return False

    def allowed_ways(self, ways: int | None, keep_reports: bool | None = None) -> int | None:
        """The number of attributes that each table of a tally combines.

        Args:
            ways: the requested number; None for the default of the mechanism.
            keep_reports: whether the tally should keep the distinct reports.

        Returns:
            The number of attributes; None for a tally without tables.

        Raises:
            ArgumentError: options that this mechanism does not have, or tables too large.
        """
        if ways is not None:
            rule = "can be used only with several questions, but these reports are about one"
            raise ArgumentError("ways", rule, str(ways), "Leave out the argument ways")
        return None

    def channel_for(
        self, tally: Tally, attributes: Sequence[str] | None = None
    ) -> tuple[LikelihoodOperator, np.ndarray, Domain]:
        """The estimation problem of a tally.

        Args:
            tally: a tally of this mechanism's reports.
            attributes: the names of the attributes to estimate, in order; None for all.
                PerAttribute has its own version, for attributes that are randomised separately.

        Returns:
            The channel (m, K), how often each of its rows occurred (m,), and the K values.

        Raises:
            ArgumentError: ``attributes`` of a domain that has none, or attributes that can only be
                estimated together with the others.
            MismatchError: a tally of marginal tables, which only PerAttribute makes, or counts that
                no reports have.
        """
        if attributes is not None and self.attribute_domains:
            return marginal_problem(self.channel_for(tally), self.attribute_domains, attributes)
        if attributes is not None:
            rule = "can be used only with several questions, but these reports are about one"
            raise ArgumentError("attributes", rule, None, "Leave out the argument attributes")
        if tally.rows is not None:
            return self.report_channel(tally.rows), tally.counts, self.domain
        if tally.ways is not None:
            rule = f"counts several questions together, but {type(self).__name__} is about only one"
            raise MismatchError("tally", rule, None, AS_WRITTEN)
        if not self.schema.may_have(tally.counts, tally.n):
            raise tally.impossible()
        return self.checked_channel(), tally.row_counts, self.domain

    def report_channel(self, rows: np.ndarray) -> LikelihoodOperator:
        """The channel whose rows are the given reports.

        Args:
            rows: uint8 (m, bytes), the distinct reports that a tally keeps, as in ``tally.rows``.
                Each row of the array holds the bytes of one report.

        Returns:
            The channel (m, K). Its row i is proportional to Pr(report i | value).

        Raises:
            MismatchError: a mechanism whose tallies keep no reports.
        """
        rule = f"holds the report of each person, but a tally of {type(self).__name__} cannot"
        raise MismatchError("tally", rule, None, AS_WRITTEN)

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        """A channel whose rows are whole reports, and the row of each report.

        It exists only where ``has_report_channel`` is True.

        Args:
            columns: the schema's columns, n rows.

        Returns:
            The channel (m, K), and the row number of each report, (n,) in 0..m-1.
        """
        return self.channel(), self.schema.index(columns)

    def asks_together(self, attributes: Sequence[str]) -> bool:
        """Whether some people are asked all of these attributes, by their names."""
        return True

    def uneven_draw(self, tally: Tally) -> str:
        """What to say where people were not asked the questions that chance draws; "" else.

        Args:
            tally: of all people together.
        """
        return ""

    def require_whole_reports(self) -> None:
        """Refuse a mechanism whose single reports have no channel."""
        if not self.has_report_channel:
            rule = "cannot be used here, because the probability of a whole report is not stated"
            one = "Name one question: attribute=..."
            remedy = one if self.attribute_domains else "Make KeyValue with key='direct'"
            raise ArgumentError("reports", rule, type(self).__name__, remedy)

    def reports_about(self, columns: Mapping[str, np.ndarray], attribute: str) -> ReportsAbout:
        """The reports about one of several attributes that are randomised separately.

        Args:
            columns: the schema's columns, n rows.
            attribute: the name of the attribute.

        Raises:
            ArgumentError: no such attribute is randomised by itself.
        """
        rule = "can be used only with several questions that are randomised separately"
        raise ArgumentError(
            "attribute", rule, type(self).__name__, "Leave out the argument attribute"
        )

    # The audit: every report of a small mechanism with its exact probability.

    @abstractmethod
    def probabilities(self) -> np.ndarray:
        """The exact probability of every report under every value.

        Returns:
            (m, K) object array of Fractions, Pr(report y | value x), in the order of
            :meth:`outputs`.
        """

    def outputs(self) -> Mapping[str, np.ndarray]:
        """Every possible report once, as the schema's columns with m rows."""
        return self.schema.all_reports()

    @property
    def n_reports(self) -> int:
        """m, the number of different reports."""
        return self.schema.n_reports

    @property
    def is_enumerable(self) -> bool:
        """Whether there are at most 2^16 pairs of a report and a value.

        All probabilities can then be listed. Some mechanisms have a lower limit.
        """
        return self.n_reports * self.domain.size <= ENUMERABLE

    def protected(self) -> np.ndarray:
        """Which reports of :meth:`outputs` the guarantee bounds, (m,) booleans [P2 def 2].

        The guarantee bounds all reports, unless some values are not protected.
        """
        return np.ones(self.n_reports, dtype=bool)

    def distances(self, index: np.ndarray | None = None) -> np.ndarray | None:
        """The distances of values, in units of ``distance_unit``.

        Args:
            index: (k,) the indices of the values; None for all K.

        Returns:
            (k, k) distances; None where ``epsilon`` bounds any two values.
        """
        if self.distance_unit is None:
            return None
        points = np.zeros((0, 1)) if self.domain.points is None else self.domain.points
        chosen = points if index is None else points[index]
        return euclidean_distances(chosen) / self.distance_unit

    def epsilon_of_law(self) -> float:
        """The epsilon that an audit states. It is computed from the law, not from the request.

        Returns:
            Nats; with metric privacy, between values that are ``distance_unit`` apart. With
            approximate privacy, the epsilon at which delta is measured.
        """
        if self.guarantee.delta is not None:
            return self.guarantee.epsilon
        return self.law.worst_epsilon() if self.distance_unit is None else self.epsilon


class CountedAsAnother(Mechanism):
    """A mechanism that sends the reports of another one, ``_counted_as``. Abstract."""

    _counted_as: Mechanism

    def report_channel(self, rows: np.ndarray) -> LikelihoodOperator:
        return self._counted_as.report_channel(rows)

    def channel_of_reports(
        self, columns: Mapping[str, np.ndarray]
    ) -> tuple[LikelihoodOperator, np.ndarray]:
        return self._counted_as.channel_of_reports(columns)

    def outputs(self) -> Mapping[str, np.ndarray]:
        return self._counted_as.outputs()

    def probabilities(self) -> np.ndarray:
        return self._counted_as.probabilities()

    @property
    def n_reports(self) -> int:
        return self._counted_as.n_reports


def require_mechanism(mechanism: Any) -> None:
    """Refuse anything but a mechanism."""
    if not isinstance(mechanism, Mechanism):
        remedy = "For example RandomizedResponse(domain, 1.0)"
        raise ArgumentTypeError("mechanism", "must be a mechanism", kind(mechanism), remedy)


def _finite(value: float) -> float | str:
    """The value, or "inf": JSON has no infinity."""
    return "inf" if math.isinf(value) else value


def _alternatives(words: Sequence[str]) -> str:
    """Words to choose from: "red or black"; of many, the first and the last."""
    if len(words) > _LISTED:
        return f"one of {', '.join(words[:3])}, ..., {words[-1]}"
    return series(words, "or")


def refuse_column(column: ColumnNames) -> None:
    """Refuse the name of a column where there is no frame."""
    if column is not None:
        rule = "can be used only when the reports are a data frame"
        raise ArgumentError("column", rule, None, "Leave out the argument column")


def marginal_problem(
    problem: tuple[LikelihoodOperator, np.ndarray, Domain],
    domains: Mapping[str, Domain],
    attributes: Sequence[str],
) -> tuple[LikelihoodOperator, np.ndarray, Domain]:
    """The estimation problem of some attributes, from the problem (m, K) of all attributes."""
    from warner.domains import Product
    from warner.reports.product_schema import attribute_names

    channel, counts, _ = problem
    names = list(domains)
    chosen = attribute_names(attributes, names)
    shape = [domain.size for domain in domains.values()]
    marginal = channel.marginal(counts, shape, [names.index(name) for name in chosen])
    if marginal is None:
        together = ", ".join(names)
        rule = f"must be all of {together}, because one report answers all of them"
        remedy = f"Estimate all of them, then use estimate.marginal({chosen!r})"
        raise ArgumentError("attributes", rule, ", ".join(chosen), remedy)
    return *marginal, Product(**domains).select(chosen)


# -----------------------------------------------------------------------------------------------
# Whether what a mechanism from outside the package states has the form that all else relies on.


def _json_data(mechanism: Mechanism, name: str, data: Any) -> Any:
    """A part of a header, refused where it is no dict of JSON data."""
    try:
        canonical(data)
        got = None if isinstance(data, dict) else kind(data)
    except (TypeError, ValueError) as reason:
        got = f"something else ({reason})"
    if got is not None:
        rule = "must return a dict of texts, numbers and lists, as JSON has them"
        remedy = "Write array.tolist() for an array, and int(number) for a number of NumPy"
        raise ArgumentTypeError(_member(mechanism, name), rule, got, remedy)
    return data


def check_law(mechanism: Mechanism) -> None:
    """Refuse a schema or law of a wrong type, and a table whose shape or sums are wrong."""
    if "domain" not in vars(mechanism):
        rule, remedy = "must set the domain first", "Write super().__init__(domain, epsilon)"
        raise ArgumentTypeError(_member(mechanism, "__init__()"), rule, None, remedy)
    for name, cls, example in (
        ("schema", ReportSchema, 'IntegerColumns(("report",), (domain.size,))'),
        ("law", ReportDistribution, "ExactTable(table)"),
    ):
        given = getattr(mechanism, name, None)
        if not isinstance(given, cls):
            rule = "must be set in __init__, before check_realisable()"
            remedy = f"For example self.{name} = {example}"
            raise ArgumentTypeError(_member(mechanism, name), rule, kind(given), remedy)
    law = mechanism.law
    if not isinstance(law, ExactTable):
        return
    _require_table(mechanism, "law", law.numerators)
    if (least := law.numerators.min()) < 0:
        got = f"{float(Fraction(least) / law.total):.6g}"
        raise MismatchError(_member(mechanism, "law"), "must have no probability below 0", got)
    sums = law.numerators.sum(axis=0)
    for x in np.flatnonzero(sums != law.total)[:1]:
        total = "2**64" if law.total == ONE else str(law.total)
        rule = f"must have columns that each sum to {total}"
        remedy = "Each column has the probabilities of all reports for one value"
        got = f"{float(Fraction(sums[x]) / law.total):.9g} times as much for value number {x}"
        raise MismatchError(_member(mechanism, "law"), rule, got, remedy)


def listed_probabilities(mechanism: Mechanism) -> np.ndarray:
    """The probabilities (m, K) of all reports, refused where they are no exact table of these."""
    table = mechanism.probabilities()
    name = _member(mechanism, "probabilities()")
    remedy = "Write fractions(numerators, 2**64), from warner.privacy.report_laws"
    rule = "must be an array of NumPy with a Fraction for each report and value"
    if not isinstance(table, np.ndarray):
        raise ArgumentTypeError(name, rule, kind(table), remedy)
    _require_table(mechanism, "probabilities()", table)
    if table.dtype != object or not all(
        isinstance(each, int | Fraction) for each in table.ravel().tolist()
    ):
        raise ArgumentTypeError(name, rule, f"an array of {table.dtype}", remedy)
    return table


def _require_table(mechanism: Mechanism, name: str, table: np.ndarray) -> None:
    """Refuse a table without a row for each report and a column for each value."""
    shape = mechanism.n_reports, mechanism.domain.size
    if table.shape == shape:
        return
    rule = (
        f"must have the shape {shape}, with a row for each of the {shape[0]} reports "
        f"and a column for each of the {shape[1]} values"
    )
    remedy = "Is the table transposed?" if table.shape == shape[::-1] else None
    got = f"the shape {table.shape}"
    raise MismatchError(_member(mechanism, name), rule, got, remedy)


def checked_reports(
    mechanism: Mechanism, drawn: Any, expected: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """The columns that a sampler drew, refused where they are not shaped as the expected ones.

    NumPy would give one report to everybody, and cut off what is behind a decimal point.
    """
    name = _member(mechanism, "_sample()")
    if not isinstance(drawn, Mapping) or drawn.keys() != expected.keys():
        rule = f"must return a dict with an array for each of the columns {', '.join(expected)}"
        is_dict = isinstance(drawn, Mapping)
        got = f"the columns {', '.join(map(str, drawn))}" if is_dict else kind(drawn)
        raise ArgumentTypeError(name, rule, got)
    for column, array in expected.items():
        given = np.asarray(drawn[column])
        if given.shape != array.shape or given.dtype.kind not in "iub":
            rule = f"must return whole numbers of the shape {array.shape} as {column!r}"
            raise MismatchError(name, rule, f"{given.dtype} of the shape {given.shape}")
    return drawn


def _member(mechanism: Mechanism, name: str) -> str:
    return f"{type(mechanism).__name__}.{name}"
