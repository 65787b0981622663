"""`make bench-state`: what state costs.

`python -m benchmarks.state KEYS,KEYS,...` is throughput and memory by the number of keys, `savepoint` what epochs
take beside a savepoint, `rescale` what another number of tasks for a large state takes, `pause` for how long an upgrade
commits nothing; `all` or without arguments all of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.state import keys, pause, rescale, savepoint
from benchmarks.state.measured import RESULTS, Measured

KINDS = ("savepoint", "rescale", "pause")
_KEYS = "10000,100000,1000000,10000000"


def main(arguments: Sequence[str]) -> int:
    """Play what is asked for; the exit code says whether it is within its goal."""
    if arguments[:1] == ["side"]:
        print(json.dumps(_side(*arguments[1:])), flush=True)
        return 0
    if not arguments or arguments[0] == "all":
        return max([main([_KEYS]), *(main([kind]) for kind in KINDS)])
    if arguments[0] not in KINDS:
        if not all(text.isdecimal() for text in arguments[0].split(",")):
            _parser().error(f"{arguments[0]!r} is neither numbers of keys nor one of {', '.join(KINDS)}, or all")
        return keys.main([int(text) for text in arguments[0].split(",")])
    options = vars(_parser().parse_args(arguments))
    kind, folder = options.pop("kind"), options.pop("results")
    settings = {name: number for name, number in options.items() if name != "shapes"}
    cases: dict[str, Mapping[str, float]] = {}
    for shape in options["shapes"]:
        command = [sys.executable, "-m", "benchmarks.state", "side", kind, shape, json.dumps(settings)]
        line = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
        cases[shape] = json.loads(line)
        print(shape, line, flush=True)
    measured = Measured.now(kind, settings, cases)
    print(measured.save(folder))
    return 0 if is_reached(measured) else 1


def is_reached(measured: Measured) -> bool:
    """Whether a run is within the goal of its kind, if that has one."""
    if measured.kind != "savepoint":
        return True
    return all(case["largest under a savepoint"] < savepoint.GOAL for case in measured.cases.values())


def _side(kind: str, shape: str, settings: str) -> Mapping[str, float]:
    """One case, in a process of its own: there is one Java to a process, and its memory is that of the case."""
    match kind:
        case "savepoint":
            return savepoint.play(shape, savepoint.Load(**json.loads(settings)))
        case "rescale":
            return rescale.play(shape, rescale.Size(**json.loads(settings)))
        case "pause":
            return pause.play(shape, pause.Load(**json.loads(settings)))
    raise ValueError(kind)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks.state", description=__doc__.partition("\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True)
    kind = kinds.add_parser("savepoint", help="what epochs take beside a savepoint")
    kind.add_argument("--rate", type=int, default=50_000, help="rows per second")
    kind.add_argument("--keys", type=int, default=1_000_000, help="in state")
    kind.add_argument("--savepoints", type=int, default=10, help="that are taken, once each key has come")
    kind.add_argument("--apart", type=int, default=5, help="epochs from one savepoint to the next")
    _common(kind, savepoint.SHAPES)
    kind = kinds.add_parser("rescale", help="what another number of tasks takes")
    kind.add_argument("--megabytes", type=int, default=1024, help="of state, about")
    kind.add_argument("--before", type=int, default=2, help="tasks")
    kind.add_argument("--after", type=int, default=8, help="tasks")
    _common(kind, rescale.SHAPES)
    kind = kinds.add_parser("pause", help="how long an upgrade commits nothing")
    kind.add_argument("--rate", type=int, default=10_000, help="rows per second")
    kind.add_argument("--keys", type=int, default=500_000, help="in state")
    kind.add_argument("--spares", type=int, default=1, help="drivers that the control plane keeps ready")
    _common(kind, pause.SHAPES)
    return parser


def _common(kind: argparse.ArgumentParser, shapes: Mapping[str, str]) -> None:
    kind.add_argument("--shapes", type=lambda text: text.split(","), default=list(shapes), help="with commas")
    kind.add_argument("--results", type=Path, default=RESULTS, help="the folder for the result")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
