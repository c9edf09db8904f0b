"""Claim: tests of surveys in clusters reject 4 to 6.5 times in a hundred at the level 5 %.

Clusters of 40 people, whose log-odds of "yes" differ by a normal effect of standard deviation 0,
0.4 or 0.8, are randomised by k-ary randomised response at epsilon 2. All hypotheses are true:

    covariate    a normal number of each cluster has no effect: the coefficient of ``regress``
    difference   half of the clusters are treated, without effect: the row of ``compare_groups``
    within       women and men of the same clusters have the same share: the same
    groups       four groups of clusters have the same shares: the test of ``compare_groups``
    one by one   the covariate, for people who are taken as drawn one by one

Surveys are computed a thousand at a time by formulas of their own, because all that matters of a
cluster is how many women and men reported "yes". Of each cell the first surveys go through warner
too, from single reports, and their p-values must be equal. Each line of
bench/results/cluster_sizes.jsonl is a cell of 20,000 surveys (standard error of a size .15 %), and
300 of "one by one". Cells that are there are not done again.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np

from _measure import RESULTS, SEED, claim, resume
from warner import Categorical, RandomizedResponse, compare_groups, regress
from warner.errors import SmallGroupWarning

CLUSTERS, EFFECTS = (20, 50, 200), (0.0, 0.4, 0.8)
RUNS, TOGETHER, CHECKED, ONE_BY_ONE = 20_000, 1000, 5, 300
PEOPLE, LOG_ODDS, EPSILON, LEVEL, GROUPS = 40, -0.5, 2.0, 0.05, 4
COIN = RandomizedResponse(Categorical(["no", "yes"]), EPSILON)
KEEP = float(np.exp(EPSILON) / (1 + np.exp(EPSILON)))
GAP = 2 * KEEP - 1
NAMES = ("covariate", "difference", "within", "groups")

Counts = tuple[np.ndarray, np.ndarray]  # (R, G) reports of "yes" and people in each cluster


def by_warner(
    clusters: int, effect: float, rng: np.random.Generator
) -> tuple[dict[str, float], tuple[Counts, Counts, np.ndarray]]:
    """The p-values of one survey from its reports, and the counts of men and women."""
    cluster = np.repeat(np.arange(clusters), PEOPLE)
    odds = LOG_ODDS + rng.normal(0, effect, clusters)[cluster]
    answers = (rng.random(cluster.size) < 1 / (1 + np.exp(-odds))).astype(int)
    reports = COIN.randomize(np.array(["no", "yes"])[answers].tolist(), rng)
    number, sex = rng.normal(size=clusters), rng.integers(0, 2, cluster.size)
    by = {"cluster": cluster, "arm": cluster % 2, "group": cluster % GROUPS, "sex": sex}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallGroupWarning)
        tally = COIN.tally(reports, by)
    covariates = {"covariate": number[cluster], "cluster": cluster}
    arms, groups, within = (
        compare_groups(tally, cluster="cluster", by=name) for name in ("arm", "group", "sex")
    )
    p = {
        "covariate": float(regress(reports, covariates, cluster="cluster").p_values[0, 1]),
        "difference": arms.rows()[1]["p"],
        "within": within.rows()[1]["p"],
        "groups": groups.test.p_value,
    }
    (yes,) = reports.columns.values()
    men, women = (
        (
            np.bincount(cluster[sex == s], np.asarray(yes)[sex == s], clusters)[None],
            np.bincount(cluster[sex == s], minlength=clusters)[None],
        )
        for s in (0, 1)
    )
    return p, (men, women, number[None])


def drawn(
    clusters: int, effect: float, rng: np.random.Generator
) -> tuple[Counts, Counts, np.ndarray]:
    """The counts of a thousand surveys, and the number of each cluster."""
    odds = LOG_ODDS + rng.normal(0, effect, (TOGETHER, clusters))
    chance = 1 - KEEP + GAP / (1 + np.exp(-odds))
    women = rng.binomial(PEOPLE, 0.5, odds.shape)
    men = PEOPLE - women
    both = (rng.binomial(men, chance), men), (rng.binomial(women, chance), women)
    return (*both, rng.normal(size=odds.shape))


def by_formulas(men: Counts, women: Counts, number: np.ndarray) -> dict[str, np.ndarray]:
    """The p-values (R,) of surveys from the counts of their clusters."""
    yes, people = men[0] + women[0], men[1] + women[1]
    place = np.arange(yes.shape[1])
    arms = [(yes * (place % 2 == arm), people * (place % 2 == arm)) for arm in (0, 1)]
    each = [(yes * (place % GROUPS == g), people * (place % GROUPS == g)) for g in range(GROUPS)]
    return {
        "covariate": of_covariate(yes, number),
        "difference": of_difference(*arms),
        "within": of_difference(men, women),
        "groups": of_groups(each),
    }


def of_covariate(yes: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Logistic regression through the channel by Newton's method, with errors of the clusters."""
    from scipy.stats import t

    runs, clusters = yes.shape
    z = np.stack([np.ones_like(number), number], axis=-1)
    beta = np.zeros((runs, 2))
    for _ in range(25):
        p = 1 / (1 + np.exp(-(z @ beta[..., None])[..., 0]))
        spread, chance = p * (1 - p), 1 - KEEP + GAP * p
        slope = yes / chance - (PEOPLE - yes) / (1 - chance)
        curve = yes / chance**2 + (PEOPLE - yes) / (1 - chance) ** 2
        observed = curve * (GAP * spread) ** 2 - slope * GAP * spread * (1 - 2 * p)
        scores = (slope * GAP * spread)[..., None] * z
        information = np.einsum("rg,rgi,rgj->rij", observed, z, z)
        step = np.linalg.solve(information, scores.sum(axis=1)[..., None])[..., 0]
        beta += np.clip(step, -1, 1)
    along = (scores - scores.mean(axis=1, keepdims=True)) @ np.linalg.inv(information)
    error = np.sqrt(clusters / (clusters - 1) * (along[..., 1] ** 2).sum(axis=1))
    weight = PEOPLE * spread
    inverse = np.linalg.inv(np.einsum("rg,rgi,rgj->rij", weight, z, z))
    direction = inverse[:, 1]
    v = (weight * np.einsum("rgi,ri->rg", z, direction))[..., None] * z
    degrees, _ = moments(np.einsum("rgi,ri->rg", v, direction), v, inverse)
    return np.asarray(2 * t.sf(np.abs(beta[:, 1]) / error, degrees))


