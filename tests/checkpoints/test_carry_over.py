"""The state of an old query becomes that of a new one: by hand, without Spark."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.checkpoints import savepoints, spark_log, swap
from engine.checkpoints.carry_over import SourceChoice, carry_over
from engine.checkpoints.claim import StatefulQuery, claim
from engine.checkpoints.doctor import examine
from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.lineage import Lineage, read_lineage
from engine.checkpoints.relocate import bring_home
from engine.errors import StateNotKeptError, UnreadableStateError

WIDTH = 2
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
NEW = StatefulQuery("clicks", "SELECT 2", "f2", 7)
Source = Mapping[str, object]


@dataclass(frozen=True)
class Operator:
    """An operator that keeps state: what Spark calls it, and what its schema says."""

    name: str = "stateStoreSave"
    schema: str = "counts"
    is_python: bool = False


@dataclass
class Checkpoint:
    """A checkpoint as Spark leaves it, made by hand."""

    folder: Path
    operators: Sequence[Operator]
    width: int = WIDTH
    conf: Mapping[str, str] = field(default_factory=dict)

    def plan(self, epoch: int, *sources: Source) -> None:
        conf = {**self.conf, "spark.sql.shuffle.partitions": str(self.width)}
        about = {"batchWatermarkMs": epoch * 1000, "batchTimestampMs": 5, "conf": conf}
        lines = [json.dumps(source) for source in sources]
        self.write(f"offsets/{epoch}", "\n".join(["v1", json.dumps(about), *lines]))
        self.write("metadata", '{"id":"query"}')

    def commit(self, epoch: int, *, snapshot: bool = False) -> None:
        """Commit an epoch that was planned."""
        ids = {}
        for number, operator in enumerate(self.operators):
            ids[str(number)] = [[state_id(number, part, epoch + 1)] for part in range(self.width)]
            for part in range(self.width):
                self._version(number, part, epoch + 1, is_snapshot=snapshot)
            if epoch == 0:
                self._metadata(number, operator)
        content = {"nextBatchWatermarkMs": epoch * 1000, "stateUniqueIds": ids}
        self.write(f"commits/{epoch}", "v2\n" + json.dumps(content))

    def _version(self, number: int, part: int, version: int, *, is_snapshot: bool) -> None:
        store, name = f"state/{number}/{part}", f"{version}_{state_id(number, part, version)}"
        if not is_snapshot:
            self.write(f"{store}/{name}.changelog", f"changes of {number} in {part} at {version}")
            self.write(f"{store}/.{name}.changelog.crc", "sum")
            return
        table = f"{version:06}-{number}{part}.sst"
        self.write(f"{store}/SSTs/{table}", "table")
        with zipfile.ZipFile(self.folder / store / f"{name}.zip", "w") as archive:
            archive.writestr("metadata", "v1\n" + json.dumps({"sstFiles": [{"dfsSstFileName": table}]}))

    def _metadata(self, number: int, operator: Operator) -> None:
        info = {"operatorId": number, "operatorName": operator.name}
        store: dict[str, object] = {"storeName": "default", "numPartitions": self.width}
        if not operator.is_python:
            self.write(f"state/{number}/0/_metadata/schema", operator.schema)
            content = {"operatorInfo": info, "stateStoreInfo": [store]}
            self.write(f"state/{number}/_metadata/metadata", "v1\n" + json.dumps(content))
            return
        schema = f"state/{number}/_stateSchema/default/0_{number}aa"
        self.write(schema, operator.schema)
        store["stateSchemaFilePaths"] = [f"file:{self.folder / schema}"]
        content = {"operatorInfo": info, "stateStoreInfo": [store], "operatorPropertiesJson": "{}"}
        self.write(f"state/{number}/_metadata/v2/0", "v2\n" + json.dumps(content))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def state_id(number: int, part: int, version: int) -> str:
    return f"{number}{part}-{version:04x}"


def at(table: str, place: int, watermark: int | None = None) -> Source:
    return {"table": table, "at": {"0": place}, "wm": watermark}


def old_state(folder: Path, operators: Sequence[Operator], tables: Sequence[str], *, width: int = WIDTH) -> StatePaths:
    """A state that has committed the epochs 0 to 5, with a snapshot in epoch 3."""
    paths = StatePaths(folder / "state")
    claim(paths, StatefulQuery("clicks", "SELECT 1", "f1", width), new_lineage=lambda: "L1").release()
    checkpoint = Checkpoint(paths.checkpoint, operators, width)
    for epoch in range(6):
        checkpoint.plan(epoch, *(at(table, epoch, epoch * 1_000_000) for table in tables))
        checkpoint.commit(epoch, snapshot=epoch == 3)
    for table in set(tables):
        (paths.watermarks / f"notes_of_{table}").mkdir(parents=True, exist_ok=True)
        (paths.watermarks / f"notes_of_{table}" / "note.json").write_text("{}")
    return paths


def skeleton(folder: Path, operators: Sequence[Operator], tables: Sequence[str], **other: object) -> Path:
    """The new query's checkpoint after an epoch without rows."""
    checkpoint = Checkpoint(folder / "skeleton", operators, **other)
    checkpoint.plan(
        0, *({"table": table, "notes": f"notes_of_{table}", "first": first(table), "beat": 1} for table in tables)
    )
    checkpoint.commit(0, snapshot=True)
    return checkpoint.folder


