"""What the tests cost: seconds, and seconds of processor with everything they start. `--costs` shows it per folder,
`--costs=file` per file, `--costs=test` per test."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent
_TICKS = os.sysconf("SC_CLK_TCK")
_PROCESSES = Path("/proc")
_STRANGERS: set[str] = set()
"""Processes that are not below this one and never will be, as long as they live: most of a machine, in each of
thousands of looks."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", nargs="?", const="folder", choices=_PLACES, help="show what each folder of tests costs")


def pytest_configure(config: pytest.Config) -> None:
    if place := config.getoption("--costs"):
        config.pluginmanager.register(_Costs(place))


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds on the clock, and of processors."""

    seconds: float = 0
    cpu: float = 0

    def plus(self, addend: Spent) -> Spent:
        return Spent(self.seconds + addend.seconds, self.cpu + addend.cpu)


class _Costs:
    """Measures where a test runs, and adds up where reports arrive."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.begun = 0.0
        self.cpu: float | None = None
        """Up to the end of the test before: to look at all processes takes longer than many a test."""
        self.tests: Counter[str] = Counter()
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.begun = time.monotonic()
        self.cpu = cpu_seconds() if self.cpu is None else self.cpu

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.when == "teardown":
            used, self.cpu = self.cpu or 0.0, cpu_seconds()
            item.user_properties.append(("cost", (time.monotonic() - self.begun, self.cpu - used)))
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties if report.when == "teardown" else ():
            if name == "cost" and isinstance(value, tuple | list):
                place = _PLACES[self.place](report.nodeid)
                self.tests[place] += 1
                self.spent[place] = self.spent[place].plus(Spent(*value))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.tests:
            return
        terminalreporter.section("costs")
        width = max(map(len, self.spent)) + 2
        row = f"{{:<{width}}}{{:>8}}{{:>10}}{{:>10}}".format
        terminalreporter.line(row(self.place, "tests", "seconds", "cpu"))
        for place, spent in sorted(self.spent.items(), key=lambda entry: -entry[1].cpu):
            terminalreporter.line(row(place, self.tests[place], round(spent.seconds), round(spent.cpu)))
        whole = reduce(Spent.plus, self.spent.values())
        terminalreporter.line(row("all", self.tests.total(), round(whole.seconds), round(whole.cpu)))


def folder_of(nodeid: str) -> str:
    """The folder below `tests` that a test lies in."""
    parts = file_of(nodeid).split("/")
    return parts[0] if len(parts) > 1 else parts[-1]


def file_of(nodeid: str) -> str:
    """The file that a test lies in, as seen from `tests`."""
    return nodeid.partition("::")[0].removeprefix("tests/")


_PLACES: Mapping[str, Callable[[str], str]] = {"folder": folder_of, "file": file_of, "test": lambda nodeid: nodeid}


def cpu_seconds() -> float:
    """What this process and all below it have used so far; those that have left their parent are not counted."""
    ticks: dict[str, int] = {}
    children: defaultdict[str, list[str]] = defaultdict(list)
    listed = {entry.name for entry in os.scandir(_PROCESSES) if entry.name.isdigit()}
    _STRANGERS.intersection_update(listed)
    for name in listed - _STRANGERS:
        try:
            # bytes, since a process may call itself what is no UTF-8
            fields = (_PROCESSES / name / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        children[fields[1].decode()].append(name)
        ticks[name] = sum(map(int, fields[11:15]))
    total, waiting, family = 0, [str(os.getpid())], set[str]()
    while waiting:
        process = waiting.pop()
        total += ticks.get(process, 0)
        family.add(process)
        waiting.extend(children[process])
    _STRANGERS.update(ticks.keys() - family)
    return total / _TICKS
