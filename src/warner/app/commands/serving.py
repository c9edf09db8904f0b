"""Commands for answers of real people: serve, invite, pull, push, close, status and backup."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from warner import io as files
from warner._core.atomic_files import require_ending
from warner._core.errors import ArgumentError, WarnerError, message
from warner._core.progress import stage
from warner._core.text import in_one_line, visible
from warner.app.commands import collectors
from warner.app.commands.inviting import invite, issue, make_keys, unused
from warner.app.commands.options import options, tally_output
from warner.app.running import Interrupted
from warner.app.terminal import events_as_json, note, plural, show, warning
from warner.app.what_files_hold import (
    refuse_overwriting,
    tally_of,
    warn_of_simulation,
    write_tallies,
    write_text,
)
from warner.reports.public_columns import SMALLEST_GROUP
from warner.reports.tally import parse_tallies
from warner.studies.study import Study

if TYPE_CHECKING:
    from warner.collector.collector import Collector

_brand = options(
    click.option(
        "--logo",
        type=collectors.STUDY,
        metavar="FILE",
        help="A picture to show above the survey, at most 50 kB.",
    ),
    click.option(
        "--colours",
        metavar="LIGHT,DARK",
        help="Two colours for buttons and marks, one for light and one for dark screens, such as "
        '"#0b5c63,#6fd0d0". Colours that are hard to read are refused.',
    ),
)
_own_words = click.option(
    "--words",
    "words",
    type=collectors.STUDY,
    metavar="LANGUAGE.json",
    multiple=True,
    help='A file with your wording of the survey page in one language. Make it with "warner '
    'collect words", and change the texts. May be repeated.',
)


_MANY_MORE = 1.1  # times the planned people, from which on a wrong file is likely


@click.group()
def collect() -> None:
    """Ask people on a web page of your own, and count their answers without seeing them."""


@collect.command()
@click.argument("study", type=collectors.STUDY)
@collectors.address_options
@click.option(
    "--lan",
    is_flag=True,
    help="For people in one room: serve the survey at this machine's address in the local "
    "network, and show a QR code. The command makes a certificate for HTTPS, STUDY.lan.pem. "
    "Browsers do not know this certificate, so they warn people.",
)
@collectors.store_options
@click.option(
    "--access",
    type=click.Choice(["open"]),
    help="Let everyone with the address answer, if the study does not say who may. One person can "
    'then send several reports. To give each person a code instead, write access = "invited" into '
    "the study. Default: ask on the terminal.",
)
@click.option(
    "--people",
    type=click.IntRange(1),
    help="The planned number of people. Default: the number in the study.",
)
@click.option(
    "--step",
    type=click.IntRange(1),
    help="After how many reports the live page shows a new result. Default: the number in the "
    "study. Use 1 only for trials: whoever watches the page then sees what each single report "
    "changes. Once answers are stored, this number must not become smaller.",
)
@click.option(
    "--preview",
    is_flag=True,
    help="Only try the page: nothing is counted, and everything is deleted at the end. The page "
    "says that it is a trial.",
)
@click.option(
    "--new-texts",
    is_flag=True,
    help="Say that questions and choices still mean the same although you changed their words, for "
    "example to correct a typing error. Without this option, changed words are refused once "
    "somebody has answered.",
)
@click.option(
    "--restored",
    is_flag=True,
    help="Go on with a copy of the store, such as a backup. Reports that were accepted after "
    "the copy was made are not in the copy, and the people who sent these reports can answer "
    "again.",
)
@_brand
@_own_words
@collectors.owner_options
@collectors.live_page_options
@collectors.reach_options
@click.option(
    "--max-body",
    type=click.IntRange(1024),
    default=4 << 20,
    show_default=True,
    help="The largest request that the server accepts, in bytes, without the headers of the "
    "request.",
)
@collectors.rate_options
def serve(study: str, **choices: Any) -> None:
    """Ask the questions of STUDY on a web page, and count people's answers without seeing them.

    Two links are printed: one to the survey, one to your live page. The link to the live page ends
    in a secret, the owner's token. Keep this link: it is printed only at the first start. The
    server stores only a fingerprint of the token (SHA-256).

    Answers are randomised in the browser; the result, a report, is sent to the server. The server
    keeps only counts of the reports, and a random id of each report, so that each report is counted
    once. The server stores no reports, no times, no order and no address of a person's device, and
    does not log requests. To limit abuse, it holds each address in memory for ten minutes,
    scrambled (as a salted hash).

    Ctrl-C or SIGTERM stops the server, after it has answered all requests. When you start the
    server again, it goes on where it stopped, also after a crash. Once somebody has answered,
    change the words of questions and choices only if they mean the same as before; then add
    --new-texts.

    On devices other than this machine, browsers let the survey page work only over HTTPS. Give a
    certificate with --certificate and --key, or put the server behind a proxy that serves HTTPS.

    \b
        warner collect serve study.toml
        warner collect serve study.toml --preview
        warner collect serve study.toml --lan
        warner collect serve study.toml --host 0.0.0.0 --url https://survey.example.org
    """
    collectors.require_extra()
    from warner.collector.survey_document import survey_bytes

    plan = Study.load(study)
    survey_bytes(plan)  # refused before anything is asked for that would not help
    _decide_access(study, plan, choices)
    names = ("access", "people", "step")
    # The step of publication follows from the planned number, unless it is stated.
    if given := {name: choices[name] for name in names if choices[name] is not None}:
        stated = json.loads(plan.to_json())["study"]
        plan = Study({**stated, "collect": {**stated.get("collect", {}), **given}})
    with events_as_json() if choices["log"] == "json" else contextlib.nullcontext():
        _serve(study, plan, choices)


def _serve(path: str, study: Study, choices: dict[str, Any]) -> None:
    """Serve a study until a signal comes."""
    from warner.collector.access import Owner, invited_ids, new_codes
    from warner.collector.live.estimates import BoundedEstimates, about_many_values, too_large
    from warner.collector.live.publisher import LivePublisher
    from warner.collector.pages.brand import brand_files
    from warner.collector.pages.wording import Words, read_words, unread
    from warner.collector.remote import checked_url
    from warner.collector.restarts import Start
    from warner.collector.web.application import Application, Settings
    from warner.collector.web.lan import qr_code, what_people_see
    from warner.collector.web.server import run
    from warner.design.privacy_words import OPEN_TO_ALL

    own_words = dict(map(read_words, choices["words"]))
    brand = brand_files(choices["logo"], choices["colours"])
    words = [Words(language, own_words) for language in study.languages]
    url = None if choices["url"] is None else checked_url(choices["url"])
    address = _take_lan(path, choices) if choices["lan"] else None
    limits, listen = collectors.limits_of(choices), collectors.listening(choices, url)
    tokens_of, reached = study.collect.tokens, url or listen.url(listen.port)
    is_here = collectors.is_of_this_machine
    if tokens_of and is_here(tokens_of.issuer) and not is_here(reached):
        rule = (
            "must be an address that people's devices can reach, but only this machine can reach it"
        )
        remedy = "Make keys for another address. Run: warner collect keys --issuer https://..."
        raise ArgumentError(f"{path}: issuer", rule, tokens_of.issuer, remedy)
    served_at, preview = url, choices["preview"]
    if preview and choices["store"] is not None:
        rule = "cannot be used with --preview, which deletes its store at the end"
        raise ArgumentError("--store", rule)
    with (
        tempfile.TemporaryDirectory() if preview else contextlib.nullcontext("") as folder,
        collectors.collecting(
            path,
            study,
            str(Path(folder) / "preview.sqlite") if preview else choices["store"],
            choices["ways"],
            choices["restored"],
        ) as collector,
    ):
        start = Start(collector, study, path)
        start.check(choices["new_texts"])
        tokens = collectors.new_tokens(collector, choices)
        live = LivePublisher(collector, study, BoundedEstimates(study))
        owner = Owner(lambda: collector.owners)
        settings = Settings(
            limits,
            collectors.hosts_of(choices["hosts"], url or address, listen.host),
            own_words,
            preview,
            brand,
        )
        application = Application(study, collector, live, owner, settings)

        def ready(port: int) -> None:
            nonlocal served_at
            served_at = url or listen.url(port)
            start.keep()
            # Not before the port is ours: a token that is kept and never printed is lost.
            collectors.keep_tokens(collector, tokens, choices)
            live.start()
            _say_ready(served_at, tokens, choices["token_file"], collector, study)
            if collector.is_simulated:
                warning(_ABOUT_TRIAL)
            if preview:
                note("Preview: no report is counted, and everything is deleted at the end.")
                if study.collect.tokens is not None:
                    note(
                        'To answer on the page, also start "warner collect issue", and make '
                        "codes for this trial."
                    )
                if study.collect.access == "invited":
                    codes = new_codes(3)
                    collector.invite(invited_ids(study.digest, codes))
                    links = [f"  {served_at}#code={code}" for code in codes]
                    note("\n".join(["Links to try:", *links]))
            if choices["lan"]:
                click.echo(qr_code(f"{served_at}/", sys.stderr.encoding), err=True)
                note(what_people_see(choices["certificate"]))
            if listen.host not in collectors.LOOPBACK and not listen.is_secure:
                note(collectors.NEEDS_HTTPS)
            for said in filter(None, [unread(words), *study.texts.missing()]):
                note(said)
            if study.collect.access == "open":
                note(OPEN_TO_ALL)
            if (study.round or 1) > 1 and not collector.n:
                note(
                    "If a question has other answers or another mechanism than in the last round, "
                    "each device draws a new permanent report, which spends epsilon again. To see "
                    f"for which questions, run: warner audit {shlex.quote(path)} --after STUDY, "
                    "with the study file of the last round."
                )
            note(_about_step(study.collect.step, choices["lan"] and not study.collect.planned))
            for name, size in too_large(study).items():
                note(
                    f"No live estimate of {name}: {about_many_values(size)}. To estimate it, fetch "
                    "the tally with warner collect pull, then run: warner estimate"
                )

        try:
            run(application, listen, ready, live.stop)
        finally:
            live.stop()
    if preview:
        note("The preview is over. Nothing was kept.")
        return
    _say_stopped(path, served_at or "URL", collector, choices)
    dropping = study.collect.keep_ids == "closed" and not collector.is_final
    if collector.status() == "closed" and dropping:
        note(
            "The store still has the ids by which repeated reports are recognised. These ids "
            "are deleted when you close the survey on the live page, or when the server has run "
            "for an hour after the survey closed."
        )


def _decide_access(path: str, study: Study, choices: dict[str, Any]) -> None:
    """Who may answer, and how many people: asked on the terminal where nothing has said so."""
    stated, chosen = study.collect.access, choices["access"]
    if None not in (stated, chosen) and stated != chosen:
        rule = f'cannot change the study, which says access = "{stated}"'
        remedy = f"Leave out --access, or change that line of {path}"
        raise ArgumentError("--access", rule, chosen, remedy)
    if stated is not None or chosen is not None:
        return
    # It decides whether one person can answer twice, so no default decides it.
    if not (_is_terminal() and click.confirm(_MAY_ALL, err=True)):
        rule = "must say who may answer"
        remedy = (
            "Write one of these lines into the table [collect], for example at the end of the file"
        )
        raise ArgumentError(message(f"{path}: collect.access", rule, None, remedy) + _ACCESS)
    answers: dict[str, Any] = {"access": "open"}
    if choices["lan"] and choices["people"] is None and study.collect.planned is None:
        answers["people"] = click.prompt(_HOW_MANY, type=click.IntRange(1), err=True)
    choices |= answers
    context = click.get_current_context()
    for name, answer in answers.items():  # like options, which the next start is told again
        context.params[name] = answer
        context.set_parameter_source(name, ParameterSource.COMMANDLINE)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


_MAY_ALL = (
    "May everyone with the address answer? Then one person can send several reports. To give each "
    "person a code that counts once, answer no."
)
_HOW_MANY = "How many people are in the room?"
_ACCESS = """
  access = "invited"  # people with a code from "warner collect invite"; each code counts once
  access = "open"     # everyone with the address; one person can send several reports
  access = "tokens"   # people exchange codes for tokens; to begin, run: warner collect keys"""


