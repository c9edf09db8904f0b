"""Claim: the error of RR-Ind-Joint does not depend on how attributes depend on each other; that of
RR-Independent is their dependence [P5 sec 4].

P5's experiments with its errors undone (METHODS 9.1-9.3), each in three modes: ``exact``, reports
exactly as often as expected, whose inversion errs by rounding of floats alone (the 1e-33 of P5's
table 1); ``rounded``, expected counts rounded to whole reports, which err as 1 / n (its figs 6-8);
``sampled``, reports of n people, which err as 1 / sqrt(n) and are what a survey has. Synthetic
tables have marginals c / a, a = 2 .. d + 1, and a given Cramer's V. Table 1 needs the folder that
WARNER_DATA names.
"""

from __future__ import annotations

import numpy as np

from _data import rows
from _joint import coded, family, kept, product
from _measure import SEED, claim
from warner import Integers, Inversion, RandomizedResponse
from warner.channels import KroneckerChannel
from warner.design.theory import inversion_squares
from warner.estimators import Independent
from warner.estimators.likelihood_data import LikelihoodData
from warner.metrics import cramers_v

RUNS = 200
MODES = ("exact", "rounded", "sampled")
PRINTED = {  # [P5 table 1]: Cramer's V, MSE of RR-Ind, MSE of RR-Ind-Joint
    ("sex", "income"): (0.2159802, 0.00188, 2.93e-33),
    ("sex", "race"): (0.1181155, 0.00011, 3.61e-33),
    ("education", "occupation"): (0.1873341, 2.14e-5, 5.48e-33),
}


