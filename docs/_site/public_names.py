"""The reference: every public name of warner once, under its shortest path, from its docstring."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.roles import XRefRole
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode, nested_parse_with_titles

import warner

_SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields):$")
_CODE = re.compile(r"(``.+?``|:\w+:`.+?`)")


def packages() -> dict[str, Any]:
    """The public packages of warner: {"warner.domains": module, ...}."""
    found = {
        f"warner.{name}": getattr(warner, name) for name in (*warner.__all__, *warner._PACKAGES)
    }
    return {path: module for path, module in found.items() if inspect.ismodule(module)}


def _names(module: Any) -> list[str]:
    """The public names of a module: those that it lists, or those of its functions."""
    functions = inspect.getmembers(module, inspect.isfunction)
    local = [n for n, f in functions if f.__module__ == module.__name__ and n[0] != "_"]
    return list(getattr(module, "__all__", local))


@cache
def public() -> dict[str, Any]:
    """Every public name but those of packages: {shortest path: object}."""
    found = {}
    for path, module in {"warner": warner, **packages()}.items():
        for name in module.__all__:
            thing = getattr(module, name)
            top = name in warner.__all__ and getattr(warner, name) is thing
            if not inspect.ismodule(thing):
                found[f"warner.{name}" if top else f"{path}.{name}"] = thing
            elif path != "warner":
                found |= {f"{path}.{name}.{n}": getattr(thing, n) for n in _names(thing)}
    return found


@cache
def returned() -> dict[str, type]:
    """Classes without a public name that public functions and methods return.

    They are made by these calls only, and users need their attributes and methods.
    """
    named = [thing for thing in public().values() if inspect.isclass(thing)]
    found: dict[str, type] = {}
    waiting = list(public().values())
    while waiting:
        for kind in _kinds_returned(waiting.pop()):
            path = f"{kind.__module__}.{kind.__name__}"
            if kind not in named and path not in found:
                found[path] = kind
                waiting.append(kind)
    return dict(sorted(found.items(), key=lambda item: item[1].__name__.lower()))


def _kinds_returned(thing: Any) -> Iterator[type]:
    calls = [thing] if inspect.isfunction(thing) else []
    if inspect.isclass(thing):
        shown = {n: v for n, v in vars(thing).items() if not n.startswith("_")}
        calls = [getattr(v, "fget", getattr(v, "func", v)) for v in shown.values()]
    for call in calls:
        try:
            hint = typing.get_type_hints(call).get("return")
        except (NameError, TypeError, AttributeError):
            continue
        for kind in (hint, *typing.get_args(hint)):
            if inspect.isclass(kind) and kind.__module__.startswith("warner.") and kind.__doc__:
                inner = any(room in kind.__module__ for room in ("._core", ".channels", ".app."))
                if not inner and not kind.__name__.startswith("_"):
                    yield kind


def home(path: str) -> str:
    """The package whose page shows a public name."""
    thing = public()[path]
    for package, module in packages().items():
        if any(getattr(module, name) is thing for name in module.__all__):
            return package
    return path.rpartition(".")[0]


@cache
def sections() -> dict[str, tuple[str, str]]:
    """{public name: (title, anchor)} of the section of docs/methods.md that has its mathematics."""
    text = (Path(__file__).parents[1] / "methods.md").read_text()
    table = text.partition("## Which section a name stands in\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \| \[(.*)\]\(#(.*)\) \|$", table, flags=re.M)
    return {
        name: (title, anchor) for names, title, anchor in rows for name in names[1:-1].split("`, `")
    }


def entry(path: str, thing: Any) -> list[str]:
    """The directive that documents a name."""
    if inspect.isclass(thing):
        kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        named = {base for base in public().values() if inspect.isclass(base)}
        bases = [base for base in thing.__mro__[1:] if base in named]
        # Members are shown where they are public first: those of Mechanism with Mechanism.
        elsewhere = {ancestor.__name__ for base in bases for ancestor in base.__mro__}
        elsewhere |= {b.__name__ for b in thing.__mro__ if not b.__module__.startswith("warner")}
        return [
            f".. {kind}:: {path}",
            "   :members:",
            f"   :inherited-members: {', '.join(sorted(elsewhere))}",
            *(["   :show-inheritance:"] if bases else []),
            "",
        ]
    kind = "autofunction" if inspect.isroutine(thing) else "autodata"
    return [f".. {kind}:: {path}", *(["   :no-value:"] if kind == "autodata" else []), ""]


def _for_papers(thing: Any) -> bool:
    """Whether a mechanism or an estimator says of itself that only papers use it."""
    return inspect.isclass(thing) and getattr(thing, "for_papers", False) is True


class Public(SphinxDirective):
    """``.. public:: PACKAGE``: the entries of a package; ``returned`` for classes without a name.

    ``for_papers`` gives the mechanisms and estimators that only papers use; no other page has them.

    ``all`` gives a table of every public name with its first sentence.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        wanted = self.arguments[0]
        if wanted == "all":
            lines = self._table()
        elif wanted == "for_papers":
            lines = [
                line
                for p, thing in public().items()
                if _for_papers(thing)
                for line in entry(p, thing)
            ]
        elif wanted == "returned":
            links = ", ".join(f":py:obj:`{p.rpartition('.')[2]} <{p}>`" for p in returned())
            lines = [f"On this page: {links}.", ""]
            lines += [line for path, thing in returned().items() for line in entry(path, thing)]
        else:
            shown = [p for p in public() if home(p) == wanted]
            if wanted != "warner":
                shown += [p for p in public() if home(p).startswith(f"{wanted}.")]
            shown = [p for p in shown if not _for_papers(public()[p])]
            links = ", ".join(f":py:obj:`{p.rpartition('.')[2]} <{p}>`" for p in shown)
            lines = [f".. py:module:: {wanted}", "", f"On this page: {links}.", ""]
            for path in shown:
                lines += entry(path, public()[path])
        for found in [*packages().values(), warner]:
            self.env.note_dependency(found.__file__)
        body = nodes.section()
        body.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, "public names"), body)
        return body.children

    @staticmethod
    def _table() -> list[str]:
        lines = [".. list-table::", "   :header-rows: 1", "   :widths: 30 70", ""]
        lines += ["   * - name", "     - what it is"]
        for path in sorted(public(), key=lambda p: p.rpartition(".")[2].lower()):
            text = (inspect.getdoc(public()[path]) or "").partition("\n\n")[0].replace("\n", " ")
            is_data = not inspect.isclass(public()[path]) and not inspect.isroutine(public()[path])
            lines += [
                f"   * - :py:obj:`{path}`",
                f"     - {'' if is_data else _escaped(text)}",
            ]
        return [*lines, ""]


