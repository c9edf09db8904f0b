"""Reports about keys with values: mixtures whose weights are tied to the keys [P3 sec V-C]."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from warner._core.errors import IdentifiabilityError, message
from warner.channels.base import (
    BlockMoments,
    Channel,
    FloatArray,
    IntArray,
    LikelihoodOperator,
    one_by_one,
    weighted_counts,
)
from warner.channels.support import DirectChannel, SupportChannel


class TiedChannel(Channel):
    """The channel of reports about keys with values.

        A[(k, y), (k', v)] = B[y, v] if k = k' else u_y, all divided by ``rows_per_report``

    Row (k, y) is report y about key k, and the value is the pair (k', v). Values and rows are in C
    order of (key, rest). B is the channel of a report about the person's key, times the probability
    that it is sent. u is the distribution of a report that is sent in the name of another key.

    Where one of d keys is sent, the columns of B sum to a, and u sums to (1 - a) / (d - 1). Where
    every key reports by itself, "nothing" is one of the reports y. The columns of B and u then sum
    to one each, and a person's reports count in d rows: a composite likelihood.

    Args:
        keys: d.
        inner: the channel of the values of the person's key, columns sum to one.
        keep: a, Pr(the person's key is reported). B is ``a * inner``, below a row 1 - a where a key
            may report nothing.
        other: u (m_y,).
        nothing: whether a key may report nothing.

    Attributes:
        dummy: the part of u that reports values.
        sent: b, Pr(a key is reported | the person has another key); the sum of ``dummy``.
    """

    has_fast_gram = True
    has_closed_moments = True
    is_keyed = True

    def __init__(
        self,
        keys: int,
        inner: Channel,
        keep: float,
        other: FloatArray,
        nothing: bool = False,
    ) -> None:
        self.keys, self.inner, self.keep, self.nothing = keys, inner, keep, nothing
        self.other: FloatArray = np.asarray(other, dtype=np.float64)
        self.rows_per_report = keys if nothing else 1
        # Two reports for a value determine its mean alone.
        self.tells_means_only = inner.shape[0] == 2
        self._key_shape = (inner.shape[0] + nothing, inner.shape[1])
        self.shape = (keys * self._key_shape[0], keys * self._key_shape[1])
        self.dummy: FloatArray = self.other[1:] if nothing else self.other
        self.sent = float(self.dummy.sum())

    def unrounded(self) -> TiedChannel:
        inner = self.inner.unrounded()
        return TiedChannel(self.keys, inner, self.keep, self.other, self.nothing)

    def matvec(self, theta: FloatArray) -> FloatArray:
        trailing = theta.shape[1:]
        t = np.moveaxis(theta.reshape(self.keys, self._key_shape[1], *trailing), 0, 1)
        mass = t.sum(axis=0)
        flat = np.ascontiguousarray(t).reshape(self._key_shape[1], -1)
        true_key = self.keep * self.inner.matvec(flat).reshape(-1, self.keys, *trailing)
        if self.nothing:
            true_key = np.concatenate([(1 - self.keep) * mass[None], true_key])
        out = true_key + np.multiply.outer(self.other, mass.sum(axis=0) - mass)
        return (
            np.ascontiguousarray(np.moveaxis(out, 1, 0)).reshape(self.shape[0], *trailing)
            / self.rows_per_report
        )

    def rmatvec(self, r: FloatArray) -> FloatArray:
        trailing = r.shape[1:]
        t = np.moveaxis(r.reshape(self.keys, self._key_shape[0], *trailing), 0, 1)
        dummy = np.tensordot(self.other, t, axes=1)
        sent = t[1:] if self.nothing else t
        back = self.keep * self.inner.rmatvec(
            np.ascontiguousarray(sent).reshape(self.inner.shape[0], -1)
        )
        out = back.reshape(self._key_shape[1], self.keys, *trailing) + (dummy.sum(axis=0) - dummy)
        if self.nothing:
            out = out + (1 - self.keep) * t[0]
        return (
            np.ascontiguousarray(np.moveaxis(out, 1, 0)).reshape(self.shape[1], *trailing)
            / self.rows_per_report
        )

    def by_key(self, w: FloatArray) -> FloatArray:
        """The frequencies of the reports about each key.

        Args:
            w: (m,) report frequencies, or A theta.

        Returns:
            (d, 1 + m_y) per person: no report about the key, then the reports of its values.
        """
        table = w.reshape(self.keys, -1) * self.rows_per_report
        if self.nothing:
            return table
        return np.concatenate([w.sum() - table.sum(axis=1, keepdims=True), table], axis=1)

    def of_keys(self, w: FloatArray) -> tuple[Channel, FloatArray]:
        """The reports about keys alone: a channel of the keys, and frequencies of its rows."""
        shares = self.by_key(w)[:, 1:].sum(axis=1)
        if self.nothing:
            channel = SupportChannel(self.keys, self.sent, self.keep - self.sent)
            return channel, np.concatenate([shares, 1 - shares]) / self.keys
        return DirectChannel(self.keys, self.sent, self.keep - self.sent), shares

    def of_values(self, frequency: float) -> tuple[Channel, float]:
        """The reports of the values of a key with frequency f.

        Pr(y | v, reported) = rho inner[y, v] + (1 - rho) dummy_y / b, where rho = a f / S and
        S = a f + b (1 - f).

        Returns:
            A channel of the key's values, and S, the probability of such a report.
        """
        share = self.keep * frequency + self.sent * (1 - frequency)
        rho = self.keep * frequency / share
        return DilutedChannel(self.inner, rho, self.dummy / self.sent), share

    @cached_property
    def per_report(self) -> FloatArray:
        """(V, 1 + m_y): the term that a report about a key adds to the estimates of its values.

        theta_k = L (c_k - u (1 - f_k)) / a, with L the inverse of ``inner``, c_k the frequencies of
        the reported values of key k, u the dummies, and f_k = (S_k - b) / (a - b).
        """
        try:
            inverse = self.inner._inverse
        except IdentifiabilityError:
            problem = message(
                "mechanism",
                "cannot tell all values of a key apart: different shares of the values give the "
                "same reports",
                None,
                "Use KeyMeans() for frequencies and means. For the shares of the values, collect "
                "with value='piecewise'",
            )
        else:
            gap = self.keep - self.sent
            dummies = (inverse @ self.dummy)[:, None]
            # The term of one report in 1 - f is (a - [the key is sent]) / (a - b).
            parts = [-dummies * self.keep / gap, inverse - dummies * (self.keep - 1) / gap]
            return np.concatenate(parts, axis=1) / self.keep
        raise IdentifiabilityError(problem)

    @one_by_one
    def invert(self, w: FloatArray) -> FloatArray:
        return (self.by_key(w) @ self.per_report.T).ravel()

    @one_by_one
    def influence(self, c: FloatArray) -> FloatArray:
        table = c.reshape(self.keys, -1) @ self.per_report
        if not self.nothing:
            # A report about one key tells that nothing is sent about all others.
            table = table[:, 1:] + (table[:, 0].sum() - table[:, :1])
        return np.asarray(table.ravel() * self.rows_per_report)

    def inverse_moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        if theta.ndim > 1:
            parts = [self.inverse_moments(column) for column in theta.T]
            return np.stack([total for total, _ in parts], axis=1), np.stack(
                [at_value for _, at_value in parts], axis=1
            )
        squares = self.per_report**2
        total = self.by_key(self.matvec(theta)) @ squares.T
        at_value: FloatArray = (1 - self.keep) * squares[:, 0] + self.keep * np.einsum(
            "vy,yv->v", squares[:, 1:], self.inner._dense
        )
        return total.ravel(), np.tile(at_value, self.keys)

    def report_weight(self, values_per_report: int = 1) -> float:
        # The weight in the count of a key, not of a key with a value.
        return values_per_report / (self.keep - self.sent)

    def block_moments(
        self, w: FloatArray, block: int, shape: tuple[int, int], columns: FloatArray
    ) -> BlockMoments:
        # From the reports about the key alone.
        size = shape[1]
        probabilities = np.stack(
            [self.by_key(column)[block] for column in self.matvec(columns).T], axis=1
        )
        observed, g = self.by_key(w)[block], self.per_report
        h = ((np.arange(observed.size) > 0) - self.sent) / (self.keep - self.sent)
        return BlockMoments(
            g @ observed,
            np.full(size, h @ observed),
            g**2 @ probabilities,
            (g * h) @ probabilities,
            np.tile(h**2 @ probabilities, (size, 1)),
        )

    def gram(self, v: FloatArray) -> FloatArray:
        # B'V_k B within the block of key k; rows of other keys have dummies for both values.
        #
        # For values of two keys, the rows of each key have B for its value and dummies for the
        # other.
        table = v.reshape(self.keys, -1)
        true_key = self.keep * self.inner._dense
        if self.nothing:
            true_key = np.concatenate([np.full((1, self._key_shape[1]), 1 - self.keep), true_key])
        mixed = ((table * self.other) @ true_key).ravel()
        dummies = table @ self.other**2
        level = np.repeat(dummies.sum() / 2 - dummies, self._key_shape[1]) + mixed
        out = level[:, None] + level
        for k, row in enumerate(table):
            block = slice(k * self._key_shape[1], (k + 1) * self._key_shape[1])
            out[block, block] = true_key.T @ (row[:, None] * true_key) + dummies.sum() - dummies[k]
        return np.asarray(out / self.rows_per_report**2)

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        # Keys and values as they are reported, dummies included.
        table = self.by_key(w)[:, 1:]
        flat = np.concatenate([self.inner.naive_estimate(row) for row in table])
        return flat / flat.sum() if flat.sum() > 0 else np.full(flat.size, 1 / flat.size)

    def simulate(self, theta: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        if not self.nothing:
            return super().simulate(theta, n, rng)
        table = np.maximum(theta, 0.0).reshape(self.keys, -1)
        mass = table.sum(axis=1)
        people = rng.multinomial(n, mass / mass.sum())
        value_laws = [
            self.inner.matvec(row / m) if m > 0 else self.dummy
            for row, m in zip(table, mass, strict=True)
        ]
        sent = [
            rng.multinomial(rng.binomial(p, self.keep), _probabilities(law))
            for p, law in zip(people, value_laws, strict=True)
        ]
        return self._with_dummies(people, sent, rng)

    def simulate_from_values(self, people: IntArray, rng: np.random.Generator) -> FloatArray:
        if not self.nothing:
            return super().simulate_from_values(people, rng)
        sending = rng.binomial(people, self.keep).reshape(self.keys, -1)
        sent = []
        for row in sending:
            used = np.flatnonzero(row)
            columns = (
                self.inner.columns(used).T if used.size else np.zeros((0, self.inner.shape[0]))
            )
            counts = np.zeros(self.inner.shape[0], np.int64)
            for x, column in zip(used, columns, strict=True):
                counts = counts + rng.multinomial(row[x], _probabilities(column))
            sent.append(counts)
        return self._with_dummies(people.reshape(self.keys, -1).sum(axis=1), sent, rng)

    def _with_dummies(
        self, people: IntArray, sent: list[IntArray], rng: np.random.Generator
    ) -> FloatArray:
        """Report frequencies (m,) of people (d,) with each key, and of others about that key."""
        n = int(people.sum())
        counts = np.stack([rng.multinomial(n - p, _probabilities(self.other)) for p in people])
        for row, values, p in zip(counts, sent, people, strict=True):
            row[1:] += values
            row[0] += p - values.sum()
        return np.asarray(counts.ravel() / (n * self.rows_per_report))


class DilutedChannel(Channel):
    """A channel A = rho inner + (1 - rho) u 1': 1 - rho of the reports are dummies from u (m,)."""

    def __init__(self, inner: Channel, rho: float, dummy: FloatArray) -> None:
        self.inner, self.rho, self.dummy, self.shape = inner, rho, dummy, inner.shape
        self.has_bins = inner.has_bins

    def matvec(self, theta: FloatArray) -> FloatArray:
        dummies = np.multiply.outer(self.dummy, theta.sum(axis=0))
        return np.asarray(self.rho * self.inner.matvec(theta) + (1 - self.rho) * dummies)

    def rmatvec(self, r: FloatArray) -> FloatArray:
        return self.rho * self.inner.rmatvec(r) + (1 - self.rho) * np.tensordot(
            self.dummy, r, axes=1
        )

    def unrounded(self) -> DilutedChannel:
        inner = self.inner.unrounded()
        return DilutedChannel(inner, self.rho, self.dummy)

    def report_scores(self) -> FloatArray:
        return self.inner.report_scores()

    def naive_estimate(self, w: FloatArray) -> FloatArray:
        return self.inner.naive_estimate(w)


def _probabilities(law: FloatArray) -> FloatArray:
    """Probabilities whose sum is exactly one, which multinomial draws require."""
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())


def keyed_groups(
    operator: LikelihoodOperator, w: FloatArray, n: int
) -> list[tuple[TiedChannel, FloatArray, int]] | None:
    """The channel, row frequencies and people of each group about keys with values, or None."""
    groups = [
        (channel, weights, people)
        for channel, weights, people in operator.split_groups(w, n)
        if isinstance(channel, TiedChannel)
    ]
    return groups if len(groups) == len(operator.groups()) else None


# -----------------------------------------------------------------------------------------------
# Channels of answers with nonresponse, whose reports are those of an answer or "no answer".


class NonresponseChannel(Channel):
    """The channel of reports of an answer, and of one more report that says "no answer".

        Pr(y | answer x) = (1 - q) A[y, x],   Pr(no answer | answer x) = q
        Pr(y | nonresponse)  = (1 - s) D[y],      Pr(no answer | nonresponse)  = s

    The report "no answer" is the last row, and nonresponse is the last column.

    Args:
        inner: A (m, K).
        dropped: q, the probability of "no answer" from an answer.
        silent: s, that from nonresponse.
        dummy: D (m,), the distribution of the other reports of silent people. Where two rows of A
            are proportional, the entries of D have the same ratio.

    >>> from warner.channels import DirectChannel
    >>> channel = NonresponseChannel(DirectChannel(2, 0.25, 0.5), 0.25, 0.5, np.full(2, 0.5))
    >>> channel.matvec(np.array([0.0, 0.0, 1.0])).tolist()
    [0.25, 0.25, 0.5]
    """

    def __init__(self, inner: Channel, dropped: float, silent: float, dummy: FloatArray) -> None:
        self.inner, self.dropped, self.silent, self.dummy = inner, dropped, silent, dummy
        self.shape = (inner.shape[0] + 1, inner.shape[1] + 1)
        self.has_bins = inner.has_bins

    def matvec(self, theta: FloatArray) -> FloatArray:
        answers, nonresponse = theta[:-1], theta[-1]
        reports = (1 - self.dropped) * self.inner.matvec(answers)
        reports += (1 - self.silent) * np.multiply.outer(self.dummy, nonresponse)
        no_answer = self.dropped * answers.sum(axis=0) + self.silent * nonresponse
        return np.concatenate([reports, np.asarray(no_answer)[None]])

    def rmatvec(self, r: FloatArray) -> FloatArray:
        reports, no_answer = r[:-1], r[-1]
        answers = (1 - self.dropped) * self.inner.rmatvec(reports) + self.dropped * no_answer
        nonresponse = (1 - self.silent) * (self.dummy @ reports) + self.silent * no_answer
        return np.concatenate([answers, np.asarray(nonresponse)[None]])

    def unrounded(self) -> NonresponseChannel:
        inner = self.inner.unrounded()
        return NonresponseChannel(inner, self.dropped, self.silent, self.dummy)

    def at_limits(self) -> FloatArray:
        reports = (1 - self.dropped) * self.inner.at_limits()
        return np.concatenate([reports, np.full((1, 2), self.dropped)])

    def exact_scores(self) -> FloatArray:
        # The place, which is 0 of nonresponse; whether there is an answer; whether there is none.
        scores = self.inner.exact_scores()
        if not scores.size:
            return np.empty((0, self.shape[0]))
        numbers, (q, s) = scores[0] / (1 - self.dropped), (self.dropped, self.silent)
        answered = np.append(np.full(numbers.size, s), s - 1) / (s - q)
        of_dummy = (1 - s) * float(self.dummy @ numbers)
        nonresponse = np.append(np.full(numbers.size, q), q - 1) / (q - s)
        return np.stack([np.append(numbers, 0.0) - of_dummy * nonresponse, answered, nonresponse])

    def merge_proportional_rows(self) -> tuple[Channel, IntArray] | None:
        merged = self.inner.merge_proportional_rows()
        if merged is None:
            return None
        inner, rows = merged
        dummy = weighted_counts(rows, self.dummy, inner.shape[0])
        channel = NonresponseChannel(inner, self.dropped, self.silent, dummy)
        return channel, np.append(rows, inner.shape[0])
