"""`arroyo top`: what it draws, in which order, and what its keys do."""

from __future__ import annotations

import json
import os
import signal
import termios
from io import StringIO
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from engine.cli.base import Client
from engine.cli.main import main
from engine.cli.pipelines import top
from engine.cli.pipelines.list_pipelines import ORDERS, ordered
from engine.cli.pipelines.top import Watch, split
from engine.cli.pipelines.top_table import View, screen, table
from engine.errors import UnreachableError
from tests.api.stand_in_server import StandInServer

HOSTILE = "a\x1b[2J\u202eb\nc\r\u2028\x9b[red]"


def row(name: str, state: str = "Running", **more: Any) -> dict[str, Any]:
    return {"id": f"pl_{name}", "name": name, "state": state, **more}


ROWS = [
    row("fast", lag_micros=1_000_000, complete_until=1_700_000_000_000_000, rows_per_second=5.0, restarts=0),
    row("idle", "Stopped", stopped_by="ann"),
    row("slow", lag_micros=90_000_000, restarts=3, cpu_cores=0.5, memory_bytes=2**30),
    row("new"),
    row("broken", "Failed", failure_code="sink.refused"),
]


def drawn(what: Any, width: int) -> list[str]:
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(what)
    return out.getvalue().splitlines()


def names(rows: Any) -> list[str]:
    return [one["name"] for one in rows]


def test_the_worst_are_first() -> None:
    assert names(ordered(ROWS, "worst", is_reversed=False)) == ["broken", "slow", "fast", "new", "idle"]


def test_unknown_values_sort_last_in_both_directions() -> None:
    assert names(ordered(ROWS, "lag", is_reversed=False)) == ["slow", "fast", "broken", "idle", "new"]
    assert names(ordered(ROWS, "lag", is_reversed=True)) == ["fast", "slow", "broken", "idle", "new"]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_each_pipeline_is_one_line_that_fits(width: int) -> None:
    hostile = row(HOSTILE, "Failed", failure_code=HOSTILE, not_undone=HOSTILE)
    lines = drawn(screen(View([*ROWS, hostile], "worst"), width, 20, 0), width)

    assert len(lines) == 3 + len(ROWS) + 1
    assert all(line.isprintable() and cell_len(line) <= width for line in lines)
    assert any("slow" in line and "1 min 30 s" in line for line in lines)
    assert ("COMPLETE UNTIL" in lines[1]) == (width == 200)


def test_causes_and_hostile_text_are_spelled_out() -> None:
    text = "\n".join(drawn(table(View([*ROWS, row(HOSTILE)], "worst"), 200), 200))

    assert "Failed: sink.refused" in text
    assert "Stopped: ann" in text
    assert r"a\x1b[2J\u202eb\nc\r\u2028\x9b[red]" in text


def test_events_are_harmless_and_the_newest_stay_when_there_is_no_room() -> None:
    events = [{"level": "error", "pipeline": "p", "message": HOSTILE, "details": "x\ny"}, {"message": "old"}]
    lines = drawn(screen(View(ROWS, "worst", chosen="pl_new", events=events), 200, 4, 0), 200)

    assert len(lines) == 4
    assert r"\x1b[2J\u202eb\nc" in lines[1]
    assert lines[2].strip() == r"hint: x\ny"


def test_the_chosen_one_is_among_those_that_fit() -> None:
    many = [row(f"p{number:03}") for number in range(100)]
    lines = drawn(screen(View(many, "name", chosen="pl_p070"), 80, 13, 0), 80)

    assert len(lines) == 13
    assert any("p070" in line for line in lines)


def test_rows_stay_while_the_control_plane_is_away() -> None:
    server = StandInServer()
    server.answer = json.dumps({"data": ROWS, "has_more": False}).encode()
    watch = Watch(Client(server.url, "t"), clock=lambda: 1_700_000_000_000_000)
    view = watch.refreshed(View((), "worst"))
    server.status = 503
    away = watch.refreshed(view)
    server.status = 200
    back = watch.refreshed(away)
    server.close()

    assert names(away.rows) == names(ROWS)
    assert "away since 2023-11-14T22:13:20.000Z" in drawn(screen(away, 120, 20, 0), 120)[0]
    assert {str(style) for style in (one.style for one in table(away, 120).rows)} == {"dim"}
    assert back.away_since is None


def test_top_draws_nothing_before_the_first_response() -> None:
    with pytest.raises(UnreachableError):
        Watch(Client("http://127.0.0.1:1", "t")).refreshed(View((), "worst"))


def test_keys_choose_sort_and_open_events() -> None:
    server = StandInServer()
    server.answer = json.dumps({"data": ROWS, "has_more": False}).encode()
    watch = Watch(Client(server.url, "t"))
    view = watch.refreshed(View((), "worst"))
    for key in ("down", "down", "x"):
        view = watch.after_key(view, key)
    opened = watch.after_key(view, "enter")
    server.close()

    assert view.chosen == "pl_slow"
    assert server.requests[-1][1].endswith("/pipelines/pl_slow/events?limit=100")
    assert opened.events is not None
    assert watch.after_key(opened, "enter").events is None
    assert watch.after_key(view, "up").chosen == "pl_broken"
    assert watch.after_key(view, "s").order == ORDERS[1]
    assert watch.after_key(view, "r").is_reversed


def test_arrows_are_keys_of_their_own() -> None:
    assert split("s\x1b[A\x1bOBq\r") == ["s", "up", "down", "q", "enter"]


@pytest.mark.parametrize(
    ("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)], ids=["Ctrl-C", "SIGTERM"]
)
def test_the_terminal_is_as_it_was_after_a_signal(
    number: signal.Signals, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = os.openpty()
    before_it = signal.signal(signal.SIGINT, signal.default_int_handler)  # other tests play verbs that have their own
    with os.fdopen(slave) as terminal, monkeypatch.context() as patched:
        patched.setattr("sys.stdin", terminal)
        before = termios.tcgetattr(terminal)
        during, heard = [], []

        def interrupted() -> None:
            with top.keys() as pressed:
                during.append(termios.tcgetattr(terminal))
                os.write(master, b"r")
                heard.extend(pressed(10.0))
                signal.raise_signal(number)

        with pytest.raises(raised):
            interrupted()
        after = termios.tcgetattr(terminal)
    signal.signal(signal.SIGINT, before_it)
    os.close(master)

    assert heard == ["r"]
    assert during != [before]
    assert after == before


def test_once_prints_one_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    server = StandInServer()
    server.answer = json.dumps({"data": ROWS, "has_more": False}).encode()
    code = main(["top", "--once", "--sort", "name", "--url", server.url, "--token", "t"])
    server.close()

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in lines] == ["NAME", "broken", "fast", "idle", "new", "slow"]
