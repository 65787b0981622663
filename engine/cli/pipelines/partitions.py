"""`arroyo partitions`."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from engine.cli.base import Client, Command, Json, segment
from engine.cli.remote import (
    FAILED,
    add_connection,
    add_pipeline,
    complete_facts,
    connect,
    errors_shown,
    facts,
    held_facts,
    instant,
    rows_of,
    say,
    seconds,
    show,
)
from engine.cli.remote import table as as_table
from engine.cli.waiting import HOLD, LongPoll, OnePipeline
from engine.errors import RequestError

_PARTS = {
    "push_asset": ("asset", "--push-asset"),
    "push_user": ("username", "--push-user"),
    "push_password": ("password", "--push-password"),
    "push_token": ("token", "--push-token"),
}


def add_push(parser: ArgumentParser) -> None:
    """Add the options of `create`."""
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
    """Return the push's part of a request; empty leaves it unchanged."""
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


_CREATE = ("table", "by", "time_zone", "offset", "start", "until", "late")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "action",
        choices=("create", "list", "show", "next", "ack", "deliveries", "delete"),
        help="Create, list, show or delete a consumer; get its next delivery, acknowledge it, or list past deliveries",
    )
    parser.add_argument("name", nargs="?", help="Name the consumer")
    parser.add_argument("--pipeline", help="Follow this pipeline (create), or list only its consumers (list)")
    parser.add_argument("--every", metavar="DURATION", help="Set the bucket length, such as '1 hour' (create)")
    parser.add_argument("--table", help="Wait for this sink (create; default: all sinks)")
    parser.add_argument(
        "--by",
        choices=("input", "output"),
        help="Use the event time of rows read (input) or written (output) (create; default: input)",
    )
    parser.add_argument("--time-zone", help="Set the time zone in which days start (create; default: UTC)")
    parser.add_argument("--offset", metavar="DURATION", help="Shift the start of each bucket by this duration (create)")
    parser.add_argument("--start", metavar="INSTANT", help="Start with the bucket of this time (create; ISO 8601)")
    parser.add_argument("--until", metavar="INSTANT", help="Deliver no bucket that ends after this time (create)")
    parser.add_argument(
        "--late",
        choices=("ignore", "reopen"),
        help="Deliver a bucket again after late rows, or ignore them (create; default: unchanged, or ignore)",
    )
    add_push(parser)
    parser.add_argument(
        "--up-to", type=int, metavar="SEQUENCE", help="Acknowledge all deliveries up to this number (ack)"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=0.0, help="Wait at most this many seconds (next; default: 0)"
    )
    add_connection(parser)


@errors_shown
def run(args: Namespace) -> int:
    """Manage consumers of time buckets."""
    client = connect(args)
    if args.action == "list":
        query: dict[str, str | int | float] = {} if args.pipeline is None else {"pipeline": args.pipeline}
        answer = client.get("/partitions", query)
        say(json.dumps(answer, indent=2) if args.json else _listed(answer))
        return 0
    place = f"/partitions/{segment(_given(args, 'name', 'NAME'))}"
    match args.action:
        case "create":
            show(args, client.send("PUT", place, _wanted(args)), _described)
        case "show":
            show(args, client.get(place), _described)
        case "next":
            show(args, _next(client, place, args.timeout), _told)
        case "ack":
            body: dict[str, Json] = {"up_to": int(_given(args, "up_to", "--up-to SEQUENCE"))}
            show(args, client.send("POST", f"{place}/ack", body), _described)
        case "deliveries":
            answer = client.get(f"{place}/deliveries")
            show(args, answer, lambda told: f"{_told(told)}{_pushed(client.get(place))}")
        case _:
            client.send("DELETE", place, None)
    return 0


def _given(args: Namespace, name: str, shown: str) -> str:
    value = getattr(args, name)
    if value is None:
        raise RequestError(
            f"arroyo partitions {args.action} needs {shown}", hint="`arroyo partitions --help` shows what it takes"
        )
    return str(value)


def _wanted(args: Namespace) -> dict[str, Json]:
    body: dict[str, Json] = {
        "pipeline": _given(args, "pipeline", "--pipeline"),
        "every": _given(args, "every", "--every"),
    }
    body |= {name: getattr(args, name) for name in _CREATE if getattr(args, name) is not None}
    return body | wanted_push(args)


