"""All attacks by name."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from tests.attack._frame import Attack, Case

_FORGED = 3 * 2**30  # bytes of address space: libraries and threads take the first of them


def _in(name: str) -> Case:
    """A function of a module, which is imported when it first runs: no attack needs them all."""
    module, _, function = name.partition(".")

    def case(rng: np.random.Generator) -> str | None:
        found: str | None = getattr(import_module(f"tests.attack.{module}"), function)(rng)
        return found

    return case


ATTACKS: dict[str, Attack] = {
    "laws": Attack(
        _in("laws.case"),
        "exact epsilon of random instances, enumerated, against what is declared and audited",
        2,
    ),
    "boundaries": Attack(
        _in("samplers.boundary"), "samplers with random words chosen at their boundaries"
    ),
    "blackbox": Attack(
        _in("samplers.blackbox"), "real reports against the exact law, alpha 1e-9", 2
    ),
    "answers": Attack(
        _in("canaries.in_memory"),
        "hostile answers in every container: named errors that do not show them",
    ),
    "files": Attack(
        _in("canaries.in_files"),
        "hostile answers in CSV, Parquet and TOML, through the command line",
    ),
    "reports": Attack(
        _in("foreign.report_files"), "forged and damaged report files", 2, 20.0, _FORGED
    ),
    "tallies": Attack(_in("foreign.tallies"), "forged and damaged tallies", 1, 20.0, _FORGED),
    "wire": Attack(_in("foreign.wire"), "forged and damaged wire bytes", 1, 20.0, _FORGED),
    "studies": Attack(_in("foreign.studies"), "forged and damaged study files", 1, 20.0, _FORGED),
    "large": Attack(
        _in("foreign.large_studies"),
        "studies of many values and reports: audited, or refused by name, within bounds",
        1,
        60.0,
        _FORGED,
    ),
    "requests": Attack(
        _in("requests.case"),
        "damaged requests to a real server: named refusals, no failure, no echo",
        2,
    ),
    "live": Attack(
        _in("live.case"),
        "live estimates of very many values: their memory and their tables",
        1,
        300.0,
    ),
    "promises": Attack(
        _in("promises.case"),
        "surveys that hide little: no explicit yes, a promise too much, a smaller epsilon",
        memory=64 * 2**30,  # node asks for address space that it never uses
    ),
    "spent": Attack(
        _in("requests.spent"), "whether an id was used: told of counted ids alone, in one form", 0.5
    ),
    "equal": Attack(
        _in("metamorphic.same_but_for_reports"),
        "raw files of equal n: equal bytes outside the reports",
    ),
    "logs": Attack(
        _in("stores.logs"), "the log of a store, replayed commit by commit: whose report is it?"
    ),
    "decay": Attack(
        _in("stores.decay"), "flipped bits of a store: refused by name, or nothing changes"
    ),
    "clocks": Attack(
        _in("stores.clocks"), "clocks that jump while a collector runs, stops and starts"
    ),
    "kills": Attack(
        _in("stores.kills"),
        "collectors killed under load: nothing answered is lost, nothing double",
    ),
    "hypotheses": Attack(
        _in("wrong_numbers.hypotheses"),
        "tests of random hypotheses: p in [0, 1], 0 where ruled out",
    ),
    "labels": Attack(
        _in("wrong_numbers.labels"), "labels that look alike: refused, and both are shown"
    ),
    "timing": Attack(
        _in("metamorphic.timing"), "the time that each value takes (reported, never a finding)", 0.5
    ),
}
