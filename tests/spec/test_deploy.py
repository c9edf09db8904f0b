"""The files of deploy/: that they agree with the command line and with each other, and what runs of them
without containers: their command lines, on PostgreSQL, behind the nginx that they configure.
"""

from __future__ import annotations

import configparser
import http.client
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest
from packaging.requirements import Requirement

from tests.services import postgres_address
from tests.spec.collector._web import KIND, SERVED
from warner.app.cli import main
from warner.app.commands.serving import serve
from warner.collector.collector import Collector
from warner.collector.stores import PostgresStore
from warner.collector.submissions import SubmissionFormat
from warner.studies.study import Study

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CERTIFICATE = Path(__file__).parent / "collector" / "web" / "localhost.pem"
GUIDE = (ROOT / "docs" / "guides" / "running.md").read_text()
PERSON = "127.0.0.77"  # the address from which people send
PORT = "8000"  # of the collector where nobody states another
# Who reads each variable that the files set.
READERS = {
    "PATH": "the system",
    "PYTHONUNBUFFERED": "Python",
    "PGPASSWORD": "libpq",
    "POSTGRES_USER": "the image of PostgreSQL",
    "POSTGRES_DB": "the image of PostgreSQL",
    "POSTGRES_PASSWORD": "the image of PostgreSQL",
    "POSTGRES_INITDB_ARGS": "the image of PostgreSQL",
}


# ---------------------------------------------------------------------------------------------
# Reading the files.


def scalar(text: str) -> Any:
    text = text.strip()
    if text[:1] == '"':
        return json.loads(text)
    if text in ("true", "false", "yes", "no"):
        return text in ("true", "yes")
    return int(text) if re.fullmatch(r"\d+", text) else text


def flow(text: str) -> Any:
    """[a, b] or {a: b}, which hold no others here."""
    inner = text[1:-1]
    assert not set(inner) & set("[]{}"), text
    pieces = [piece.strip() for piece in inner.split(",") if piece.strip()]
    if text[0] == "[":
        return [scalar(piece) for piece in pieces]
    return {k.strip(): scalar(v) for k, _, v in (piece.partition(": ") for piece in pieces)}


def read_yaml(text: str) -> Any:
    """What a file says in the few forms of YAML that compose.yaml uses; others fail."""
    lines = [re.sub(r"(^|\s)#.*", "", line).rstrip() for line in text.splitlines()]
    rows = [(len(line) - len(line.lstrip()), line.strip()) for line in lines if line.strip()]
    anchors: dict[str, Any] = {}

    def value(text: str, indent: int) -> Any:
        anchor = re.fullmatch(r"&(\w+)", text)
        if text and not anchor:
            assert text[0] not in "|>&*!'", text
            return flow(text) if text[0] in "[{" else scalar(text)
        deeper = bool(rows) and rows[0][0] > indent
        found = block(rows[0][0]) if deeper else None
        if anchor:
            anchors[anchor[1]] = found
        return found

    def block(indent: int) -> Any:
        if rows[0][1].startswith("- "):
            items = []
            while rows and rows[0][0] == indent and rows[0][1].startswith("- "):
                item = rows.pop(0)[1][2:]
                pair = re.fullmatch(r"(\w+): (\S+)", item)
                items.append({pair[1]: scalar(pair[2])} if pair else scalar(item))
            return items
        entries: dict[str, Any] = {}
        while rows and rows[0][0] == indent:
            key, colon, rest = rows.pop(0)[1].partition(":")
            assert colon and (not rest or rest[0] == " "), key
            if key == "<<":
                entries |= anchors[rest.strip().removeprefix("*")]
            else:
                assert key not in entries or key in ("networks", "depends_on"), key
                entries[key] = value(rest.strip(), indent)
        assert not rows or rows[0][0] <= indent
        return entries

    data = block(0)
    assert not rows
    return data


