"""Commands that let people in: collect invite and unused, and keys and issue for blind tokens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from warner._core.errors import ArgumentError
from warner.app.commands import collectors
from warner.app.terminal import events_as_json, note, plural
from warner.app.what_files_hold import refuse_overwriting, write_text
from warner.studies.study import Study

if TYPE_CHECKING:
    from warner.collector.collector import Collector
_links = click.option(
    "--url",
    metavar="URL",
    help="The web address of the survey. Each code is then written as a link.",
)


@click.command()
@click.argument("study", type=collectors.STUDY)
@click.option(
    "-n", "--number", "count", type=click.IntRange(1, 1_000_000), help="How many new codes to make."
)
@click.option(
    "--codes",
    "earlier",
    metavar="FILE",
    help="To invite the same people again: the CSV file with the codes of an earlier round.",
)
@click.option("-o", "--output", required=True, help="The CSV file to write the codes to.")
@_links
@click.option(
    "--server",
    metavar="URL",
    help="The address of the running collector, which then learns which codes are valid. Give the "
    "owner's token too. Default, if a token is given: the address of the survey (--url).",
)
@collectors.access_options
@collectors.store_options
def invite(
    study: str,
    count: int | None,
    earlier: str | None,
    output: str,
    url: str | None,
    server: str | None,
    access: collectors.Access,
    store: str | None,
    ways: int | None,
) -> None:
    """Make invitation codes for STUDY, each good for one report.

    The study must say access = "invited" in its table [collect]. Send each person one code, for
    example by mail merge. Only the file OUTPUT has the codes. The collector's store has a
    fingerprint (hash) of each code. The store also says whether a code was used, but never when.

    Keep OUTPUT secret. With OUTPUT and one copy of the store, anyone can tell which codes were
    used. With OUTPUT and two copies of the store, its log or the running server, anyone can tell
    which report came with which code. Then only the randomising (epsilon) protects the answers.

    If the study says access = "tokens", the codes go to the command "warner collect issue" (the
    issuer), and are kept in the issuer's own store, STUDY.codes.sqlite. Nothing in a report is then
    computed from a code.

    With --url, each code is written as a link to the survey. The code comes after "#", the part of
    a link that browsers do not send to servers.

    With --codes, the people of an earlier round are invited again, each with the same code. The
    study must have a table [repeat]. Anyone who has the codes can then tell which reports of
    several rounds come from one person. The table [repeat] limits what these reports reveal
    together.

    While the server runs, give the owner's token with --token-file or --token-env. The server
    receives only the fingerprints, never the codes. Without a token, this command opens the store
    itself. If the store is a file, stop the server first. If the store is a database, the server
    may go on running.

    \b
        warner collect invite study.toml -n 500 -o codes.csv --url https://survey.example.org
        warner collect invite study.toml -n 20 -o more.csv --server https://survey.example.org \\
            --token-file token.txt
        warner collect invite round2.toml --codes codes.csv -o codes2.csv
    """
    from warner.collector.access import codes_in, invited_ids, new_codes
    from warner.collector.refusals import Refused
    from warner.collector.remote import checked_url
    from warner.collector.survey_document import about_fingerprint

    if (count is None) == (earlier is None):
        rule = "exactly one of the two must be given"
        remedy = (
            "For new codes, write how many: --number 500. To invite the same people again, name "
            "the file of their codes: --codes codes.csv"
        )
        raise ArgumentError("--number and --codes", rule, None, remedy)
    plan = Study.load(study)
    if not plan.collect.has_codes:
        rule = "does not invite people"
        raise ArgumentError(study, rule, None, 'Write access = "invited" into its table [collect]')
    base = None if url is None else checked_url(url)
    refuse_overwriting(output, study, *([] if earlier is None else [earlier]))
    if output != "-" and Path(output).exists():
        rule = "already exists, and its codes cannot be made again"
        raise ArgumentError(output, rule, None, "Choose another name for the new codes")
    remote = access.running(_keeper_of_codes(plan, server, base), server, store, ways)
    codes = new_codes(count or 0) if earlier is None else codes_in(earlier)
    ids = invited_ids(plan.digest, codes)
    if remote is not None:
        invited = remote.invite(plan.digest, ids)
    else:
        try:
            with _keeping_codes(study, plan, store, ways) as collector:
                collector.invite(ids)
                invited, _ = collector.invitations
        except Refused as error:
            raise (error.with_remedy(_SERVED) if error.name == "store_in_use" else error) from None
    _write_codes(codes, base, output)
    counted = plural(invited, "person is", "people are")
    note(f"{counted} invited in all. The collector stores only fingerprints of the codes.")
    if earlier is None and plan.draw is not None and (plan.round or 1) > 1:
        note(_NEW_CODES)
    note(about_fingerprint(plan))


_NEW_CODES = (
    "Send these new codes only to people who took no part in an earlier round. Each code stands "
    "for one question, which the device then keeps for all rounds. A device that already has a "
    "question can refuse a new code. To invite the same people again, use --codes."
)


def _write_codes(codes: Sequence[str], base: str | None, output: str) -> None:
    """Write codes as CSV, with a link beside each where the address of the survey is known."""
    lines = ["code" if base is None else "code,link"]
    lines += [code if base is None else f"{code},{base}/#code={code}" for code in codes]
    write_text("\r\n".join([*lines, ""]), output)
    if output != "-":
        Path(output).chmod(0o600)  # who has a code can answer in its person's place


@click.command()
@click.argument("study", type=collectors.STUDY)
@click.option(
    "--codes",
    required=True,
    metavar="FILE",
    help='The CSV file with the codes, which the command "warner collect invite" wrote.',
)
@click.option("-o", "--output", required=True, help="The CSV file to write the unused codes to.")
@_links
@click.option(
    "--server",
    metavar="URL",
    help="The address of the running collector. Give the owner's token too. Default, if a token is "
    "given: the address of the survey (--url).",
)
@collectors.access_options
@collectors.store_options
def unused(
    study: str,
    codes: str,
    output: str,
    url: str | None,
    server: str | None,
    access: collectors.Access,
    store: str | None,
    ways: int | None,
) -> None:
    """List the codes of STUDY that were not used yet, for reminders.

    The list shows who has not answered, and so also who has. Whoever compares the lists of two days
    sees who answered between these days. So make lists rarely, and always for all codes at once.
    What people answered stays protected, because answers are randomised.

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
    remote = access.running(_keeper_of_codes(plan, server, base), server, store, ways)
    # One by one: the ids of several codes are sorted.
    ids = [invited_ids(plan.digest, [code]).tobytes() for code in listed]
    if remote is not None:
        head = SubmissionFormat(plan).head
        spent = [remote.is_spent(head + each) for each in ids]
    else:
        with _keeping_codes(study, plan, store, ways) as collector:
            spent = collector.are_spent(b"".join(ids)).tolist()
    left = [code for code, is_spent in zip(listed, spent, strict=True) if not is_spent]
    _write_codes(left, base, output)
    of_all = plural(len(listed), "code was", "codes were")
    note(f"{len(left):,} of {of_all} not used yet.")


