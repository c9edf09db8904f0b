"""The documents of the mathematics: every citation resolves, every example runs, every quoted
figure is the measured one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import warner
from warner import Integers, SubsetSelection
from warner._core.names import home_of
from warner.results.recommend import METHODS
from warner.theory import expected_loss

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = ("methods.md", "mechanisms.md", "estimators.md")
NUMBER = r"\d+[a-z]?(?:\.\d+)?"


def headings(text: str) -> set[str]:
    """The numbers of the headings of a document: ``## 0 Notation`` has the number 0."""
    return set(re.findall(rf"^#{{2,3}} ({NUMBER}) ", text, flags=re.M))


def sections_cited(text: str) -> Iterator[str]:
    """The numbers that citations such as ``METHODS 4.1, 4.2`` and ``METHODS 9.1-9.3`` name."""
    for found in re.finditer(
        rf"METHODS\s+({NUMBER}(?:(?:,\s+|\s+and\s+|-){NUMBER})*)(?![\d.]*\d)", text
    ):
        yield from re.findall(NUMBER, found.group(1))


def papers_cited(text: str) -> Iterator[str]:
    """The papers that citations such as ``[P1 sec 3, P4 sec V]`` name."""
    for found in re.finditer(r"\[(P\d+[^\][]*)\]", text):
        yield from re.findall(r"\bP\d+\b", found.group(1))


def papers_listed(text: str) -> set[str]:
    """The papers of docs/references.md."""
    return set(re.findall(r"^\[(P\d+)\] ", text, flags=re.M))


def unresolved(text: str, sections: set[str], papers: set[str]) -> set[str]:
    """The citations of a text that lead nowhere."""
    wrong = {f"METHODS {number}" for number in sections_cited(text) if number not in sections}
    return wrong | {f"[{paper}]" for paper in papers_cited(text) if paper not in papers}


def sources() -> list[Path]:
    """The files of the code, and the documents."""
    code = [
        path
        for room in ("src", "tests", "bench")
        for path in sorted((ROOT / room).rglob("*.py"))
        if ".venv" not in path.parts
    ]
    return [path for path in code if path != Path(__file__)] + [DOCS / name for name in DOCUMENTS]


def test_every_citation_resolves() -> None:
    """A citation of a section that is not in docs/methods.md, or of a paper that is not in
    docs/references.md, fails.
    """
    sections = headings((DOCS / "methods.md").read_text())
    papers = papers_listed((DOCS / "references.md").read_text())
    wrong = {
        str(path.relative_to(ROOT)): found
        for path in sources()
        if (found := unresolved(path.read_text(), sections, papers))
    }
    assert not wrong


def test_citations_are_found_at_all() -> None:
    """A checker whose pattern finds nothing would pass every file."""
    found = [number for path in sources() for number in sections_cited(path.read_text())]
    papers = {paper for path in sources() for paper in papers_cited(path.read_text())}
    assert len(found) >= 50 and {"0", "4.5", "6b", "9.2"} <= set(found)
    assert papers == {"P1", "P2", "P3", "P4", "P5"}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("as in METHODS 4.7", {"METHODS 4.7"}),
        ("(METHODS 4.1, 4.9)", {"METHODS 4.9"}),
        ("(METHODS 5,\n    77)", {"METHODS 77"}),
        ("METHODS 9.1-9.30", {"METHODS 9.30"}),
        ("METHODS 6c", {"METHODS 6c"}),
        ("[P6 eq 1]", {"[P6]"}),
        ("[P1 sec 3, P9 sec V]", {"[P9]"}),
        ("METHODS 4.1 and 6b, 4 values; METHODS 9.1: 0.45, 0.05; [P2 eqs 12, 17]", set()),
        ("METHODS: dict[str, Estimator] = {}", set()),
    ],
)
def test_the_checker_finds_made_up_citations(text: str, wrong: set[str]) -> None:
    made_up = "## 4 One\n### 4.1 Two\n### 6b Three\n## 5 Four\n### 9.1 Five\n### 9.3 Six\n# 77 No section\n"
    assert unresolved(text, headings(made_up), {"P1", "P2"}) == wrong


