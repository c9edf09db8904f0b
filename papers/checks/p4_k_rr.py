"""P4, figure 12: EM and INV-P under k-RR, without this package.

python papers/checks/p4_k_rr.py, by hand; some seconds. Places on a line stand for the plane, so
that the earth mover's distance is a sum. It printed:

    216 empty cells: EM, maximum over inversions; EMD of maximum over INV-P:
       1.18 1.01 1.00; 1.10 1.02 1.01; 1.12 1.04 0.98; 1.16 1.10 1.01; 1.09 1.07 1.09; 1.03
        1.03 1.01
    80 empty cells: EM, maximum over inversions; EMD of maximum over INV-P:
       0.86 1.14 0.98; 0.93 1.00 1.00; 0.98 1.01 1.04; 1.02 1.01 1.02; 1.01 1.01 1.01; 1.00
        1.00 1.01
    8 empty cells: EM, maximum over inversions; EMD of maximum over INV-P:
       0.97 1.01 1.00; 0.88 1.01 1.04; 0.92 1.01 1.09; 0.98 1.00 1.00; 1.00 1.00 0.97; 1.00
        1.00 1.00
"""

import numpy as np

rng = np.random.default_rng(1)
K, N, RUNS = 384, 123_273, 10


def projected(v: np.ndarray) -> np.ndarray:
    """INV-P: the nearest distribution."""
    u = np.sort(v)[::-1]
    levels = (np.cumsum(u) - 1) / np.arange(1, K + 1)
    return np.asarray(np.maximum(v - levels[np.nonzero(u > levels)[0][-1]], 0))


def maximum(w: np.ndarray, q: float, gap: float) -> np.ndarray:
    """The maximum of the likelihood: shares max(m w - q, 0) / gap, with m so that they sum to 1."""
    low, high = 0.0, 1e4
    for _ in range(200):
        m = (low + high) / 2
        low, high = (m, high) if np.maximum(m * w - q, 0).sum() < gap else (low, m)
    return np.asarray(np.maximum(high * w - q, 0) / gap)


def stopped(w: np.ndarray, q: float, gap: float) -> np.ndarray:
    """EM from the uniform distribution until a step gains less than 0.1 nats."""
    theta, old = np.full(K, 1 / K), -np.inf
    while True:
        ratio = w / (q + gap * theta)
        theta = theta * (q * ratio.sum() + gap * ratio)
        level = N * (w[w > 0] @ np.log((q + gap * theta)[w > 0]))
        if level - old < 0.1:
            return np.asarray(theta)
        old = level


if __name__ == "__main__":
    for empty in (216, 80, 8):
        shares = rng.lognormal(0, 1.5, K)
        shares[rng.choice(K, empty, replace=False)] = 0
        shares /= shares.sum()
        parts = []
        for epsilon in (1, 2, 4, 6, 8, 10):
            e = np.exp(epsilon)
            q, gap, errors = 1 / (e + K - 1), (e - 1) / (e + K - 1), []
            for _ in range(RUNS):
                w = rng.multinomial(N, q + gap * shares) / N
                raw = (w - q) / gap
                clipped = np.maximum(raw, 0) / np.maximum(raw, 0).sum()
                found = (projected(raw), clipped, maximum(w, q, gap), stopped(w, q, gap))
                far = [p - shares for p in found]
                errors.append(
                    [[np.abs(d).sum() for d in far], [np.abs(np.cumsum(d)).sum() for d in far]]
                )
            (p, n, m, s), moved = np.mean(errors, axis=0)
            parts.append(f"{s / min(p, n):.2f} {m / min(p, n):.2f} {moved[2] / moved[0]:.2f}")
        print(f"{empty} empty cells: EM, maximum over inversions; EMD of maximum over INV-P:")
        print("   " + "; ".join(parts))