_SERVED = (
    "Send the codes to the running server, with --server and --token-file. Or stop that server "
    "first"
)


def _keeper_of_codes(study: Study, server: str | None, base: str | None) -> str | None:
    """The address of the process that knows the codes: the collector, or the issuer of tokens."""
    tokens = study.collect.tokens
    return server or (base if tokens is None else tokens.issuer)


def _keeping_codes(
    path: str, study: Study, store: str | None, ways: int | None
) -> AbstractContextManager[Collector]:
    """What keeps the hashes of codes, opened here."""
    return collectors.collecting(path, study, store, ways, issues=study.collect.tokens is not None)


@click.command("keys")
@click.argument("study", type=collectors.STUDY)
@click.option(
    "--issuer",
    metavar="URL",
    required=True,
    help="The web address of the issuer, at which people's devices will reach the command \"warner "
    'collect issue".',
)
@click.option(
    "-o",
    "--output",
    required=True,
    help="The file to write the private keys to. Only the issuer may have it.",
)
def make_keys(study: str, issuer: str, output: str) -> None:
    """Make the keys with which an issuer exchanges the invitation codes of STUDY for tokens.

    With tokens, nothing in a report is computed from an invitation code, because the issuer signs
    each token without seeing the token. Give OUTPUT only to the issuer: anyone who has OUTPUT can
    make tokens without codes.

    The issuer is a program apart from the collector, and somebody else must run it. Whoever runs
    both could compare when a code was exchanged and when a report came.

    A token lets a device send one report, and does not say whose report it is. The command prints
    the lines to add to STUDY, with the public keys. These keys are the same for everybody.

    \b
        warner collect keys study.toml --issuer https://codes.example.org -o issuer.pem
    """
    collectors.require_extra()
    from warner.collector.remote import checked_url
    from warner.collector.tokens import count_of_keys, keys_in, new_keys

    plan, address = Study.load(study), checked_url(issuer)
    if plan.collect.tokens is not None:
        rule = "already has keys, and new keys would make the tokens of the old keys invalid"
        remedy = "To make new keys anyway, first delete the table [collect.tokens]"
        raise ArgumentError(study, rule, None, remedy)
    refuse_overwriting(output, study)
    if output == "-" or Path(output).exists():
        rule = "must be a new file, because the keys are secret and cannot be made again"
        raise ArgumentError("--output", rule, output)
    with open(output, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(new_keys(count_of_keys(plan)))
    public = "".join(f'  "{key.public.text}",\n' for key in keys_in(output))
    click.echo(
        f'# In {study}: write access = "tokens" into [collect], and this table below it.\n'
        f'[collect.tokens]\nissuer = "{address}"\nkeys = [\n{public}]'
    )
    note(f"{output} holds the private keys. Give it to the issuer only.")


@click.command()
@click.argument("study", type=collectors.STUDY)
@click.option(
    "--keys",
    "path_of_keys",
    type=collectors.STUDY,
    required=True,
    help='The file with the private keys, which the command "warner collect keys" wrote.',
)
@collectors.address_options
@click.option(
    "--store",
    metavar="PATH",
    help="Where the issuer keeps fingerprints of the codes: a SQLite file, or "
    "postgresql://HOST/DATABASE. It must not be the store of the collector. Default: "
    "STUDY.codes.sqlite, in the folder of the study.",
)
@collectors.owner_options
@collectors.reach_options
@collectors.rate_options
def issue(study: str, path_of_keys: str, **choices: Any) -> None:
    """Give people's devices tokens for their invitation codes, for a survey with access = "tokens".

    This command is the issuer. It knows who is invited and which codes were exchanged, but sees no
    report. The command "warner collect serve" counts the reports, but sees no code.

    A device exchanges its code for a token, which the issuer signs without seeing it. The device
    then waits for a random time, and sends its report with the token. Run the issuer and the
    collector at different addresses, and let different people run them. Then nobody can compare
    when a code was exchanged and when a report came.

    To invite people, run: warner collect invite. While the issuer runs, this needs the owner's
    token, which is printed only once.

    \b
        warner collect issue study.toml --keys issuer.pem --port 8001
        warner collect invite study.toml -n 500 -o codes.csv --url https://survey.example.org \\
            --server http://127.0.0.1:8001 --token-file token.txt
    """
    collectors.require_extra()
    plan = Study.load(study)
    with events_as_json() if choices["log"] == "json" else nullcontext():
        _issue(study, plan, path_of_keys, {**choices, "max_body": 4096})


def _issue(path: str, study: Study, path_of_keys: str, choices: dict[str, Any]) -> None:
    """Exchange codes until a signal comes."""
    from warner.collector.access import Owner
    from warner.collector.remote import checked_url
    from warner.collector.tokens import keys_in, keys_of
    from warner.collector.web.issuing import Issuing
    from warner.collector.web.server import run

    stated = study.collect.tokens
    if stated is None:
        rule = "has no table [collect.tokens]"
        remedy = "To make keys and this table, run: warner collect keys"
        raise ArgumentError(path, rule, None, remedy)
    keys = keys_in(path_of_keys)
    if [key.public for key in keys] != keys_of(study):
        remedy = 'Give the file that "warner collect keys" wrote for this study'
        raise ArgumentError(path_of_keys, f"has other keys than {path}", None, remedy)
    url = None if choices["url"] is None else checked_url(choices["url"])
    limits, listen = collectors.limits_of(choices), collectors.listening(choices, url)
    here = url or listen.url(listen.port)
    # A proxy can stand between an address of another machine and this process. Port 0 is any.
    is_here = collectors.is_of_this_machine(stated.issuer) and listen.port > 0
    if here != stated.issuer and (url or is_here):
        if url:
            rule = f"must be the address to which {path} sends devices: {stated.issuer}"
            raise ArgumentError("--url", rule, here)
        rule = f"sends devices to {stated.issuer}, but the issuer would answer at {here}"
        remedy = f"If a proxy is at that address, add --url {stated.issuer}"
        there = urlsplit(stated.issuer)
        if listen.url(there.port or 0) == stated.issuer:
            remedy = f"Give --port {there.port}. {remedy} instead"
        raise ArgumentError(path, rule, None, remedy)
    with collectors.collecting(path, study, choices["store"], None, issues=True) as collector:
        tokens = collectors.new_tokens(collector, choices)
        hosts = collectors.hosts_of(choices["hosts"], url, listen.host)
        owner = Owner(lambda: collector.owners)
        application = Issuing(study, collector, owner, keys, limits, hosts)

        def ready(port: int) -> None:
            collectors.keep_tokens(collector, tokens, choices)
            click.echo(f"Exchange:    {url or listen.url(port)}")
            for name, token in tokens.items():
                click.echo(f"Token of {name or 'the owner'}: {token}")
            if tokens:
                note("Note down each token now: no token is shown again.")
            invited, _ = collector.invitations
            people = plural(invited, "person is", "people are")
            note(f"{people} invited. Their devices get tokens at {stated.issuer}.")
            if listen.host not in collectors.LOOPBACK and not listen.is_secure:
                note(collectors.NEEDS_HTTPS)
            note("Ctrl-C stops the server.")

        run(application, listen, ready, lambda: None)
