"""`--dry-run` of the verbs that change something: what would happen, in the control plane's words."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from engine.cli.client import Json
from engine.cli.remote import connect, facts, show


def add_dry_run(parser: ArgumentParser) -> None:
    """The argument that asks what would happen."""
    parser.add_argument("--dry-run", action="store_true", help="Show the effects and change nothing")


def send(
    args: Namespace,
    method: str,
    path: str,
    body: Mapping[str, Json] | None,
    describe: Callable[[Mapping[str, Json]], str],
    key: str | None = None,
    query: Mapping[str, str] | None = None,
) -> None:
    """Send a change and show its answer, or with `--dry-run` what it would do."""
    if args.dry_run:
        show(
            args,
            connect(args).send(method, f"{path}?{urlencode({**(query or {}), 'dry_run': 'true'})}", body),
            describe_effects,
        )
    else:
        show(args, connect(args).send(method, path, body, key=key), describe)


def describe_effects(effects: Mapping[str, Json]) -> str:
    """Describe the effects, a line for each kind, and the upgrade plan if another query takes over a state."""
    pause = effects.get("pause_micros")
    both = effects.get("stops") and effects.get("starts")
    length = f"about {pause / 1_000_000:.0f} s" if isinstance(pause, int) else "unknown"
    named = ("kept", "lost", "repeated", "voided")
    lists: list[tuple[str, object]] = [(name, _listed(effects.get(name))) for name in named]
    told = facts(
        [
            ("stops", "yes" if effects.get("stops") else "no"),
            ("starts", "yes" if effects.get("starts") else "no"),
            ("pause", length if both else None),
            *lists,
            *rollback_facts(effects.get("rollback")),
        ]
    )
    plan = effects.get("upgrade")
    return f"{told}\n\n{str(plan['text']).rstrip()}" if isinstance(plan, dict) else told


def rollback_facts(rollback: Json) -> list[tuple[str, object]]:
    """Return the target of a rollback, and the sinks that stay ahead."""
    if not isinstance(rollback, dict):
        return []
    savepoint = rollback.get("savepoint_id")
    state = f"savepoint {savepoint}, epoch {rollback.get('epoch')}" if savepoint else "goes on: the plan is the same"
    ahead = rollback.get("ahead")
    sinks = [_ahead(sink) for sink in ahead if isinstance(sink, dict)] if isinstance(ahead, list) else []
    return [("back to", f"version {rollback.get('version')}"), ("state", state), *(("ahead", sink) for sink in sinks)]


def _ahead(sink: Mapping[str, Json]) -> str:
    epochs = "an unknown number of" if sink.get("epochs") is None else sink["epochs"]
    rows = "" if sink.get("rows") is None else f", {sink['rows']} rows"
    return f"{sink.get('table')} ({sink.get('connector')}) by {epochs} epochs{rows}, which cannot be taken back"


def _listed(entries: Json) -> str | None:
    return ", ".join(map(str, entries)) or None if isinstance(entries, list) else None
