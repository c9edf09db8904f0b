"""Commands for answers of real people: serve, invite, pull, push, close, status and backup."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from warner import io as files
from warner._core.atomic_files import read_whole
from warner._core.errors import ArgumentError, MissingExtraError, WarnerError, message
from warner._core.progress import stage
from warner._core.text import visible
from warner.app.commands.options import options, tally_output
from warner.app.running import Interrupted
from warner.app.terminal import events_as_json, plural, show
from warner.app.what_files_hold import refuse_overwriting, write_tallies, write_text
from warner.reports.public_columns import SMALLEST_GROUP
from warner.reports.tally import parse_tallies
from warner.studies.study import Study

if TYPE_CHECKING:
    from warner.collector.collector import Collector
    from warner.collector.remote import Remote

_STUDY = click.Path(dir_okay=False)
_store = options(
    click.option(
        "--store",
        metavar="PATH",
        help="Where counts and spent ids are kept: a SQLite file, or postgresql://HOST/DATABASE. "
        "Default: a file beside the study, STUDY.counts.sqlite.",
    ),
    click.option(
        "--ways",
        type=click.IntRange(1),
        help="Also count joint reports: keep tables of all sets of this many attributes "
        "(2: pairs). It cannot be changed later.",
    ),
)


def _require_extra() -> None:
    """Refuse to go on without the packages that serving needs."""
    try:
        import babel
        import cryptography
        import httptools
        import jinja2
        import segno
        import starlette
        import uvicorn
    except ImportError as error:
        remedy = 'Install them: pip install "warner[serve]"'
        rule = f"needs packages that are not installed ({error.name})"
        raise MissingExtraError("warner collect serve", rule, None, remedy) from None
    del babel, cryptography, httptools, jinja2, segno, starlette, uvicorn


@contextlib.contextmanager
def _collecting(
    path: str, study: Study, store: str | None, ways: int | None, restored: bool = False
) -> Iterator[Collector]:
    """The collector of a study, which is stopped at the end."""
    from warner.collector.collector import Collector
    from warner.collector.stores import store_at, usual_store
    from warner.collector.survey_document import survey_bytes

    survey_bytes(study)  # refused before a store is made
    collector = Collector(study, store_at(store or usual_store(path), restored), ways)
    try:
        yield collector
    finally:
        collector.stop()


_brand = options(
    click.option(
        "--logo", type=_STUDY, metavar="FILE", help="A picture above the survey, at most 50 kB."
    ),
    click.option(
        "--colours",
        metavar="LIGHT,DARK",
        help="Two colours of buttons and marks, on light and on dark screens: "
        '"#0b5c63,#6fd0d0". Colours that are hard to read are refused.',
    ),
)
_own_words = click.option(
    "--words",
    "words",
    type=_STUDY,
    metavar="LANGUAGE.json",
    multiple=True,
    help="Words of the page itself in a language, of warner collect words. May be repeated.",
)


@click.group()
def collect() -> None:
    """Ask real people on a web page, and count their reports: serve, invite, pull, push, close."""


@collect.command()
@click.argument("study", type=_STUDY)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port to listen on; 0 for one that is free.",
)
@click.option(
    "--lan",
    is_flag=True,
    help="For the people in one room: serve HTTPS at this machine's address in the local network, "
    "with a certificate made here, STUDY.lan.pem, about which browsers warn; show a QR code.",
)
@_store
@click.option(
    "--people", type=click.IntRange(1), help="The planned number of people. Default: the study's."
)
@click.option(
    "--step",
    type=click.IntRange(1),
    help="The live page shows a new result after so many reports. Default: the study's. 1 is for "
    "trials: whoever watches the page then sees what each single report changes. It must not be "
    "smaller than before in the same store.",
)
@click.option(
    "--preview",
    is_flag=True,
    help="Try the page: nothing is counted, the page says so, and the store goes when this ends.",
)
@click.option(
    "--new-texts",
    is_flag=True,
    help="Other words of questions or choices than before mean the same, as after a corrected "
    "typing error. Otherwise a store with answers refuses them.",
)
@click.option(
    "--restored",
    is_flag=True,
    help="Go on with a store that is a backup or another copy, and lacks the reports that were "
    "accepted after it was made. Their people can answer again.",
)
@_brand
@_own_words
@click.option("--new-token", is_flag=True, help="Make a new token for the owner. The old one ends.")
@click.option(
    "--token-for",
    "new_names",
    metavar="NAME",
    multiple=True,
    help="Make a token for somebody else, who can do all that the owner can. The live page says "
    "whose token closed the survey. The name metrics is for Prometheus. May be repeated.",
)
@click.option(
    "--end-token",
    "ended",
    metavar="NAME",
    multiple=True,
    help="End the token of NAME. May be repeated.",
)
@click.option(
    "--url",
    metavar="URL",
    help="The address by which people reach the survey, if it is not that of --host and --port.",
)
@click.option(
    "--allowed-host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="Answer only requests that name this host or this machine itself (localhost, 127.0.0.1). "
    "May be repeated. Default: the host of --url; without it, this machine where it listens to "
    "itself alone, or else any.",
)
@click.option("--root-path", default="", help="The path that a proxy takes away, such as /survey.")
@click.option(
    "--proxy",
    metavar="ADDRESS,...",
    help="Believe what proxies at these addresses say about the sender (X-Forwarded-For, "
    "X-Forwarded-Proto). Default: nobody.",
)
@click.option("--certificate", type=_STUDY, help="The file of a certificate, to serve HTTPS.")
@click.option("--key", type=_STUDY, help="The file of the key of --certificate.")
@click.option(
    "--max-body",
    type=click.IntRange(1024),
    default=4 << 20,
    show_default=True,
    help="The largest body of a request, in bytes.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Reports a second from one address; 0 for no limit. The owner's token lifts it.",
)
@click.option(
    "--burst",
    type=click.IntRange(1),
    default=1_000,
    show_default=True,
    help="Reports from one address at once, before --rate counts.",
)
@click.option(
    "--rate-of-all",
    type=click.FloatRange(0),
    default=20_000.0,
    show_default=True,
    help="Reports a second from all addresses together; 0 for no limit.",
)
@click.option(
    "--log",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: each line on standard error is one event in JSON, with its time.",
)
def serve(study: str, **choices: Any) -> None:
    """Ask the questions of STUDY on a web page, and count the answers of real people.

    Two addresses are printed: one of the survey, and one of the owner's live page, which ends in
    the owner's token. The token is printed once, when it is made. Only its SHA-256 is kept.

    Answers are randomised in the browser. What is kept of the reports: counts, and the random ids
    of the reports that are counted. Neither reports, nor addresses, nor times, nor an order are
    kept, and requests are not logged. To limit abuse, a salted hash of each address is kept in
    memory for ten minutes.

    Ctrl-C or SIGTERM ends it, after all requests were answered. It goes on where it stopped when it
    is started again, also after a crash. Once somebody has answered, the words of questions and
    choices must stay as they are, or --new-texts says that they mean the same.

    Browsers offer what the survey page needs on this machine's own address and over HTTPS only.
    Give --certificate and --key, or put it behind a proxy that speaks HTTPS.

    \b
        warner collect serve study.toml
        warner collect serve study.toml --preview
        warner collect serve study.toml --lan
        warner collect serve study.toml --host 0.0.0.0 --url https://survey.example.org
    """
    _require_extra()
    plan = _with_options(Study.load(study), choices["people"], choices["step"])
    with events_as_json() if choices["log"] == "json" else contextlib.nullcontext():
        _serve(study, plan, choices)


def _with_options(study: Study, people: int | None, step: int | None) -> Study:
    """A study with the planned number of people, and the step, that were asked for."""
    stated_options = {"people": people, "step": step}
    given = {name: value for name, value in stated_options.items() if value is not None}
    if not given:
        return study
    # The step of publication follows from the planned number, unless it is stated.
    stated = json.loads(study.to_json())["study"]
    stated["collect"] = {**stated.get("collect", {}), **given}
    return Study(stated)


def _serve(path: str, study: Study, choices: dict[str, Any]) -> None:
    """Serve a study until a signal comes."""
    from warner.collector.access import Owner, invited_ids, new_codes, new_token, token_hash
    from warner.collector.live.estimates import BoundedEstimates, about_many_values, too_large
    from warner.collector.live.publisher import LivePublisher
    from warner.collector.live.tables import OPEN_TO_ALL, about_small_steps
    from warner.collector.pages.brand import brand_files
    from warner.collector.pages.wording import Words, read_words, unread
    from warner.collector.remote import checked_url
    from warner.collector.restarts import Start
    from warner.collector.web.application import Application, Settings
    from warner.collector.web.lan import qr_code, what_people_see
    from warner.collector.web.limits import Limits
    from warner.collector.web.server import ListenAddress, run

    if study.collect.access is None:
        # It decides whether one person can answer twice, so no default decides it.
        rule = "must say who may answer"
        remedy = "Write one of these into the table [collect], at the end of the file for example"
        raise ArgumentError(message(f"{path}: collect.access", rule, None, remedy) + _ACCESS)
    if (choices["certificate"] is None) != (choices["key"] is None):
        rule = "must be given together"
        raise ArgumentError("--certificate and --key", rule)
    own_words = dict(map(read_words, choices["words"]))
    brand = brand_files(choices["logo"], choices["colours"])
    words = [Words(language, own_words) for language in study.languages]
    url = None if choices["url"] is None else checked_url(choices["url"])
    address = _take_lan(path, choices) if choices["lan"] else None
    rate_of_all = choices["rate_of_all"]
    limits = Limits(
        body=choices["max_body"],
        rate=choices["rate"],
        burst=choices["burst"],
        rate_of_all=rate_of_all,
        burst_of_all=max(100_000, int(5 * rate_of_all)),
    )
    listen = ListenAddress(
        choices["host"],
        choices["port"],
        choices["root_path"].rstrip("/"),
        choices["proxy"],
        choices["certificate"],
        choices["key"],
        is_secure=(url or "").startswith("https:") or choices["certificate"] is not None,
    )
    served_at, preview = url, choices["preview"]
    if preview and choices["store"] is not None:
        raise ArgumentError(
            "--store", "does not go with --preview, which deletes its store at the end"
        )
    with (
        tempfile.TemporaryDirectory() if preview else contextlib.nullcontext("") as folder,
        _collecting(
            path,
            study,
            str(Path(folder) / "preview.sqlite") if preview else choices["store"],
            choices["ways"],
            choices["restored"],
        ) as collector,
    ):
        start = Start(collector, study, path)
        start.check(choices["new_texts"])
        new_names = _checked_names(collector.owners, choices["new_names"], choices["ended"])
        if choices["new_token"] or "" not in collector.owners:
            new_names = ["", *new_names]
        tokens = {name: new_token() for name in new_names}
        live = LivePublisher(collector, study, BoundedEstimates(study))
        owner = Owner(lambda: collector.owners)
        settings = Settings(
            limits, _hosts(choices["hosts"], url or address, listen.host), own_words, preview, brand
        )
        application = Application(study, collector, live, owner, settings)

        def ready(port: int) -> None:
            nonlocal served_at
            served_at = url or listen.url(port)
            start.keep()
            # Not before the port is ours: a token that is kept and never printed is lost.
            for name, token in tokens.items():
                collector.keep_owner(name, token_hash(token))
            for name in choices["ended"]:
                collector.keep_owner(name, b"")
            if choices["log"] == "json":
                logging.getLogger("warner.collector").setLevel(logging.INFO)
            live.start()
            _say_ready(served_at, tokens, collector, study)
            if preview:
                click.echo(
                    "Preview: no report is counted, and all of it goes at the end.", err=True
                )
                if study.collect.access == "invited":
                    codes = new_codes(3)
                    collector.invite(invited_ids(study.digest, codes))
                    links = [f"  {served_at}#code={code}" for code in codes]
                    click.echo("\n".join(["Links to try:", *links]), err=True)
            if choices["lan"]:
                click.echo(qr_code(f"{served_at}/", sys.stderr.encoding), err=True)
                click.echo(what_people_see(choices["certificate"]), err=True)
            if listen.host not in _LOOPBACK and not listen.is_secure:
                click.echo(_NEEDS_HTTPS, err=True)
            for said in filter(None, [unread(words), _about_missing(study)]):
                click.echo(said, err=True)
            if study.collect.access == "open":
                click.echo(OPEN_TO_ALL, err=True)
            if study.collect.step < SMALLEST_GROUP:
                click.echo(about_small_steps(study.collect.step), err=True)
            for name, size in too_large(study).items():
                click.echo(
                    f"No live estimate of {name}: {about_many_values(size)}. "
                    "Load its tally, and use warner estimate.",
                    err=True,
                )

        try:
            run(application, listen, ready, live.stop)
        finally:
            live.stop()
    if preview:
        click.echo("The preview is over. Nothing of it was kept.", err=True)
        return
    _say_stopped(path, choices["store"], served_at or "URL", collector)
    dropping = study.collect.keep_ids == "closed" and not collector.is_final
    if collector.status() == "closed" and dropping:
        click.echo(
            "The ids that tell repeats are still there. They are dropped when it has run for an "
            "hour after closing, or when you close the survey on the live page.",
            err=True,
        )


_NEEDS_HTTPS = (
    "Other devices cannot answer yet: browsers let the page work over HTTPS only, but on this "
    "machine. Give --certificate and --key, or --url https://... of a proxy that speaks HTTPS."
)
_ACCESS = """
  access = "invited"  # people with a code of "warner collect invite", which counts once
  access = "open"     # everyone with the address; one person can send several reports"""