def _next(client: Client, place: str, timeout: float) -> Json:
    ask = LongPoll(lambda hold: client.get(f"{place}/next", {"timeout_seconds": hold}, hold=HOLD), timeout)
    return ask.until(lambda answer: bool(rows_of(answer)))


def _described(consumer: Mapping[str, Json]) -> str:
    return facts(
        [
            ("name", consumer.get("name")),
            ("pipeline", consumer.get("pipeline")),
            ("table", consumer.get("table") or "all"),
            ("closed until", instant(consumer.get("closed_until"))),
            ("delivered", consumer.get("delivered")),
            ("acknowledged", consumer.get("acked")),
            ("late rows", _late(consumer)),
            *push_facts(consumer),
        ]
    )


def _late(consumer: Mapping[str, Json]) -> str | None:
    """Return what happens with late rows, if the consumer gets them."""
    if consumer.get("late") != "reopen":
        return None
    return "reopen" if consumer.get("late_known") is not False else "reopen, but no table takes late rows now"


def _pushed(consumer: Json) -> str:
    """Describe the push of a consumer."""
    shown = facts(push_facts(consumer)) if isinstance(consumer, dict) else ""
    return f"\n\n{shown}" if shown else ""


def _listed(answer: Json) -> str:
    head = ("NAME", "PIPELINE", "TABLE", "CLOSED UNTIL", "DELIVERED", "ACKNOWLEDGED")
    rows = [
        (
            row.get("name"),
            row.get("pipeline"),
            row.get("table") or "all",
            instant(row.get("closed_until")),
            row.get("delivered"),
            row.get("acked"),
        )
        for row in rows_of(answer)
    ]
    return as_table(head, rows)


def _told(answer: Mapping[str, Json]) -> str:
    rows = [
        (row.get("sequence"), row.get("kind"), instant(row.get("start")), instant(row.get("end")))
        for row in rows_of(dict(answer))
    ]
    return as_table(("SEQUENCE", "KIND", "START", "END"), rows)


PARTITIONS = Command(add_arguments, run)


def add_watermark_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add_pipeline(parser)
    parser.add_argument("--past", help="Wait until the output is complete up to this instant (ISO 8601)")
    parser.add_argument("--table", help="Wait for this sink (default: all sinks)")
    parser.add_argument(
        "--by",
        choices=("input", "output"),
        default="input",
        help="Use the event time of rows read (input) or written (output); default: input",
    )
    parser.add_argument("--timeout", type=seconds, default=60.0, help="Wait at most this many seconds (default: 60)")


@errors_shown
def run_watermark(args: Namespace) -> int:
    """Print how far committed output is complete; with --past, return 3 if that was not reached."""
    client, watched = connect(args), OnePipeline(args.pipeline)

    def ask(hold: float) -> Json:
        query: dict[str, str | int | float] = {}
        if args.past is not None:
            query = {"past": args.past, "timeout_seconds": hold, "by": args.by}
            query |= {} if args.table is None else {"table": args.table}
        return watched.read(lambda place: client.get(f"/pipelines/{segment(place)}/watermark", query, hold=HOLD))

    answer = LongPoll(ask, args.timeout).until(_is_last)
    show(args, answer, _describe)
    return FAILED if isinstance(answer, dict) and answer.get("passed") is False else 0


def _is_last(answer: Json) -> bool:
    """Whether the answer is final: the gate is passed, nothing waits for it, or the job has stopped."""
    fields = answer if isinstance(answer, dict) else {}
    rests = fields.get("state") in ("Stopped", "Failed", "Finished") and fields.get("settled") is not False
    return fields.get("passed") is not False or rests


def _describe(watermark: Mapping[str, Json]) -> str:
    sources = watermark.get("sources")
    marks = sources.items() if isinstance(sources, dict) else []
    return facts(
        [
            ("state", watermark.get("state")),
            ("epoch", watermark.get("epoch")),
            ("watermark", instant(watermark.get("watermark")) or "unknown yet"),
            ("passed", watermark.get("passed")),
            *complete_facts(watermark),
            *held_facts(watermark),
            *((f"source {name}", instant(at) or "unknown yet") for name, at in marks),
        ]
    )


WATERMARK = Command(add_watermark_arguments, run_watermark)
