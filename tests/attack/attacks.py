"""All attacks by name."""

from __future__ import annotations

from tests.attack import canaries, foreign, laws, metamorphic, requests, samplers
from tests.attack._frame import Attack

_FORGED = 3 * 2**30  # bytes of address space: libraries and threads take the first of them

ATTACKS: dict[str, Attack] = {
    "laws": Attack(
        laws.case,
        "exact epsilon of random instances, enumerated, against what is declared and audited",
        2,
    ),
    "boundaries": Attack(
        samplers.boundary, "samplers with random words chosen at their boundaries"
    ),
    "blackbox": Attack(samplers.blackbox, "real reports against the exact law, alpha 1e-9", 2),
    "answers": Attack(
        canaries.in_memory, "hostile answers in every container: named errors that do not show them"
    ),
    "files": Attack(
        canaries.in_files, "hostile answers in CSV, Parquet and TOML, through the command line"
    ),
    "reports": Attack(foreign.report_files, "forged and damaged report files", 2, 20.0, _FORGED),
    "tallies": Attack(foreign.tallies, "forged and damaged tallies", 1, 20.0, _FORGED),
    "wire": Attack(foreign.wire, "forged and damaged wire bytes", 1, 20.0, _FORGED),
    "studies": Attack(foreign.studies, "forged and damaged study files", 1, 20.0, _FORGED),
    "large": Attack(
        foreign.large_studies,
        "studies of many values and reports: audited, or refused by name, within bounds",
        1,
        60.0,
        _FORGED,
    ),
    "requests": Attack(
        requests.case, "damaged requests to a real server: named refusals, no failure, no echo", 2
    ),
    "equal": Attack(
        metamorphic.same_but_for_reports, "raw files of equal n: equal bytes outside the reports"
    ),
    "timing": Attack(
        metamorphic.timing, "the time that each value takes (reported, never a finding)", 0.5
    ),
}
