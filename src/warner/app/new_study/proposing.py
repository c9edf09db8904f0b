"""Mechanisms of a first study for a number of people, as ``warner plan`` proposes them."""

from __future__ import annotations

from dataclasses import replace

from warner._core.progress import steps
from warner.app.new_study.text import FirstStudy
from warner.app.toml_text import toml
from warner.design.proposal import Proposal, propose
from warner.studies.study import Study


def with_mechanisms(study: FirstStudy, people: int) -> FirstStudy:
    """The study with a mechanism for each question whose values are decided, except of places.

    Proposals for places take long, and most of them protect near places less than distant ones.
    """
    decided = [
        question for question in study.secret if question.is_decided and question.kind != "cells"
    ]
    if not decided:
        return study
    sound = Study.parse(replace(study, secret=decided, public=()).text())
    chosen = {}
    for name, domain in steps(sound.domains.items(), "planning"):
        found = propose(domain, people, float(study.epsilon))
        if not found.best.mechanism.guarantee.is_metric:  # an epsilon of all values is stated
            chosen[name] = _lines(found)
    return replace(study, mechanisms=chosen)


def _lines(proposal: Proposal) -> tuple[str, str]:
    """The lines that state the mechanism, and what to expect of its estimate."""
    best = proposal.best
    stated = {"mechanism": best.name.split()[0], **best.options}
    lines = "\n".join(f"{key} = {toml(value)}" for key, value in stated.items())
    width = best.expected.share
    if width is None:
        return lines, f"proposed for {proposal.n:,} people"
    people, share = f"{proposal.n:,} people", f"a share of {proposal.share:.0%}"
    return lines, f"with {people} {share} has an interval {width:.2f} wide"
