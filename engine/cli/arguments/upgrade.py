"""What may be given up of a state that another query takes over: the same arguments wherever that happens."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from engine.cli.client import Json


def add_upgrade_arguments(parser: ArgumentParser) -> None:
    """The arguments."""
    parser.add_argument(
        "--keep-state",
        metavar="ID",
        action="append",
        default=[],
        help="Keep the state of this operator although its input has changed; may be repeated",
    )
    parser.add_argument(
        "--reset",
        metavar="ID",
        action="append",
        default=[],
        help="Discard the state of this operator, or the position of this source or sink; may be repeated",
    )
    parser.add_argument(
        "--hold-back",
        metavar="ID",
        action="append",
        default=[],
        help="Suppress windows of this operator that were open during the upgrade, instead of emitting NULL for the "
        "new aggregate; may be repeated",
    )
    parser.add_argument("--accept-loss", metavar="PLAN", help="Accept the losses listed in the plan with this id")


def upgrade_part(args: Namespace) -> dict[str, Json]:
    """The part of a request that says it; nothing where nothing was said."""
    parts: dict[str, Json] = {
        "keep_state": args.keep_state,
        "reset": args.reset,
        "hold_back": args.hold_back,
        "accept_loss": args.accept_loss,
    }
    return {name: part for name, part in parts.items() if part}