def first(table: str) -> Source:
    return {"table": table, "at": {}, "beat": 0}


def begin_of(table: str) -> str:
    """The line of a table that is read anew."""
    return json.dumps(first(table))


def data_of(paths: StatePaths, number: int, part: int = 0) -> dict[str, str | None]:
    folder = paths.checkpoint / "state" / str(number) / str(part)
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        str(name): None if name.suffix == ".zip" else path.read_text()
        for name, path in files.items()
        if "_metadata" not in name.parts
    }


def ids(paths: StatePaths, epoch: int) -> Mapping[int, object]:
    return spark_log.read_committed(paths.checkpoint, epoch).state_ids_of


WINDOWS, SESSION, JOIN = Operator(), Operator("session", "gaps"), Operator("python", "buckets", is_python=True)


def test_an_operator_keeps_its_data_under_another_number(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS, JOIN], ["clicks"])
    before = [data_of(paths, 0, part) for part in range(WIDTH)]

    carry_over(paths, skeleton(tmp_path, [JOIN, WINDOWS], ["clicks"]), {1: 0}, NEW)

    kept = {"4_00-0004.zip", "5_00-0005.changelog", "6_00-0006.changelog", "SSTs/000004-00.sst"}
    assert data_of(paths, 1) == {name: before[0][name] for name in kept}
    assert ids(paths, 5)[1] == [["00-0006"], ["01-0006"]]
    assert ids(paths, 4) == {1: [["00-0005"], ["01-0005"]]}
    assert json.loads((paths.checkpoint / "state/1/_metadata/metadata").read_text()[3:])["operatorInfo"] == {
        "operatorId": 1,
        "operatorName": "stateStoreSave",
    }
    assert spark_log.operators_of(paths.checkpoint) == ("python", "stateStoreSave")
    assert examine(paths) == []


def test_all_others_begin_empty_at_the_version_of_the_epoch(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])

    carry_over(paths, skeleton(tmp_path, [WINDOWS, SESSION], ["clicks"]), {0: 0}, NEW)

    for part in range(WIDTH):
        assert data_of(paths, 1, part) == {f"6_1{part}-0001.zip": None, f"SSTs/000001-1{part}.sst": "table"}
    assert ids(paths, 5)[1] == [["10-0001"], ["11-0001"]]
    assert list(ids(paths, 4)) == [0]
    assert spark_log.operators_of(paths.checkpoint) == ("stateStoreSave", "session")