def _take_lan(path: str, choices: dict[str, Any]) -> str:
    """The address of --lan as one of a page; the options say then where and how to listen."""
    from warner.collector.web.lan import certificate_file, local_address

    for option in ("host", "certificate", "key", "url"):
        source = click.get_current_context().get_parameter_source(option)
        if source is ParameterSource.COMMANDLINE:
            rule = f"chooses --{option} itself"
            raise ArgumentError("--lan", rule, None, f"Leave out --lan or --{option}")
    address = local_address()
    file = certificate_file(str(Path(path).with_suffix(".lan.pem")), address)
    choices |= {"host": address, "certificate": file, "key": file}
    return f"https://[{address}]" if ":" in address else f"https://{address}"


def _about_step(step: int, is_room: bool) -> str:
    """When the live page shows a result; of a room whose people nobody has counted, how to."""
    if step < SMALLEST_GROUP:
        from warner.collector.live.tables import about_small_steps

        return about_small_steps(step)
    said = f"The live page shows its first result after {step:,} answers."
    room = " For a room of 30 people, add --people 30: the result then comes after 30 answers."
    return said + room * is_room


def _say_stopped(path: str, url: str, collector: Collector, choices: dict[str, Any]) -> None:
    """Say what was counted, where it is, and what to do next."""
    from warner.collector.stores import shown_store

    answered = plural(collector.n, "person has answered", "people have answered")
    store_name = shown_store(choices["store"], path)
    note(f"Stopped. {answered}. The counts are in {store_name}.")
    again = shlex.join(["warner", "collect", "serve", path, *collectors.given_again(store_name)])
    if collector.status() == "closed":
        trusted = ["--trust", lan] if (lan := choices["lan"] and choices["certificate"]) else []
        of_owner = "--token-file", choices["token_file"] or "token.txt"
        pull = shlex.join(
            ["warner", "collect", "pull", url, *of_owner, *trusted, "-o", tally_of(path)]
        )
        first = "" if choices["token_file"] else "put the owner's token into token.txt, "
        note(
            f"The survey is closed. To fetch the tally, {first}start the server again:\n  {again}\n"
            f"and run in another terminal:\n  {pull}"
        )
        if public := Study.load(path).public:
            columns = " or ".join(f"--by {name}" for name in public)
            note(f"To fetch a tally of groups, add {columns}.")
    else:
        note(f"To continue the survey, run:\n  {again}")


