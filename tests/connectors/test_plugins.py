"""Connectors of other packages."""

from __future__ import annotations

import importlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.connectors import find_connector, offered_connectors
from engine.connectors import plugins as found
from engine.connectors.testing import (
    SINK_CHECKS,
    SOURCE_CHECKS,
    SinkCheck,
    SourceCheck,
    check_declaration,
    table,
)
from engine.errors import PluginError
from engine.sql.text.literal_secrets import literal_secrets
from engine.sql.text.parse import parse
from tests.connectors.installed import install, install_example
from tests.connectors.tables import NUMBERS

COUNT = 1234
SCRIPT = """
    CREATE TABLE src (n BIGINT NOT NULL, name TEXT)
    WITH (connector = 'sqlite', type = 'source', path = '{folder}/db', 'table' = 'src', id_column = 'n');
    CREATE TABLE out (n BIGINT NOT NULL, name TEXT)
    WITH (connector = 'sqlite', type = 'sink', path = '{folder}/db', 'table' = 'out');
    INSERT INTO out SELECT n, upper(name) AS name FROM src WHERE n > 2;
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python imports from, and that holds what a test installs."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    forget()
    yield folder
    forget()
    for name in [name for name in sys.modules if name.split(".")[0] in ("arroyo_sqlite", "broken")]:
        del sys.modules[name]


def forget() -> None:
    importlib.invalidate_caches()
    found._entry_points.cache_clear()
    found._loaded.cache_clear()


def database(folder: Path, count: int = COUNT) -> Path:
    with closing(sqlite3.connect(folder / "db")) as db, db:
        db.execute("CREATE TABLE src (n INTEGER PRIMARY KEY, name TEXT)")
        db.execute("CREATE TABLE out (n INTEGER, name TEXT)")
        db.executemany("INSERT INTO src VALUES (?, ?)", [(n, f"name {n}") for n in range(1, count + 1)])
    return folder / "db"


def written(folder: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(folder / "db")) as db:
        return db.execute("SELECT n, name FROM out ORDER BY n").fetchall()


def test_the_example_of_the_docs_is_found_and_described(site: Path) -> None:
    install_example(site)
    connector = find_connector("sqlite")

    assert connector is not None
    assert connector in offered_connectors()
    check_declaration(connector)


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_source_of_the_example_keeps_the_contract(check: SourceCheck, site: Path, tmp_path: Path) -> None:
    connector = find_connector("sqlite") if install_example(site) else None
    assert connector is not None
    options = {"type": "source", "path": str(database(tmp_path)), "table": "src", "id_column": "n"}

    check(table(connector, NUMBERS, options), COUNT)


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
def test_the_sink_of_the_example_keeps_the_contract(check: SinkCheck, site: Path, tmp_path: Path) -> None:
    connector = find_connector("sqlite") if install_example(site) else None
    assert connector is not None
    options = {"type": "sink", "path": str(database(tmp_path)), "table": "out"}

    check(table(connector, NUMBERS, options), tmp_path / "state", lambda: written(tmp_path))


def test_a_pipeline_reads_and_writes_with_the_example(site: Path, tmp_path: Path) -> None:
    install_example(site)
    database(tmp_path, 5)
    (tmp_path / "q.sql").write_text(SCRIPT.format(folder=tmp_path))
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", ""), str(Path(__file__).parents[2])])

    command = [sys.executable, "-m", "engine", "run", "q.sql", "--state-dir", "state"]
    for _ in range(2):  # the second run finds nothing new
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True)

    assert written(tmp_path) == [(3, "NAME 3"), (4, "NAME 4"), (5, "NAME 5")]


def test_a_package_that_cannot_be_imported_is_named(site: Path, caplog: pytest.LogCaptureFixture) -> None:
    (site / "broken.py").write_text("import a_package_that_nobody_has\n")
    install(site, "arroyo-broken", {"broken": "broken:CONNECTOR"})

    with pytest.raises(PluginError, match="No module named 'a_package_that_nobody_has'"):
        find_connector("broken")
    assert all(connector.name != "broken" for connector in offered_connectors())
    assert "arroyo-broken" in caplog.text


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("CONNECTOR = 1", "is not a Connector with the name 'broken'"),
        (
            "from engine.connectors.kit import Connector\nCONNECTOR = Connector(name='other', summary='x.')",
            "is not a Connector with the name 'broken'",
        ),
        (
            "from engine.connectors.kit import Connector\nCONNECTOR = Connector(name='broken', summary='x.')",
            "has no kind of table",
        ),
    ],
)
def test_invalid_connector_plugin_is_refused(code: str, message: str, site: Path) -> None:
    (site / "broken.py").write_text(f"{code}\n")
    install(site, "arroyo-broken", {"broken": "broken:CONNECTOR"})

    with pytest.raises(PluginError, match=message):
        find_connector("broken")


def test_two_packages_with_one_name_are_both_named(site: Path) -> None:
    install(site, "one", {"acme": "acme:ONE"})
    install(site, "two", {"acme": "acme:TWO"})

    with pytest.raises(PluginError, match=r"one 0\.1\.0, two 0\.1\.0"):
        find_connector("acme")


def test_a_built_in_connector_cannot_be_replaced(site: Path) -> None:
    install(site, "evil", {"kafka": "evil:KAFKA"})

    connector = find_connector("kafka")
    assert connector is not None
    assert connector.summary.startswith("Reads topics of Kafka")


def test_a_mistake_in_the_options_names_the_place(site: Path) -> None:
    install_example(site)
    text = SCRIPT.format(folder="/x").replace("id_column", "id_colum")

    with pytest.raises(Exception, match="id_colum") as refused:
        compile_script(text)
    assert "id_column" in str(refused.value)


def test_secrets_of_other_connectors_are_found(site: Path) -> None:
    (site / "broken.py").write_text(
        "from engine.connectors.kit import *\n"
        "class O(Options):\n"
        '    "Options."\n'
        "    badge: SecretStr = Option(description='The badge.')\n"
        "CONNECTOR = Connector(name='broken', summary='x.', source=SourceKind(options=O, open=lambda table: None))\n"
    )
    install(site, "arroyo-broken", {"broken": "broken:CONNECTOR"})
    script = "CREATE TABLE t (a TEXT) WITH (connector = 'broken', badge = '{}')"

    assert len(literal_secrets(parse(script.format("hunter2")))) == 1
    assert literal_secrets(parse(script.format("{{ secret:BADGE }}"))) == []