def test_moved_state_finds_its_schemas_in_the_new_location(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS, JOIN], ["clicks"])

    carry_over(paths, skeleton(tmp_path, [JOIN, WINDOWS, SESSION], ["clicks"]), {0: 1, 1: 0}, NEW)
    bring_home(paths.checkpoint)

    (listed,) = json.loads((paths.checkpoint / "state/0/_metadata/v2/0").read_text()[3:])["stateStoreInfo"][0][
        "stateSchemaFilePaths"
    ]
    assert listed == f"file:{paths.checkpoint}/state/0/_stateSchema/default/0_0aa"
    assert Path(listed.removeprefix("file:")).read_text() == "buckets"


def test_sources_stand_in_the_order_of_the_new_query(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks", "orders", "gone"])
    before = spark_log.read_planned(paths.checkpoint, 5)

    carry_over(paths, skeleton(tmp_path, [WINDOWS], ["orders", "fresh", "clicks"]), {0: 0}, NEW)

    for epoch in (4, 5):
        planned = spark_log.read_planned(paths.checkpoint, epoch)
        assert planned.positions == {"orders": {"0": epoch}, "fresh": {}, "clicks": {"0": epoch}}
        assert planned.sources[1] == begin_of("fresh")
    assert spark_log.read_planned(paths.checkpoint, 5).about == before.about
    assert spark_log.read_committed(paths.checkpoint, 5).about["nextBatchWatermarkMs"] == 5000
    assert not (paths.checkpoint / "offsets" / "3").exists()


def test_a_planned_epoch_covers_the_same_range(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks", "orders"])
    Checkpoint(paths.checkpoint, [WINDOWS]).plan(6, at("clicks", 60), at("orders", 70))

    carry_over(paths, skeleton(tmp_path, [WINDOWS], ["orders", "fresh"]), {0: 0}, NEW)

    assert spark_log.read_planned(paths.checkpoint, 6).sources == (json.dumps(at("orders", 70)), begin_of("fresh"))
    assert spark_log.newest_commit(paths.checkpoint) == 5


def test_a_plan_of_tables_that_are_all_gone_binds_nobody(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])
    Checkpoint(paths.checkpoint, [WINDOWS]).plan(6, at("clicks", 60))

    carry_over(paths, skeleton(tmp_path, [WINDOWS], ["fresh"]), {}, NEW)

    assert not (paths.checkpoint / "offsets" / "6").exists()
    assert spark_log.read_planned(paths.checkpoint, 5).sources == (begin_of("fresh"),)


def test_a_new_place_that_reads_a_table_begins_where_the_others_are(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])

    carry_over(paths, skeleton(tmp_path, [WINDOWS, SESSION], ["clicks", "clicks"]), {0: 0}, NEW)

    first, second = spark_log.read_planned(paths.checkpoint, 5).sources
    assert first == second == json.dumps(at("clicks", 5, 5_000_000))