def _say_ready(
    url: str, tokens: Mapping[str, str], file: str | None, collector: Collector, study: Study
) -> None:
    """Print the addresses, with new tokens; the owner's is also in ``file``, where one is named."""
    from warner.collector.access import METRICS
    from warner.collector.survey_document import about_fingerprint

    click.echo(f"Survey:      {url}/")
    if "" not in tokens:
        whose = "of the first start" if file is None else f"in {file}"
        click.echo(f"Live result: {url}/live (with the token {whose})")
        note("If you lost that token, make another with --new-token.")
    for name, token in tokens.items():
        of_whom = f" of {name}" if name else ""
        if name == METRICS:
            click.echo(f"Token for the metrics at {url}/live/metrics: {token}")
        else:
            click.echo(f"Live result{of_whom}: {url}/live?token={token}")
    if tokens:
        note("Note down each token now: no token is shown again.")
    note(about_fingerprint(study))
    counted = plural(collector.n, "report is counted", "reports are counted")
    status, opens = collector.status(), study.collect.opens
    note(f"The survey is {status.replace('_', ' ')}. So far, {counted}.")
    if status == "not_open" and opens is not None:
        note(f"The survey opens at {opens.isoformat(' ', 'minutes')}.")
    note("Ctrl-C stops the server.")


