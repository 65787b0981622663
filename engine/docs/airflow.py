"""Reference of the Airflow provider, a page per class: from the docstring, with an example. The provider's files are
parsed, and not imported, since Airflow need not be installed."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from engine.docs.airflow_results import PUSHED, RESULTS, Key
from engine.docs.models import code, page, section, table

PACKAGE = "airflow_provider_arroyo"
ROOT = Path(__file__).parents[2]
EXAMPLES = "dags_examples"
GROUPS: Mapping[str, Sequence[str]] = {
    "Core: deploy, gate, savepoint, rescale, stop, delete": (
        "StreamingSqlOperator",
        "WatermarkSensor",
        "SavepointOperator",
        "RescaleOperator",
        "StopStreamingJobOperator",
        "DeletePipelineOperator",
    ),
    "Operate: watch a pipeline, keep its savepoints, take it back": (
        "CheckpointSensor",
        "FreshnessSensor",
        "LagSensor",
        "StreamingJobSensor",
        "StartStreamingJobOperator",
        "SavepointRetentionOperator",
        "RestoreOperator",
        "RollbackOperator",
        "MoveOperator",
    ),
    "Change: try, plan and apply another script": (
        "UpgradePlanOperator",
        "RehearseOperator",
        "ForkOperator",
        "ReprocessOperator",
    ),
    "Partitions: hand over complete ranges of event time": (
        "NextPartitionOperator",
        "PushPartitionsOperator",
        "StreamBackfillOperator",
    ),
}
"""Operators and sensors of each section of the index, in order."""
KINDS: Mapping[str, Sequence[str]] = {
    "Operators": ("operators",),
    "Sensors": ("sensors",),
    "Triggers": ("triggers",),
    "Other helpers": ("decorators", "notifications", "temporary_pipeline", "streaming_dag", "retries"),
}
"""Packages and modules of each kind."""
_PARAMETER = re.compile(r"^:param (\w+): (.*?)(?=^:param |\Z)", re.DOTALL | re.MULTILINE)
_INDENT = "    "
Definition = ast.ClassDef | ast.FunctionDef


@dataclass(frozen=True, slots=True)
class Parameter:
    """A keyword parameter, as declared."""

    name: str
    type: str
    default: str | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Documented:
    """A class or a function, with its documentation."""

    node: Definition
    module: str
    drawing: str
    """Module docstring after its first paragraph."""
    own: Sequence[Parameter] = ()
    """Parameters of its own signature."""
    templated: Sequence[str] | None = None
    """Template fields in addition to those of its bases; None if it declares none."""
    settled: frozenset[str] = frozenset()
    """Parameters of its bases that it sets itself."""
    bases: Sequence[str] = field(default=())

    @property
    def name(self) -> str:
        """Return the name that authors write."""
        return "@task.streaming_sql" if self.node.name == "streaming_sql_task" else self.node.name

    @property
    def path(self) -> str:
        """Its page."""
        return f"airflow/{re.sub(r'(?<=[a-z])(?=[A-Z])', '-', self.node.name).lower().replace('_', '-')}"

    @property
    def text(self) -> str:
        """Its docstring without the parameters."""
        return (ast.get_docstring(self.node) or "").partition("\n:param ")[0].strip()

    @property
    def summary(self) -> str:
        """The first sentence."""
        return re.split(r"(?<=\.) ", " ".join(self.text.split()), maxsplit=1)[0]


def airflow_page() -> str:
    """Return the index: operators and sensors by what they are for, then all else by its kind."""
    sections = [section(title, _index(documented()[name] for name in names)) for title, names in GROUPS.items()]
    for title, places in KINDS.items():
        listed = [each for each in documented().values() if _is_listed(each) and _place(each.module) in places]
        ungrouped = [each for each in listed if all(each.name not in names for names in GROUPS.values())]
        if ungrouped:
            sections.append(section(title, _index(sorted(ungrouped, key=_name))))
    introduction = (
        "What the provider gives to authors of DAGs. How to use it: [the Airflow provider](../how-to/airflow.md)."
    )
    return page("Operators, sensors and triggers", introduction, sections)


def _index(listed: Iterable[Documented]) -> str:
    return table(["", ""], ([f"[{code(each.name)}]({each.path}.md)", each.summary] for each in listed))


def airflow_pages() -> dict[str, Callable[[], str]]:
    """Return a page for each, by its path without the ending."""
    return {each.path: partial(documented_page, each) for each in documented().values() if _is_listed(each)}


def documented_page(each: Documented) -> str:
    """Return the docstring, the parameters, and an example."""
    module = f"{PACKAGE}.{each.module}"
    is_imported = not each.name.startswith("@")
    imported = f"```python\nfrom {module} import {each.node.name}\n```" if is_imported else ""
    templated, listed = templated_of(each), parameters_of(each) if is_imported else []
    rows = [
        [
            code(parameter.name),
            code(parameter.type),
            "required" if parameter.default is None else code(parameter.default),
            "yes" if parameter.name in templated else "",
            parameter.text,
        ]
        for parameter in listed
    ]
    paragraphs = [imported, _fenced(each.drawing), each.text.partition("\n\n")[2]]
    head = ["", "type", "default", "templated", ""]
    paragraphs.append(section("Parameters", table(head, rows), _more(each)))
    if (keys := RESULTS.get(each.node.name)) is not None:
        paragraphs.append(section("Result", *_result(each.node.name, keys)))
    if (example := _example(each)) is not None:
        file, text = example
        paragraphs.append(section("Example", f"From `{EXAMPLES}/{file}`:", f"```python\n{text}\n```"))
    paragraphs.append("[All of them](../airflow.md)")
    return page(each.name, " ".join(each.text.partition("\n\n")[0].split()), [text for text in paragraphs if text])


def _result(name: str, keys: Sequence[Key]) -> Iterator[str]:
    yield "The XCom `return_value` has these keys:"
    yield table(["key", "type", ""], ([code(key.name), code(key.type), key.text] for key in keys))
    if name in PUSHED:
        yield "Other XComs:"
        yield table(["key", "type", ""], ([code(key.name), code(key.type), key.text] for key in PUSHED[name]))


def parameters_of(each: Documented) -> list[Parameter]:
    """Return all that it takes by name, its own first; those of Airflow's own classes are not among them."""
    texts, found, settled = dict[str, str](), dict[str, Parameter](), frozenset[str]()
    for known in _line(each):
        texts = {**_texts(known.node), **texts}
        for parameter in known.own:
            if parameter.name not in settled:
                found.setdefault(parameter.name, parameter)
        settled |= known.settled - {parameter.name for parameter in known.own}
    return [Parameter(one.name, one.type, one.default, texts.get(one.name, "")) for one in found.values()]


