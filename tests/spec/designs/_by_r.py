"""What the R packages RRreg 0.7.6 and list 9.2.6 print: counts and numbers alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from warner import designs
from warner.designs import LatentClasses


class TwoGroups(NamedTuple):
    """A survey, what RRreg's ``RRuni`` prints for it, and the log-likelihood of others."""

    design: LatentClasses
    yes: tuple[int, int]
    no: tuple[int, int]
    estimates: dict[str, float]
    errors: dict[str, float]

    @property
    def counts(self) -> list[dict[str, int]]:
        return [{"yes": y, "no": n} for y, n in zip(self.yes, self.no, strict=True)]


INSIDE: dict[str, TwoGroups] = {
    "uqt_unknown": TwoGroups(
        designs.UnrelatedUnknown("3/4", "3/10"),
        (391, 506),
        (609, 494),
        {"yes": 0.327111111111111, "unrelated": 0.582666666666667},
        {"yes": 0.0255732782501911, "unrelated": 0.0283015209343652},
    ),
    "uqt_unknown_unequal": TwoGroups(
        designs.UnrelatedUnknown(0.8, 0.2),
        (197, 298),
        (1003, 502),
        {"yes": 0.0947222222222222, "unrelated": 0.441944444444444},
        {"yes": 0.0153609083896584, "unrelated": 0.0230823836609605},
    ),
    "uqt_unknown_seed2": TwoGroups(
        designs.UnrelatedUnknown("70 %", "20 %"),
        (279, 221),
        (721, 779),
        {"yes": 0.3138, "unrelated": 0.1978},
        {"yes": 0.0240316832910598, "unrelated": 0.0192350478831498},
    ),
    "cdm": TwoGroups(
        designs.Cheating("1/4", "3/4"),
        (433, 747),
        (567, 253),
        {"yes": 0.276, "no": 0.628, "cheats": 0.096},
        {"yes": 0.0244999540356252, "no": 0.0417102834771924, "cheats": 0.0220702196317706},
    ),
    "cdm_seed1": TwoGroups(
        designs.Cheating("1/4", "3/4"),
        (410, 752),
        (590, 248),
        {"yes": 0.239, "no": 0.684, "cheats": 0.077},
        {"yes": 0.0243205775114509, "no": 0.0414161719537103, "cheats": 0.0219219426961109},
    ),
    "cdm_sym": TwoGroups(
        designs.SymmetricCheating("2/5", "1/10", "3/20", "7/20"),
        (491, 275),
        (509, 725),
        {"yes": 0.2908, "no": 0.5732, "cheats": 0.136},
        {"yes": 0.0490294528548631, "cheats": 0.0848286502303314},
    ),
    "sld": TwoGroups(
        designs.StochasticLieDetector("1/5", "4/5"),
        (632, 468),
        (168, 732),
        {"yes": 1 / 3, "honest": 0.77},
        {"yes": 0.0335844660396548, "honest": 0.041121477627378},
    ),
    "minarets": TwoGroups(
        designs.StochasticLieDetector("2/12", "10/12"),
        (373, 398),
        (191, 294),
        {"yes": 0.870695486410036, "honest": 0.635806392758562},
        {"yes": 0.0411184073743882, "honest": 0.0173436811042209},
    ),
}

# Where the moment estimate leaves the parameter space RRreg prints NaN, or runs off to pi = 1. The
# estimates and log-likelihoods are those of a constrained search of R's optim.
AT_THE_EDGE: dict[str, tuple[TwoGroups, float]] = {
    "uqt_unknown_boundary": (
        TwoGroups(
            designs.UnrelatedUnknown("3/4", "3/10"),
            (20, 7),
            (480, 493),
            {"yes": 0.051461399475864, "unrelated": 0.0},
            {},
        ),
        -120.851979293823,
    ),
    "sld_t_above_1": (
        TwoGroups(
            designs.StochasticLieDetector("1/5", "4/5"),
            (516, 242),
            (84, 358),
            {"yes": 0.259060064197342, "honest": 1.0},
            {},
        ),
        -647.763043781571,
    ),
    "cdm_gamma_below_0": (
        TwoGroups(
            designs.Cheating("1/4", "3/4"),
            (278, 507),
            (322, 93),
            {"yes": 0.299827648942054, "no": 0.700172351057946, "cheats": 0.0},
            {},
        ),
        -674.06608269749,
    ),
}

Counts = list[dict[int, int]]


def _counts(control: list[int], treated: list[int]) -> Counts:
    return [dict(enumerate(control)), dict(enumerate(treated))]


# Items, counts of the controls and of the treated: simulated sets A to D and two published surveys.
LISTS: dict[str, tuple[int, Counts]] = {
    "A": (3, _counts([179, 398, 321, 87], [101, 323, 355, 196, 40])),
    "B": (4, _counts([75, 214, 256, 162, 43], [52, 169, 242, 184, 84, 19])),
    "C": (3, _counts([147, 312, 236, 71], [241, 201, 169, 102, 21])),
    "D": (3, _counts([123, 391, 505, 210], [68, 302, 446, 404, 51])),
    "race": (3, _counts([8, 132, 222, 227], [19, 123, 229, 219, 34])),
    "affirm": (3, _counts([8, 132, 222, 227], [9, 78, 172, 184, 139])),
}
# ictreg with method "lm" and no covariates: the estimate, and its HC3 error.
DIFFERENCES = {
    "A": (0.433867620214548, 0.0420118161038534),
    "B": (0.336, 0.0577873968389532),
    "race": (0.0677974402507519, 0.0496191205601594),
}
# ict.test: p, and its table, which list rounds to four decimals: with the item first, then without.
EFFECTS: dict[str, tuple[float, list[float], list[float]]] = {
    "A": (
        1.0,
        [0.0822, 0.1681, 0.1442, 0.0394, 0.0995, 0.236, 0.1817, 0.0489],
        [0.0155, 0.022, 0.016, 0.0061, 0.0094, 0.0198, 0.0205, 0.0109],
    ),
    "C": (
        4.26537638287286e-09,
        [-0.1364, -0.003, 0.0749, 0.0286, 0.3283, 0.4103, 0.2332, 0.0641],
        [0.0224, 0.0253, 0.0173, 0.0062, 0.0173, 0.023, 0.0224, 0.0122],
    ),
    "affirm": (
        0.78811283680088,
        [-0.0019, 0.0882, 0.1696, 0.2388, 0.0155, 0.1359, 0.2073, 0.1466],
        [0.007, 0.0229, 0.0287, 0.0177, 0.0051, 0.0155, 0.0271, 0.0267],
    ),
}


def word_counts(design: Any, numbers: list[list[int]]) -> list[dict[str, int]]:
    """Counts by the words of each group."""
    return [
        dict(zip(group.words, each, strict=True))
        for group, each in zip(design.groups, numbers, strict=True)
    ]
