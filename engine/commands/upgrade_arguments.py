"""What may be given up of a state that another query takes over: the same arguments wherever that happens."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from engine.commands.client import Json


def add_upgrade_arguments(parser: ArgumentParser) -> None:
    """The arguments."""
    parser.add_argument(
        "--keep-state",
        metavar="ID",
        action="append",
        default=[],
        help="Keep the state of this operator although the rows before it have changed their meaning; may be repeated",
    )
    parser.add_argument(
        "--reset",
        metavar="ID",
        action="append",
        default=[],
        help="Let this operator, source or sink lose its state or place; may be repeated",
    )
    parser.add_argument(
        "--hold-back",
        metavar="ID",
        action="append",
        default=[],
        help="Give out no open windows of this operator, to which an aggregate is added, instead of with NULL; may be "
        "repeated",
    )
    parser.add_argument("--accept-loss", metavar="PLAN", help="Accept all that the plan of this id says is lost")


def upgrade_part(args: Namespace) -> dict[str, Json]:
    """The part of a request that says it; nothing where nothing was said."""
    parts: dict[str, Json] = {
        "keep_state": args.keep_state,
        "reset": args.reset,
        "hold_back": args.hold_back,
        "accept_loss": args.accept_loss,
    }
    return {name: part for name, part in parts.items() if part}
