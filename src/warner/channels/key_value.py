"""Mixtures with tied weights: key-value reports, where a key's weight says how often another key's dummy stands in [P3 sec V-C]."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from warner._core.errors import (
    IdentifiabilityError,
    message,
)
from warner.channels.base import Channel
from warner.channels.pure import DirectChannel, SupportChannel


class TiedChannel(Channel):
    """A[(k, y), (k', v)] = B[y, v] if k = k' else u_y, all divided by ``rows_per_report``; values and rows in C order of (key, rest).

    B is the channel of the key's own report, times the probability that it is sent, and u the law of what is sent in the
    name of another key. Sending one of d keys, columns of B sum to a and u to (1 - a) / (d - 1). Where every key reports by
    itself, "nothing" being one of y, columns of B and u sum to one each, and a person's report counts for d rows.

    Args:
        keys: d.
        inner: the channel of a kept key's value, columns summing to one.
        keep: a; B = [1 - a; a * inner] with the first row where ``nothing``, else a * inner.
        other: u (m_y,).
        nothing: whether a key may report nothing.
    """

    def __init__(
        self, keys: int, inner: Channel, keep: float, other: np.ndarray, nothing: bool = False
    ) -> None:
        self.keys, self.inner, self.keep, self.nothing = keys, inner, keep, nothing
        self.other = np.asarray(other, dtype=np.float64)
        self.rows_per_report = keys if nothing else 1
        self._own = (inner.shape[0] + nothing, inner.shape[1])
        self.shape = (keys * self._own[0], keys * self._own[1])
        self.dummy = self.other[1:] if nothing else self.other
        self.sent = float(
            self.dummy.sum()
        )  # Pr(a key is reported | another key), as keep is where it is the person's

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        trailing = theta.shape[1:]
        t = np.moveaxis(theta.reshape(self.keys, self._own[1], *trailing), 0, 1)
        mass = t.sum(axis=0)
        own = self.keep * self.inner.matvec(
            np.ascontiguousarray(t).reshape(self._own[1], -1)
        ).reshape(-1, self.keys, *trailing)
        if self.nothing:
            own = np.concatenate([(1 - self.keep) * mass[None], own])
        out = own + np.multiply.outer(self.other, mass.sum(axis=0) - mass)
        return (
            np.ascontiguousarray(np.moveaxis(out, 1, 0)).reshape(self.shape[0], *trailing)
            / self.rows_per_report
        )

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        trailing = r.shape[1:]
        t = np.moveaxis(r.reshape(self.keys, self._own[0], *trailing), 0, 1)
        dummy = np.tensordot(self.other, t, axes=1)
        sent = t[1:] if self.nothing else t
        back = self.keep * self.inner.rmatvec(
            np.ascontiguousarray(sent).reshape(self.inner.shape[0], -1)
        )
        out = back.reshape(self._own[1], self.keys, *trailing) + (dummy.sum(axis=0) - dummy)
        if self.nothing:
            out = out + (1 - self.keep) * t[0]
        return (
            np.ascontiguousarray(np.moveaxis(out, 1, 0)).reshape(self.shape[1], *trailing)
            / self.rows_per_report
        )

    def each(self, w: np.ndarray) -> np.ndarray:
        """What is seen of every key, (d, 1 + m_y) frequencies per report: nothing of it, then its values. Of weights, or of A theta."""
        table = w.reshape(self.keys, -1) * self.rows_per_report
        return (
            table
            if self.nothing
            else np.concatenate([w.sum() - table.sum(axis=1, keepdims=True), table], axis=1)
        )

    def of_keys(self, w: np.ndarray) -> tuple[Channel, np.ndarray]:
        """What the reports say of keys alone: a channel over the d keys and its weights."""
        shares = self.each(w)[:, 1:].sum(axis=1)
        if self.nothing:
            return SupportChannel(self.keys, self.sent, self.keep - self.sent), np.concatenate(
                [shares, 1 - shares]
            ) / self.keys
        return DirectChannel(self.keys, self.sent, self.keep - self.sent), shares

    def of_values(self, frequency: float) -> tuple[Channel, float]:
        """What reports of a key of this frequency say of its values: a channel over them, and how likely such a report is.

        Pr(y | v, reported) = rho inner[y, v] + (1 - rho) dummy_y / b,   rho = a f / S,   S = a f + b (1 - f)
        """
        share = self.keep * frequency + self.sent * (1 - frequency)
        return DilutedChannel(
            self.inner, self.keep * frequency / share, self.dummy / self.sent
        ), share

    @cached_property
    def per_report(self) -> np.ndarray:
        """l (V, 1 + m_y): what a report adds to the unbiased estimates of a key's values by what it says of that key.

        theta_k = L (c_k - u (1 - f_k)) / a with L inner's inverse, c_k the frequencies of k's values, u the dummies, and f_k = (S_k - b) / (a - b).
        """
        try:
            inverse = self.inner._inverse
        except IdentifiabilityError:
            problem = message(
                "channel",
                "of a key's values has rank below their number: different distributions make the same reports",
                None,
                "Use KeyMeans() for frequencies and means, or value='piecewise' for distributions",
            )
        else:
            gap = self.keep - self.sent
            blind = (inverse @ self.dummy)[:, None]
            # 1 - f of one report: (a - [the key is sent]) / (a - b)
            parts = [-blind * self.keep / gap, inverse - blind * (self.keep - 1) / gap]
            return np.concatenate(parts, axis=1) / self.keep
        raise IdentifiabilityError(problem)

    def invert(self, w: np.ndarray) -> np.ndarray:
        if w.ndim > 1:
            return np.stack([self.invert(column) for column in w.T], axis=1)
        return (self.each(w) @ self.per_report.T).ravel()

    def influence(self, c: np.ndarray) -> np.ndarray:
        if c.ndim > 1:
            return np.stack([self.influence(column) for column in c.T], axis=1)
        table = c.reshape(self.keys, -1) @ self.per_report
        if not self.nothing:  # a report of one key says that nothing is sent of all others
            table = table[:, 1:] + (table[:, 0].sum() - table[:, :1])
        return np.asarray(table.ravel() * self.rows_per_report)

    def inverse_moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if theta.ndim > 1:
            parts = [self.inverse_moments(column) for column in theta.T]
            return np.stack([total for total, _ in parts], axis=1), np.stack(
                [own for _, own in parts], axis=1
            )
        squares = self.per_report**2
        total = self.each(self.matvec(theta)) @ squares.T
        own = (1 - self.keep) * squares[:, 0] + self.keep * np.einsum(
            "vy,yv->v", squares[:, 1:], self.inner._dense
        )
        return total.ravel(), np.tile(own, self.keys)

    def gram(self, v: np.ndarray) -> np.ndarray:
        """Of two values of key k, B'V_k B; of values of k and k', what k's rows have of one and dummies of the other, and likewise k'.

        Rows of other keys have dummies of both.
        """
        table = v.reshape(self.keys, -1)
        own = self.keep * self.inner._dense
        if self.nothing:
            own = np.concatenate([np.full((1, self._own[1]), 1 - self.keep), own])
        mixed = ((table * self.other) @ own).ravel()
        dummies = table @ self.other**2
        level = np.repeat(dummies.sum() / 2 - dummies, self._own[1]) + mixed
        out = level[:, None] + level
        for k, row in enumerate(table):
            block = slice(k * self._own[1], (k + 1) * self._own[1])
            out[block, block] = own.T @ (row[:, None] * own) + dummies.sum() - dummies[k]
        return np.asarray(out / self.rows_per_report**2)

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        """Keys and values as reported, dummies and all."""
        table = self.each(w)[:, 1:]
        flat = np.concatenate([self.inner.naive_estimate(row) for row in table])
        return flat / flat.sum() if flat.sum() > 0 else np.full(flat.size, 1 / flat.size)

    def simulate(self, theta: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        if not self.nothing:
            return super().simulate(theta, n, rng)
        table = np.maximum(theta, 0.0).reshape(self.keys, -1)
        mass = table.sum(axis=1)
        people = rng.multinomial(n, mass / mass.sum())
        laws = [
            self.inner.matvec(row / m) if m > 0 else self.dummy
            for row, m in zip(table, mass, strict=True)
        ]
        return self._drawn(
            people,
            [
                rng.multinomial(rng.binomial(p, self.keep), _sums(law))
                for p, law in zip(people, laws, strict=True)
            ],
            rng,
        )

    def simulate_from_values(self, people: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if not self.nothing:
            return super().simulate_from_values(people, rng)
        kept = rng.binomial(people, self.keep).reshape(self.keys, -1)
        sent = []
        for row in kept:
            some = np.flatnonzero(row)
            columns = (
                self.inner.columns(some).T if some.size else np.zeros((0, self.inner.shape[0]))
            )
            sent.append(
                sum(
                    (rng.multinomial(row[x], _sums(c)) for x, c in zip(some, columns, strict=True)),
                    np.zeros(self.inner.shape[0], np.int64),
                )
            )
        return self._drawn(people.reshape(self.keys, -1).sum(axis=1), sent, rng)

    def _drawn(
        self, people: np.ndarray, sent: list[np.ndarray], rng: np.random.Generator
    ) -> np.ndarray:
        """Weights where each key's ``people`` (d,) sent so many of its values; to everybody else's reports the key is another."""
        n = int(people.sum())
        counts = np.stack([rng.multinomial(n - p, _sums(self.other)) for p in people])
        for row, own, p in zip(counts, sent, people, strict=True):
            row[1:] += own
            row[0] += p - own.sum()
        return counts.ravel() / (n * self.rows_per_report)


class DilutedChannel(Channel):
    """A = rho inner + (1 - rho) u 1': reports of which a share 1 - rho is drawn from u, whatever the value.

    Args:
        inner: (m, K).
        rho: share of real reports.
        dummy: u (m,), summing to one.
    """

    def __init__(self, inner: Channel, rho: float, dummy: np.ndarray) -> None:
        self.inner, self.rho, self.dummy, self.shape = inner, rho, dummy, inner.shape

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        return self.rho * self.inner.matvec(theta) + (1 - self.rho) * np.multiply.outer(
            self.dummy, theta.sum(axis=0)
        )

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        return self.rho * self.inner.rmatvec(r) + (1 - self.rho) * np.tensordot(
            self.dummy, r, axes=1
        )

    def report_scores(self) -> np.ndarray:
        return self.inner.report_scores()

    def naive_estimate(self, w: np.ndarray) -> np.ndarray:
        return self.inner.naive_estimate(w)


def _sums(law: np.ndarray) -> np.ndarray:
    """Probabilities whose sum rounding left beside one, which multinomial draws refuse."""
    law = np.maximum(law, 0.0)
    return np.asarray(law / law.sum())
