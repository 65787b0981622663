"""The kinds of relation a plan is made of, one family a module."""

from engine.plan.nodes.joins import JoinKind, LookupJoin, UpdatingJoin, WindowJoin
from engine.plan.nodes.over import Frame, NamedOver, Order, Over, Top
from engine.plan.nodes.ranked import UpdatingTop
from engine.plan.nodes.rows import Branch, Filter, Fused, Project, Scan, Union, Write, pass_through
from engine.plan.nodes.unnest import Unnest
from engine.plan.nodes.updating import UpdatingAggregate, is_updating
from engine.plan.nodes.windowed import (
    LAST_TIME,
    LATE_TIME,
    LATE_WATERMARK,
    MERGED_ROWS,
    Aggregate,
    Burst,
    Carried,
    Hop,
    LateRows,
    NamedAggregate,
    Pane,
    Partials,
    Session,
    Tumble,
    Window,
    WindowAggregate,
    window_of,
)

__all__ = [
    "LAST_TIME",
    "LATE_TIME",
    "LATE_WATERMARK",
    "MERGED_ROWS",
    "Aggregate",
    "Branch",
    "Burst",
    "Carried",
    "Filter",
    "Frame",
    "Fused",
    "Hop",
    "JoinKind",
    "LateRows",
    "LookupJoin",
    "NamedAggregate",
    "NamedOver",
    "Order",
    "Over",
    "Pane",
    "Partials",
    "Project",
    "Scan",
    "Session",
    "Top",
    "Tumble",
    "Union",
    "Unnest",
    "UpdatingAggregate",
    "UpdatingJoin",
    "UpdatingTop",
    "Window",
    "WindowAggregate",
    "WindowJoin",
    "Write",
    "is_updating",
    "pass_through",
    "window_of",
]