@collect.command()
@click.option(
    "--language",
    default="en",
    show_default=True,
    help="The language of the texts in the new file.",
)
@click.option(
    "-o", "--output", required=True, help="The file to write. Its name says the language: de.json."
)
def words(language: str, output: str) -> None:
    """Write all texts of the survey page to a file, so that somebody can translate or check them.

    In the file, each text stands after its name (key). Translate the texts. Do not change the keys,
    or anything in {braces}. Where words depend on a number, write {"by": "count", "one": "...",
    "other": "..."} in place of the text.

    No sentence about protection may promise more than the English one. After "read_by", write the
    name of a native speaker who has read the file.

    \b
        warner collect words -o sw.json
        warner collect serve study.toml --words sw.json
    """
    collectors.require_extra()
    from warner.collector.pages.wording import Words

    refuse_overwriting(output)
    if output != "-" and Path(output).exists():
        raise ArgumentError(output, "already exists", None, "Choose another name")
    write_text(Words(language).file, output)


@collect.command("poster")
@click.argument("study", type=collectors.STUDY)
@click.argument("url")
@click.option("-o", "--output", required=True, help="The page to write, such as poster.html.")
@_own_words
def make_poster(study: str, url: str, output: str, words: tuple[str, ...]) -> None:
    """Make a poster for the survey STUDY at URL: a page to print, with a QR code.

    The poster has the title, the web address, and what happens to answers, in all languages of the
    study.

    \b
        warner collect poster study.toml https://survey.example.org -o poster.html
    """
    collectors.require_extra()
    from warner.collector.pages.poster import poster
    from warner.collector.pages.wording import read_words
    from warner.collector.remote import checked_url
    from warner.collector.survey_document import survey_bytes

    plan, address = Study.load(study), checked_url(url)
    if plan.collect.has_codes:
        rule = (
            "lets only invited people answer, each with a link of their own, so a poster cannot "
            "show one link for all"
        )
        remedy = (
            f"To make the links, run: warner collect invite {study} --url {url} -o codes.csv "
            "-n NUMBER"
        )
        raise ArgumentError(study, rule, None, remedy)
    if output != "-":
        require_ending(output, ".html", remedy="A browser prints the page, also as PDF")
    refuse_overwriting(output, study)
    survey_bytes(plan)  # refused before anybody reads of it
    write_text(poster(plan, f"{address}/", dict(map(read_words, words))), output)


