"""What `arroyo partitions` takes and shows of deliveries that are pushed."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from engine.cli.client import Json
from engine.cli.remote import instant
from engine.errors import RequestError

_PARTS = {
    "push_asset": ("asset", "--push-asset"),
    "push_user": ("username", "--push-user"),
    "push_password": ("password", "--push-password"),
    "push_token": ("token", "--push-token"),
}


def add_push(parser: ArgumentParser) -> None:
    """The options of `create`."""
    parser.add_argument("--push", metavar="URL", help="Push deliveries to the Airflow with this API server (create)")
    parser.add_argument("--push-asset", metavar="ASSET", help="Create events of this asset, by URI or name (create)")
    parser.add_argument("--push-user", metavar="NAME", help="Log in as this user (create)")
    parser.add_argument(
        "--push-password", metavar="SECRET", help="Log in with this secret, as '{{ secret:NAME }}' (create)"
    )
    parser.add_argument(
        "--push-token", metavar="SECRET", help="Send this secret as the token, as '{{ secret:NAME }}' (create)"
    )
    parser.add_argument(
        "--push-without-keys",
        action="store_true",
        help="Omit partition keys from events: they trigger asset-scheduled DAGs, not partitioned ones (create)",
    )
    parser.add_argument("--pull", action="store_true", help="Stop pushing deliveries; consumers pull them (create)")


def wanted_push(args: Namespace) -> dict[str, Json]:
    """The part of a request that says where to push to; nothing leaves it as it is."""
    named = {part: getattr(args, name) for name, (part, _) in _PARTS.items() if getattr(args, name) is not None}
    if args.push is None:
        if named or args.push_without_keys:
            raise RequestError("there is no URL to push to", hint="say it with --push")
        return {"push": None} if args.pull else {}
    if args.pull or "asset" not in named:
        raise RequestError("--push needs --push-asset, and no --pull", hint="name the asset as the DAG does")
    return {"push": {"url": args.push, "with_keys": not args.push_without_keys, **named}}


def push_facts(consumer: Mapping[str, Json]) -> Sequence[tuple[str, Json]]:
    """Return the facts of a consumer's push; empty if it has none."""
    push = consumer.get("push")
    if not isinstance(push, dict):
        return []
    shown: list[tuple[str, Json]] = [
        ("pushed to", f"{push.get('asset')} at {push.get('url')}"),
        ("waiting", push.get("waiting")),
        ("pushed last", instant(push.get("pushed_at"))),
    ]
    if push.get("failures"):
        shown += [
            ("failures", push.get("failures")),
            ("failing since", instant(push.get("failing_since"))),
            ("tried again", instant(push.get("due"))),
            ("error", push.get("error")),
        ]
    return shown