COMPOSE = read_yaml((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
COLLECTORS = [SERVICES["collector-1"], SERVICES["collector-2"]]
NGINX = (DEPLOY / "nginx.conf").read_text()


def instructions() -> list[tuple[str, str]]:
    """(INSTRUCTION, arguments) of the Dockerfile."""
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#")).replace("\\\n", "")
    pairs = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    return [(name, arguments.strip()) for name, arguments in pairs]


def of_image(name: str) -> str:
    """The arguments of the last instruction of a name."""
    return [arguments for each, arguments in instructions() if each == name][-1]


def unit() -> configparser.ConfigParser:
    """The unit of systemd; a key that stands twice has both values, with a line end between."""
    read = configparser.ConfigParser(
        interpolation=None, strict=False, comment_prefixes="#", delimiters="="
    )
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read(DEPLOY / "warner@.service")
    return read


def unit_command(options: str = "") -> list[str]:
    line = unit()["Service"]["ExecStart"].replace("%i", "habits").replace("$OPTIONS", options)
    return shlex.split(line)[1:]


def filled(command: list[str]) -> list[str]:
    """A command of compose.yaml with the variables that its comment names."""
    values = {"SURVEY_HOST": "survey.example.org", "DB_PASSWORD": "secret"}
    return [re.sub(r"\$\{(\w+):\?[^}]*}", lambda m: values[m[1]], word) for word in command]


def parsed(arguments: list[str]) -> dict[str, Any]:
    """What the command line understands of the arguments of warner collect serve."""
    above = click.Context(main, info_name="warner", **main.context_settings)
    context: click.Context = serve.make_context("serve", list(arguments), parent=above)
    return context.params


# ---------------------------------------------------------------------------------------------
# The files agree.


def test_each_command_line_is_understood() -> None:
    assert json.loads(of_image("ENTRYPOINT")) == ["warner", "collect", "serve"]
    image = parsed(json.loads(of_image("CMD")))
    assert str(image["port"]) == PORT == of_image("EXPOSE")
    volume = of_image("VOLUME")
    assert image["store"].startswith(f"{volume}/") and f" {volume}" in of_image("RUN")
    for collector in COLLECTORS:
        given = parsed(filled(collector["command"]))
        assert given["host"] == "0.0.0.0" and str(given["port"]) == PORT
        assert f"./study.toml:{given['study']}:ro" in collector["volumes"]
        assert given["proxy"] == SERVICES["proxy"]["networks"]["inside"]["ipv4_address"]
        user = SERVICES["db"]["environment"]
        place = f"{user['POSTGRES_USER']}@db/{user['POSTGRES_DB']}"
        assert given["store"] == f"postgresql://{place}"
    line = re.search(r"# A line OPTIONS=(.+)", (DEPLOY / "warner@.service").read_text())
    assert line is not None and unit()["Service"]["ExecStart"].endswith(" $OPTIONS")
    command = unit_command(line[1])
    assert command[:2] == ["collect", "serve"]
    given = parsed(command[2:])
    state = unit()["Service"]["StateDirectory"].replace("%i", "habits")
    assert Path(given["store"]).parent == Path("/var/lib", state)
    assert given["url"] == "https://survey.example.org"


def test_whoever_names_an_option_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(click.UsageError):
        parsed([*unit_command()[2:], "--no-such-option"])
    for wrong in ("a: 'b'", "a: |\n  b", "a: &x\nb: *x", "a:\n  - b\n - c", "a: 1\na: 2"):
        with pytest.raises((AssertionError, IndexError)):
            read_yaml(wrong)


def test_the_own_reader_reads_as_others_do() -> None:
    yaml = pytest.importorskip("yaml")
    assert read_yaml((DEPLOY / "compose.yaml").read_text()) == yaml.safe_load(
        (DEPLOY / "compose.yaml").read_text()
    )


def test_addresses_and_files_agree() -> None:
    addresses = [each["networks"]["inside"]["ipv4_address"] for each in COLLECTORS]
    assert re.findall(r"server ([\d.]+):(\d+);", NGINX) == [(each, PORT) for each in addresses]
    networks = [s["networks"]["inside"]["ipv4_address"] for s in (*COLLECTORS, SERVICES["proxy"])]
    subnet = COMPOSE["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert {address.rpartition(".")[0] for address in networks} == {subnet.rpartition(".")[0]}
    mounts = {m.split(":")[1] for m in SERVICES["proxy"]["volumes"]}
    assert {"/etc/nginx/nginx.conf", "/etc/nginx/tls"} == mounts
    assert all(
        path.startswith("/etc/nginx/tls/")
        for path in re.findall(r"ssl_certificate\S*\s+(\S+);", NGINX)
    )
    assert COMPOSE["volumes"].keys() == {"counts"}
    build = COLLECTORS[0]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"


def test_each_variable_is_read_and_each_of_the_caller_is_named_in_the_guide() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    set_here = {name for service in SERVICES.values() for name in service.get("environment", ())}
    set_here |= set(re.findall(r"(\w+)=", of_image("ENV")))
    assert set_here == READERS.keys()
    asked_for = set(re.findall(r"\$\{(\w+)", text))
    assert asked_for == {"SURVEY_HOST", "DB_PASSWORD"}
    assert all(f"{name}=" in GUIDE and f"{name}=" in text for name in asked_for)
    assert "/etc/warner/habits.options" in GUIDE and "OPTIONS=" in GUIDE


def test_the_image_has_what_it_copies_and_runs_as_nobody() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    copied = [a for name, a in instructions() if name == "COPY" and "--from" not in a]
    for source in (word for line in copied for word in line.split()[:-1]):
        assert (ROOT / source).exists() and f"!{source}" in ignored, source
    user, group = of_image("USER").split(":")
    assert int(user) == int(group) >= 10_000
    assert f"--owner={user} --group={group} --mode=0700" in of_image("RUN")
    images = [a.split()[0] for name, a in instructions() if name == "FROM"]
    assert len(images) == 2 and len(set(images)) == 1
    # Names of images without a host: whoever builds chooses from where they come.
    for image in {*images, SERVICES["db"]["image"], SERVICES["proxy"]["image"]}:
        assert re.fullmatch(r"[a-z]+:[\w.-]+", image)
    assert "--require-hashes" in "".join(a for name, a in instructions() if name == "RUN")


def test_containers_can_change_nothing_but_their_store() -> None:
    for collector in COLLECTORS:
        assert collector["read_only"] is True and collector["cap_drop"] == ["ALL"]
        assert collector["ulimits"]["core"] == 0  # no memory with reports in a file
    assert all(s["security_opt"] == ["no-new-privileges:true"] for s in SERVICES.values())
    assert not [name for name, s in SERVICES.items() if "ports" in s and name != "proxy"]
    assert COMPOSE["networks"]["inside"]["internal"] is True
    service = unit()["Service"]
    hardened = ["DynamicUser", "NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome"]
    assert all(service[name] == "yes" for name in hardened)
    assert service["ProtectSystem"] == "strict" and service["CapabilityBoundingSet"] == ""
    assert service["LimitCORE"] == service["MemorySwapMax"] == "0"
    # The token is printed at the first start, and the journal keeps what is printed.
    assert service["StandardOutput"].startswith("truncate:/run/") and service["UMask"] == "0077"


def test_the_lock_of_the_image_is_a_part_of_the_lock_of_the_project() -> None:
    def pins(path: Path) -> dict[str, frozenset[str]]:
        entries = re.split(r"\n(?=\S)", path.read_text().replace("\\\n", " "))
        split = [re.split(r"\s+--hash=", entry.strip()) for entry in entries if "==" in entry]
        return {" ".join(head.split()): frozenset(hashes) for head, *hashes in split}

    image, project = pins(DEPLOY / "requirements.lock"), pins(ROOT / "requirements.lock")
    versions = {head.split(" ;")[0] for head in project}
    assert all(hashes for hashes in image.values())
    for head, hashes in image.items():
        pin = head.split(" ;")[0]
        assert pin in versions or pin.split("==")[0] == "hatchling", pin
        assert head not in project or hashes == project[head]
    locked = {re.split("==", head)[0] for head in image}
    needed, seen = ["warner[serve,postgres]", "hatchling"], set()
    while needed:
        requirement = Requirement(needed.pop())
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        for extra in ["", *requirement.extras]:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for more in importlib.metadata.requires(name) or []:
                marker = Requirement(more).marker
                if marker is None or marker.evaluate({"extra": extra}):
                    needed.append(more)
    assert {name for name, _ in seen} - {"warner"} <= locked


# ---------------------------------------------------------------------------------------------
# What other programs say of them.


def said(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": _path(), **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def _path() -> str:
    return f"{os.environ['PATH']}:/usr/sbin"


def need(program: str) -> str:
    found = shutil.which(program, path=_path())
    if found is None:
        pytest.skip(f"needs {program}")
    return found


def test_hadolint_finds_nothing() -> None:
    assert said([need("hadolint"), str(DEPLOY / "Dockerfile")]) == ""


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    analyze = need("systemd-analyze")
    path = tmp_path / "warner@habits.service"
    warner = Path(sys.executable).with_name("warner")
    path.write_text(
        (DEPLOY / "warner@.service").read_text().replace("/opt/warner/bin/warner", str(warner))
    )
    assert "warner@habits" not in said([analyze, "verify", str(path)])


def test_docker_compose_understands_the_file() -> None:
    values = {"SURVEY_HOST": "survey.example.org", "DB_PASSWORD": "secret"}
    file = ["--file", str(DEPLOY / "compose.yaml"), "config", "--quiet"]
    for command in (["docker", "compose"], ["docker-compose"]):
        if not shutil.which(command[0], path=_path()):
            continue
        if subprocess.run([*command, "version"], capture_output=True).returncode:
            continue
        said([*command, *file], **values)
        without = subprocess.run(
            [*command, *file], capture_output=True, text=True, env={"PATH": _path()}
        )
        assert without.returncode and "the name of the survey's host" in without.stderr
        return
    pytest.skip("needs docker compose")


def test_the_image_is_built_where_a_docker_daemon_runs() -> None:
    docker = need("docker")
    if subprocess.run([docker, "info"], capture_output=True).returncode:
        pytest.skip("no Docker daemon runs here: the image was NOT built, and no container was run")
    said([docker, "build", "--file", str(DEPLOY / "Dockerfile"), "--tag", "warner", str(ROOT)])
    assert "--restored" in said([docker, "run", "--rm", "--read-only", "warner", "--help"])


# ---------------------------------------------------------------------------------------------
# What runs without containers.


def free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Proxy:
    """nginx as nginx.conf configures it, before collectors at other ports."""

    def __init__(self, folder: Path, port: int, plain: int, collectors: list[int]) -> None:
        text = NGINX
        for address, real in zip(("172.30.0.11", "172.30.0.12"), collectors, strict=True):
            text = text.replace(f"{address}:{PORT}", f"127.0.0.1:{real}")
        temporary = "".join(
            f"{name}_temp_path {folder};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        for old, new in (
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("listen 80", f"listen 127.0.0.1:{plain}"),
            ("/run/nginx.pid", f"{folder}/nginx.pid"),
            ("/etc/nginx/tls/cert.pem", str(CERTIFICATE)),
            ("/etc/nginx/tls/key.pem", str(CERTIFICATE)),
            ("http {", f"http {{\n{temporary}"),
        ):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path = folder / "nginx.conf"
        path.write_text(text)
        self.port, self.plain = port, plain
        command = [need("nginx"), "-e", str(folder / "error.log"), "-c", str(path)]
        assert "test is successful" in said([*command, "-t"])
        self.process = subprocess.Popen([*command, "-g", "daemon off;"])

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
        """Ask with TLS, as a device does that knows the survey's host."""
        context = ssl._create_unverified_context()  # the certificate is of localhost
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, source_address=(PERSON, 0), context=context
        )
        connection.request(method, path, body, {"host": "survey.example.org", **KIND, **headers})
        answer = connection.getresponse()
        try:
            return answer.status, answer.read()
        finally:
            connection.close()


def started(command: list[str], port: int, address: str, study: Path) -> subprocess.Popen[str]:
    """A collector by its command line, but for the places of this machine."""
    replaced = {"/etc/warner/study.toml": str(study), "--proxy=172.30.0.10": "--proxy=127.0.0.1"}
    words = [replaced.get(word, word) for word in filled(command)]
    words = [f"--store={address}" if word.startswith("--store=") else word for word in words]
    start = [sys.executable, "-m", "warner", "collect", "serve", *words, f"--port={port}"]
    with open(study.with_name(f"{port}.log"), "w") as log:
        return subprocess.Popen(start, stdout=subprocess.PIPE, stderr=log, text=True)


def test_two_collectors_behind_the_proxy_count_each_report_once(tmp_path: Path) -> None:
    """The command lines of compose.yaml and its nginx.conf, run. Rejects files by which a server that
    ends loses reports, a page is not reached by TLS, or an address comes into a log.
    """
    need("nginx")
    if sys.platform != "linux":
        pytest.skip("needs more than one address of this machine")
    address, study = postgres_address(), tmp_path / "study.toml"
    study.write_text(SERVED)
    plan = Study.load(study)
    form = SubmissionFormat(plan)
    *ports, port, plain = free_ports(4)
    commands = [each["command"] for each in COLLECTORS]
    healthy = json.loads(of_image("HEALTHCHECK").partition("CMD")[2])[1:]
    servers = [started(commands[0], ports[0], address, study)]
    proxy = None

    def is_healthy(port: int) -> bool:
        words = [word.replace(f":{PORT}/", f":{port}/") for word in healthy]
        assert words != healthy
        return not subprocess.run([sys.executable, *words], capture_output=True).returncode

    def wait_for(port: int) -> None:
        until = time.monotonic() + 60
        while not is_healthy(port):
            assert time.monotonic() < until, (tmp_path / f"{port}.log").read_text()
            time.sleep(0.2)

    accepted = 0
    try:
        assert not is_healthy(ports[0])
        wait_for(ports[0])
        assert servers[0].stdout is not None
        shown = servers[0].stdout.readline() + servers[0].stdout.readline()
        assert shown.startswith("Survey:      https://survey.example.org/\n")
        token = shown.partition("token=")[2].strip()
        servers.append(started(commands[1], ports[1], address, study))
        wait_for(ports[1])
        proxy = Proxy(tmp_path, port, plain, ports)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                status, page = proxy.ask("GET", "/")
                break
            except OSError:
                time.sleep(0.1)
        assert status == 200 and b"Habits" in page
        assert proxy.ask("GET", "/", host="other.example.org")[0] == 421
        connection = http.client.HTTPConnection("127.0.0.1", plain, timeout=30)
        connection.request("GET", "/", headers={"host": "survey.example.org"})
        moved = connection.getresponse().getheader("location")
        connection.close()
        assert moved == "https://survey.example.org/"
        bodies = []
        for i in range(40):
            if i == 20:
                servers[0].terminate()
                assert servers[0].wait(30) == 0
            made = {
                name: m.randomize({"smokes": ["yes"], "drinks": [7]}[name])
                for name, m in plan.mechanisms.items()
            }
            bodies.append(form.seal(made))
            status, answer = proxy.ask("POST", "/reports", bodies[-1])
            assert (status, answer) == (202, b'{"accepted":1}'), answer
            accepted += 1
        assert not is_healthy(ports[0])
        assert proxy.ask("POST", "/reports", bodies[0])[0] == 202  # again, at the other one
        bearer = {"authorization": f"Bearer {token}"}
        state = json.loads(proxy.ask("GET", "/live/status.json", **bearer)[1])
        assert (state["survey"], state["servers"]) == ("open", 1)
        status, _ = proxy.ask("GET", f"/live?token={token}")
        assert status == 303
    finally:
        for process in servers:
            process.terminate()
            process.communicate(timeout=60)
        if proxy is not None:
            proxy.process.terminate()
            proxy.process.wait(30)
    collector = Collector(plan, PostgresStore(address))
    assert collector.n == accepted == 40
    collector.stop()
    logs = [path.read_text() for path in tmp_path.glob("*.log")]
    assert len(logs) == 3 and not any(PERSON in text for text in logs)
