"""Which pipelines a verb changes: one by its name, or several by a pattern or by tags.

arroyo stop orders            # one
arroyo stop 'orders-*'        # those whose name matches
arroyo stop --tag team=sales  # those with the tag
"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping

from engine.cli.client import Json
from engine.cli.remote import add_connection
from engine.errors import RequestError


def add_choice(parser: ArgumentParser) -> None:
    """Add the arguments that choose one pipeline or several, and those of the connection."""
    text = "Choose the pipeline by name or id, or several by a pattern such as 'orders-*'"
    parser.add_argument("pipeline", nargs="?", help=text)
    add_several(parser)
    add_connection(parser)


def add_several(parser: ArgumentParser) -> None:
    """Add the arguments of a change of several pipelines."""
    tag = "Choose the pipelines with this tag, such as team=sales or team; several tags must all match"
    parser.add_argument("--tag", action="append", metavar="KEY[=VALUE]", help=tag)
    parser.add_argument("--yes", action="store_true", help="Change several pipelines without asking first")
    limit = "Change this many pipelines at a time, if the command waits for the result (default: 2)"
    parser.add_argument("--at-once", type=int, metavar="N", help=limit)


def means_several(args: Namespace) -> bool:
    """Whether the arguments choose pipelines by a pattern or by tags."""
    return bool(args.tag) or (args.pipeline is not None and "*" in args.pipeline)


def chosen(rows: Iterable[Mapping[str, Json]], name: str | None, tags: Iterable[str]) -> list[Mapping[str, Json]]:
    """Return the pipelines that match the name or pattern and all tags, by name. A pipeline that is called exactly as
    the pattern is written is the only match."""
    wanted = [_tag(text) for text in tags]
    tagged = [row for row in rows if all(_has_tag(row.get("tags"), key, value) for key, value in wanted)]
    if name is None:
        matching = tagged
    else:
        pattern = re.compile(".*".join(re.escape(part) for part in name.split("*")), re.DOTALL)
        exact = [row for row in tagged if name in (row.get("name"), row.get("id"))]
        matching = exact or [row for row in tagged if pattern.fullmatch(str(row.get("name")))]
    return sorted(matching, key=lambda row: str(row.get("name")))


def tags_part(texts: Iterable[str]) -> dict[str, Json]:
    """Return the tags that arguments spell; one without a value has an empty one."""
    return {key: value or "" for key, value in map(_tag, texts)}


def _tag(text: str) -> tuple[str, str | None]:
    key, equals, value = text.partition("=")
    if not key:
        raise RequestError(f"{text!r} is not a tag", hint="write --tag team=sales, or --tag team")
    return key, value if equals else None


def _has_tag(tags: Json, key: str, value: str | None) -> bool:
    return isinstance(tags, dict) and key in tags and value in (None, tags[key])
