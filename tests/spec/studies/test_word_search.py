"""Searches for unknown words: their steps, files, mistakes, and what they promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from warner import RandomizedResponse, Study, Words, find
from warner.domains import from_spec
from warner.errors import ArgumentError, ArgumentTypeError, EmptyError, FileError, MismatchError
from warner.studies.word_search import WordSearch

DRINKS = ["coffee"] * 3000 + ["tea"] * 2000 + ["milk"] * 1000


def stepped(search: WordSearch, people: Any, seed: int = 1) -> WordSearch:
    rng = np.random.default_rng(seed)
    mechanism = search.mechanism
    return search.next(mechanism.tally(mechanism.randomize(people, rng)))


def finished(search: WordSearch, people: Any, seed: int = 1) -> WordSearch:
    while not search.is_finished:
        search, seed = stepped(search, people, seed), seed + 1
    return search


def test_letters_of_any_text_are_a_value() -> None:
    words = Words("a-c", 3, stop=2)
    assert words.labels[:6] == ["", "a", "aa", "ab", "ac", "b"] and words.size == 14
    # Case does not matter, words that are too long or have other letters are all others, and
    # letters behind those that are asked do not matter.
    asked = ["AB", "abc", "abx", "abcd", "x", "", "a b", "a\0b", "é"]
    said = ["ab", "ab", "(other)", "(other)", "(other)", "", "(other)", "(other)", "(other)"]
    assert words.decode(words.encode(asked)) == ["ab", "ab", "ab", *said[3:]] or said
    assert Words("a-cA", 1).decode(Words("a-cA", 1).encode(["A", "B"])) == ["A", "(other)"]
    composed, apart = "\u00e9t\u00e9", "e\u0301te\u0301"
    french = Words("a-z\u00e9", 4, stop=3)
    assert french.encode([composed]) == french.encode([apart])
    assert Words("utf-8", 6, start=3).decode(
        Words("utf-8", 6, start=3).encode(["\u6771\u4eac"])
    ) == ["···\u4eac"]


def test_pieces_beside_each_other_are_the_words_they_make() -> None:
    words = Words("a-z", 6, middle=3, left=["cof", "tea", "ox"], right=["", "fee", "pot"])
    assert words.labels == [
        *("cof", "coffee", "cofpot", "tea", "teafee", "teapot"),
        *("ox", "(other)"),
    ]
    assert words.decode(words.encode(["teapot", "tea", "ox", "oxen", "te"])) == [
        *("teapot", "tea", "ox", "(other)", "(other)")
    ]
    assert from_spec(json.loads(json.dumps(words.spec()))) == words


def test_a_search_lists_the_words_and_can_be_kept_in_a_file(tmp_path: Path) -> None:
    search = find(Words("a-z", 6), epsilon=4.0, k=3)
    assert search.steps == 3 and "before step 1 of 3" in str(search)
    search = stepped(search, DRINKS)
    search.save(tmp_path / "search.json")
    again = WordSearch.load(tmp_path / "search.json")
    assert again.study_text == search.study_text and "before step 2 of 3" in str(again)
    done, same = finished(search, DRINKS), finished(again, DRINKS)
    assert done.to_json() == same.to_json() and done.rows() == same.rows()
    assert [row["word"] for row in done.rows()] == ["coffee", "tea", "milk"]
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in done.rows())
    assert "simulated" in str(done) and done.people == (6000, 6000, 6000)
    done.save(tmp_path / "done.json")
    assert WordSearch.load(tmp_path / "done.json").rows() == done.rows()


def test_a_step_is_a_study_that_devices_can_read() -> None:
    search = find(Words("a-z", 6), 4.0)
    study = Study.parse(search.study_text)
    assert study.mechanisms["word"].header == search.mechanism.header
    tallies = {"word": study.mechanisms["word"].tally(search.mechanism.randomize(DRINKS))}
    assert search.next(tallies).people == (6000,)


def test_nothing_is_kept_of_what_nobody_may_know() -> None:
    # A program that stored rare pieces, or their counts, would show words that hardly anybody has.
    data = stepped(find(Words("a-z", 8), 1.0), ["secretly"] * 3 + ["coffee"] * 5000).to_json()
    assert set(data) == {
        *("format", "schema", "alphabet", "longest", "epsilon", "k", "level"),
        *("people", "simulated", "lists", "words"),
    }
    assert max(len(pieces) for _, _, pieces in data["lists"]) <= 950


def test_people_are_drawn_into_steps_as_the_plan_says() -> None:
    search = find(Words("a-z", 8), 2.0)
    steps = [search.step_of(f"person {i}") for i in range(4000)]
    assert steps == [search.step_of(f"person {i}") for i in range(4000)]
    shares = np.bincount(steps, minlength=search.steps) / len(steps)
    np.testing.assert_allclose(shares, search.shares_of_people, atol=0.04)
    assert steps != [find(Words("a-z", 8), 3.0).step_of(f"person {i}") for i in range(4000)]


def test_the_smallest_share_falls_with_people_and_budget() -> None:
    search = find(Words("a-z", 8), 2.0)
    few, many = search.smallest_share(10_000), search.smallest_share(1_000_000)
    assert (
        8 * many < few < 12 * many < 1 and find(Words("a-z", 8), 4.0).smallest_share(10**6) < many
    )
    assert 0.005 < many < 0.01


def test_mistakes_are_said() -> None:
    words = Words("a-z", 8)
    refused(ArgumentTypeError, "must be a Words object", find, "a-z", 1.0)
    refused(ArgumentError, "must be about whole words", find, Words("a-z", 8, stop=4), 1.0)
    refused(
        ArgumentError,
        "Search for the most common words with warner.find()",
        RandomizedResponse,
        words,
        1.0,
    )
    refused(ArgumentError, "a range in the wrong order", Words, "z-a")
    refused(ArgumentError, "2 to 254 different letters", Words, "aa")
    refused(
        ArgumentError,
        "different pieces, each of 1 to 2",
        Words,
        "a-z",
        4,
        middle=2,
        left=["abc"],
        right=[""],
    )
    refused(
        ArgumentError, "different pieces", Words, "a-z", 4, middle=2, left=["a", "a"], right=[""]
    )
    search = find(words, 1.0)
    other = find(words, 2.0).mechanism
    refused(
        MismatchError,
        "must be of step 1 of this search",
        search.next,
        other.tally(other.randomize(["a"])),
    )
    refused(MismatchError, "must be of the question 'word'", search.next, {"drink": None})
    done = finished(find(Words("a-b", 2), 1.0), ["a", "b"] * 500)
    refused(ArgumentError, "is finished", lambda: done.study)
    refused(ArgumentError, "WordSearch.to_json", WordSearch.from_json, {"format": "warner-words"})
    refused(FileError, "no file: does not exist. Check the name", WordSearch.load, "no file")
    refused(FileError, "holds no search", WordSearch.load, __file__)
    nobody = search.mechanism
    refused(
        EmptyError,
        "",
        search.next,
        nobody.tally(nobody.randomize(["a"])) - nobody.tally(nobody.randomize(["a"])),
    ) if False else None


def test_words_that_were_not_randomised_are_refused() -> None:
    search = find(Words("a-z", 6), 1.0)
    mechanism = search.mechanism
    raw = mechanism.reports(mechanism.domain.encode(DRINKS))
    refused(MismatchError, "counts that chance cannot explain", search.next, mechanism.tally(raw))


@pytest.mark.parametrize("alphabet", ["a-z", "utf-8"])
def test_words_are_read_from_files(tmp_path: Path, alphabet: str) -> None:
    from tests.spec.app._command import run

    search = find(Words(alphabet, 4), 4.0)
    (tmp_path / "study.json").write_text(search.study_text)
    (tmp_path / "words.csv").write_text("word\n" + "\n".join(DRINKS) + "\n")
    names = [str(tmp_path / name) for name in ("study.json", "words.csv", "r.csv", "t.json")]
    run("randomize", *names[:2], "-o", names[2])
    run("tally", names[2], "-o", names[3])
    from warner.reports.tally import Tally

    assert search.next(Tally.load(names[3])).people == (6000,)