def _take_lan(path: str, choices: dict[str, Any]) -> str:
    """The address of --lan as one of a page; the options say then where and how to listen."""
    from warner.collector.web.lan import certificate_file, local_address

    for option in ("host", "certificate", "key", "url"):
        source = click.get_current_context().get_parameter_source(option)
        if source is ParameterSource.COMMANDLINE:
            rule = f"chooses what --{option} states"
            raise ArgumentError("--lan", rule, None, "Leave one of the two out")
    address = local_address()
    file = certificate_file(str(Path(path).with_suffix(".lan.pem")), address)
    choices |= {"host": address, "certificate": file, "key": file}
    return f"https://[{address}]" if ":" in address else f"https://{address}"


def _about_missing(study: Study) -> str:
    """What people will not read because the study lacks it; "" where all is there."""
    missing = study.texts.missing()
    return f"The study has {'; '.join(missing)}." if missing else ""


def _say_stopped(path: str, store: str | None, url: str, collector: Collector) -> None:
    """Say what was counted, where it is, and what to do next."""
    from warner.collector.stores import shown_store

    answered = plural(collector.n, "person has answered", "people have answered")
    store_name = shown_store(store, path)
    click.echo(f"Stopped. {answered}. The counts are in {store_name}.", err=True)
    again = shlex.join(["warner", "collect", "serve", path, *_given_again(store_name)])
    if collector.status() == "closed":
        pull = f"warner collect pull {url} --token-file token.txt -o tally.json"
        click.echo(
            f"The survey is closed. The tally: start {again} again, and {pull}, where token.txt "
            "holds the owner's token.",
            err=True,
        )
    else:
        click.echo(f"It goes on where it stopped with: {again}", err=True)


