"""P3, figures 4 to 6, 8, 9 and table II: mixture reduction (MR) against EM, without this package.

python papers/checks/p3_merging.py, by hand; about a minute. The last digits depend on the
machine. It printed:

    GRR, epsilon 0.5, MR over EM: MAE 0.98, top tenth 0.97, unbiased over MR there 1.05,
        mean counts 0.97, steps 1.08, seconds 1.18
    GRR, epsilon 1, MR over EM: MAE 1.03, top tenth 1.00, unbiased over MR there 0.88, mean
        counts 1.00, steps 1.15, seconds 1.23
    GRR, epsilon 2, MR over EM: MAE 1.03, top tenth 0.97, unbiased over MR there 0.94, mean
        counts 0.96, steps 1.24, seconds 1.74
    OLH, epsilon 0.5, MR over EM: MAE 0.98, top tenth 0.98, unbiased over MR there 0.85,
        mean counts 0.98, steps 1.05, seconds 1.16
    OLH, epsilon 1, MR over EM: MAE 0.97, top tenth 0.94, unbiased over MR there 0.81, mean
        counts 0.95, steps 1.09, seconds 1.43
    OLH, epsilon 2, MR over EM: MAE 0.99, top tenth 0.98, unbiased over MR there 1.11, mean
        counts 0.98, steps 1.09, seconds 1.67
    PM, 1,000 people, MR over EM: WD 1.02, Var 1.00
    PM, 40,000 people, MR over EM: WD 1.05, Var 1.07
    PM, 300,000 people, MR over EM: WD 1.02, Var 1.02
"""

from collections.abc import Callable
from time import process_time

import numpy as np

rng = np.random.default_rng(1)
Array = np.ndarray
Fit = tuple[Array, float, int]  # shares, log-likelihood, steps
Law = tuple[Array, float | None]


def em(a: Array, w: Array, n: int, theta: Array, stop: float) -> Fit:
    """EM until a step gains less than ``stop`` nats: shares, log-likelihood, steps."""
    old, steps = -np.inf, 0
    while True:
        steps += 1
        theta = theta * (a.T @ (w / (a @ theta)))
        level = n * (w[w > 0] @ np.log((a @ theta)[w > 0]))
        if level - old < stop:
            return theta, level, steps
        old = level


def reduction(a: Array, w: Array, n: int, tau: float, stop: float, window: bool) -> Fit:
    """Algorithm 1 (3 with ``window``): merge the least while that lowers BIC."""
    size = a.shape[1]
    groups = [[x] for x in range(size)]
    theta, level, steps = em(a, w, n, np.full(size, 1 / size), stop)
    width = size / 2
    while len(groups) > size / 4 and width >= 2:
        if window:  # adjacent components, of the least weight together
            k = int(np.ceil(width))
            sums = np.convolve(theta, np.ones(k), "valid") if k < theta.size else np.ones(1)
            chosen, width = np.arange(k) + sums.argmin(), width / 2
            if sums.min() >= tau:
                continue
        else:  # at most half of the components that noise covers
            chosen = np.argsort(theta)[: max(2, int((theta < tau).sum() / 2))]
            if (theta < tau).sum() < 2:
                break
        rest = np.setdiff1d(np.arange(theta.size), chosen)
        merged = [*(groups[i] for i in rest), [x for i in chosen for x in groups[i]]]
        b = np.stack([a[:, g].mean(axis=1) for g in merged], axis=1)
        start = np.append(theta[rest], theta[chosen].sum())
        new, higher, more = em(b, w, n, start, stop)
        steps += more
        if len(merged) * np.log(n) - 2 * higher > len(groups) * np.log(n) - 2 * level:
            break
        groups, theta, level = merged, new, higher
    shares = np.zeros(size)
    for g, mass in zip(groups, theta, strict=True):
        shares[g] = mass / len(g)
    return shares, level, steps


def reports(a: Array, counts: Array) -> Array:
    """The frequencies of the reports of people with these counts."""
    found = [rng.multinomial(c, a[:, x]) for x, c in enumerate(counts) if c]
    return np.asarray(np.sum(found, axis=0) / counts.sum())


def direct(size: int, epsilon: float) -> Law:
    """GRR, and the deviation of its unbiased shares times the root of n."""
    e = np.exp(epsilon)
    a = (np.ones((size, size)) + np.eye(size) * (e - 1)) / (e + size - 1)
    return a, np.sqrt(size - 2 + e) / (e - 1)


def hashed(size: int, epsilon: float, pool: int = 60) -> Law:
    """OLH with a pool of hash functions; a row is a function and a bucket."""
    e = np.exp(epsilon)
    g = int(np.ceil(e + 1))
    same = np.arange(g)[None, :, None] == rng.integers(0, g, (pool, 1, size))
    return (np.where(same, e, 1) / (e + g - 1) / pool).reshape(-1, size), 2 * np.sqrt(e) / (e - 1)


