"""The package for npm: what it holds, and that node, a bundler and a page of another origin use it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser._collecting import Relay
from tests.js._node import MODULE, node
from warner.collector.survey_document import survey_bytes
from warner.studies.study import Study

HERE = Path(__file__).parent
COMPILER = HERE / "node_modules" / "typescript" / "bin" / "tsc"
STUDY = """
[attributes.theme]
values = ["light", "dark"]
mechanism = "RandomizedResponse"
epsilon = 1.0
[collect]
access = "open"
origins = ["ORIGIN"]
"""
SEALING = """
import { readFileSync } from "node:fs";
import { body, readSurvey, seal } from "warner-survey";
const survey = await readSurvey(readFileSync("study.json"));
const bytes = body(survey, [await seal(survey, { answers: { theme: "dark" } })]);
console.log(bytes.length);
"""
TYPED = """
import { readSurvey, seal, type Survey } from "warner-survey";
import { send } from "warner-survey/send";
import { send as keep } from "warner-survey/node";
const survey: Survey = await readSurvey(new Uint8Array());
await seal(survey, { answers: { theme: "dark" } });
const outcome: string = await send({ theme: "dark" }, { collector: "https://x.example.org" });
const log = (message: string, reason: string) => console.error(message, reason);
const place = { collector: "https://x.example.org", folder: "anna", log };
const isKept: boolean = (await keep({ theme: "dark" }, place)) === "already";
console.log(outcome, isKept);
"""
WRONG = """
import { readSurvey, seal } from "warner-survey";
import { send as keep } from "warner-survey/node";
const survey = await readSurvey("no bytes");
await seal(survey, { answers: ["yes"] });
await keep({ theme: "dark" }, { collector: "https://x.example.org" });
survey.questions = [];
"""
APP = """
import { send } from "warner-survey/send";
document.getElementById("said").textContent = await send(
  { theme: "dark" }, { collector: "SURVEY" },
);
"""
PAGE = '<!doctype html><p id="said">...</p><script type="module" src="/app.js"></script>'
ELEMENT = """<!doctype html>
<title>A clinic</title>
<script type="module" src="SURVEYelement.js"></script>
<warner-survey title="Our survey" style="display: block; height: 40rem"></warner-survey>
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the packed package is installed, without a connection."""
    laid, app = tmp_path_factory.mktemp("laid"), tmp_path_factory.mktemp("app")
    node(str(HERE / "build.mjs"), str(laid))
    (app / "package.json").write_text('{"private": true, "type": "module"}')
    npm("pack", "--pack-destination", str(app), folder=laid)
    npm("install", "--offline", str(next(app.glob("*.tgz"))), folder=app)
    return app


def npm(*arguments: str, folder: Path) -> None:
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        ["npm", *arguments, *quiet], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_served_file_is_that_of_its_modules(installed: Path) -> None:
    """Rejects: a file that was not made anew after a module was changed."""
    made = (installed / "node_modules" / "warner-survey" / "warner.js").read_text()
    assert made == (MODULE / "warner.js").read_text(), "make it anew: make browser-module"


def test_the_package_has_its_licence_and_all_that_it_names(installed: Path) -> None:
    package = installed / "node_modules" / "warner-survey"
    about = json.loads((package / "package.json").read_text())
    named = [path for one in about["exports"].values() for path in one.values()]
    assert all((package / path).is_file() for path in named)
    assert (package / "LICENSE").read_text() == (HERE.parents[1] / "LICENSE").read_text()
    assert "dependencies" not in about and "scripts" not in about


def test_node_seals_with_it(installed: Path) -> None:
    study = Study.parse(STUDY.replace("ORIGIN", "https://app.example.org"))
    (installed / "study.json").write_bytes(survey_bytes(study))
    (installed / "sealing.mjs").write_text(SEALING)
    done = subprocess.run(
        ["node", "sealing.mjs"], cwd=installed, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "53", done.stderr  # 36 of the body, an id of 16, and a report


def test_its_types_fit_and_refuse_what_is_wrong(installed: Path) -> None:
    options = ["--ignoreConfig", "--strict", "--noEmit", "--target", "es2022", "--types", ""]
    options += ["--lib", "es2022,dom", "--module", "esnext", "--moduleResolution", "bundler"]
    for name, text in (("typed.ts", TYPED), ("wrong.ts", WRONG)):
        (installed / name).write_text(text)
    node(str(COMPILER), *options, str(installed / "typed.ts"))
    with pytest.raises(AssertionError) as refused:
        node(str(COMPILER), *options, str(installed / "wrong.ts"))
    # An argument of another type, or without its folder; an entry that stays as it is.
    for code in ("TS2345", "TS2540"):
        assert code in str(refused.value)


def test_a_bundled_app_of_another_origin_sends_once(
    installed: Path, people: Any, serve: Any, other_site: Any
) -> None:
    """Rejects a package that sends to the address of the bundle in place of the collector's."""
    served = serve(STUDY.replace("ORIGIN", other_site.origin))
    relay = Relay(served.url)
    (installed / "app.js").write_text(APP.replace("SURVEY", relay.url.rstrip("/")))
    vite = [str(HERE / "node_modules" / "vite" / "bin" / "vite.js"), "build", str(installed)]
    (installed / "vite.config.js").write_text(
        'export default { logLevel: "error", build: { target: "es2022", lib: '
        '{ entry: "app.js", formats: ["es"], fileName: () => "app.js" } } };'
    )
    node(*vite)
    other_site.files["/app.js"] = (installed / "dist" / "app.js").read_bytes()
    other_site.page = PAGE
    relay.lost_replies = 1
    page = people.person().new_page()
    for outcome in ("sent", "already"):
        page.goto(other_site.origin)
        page.locator("#said", has_text=outcome).wait_for()
    assert len({sent.body for sent in relay.posts}) == 1
    relay.stop()
    assert served.people() == 1


def test_the_element_shows_the_survey_and_tells_the_page_nothing(
    people: Any, serve: Any, other_site: Any
) -> None:
    """Rejects a frame whose messages, or whose height, tell the page around it an answer."""
    served = serve(STUDY.replace("ORIGIN", other_site.origin))
    other_site.page = ELEMENT.replace("SURVEY", served.url)
    page = people.person().new_page()
    page.add_init_script("globalThis.told = []; addEventListener('message', (m) => told.push(m))")
    page.goto(other_site.origin)
    frame = page.frame_locator("warner-survey iframe")
    height = page.locator("warner-survey").bounding_box()
    frame.locator("#continue:not([disabled])").wait_for()
    frame.locator('input[name="q0"][value="1"]').check()
    frame.locator("#continue").click()
    frame.locator("#send").click()
    frame.locator("#state-sent:not([hidden])").wait_for()
    assert page.evaluate("told.length") == 0
    assert page.locator("warner-survey").bounding_box() == height
    assert page.evaluate("document.querySelector('warner-survey').shadowRoot.textContent") == ""
    assert served.people() == 1
