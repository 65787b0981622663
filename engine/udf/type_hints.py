"""Convert type hints (syntax trees) to SQL types."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from engine import types
from engine.udf.declared import Hint

_PLAIN: Mapping[str, types.Type] = {
    "int": types.BIGINT,
    "float": types.DOUBLE,
    "str": types.TEXT,
    "bool": types.BOOLEAN,
    "bytes": types.Bytes(),
    "datetime": types.TIMESTAMP,
    "date": types.Date(),
    "timedelta": types.Interval(),
    "Decimal": types.Decimal(38, 10),
}
_SQL: Mapping[str, types.Type] = {
    "TINYINT": types.Integer(8),
    "SMALLINT": types.Integer(16),
    "INT": types.INT,
    "INTEGER": types.INT,
    "BIGINT": types.BIGINT,
    "TINYINT UNSIGNED": types.Integer(8, signed=False),
    "SMALLINT UNSIGNED": types.Integer(16, signed=False),
    "INT UNSIGNED": types.Integer(32, signed=False),
    "BIGINT UNSIGNED": types.Integer(64, signed=False),
    "FLOAT": types.Float(32),
    "REAL": types.Float(32),
    "DOUBLE": types.DOUBLE,
    "TEXT": types.TEXT,
    "VARCHAR": types.TEXT,
    "BOOLEAN": types.BOOLEAN,
    "BYTEA": types.Bytes(),
    "TIMESTAMP": types.TIMESTAMP,
    "DATE": types.Date(),
    "INTERVAL": types.Interval(),
    "JSON": types.Json(),
}
LISTS = frozenset({"list", "List", "Sequence"})
ROWS = LISTS | {"Iterator", "Iterable", "Generator"}
KNOWN = "int, float, str, bool, bytes, datetime, date, timedelta, Decimal, list[...], a class of fields, or one | None"


class HintError(Exception):
    """A hint without a SQL type; the text is the reason."""


def read_hint(node: ast.expr, classes: Mapping[str, ast.ClassDef]) -> Hint:
    """Return the SQL type of a hint. `classes` are those of the file: one of annotated fields becomes a STRUCT."""
    match node:
        case ast.Constant(value=str(text)):
            return read_hint(_parse(text), classes)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _either([left, right], classes)
        case ast.Subscript(value=generic, slice=inside):
            return _generic(last_name(generic), inside, node, classes)
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            if name in classes:
                return Hint(_struct(classes[name], classes), class_name=name)
            if name in _PLAIN:
                return Hint(_PLAIN[name])
    raise HintError(f"{ast.unparse(node)} has no type in SQL")


def element_of(node: ast.expr, generics: frozenset[str]) -> ast.expr | None:
    """Return the element type of a list hint (or of the given generics), also if the hint is written as text."""
    match node:
        case ast.Constant(value=str(text)):
            return element_of(_parse(text), generics)
        case ast.Subscript(value=generic, slice=inside) if last_name(generic) in generics:
            return inside.elts[0] if isinstance(inside, ast.Tuple) else inside
    return None


def read_sql_type(text: str) -> types.Type:
    """Return a type by its name in SQL."""
    words = " ".join(text.upper().split())
    if words.endswith("[]"):
        return types.Array(read_sql_type(words[:-2]))
    decimal = re.fullmatch(r"(?:DECIMAL|NUMERIC) ?\( ?(\d+) ?(?:, ?(\d+) ?)?\)", words)
    if decimal and 1 <= int(decimal[1]) <= 38 and int(decimal[2] or 0) <= int(decimal[1]):
        return types.Decimal(int(decimal[1]), int(decimal[2] or 0))
    if words not in _SQL:
        raise HintError(f"{text!r} is not a SQL type")
    return _SQL[words]


def last_name(node: ast.expr) -> str:
    """Return the name, or the part after the last dot."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _generic(name: str, inside: ast.expr, node: ast.expr, classes: Mapping[str, ast.ClassDef]) -> Hint:
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    match name, parts:
        case "Optional", [part]:
            return _either([part, ast.Constant(value=None)], classes)
        case "Union", _:
            return _either(parts, classes)
        case "Annotated", [_, ast.Constant(value=str(text)), *_]:
            return Hint(read_sql_type(text))
        case _, [part] if name in LISTS:
            return Hint(types.Array(read_hint(part, classes).type))
    raise HintError(f"{ast.unparse(node)} has no type in SQL")


def _either(parts: list[ast.expr], classes: Mapping[str, ast.ClassDef]) -> Hint:
    """Return one type, or None."""
    kinds = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is None)]
    if len(kinds) != 1:
        raise HintError(f"{' | '.join(map(ast.unparse, parts))} is not one type")
    hint = read_hint(kinds[0], classes)
    return Hint(hint.type, hint.optional or len(kinds) < len(parts), hint.class_name)


def _struct(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> types.Struct:
    other_classes = {name: definition for name, definition in classes.items() if definition is not node}
    members = tuple(
        types.Member(field.target.id, read_hint(field.annotation, other_classes).type)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    )
    if not members:
        raise HintError(f"class {node.name} has no annotated fields")
    return types.Struct(members)


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise HintError(f"{text!r} is not a type hint") from None
