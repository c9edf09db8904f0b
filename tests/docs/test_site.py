"""The site: the reference leaves nothing out, the live page has the library's law, nothing is asked of other hosts.

The site itself is built by ``make site``, in an environment of its own; these tests need none of it.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import warner

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LIVE = DOCS / "live" / "live.mjs"
PAGES = [
    p
    for folder in (".", "concepts", "recipes", "guides", "reference")
    for p in sorted((DOCS / folder).glob("*.[mr][ds]*"))
]
# The code of a cell, without its options.
CELL = re.compile(r"```\{code-cell\}[^\n]*\n(?:---\n.*?---\n|:.*?\n\n)?(.*?)```", re.DOTALL)
NODE = shutil.which("node")


def test_every_public_package_has_a_page_of_the_reference() -> None:
    packages = {name for name in warner.__all__ if inspect.ismodule(getattr(warner, name))}
    packages |= {*warner._PACKAGES}
    shown = set()
    for page in (DOCS / "reference").glob("*.rst"):
        shown |= set(re.findall(r"^\.\. public:: warner\.(\w+)$", page.read_text(), flags=re.M))
    assert shown == packages
    # The page "functions" shows the other public names of warner.
    assert ".. public:: warner\n" in (DOCS / "reference" / "functions.rst").read_text()


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = set()
    for page in [*PAGES, DOCS / "papers" / "index.md"]:
        text = page.read_text()
        for body in re.findall(r"```\{toctree\}(.*?)```|toctree::(.*?)(?=\n\S|\Z)", text, re.S):
            for name in re.findall(r"^\s*([\w./]+)$", "".join(body), flags=re.M):
                listed.add((page.parent / name).resolve())
    pages = {p.with_suffix("").resolve() for p in PAGES} - {DOCS / "index"}
    assert pages <= listed, pages - listed


def test_pages_run_their_python_and_load_nothing() -> None:
    for page in PAGES:
        text = page.read_text()
        loads = re.findall(r"(?:src|href)=[\"'](?:https?:)?//", text)
        assert loads == [], page
        if "{code-cell}" in text:
            assert "file_format: mystnb" in text, page
        for cell in CELL.findall(text):
            if not cell.startswith("%%"):
                ast.parse(cell)


def test_scripts_and_styles_of_the_site_ask_no_other_host() -> None:
    ours = [LIVE, *(DOCS / "_static").iterdir()]
    for path in ours:
        hosts = re.findall(
            r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*",
            re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M),
        )
        assert set(hosts) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, path


def test_the_environment_of_the_site_is_pinned_with_hashes() -> None:
    lock = (DOCS / "requirements.lock").read_text()
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", lock, flags=re.M)
    assert {"sphinx", "myst-nb", "furo", "latex2mathml"} <= {name for name, _ in pins}
    assert len(re.findall(r"--hash=sha256:", lock)) >= len(pins)
    assert "://" not in lock and "--index" not in lock


# The search of the site.


def test_a_search_for_a_users_word_is_led_by_a_guide() -> None:
    """Each search that the build tries is a word of its page; no two pages have one word. Rejects: a
    page that is renamed, and a word that two guides claim.
    """
    words: dict[str, str] = {}
    for page in PAGES:
        for found in re.findall(r"^<!-- search: (.*) -->$", page.read_text(), flags=re.M):
            for word in found.split(", "):
                assert word == word.lower() and word not in words, word
                words[word] = str(page.relative_to(DOCS).with_suffix(""))
    searches = json.loads((DOCS / "_site" / "searches.json").read_text())
    guides = {query: page for query, page in searches.items() if not page.startswith("reference/")}
    assert len(guides) >= 15
    assert all(words[query.lower()] == page for query, page in guides.items())


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_guides_are_ranked_before_the_reference() -> None:
    """Also where the reference has the word in a title. Rejects: a scorer without rooms."""
    scorer = (DOCS / "_site" / "scorer.js").read_text()
    rows = [
        ["guides/errors", "Errors", "", "", 5, "", "text"],
        ["concepts/epsilon", "Epsilon", "", "", 5, "", "text"],
        ["mechanisms", "Mechanisms", "", "", 5, "", "text"],
        ["reference/errors", "warner.errors", "", "", 15, "", "title"],
    ]
    text = f"{scorer}\nconsole.log(JSON.stringify({json.dumps(rows)}.map(Scorer.score)));"
    done = subprocess.run([str(NODE), "-e", text], capture_output=True, text=True, timeout=60)
    scores = json.loads(done.stdout)
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == len(scores)


# The live page.

SIZES = (2, 4)
EPSILONS = (1e-3, 0.1, 0.3, 0.5, 1.0, 1.1, 2.0, 2.7, 3.3, 4.9, 6.0, 20.0)


def run(script: str) -> object:
    """What a script prints as JSON that uses the module of the live page."""
    text = f"import * as live from {json.dumps(LIVE.as_uri())};\n{script}"
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", text], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def device(size: int, epsilon: float) -> warner.RandomizedResponse:
    return warner.RandomizedResponse(warner.Categorical(list("abcd"[:size])), epsilon)


def widths(mechanism: warner.RandomizedResponse) -> tuple[int, int]:
    return tuple(int(width, 16) for width in mechanism.thresholds().values())  # type: ignore[return-value]


needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


@needs_node
def test_the_live_page_compares_with_the_integers_of_the_library() -> None:
    """Rejects: an exponential of doubles, whose integers differ in the last three digits."""
    found = run(
        f"const out = {json.dumps(SIZES)}.map((k) => {json.dumps(EPSILONS)}.map((e) => {{"
        "const w = live.widths(e, k); return [String(w.same), String(w.other)]; }));"
        "console.log(JSON.stringify(out));"
    )
    expected = [
        [[str(width) for width in widths(device(size, epsilon))] for epsilon in EPSILONS]
        for size in SIZES
    ]
    assert found == expected


@needs_node
def test_the_live_page_reports_what_the_device_reports() -> None:
    """For numbers at both sides of the ends of all cells. Rejects: < for <=, cells in another order."""
    for size in SIZES:
        mechanism = device(size, 1.0)
        same, other = widths(mechanism)
        ends = [*(i * other for i in range(size)), (size - 1) * other + same, 2**64]
        numbers = sorted({n for end in ends for n in (end - 1, end) if 0 <= n < 2**64})
        found = run(
            f"const w = live.widths(1, {size});"
            f"const numbers = {json.dumps([str(n) for n in numbers])};"
            f"const out = [...Array({size}).keys()].map((x) => numbers.map((n) =>"
            f" live.reportOf(x, {size}, w, BigInt(n)))); console.log(JSON.stringify(out));"
        )

        def report(answer: int, number: int) -> int:
            if number >= (size - 1) * other + same:  # noqa: B023
                return -1
            others = [value for value in range(size) if value != answer]  # noqa: B023
            return [*others, answer][min(number // other, size - 1)]  # noqa: B023

        assert found == [[report(x, n) for n in numbers] for x in range(size)]


@needs_node
def test_the_live_page_estimates_as_inversion_does() -> None:
    mechanism = device(4, 1.0)
    answers = ["a"] * 5000 + ["b"] * 2500 + ["c"] * 1500 + ["d"] * 1000
    tally = mechanism.tally(mechanism.randomize(answers, np.random.default_rng(1)))
    result = warner.estimate(tally, warner.Inversion())
    found = run(
        f"const rows = live.estimate({tally.counts.tolist()}, live.widths(1, 4));"
        "console.log(JSON.stringify(rows.map((r) => [r.estimate, r.low, r.high])));"
    )
    rows = np.array(found)
    np.testing.assert_allclose(rows[:, 0], result.probabilities, atol=1e-12)
    # Wilson's interval and the library's agree where a share is far from 0 and 1.
    np.testing.assert_allclose(rows[:, 1:], result.interval(kind="wald"), atol=0.003)


@needs_node
def test_an_interval_of_the_live_page_keeps_its_width_where_the_estimate_is_below_zero() -> None:
    found = run(
        "const rows = live.estimate([470, 149, 200, 181], live.widths(1, 4));"
        "console.log(JSON.stringify(rows.map((r) => [r.estimate, r.low, r.high])));"
    )
    estimate, low, high = found[1]  # type: ignore[index]
    assert estimate < 0 and low == 0 and 0.05 < high < 0.12


@needs_node
def test_the_sentence_of_odds_is_of_the_law() -> None:
    law = device(2, 1.0).law
    (first, *_) = run("console.log(JSON.stringify(live.odds(['yes', 'no'], live.widths(1, 2))));")  # type: ignore[misc]
    yes, no = round(100 * float(law.high)), round(100 * float(law.low))
    assert first == (
        f"Of 100 people who answered yes, {yes} send yes. Of 100 who answered no, {no} send yes."
    )


@needs_node
def test_a_crowd_has_as_many_people_as_asked_for() -> None:
    found = run(
        "console.log(JSON.stringify([7, 100, 10001].map((n) => live.crowdOf([0.5, 0.25, 0.15, 0.1], n))));"
    )
    assert [sum(counts) for counts in found] == [7, 100, 10001]  # type: ignore[attr-defined]


def test_the_live_page_draws_from_the_cryptographic_generator() -> None:
    script = LIVE.read_text()
    assert "crypto.getRandomValues" in script and "Math.random" not in script
    page = (DOCS / "live.md").read_text()
    assert "<script" not in page and not re.search(r"\son\w+=", page)
    assert 'id="live-fallback"' in page and 'id="live" hidden' in page
