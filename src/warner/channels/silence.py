"""Channels of answers with silence, whose reports are those of an answer or "no answer"."""

from __future__ import annotations

import numpy as np

from warner.channels.arrays import FloatArray, IntArray, weighted_counts
from warner.channels.base import Channel


class SilenceChannel(Channel):
    """The channel of reports of an answer, and of one more report that says "no answer".

        Pr(y | answer x) = (1 - q) A[y, x],   Pr(no answer | answer x) = q
        Pr(y | silence)  = (1 - s) D[y],      Pr(no answer | silence)  = s

    The report "no answer" is the last row, and silence is the last column.

    Args:
        inner: A (m, K).
        dropped: q, the probability of "no answer" from an answer.
        silent: s, that from silence.
        dummy: D (m,), the distribution of the other reports of silent people. Where two rows of A
            are proportional, the entries of D have the same ratio.

    >>> from warner.channels import DirectChannel
    >>> channel = SilenceChannel(DirectChannel(2, 0.25, 0.5), 0.25, 0.5, np.full(2, 0.5))
    >>> channel.matvec(np.array([0.0, 0.0, 1.0])).tolist()
    [0.25, 0.25, 0.5]
    """

    def __init__(self, inner: Channel, dropped: float, silent: float, dummy: FloatArray) -> None:
        self.inner, self.dropped, self.silent, self.dummy = inner, dropped, silent, dummy
        self.shape = (inner.shape[0] + 1, inner.shape[1] + 1)

    def matvec(self, theta: FloatArray) -> FloatArray:
        answers, silence = theta[:-1], theta[-1]
        reports = (1 - self.dropped) * self.inner.matvec(answers)
        reports += (1 - self.silent) * np.multiply.outer(self.dummy, silence)
        no_answer = self.dropped * answers.sum(axis=0) + self.silent * silence
        return np.concatenate([reports, np.asarray(no_answer)[None]])

    def rmatvec(self, r: FloatArray) -> FloatArray:
        reports, no_answer = r[:-1], r[-1]
        answers = (1 - self.dropped) * self.inner.rmatvec(reports) + self.dropped * no_answer
        silence = (1 - self.silent) * (self.dummy @ reports) + self.silent * no_answer
        return np.concatenate([answers, np.asarray(silence)[None]])

    def merge_proportional_rows(self) -> tuple[Channel, IntArray] | None:
        merged = self.inner.merge_proportional_rows()
        if merged is None:
            return None
        inner, rows = merged
        dummy = weighted_counts(rows, self.dummy, inner.shape[0])
        channel = SilenceChannel(inner, self.dropped, self.silent, dummy)
        return channel, np.append(rows, inner.shape[0])