def _given_again(store_name: str) -> list[str]:
    """The options of this command that hold for the next start too, as they were given."""
    context = click.get_current_context()
    given: list[str] = []
    for option in context.command.params:
        name = str(option.name)
        if (
            not isinstance(option, click.Option)
            or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE
            or name in ("new_texts", "new_token", "new_names", "ended", "restored")
        ):
            continue
        value = context.params[name]
        for one in value if option.multiple else [value]:
            given.append(option.opts[-1])
            if not option.is_flag:
                given.append(store_name if name == "store" else str(one))
    return given


def _checked_names(
    owners: Mapping[str, bytes], new: Sequence[str], ended: Sequence[str]
) -> Sequence[str]:
    """The names of new tokens, which must be names; those that end must have a token."""
    for name in new:
        if not re.fullmatch(r"\w([\w .@-]{0,38}\w)?", name):
            rule = "must be a name of at most 40 letters, digits, spaces and .@-"
            raise ArgumentError("--token-for", rule, name)
    for name in ended:
        if not owners.get(name) or name == "":
            others = ", ".join(sorted(filter(None, owners))) or "nobody"
            raise ArgumentError("--end-token", f"must be one of: {others}", name)
    return new


def _say_ready(url: str, tokens: Mapping[str, str], collector: Collector, study: Study) -> None:
    """Print the addresses."""
    from warner.collector.access import METRICS

    click.echo(f"Survey:      {url}/")
    if "" not in tokens:
        click.echo(f"Live result: {url}/live (with the token of the first start)")
        click.echo("--new-token makes another token.", err=True)
    for name, token in tokens.items():
        of_whom = f" of {name}" if name else ""
        if name == METRICS:
            click.echo(f"Token of metrics, for {url}/live/metrics: {token}")
        else:
            click.echo(f"Live result{of_whom}: {url}/live?token={token}")
    if tokens:
        click.echo("A token is not shown again. Only its SHA-256 is kept.", err=True)
    counted = plural(collector.n, "report is counted", "reports are counted")
    status, opens = collector.status(), study.collect.opens
    click.echo(f"The survey is {status.replace('_', ' ')}, {counted}.", err=True)
    if status == "not_open" and opens is not None:
        click.echo(f"It opens at {opens.isoformat(' ', 'minutes')}.", err=True)
    click.echo("Ctrl-C ends it.", err=True)