def piecewise(size: int, epsilon: float) -> Law:
    """PM: numbers and reports in ``size`` bins."""
    s = np.exp(epsilon / 2)
    c = (s + 1) / (s - 1)
    x, edge = (2 * np.arange(size) + 1) / size - 1, np.linspace(-c, c, size + 1)
    low = (c + 1) / 2 * x - (c - 1) / 2
    inside = np.clip(
        np.minimum.outer(edge[1:], low + c - 1) - np.maximum.outer(edge[:-1], low), 0, None
    )
    high = (s * s - s) / (2 * s + 2)
    a = high * inside + high / s**2 * (2 * c / size - inside)
    return a / a.sum(axis=0), None


def compare(
    law: Callable[[int, float], Law],
    counts: Array,
    epsilon: float,
    stop: float,
    runs: int,
    window: bool = False,
) -> tuple[Array, float]:
    """MR over EM: means over runs of errors, steps and seconds."""
    a, sd = law(counts.size, epsilon)
    n, truth = counts.sum(), counts / counts.sum()
    top, x = np.argsort(-truth)[: -(-truth.size // 10)], np.linspace(-1, 1, truth.size)
    rows, mean = [], np.zeros((2, truth.size))
    for _ in range(runs):
        w, row = reports(a, counts), []
        for m in (0, 1):
            began = process_time()
            theta = np.full(truth.size, 1 / truth.size)
            if m:
                # Where no unbiased share has a deviation, P3 takes the Cramer-Rao bound of one.
                deviation = (
                    sd or np.sqrt(1 / ((a**2) / np.maximum(a @ truth, 1e-12)[:, None]).sum(0)).max()
                )
                fit = reduction(a, w, n, 2 * deviation / np.sqrt(n), stop, window)
            else:
                fit = em(a, w, n, theta, stop)
            p = fit[0]
            mean[m] += p / runs
            row.append(
                [
                    np.abs(p - truth).mean(),
                    np.abs(p - truth)[top].mean(),
                    fit[2],
                    process_time() - began,
                    np.abs(np.cumsum(p - truth)).sum(),
                    abs(p @ x**2 - (p @ x) ** 2 - truth @ x**2 + (truth @ x) ** 2),
                ]
            )
        if sd is not None:
            unbiased = np.linalg.lstsq(a, w, rcond=None)[0]
            row.append(
                [np.abs(unbiased - truth).mean(), np.abs(unbiased - truth)[top].mean(), 0, 0, 0, 0]
            )
        rows.append(row)
    each = np.array(rows).mean(axis=0)
    far = np.abs(mean - truth).sum(axis=1)
    return each, float(far[1] / far[0])


def show(name: str, parts: list[tuple[str, float]]) -> None:
    print(f"{name}: " + ", ".join(f"{label} {value:.2f}" for label, value in parts))


if __name__ == "__main__":
    zipf = np.round(40_000 / np.arange(1, 61) ** 1.2 / (1 / np.arange(1, 61) ** 1.2).sum()).astype(
        int
    )
    for name, law in (("GRR", direct), ("OLH", hashed)):
        for epsilon in (0.5, 1.0, 2.0):
            stop = (1e-3 if law is direct else 1e-2) * np.exp(epsilon)
            each, far = compare(law, zipf, epsilon, stop, 6)
            unbiased = each[2, 1] / each[1, 1]
            show(
                f"{name}, epsilon {epsilon:g}, MR over EM",
                [
                    ("MAE", each[1, 0] / each[0, 0]),
                    ("top tenth", each[1, 1] / each[0, 1]),
                    ("unbiased over MR there", unbiased),
                    ("mean counts", far),
                    ("steps", each[1, 2] / each[0, 2]),
                    ("seconds", each[1, 3] / each[0, 3]),
                ],
            )
    x = np.linspace(-1, 1, 256)
    bell = (
        0.6 * np.exp(-(((x - 0.7) / 0.2) ** 2) / 2) / 0.2
        + 0.4 * np.exp(-(((x - 0.2) / 0.1) ** 2) / 2) / 0.1
    )
    for n in (1_000, 40_000, 300_000):
        counts = np.round(n * bell / bell.sum()).astype(int)
        each, _ = compare(piecewise, counts, 1.0, 1e-3 * np.e, 6, window=True)
        show(
            f"PM, {n:,} people, MR over EM",
            [("WD", each[1, 4] / each[0, 4]), ("Var", each[1, 5] / each[0, 5])],
        )
