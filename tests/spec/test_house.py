"""The house: rooms import only from rooms below them, the device half needs numpy alone, importing
is quick.
"""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import warner

ROOT = Path(warner.__file__).parent


# From the ground floor up. A room imports only from rooms listed before it. The room errors is
# one file, and shows what is public of _core.
ROOMS = [
    "_core",
    "errors",
    "metrics",
    "domains",
    "privacy",
    "reports",
    "channels",
    "mechanisms",
    "estimators",
    "io",
    "results",
    "designs",
    "regression",
    "theory",
    "design",
    "testing",
    "studies",
    "collector",
    "spark",
    "app",
    "__main__",
]


def _modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    paths = sorted(ROOT.rglob("*.py"))
    names = (("warner", *p.relative_to(ROOT).with_suffix("").parts) for p in paths)
    return {".".join(n).removesuffix(".__init__"): p for n, p in zip(names, paths, strict=True)}


MODULES = _modules()


@pytest.fixture(autouse=True, scope="module")
def no_search_for_garbage() -> Iterator[None]:
    """Trees are new objects without garbage: looking for some takes longer than the parsing."""
    gc.disable()
    yield
    for remembered in (_tree, _nodes, _froms, _graph):
        remembered.cache_clear()
    gc.enable()


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


@cache
def _nodes(module: str) -> list[ast.AST]:
    """What a module says, from its imports to its expressions; walked once for all tests."""
    return list(ast.walk(_tree(module)))


@cache
def _froms(module: str) -> tuple[tuple[str, str, str], ...]:
    """(module, name, as) of each import of our own in a module, at the top or inside a function."""
    found = []
    for node in _nodes(module):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {module}"
            if (node.module or "").split(".")[0] == "warner":
                found += [(str(node.module), a.name, a.asname or a.name) for a in node.names]
        elif isinstance(node, ast.Import):
            found += [(a.name, "", "") for a in node.names if a.name.split(".")[0] == "warner"]
    return tuple(found)


def _home(module: str, name: str) -> str:
    """The module that defines ``name``, which ``module`` may only re-export."""
    if f"{module}.{name}" in MODULES:
        return f"{module}.{name}"
    if MODULES[module].name == "__init__.py":
        for origin, original, known_as in _froms(module):
            if known_as == name:
                return _home(origin, original)
    return module


@cache
def _graph() -> dict[str, set[str]]:
    """Which modules each module imports from, re-exports followed to where a name is defined."""
    return {m: {_home(o, name) for o, name, _ in _froms(m)} - {m} for m in MODULES}


def _room(module: str) -> str:
    return module.split(".")[1] if "." in module else "warner"


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    """The modules that are left when those that import nothing that is left are taken away."""
    left = dict(graph)
    while leaves := [m for m, needs in left.items() if not needs & left.keys()]:
        for leaf in leaves:
            del left[leaf]
    return sorted(left)


def test_every_module_has_a_room() -> None:
    assert {_room(m) for m in MODULES} - {"warner"} == set(ROOMS)
    assert all(
        (ROOT / room / "__init__.py").is_file() or (ROOT / f"{room}.py").is_file() for room in ROOMS
    )


def test_rooms_import_only_from_rooms_below() -> None:
    floor = {room: i for i, room in enumerate(ROOMS)}
    wrong = [
        f"{m} imports {other}"
        for m, needs in _graph().items()
        for other in needs
        if m != "warner" and floor[_room(m)] < floor.get(_room(other), len(ROOMS))
    ]
    assert wrong == []


def test_there_are_no_cycles() -> None:
    assert _cycle(_graph()) == []


def test_a_cycle_would_be_found() -> None:
    assert _cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set(), "e": {"d"}}) == ["a", "b", "c"]


def test_estimators_never_import_mechanisms() -> None:
    for module, needs in _graph().items():
        if _room(module) == "estimators":
            assert not {"mechanisms", "reports"} & {_room(other) for other in needs}


def test_guarantees_are_asked_for_what_they_bound_and_never_for_their_class() -> None:
    classes = {"LDP", "ULDP", "OSLDP", "MetricLDP", "ApproximateLDP"}
    for module in MODULES:
        if _room(module) == "privacy":
            continue
        for node in _nodes(module):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                assert not asked & classes, f"{module}:{node.lineno}"


def test_no_public_name_shadows_a_room() -> None:
    for name in set(warner.__all__) & set(ROOMS):
        assert getattr(warner, name) is sys.modules[f"warner.{name}"]


