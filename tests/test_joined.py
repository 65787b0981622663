"""Scripts that are played as one pipeline are compiled as one, and told apart when something is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.errors import ScriptRefused
from engine.spark.run.lifecycle import RunSpec
from tests.joined import Joined

NUMBERS = "CREATE TABLE numbers (n INT) WITH (connector = 'single_file', path = 'n', format = 'json', type = 'source');"
OUT = "CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');"


class Player:
    """Compiles what it is to play, and fails where a word is in it that it does not like."""

    def __init__(self, bad: Callable[[str], bool] = lambda _: False) -> None:
        self.bad, self.played = bad, list[str]()

    def play(self, spec: RunSpec) -> None:
        self.played.append(spec.sql)
        compile_script(spec.sql)
        if self.bad(spec.sql):
            raise ValueError("bad")


def joined(player: Player, folder: Path, **scripts: str) -> Joined:
    def make(sql: str) -> Callable[[Path], RunSpec]:
        return lambda place: RunSpec("x", sql.replace("$output", str(place / "out.json")), place / "state")

    return Joined({name: make(sql) for name, sql in scripts.items()}, player.play, folder)


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.joined.MOST", 12)


def test_scripts_over_the_same_tables_are_one_pipeline(tmp_path: Path) -> None:
    player = Player()
    first = NUMBERS + OUT + "INSERT INTO out SELECT n AS m FROM numbers; INSERT INTO out SELECT n AS m FROM numbers"
    second = NUMBERS.replace(" ", "\n  ") + OUT + "INSERT INTO out SELECT n AS out_of FROM numbers;"

    runs = joined(player, tmp_path, first=first, second=second)

    assert runs.folder_of("second") == tmp_path / "joined" / "second"
    assert runs.folder_of("first") == tmp_path / "joined" / "first"
    (sql,) = player.played
    program = compile_script(sql)
    assert [write.table for write in program.writes] == ["out of first", "out of second"]
    paths = {name: str(table.options.path) for name, table in program.tables.items()}  # type: ignore[attr-defined]
    assert paths["out of second"] == str(tmp_path / "joined" / "second" / "out.json")


@pytest.mark.parametrize(
    "other",
    [
        NUMBERS.replace("INT", "BIGINT") + OUT + "INSERT INTO out SELECT n FROM numbers",
        NUMBERS.replace("numbers", "others") + OUT + "INSERT INTO out SELECT n FROM others",
        NUMBERS + OUT + "CREATE VIEW few AS SELECT n FROM numbers WHERE n < 3; INSERT INTO out SELECT n FROM few",
        "SET updating_ttl = '1 day';" + NUMBERS + OUT + "INSERT INTO out SELECT n FROM numbers",
    ],
    ids=["a table", "what is read", "a view", "a setting"],
)
def test_query_with_another_meaning_is_a_pipeline_of_its_own(tmp_path: Path, other: str) -> None:
    player = Player()
    view = "CREATE VIEW few AS SELECT n FROM numbers WHERE n < 2;"
    runs = joined(player, tmp_path, one=NUMBERS + view + OUT + "INSERT INTO out SELECT n FROM few", other=other)

    runs.folder_of("one"), runs.folder_of("other")

    assert len(player.played) == 2


def test_the_script_that_fails_is_told_and_no_other(tmp_path: Path) -> None:
    player = Player(bad=lambda sql: "n * 7" in sql)
    scripts = {
        name: NUMBERS + OUT + f"INSERT INTO out SELECT n * {name[1:]} AS m FROM numbers" for name in ("n6", "n7")
    }
    runs = joined(player, tmp_path, **scripts)

    assert runs.folder_of("n6") == tmp_path / "alone" / "n6"
    with pytest.raises(ValueError, match="bad"):
        runs.folder_of("n7")
    assert len(player.played) == 3


def test_a_script_that_is_refused_is_told_and_no_other(tmp_path: Path) -> None:
    sql = NUMBERS + OUT + "INSERT INTO out SELECT n FROM numbers"
    runs = joined(Player(), tmp_path, good=sql, refused=sql.replace("n FROM", "m FROM"))

    assert runs.folder_of("good") == tmp_path / "joined" / "good"
    with pytest.raises(ScriptRefused, match="no column 'm'"):
        runs.folder_of("refused")


def test_scripts_that_fail_only_together_all_fail(tmp_path: Path) -> None:
    player = Player(bad=lambda sql: sql.count("INSERT") > 1)
    runs = joined(player, tmp_path, **dict.fromkeys("ab", NUMBERS + OUT + "INSERT INTO out SELECT n FROM numbers"))

    for name in "ab":
        with pytest.raises(ValueError, match="bad") as raised:
            runs.folder_of(name)
        assert raised.value.__notes__ == ["only when played together: a, b"]
