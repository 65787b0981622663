"""The kinds of relation a plan is made of, one family a module."""

from engine.plan.nodes.rows import Branch, Filter, Project, Scan, Union, Write
from engine.plan.nodes.windowed import (
    Aggregate,
    Carried,
    Hop,
    NamedAggregate,
    Session,
    Tumble,
    Window,
    WindowAggregate,
    window_of,
)

__all__ = [
    "Aggregate",
    "Branch",
    "Carried",
    "Filter",
    "Hop",
    "NamedAggregate",
    "Project",
    "Scan",
    "Session",
    "Tumble",
    "Union",
    "Window",
    "WindowAggregate",
    "Write",
    "window_of",
]
