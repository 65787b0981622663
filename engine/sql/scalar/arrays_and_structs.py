"""Arrays and structs as they are written: literals, subscripts, slices and the operators of arrays."""

from __future__ import annotations

from sqlglot import exp

from engine import types
from engine.errors import FunctionArgumentsError, UnsupportedClauseError
from engine.plan.expressions.expr import Expr, Literal
from engine.plan.expressions.structs import make_struct
from engine.sql.column_names import usable_members
from engine.sql.scalar.calls import MakeCall, Translate
from engine.sql.scope import member_of

_OPERATORS: dict[type[exp.Expr], str] = {exp.ArrayContainsAll: "array_has_all", exp.ArrayOverlaps: "array_has_any"}


def translate_nested(node: exp.Expr, translate: Translate, make_call: MakeCall) -> Expr | None:
    """The value of an expression that makes an array or a struct, or reads one; None for all others."""
    match node:
        case exp.Array():
            return make_call("make_array", [translate(element) for element in node.expressions])
        case exp.Struct():
            return _literal(node, translate)
        case exp.Anonymous() if node.name.lower() == "struct":
            return _call(node, translate)
        case exp.Anonymous() if node.name.lower() == "named_struct":
            return _named_struct(node, translate, make_call)
        case exp.Bracket():
            return _subscript(node, translate, make_call)
        case exp.ArrayContainsAll() | exp.ArrayOverlaps():
            return make_call(_OPERATORS[type(node)], [translate(node.this), translate(node.expression)])
        case exp.ArrayContainedBy():
            return make_call("array_has_all", [translate(node.expression), translate(node.this)])
        case exp.DPipe():
            return _joined(translate(node.this), translate(node.expression), make_call)
    return None


def _joined(left: Expr, right: Expr, make_call: MakeCall) -> Expr:
    """`||` puts arrays, or an array and an element, behind each other; for all else it makes text."""
    match left.type, right.type:
        case types.Array(), types.Array():
            return make_call("array_concat", [left, right])
        case types.Array(), _:
            return make_call("array_append", [left, right])
        case _, types.Array():
            return make_call("array_prepend", [left, right])
    return make_call("||", [left, right])


def _subscript(node: exp.Bracket, translate: Translate, make_call: MakeCall) -> Expr:
    value = translate(node.this)
    if len(node.expressions) != 1:
        raise UnsupportedClauseError("an array takes a single subscript", hint="write array[1][2]")
    match node.expressions[0]:
        case exp.Slice() as part:
            ends = [(part.this, 1), (part.expression, -1)]
            bounds = [translate(end) if end else Literal(default, types.BIGINT) for end, default in ends]
            step = part.args.get("step")
            return make_call("array_slice", [value, *bounds, *([translate(step)] if step else [])])
        case exp.Literal(is_string=True) as name if isinstance(value.type, types.Struct):
            return member_of(value, name.name)
        case written:
            if not isinstance(value.type, types.Array):
                raise FunctionArgumentsError(
                    f"a value of type {value.type} has no elements",
                    hint="only arrays take a subscript; read members of JSON with -> and ->>",
                )
            return make_call("array_element", [value, translate(written)])


def _literal(node: exp.Struct, translate: Translate) -> Expr:
    names, values = [], []
    for part in node.expressions:
        if not isinstance(part, exp.PropertyEQ):
            raise UnsupportedClauseError("a struct literal has the form {name: value, ...}")
        names.append(part.this.name)
        values.append(translate(part.expression))
    return _struct(names, values)


def _call(node: exp.Anonymous, translate: Translate) -> Expr:
    names = [member.alias or f"c{index}" for index, member in enumerate(node.expressions)]
    return _struct(names, [translate(member.unalias()) for member in node.expressions])


def _named_struct(node: exp.Anonymous, translate: Translate, make_call: MakeCall) -> Expr:
    struct = make_call("named_struct", [translate(argument) for argument in node.expressions])
    if isinstance(struct.type, types.Struct):
        usable_members([member.name for member in struct.type.members])
    return struct


def _struct(names: list[str], values: list[Expr]) -> Expr:
    usable_members(names)
    struct = make_struct(names, values)
    if struct is None:
        raise FunctionArgumentsError(
            "the members of a struct must have different names", hint="use struct(value AS name, ...)"
        )
    return struct
