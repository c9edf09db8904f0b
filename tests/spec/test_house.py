"""The house: rooms import only from rooms above them, the device half needs numpy alone, importing is quick."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import warner

ROOT = Path(warner.__file__).parent
# From the street to the attic. A module imports only from rooms listed before its own.
ROOMS = [
    "_check", "_exact", "_random", "_shuffle", "_threads", "metrics",
    "domain", "guarantee", "hashing",
    "law", "uldp", "layout", "reports", "tally", "tuples", "channel",
    "mechanisms",
    "files", "evidence",
    "estimate", "estimators",
    "intervals", "summaries", "given", "conditional", "joint", "association", "choose", "compare",
    "personal", "theory", "weight", "audit", "plan", "schemes",
    "plot", "study", "show", "demo",
    "cli",
]  # fmt: skip
# Estimate.interval, .mean and its like, .conditional, .marginal, .cramers_v, .plot: the reader's convenience
DOORS = {
    *(
        ("estimate", door)
        for door in (
            "intervals",
            "summaries",
            "given",
            "conditional",
            "joint",
            "association",
            "plot",
        )
    ),
    ("compare", "plot"),
}
DEVICE = ROOMS[: ROOMS.index("mechanisms") + 1]


def _modules() -> dict[str, Path]:
    return {
        ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
        for p in ROOT.rglob("*.py")
    }


@cache
def _imports(path: Path) -> set[str]:
    """Every module of our own that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            if node.module == "warner":
                found |= {alias.name for alias in node.names}
            elif node.module and node.module.startswith("warner."):
                found.add(node.module.removeprefix("warner."))
        elif isinstance(node, ast.Import):
            found |= {
                a.name.removeprefix("warner.") for a in node.names if a.name.startswith("warner.")
            }
    return found


def _room(module: str) -> str:
    return module.split(".")[0]


def test_every_module_has_a_room() -> None:
    assert {_room(m) for m in _modules()} - {"__init__"} == set(ROOMS)


def test_imports_come_from_rooms_above() -> None:
    wrong = []
    for module, path in _modules().items():
        for other in _imports(path) if module != "__init__" else ():
            here, there = _room(module), _room(other)
            allowed = (
                here == there or (here, there) in DOORS or ROOMS.index(there) < ROOMS.index(here)
            )
            if not allowed:
                wrong.append(f"{module} imports {other}")
    assert wrong == []


def test_there_are_no_cycles_inside_a_room() -> None:
    modules = _modules()
    graph = {
        m: {o for o in _imports(p) if o in modules and _room(o) == _room(m) and o != m}
        for m, p in modules.items()
    }
    while leaves := [m for m, needs in graph.items() if not needs & graph.keys()]:
        for leaf in leaves:
            del graph[leaf]
    assert not graph


def test_estimators_never_import_mechanisms() -> None:
    for module, path in _modules().items():
        if _room(module) == "estimators":
            assert not {"mechanisms", "tally", "reports"} & {_room(o) for o in _imports(path)}


def _fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


BLOCK = """
import sys
class Only:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "warner"):
            raise ImportError(f"not on a device: {name}")
sys.meta_path.insert(0, Only())
"""


def test_the_device_half_needs_numpy_and_the_standard_library_only() -> None:
    code = (
        BLOCK
        + """
import warner as w
domain = w.Categorical(["a", "b", "c"])
for m in (w.RandomizedResponse(domain, 1.0), w.UnaryEncoding(domain, 1.0), w.LocalHashing(domain, 1.0, seeds=8),
          w.SubsetSelection(domain, 1.0), w.HadamardResponse(domain, 1.0), w.ChannelMechanism(domain, [[.7, .1, .2], [.3, .9, .8]])):
    reports = w.Reports.from_bytes(m.randomize(["a", "c"]).to_bytes())
    channel = m.channel()
    channel.rmatvec(channel.matvec(channel.observed(channel.matvec(__import__("numpy").ones(3) / 3)))) if channel.shape[0] != 2 else None
    print(m.tally(reports).n)
"""
    )
    assert _fresh(code).split() == ["2"] * 6


def test_the_block_really_blocks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + "import scipy"], capture_output=True, text=True, check=False
    )
    assert "not on a device" in done.stderr


def test_importing_warner_imports_no_third_party_package_but_numpy() -> None:
    code = """
import sys
import warner
own = {n.partition(".")[0] for n, m in list(sys.modules.items()) if getattr(m, "__file__", None)}
print(sorted(own & {"scipy", "duckdb", "pyarrow", "pydantic", "click", "rich", "narwhals", "altair", "pandas", "polars"}))
"""
    assert _fresh(code).strip() == "[]"


def test_public_names_are_what_can_be_imported() -> None:
    assert len(set(warner.__all__)) == len(warner.__all__)
    for name in warner.__all__:
        assert getattr(warner, name).__doc__
    is_enumerable = {
        n
        for n in vars(warner)
        if not n.startswith("_") and n not in sys.modules and f"warner.{n}" not in sys.modules
    }
    assert is_enumerable - {"annotations"} <= set(warner.__all__)


def test_errors_refine_builtins() -> None:
    for name in warner.__all__:
        thing = getattr(warner, name)
        if (
            isinstance(thing, type)
            and issubclass(thing, Exception)
            and thing is not warner.WarnerError
        ):
            assert issubclass(thing, warner.WarnerError)
            assert issubclass(thing, ValueError | TypeError | ImportError)
