"""P3, figure 10: the mean of a key's values by PCKV-UE and by EM, without this package.

python papers/checks/p3_key_values.py, by hand; some seconds. It printed:

    epsilon 0.25, EM over UE by key (over the middle, steps): 0.03: 0.20 (1.02, 2), 0.06:
        0.90 (0.96, 31), 0.12: 0.31 (0.99, 2), 0.24: 1.52 (0.43, 1078)
    epsilon 0.5, EM over UE by key (over the middle, steps): 0.03: 0.19 (1.00, 2), 0.06:
        1.09 (1.00, 82), 0.12: 1.02 (0.48, 645), 0.24: 0.78 (0.06, 1122)
    epsilon 1, EM over UE by key (over the middle, steps): 0.03: 0.47 (0.99, 15), 0.06: 1.14
        (0.39, 710), 0.12: 1.17 (0.06, 850), 0.24: 0.40 (0.01, 680)
    epsilon 2, EM over UE by key (over the middle, steps): 0.03: 1.11 (0.56, 258), 0.06:
        0.46 (0.04, 468), 0.12: 0.45 (0.01, 357), 0.24: 0.50 (0.00, 271)
"""

import numpy as np

rng = np.random.default_rng(1)
N, BINS, RUNS = 43_386, 64, 20
SHARES = (0.03, 0.06, 0.12, 0.24)
X = (2 * np.arange(BINS) + 1) / BINS - 1


def by_signs(values: np.ndarray, epsilon: float) -> float:
    """PCKV-UE: a key's bit and a sign, with PCKV's best split of the budget."""
    e, n = np.exp(epsilon), values.size
    a, b, p = 0.5, 2 / (e + 3), e / (e + 1)
    kept = rng.random(n) < a
    plus = rng.binomial(1, np.where(rng.random(n) < (1 + values) / 2, p, 1 - p))[kept]
    fake = rng.binomial(N - n, b)
    ups = rng.binomial(fake, 0.5)
    seen = kept.sum() + fake
    share = max((seen / N - b) / (a - b), 1 / N)
    return float(
        np.clip(
            (2 * plus.sum() - kept.sum() + 2 * ups - fake) / (N * a * (2 * p - 1) * share), -1, 1
        )
    )


def by_mixture(values: np.ndarray, epsilon: float) -> tuple[float, int]:
    """PCKV with PM, epsilon_2 = epsilon and epsilon_1 = epsilon / 2, and EM with P3's stop."""
    n, s = values.size, np.exp(epsilon / 2)
    a, b, c = 0.5, 1 / (np.exp(epsilon / 2) + 1), (s + 1) / (s - 1)
    edge = np.linspace(-c, c, BINS + 1)
    low = (c + 1) / 2 * X - (c - 1) / 2
    inside = np.minimum.outer(edge[1:], low + c - 1) - np.maximum.outer(edge[:-1], low)
    high = (s * s - s) / (2 * s + 2)
    law = high * np.clip(inside, 0, None) * (1 - 1 / s**2) + high / s**2 * 2 * c / BINS
    law /= law.sum(axis=0)
    true = np.bincount(np.searchsorted(X + 1 / BINS, values), minlength=BINS)[:BINS]
    counts = sum(rng.multinomial(rng.binomial(k, a), law[:, x]) for x, k in enumerate(true) if k)
    counts = counts + rng.multinomial(rng.binomial(N - n, b), np.full(BINS, 1 / BINS))
    share = np.clip((counts.sum() / N - b) / (a - b), 1 / N, 1)
    real = share * a / (share * a + (1 - share) * b)
    law = real * law + (1 - real) / BINS
    theta, old, steps = np.full(BINS, 1 / BINS), -np.inf, 0
    while True:
        theta = theta * (law.T @ (counts / (law @ theta))) / counts.sum()
        level, steps = counts @ np.log(law @ theta), steps + 1
        if level - old < 1e-3 * np.exp(epsilon):
            return float(theta @ X), steps
        old = level


if __name__ == "__main__":
    for epsilon in (0.25, 0.5, 1.0, 2.0):
        parts = []
        for share, (up, down) in zip(SHARES, ((8, 4), (2, 6), (8, 4), (2, 6)), strict=True):
            errors, steps = np.zeros(2), 0.0
            for _ in range(RUNS):
                values = 2 * rng.beta(up, down, int(share * N)) - 1
                mixed, taken = by_mixture(values, epsilon)
                found = np.array([by_signs(values, epsilon), mixed])
                errors, steps = errors + (found - values.mean()) ** 2 / RUNS, steps + taken / RUNS
            middle = values.mean() ** 2
            parts.append(
                f"{share:g}: {errors[1] / errors[0]:.2f} ({errors[1] / middle:.2f}, {steps:.0f})"
            )
        print(
            f"epsilon {epsilon:g}, EM over UE by key (over the middle, steps): " + ", ".join(parts)
        )