@collect.command("verify")
@click.argument("url")
@click.option(
    "--study",
    "path",
    type=collectors.STUDY,
    metavar="STUDY",
    help="Your copy of the study file, if you have one: the command checks that URL serves the "
    "same study.",
)
@click.option(
    "--draws",
    type=click.IntRange(1_000, 10**8),
    default=1_000_000,
    show_default=True,
    help="How many reports the page makes for the check, for all questions together. No report "
    "is sent.",
)
@collectors.trust_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify_survey(url: str, path: str | None, draws: int, trust: str | None, as_json: bool) -> None:
    """Check whether the survey at URL protects answers as it says. Anybody can do this.

    The browser Chromium opens the survey and answers it twice, with different answers. What the
    page would send is caught and checked, and never reaches the collector.

    The page must be a page of warner, with exactly the scripts of this version. It must load
    nothing else, set no cookie, and keep only sealed data in the browser. It must change answers at
    random with the odds that the survey states for each question. To see this, the command checks
    the numbers that the page uses, and many reports that it makes. What the page sends must have
    the same length for all answers.

    Only the page that you receive now is checked: a collector can send another page to other
    people. The exit status is 1 if anything is wrong, or could not be checked. Playwright and
    Chromium are needed.

    \b
        warner collect verify https://survey.example.org --study study.toml
        warner collect verify https://192.0.2.2:8000 --trust study.lan.pem
    """
    from warner.collector.remote import checked_url
    from warner.collector.verification import verify

    study = None if path is None else Study.load(path)
    with stage("checking"):
        checks = verify(f"{checked_url(url)}/", study, draws, trust)
    if as_json:
        rows = [
            {
                "check": c.name,
                "holds": c.holds,
                "is_made": c.is_made,
                "violations": list(c.violations),
                "detail": c.detail,
            }
            for c in checks
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        for check in checks:
            for line in check.violations or [check.detail]:
                state = "ok" if check.holds else "WRONG" if check.is_made else "not checked"
                show(f"{state:5} {check.name}: {line}")
    if not all(check.holds for check in checks):
        raise SystemExit(1)


for _command in (invite, unused, make_keys, issue):
    collect.add_command(_command)


@collect.command()
@click.argument("url")
@tally_output
@collectors.access_options
@click.option(
    "--by",
    metavar="NAME",
    help="Count each group of people separately, by this public column.",
)
def pull(url: str, output: str, access: collectors.Access, by: str | None) -> None:
    """Fetch the tally (file of counts) of the collector at URL, with all that is published so far.

    The command needs the owner's token. Give it in a file or an environment variable: other users
    of the computer could see a token on the command line.

    Close the survey before you fetch its last tally: everything that was counted is then published.
    To add the tallies of several collectors of one study, run: warner merge.

    \b
        warner collect pull https://survey.example.org --token-file token.txt -o tally.json
        warner merge north.json south.json -o tally.json
    """
    remote = access.as_owner("collect pull", url)
    status = remote.status_of_last_step()
    tallies = parse_tallies(remote.tally(by), remote.url)
    everybody = tallies if by is None else parse_tallies(remote.tally(), remote.url)
    if output != "-" and Path(output).exists():
        note(f"Replaced: {in_one_line(output)}")
    write_tallies(tallies, output)
    if any(tally.simulated for tally in tallies.values()):
        warn_of_simulation(remote.url)
    people = max(tally.n for tally in everybody.values())
    _say_counted(people, status.planned, is_news=False)
    if (waiting := status.people - status.published) > 0:
        remedy = "To fetch a tally of everybody, close the survey first: warner collect close"
        if status.is_estimating:
            remedy = (
                "The next result is being computed now. To fetch it, run the command again in a "
                "minute"
            )
        note(
            f"Not in this tally: {plural(waiting, 'person', 'people')} counted after the last "
            f"published result. {remedy}."
        )
    in_groups = {name: tally.n for name, tally in tallies.items()}
    hidden = max(tally.n - in_groups.get(name, 0) for name, tally in everybody.items())
    if hidden > 0:
        note(
            f"Left out: {plural(hidden, 'person', 'people')}, so that nobody in a group of fewer "
            f"than {SMALLEST_GROUP} people is recognised. To count all people together, leave "
            "out --by."
        )


@collect.command()
@click.argument("url")
@collectors.access_options
def close(url: str, access: collectors.Access) -> None:
    """Close the survey of the collector at URL, and publish everything that was counted.

    The command needs the owner's token. Reports that come later are refused. The collector
    recognises repeated reports by their ids. The collector now deletes these ids, so the survey
    cannot be opened again. But if the study says keep_ids = "always", the collector keeps the ids,
    and the live page has a button to open the survey again.

    \b
        warner collect close https://survey.example.org --token-file token.txt
        warner collect pull https://survey.example.org --token-file token.txt -o tally.json
    """
    access.as_owner("collect close", url).close()
    note("The survey is closed.")


@collect.command()
@click.argument("study", type=collectors.STUDY)
@click.option(
    "--server",
    metavar="URL",
    help="The address of the running collector. Give the owner's token too.",
)
@collectors.access_options
@collectors.store_options
@click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON, for a monitoring program."
)
def status(
    study: str,
    server: str | None,
    access: collectors.Access,
    store: str | None,
    ways: int | None,
    as_json: bool,
) -> None:
    """Show the state of the collector of STUDY: its survey, its store and its last backup.

    While a server runs and its store is a file, give --server and the owner's token. A store in a
    database can also be read directly.

    About people, the command says only what the live page says: how many are counted, and how many
    of them are published. Only a running server knows the minute of the last report, and forgets it
    when it stops.

    \b
        warner collect status study.toml
        warner collect status study.toml --server https://survey.example.org --token-file token.txt
    """
    from warner.collector.refusals import Refused
    from warner.collector.status import status_of
    from warner.collector.stores import shown_store, store_at, usual_store

    if "://" in study:
        rule, remedy = "must be the study file", "Give the address with --server, after the study"
        raise ArgumentError("STUDY", rule, "an address", remedy)
    plan = Study.load(study)
    remote = access.running(server, server, store, ways)
    if remote is not None:
        answer = remote.status()
    else:
        if not store_at(store or usual_store(study)).exists():
            remedy = 'Start the survey with the command "warner collect serve"'
            raise ArgumentError(shown_store(store, study), "holds no counts yet", None, remedy)
        try:
            with collectors.collecting(study, plan, store, ways) as collector:
                answer = status_of(plan, collector)
        except Refused as error:
            if error.name != "store_in_use":
                raise
            remedy = "Ask the running server: add --server and --token-file"
            raise error.with_remedy(remedy) from None
    click.echo(answer.to_json() if as_json else "\n".join(answer.lines()), nl=not as_json)