def test_a_table_that_stands_at_two_places_must_be_told_apart(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks", "clicks"])
    Checkpoint(paths.checkpoint, [WINDOWS]).plan(6, at("clicks", 7), at("clicks", 8))
    new = skeleton(tmp_path, [WINDOWS], ["clicks"])

    with pytest.raises(StateNotKeptError, match="reads clicks in several places"):
        carry_over(paths, new, {0: 0}, NEW)
    with pytest.raises(StateNotKeptError, match="source 0 of the new query reads clicks, and source 2"):
        carry_over(paths, new, {0: 0}, NEW, sources=SourceChoice({0: 2}))
    carry_over(paths, new, {0: 0}, NEW, sources=SourceChoice({0: 1}))

    assert spark_log.read_planned(paths.checkpoint, 6).positions == {"clicks": {"0": 8}}


def test_a_table_may_be_read_anew(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks", "orders"])
    new, anew = skeleton(tmp_path, [WINDOWS], ["clicks", "orders"]), SourceChoice(anew=frozenset({"orders"}))

    carry_over(paths, new, {0: 0}, NEW, sources=anew)

    assert spark_log.read_planned(paths.checkpoint, 5).sources == (
        json.dumps(at("clicks", 5, 5_000_000)),
        begin_of("orders"),
    )
    assert not (paths.watermarks / "notes_of_orders").exists()


def test_source_with_fewer_late_rows_decides_for_two_at_one_location(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks", "clicks"])
    Checkpoint(paths.checkpoint, [WINDOWS]).plan(6, at("clicks", 7, 30), at("clicks", 7, 20))

    carry_over(paths, skeleton(tmp_path, [WINDOWS], ["clicks"]), {0: 0}, NEW)

    assert spark_log.read_planned(paths.checkpoint, 6).source_watermarks == (20,)


def test_the_state_is_that_of_the_new_query_in_a_history_of_its_own(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks", "gone"])

    carry_over(paths, skeleton(tmp_path, [WINDOWS], ["clicks"]), {0: 0}, NEW, new_lineage=lambda: "L2")

    assert read_json(paths.pipeline) == {"name": "clicks", "sql": "SELECT 2", "fingerprint": "f2", "parallelism": WIDTH}
    assert read_lineage(paths.lineage) == Lineage("L2", (("L1", 5),))
    assert (paths.checkpoint / "metadata").read_text() == '{"id":"query"}'
    assert [path.name for path in paths.watermarks.rglob("*")] == ["notes_of_clicks", "note.json"]
    assert (paths.root / "replaced" / "000001" / "checkpoint" / "offsets" / "3").exists()
    claim(paths, NEW).release()


def test_a_query_without_state_gets_some_and_loses_it_again(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [], ["clicks"], width=1)

    carry_over(paths, skeleton(tmp_path, [WINDOWS], ["clicks"]), {}, NEW)

    assert list(ids(paths, 5)) == [0]
    assert spark_log.read_planned(paths.checkpoint, 5).parallelism == WIDTH
    assert examine(paths) == []

    carry_over(paths, skeleton(tmp_path / "none", [], ["clicks"]), {}, NEW)

    assert not (paths.checkpoint / "state").exists()
    assert ids(paths, 5) == {}


def test_before_its_first_epoch_is_committed_a_query_has_nothing_to_lose(tmp_path: Path) -> None:
    paths = StatePaths(tmp_path / "state")
    claim(paths, StatefulQuery("clicks", "SELECT 1", "f1", 2), new_lineage=lambda: "L1").release()
    Checkpoint(paths.checkpoint, [WINDOWS]).plan(0, at("clicks", 3))
    new = skeleton(tmp_path, [WINDOWS], ["clicks"])

    with pytest.raises(StateNotKeptError, match="no epoch was committed"):
        carry_over(paths, new, {0: 0}, NEW)
    carry_over(paths, new, {}, NEW)

    assert list(paths.checkpoint.iterdir()) == []
    assert read_lineage(paths.lineage).id == "L1"
    claim(paths, NEW).release()


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ([Operator(schema="sums")], r"operator 0 \(stateStoreSave\) cannot be kept: .* has other keys or values"),
        ([Operator("session")], "is of another kind"),
        ([Operator(schema="counts", is_python=True)], "has other keys or values"),
        ([], "operator 0 is to keep the state of 0, and there is none"),
    ],
)
def test_state_in_another_form_is_not_taken_over(tmp_path: Path, operators: Sequence[Operator], message: str) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])

    with pytest.raises(StateNotKeptError, match=message):
        carry_over(paths, skeleton(tmp_path, operators, ["clicks"]), {0: 0}, NEW)

    assert read_lineage(paths.lineage).id == "L1"
    assert sorted(entry.name for entry in paths.root.iterdir() if entry.name in ("staging", "incoming")) == []