def test_numbers_of_sections_are_unique_and_in_order() -> None:
    """A number that stands twice makes a citation ambiguous."""
    found = re.findall(rf"^#{{2,3}} ({NUMBER}) ", (DOCS / "methods.md").read_text(), flags=re.M)
    keys = [(*map(int, re.findall(r"\d+", number)), number.endswith("b")) for number in found]
    assert len(set(found)) == len(found)
    assert keys == sorted(keys)


def slug(heading: str) -> str:
    """The anchor of a heading, as the site and public hosts of code make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_every_public_class_has_its_section_of_the_mathematics() -> None:
    """The one table from which the reference links: all its names and its sections exist, and no
    public mechanism, estimator, design or guarantee, nor a function of the theory, is left out.
    """
    text = (DOCS / "methods.md").read_text()
    table = text.partition("## Which section a name stands in\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| \[.*\]\(#(.*)\) \|$", table, flags=re.M)
    assert len(rows) == table.count("\n|") - 2
    anchors = {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, flags=re.M)}
    assert {anchor for _, anchor in rows} <= anchors
    listed = [name for names, _ in rows for name in names[1:-1].split("`, `")]
    assert len(set(listed)) == len(listed)
    assert all(home_of(name) or hasattr(warner.theory, name) for name in listed)
    packages = (
        warner.mechanisms,
        warner.estimators,
        warner.estimators.literature,
        warner.designs,
        warner.privacy,
        warner.theory,
    )
    needed = {
        name
        for package in packages
        for name in package.__all__
        if inspect.isclass(thing := getattr(package, name)) or inspect.isroutine(thing)
    }
    assert needed <= set(listed), needed - set(listed)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_named_by_the_documents_exist(name: str) -> None:
    """Files are named in tables, relative to src/warner, and in links."""
    text = (DOCS / name).read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for path in {found for row in rows for found in re.findall(r"`([\w/]+\.py)`", row)}:
        assert (ROOT / "src" / "warner" / path).exists(), f"{name} names {path}"
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (DOCS / link).exists(), f"{name} links to {link}"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_public_names_of_the_documents_exist(name: str) -> None:
    """Names in CamelCase in code style are public names of the package, or attributes of one."""
    text = re.sub(r"```.*?```", "", (DOCS / name).read_text(), flags=re.S)
    for found in set(re.findall(r"`([A-Z][a-z]+[A-Z]\w*)(?:\([^`]*\))?`", text)):
        homes = (
            warner,
            warner.mechanisms,
            warner.estimators,
            warner.estimators.literature,
            warner.designs,
            warner.privacy,
            warner.theory,
            warner.results,
            warner.errors,
        )
        assert any(hasattr(home, found) for home in homes), f"{name} names {found}"


# ---- docs/mechanisms.md


def blocks() -> list[str]:
    """The examples of docs/mechanisms.md."""
    return re.findall(r"```python\n(.*?)```", (DOCS / "mechanisms.md").read_text(), flags=re.S)


def test_examples_of_mechanisms_run() -> None:
    """The examples run one after the other, as a reader would paste them."""
    space: dict[str, object] = {}
    for block in blocks():
        exec(compile(block, "mechanisms.md", "exec"), space)
    assert isinstance(space["shares"], warner.Estimate)


def test_every_mechanism_has_a_section_and_an_example() -> None:
    """Every public mechanism has a heading, the same six parts, and an example that makes one."""
    text = (DOCS / "mechanisms.md").read_text()
    public = {*warner.mechanisms.MECHANISMS, "PersonalizedULDP"}
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##)", text, flags=re.S | re.M))
    assert set(parts) == public
    for name, body in parts.items():
        for label in ("For", "Law", "Sends", "Guarantee", "Error", "Source"):
            assert f"- **{label}:**" in body, f"{name} has no {label}"
        assert f"{name}(" in body, f"{name} has no example"


P = np.array([0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
VALUES = warner.Integers(1, 6)


@pytest.mark.parametrize("epsilon", [0.4, 1.0, 3.0])
def test_expected_errors_of_labels_are_the_formulae_of_the_documents(epsilon: float) -> None:
    """The sums of variances in docs/mechanisms.md and in section 6 of docs/methods.md, to rounding."""
    e, h, size, squares = np.exp(epsilon), np.exp(epsilon / 2), P.size, float(P @ P)
    optimized = warner.UnaryEncoding(VALUES, epsilon, variant="oue")
    subset = warner.SubsetSelection(VALUES, epsilon, size=2)
    # With a large prime two values collide as independent hashes do.
    hashes = warner.LocalHashing(VALUES, epsilon, buckets=3, prime=100_000_007)
    p = 2 * e / (2 * e + size - 2)
    q = p / (size - 1) + (1 - p) * 2 / (size - 1)
    s, share = 2, float(P[:2].sum())
    some = [1, 2]
    formulae: list[tuple[warner.mechanisms.Mechanism, float]] = [
        (
            warner.RandomizedResponse(VALUES, epsilon),
            ((e + size - 2) ** 2 + size - 1) / (e - 1) ** 2 - squares,
        ),
        (warner.UnaryEncoding(VALUES, epsilon), size * h / (h - 1) ** 2 + 1 - squares),
        (optimized, 4 * size * e / (e - 1) ** 2 + 2 - squares),
        (subset, size * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q) - squares),
        (
            hashes,
            size * (e + 2) ** 2 / (2 * (e - 1) ** 2) + (e + 2) / (2 * (e - 1)) - squares,
        ),
        (warner.HadamardResponse(VALUES, epsilon), size * ((e + 1) / (e - 1)) ** 2 - squares),
        (
            warner.UtilityOptimizedRR(VALUES, epsilon, sensitive=some),
            (2 * (e - 1) * (s - share) + s * (s - 1)) / (e - 1) ** 2 + 1 - squares,
        ),
        (
            warner.mechanisms.UtilityOptimizedRappor(VALUES, epsilon, sensitive=some),
            ((s + 1) * h - 1) / (h - 1) ** 2 - share / (h - 1) + 1 - squares,
        ),
    ]
    for mechanism, expected in formulae:
        assert warner.theory.expected_loss(mechanism, P, 1, "l2") == pytest.approx(
            expected, rel=1e-7
        )


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("size", [3, 20, 100])
def test_no_error_of_local_hashing_exceeds_the_bound_of_the_documents(
    size: int, epsilon: float
) -> None:
    """Rejects K (e + g - 1)^2 / ((g - 1)(e - 1)^2) alone: of 20 values at 4 nats it is 1.52, and the
    error is 2.6.
    """
    values, e = warner.Integers(1, size), np.exp(epsilon)
    shares = 1 / np.arange(1, size + 1) ** 1.2
    shares /= shares.sum()
    mechanism = warner.LocalHashing(values, epsilon)
    g = mechanism.buckets
    old = size * (e + g - 1) ** 2 / ((g - 1) * (e - 1) ** 2)
    bound = old + (g - 2) * (e + g - 1) / ((g - 1) * (e - 1)) - float(shares @ shares)
    error = warner.theory.expected_loss(mechanism, shares, 1, "l2")
    assert error <= bound
    assert (size, epsilon) != (20, 4.0) or error > old


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0])
def test_where_randomized_response_errs_less_than_unary_encoding(epsilon: float) -> None:
    """Rejects K < 3e + 2 for the sum of all errors: of 23 values at 2 nats OUE errs less."""
    e = np.exp(epsilon)
    limit = int(e + 1.5 + np.sqrt(2 * e * e + 3 * e + 1.25))

    def less(size: int) -> bool:
        values, shares = warner.Integers(1, size), np.full(size, 1 / size)
        direct = warner.RandomizedResponse(values, epsilon)
        unary = warner.UnaryEncoding(values, epsilon, variant="oue")
        of_each = [warner.theory.expected_loss(m, shares, 1, "l2") for m in (direct, unary)]
        return bool(of_each[0] < of_each[1])

    assert less(limit) and not less(limit + 1)


@pytest.mark.parametrize("variant", [0.3, 0.5, 0.8])
def test_the_variance_of_unary_encoding_is_the_formula_that_fixes_its_constant(
    variant: float,
) -> None:
    """At a share of 0 it is e / (t (1 - t) (e - 1)^2), which is least at t = 1/2."""
    channel = warner.UnaryEncoding(VALUES, 1.0, variant=variant).channel()
    assert channel.variance(np.eye(6)[0])[1] == pytest.approx(
        np.e / (variant * (1 - variant) * (np.e - 1) ** 2), rel=1e-9
    )


@pytest.mark.parametrize("make", [warner.SquareWave, warner.mechanisms.Piecewise])
@pytest.mark.parametrize("v", [0.1, 0.5])
def test_the_variance_of_a_window_is_the_formula(make: type, v: float) -> None:
    """Many cells: within one part in a thousand. The variance is taken from the exact law of the
    cells, without rounding.
    """
    mechanism = make(warner.Interval(0, 1, bins=4), 1.0)
    m, w = mechanism.cells, mechanism.width
    high, low = float(mechanism.law.high), float(mechanism.law.low)
    start, omega = round(v * (m - w)), w / m
    law = np.full(m, low)
    law[start : start + w] = high
    telling, y = w * (high - low), np.arange(m)
    exact = float(law @ y**2 - (law @ y) ** 2) / (telling * (m - w)) ** 2
    pi = omega * (np.e - 1) / (omega * np.e + 1 - omega)
    written = (1 - pi) / 12 + pi * omega**2 / 12 + pi * (1 - pi) * (1 - omega) ** 2 * (v - 0.5) ** 2
    assert telling == pytest.approx(pi, rel=1e-6)
    assert written / (pi * (1 - omega)) ** 2 == pytest.approx(exact, rel=1e-3)


# ---- docs/estimators.md, docs/leaderboard.md


def test_the_table_of_record_is_the_measured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has the numbers of bench/results/leaderboard.jsonl, and no others."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    script = import_module("leaderboard")
    advice = "run python bench/leaderboard.py --page"
    assert script.page(script.stored(script.FILE)) == script.PAGE.read_text(), advice


def test_every_estimator_and_every_name_on_the_command_line_is_in_the_glossary() -> None:
    text = (DOCS / "estimators.md").read_text()
    glossary = text.split("## Glossary")[1].split("\n## ")[0]
    for name in METHODS:
        assert re.search(rf"`{name}(:\w+)?`", glossary), f"{name} is not in the glossary"
    for package in (warner.estimators, warner.estimators.literature):
        for name in package.__all__:
            if inspect.isclass(getattr(package, name)) and name not in ("Estimator", "Status"):
                assert f"`{name}(" in glossary, f"{name} is not in the glossary"


def test_the_default_size_of_subsets_errs_little_more_than_the_best_one() -> None:
    """Rejects "has the least variance": at 12 values and epsilon 1.95 subsets of 2 err less."""

    def errors(size: int, epsilon: float) -> dict[int | None, float]:
        domain, even = Integers(1, size), np.full(size, 1 / size)
        default = SubsetSelection(domain, epsilon).subset
        sizes = {None: default} | {
            d: d for d in range(max(1, default - 2), min(size - 1, default + 2))
        }
        return {
            name: expected_loss(SubsetSelection(domain, epsilon, size=d), even, 1000)
            for name, d in sizes.items()
        }

    twelve = errors(12, 1.95)
    assert twelve[2] < 0.98 * twelve[1] == 0.98 * twelve[None]
    for size in (4, 7, 12, 30, 100):
        for epsilon in (0.1, 0.5, 1.0, 1.3, 1.95, 3.0, 4.95):
            found = errors(size, epsilon)
            assert found[None] <= 1.03 * min(found.values())
    assert errors(7, 1.3)[None] > 1.023 * errors(7, 1.3)[2]  # more than at 12 values
    assert "`size=` chooses another" in (DOCS / "methods.md").read_text()


def test_the_page_on_estimators_says_where_they_are_imported_from() -> None:
    text = (DOCS / "estimators.md").read_text()
    for line in re.findall(r"`(from warner\.estimators\S* import \w+)`", text):
        exec(line, {})
    assert "from warner.estimators.literature import SmoothedEM" in text