def _hosts(named: Sequence[str], url: str | None, host: str) -> list[str]:
    """The hosts that requests may name; [] for any."""
    from urllib.parse import urlsplit

    loopback = ["localhost", "127.0.0.1", "[::1]"] if host in _LOOPBACK else []
    names = [*named, *([str(urlsplit(url).hostname)] if url else [])]
    # A proxy on this machine, or the owner's browser, names the machine itself.
    return [*names, *(loopback or ["localhost", "127.0.0.1", "[::1]"])] if names or loopback else []


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@collect.command()
@click.option(
    "--language", default="en", show_default=True, help="The language of the words to start from."
)
@click.option("-o", "--output", required=True, help="The file to write, named LANGUAGE.json.")
def words(language: str, output: str) -> None:
    """Write the survey page's own words to a file, for a translator or a reader who checks them.

    The file holds a text for each key. Translate the texts, and leave the keys and what stands in
    {braces} as they are. Where words must agree with a number, {"by": "count", "one": "...",
    "other": "..."} takes a text's place. No sentence about protection may promise more than the
    English one. "read_by" is the place for the name of a native speaker who has read the file.

    \b
        warner collect words -o sw.json
        warner collect serve study.toml --words sw.json
    """
    _require_extra()
    from warner.collector.pages.wording import Words

    refuse_overwriting(output)
    if output != "-" and Path(output).exists():
        raise ArgumentError(output, "is there already", None, "Choose another name")
    write_text(Words(language).file, output)