def test_warner_shows_its_public_names_alone() -> None:
    assert sorted([*warner.__all__, *warner._PACKAGES, "__version__"]) == dir(warner)
    assert len(warner.__all__) <= 49


def _fresh(code: str) -> str:
    # As the command ends: a thread of Arrow can abort an interpreter that takes itself apart.
    code += "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


BLOCK = """
import sys
class Only:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("lazy_loader", "numpy", "warner"):
            raise ModuleNotFoundError(f"not on a device: {name}", name=name)
sys.meta_path.insert(0, Only())
"""


def test_the_device_half_needs_numpy_and_the_standard_library_only() -> None:
    code = (
        BLOCK
        + """
import warner as w
domain = w.Categorical(["a", "b", "c"])
for m in (w.RandomizedResponse(domain, 1.0), w.UnaryEncoding(domain, 1.0), w.LocalHashing(domain, 1.0, seeds=8),
          w.SubsetSelection(domain, 1.0), w.HadamardResponse(domain, 1.0), w.MatrixMechanism(domain, [[.7, .1, .2], [.3, .9, .8]])):
    reports = w.Reports.from_bytes(m.randomize(["a", "c"]).to_bytes())
    channel = m.channel()
    channel.rmatvec(channel.matvec(channel.naive_estimate(channel.matvec(__import__("numpy").ones(3) / 3)))) if channel.shape[0] != 2 else None
    print(m.tally(reports).n)
"""
    )
    assert _fresh(code).split() == ["2"] * 6


def test_labels_are_randomised_tallied_and_estimated_by_numpy_alone() -> None:
    # What pip install --no-deps warner numpy lazy_loader installs; the rest says what it lacks.
    code = """
import numpy as np
import warner as w
for k in (3, 40):
    domain = w.Categorical([str(i) for i in range(k)])
    answers = ["0"] * 1500 + ["1"] * 300 + ["2"] * 200
    for m in (w.RandomizedResponse(domain, 1.0), w.UnaryEncoding(domain, 1.0), w.LocalHashing(domain, 1.0),
              w.SubsetSelection(domain, 1.0), w.HadamardResponse(domain, 1.0), w.mechanisms.ProjectiveGeometryResponse(domain, 1.0)):
        tally = m.tally(w.Reports.from_bytes(m.randomize(answers).to_bytes()))
        result = w.estimate(tally)
        print(result.interval().shape == (k, 2), len(str(result)) > 100, w.estimate(tally, method="project").n)
numbers = w.SquareWave(w.Interval(0, 1, 16), 1.0)
try:
    w.estimate(numbers.tally(numbers.randomize([0.5] * 1000)))
except w.errors.MissingExtraError as error:
    print(error)
try:
    result.to_frame()
except w.errors.MissingExtraError as error:
    print(error)
"""
    lines = _fresh(BLOCK + code).splitlines()
    assert lines == ["True True 2000"] * 12 + [
        f"{lacking}: is not installed. Run: pip install {lacking}."
        for lacking in ("scipy", "narwhals")
    ]


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
print(sorted(own & {"scipy", "duckdb", "pyarrow", "click", "rich", "narwhals", "altair", "pandas", "polars"}))
"""
    assert _fresh(code).strip() == "[]"


def test_what_is_not_used_is_not_imported() -> None:
    # A command loads what it uses. So the list of commands, and counting, start without estimators.
    code = """
import sys
from click.testing import CliRunner
from warner.app.cli import main, whole_commands
def loaded(room):
    return sum(name.startswith(f"warner.{room}.") for name in sys.modules)
assert CliRunner().invoke(main, ["--help"]).exit_code == 0
print(*[loaded(room) for room in ("domains", "mechanisms", "estimators", "studies")])
assert CliRunner().invoke(main, ["tally", "--help"]).exit_code == 0
print(*[loaded(room) for room in ("estimators", "results", "design", "testing", "collector")], loaded("studies") > 0)
whole_commands()
print(all(loaded(room) > 0 for room in ("domains", "mechanisms", "estimators", "studies", "results", "design")))
"""
    assert _fresh(code).splitlines() == ["0 0 0 0", "0 0 0 0 0 True", "True"]


def test_a_file_of_text_is_counted_without_a_database(tmp_path: Path) -> None:
    """Rejects a start of a command that loads what this file does not need."""
    code = f"""