@collect.command()
@click.argument("url")
@collectors.access_options
def backup(url: str, access: collectors.Access) -> None:
    """Copy the store of the collector at URL while it runs.

    The command needs the owner's token. The collector writes the copy beside its store, with
    -backup at the end of the name, and replaces the earlier copy. Move the copy to another disk.
    The copy is complete, and shows the store at one moment. The copy is not sent to you, because it
    has counts that are not yet published.

    Keep few copies: whoever has copies from two times can see what was counted between these times.

    If the store is a database, back it up with its own tool, pg_dump.

    \b
        warner collect backup https://survey.example.org --token-file token.txt
        warner collect restore study.counts.sqlite-backup study.counts.sqlite
    """
    name = access.as_owner("collect backup", url).backup()
    note(f"Written: {visible(name)}, on the collector's machine, beside the file with the counts.")


@collect.command()
@click.argument("backup", type=collectors.STUDY)
@click.argument("store", type=collectors.STUDY)
def restore(backup: str, store: str) -> None:
    """Make the file STORE from BACKUP, a copy of a store, and check that it is undamaged.

    No file is replaced: first move away the files of the old store.

    Reports that were accepted after the copy was made are not in the copy. Devices do not send
    these reports again, because each device got a reply. But people with invitations can answer
    again, and two reports of one person tell as much as one report with twice the epsilon. So
    warner collect serve refuses the new store until you add --restored.

    \b
        warner collect restore study.counts.sqlite-backup study.counts.sqlite
        warner collect serve study.toml --restored
    """
    from warner.collector.stores import SQLiteStore, is_database

    if is_database(store):
        rule, remedy = "is a database", "Restore it with its own tool, pg_restore"
        raise ArgumentError("STORE", rule, None, remedy)
    SQLiteStore(store).restore(backup)
    note(
        f"{store} is ready, and undamaged. The reports that were accepted after the copy was "
        "made are missing. To go on without these reports, run: warner collect serve STUDY "
        "--restored"
    )


