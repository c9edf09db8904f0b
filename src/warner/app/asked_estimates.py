"""What the options --only and --joint ask for: tallies, and the estimates made of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import click

from warner._core.errors import ArgumentError, MethodWarning
from warner.app.command_files import one_or_all
from warner.estimators import Estimator
from warner.mechanisms import from_header
from warner.reports.tally import Tally
from warner.results.estimate import Estimate
from warner.results.estimate import estimate as estimate_tally

_T = TypeVar("_T", bound=Tally)


def attributes_of(parts: Sequence[Tally]) -> list[str]:
    """The attributes that tallies of one domain are about; [] where they are of one question."""
    return list(from_header(parts[0].header).attribute_domains)


def chosen_tallies(
    tallies: Mapping[str, Sequence[_T]], only: tuple[str, ...]
) -> dict[str, Sequence[_T]]:
    """The tallies of the attributes that --only names, or that hold them; all without --only."""
    return {
        name: parts
        for name, parts in tallies.items()
        if not only or name in only or set(only) & set(attributes_of(parts))
    }


def asked_tallies(
    tallies: Mapping[str, Sequence[_T]], only: tuple[str, ...], joint: tuple[str, ...]
) -> Iterator[tuple[str, Sequence[_T], list[str] | None]]:
    """What to estimate, as the options say."""
    inside = {name: attributes_of(parts) for name, parts in tallies.items()}
    names = dict.fromkeys([*tallies, *(own for known in inside.values() for own in known)])
    unknown = [name for name in only if name not in names]
    if unknown:
        raise ArgumentError("--only", f"must be one of {', '.join(names)}", ", ".join(unknown))
    chosen = chosen_tallies(tallies, only)
    if not joint:
        for name, parts in chosen.items():
            yield name, parts, None
    for text in joint:
        attributes = [attribute.strip() for attribute in text.split(",")]
        if unknown := [name for name in attributes if name not in names]:
            rule = f"must be names among {', '.join(names)}"
            raise ArgumentError("--joint", rule, ", ".join(unknown))
        # The tallies that have all of them; where none has, the first says why.
        fits = [name for name in chosen if set(attributes) <= {name, *inside[name]}]
        if not fits and len(set(attributes)) > 1 and set(attributes) <= set(names):
            rule = "needs attributes whose reports are counted together"
            raise ArgumentError("--joint", rule, text, f"Tally them with --ways {len(attributes)}")
        for name in fits or list(chosen)[:1]:
            yield " x ".join(attributes), chosen[name], attributes


def estimates_of(
    name: str,
    parts: Sequence[Tally],
    chosen: Estimator | None,
    names: list[str] | None,
    only: tuple[str, ...],
) -> Iterator[Estimate]:
    """The estimate asked for, and of attributes that are randomised together also each alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MethodWarning)
        result = estimate_tally(one_or_all(parts), chosen, names)
    if result.advice is not None:
        click.echo(f"{name}: {result.advice}", err=True)
    if names is not None or not only or name in only:
        yield replace(result, attribute=name)
    known = [] if names is not None or parts[0].ways is not None else attributes_of(parts)
    for own in known:
        if not only or own in only:
            yield result.marginal(own)