def _escaped(line: str) -> str:
    """A line of a docstring, whose signs mean themselves; code and roles stay."""
    parts = _CODE.split(line)
    for i in range(0, len(parts), 2):
        plain = re.sub(r"([*|])", r"\\\1", parts[i])
        parts[i] = re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", plain)
    return "".join(parts)


def _prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Set equations, which stand indented, as they are written, and escape the rest."""
    if what == "data" and obj.__doc__ == type(obj).__doc__:
        # What autodoc shows of data without a comment is the docstring of dict or int.
        lines.clear()
    result: list[str] = []
    in_section = in_code = in_equation = False
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line and indent == 0:
            in_section = bool(_SECTION.match(line))
            in_code = in_equation = False
        if line.lstrip().startswith(">>>"):
            in_code = True
        elif in_code and not line:
            in_code = False
        if indent and not in_section and not in_equation and number and not lines[number - 1]:
            result += [".. code-block:: text", ""]
            in_equation = True
        is_plain = not in_code and not in_equation
        result.append(_escaped(line) if is_plain else line)
    if name.rpartition(".")[2] in sections() and public().get(name) is obj:
        title, anchor = sections()[name.rpartition(".")[2]]
        ends = (i for i, line in enumerate(result) if _SECTION.match(line) or line[:3] == ">>>")
        at = next(ends, len(result))
        result[at:at] = ["", f"Mathematics: :methods:`{title} <{anchor}>`.", ""]
    lines[:] = result


class _MethodsRole(XRefRole):
    """``:methods:`title <anchor>```: a section of docs/methods.md, by its anchor."""

    def process_link(self, env: Any, node: Any, explicit: bool, title: str, target: str) -> Any:
        node["refdomain"] = ""
        return title, target


def _bases(app: Any, name: str, obj: Any, options: Any, bases: list[Any]) -> None:
    """Name the nearest base that is public."""
    named = [thing for thing in public().values() if inspect.isclass(thing)]
    bases[:] = [base for base in obj.__mro__[1:] if base in named][:1]


def _resolve(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Find the public name of an object; what has none is shown without a link.

    A path into warner that leads to nothing stays unresolved, which breaks the build.
    """
    if node.get("reftype") == "methods":
        anchors = env.metadata["methods"].get("myst_slugs", {})
        if node["reftarget"] not in anchors:
            return None
        _, where, _ = anchors[node["reftarget"]]
        return make_refnode(app.builder, node["refdoc"], "methods", where, contnode)
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    if not target.startswith("warner"):
        # Types of Python and of other packages, and short names in annotations.
        known = {p.rpartition(".")[2]: p for p in [*public(), *returned()]}
        target = known.get(target, "")
        if not target:
            return contnode
    thing, members = _found(target)
    if thing is None:
        return None
    for path, named in [*public().items(), *returned().items()]:
        if named is thing:
            full = ".".join([path, *members])
            objects = env.get_domain("py").objects
            if full not in objects:
                full = path
            if full in objects:
                shown = contnode.deepcopy()
                document = node.get("refdoc", env.docname)
                where = objects[full]
                return make_refnode(
                    app.builder, document, where.docname, where.node_id, shown, full
                )
    return contnode


def _found(path: str) -> tuple[Any, list[str]]:
    """The object at a path, and the rest of the path below the class in it."""
    for cut in range(len(path.split(".")), 0, -1):
        head, rest = path.split(".")[:cut], path.split(".")[cut:]
        try:
            thing = importlib.import_module(".".join(head))
        except ImportError:
            continue
        for i, name in enumerate(rest):
            if inspect.isclass(thing):
                return (thing, rest[i:]) if hasattr(thing, name) else (None, [])
            if not hasattr(thing, name):
                return None, []
            thing = getattr(thing, name)
        return thing, []
    return None, []


def _complete(app: Any, env: Any) -> None:
    """Warn of every public name that the reference leaves out; a warning breaks the build."""
    objects = env.get_domain("py").objects
    modules = env.get_domain("py").modules
    for path in [*public(), *returned()]:
        if path not in objects:
            logging.getLogger(__name__).warning("the reference has no entry of %s", path)
    for path in packages():
        if path not in modules:
            logging.getLogger(__name__).warning("the reference has no page of %s", path)


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("public", Public)
    app.add_role("methods", _MethodsRole(innernodeclass=nodes.inline, warn_dangling=True))
    app.connect("autodoc-process-docstring", _prepare, priority=100)
    app.connect("autodoc-process-bases", _bases)
    app.connect("missing-reference", _resolve)
    app.connect("env-check-consistency", _complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
