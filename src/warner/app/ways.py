"""People who answered a question in several ways: by phone and on paper, or with several cards."""

from __future__ import annotations

from collections.abc import Sequence

from warner._core.errors import WarnerError
from warner.app.requested import were_asked
from warner.app.what_files_hold import one_or_all
from warner.mechanisms import from_header
from warner.reports.tally import Tally
from warner.results.estimate import estimate
from warner.results.from_tally import label

LEVEL_OF_TESTS = 0.05
WAYS = {False: "by phone or computer", True: "on paper"}
"""{whether people randomise their answers on paper: how they answer}."""
_MOST_NAMED = 5  # groups in a sentence


def by_way(
    parts: Sequence[Tally], attributes: Sequence[str] | None = None
) -> dict[str, list[Tally]]:
    """The tallies of each way to answer, of people who were asked these questions."""
    names = None if attributes is None else list(attributes)
    cards: dict[str, list[Tally]] = {}
    devices: list[Tally] = []
    for tally in parts:
        if were_asked([tally], names):
            mechanism = from_header(tally.header)
            if mechanism.is_on_paper:
                cards.setdefault(getattr(mechanism, "text", ""), []).append(tally)
            else:
                devices.append(tally)
    if devices and cards:
        return {WAYS[False]: devices, WAYS[True]: [tally for of in cards.values() for tally in of]}
    return {WAYS[False]: devices} if devices else {f"with {card}": of for card, of in cards.items()}


def p_of_two(ways: dict[str, list[Tally]], attributes: Sequence[str] | None, target: str) -> float:
    """The p-value of the test that the people of two ways have the same shares."""
    from warner.results.differences import compare_groups

    first, second = (estimate(one_or_all(of), None, attributes) for of in ways.values())
    test = compare_groups(first, second, of="shares", target=target).test
    assert test is not None  # of one question
    return test.p_value


def about_ways(
    parts: Sequence[Tally],
    attributes: Sequence[str] | None,
    groups: Sequence[Tally],
    target: str,
    verb: str = "people answered",
) -> list[str]:
    """How many answered in each way, and whether their shares differ; [] of one way."""
    ways = by_way(parts, attributes)
    if len(ways) < 2:
        return []
    counts = [sum(tally.n for tally in of) for of in ways.values()]
    if counts[0] == 1:
        verb = verb.replace("people", "person").replace("reports", "report")
    *others, last = (f"{n:,} {way}" for n, way in zip(counts, ways, strict=True))
    listed = ", ".join(others).replace(" ", f" {verb} ", 1)
    sentences = [f"{listed}, and {last}.", *in_one_way(groups)]
    if len(ways) > 2:
        return sentences
    try:
        p_value = p_of_two(ways, attributes, target)
    except WarnerError:
        return [*sentences, "The shares of these two groups cannot be compared."]
    from warner.results.wald_tests import shown_p

    p = shown_p(p_value)
    if p_value < LEVEL_OF_TESTS:
        differ = (
            f"The shares of these two groups differ by more than chance explains ({p}), so the "
            "shares of all people together depend on how many answered in each way."
        )
    else:
        differ = f"The shares of these two groups differ by no more than chance explains ({p})."
    return [*sentences, differ]


def in_one_way(parts: Sequence[Tally]) -> list[str]:
    """Groups in which nobody answered in a way in which others did: sentences."""
    people = {
        way: {
            label(key): None
            for tally in tallies
            for key, size in zip(tally, tally.sizes.tolist(), strict=True)
            if size
        }
        for way, tallies in by_way(parts).items()
    }
    everywhere = dict.fromkeys(name for names in people.values() for name in names)
    sentences = []
    for way, names in people.items():
        if missing := [name for name in everywhere if name not in names]:
            more = f" or {len(missing) - _MOST_NAMED:,} other groups"
            listed = " or ".join(missing[:_MOST_NAMED]) + more * (len(missing) > _MOST_NAMED)
            sentences.append(f"Nobody in {listed} answered {way}.")
    return sentences