def weights(
    mode: str, channel: KroneckerChannel, theta: np.ndarray, n: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Weights of the reports, several draws where there is chance in them."""
    expected = channel.matvec(theta)
    if mode == "exact":
        return [expected]
    return (
        [np.round(n * expected) / n]
        if mode == "rounded"
        else [channel.simulate(theta, n, rng) for _ in range(RUNS)]
    )


def errors(
    mode: str,
    channel: KroneckerChannel,
    sizes: list[int],
    theta: np.ndarray,
    n: int,
    rng: np.random.Generator,
) -> dict[str, tuple[float, float]]:
    """MAE and MSE over cells of RR-Independent and RR-Ind-Joint."""
    domain = product(["a", "b"], sizes)
    drawn = [LikelihoodData(channel, w, n, domain) for w in weights(mode, channel, theta, n, rng)]
    found = {}
    for name, method in (
        ("RR-Independent", Independent(method=Inversion())),
        ("RR-Ind-Joint", Inversion()),
    ):
        off = np.array([method.fit(each).shares - theta for each in drawn])
        found[name] = float(np.abs(off).mean()), float((off**2).mean())
    return found


def pair(d: int, epsilon: float) -> KroneckerChannel:
    """Randomised response of two attributes of d values, each at epsilon."""
    return KroneckerChannel([RandomizedResponse(Integers(1, d), epsilon).channel()] * 2)


def curve(
    title: str, points: list[tuple[str, int, float, int, float]], rng: np.random.Generator
) -> dict[tuple[str, str], np.ndarray]:
    """MAE in every mode at (label, d, epsilon, n, V)."""
    print(title)
    order = [(name, mode) for name in ("RR-Independent", "RR-Ind-Joint") for mode in MODES]
    print("  " + " " * 10 + "".join(f"{name} {mode}".rjust(26) for name, mode in order))
    table: dict[tuple[str, str], list[float]] = {}
    for label, d, epsilon, n, v in points:
        for mode in MODES:
            for name, (mae, _) in errors(
                mode, pair(d, epsilon), [d, d], family(d, v), n, rng
            ).items():
                table.setdefault((name, mode), []).append(mae)
        print(f"  {label:<10}" + "".join(f"{table[key][-1]:>26.3g}" for key in order), flush=True)
    return {key: np.array(value) for key, value in table.items()}


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Of y over x, both as logarithms."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def main() -> None:
    """Table 1, figures 5 to 8, and the claims."""
    rng = np.random.default_rng(SEED)
    found = rows("adult.csv.gz")
    if found is not None:
        print(
            "P5 table 1: Adult, keep 0.5 else uniform; mean squared error over cells (RR-Independent, RR-Ind-Joint)"
        )
        for names, (v, alone, joint) in PRINTED.items():
            columns = coded(found, names)
            sizes = [columns[name][0] for name in names]
            theta = np.bincount(
                np.ravel_multi_index([columns[name][1] for name in names], sizes),
                minlength=int(np.prod(sizes)),
            ) / len(found)
            print(
                f"  {' x '.join(names)}, {sizes}: V {cramers_v(theta.reshape(sizes)):.7f} (printed {v}); printed {alone}, {joint}"
            )
            for mode in MODES:
                each = errors(mode, kept(sizes), sizes, theta, len(found), rng)
                print(
                    f"    {mode:<8} "
                    + "  ".join(
                        f"{each[name][1]:.3g}" for name in ("RR-Independent", "RR-Ind-Joint")
                    ),
                    flush=True,
                )
            if names == ("sex", "income"):
                base = errors("exact", kept(sizes), sizes, theta, len(found), rng)
                claim(
                    "P5 table 1: exact expectations are inverted to rounding",
                    base["RR-Ind-Joint"][1] < 1e-30,
                    f"{base['RR-Ind-Joint'][1]:.1e}",
                )

    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    by = curve(
        "fig 5: MAE over V, d = 10, eps = 1, n = 1000",
        [(f"V {v}", 10, 1.0, 1000, v) for v in levels],
        rng,
    )
    joint, alone = by["RR-Ind-Joint", "sampled"], by["RR-Independent", "exact"]
    spread = joint.max() / joint.min()
    claim(
        "fig 5: the error of RR-Ind-Joint does not depend on V",
        spread < 1.05,
        f"largest over smallest {spread:.3f}",
    )
    linear = np.abs(alone - alone[-1] * np.array(levels)).max() / alone[-1]
    claim(
        "fig 5: the error of RR-Independent is proportional to V",
        linear < 1e-9,
        f"off by {linear:.1e} of its largest",
    )

    budgets = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
    by = curve(
        "fig 6: MAE over eps, d = 10, n = 1000, V = 0.5",
        [(f"eps {e}", 10, e, 1000, 0.5) for e in budgets],
        rng,
    )
    # Of rounded expected counts not at 0.1: there all round to the same number.
    falls = bool(
        (np.diff(by["RR-Ind-Joint", "sampled"]) < 0).all()
        and (np.diff(by["RR-Ind-Joint", "rounded"])[1:] < 0).all()
    )
    fall = by["RR-Ind-Joint", "sampled"][0] / by["RR-Ind-Joint", "sampled"][-1]
    claim(
        "fig 6: the error of RR-Ind-Joint falls with eps", falls, f"{fall:.0f} times from 0.1 to 2"
    )

    people = np.array([100, 1000, 10_000, 100_000, 1_000_000])
    by = curve(
        "fig 7: MAE over n, d = 10, eps = 1, V = 0.5",
        [(f"n {n}", 10, 1.0, int(n), 0.5) for n in people],
        rng,
    )
    rounded, sampled = (
        slope(people[1:], by["RR-Ind-Joint", mode][1:]) for mode in ("rounded", "sampled")
    )
    claim(
        "fig 7: MAE of rounded expected counts falls as 1 / n",
        abs(rounded + 1) < 0.15,
        f"slope {rounded:.2f}",
    )
    claim(
        "fig 7: MAE of sampled reports falls as 1 / sqrt(n)",
        abs(sampled + 0.5) < 0.02,
        f"slope {sampled:.3f}",
    )

    sizes = (2, 4, 6, 10, 14, 20)
    by = curve(
        "fig 8: MAE over d, eps = 1, n = 10,000, V = 0.5",
        [(f"d {d}", d, 1.0, 10_000, 0.5) for d in sizes],
        rng,
    )
    joint, alone = by["RR-Ind-Joint", "sampled"], by["RR-Independent", "exact"]
    claim(
        "fig 8: the error of RR-Independent falls with d",
        bool((np.diff(alone) < 0).all()),
        f"{alone[0] / alone[-1]:.1f} times from 2 to 20",
    )
    claim(
        "fig 8: that of RR-Ind-Joint, sampled, rises",
        bool(joint[-1] > joint[0]),
        f"{joint[-1] / joint[0]:.2f} times from 2 to 20",
    )

    ratios = []
    for d, epsilon, v in ((2, 0.5, 0.5), (10, 1.0, 0.0), (10, 1.0, 1.0), (16, 2.0, 0.5)):
        theta = family(d, v)
        channel = pair(d, epsilon)
        drawn = np.stack([channel.simulate(theta, 5000, rng) for _ in range(4000)], axis=1)
        squares = float(((channel.invert(drawn) - theta[:, None]) ** 2).sum(axis=0).mean())
        ratios.append(
            squares / inversion_squares([d, d], [epsilon, epsilon], 5000, float(theta @ theta))
        )
    off = float(np.abs(np.array(ratios) - 1).max())
    claim(
        "mean squared errors of sampled reports are the closed form",
        off < 0.05,
        ", ".join(f"{r:.3f}" for r in ratios),
    )


if __name__ == "__main__":
    main()