@collect.command("poster")
@click.argument("study", type=_STUDY)
@click.argument("url")
@click.option("-o", "--output", required=True, help="The page to write, such as poster.html.")
@_own_words
def make_poster(study: str, url: str, output: str, words: tuple[str, ...]) -> None:
    """Make a poster of STUDY, which is served at URL: a page to print, with a QR code.

    It has the title, the address, and what happens to answers, in all languages of the study.

    \b
        warner collect poster study.toml https://survey.example.org -o poster.html
    """
    _require_extra()
    from warner.collector.pages.poster import poster
    from warner.collector.pages.wording import read_words
    from warner.collector.remote import checked_url
    from warner.collector.survey_document import survey_bytes

    plan, address = Study.load(study), checked_url(url)
    if plan.collect.access == "invited":
        rule = "invites people, and each of them has a link of their own"
        raise ArgumentError(study, rule, None, "Send the links of warner collect invite --url")
    refuse_overwriting(output, study)
    survey_bytes(plan)  # refused before anybody reads of it
    write_text(poster(plan, f"{address}/", dict(map(read_words, words))), output)


@collect.command("verify")
@click.argument("url")
@click.option(
    "--study",
    "path",
    type=_STUDY,
    metavar="STUDY",
    help="The study that URL is to serve, if known.",
)
@click.option(
    "--draws",
    type=click.IntRange(1_000, 10**8),
    default=1_000_000,
    show_default=True,
    help="How many reports are drawn in the page, in all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify_survey(url: str, path: str | None, draws: int, as_json: bool) -> None:
    """Check the survey that runs at URL, as a stranger can.

    Chromium opens the survey and answers it twice, with different answers. Nothing that it would
    send reaches the collector: it is taken and looked at. The page must be one of warner, with the
    scripts of this version, which are compared byte for byte. The odds of every question must be
    those of its integers. The page may ask for nothing else, and keep nothing else. What it sends
    must be as long for any answers. Reports that are drawn in the page must have the law of the
    integers.

    The check is of what was served now and here: a collector can serve something else to others.
    The exit status is 1 where anything is wrong. Playwright and Chromium are needed.

    \b
        warner collect verify https://survey.example.org --study study.toml
    """
    from warner.collector.remote import checked_url
    from warner.collector.verification import verify

    study = None if path is None else Study.load(path)
    with stage("checking"):
        checks = verify(f"{checked_url(url)}/", study, draws)
    if as_json:
        rows = [
            {
                "check": c.name,
                "holds": c.holds,
                "violations": list(c.violations),
                "detail": c.detail,
            }
            for c in checks
        ]
        click.echo(json.dumps(rows, indent=2))
    else:
        for check in checks:
            for line in check.violations or [check.detail]:
                show(f"{'ok   ' if check.holds else 'WRONG'} {check.name}: {line}")
    if not all(check.holds for check in checks):
        raise SystemExit(1)


_token_options = options(
    click.option(
        "--token-file",
        type=click.Path(dir_okay=False),
        help="A file whose first line is the owner's token.",
    ),
    click.option(
        "--token-env", metavar="NAME", help="A variable of the environment with the owner's token."
    ),
)


@collect.command()
@click.argument("study", type=_STUDY)
@click.option(
    "-n", "--number", "count", type=click.IntRange(1, 1_000_000), help="How many new codes."
)
@click.option(
    "--codes",
    "earlier",
    metavar="FILE",
    help="Invite the people of an earlier round again: the CSV file of their codes.",
)
@click.option("-o", "--output", required=True, help="The CSV file of the codes to write.")
@click.option(
    "--url",
    metavar="URL",
    help="The address of the survey, for a link beside each code.",
)
@click.option(
    "--server",
    metavar="URL",
    help="The address of the collector while it runs, which then keeps the codes' hashes. It needs "
    "the owner's token. Default with a token: that of --url.",
)
@_token_options
@_store
def invite(
    study: str,
    count: int | None,
    earlier: str | None,
    output: str,
    url: str | None,
    server: str | None,
    token_file: str | None,
    token_env: str | None,
    store: str | None,
    ways: int | None,
) -> None:
    """Make invitation codes for STUDY, each good for one report.

    The study says access = "invited" in [collect]. Send each person one code, by a mail merge
    for example. The store keeps only a hash of each code, and later that it was used, never
    when. OUTPUT is the only place where the codes stand: who has it and one copy of the store
    can tell which codes were used. Who has two copies, the store's log or the running server
    can tell which report came with a code: then epsilon alone protects it.

    In a link the code stands behind "#", which browsers do not send to servers.

    With --codes the people of an earlier round of a study with [repeat] are invited again, each by
    the same code. Who has the codes can then tell which reports of several rounds are of one
    person; [repeat] bounds what the reports tell together.

    While the server runs, give the owner's token: the running server keeps the hashes, whatever
    its store is, and never sees the codes. Without a token the store is opened here. A file is
    open in one process only, so the server must then be stopped; a database is not.

    \b
        warner collect invite study.toml -n 500 -o codes.csv --url https://survey.example.org
        warner collect invite study.toml -n 20 -o more.csv --server https://survey.example.org \\
            --token-file token.txt
        warner collect invite round2.toml --codes codes.csv -o codes2.csv
    """
    from warner.collector.access import codes_in, invited_ids, new_codes
    from warner.collector.refusals import Refused
    from warner.collector.remote import checked_url

    if (count is None) == (earlier is None):
        rule = "must be given, or --codes with the codes of an earlier round"
        raise ArgumentError("--number", rule, None, "Give one of them")
    plan = Study.load(study)
    if plan.collect.access != "invited":
        rule = "does not invite people"
        raise ArgumentError(study, rule, None, 'Say access = "invited" in [collect]')
    base = None if url is None else checked_url(url)
    refuse_overwriting(output, study, *([] if earlier is None else [earlier]))
    if output != "-" and Path(output).exists():
        rule = "is there already, and its codes cannot be made again"
        raise ArgumentError(output, rule, None, "Choose another name for the new codes")
    remote = _inviting(server or base, server, read_token(token_file, token_env), store, ways)
    codes = new_codes(count or 0) if earlier is None else codes_in(earlier)
    ids = invited_ids(plan.digest, codes)
    if remote is not None:
        invited = remote.invite(plan.digest, ids)
    else:
        try:
            with _collecting(study, plan, store, ways) as collector:
                collector.invite(ids)
                invited, _ = collector.invitations
        except Refused as error:
            raise (error.with_remedy(_SERVED) if error.name == "store_in_use" else error) from None
    _write_codes(codes, base, output)
    counted = plural(invited, "person is", "people are")
    click.echo(f"{counted} invited in all. The store keeps hashes of codes only.", err=True)


def _write_codes(codes: Sequence[str], base: str | None, output: str) -> None:
    """Write codes as CSV, with a link beside each where the address of the survey is known."""
    lines = ["code" if base is None else "code,link"]
    lines += [code if base is None else f"{code},{base}/#code={code}" for code in codes]
    write_text("\r\n".join([*lines, ""]), output)
    if output != "-":
        Path(output).chmod(0o600)  # who has a code can answer in its person's place


@collect.command()
@click.argument("study", type=_STUDY)
@click.option(
    "--codes", required=True, metavar="FILE", help="The CSV file that invite has written."
)
@click.option("-o", "--output", required=True, help="The CSV file of the unused codes to write.")
@click.option(
    "--url", metavar="URL", help="The address of the survey, for a link beside each code."
)
@click.option(
    "--server",
    metavar="URL",
    help="The address of the collector while it runs. It needs the owner's token. Default with a "
    "token: that of --url.",
)
@_token_options
@_store
def unused(
    study: str,
    codes: str,
    output: str,
    url: str | None,
    server: str | None,
    token_file: str | None,
    token_env: str | None,
    store: str | None,
    ways: int | None,
) -> None:
    """List the codes of STUDY that were not used yet, for reminders.

    The list says who has not answered, and so who has. Whoever asks for it twice learns in which
    time somebody has answered: ask rarely, and for all codes at once. What people answered stays
    protected by epsilon.

    \b
        warner collect unused study.toml --codes codes.csv -o unused.csv \\
            --url https://survey.example.org --token-file token.txt
    """
    from warner.collector.access import codes_in, invited_ids
    from warner.collector.remote import checked_url
    from warner.collector.submissions import SubmissionFormat

    plan, listed = Study.load(study), codes_in(codes)
    base = None if url is None else checked_url(url)
    refuse_overwriting(output, study, codes)
    remote = _inviting(server or base, server, read_token(token_file, token_env), store, ways)
    # One by one: the ids of several codes are sorted.
    ids = [invited_ids(plan.digest, [code]).tobytes() for code in listed]
    if remote is not None:
        head = SubmissionFormat(plan).head
        spent = [remote.is_spent(head + each) for each in ids]
    else:
        with _collecting(study, plan, store, ways) as collector:
            spent = [collector.is_spent(each) for each in ids]
    left = [code for code, is_spent in zip(listed, spent, strict=True) if not is_spent]
    _write_codes(left, base, output)
    of_all = plural(len(listed), "code was", "codes were")
    click.echo(f"{len(left):,} of {of_all} not used yet.", err=True)


_SERVED = (
    "Invite through the server that runs: --server and --token-file. Or stop the other one first"
)


def _inviting(
    url: str | None, server: str | None, token: str | None, store: str | None, ways: int | None
) -> Remote | None:
    """The running collector that is to invite people; None where the store is opened here."""
    from warner.collector.remote import Remote

    if token is None:
        if server is None:
            return None
        remedy = "Give it with --token-file or --token-env"
        raise ArgumentError("--server", "needs the owner's token", None, remedy)
    if url is None:
        rule = "goes with the address of the running collector"
        raise ArgumentError("the token", rule, None, "Give it with --server")
    if store is not None or ways is not None:
        rule = "are known to the running collector"
        raise ArgumentError("--store and --ways", rule, None, "Leave them out")
    remote = Remote(url, token)
    _warn_of_listeners(remote)
    return remote


@collect.command()
@click.argument("url")
@tally_output
@_token_options
@click.option("--by", metavar="NAME", help="A tally of the groups of people by this public column.")
def pull(
    url: str, output: str, token_file: str | None, token_env: str | None, by: str | None
) -> None:
    """Fetch the tally of the collector at URL: the counts of its last published step.

    It needs the owner's token, in a file or in a variable of the environment, so that it stands in
    no list of processes. Several collectors of one study are added by warner merge. Close a survey
    before its last tally is fetched: everything that was counted is then published.

    \b
        warner collect pull https://survey.example.org --token-file token.txt -o tally.json
        warner merge north.json south.json -o tally.json
    """
    remote = _as_owner("pull", url, token_file, token_env)
    write_tallies(parse_tallies(remote.tally(by), remote.url), output)


@collect.command()
@click.argument("url")
@_token_options
def close(url: str, token_file: str | None, token_env: str | None) -> None:
    """Close the survey of the collector at URL: everything that was counted is then published.

    It needs the owner's token. Reports that come later are refused. Where the study drops the ids
    that tell repeats, they are dropped, and the survey cannot be opened again; else the live page
    has a button for that.

    \b
        warner collect close https://survey.example.org --token-file token.txt
        warner collect pull https://survey.example.org --token-file token.txt -o tally.json
    """
    _as_owner("close", url, token_file, token_env).close()
    click.echo("The survey is closed.", err=True)


@collect.command()
@click.argument("study", type=_STUDY)
@click.option(
    "--server",
    metavar="URL",
    help="The address of the collector while it runs. It needs the owner's token.",
)
@_token_options
@_store
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program that watches.")
def status(
    study: str,
    server: str | None,
    token_file: str | None,
    token_env: str | None,
    store: str | None,
    ways: int | None,
    as_json: bool,
) -> None:
    """Say how the collector of STUDY is: its survey, its store and its last backup.

    A file that a server has open is read by that server alone: give --server and the owner's token.
    A database is read beside its servers. Of people it says what the live page says: how many are
    counted, and how many of them are published. The minute of the last report is known to a running
    server only, which forgets it at its end.

    \b
        warner collect status study.toml
        warner collect status study.toml --server https://survey.example.org --token-file token.txt
    """
    from warner.collector.refusals import Refused
    from warner.collector.status import status_of
    from warner.collector.stores import shown_store, store_at, usual_store

    plan = Study.load(study)
    remote = _inviting(server, server, read_token(token_file, token_env), store, ways)
    if remote is not None:
        answer = remote.status()
    else:
        if not store_at(store or usual_store(study)).exists():
            remedy = "warner collect serve makes it at its first start"
            raise ArgumentError(shown_store(store, study), "is not there", None, remedy)
        try:
            with _collecting(study, plan, store, ways) as collector:
                answer = status_of(collector)
        except Refused as error:
            if error.name != "store_in_use":
                raise
            remedy = "Ask the server that has it: --server and --token-file"
            raise error.with_remedy(remedy) from None
    click.echo(answer.to_json() if as_json else "\n".join(answer.lines()), nl=not as_json)


@collect.command()
@click.argument("url")
@_token_options
def backup(url: str, token_file: str | None, token_env: str | None) -> None:
    """Copy the store of the collector at URL while it runs.

    It needs the owner's token. The collector writes the copy beside its store, with -backup at the
    end of the name, in place of the copy before: take it from there to another disk. It is whole,
    and of one moment. It never travels: the store has what the live page does not show yet.

    Keep few copies. Two of them, of different times, show what was counted in between.

    A database is backed up by its own tools: pg_dump.

    \b
        warner collect backup https://survey.example.org --token-file token.txt
        warner collect restore study.counts.sqlite-backup study.counts.sqlite
    """
    name = _as_owner("backup", url, token_file, token_env).backup()
    click.echo(f"{visible(name)} is a copy of the store, beside it on its machine.", err=True)


@collect.command()
@click.argument("backup", type=_STUDY)
@click.argument("store", type=_STUDY)
def restore(backup: str, store: str) -> None:
    """Make the file STORE from BACKUP, a copy of a store, and check it.

    Nothing is replaced: move the files of the old store away. The reports that were accepted after
    the copy was made are not in it. Their people had a reply, so their devices do not send again.
    With invitations they can answer again, and a person's two reports tell together as much as
    twice the epsilon. So serve refuses the store until --restored says that you know.

    \b
        warner collect restore study.counts.sqlite-backup study.counts.sqlite
        warner collect serve study.toml --restored
    """
    from warner.collector.stores import SQLiteStore, is_database

    if is_database(store):
        rule, remedy = "is a database, which its own tools restore", "Use pg_restore"
        raise ArgumentError("STORE", rule, None, remedy)
    SQLiteStore(store).restore(backup)
    click.echo(
        f"{store} is whole. It lacks what was accepted after the copy was made: warner collect "
        "serve goes on without that, with --restored.",
        err=True,
    )


def _as_owner(command: str, url: str, token_file: str | None, token_env: str | None) -> Remote:
    """The collector at an address, with the owner's token."""
    from warner.collector.remote import Remote

    remote = Remote(url, read_token(token_file, token_env))
    if remote.token is None:
        remedy = "Give it with --token-file or --token-env"
        raise ArgumentError(f"collect {command}", "needs the owner's token", None, remedy)
    _warn_of_listeners(remote)
    return remote


@collect.command()
@click.argument("reports", type=click.Path(dir_okay=False))
@click.argument("url")
@_token_options
@click.option(
    "--start",
    type=click.IntRange(0),
    default=0,
    help="Leave out so many rows, which an earlier run sent.",
)
@click.option("--allow-simulated", is_flag=True, help="Send reports that were made with a seed.")
def push(
    reports: str,
    url: str,
    token_file: str | None,
    token_env: str | None,
    start: int,
    allow_simulated: bool,
) -> None:
    """Send the reports in the file REPORTS to the collector at URL, 1,000 at a time.

    The id of each report follows from the checksum of the file and its row. So the same file counts
    once, however often it is sent, and whether or not replies were lost. The rows of a file are in
    random order already. The owner's token lifts the collector's limits of rates.

    \b
        warner randomize study.toml answers.csv -o reports.parquet
        warner collect push reports.parquet https://survey.example.org --token-file token.txt
    """
    from warner.collector.remote import BulkUpload, Remote

    remote = Remote(url, read_token(token_file, token_env))
    upload = BulkUpload(files.open_reports(reports), allow_simulated)
    if remote.token is not None:
        _warn_of_listeners(remote)
    upload.require_study(remote.study_layout(), remote.url)
    sent = start
    with stage("sending", upload.n) as tell:
        try:
            for body, end in upload.bodies(start):
                remote.send(body)
                sent = end
                tell(sent)
        except KeyboardInterrupt:
            raise Interrupted(_sent(sent, upload.n)) from None
        except WarnerError:
            click.echo(_sent(sent, upload.n), err=True)
            raise
    click.echo(f"{plural(sent - start, 'report was', 'reports were')} accepted.", err=True)


def _sent(sent: int, n: int) -> str:
    """What became of an upload that ended early."""
    return (
        f"{sent:,} of {plural(n, 'report was', 'reports were')} accepted; the same command goes on "
        f"with --start {sent}, and without it counts nothing twice"
    )


def read_token(path: str | None, variable: str | None) -> str | None:
    """The owner's token from a file or the environment; None where neither is named."""
    if path is not None and variable is not None:
        rule = "must not both be given"
        raise ArgumentError("--token-file and --token-env", rule)
    if path is None and variable is None:
        return None
    text = os.environ.get(str(variable), "") if path is None else read_whole(path).decode("latin-1")
    token = next(iter(text.split()), "")
    if not token or not token.isascii():
        source = f"the variable {variable}" if path is None else str(path)
        raise ArgumentError(source, "holds no token")
    return token.rpartition("token=")[2]


def _warn_of_listeners(remote: Remote) -> None:
    """Say that the token travels in the clear."""
    if remote.is_open_to_listeners:
        click.echo("The token is sent without encryption. Use an https address.", err=True)
