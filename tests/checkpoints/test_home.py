"""A checkpoint that was moved looks for nothing where it lay before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.checkpoints.relocate import bring_home
from engine.errors import UnreadableStateError

WITHIN = "_stateSchema/default/0_99a6"


def operator(checkpoint: Path, schema: str, *, number: int = 0, epoch: int = 0) -> Path:
    path = checkpoint / "state" / str(number) / "_metadata" / "v2" / str(epoch)
    path.parent.mkdir(parents=True, exist_ok=True)
    stores = [{"storeName": "default", "numPartitions": 1, "stateSchemaFilePaths": [schema]}]
    path.write_text("v2\n" + json.dumps({"operatorInfo": {"operatorId": number}, "stateStoreInfo": stores}))
    path.with_name(f".{epoch}.crc").write_bytes(b"sum")
    return path


def schemas(path: Path) -> list[str]:
    version, text = path.read_text().split("\n")
    assert version == "v2"
    return [schema for store in json.loads(text)["stateStoreInfo"] for schema in store["stateSchemaFilePaths"]]


@pytest.mark.parametrize("number", [0, 11])
@pytest.mark.parametrize("before", ["file:/gone/state/0/a b", "s3a://bucket/x", "/gone"])
def test_a_schema_is_looked_for_in_the_checkpoint_itself(tmp_path: Path, before: str, number: int) -> None:
    paths = [operator(tmp_path, f"{before}/state/{number}/{WITHIN}", number=number, epoch=epoch) for epoch in (3, 4)]

    bring_home(tmp_path)

    for path in paths:
        assert schemas(path) == [f"file:{tmp_path}/state/{number}/{WITHIN}"]
        assert not path.with_name(f".{path.name}.crc").exists(), "Spark would find its sum wrong"


def test_a_checkpoint_that_is_at_home_is_left_as_it_is(tmp_path: Path) -> None:
    path = operator(tmp_path, f"file:{tmp_path}/state/0/{WITHIN}")
    before = path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino

    bring_home(tmp_path)

    assert (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino) == before
    assert path.with_name(".0.crc").exists()


def test_a_relative_checkpoint_gets_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = operator(tmp_path / "here", f"file:/gone/state/0/{WITHIN}")
    monkeypatch.chdir(tmp_path)

    bring_home(Path("here"))

    assert schemas(path) == [f"file:{tmp_path}/here/state/0/{WITHIN}"]


def test_a_checkpoint_without_operators_of_that_kind_is_at_home(tmp_path: Path) -> None:
    (tmp_path / "state" / "0" / "_metadata").mkdir(parents=True)
    (tmp_path / "state" / "0" / "_metadata" / "metadata").write_text("v1\n{}")

    bring_home(tmp_path)
    bring_home(tmp_path / "none")


def test_a_damaged_operator_has_a_name(tmp_path: Path) -> None:
    path = operator(tmp_path, "file:/gone")
    path.write_text("v2\n{")

    with pytest.raises(UnreadableStateError, match=str(path)):
        bring_home(tmp_path)