def templated_of(each: Documented) -> set[str]:
    """Return the parameters in which templates are rendered."""
    return {name for known in _line(each) for name in known.templated or ()}


@cache
def documented() -> Mapping[str, Documented]:
    """Return all public classes and functions of the modules that authors use, by their names."""
    found: dict[str, Documented] = {}
    for path in _files():
        tree = ast.parse(path.read_text())
        module = ".".join(path.relative_to(ROOT / PACKAGE).with_suffix("").parts)
        drawing = (ast.get_docstring(tree) or "").partition("\n\n")[2]
        for node in tree.body:
            if isinstance(node, Definition) and not node.name.startswith("__"):
                found[node.name] = _read(node, module, drawing)
    return found


def _files() -> Iterator[Path]:
    for places in KINDS.values():
        for place in places:
            path = ROOT / PACKAGE / place
            yield from sorted(path.glob("[!_]*.py")) if path.is_dir() else [path.with_suffix(".py")]


def _read(node: Definition, module: str, drawing: str) -> Documented:
    if isinstance(node, ast.FunctionDef):
        return Documented(node, module, drawing, _signature(node))
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    constructor = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    own = () if constructor is None else _signature(constructor)
    return Documented(node, module, drawing, own, _template_fields(node), _settled(constructor), bases)


def _signature(node: ast.FunctionDef) -> list[Parameter]:
    positional = node.args.args[node.args.args[:1] != [] and node.args.args[0].arg == "self" :]
    missing = len(positional) - len(node.args.defaults)
    pairs = zip(
        [*positional, *node.args.kwonlyargs],
        [*[None] * missing, *node.args.defaults, *node.args.kw_defaults],
        strict=True,
    )
    return [
        Parameter(given.arg, _spelled(given.annotation), None if default is None else _spelled(default))
        for given, default in pairs
    ]


def _spelled(node: ast.expr | None) -> str:
    """Return a type, or a default, as authors would write it: without the names that we have for it."""
    if node is None:
        return ""
    return re.sub(r"\b[A-Z][\w.]+\b", lambda name: _named().get(name[0], name[0]), ast.unparse(node))


