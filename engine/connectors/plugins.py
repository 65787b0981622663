"""Connectors of other packages, found by their entry points.

    [project.entry-points."arroyo.connectors"]
    acme = "arroyo_acme.connector:ACME"

A package is only imported when a script or a list needs its connector. The name of a built-in connector cannot be
taken. See docs/how-to/write-a-connector.md.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from engine.connectors.kinds import Connector
from engine.errors import PluginError, message_of

GROUP = "arroyo.connectors"
LOG = logging.getLogger(__name__)


def find_plugin(name: str) -> Connector | None:
    """Return the connector of that name from another package, or None. Raises PluginError if it cannot be loaded."""
    found = _entry_points().get(name, ())
    if len(found) > 1:
        raise PluginError(
            f"several packages have a connector {name!r}: {', '.join(sorted(map(_package, found)))}",
            hint="uninstall all but one of them",
        )
    return _loaded(name) if found else None


def load_plugins() -> tuple[Connector, ...]:
    """Return the connectors of other packages, by name. One that cannot be loaded is left out, with a warning in the
    log."""
    loaded: list[Connector] = []
    for name in sorted(_entry_points()):
        try:
            connector = find_plugin(name)
        except PluginError as error:
            LOG.warning("%s", error)
        else:
            assert connector is not None, name
            loaded.append(connector)
    return tuple(loaded)


@cache
def _entry_points() -> Mapping[str, Sequence[EntryPoint]]:
    by_name: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        by_name.setdefault(point.name, []).append(point)
    return by_name


@cache
def _loaded(name: str) -> Connector:
    [point] = _entry_points()[name]
    try:
        connector = point.load()
    except Exception as error:  # the code of another package may raise anything
        raise PluginError(
            f"the connector {name!r} of the package {_package(point)} cannot be loaded: "
            f"{type(error).__name__}: {message_of(error)}",
            hint="install what the package needs, or update it",
        ) from error
    if not isinstance(connector, Connector) or connector.name != name:
        raise PluginError(
            f"{point.value} of the package {_package(point)} is not a Connector with the name {name!r}",
            hint="the entry point must name a Connector of engine.connectors.kit, under the connector's name",
        )
    if not connector.kinds:
        raise PluginError(
            f"the connector {name!r} of the package {_package(point)} has no kind of table",
            hint="give it a SourceKind, a SinkKind or a LookupKind",
        )
    return connector


def _package(point: EntryPoint) -> str:
    return "?" if point.dist is None else f"{point.dist.name} {point.dist.version}"
