"""Functions of types."""

from __future__ import annotations

from engine.functions.arrow_types import from_arrow_name
from engine.functions.base import ANY_CONSTANT, Function, Signature, never, takes
from engine.functions.parameters import anything
from engine.types import TEXT


def _is_type(name: str) -> bool:
    return from_arrow_name(name) is not None


def _decided_by_name(_: object) -> Signature | None:
    """The type of the result is in the name, so the call is made into a cast before anybody asks."""
    return None


OTHER_FUNCTIONS = (
    Function(
        "arrow_cast",
        "other",
        "arrow_cast(value, type)",
        "The value as the Arrow type of that name, such as 'Int32' or 'Timestamp(Second, None)'; NULL for NULL.",
        _decided_by_name,
        choices={1: ANY_CONSTANT},
        checks={1: _is_type},
    ),
    Function(
        "arrow_typeof",
        "other",
        "arrow_typeof(value)",
        "The Arrow name of the value's type; never NULL.",
        takes(anything, result=TEXT),
        nullable=never,
    ),
)
