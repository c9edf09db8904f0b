"""Mixtures with tied weights: key-value reports, where a key's weight says how often another key's dummy stands in [P3 sec V-C]."""

from __future__ import annotations

import numpy as np

from warner.channel.base import Channel


class TiedChannel(Channel):
    """A[(k, y), (k', v)] = B[y, v] if k = k' else u_y, all divided by ``copies``; values and rows in C order of (key, rest).

    B is the channel of the key's own report, times the probability that it is sent, and u the law of what is sent in the
    name of another key. Sending one of d keys, columns of B sum to a and u to (1 - a) / (d - 1). Where every key reports by
    itself, "nothing" being one of y, columns of B and u sum to one each, and a person's report counts for d rows.

    Args:
        keys: d.
        inner: the channel of a kept key's value, columns summing to one.
        keep: a; B = [a * inner; 1 - a] with the last row where ``nothing``, else a * inner.
        other: u (m_y,).
        nothing: whether a key may report nothing.
    """

    def __init__(self, keys: int, inner: Channel, keep: float, other: np.ndarray, nothing: bool = False) -> None:
        self.keys, self.inner, self.keep, self.nothing = keys, inner, keep, nothing
        self.other = np.asarray(other, dtype=np.float64)
        self.copies = keys if nothing else 1
        self._own = (inner.shape[0] + nothing, inner.shape[1])
        self.shape = (keys * self._own[0], keys * self._own[1])

    def matvec(self, theta: np.ndarray) -> np.ndarray:
        trailing = theta.shape[1:]
        t = np.moveaxis(theta.reshape(self.keys, self._own[1], *trailing), 0, 1)
        mass = t.sum(axis=0)
        own = self.keep * self.inner.matvec(np.ascontiguousarray(t).reshape(self._own[1], -1)).reshape(-1, self.keys, *trailing)
        if self.nothing:
            own = np.concatenate([own, (1 - self.keep) * mass[None]])
        out = own + np.multiply.outer(self.other, mass.sum(axis=0) - mass)
        return np.ascontiguousarray(np.moveaxis(out, 1, 0)).reshape(self.shape[0], *trailing) / self.copies

    def rmatvec(self, r: np.ndarray) -> np.ndarray:
        trailing = r.shape[1:]
        t = np.moveaxis(r.reshape(self.keys, self._own[0], *trailing), 0, 1)
        dummy = np.tensordot(self.other, t, axes=1)
        sent = t[:-1] if self.nothing else t
        back = self.keep * self.inner.rmatvec(np.ascontiguousarray(sent).reshape(self.inner.shape[0], -1))
        out = back.reshape(self._own[1], self.keys, *trailing) + (dummy.sum(axis=0) - dummy)
        if self.nothing:
            out = out + (1 - self.keep) * t[-1]
        return np.ascontiguousarray(np.moveaxis(out, 1, 0)).reshape(self.shape[1], *trailing) / self.copies