def test_two_operators_go_on_with_copies_of_one_state(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])
    carry_over(paths, skeleton(tmp_path, [WINDOWS, WINDOWS], ["clicks"]), {0: 0, 1: 0}, NEW)

    for part in range(WIDTH):
        assert f"6_0{part}-0006.changelog" in data_of(paths, 0, part)
        assert data_of(paths, 0, part) == data_of(paths, 1, part)
    assert ids(paths, 5) == {0: [["00-0006"], ["01-0006"]], 1: [["00-0006"], ["01-0006"]]}
    assert examine(paths) == []


def test_widths_must_be_the_same(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])

    with pytest.raises(StateNotKeptError, match="laid out for 2 tasks, and the new query for 3"):
        carry_over(paths, skeleton(tmp_path, [WINDOWS], ["clicks"], width=3), {0: 0}, NEW)


def test_spark_must_keep_state_in_the_same_way(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])
    new = skeleton(tmp_path, [WINDOWS], ["clicks"], conf={"spark.sql.streaming.stateStore.encodingFormat": "avro"})

    with pytest.raises(StateNotKeptError, match="another version of Spark"):
        carry_over(paths, new, {0: 0}, NEW)


def test_state_of_the_form_without_ids_is_not_kept(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])
    (paths.checkpoint / "commits" / "5").write_text('v2\n{"nextBatchWatermarkMs":5000}')

    with pytest.raises(StateNotKeptError, match="files have no ids"):
        carry_over(paths, skeleton(tmp_path, [WINDOWS], ["clicks"]), {0: 0}, NEW)


def test_a_damaged_state_is_named_before_anything_is_done(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])
    (paths.checkpoint / "state/0/1/5_01-0005.changelog").write_text("")

    with pytest.raises(UnreadableStateError, match=r"5_01-0005\.changelog is empty"):
        carry_over(paths, skeleton(tmp_path, [WINDOWS], ["clicks"]), {0: 0}, NEW)


def test_carry_over_can_be_repeated_immediately_and_saved(tmp_path: Path) -> None:
    paths = old_state(tmp_path, [WINDOWS], ["clicks"])
    carry_over(paths, skeleton(tmp_path, [SESSION, WINDOWS], ["fresh", "clicks"]), {1: 0}, NEW)

    carry_over(paths, skeleton(tmp_path / "2", [WINDOWS, SESSION], ["clicks", "fresh"]), {0: 1, 1: 0}, NEW)

    assert examine(paths) == []
    assert list(ids(paths, 5).values()) == [[["00-0006"], ["01-0006"]], [["00-0001"], ["01-0001"]]]
    assert savepoints.take(paths.root, "sp", label=None, clock=lambda: MOMENT).epoch == 5


@pytest.mark.parametrize("survived", range(7))
def test_a_kill_at_any_point_gives_the_old_state_or_the_new_one_whole(
    tmp_path: Path, survived: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    paths = old_state(tmp_path, [WINDOWS, JOIN], ["clicks"])
    new = skeleton(tmp_path, [JOIN, WINDOWS], ["clicks"])
    renames = iter(range(100))
    original = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if next(renames) == survived:
            raise Killed
        return original(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", rename)
        with pytest.raises(Killed):
            carry_over(paths, new, {1: 0}, NEW, new_lineage=lambda: "L2")

    swap.finish_swap(paths)

    is_new = survived > 0
    assert read_lineage(paths.lineage).id == ("L2" if is_new else "L1")
    assert (read_json(paths.pipeline) or {})["fingerprint"] == ("f2" if is_new else "f1")
    assert ids(paths, 5)[1] == ([["00-0006"], ["01-0006"]] if is_new else [["10-0006"], ["11-0006"]])
    assert examine(paths) == []
    if not is_new:
        carry_over(paths, new, {1: 0}, NEW)
        assert ids(paths, 5)[1] == [["00-0006"], ["01-0006"]]
