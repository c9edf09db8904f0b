"""Domains: labels, dates, points, tags, cells, and some of their values."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warner
from tests.refusals import refused
from tests.registry import DOMAINS
from tests.spec._labels import BAD, LEGAL
from warner import (
    Categorical,
    Grid,
    Integers,
    Interval,
    KeyValue,
    PlanarGeometric,
    Product,
    RandomizedResponse,
    Study,
    estimate,
)
from warner._core.text import unreadable
from warner.app.new_study.text import Question, with_labels
from warner.domains import (
    Domain,
    Items,
    Padded,
    Points,
    Subset,
    Tagged,
    Words,
    domain_classes,
    from_spec,
)
from warner.domains.interval import UNITS, Dates
from warner.errors import ArgumentError, ArgumentTypeError, StudyError, ValuesError, WarnerError
from warner.mechanisms import from_header
from warner.studies.schema import BY_KEY

EACH = [
    *(domain for domain, _ in DOMAINS),
    Points([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
    Tagged(Integers(0, 2), ["home", "work"]),
    Padded(Categorical(["a", "b"]), 3),
]


each = pytest.mark.parametrize("domain", EACH, ids=lambda d: d.kind)


def test_every_class_is_examined() -> None:
    assert {type(domain) for domain in EACH} == set(domain_classes())


@each
def test_coordinates_have_the_dimension_and_lie_between_the_ends(domain: Domain) -> None:
    assert len(domain.ends) == domain.dimension
    if domain.points is None:
        assert domain.dimension == 0
        return
    assert domain.points.shape == (domain.size, domain.dimension)
    low, high = np.transpose(domain.ends)
    assert (domain.points >= low).all() and (domain.points <= high).all()


@each
def test_bins_have_edges_and_points_have_none(domain: Domain) -> None:
    if domain.edges is None:
        assert not domain.is_binned and domain.bin_width == 0
        return
    assert domain.is_binned and domain.points is not None
    assert np.diff(domain.edges) == pytest.approx(domain.bin_width)
    assert (domain.edges[1:] + domain.edges[:-1]) / 2 == pytest.approx(domain.points[:, 0])


@each
def test_numeric_domains_have_positions(domain: Domain) -> None:
    if not domain.is_numeric:
        refused(TypeError, "", domain.position, [domain.labels[0]])
        return
    assert domain.is_ordered and domain.dimension == 1
    position = domain.position(domain.labels)
    assert (np.diff(position) > 0).all() and position[0] >= 0 and position[-1] <= 1


@each
def test_shape_is_that_of_the_attributes(domain: Domain) -> None:
    assert math.prod(domain.shape) == domain.size
    if domain.attributes:
        assert domain.shape == tuple(part.size for part in domain.attributes.values())
        assert domain.select(list(domain.attributes)[:1]) == next(iter(domain.attributes.values()))
        assert domain.select(list(domain.attributes)) == domain
    else:
        refused(TypeError, "", domain.select, ["a"])


@each
def test_placeholders_follow_the_answers(domain: Domain) -> None:
    answers = domain.untagged if domain.tags else domain.unpadded
    assert answers.size + len(domain.placeholders) == domain.size
    assert domain.labels[answers.size :] == list(domain.placeholders)
    assert answers.encode(answers.labels).tolist() == list(range(answers.size))
    assert (domain.pairs is None) == (domain.unpadded is domain)
    assert bool(domain.tags) == (domain.untagged is not domain)


@each
def test_labels_or_a_pattern_describe_answers_as_text(domain: Domain) -> None:
    form = domain.text
    if form is None:
        return
    if form.labels is not None:
        assert len(form.labels) == domain.size
        return
    texts = [str(value).strip("()") for value in domain.labels]
    assert all(re.match(form.pattern, text) for text in texts)
    assert not any(re.match(form.pattern, text) for text in ("", "x", "1 2", "1;2"))
    parts = [re.findall(form.parts or ".+", text)[0] for text in texts]
    found = [[form.number(p) for p in (part if form.parts else [part])] for part in parts]
    assert domain.encode(found if form.parts else [row[0] for row in found]).tolist() == list(
        range(domain.size)
    )


def test_study_files_write_domains_as_constructors_take_them() -> None:
    written = {
        "values": (["a", "b"], Categorical(["a", "b"])),
        "integers": ((0, 3), Integers(0, 3)),
        "interval": ({"low": 0, "high": 1, "bins": 4}, Interval(0, 1, 4)),
        "grid": ({"rows": 2, "columns": 3, "side": 0.5}, Grid(2, 3, 0.5)),
        "items": (["a", "b"], Items(["a", "b"])),
        "words": ({"alphabet": "a-z", "longest": 8, "stop": 4}, Words("a-z", 8, stop=4)),
    }
    assert written.keys() == BY_KEY.keys()
    for key, (entry, domain) in written.items():
        assert BY_KEY[key].from_study(entry) == domain


def test_a_tag_may_not_look_like_an_answer() -> None:
    for domain in (Categorical(["@home", "b"]), Padded(Categorical(["a", "b"]), 2)):
        tag = "home" if "@home" in domain.labels else "padding"
        refused(ValueError, "must not look like one of the values", Tagged, domain, [tag])


def test_products_hold_domains_of_every_kind() -> None:
    product = Product(**{domain.kind: domain for domain in EACH})
    assert from_spec(product.spec()) == product


def test_a_label_in_other_case_or_with_spaces_has_a_remedy_of_its_own() -> None:
    labels = Categorical(["Never", "Often"])
    for answer in ("Never ", "often", "\tNEVER"):
        with pytest.raises(ValuesError, match="only in capital letters, or in spaces") as e:
            labels.encode(["Never", answer])
        assert answer not in str(e.value) and e.value.positions == (1,)
    refused(ValuesError, "Correct the answers", labels.encode, ["CANARY"])


def test_products_beyond_all_floats_are_named() -> None:
    """Rejects messages that make a float, or decimal digits, of 10^6000 tuples."""
    huge = Product(**{f"a{i}": Integers(0, 10**6 - 1) for i in range(1000)})
    with pytest.raises(ArgumentError, match=r"too many combinations.*1\.00e\+6000"):
        huge.encode([dict.fromkeys(huge.attributes, 1)])
    refused(
        ArgumentError,
        r"1\.00e\+6000. Use the mechanism PerAttribute",
        RandomizedResponse,
        huge,
        1.0,
    )


# An answer whose hash raises an error is not shown.


def test_an_answer_whose_hash_raises_is_not_shown() -> None:
    class Odd(str):
        def __hash__(self) -> int:
            raise TypeError("CANARY-1234")

        def __eq__(self, other: object) -> bool:
            raise TypeError("CANARY-1234")

        def __str__(self) -> str:
            raise TypeError("CANARY-1234")

    domain = warner.Categorical(["a", "b"])
    assert domain.encode([Odd("a"), "b", np.str_("b")]).tolist() == [0, 1, 1]
    said = refused(ValuesError, "position 1", domain.encode, ["a", Odd("CANARY-1234")])
    assert "CANARY" not in said
    assert warner.Categorical([1, 2]).encode([np.int64(2), 1]).tolist() == [1, 0]


# Points check what they are given.


def test_points_check_what_they_are_given() -> None:
    shapes = ([1, 2, 3], [[0, 0]], [[0, 0], [0, 0]], "ab", [[0, 0], [1]], [[]], None)
    for wrong in (
        *shapes,
        [[0, math.nan], [1, 1]],
        [["1", "2"], ["3", "4"]],
        [[True], [False]],
        [[0], [1e170]],
    ):
        refused(WarnerError, "", Points, wrong)
    domain = Points([[0, 0], [1.5, -2]])
    assert domain.encode([[1.5, -2.0], (0, 0)]).tolist() == [1, 0] and domain.encode(
        np.array([[0, 0]])
    ).tolist() == [0]
    for bad in (
        [[1, 1]],
        [(0,)],
        ["00"],
        [None],
        [[True, False]],
        [[math.nan, 0]],
        np.zeros((2, 3)),
        3,
    ):
        refused(WarnerError, "", domain.encode, bad)
    assert warner.domains.from_spec(domain.spec()) == domain


# Some values of a domain are a domain of their own, with the coordinates of the whole one.


@pytest.mark.parametrize(
    "domain",
    [
        Integers(0, 9),
        Categorical([f"v{i}" for i in range(10)]),
        Grid(5, 2, 0.5),
        Grid(4, 3, without=[(0, 0), (2, 2)]),
        Points(np.arange(20.0).reshape(10, 2)),
    ],
    ids=lambda d: type(d).__name__,
)
def test_values_keep_their_order_their_points_and_their_cells(domain: Any) -> None:
    kept = [7, 1, 4]
    some = Subset(domain, kept)
    assert some.labels == [domain.labels[i] for i in sorted(kept)]
    assert some.encode(some.labels).tolist() == [0, 1, 2]
    assert from_spec(some.spec()) == some
    if domain.points is not None:
        assert some.points is not None and (some.points == domain.points[[1, 4, 7]]).all()
    if domain.raster is not None:
        assert some.raster is not None
        places = np.flatnonzero(some.raster.values.ravel())
        assert np.stack(np.divmod(places, domain.columns), axis=1).tolist() == [
            list(cell) for cell in some.labels
        ]


def test_cells_kept_and_cells_not_left_out_have_one_law() -> None:
    some = Subset(Grid(3, 3), [0, 1, 4, 5, 8])
    rest = Grid(3, 3, without=[(0, 2), (1, 0), (2, 0), (2, 1)])
    first, second = (PlanarGeometric(domain, 1.0).channel().dense() for domain in (some, rest))
    assert (first == second).all()


@pytest.mark.parametrize("index", [[1], [], [1, 1], [0, 10], [-1, 2], [[0, 1]], [0.5, 1], 3])
def test_indices_that_are_no_two_values_are_refused(index: Any) -> None:
    refused(WarnerError, r"index|number of values", Subset, Integers(0, 9), index)


def test_messages_do_not_show_the_answer() -> None:
    with pytest.raises(ValuesError, match="a value that was not kept") as error:
        Subset(Categorical(["secret", "no", "yes"]), [1, 2]).encode(["no", "secret"])
    assert error.value.position == 1 and "secret" not in str(error.value)


# Domains with tags encode and decode.


def test_tagged_domains_encode_and_decode() -> None:
    tagged = Tagged(warner.Grid(2, 2), ["home"])
    assert tagged.encode([(1, 1), "@home", (0, 1)]).tolist() == [3, 4, 1] and tagged.decode(
        [4, 0]
    ) == ["@home", (0, 0)]
    assert from_spec(tagged.spec()) == tagged
    with pytest.raises(ValuesError) as error:
        tagged.encode([(0, 0), "@home", (5, 5)])
    assert error.value.position == 2 and error.value.__context__ is None
    numbers = Tagged(Integers(0, 3), ["home"])
    assert numbers.encode(np.array([1, 2])).tolist() == [1, 2]
    refused(ArgumentTypeError, "", Tagged, numbers, ["work"])


# Grids of which cells are left out: they are no values, anywhere.


SHORE = Grid(3, 3, 0.5, without=[(1, 1), (0, 0)])


def test_values_are_numbered_without_the_cells_left_out() -> None:
    assert SHORE.size == 7 and SHORE.labels[:3] == [(0, 1), (0, 2), (1, 0)]
    assert SHORE.encode(SHORE.labels).tolist() == list(range(7))
    assert SHORE.points.tolist() == [[r * 0.5, c * 0.5] for r, c in SHORE.labels]
    assert SHORE.raster.values.tolist() == [[False, True, True], [True, False, True], [True] * 3]
    assert from_spec(json.loads(json.dumps(SHORE.spec()))) == SHORE
    assert SHORE == Grid(3, 3, 0.5, without=np.array([(0, 0), (1, 1)])) != Grid(3, 3, 0.5)
    assert Grid(3, 3, without=[]).spec() == Grid(3, 3).spec()


@pytest.mark.parametrize("answer", [(1, 1), (0, 0), (3, 0), (0, 3), (-1, 2)])
def test_answers_there_are_refused_without_naming_them(answer: tuple[int, int]) -> None:
    with pytest.raises(ValuesError, match="a cell that is outside the grid or left out") as e:
        SHORE.encode([(0, 1), answer])
    assert e.value.position == 1 and str(answer) not in str(e.value)


@pytest.mark.parametrize(
    "without", [[(3, 0)], [(0, 0), (0, 0)], [(0,)], [(0.5, 1)], 3, "0,0", {(0, 0)}, None, [None]]
)
def test_cells_to_leave_out_that_are_none_are_refused(without: Any) -> None:
    refused(WarnerError, r"without|cells|values", Grid, 3, 3, without=without)


def test_a_cell_outside_the_grid_is_shown() -> None:
    refused(ArgumentError, r"got the cell \(3, 0\)", Grid, 3, 3, without=[(1, 1), (3, 0)])
    refused(ArgumentError, "got a cell twice", Grid, 3, 3, without=[(1, 1), (1, 1)])


def test_at_least_two_cells_are_left() -> None:
    with pytest.raises(ArgumentError, match="number of cells that are left"):
        Grid(2, 2, without=[(0, 0), (0, 1), (1, 0)])


def test_a_map_leaves_them_blank_and_keeps_empty_rows(tmp_path: Path) -> None:
    """Rejects a map whose axes hold only the rows and columns with values."""
    grid = Grid(4, 3, without=[(1, 0), (1, 1), (1, 2), (0, 0)])
    mechanism = RandomizedResponse(grid, 3.0)
    result = estimate(
        mechanism.tally(mechanism.randomize(grid.labels * 20, np.random.default_rng(0)))
    )
    drawn = result.plot().to_dict()
    panel = drawn["vconcat"][0]["hconcat"][0]
    assert panel["encoding"]["y"]["scale"]["domain"] == [0, 1, 2, 3]
    assert panel["encoding"]["x"]["scale"]["domain"] == [0, 1, 2]


def test_a_study_file_leaves_cells_out(tmp_path: Path) -> None:
    path = tmp_path / "city.toml"
    path.write_text(
        "[attributes.place]\n"
        "grid = { rows = 3, columns = 3, side = 0.5, without = [[0, 0], [1, 1]] }\n"
        'mechanism = "PlanarGeometric"\nepsilon = 1.0\n'
    )
    study = warner.Study.load(str(path))
    assert study.domains["place"] == SHORE
    assert study.mechanisms["place"].channel().shape == (7, 7)


# Labels and names that cannot be shown are refused wherever a domain is built.


@pytest.mark.parametrize("bad", BAD, ids=ascii)
def test_labels_and_names_that_cannot_be_shown_are_refused_wherever_a_domain_is_built(
    bad: str,
) -> None:
    held = f"a{bad}b"
    builds = (
        lambda: Categorical(["x", held]),
        lambda: Product(**{held: Integers(0, 1)}),
        lambda: Tagged(Integers(0, 2), [held]),
        lambda: KeyValue(Categorical([held, "k"]), Integers(0, 1), 1.0),
        lambda: from_spec({"kind": "categorical", "values": ["x", held]}),
        lambda: from_spec(
            {"kind": "product", "domains": [[held, {"kind": "integers", "low": 0, "high": 1}]]}
        ),
        lambda: Study(
            {
                "attributes": {
                    held: {"values": ["x", "y"], "mechanism": "RandomizedResponse", "epsilon": 1.0}
                }
            }
        ),
        lambda: Study(
            {
                "attributes": {
                    "a": {"values": ["x", held], "mechanism": "RandomizedResponse", "epsilon": 1.0}
                }
            }
        ),
    )
    for i, build in enumerate(builds):
        with pytest.raises(
            (ArgumentError, StudyError),
            match=r"must not contain the [a-z ]+ U\+[0-9A-F]{4}",
        ) as caught:
            pytest.fail(f"case {i} gave {build()!r}")
        assert unreadable(str(caught.value)) is None


@pytest.mark.parametrize("label", LEGAL, ids=ascii)
def test_text_of_any_language_or_syntax_is_a_label(label: str) -> None:
    assert Categorical(["another", label]).encode([label]).tolist() == [1]


@pytest.mark.parametrize(
    "pair",
    [
        ("Yes", "yes"),
        ("a", "a "),
        ("a b", "a\u00a0 b"),
        ("caf\u00e9", "cafe\u0301"),
        ("\ufb01", "fi"),
        ("none", "no\u200bne"),
        ("\u263a", "\u263a\ufe0f"),
    ],
    ids=ascii,
)
def test_labels_that_look_alike_are_refused_wherever_labels_stand(pair: tuple[str, str]) -> None:
    """A page would show two equal choices, and the estimate would split their people."""
    attribute = {"values": ["x", *pair], "mechanism": "RandomizedResponse", "epsilon": 1.0}
    fine = {"values": ["x", "y"], "mechanism": "RandomizedResponse", "epsilon": 1.0}
    header = RandomizedResponse(Categorical(["x", "first", "second"]), 1.0).header
    foreign = header["domain"] | {"values": ["x", *pair]}
    builds: list[Callable[[], object]] = [
        lambda: Categorical(["x", *pair]),
        lambda: KeyValue(Categorical(list(pair)), Integers(0, 1), 1.0),
        lambda: Study({"attributes": {"a": attribute}}),
        lambda: Study({"attributes": {"a": fine}, "public": {"b": {"values": list(pair)}}}),
        lambda: from_header(header | {"domain": foreign}),
        lambda: with_labels(Question("a", "labels"), ["x", *pair]),
    ]
    for i, build in enumerate(builds):
        with pytest.raises(WarnerError, match="look alike") as caught:
            pytest.fail(f"case {i} gave {build()!r}")
        assert all(ascii(label) in str(caught.value) for label in pair)
    with pytest.raises(ArgumentError, match="look alike") as caught:
        with_labels(Question("a", "labels"), ["x", *pair], is_copied=True)
    assert ascii(pair[1]) not in str(caught.value)  # labels that were copied are answers


def test_labels_that_differ_in_a_letter_are_accepted() -> None:
    assert Categorical(["Ma\u00dfe", "Masse", "a", "\u00e4", "0", "00", ""]).size == 7


# Dates are coarsened to days, weeks or months, and anything else is refused by its position.


EDGES = ["0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "2024-12-30", "9999-12-31"]


def test_labels_are_iso_texts() -> None:
    assert Dates("day").decode([0, 738885]) == ["0001-01-01", "2024-01-01"]
    assert Dates("week").decode(Dates("week").encode(["2024-12-30"])) == ["2025-W01"]
    assert Dates("month").decode(Dates("month").encode(["2024-12-30"])) == ["2024-12"]


@pytest.mark.parametrize("unit", UNITS)
def test_texts_dates_and_numpy_dates_are_one(unit: str) -> None:
    domain = Dates(unit)
    expected = domain.encode(EDGES).tolist()
    dates = [datetime.date.fromisoformat(text) for text in EDGES]
    assert domain.encode(dates).tolist() == expected
    assert domain.encode(np.array(EDGES, dtype="datetime64[D]")).tolist() == expected
    assert domain.encode([np.datetime64(text) for text in EDGES]).tolist() == expected
    assert expected[0] == 0 and expected[-1] == domain.size - 1
    assert domain.encode(domain.decode(expected)).tolist() == expected
    again = Dates.from_spec(domain.spec(), lambda _: domain)
    assert again == domain and again.is_ordered


def test_a_unit_holds_the_days_between_its_ends() -> None:
    start = datetime.date(2023, 12, 25).toordinal()
    days = [datetime.date.fromordinal(start + i) for i in range(400)]
    week, month = Dates("week").encode(days), Dates("month").encode(days)
    for day, before, w, v, m, k in zip(
        days[1:], days[:-1], week[1:], week[:-1], month[1:], month[:-1], strict=True
    ):
        assert w - v == (day.isocalendar()[:2] != before.isocalendar()[:2])
        assert m - k == (day.month != before.month)


@pytest.mark.parametrize(
    "bad",
    [
        *("2024-13-01", "2023-02-29", "31.05.2024", "2024-5-31", "20240531", "", " 2023-01-01"),
        *(
            None,
            5,
            1.5,
            float("nan"),
            True,
            b"2024-05-31",
            ["2024-05-31"],
            np.datetime64("NaT", "D"),
        ),
    ],
)
def test_what_is_no_date_is_refused_by_its_position(bad: Any) -> None:
    for unit in UNITS:
        with pytest.raises(ValuesError) as caught:
            Dates(unit).encode(["2024-05-31", bad])
        assert caught.value.position == 1
        assert not isinstance(bad, str) or not bad.strip() or bad not in str(caught.value)


def test_other_units_and_shapes_are_refused() -> None:
    refused(ArgumentError, "day", Dates, "year")
    refused(ArgumentTypeError, "", Dates("day").encode, "2024-05-31")
    refused(ArgumentTypeError, "", Dates("day").encode, np.array([["2024-05-31", "2024-06-01"]]))
    refused(ValuesError, "", Dates("week").encode, ["2024-05"])
    with pytest.raises(ValuesError, match="position 1"):
        Dates("day").encode(np.array(["2024-05-31", "NaT"], dtype="datetime64[D]"))


@pytest.mark.parametrize(
    "domain",
    [Categorical(["no", "yes", "silent"]), Integers(-3, 9000), Grid(2, 3), Interval(0, 1, bins=4)],
)
def test_a_domain_can_be_listed_and_indexed_and_is_no_list_of_answers(domain: Domain) -> None:
    """Rejects a domain that is randomised in place of the answers by mistake."""
    assert len(domain) == domain.size and list(domain) == list(domain.labels)
    assert domain[0] == domain.labels[0] and domain[-1] == domain.labels[-1]
    assert domain[1:3] == list(domain.labels[1:3])
    assert domain.labels[1] in domain and "xyz" not in domain and None not in domain
    with pytest.raises(IndexError):
        domain[domain.size]
    with pytest.raises(ArgumentTypeError, match="must be a list of answers, not a domain"):
        domain.encode(domain)


@pytest.mark.parametrize("clip", [False, True])
def test_a_number_that_is_missing_is_not_beyond_a_limit(clip: bool) -> None:
    """Rejects the advice to widen the limits, or to write clip = true, for NaN."""
    with pytest.raises(ValuesError, match="got NaN") as caught:
        warner.Interval(0, 1, 4, clip=clip).encode([0.2, math.nan])
    assert "For missing answers use" in str(caught.value) and "limit" not in str(caught.value)