def of_difference(a: Counts, b: Counts) -> np.ndarray:
    """The t-test of two groups, which may share clusters."""
    from scipy.stats import t

    (share_a, root_a), (share_b, root_b) = estimated(a), estimated(b)
    error = np.sqrt(((root_a - root_b) ** 2).sum(axis=1))
    return np.asarray(2 * t.sf(np.abs(share_a - share_b) / error, of_pair(a, b)))


def of_groups(each: list[Counts]) -> np.ndarray:
    """The test of Rao and Scott that groups have the same share."""
    from scipy.stats import f

    sizes = np.stack([people.sum(axis=1) for _, people in each], axis=1).astype(float)
    shares, roots = zip(*(estimated(one) for one in each), strict=True)
    expected = np.stack([of_one(one) for one in each], axis=1)
    turned = np.stack(roots, axis=1) / np.sqrt(expected)[..., None]
    parts, apart = sizes / sizes.sum(axis=1, keepdims=True), np.stack(shares, axis=1)
    statistic = (sizes * (apart - (parts * apart).sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    contrasts = np.sqrt(sizes)[..., None] * (np.eye(len(each)) - parts[:, None, :])
    turned = contrasts @ turned
    noise = turned @ np.swapaxes(turned, 1, 2)
    mean, freedom = np.trace(noise, axis1=1, axis2=2), (noise**2).sum(axis=(1, 2))
    freedom = mean**2 / freedom
    pairs = [of_pair(one, other) for i, one in enumerate(each) for other in each[:i]]
    return np.asarray(f.sf(statistic / mean, freedom, freedom * np.min(pairs, axis=0)))


def estimated(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """The share (R,) of a group, and the root (R, G) of its variance."""
    yes, people = counts
    total, clusters = people.sum(axis=1), yes.shape[1]
    share = (yes.sum(axis=1) / total - (1 - KEEP)) / GAP
    sums = (yes - people * (1 - KEEP)) / GAP - people * share[:, None]
    sums = sums / total[:, None]
    centred = sums - sums.mean(axis=1, keepdims=True)
    return share, centred * np.sqrt(clusters / (clusters - 1))


def of_pair(a: Counts, b: Counts) -> np.ndarray:
    """The degrees of freedom (R,) of a difference."""
    each = np.stack([1 / people.sum(axis=1) for _, people in (a, b)], axis=-1)
    v = np.stack([a[1], -b[1]], axis=-1) * each[:, None, :]
    along = (np.abs(v) * each[:, None, :]).sum(axis=-1)
    return moments(along, v, each[:, :, None] * np.eye(2))[0]


def of_one(counts: Counts) -> np.ndarray:
    """The part (R,) of the true variance that the estimated one of a group is expected to be."""
    each = 1 / counts[1].sum(axis=1)
    v = (counts[1] * each[:, None])[..., None]
    return moments(v[..., 0] * each[:, None], v, each[:, None, None])[1]


def moments(along: np.ndarray, v: np.ndarray, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Degrees of freedom, and the expected part: ``DrawnSample.moments_of`` of R surveys."""
    clusters = along.shape[1]
    factor = clusters / (clusters - 1)
    centred = (v - v.mean(axis=1, keepdims=True)) * factor
    between = inverse @ (np.swapaxes(v, 1, 2) @ centred)
    total, squares = along.sum(axis=1), (along**2).sum(axis=1)
    first = factor * total * (1 - 1 / clusters) - np.trace(between, axis1=1, axis2=2)
    second = factor**2 * (squares * (1 - 2 / clusters) + total**2 / clusters**2)
    second -= 2 * np.einsum("rgi,rij,rgj,rg->r", centred, inverse, centred, along)
    second += np.trace(between @ between, axis1=1, axis2=2)
    return np.clip(first**2 / second, 1, clusters - 1), np.minimum(1, first / total)


def one_by_one(clusters: int, effect: float, rng: np.random.Generator) -> float:
    """The size of the test of the covariate without a design."""
    hits = 0
    for _ in range(ONE_BY_ONE):
        odds = LOG_ODDS + np.repeat(rng.normal(0, effect, clusters), PEOPLE)
        answers = (rng.random(odds.size) < 1 / (1 + np.exp(-odds))).astype(int)
        reports = COIN.randomize(np.array(["no", "yes"])[answers].tolist(), rng)
        number = np.repeat(rng.normal(size=clusters), PEOPLE)
        hits += regress(reports, {"covariate": number}).p_values[0, 1] < LEVEL
    return hits / ONE_BY_ONE


def sizes(clusters: int, effect: float) -> dict[str, dict[str, float]]:
    """The sizes of all tests in one cell."""
    rng = np.random.default_rng([SEED, clusters, round(10 * effect)])
    for _ in range(CHECKED):
        p, counts = by_warner(clusters, effect, rng)
        again = by_formulas(*counts)
        for name in NAMES:
            assert abs(p[name] - again[name][0]) < 1e-6, (name, p[name], again[name])
    several = [by_formulas(*drawn(clusters, effect, rng)) for _ in range(RUNS // TOGETHER)]
    shares = {n: float(np.mean([(p[n] < LEVEL).mean() for p in several])) for n in NAMES}
    shares["one by one"] = one_by_one(clusters, effect, rng)
    return {"size": {name: round(share, 5) for name, share in shares.items()}}


def main() -> None:
    """The sizes of all cells, and the claim."""
    done = resume(RESULTS / "cluster_sizes.jsonl", product(CLUSTERS, EFFECTS), sizes)
    print(f"size of tests of level {LEVEL}, of {RUNS:,} surveys each")
    print("clusters  effect  " + "  ".join(done[0]["size"]))
    for row in done:
        shown = "  ".join(f"{p:{len(name)}.3f}" for name, p in row["size"].items())
        clusters, effect = row["cell"]
        print(f"{clusters:8d}  {effect:6.1f}  {shown}")
    found = [row["size"][name] for row in done for name in NAMES]
    claim(
        "tests of clusters reject true hypotheses 4 to 6.5 times in a hundred",
        min(found) >= 0.04 and max(found) <= 0.065,
        f"{min(found):.3f} to {max(found):.3f}",
    )


if __name__ == "__main__":
    main()