@collect.command()
@click.argument("reports", type=click.Path(dir_okay=False))
@click.argument("url")
@collectors.access_options
@click.option(
    "--start",
    type=click.IntRange(0),
    default=0,
    help="Begin after this many rows, which an earlier run has sent.",
)
@click.option(
    "--allow-simulated",
    is_flag=True,
    help="For a trial: also send simulated reports, which were made with a seed. This needs the "
    "owner's token and a store without real reports. The collector then refuses real reports, and "
    "all that it publishes says that the reports are simulated.",
)
@click.option(
    "--allow-other-title",
    is_flag=True,
    help="Send reports although their study has another title than the study of the collector, for "
    "example because you changed the title.",
)
def push(
    reports: str,
    url: str,
    access: collectors.Access,
    start: int,
    allow_simulated: bool,
    allow_other_title: bool,
) -> None:
    """Send a file of reports to the collector at URL, so that it counts them.

    The file and the collector must have studies with the same title. This protects against
    mistakes: two weeks of one survey can have the same questions, and what was counted cannot be
    taken out again.

    1,000 reports are sent at a time. If the connection breaks, send the same unchanged file again:
    no report is counted twice. With the owner's token, the collector does not limit how many
    reports you send per second.

    \b
        warner randomize study.toml answers.csv -o reports.parquet
        warner collect push reports.parquet https://survey.example.org --token-file token.txt
    """
    from warner.collector.remote import BulkUpload, Later

    upload = BulkUpload(files.open_reports(reports), allow_simulated)
    remote = access.as_owner(_OF_TRIAL, url) if upload.is_simulated else access.remote(url)
    upload.require_study(remote.study(), remote.url, allow_other_title)
    before = None if remote.token is None else remote.status()
    sent = start
    new: list[int | None] = []  # how many reports of each batch were not counted before
    # Without the rows of an earlier run, which took no time of this one.
    with stage("sending", max(0, upload.n - start)) as tell:
        try:
            for body, end in upload.bodies(start):
                new.append(remote.send(body, upload.is_simulated))
                sent = end
                tell(sent - start)
        except KeyboardInterrupt:
            raise Interrupted(_sent(sent, upload.n)) from None
        except WarnerError as error:
            note(f"{_sent(sent, upload.n, isinstance(error, Later))}.")
            raise
    accepted = f"{plural(sent - start, 'report was', 'reports were')} accepted"
    if upload.is_simulated:
        note(_ABOUT_TRIAL)
    if before is None or None in new:
        status = shlex.join(["--server", remote.url, *access.given])
        note(
            f"{accepted}. Each report counts once, even if it was sent before. To see how many "
            f"people are counted in all, run: warner collect status STUDY {status}"
        )
        return
    n_new = sum(count or 0 for count in new)
    if n_old := sent - start - n_new:
        again = f"{n_old:,} that were counted before and are not counted again"
        note(f"{accepted}: {n_new:,} new, and {again}.")
    else:
        note(f"{accepted}, all of them new.")
    shown = remote.status_with(before.people + n_new)
    _say_counted(max(shown.people, before.people + n_new), shown.planned)


def _say_counted(people: int, planned: int | None, is_news: bool = True) -> None:
    """Warn where more people are counted than the study planned; else say how many, if news."""
    counted = f"{plural(people, 'person is', 'people are')} counted now"
    if planned is not None:
        counted += f", and the study planned {planned:,}"
    if planned is not None and people > _MANY_MORE * planned:
        question = "Check whether a file of another survey was sent to the collector."
        warning(f"{counted}. {question}")
    elif is_news:
        note(f"{counted}.")


_OF_TRIAL = "collect push of simulated reports"
_ABOUT_TRIAL = (
    "This collector counts simulated reports, and refuses real ones. Start the real survey with a "
    "new store: --store NAME."
)


def _sent(sent: int, n: int, can_go_on: bool = True) -> str:
    """What became of an upload that ended early."""
    accepted = f"{sent:,} of {plural(n, 'report was', 'reports were')} accepted"
    if not can_go_on:
        return accepted
    start = (
        f" with --start {sent}. Even without --start, no report is counted twice" if sent else ""
    )
    return f"{accepted}. To go on, run the same command{start or ' again'}"