import sys
from click.testing import CliRunner
from warner import Categorical, RandomizedResponse, io
from warner.app.cli import main
coin, path = RandomizedResponse(Categorical(["no", "yes"]), 1.0), {str(tmp_path / "r.csv")!r}
io.write_reports(coin.randomize(["no", "yes"] * 50), path)
assert CliRunner().invoke(main, ["tally", path]).exit_code == 0
print(sorted({{"duckdb", "narwhals"}} & set(sys.modules)))
"""
    assert _fresh(code).strip() == "[]"


def test_an_estimate_imports_few_modules_of_the_package(tmp_path: Path) -> None:
    # Imports follow use: a share of labels needs no numbers, groups, charts, files or studies.
    count = "print(len([m for m in sys.modules if m.startswith('warner')]), 'scipy' in sys.modules)"
    code = f"""
import sys
import warner
device = warner.RandomizedResponse(warner.Categorical(["a", "b", "c"]), 1.0)
tally = device.tally(device.randomize(["a"] * 700 + ["b"] * 300))
warner.estimate(tally)
{count}
tally.save({str(tmp_path / "tally.json")!r})
"""
    count_of_modules, has_scipy = _fresh(code).split()
    assert int(count_of_modules) < 60 and has_scipy == "False"
    code = f"""
import sys
from warner.app.cli import main
main(["estimate", {str(tmp_path / "tally.json")!r}], standalone_mode=False)
{count}
"""
    count_of_modules, has_scipy = _fresh(code).splitlines()[-1].split()
    assert int(count_of_modules) < 110 and has_scipy == "False"


def test_modules_that_messages_name_are_there_after_import_warner_alone() -> None:
    named = {
        found
        for path in ROOT.rglob("*.py")
        for found in re.findall(r"Use (warner(?:\.\w+)+)", path.read_text())
    }
    assert "warner.domains.with_missing" in named
    for name in sorted(named):
        assert _fresh(f"import warner; print(callable({name}))").strip() == "True", name


def test_each_name_at_the_top_stands_once_in_the_stub() -> None:
    names = [
        alias.name
        for node in ast.parse((ROOT / "__init__.pyi").read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    hidden = {*warner._PACKAGES, *warner._ROOMS}
    assert sorted(set(names) - hidden) == sorted(warner.__all__)
    assert len(set(names)) == len(names)
    modules = {n for n in warner.__all__ if isinstance(getattr(warner, n), ModuleType)}
    assert modules | hidden <= {*ROOMS}


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = warner.nothing
    with pytest.raises(ImportError, match="nothing"):
        exec("from warner import nothing")


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
    warnings = {"MethodWarning", "FrameWarning", "SmallGroupWarning"}
    assert all(issubclass(getattr(warner.errors, name), UserWarning) for name in warnings)
    for name in set(warner.errors.__all__) - {"WarnerError", *warnings}:
        thing = getattr(warner.errors, name)
        assert issubclass(thing, warner.errors.WarnerError)
        assert issubclass(thing, ValueError | TypeError | ImportError)
        assert thing.__name__ == name


def test_clients_of_tuples_need_numpy_alone() -> None:
    code = """
import warner as w
a, b = w.Categorical(["n", "y"]), w.Integers(0, 9)
m = w.PerAttribute(w.Product(a=a, b=b), {"a": w.RandomizedResponse(a, 1.0), "b": w.mechanisms.Repeated(w.RandomizedResponse(b, 1.0), 2)})
for m, values in ((m, [{"a": "n", "b": 3}]), (w.mechanisms.Repeated(w.UnaryEncoding(b, 1.0), 2), [3])):
    m.tally(w.Reports.from_bytes(m.randomize(values).to_bytes()))
    print(m.epsilon > 1.9)
"""
    assert _fresh(BLOCK + code).split() == ["True", "True"]


# Names that say nothing: a noun says what a local variable or a parameter holds.
NAMES_THAT_SAY_NOTHING = {
    *("found", "part", "place", "own", "known", "told", "asked", "wanted", "kept"),
}


def _bound(function: ast.AST) -> set[str]:
    """The parameters and local names of a function, and of the functions in it."""
    nodes = list(ast.walk(function))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in nodes if isinstance(n, ast.arg)}


def test_names_in_functions_say_what_they_hold() -> None:
    functions = [
        (module, node)
        for module in MODULES
        for node in _nodes(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    empty = {
        f"{module}.{node.name}": names
        for module, node in functions
        if (names := _bound(node) & NAMES_THAT_SAY_NOTHING)
    }
    assert len(functions) > 1_000 and empty == {}