@cache
def _named() -> Mapping[str, str]:
    """Return the names of choices and short constants of the package."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Subscript(value=ast.Name(id="Literal")) as choice
                ):
                    found[name] = ast.unparse(choice).removeprefix("Literal[").removesuffix("]").replace(", ", " | ")
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="timedelta")) as length):
                    found[name] = ast.unparse(length)
                case ast.ClassDef(name=owner, body=body):
                    found |= {f"{owner}.{name}": text for name, text in _constants(body)}
    return found


def _constants(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value):
                yield name, ast.unparse(value)


def _template_fields(node: ast.ClassDef) -> list[str] | None:
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id="template_fields"), value=ast.expr() as names):
                return [str(name.value) for name in ast.walk(names) if isinstance(name, ast.Constant)]
    return None


def _settled(constructor: ast.FunctionDef | None) -> frozenset[str]:
    """Return the arguments that a constructor gives to that of its base as constants."""
    found = set[str]()
    for node in [] if constructor is None else ast.walk(constructor):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                found |= {str(one.arg) for one in node.keywords if isinstance(one.value, ast.Constant)}
    return frozenset(found)


def _line(each: Documented) -> Iterator[Documented]:
    """Yield a class and its base classes of ours."""
    yield each
    for base in each.bases:
        if (known := documented().get(base)) is not None:
            yield from _line(known)


def _texts(node: Definition) -> dict[str, str]:
    docstring = ast.get_docstring(node) or ""
    return {name: " ".join(text.split()) for name, text in _PARAMETER.findall(docstring)}


def _more(each: Documented) -> str:
    """Return what Airflow's base classes accept in addition."""
    match _place(each.module):
        case "operators" | "sensors":
            return "And what every task of Airflow takes: `task_id`, `retries`, `execution_timeout`, `pool` and so on."
        case "decorators":
            return "What [`StreamingSqlOperator`](streaming-sql-operator.md) takes, but `sql`."
        case "temporary_pipeline":
            return "And what [`StreamingSqlOperator`](streaming-sql-operator.md) takes."
    return ""


def _is_listed(each: Documented) -> bool:
    is_of_authors = ":param " in (ast.get_docstring(each.node) or "") or each.name.startswith("@")
    return is_of_authors and not each.node.name.startswith("_") and not each.module.endswith(".base")


def _place(module: str) -> str:
    return module.partition(".")[0]


def _name(each: Documented) -> str:
    return each.name


def _fenced(text: str) -> str:
    """Return the text in plain form; drawings and code stay unchanged."""
    parts: list[str] = []
    for paragraph in filter(None, text.split("\n\n")):
        is_spaced = any(line.startswith(_INDENT) or "  " in line.strip() for line in paragraph.splitlines())
        is_drawn = is_spaced or not paragraph.endswith((".", ":", ";"))
        drawn = textwrap.dedent(paragraph)
        if is_drawn and parts and parts[-1].endswith("\n```"):
            parts[-1] = f"{parts[-1].removesuffix('```')}\n{drawn}\n```"
        else:
            parts.append(f"```text\n{drawn}\n```" if is_drawn else paragraph)
    return "\n\n".join(parts)


def _example(each: Documented) -> tuple[str, str] | None:
    """Return the shortest statement of the examples that uses it, and in which file that is."""
    found = [
        (len(text), path.name, text)
        for path in sorted((ROOT / EXAMPLES).glob("*.py"))
        if (each.name if each.name.startswith("@") else f"{each.node.name}(") in (source := path.read_text())
        for text in _uses(source, each.name)
    ]
    return None if not found else min(found)[1:]


def _uses(source: str, name: str) -> Iterator[str]:
    for statement in ast.walk(ast.parse(source)):
        if not isinstance(statement, ast.stmt) or isinstance(statement, ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        inner = [one for one in ast.walk(statement) if isinstance(one, ast.stmt) and one is not statement]
        is_innermost = name.startswith("@") or not any(_is_used(one, name) for one in inner)
        items = statement.items if isinstance(statement, ast.With) else []
        if (_is_used(statement, name) and is_innermost) or any(_is_call(item.context_expr, name) for item in items):
            yield _text_of(statement, source)


def _is_used(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return any(name == f"@{ast.unparse(one).partition('(')[0]}" for one in statement.decorator_list)
    return not name.startswith("@") and any(_is_call(node, name) for node in ast.walk(statement))


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _text_of(statement: ast.stmt, source: str) -> str:
    decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    return textwrap.dedent("\n".join(source.splitlines()[first - 1 : statement.end_lineno]))
