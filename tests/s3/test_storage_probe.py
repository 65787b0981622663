"""`arroyo doctor storage` finds what a store does not promise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.checkpoints import storage_probe
from engine.checkpoints.storage_probe import open_storage, probe_storage
from engine.cli.main import main
from engine.connectors.files.storage import Prefix
from engine.errors import SettingError, UnfitStorageError
from tests.cluster.stores import new_bucket, serving
from tests.s3.faulty_store import faulty
from tests.s3.store import Store

_OURS = Prefix("b", "jobs/state")


def verdicts(url: str) -> Mapping[str, str]:
    return {finding.check: finding.verdict for finding in probe_storage(open_storage(url))}


def test_store_that_keeps_the_promises_is_fit(bucket: Store) -> None:
    found = verdicts(f"s3://{bucket.bucket}/jobs")
    assert "unfit" not in found.values()
    assert list(found.values())[:4] == ["fit"] * 4
    assert bucket.client.list_objects_v2(Bucket=bucket.bucket).get("Contents", []) == []


@pytest.mark.parametrize(
    ("header", "check"),
    [("if-none-match", "objects are created once"), ("if-match", "objects are compared and swapped")],
)
def test_store_that_ignores_conditions_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], header: str, check: str
) -> None:
    # moto, as other stores notice by the signature that a header is gone
    with serving("moto", tmp_path) as url, faulty(url) as between:
        bucket = new_bucket(url, "forgetful")
        for name, value in bucket.environment.items():
            monkeypatch.setenv(name, value)
        between.ignores = frozenset({header})
        monkeypatch.setenv("AWS_ENDPOINT_URL", between.url)
        assert main(["doctor", "storage", f"s3://{bucket.bucket}/jobs", "--json"]) == 1
    printed = capsys.readouterr()
    assert {each["check"]: each["verdict"] for each in json.loads(printed.out)}[check] == "unfit"
    assert UnfitStorageError.code in printed.err
    assert "ignores If-" in printed.err


def test_versions_and_rules_of_a_bucket_are_reported(bucket: Store) -> None:
    if bucket.endpoint and not _has_rules(bucket):
        pytest.skip("this store has no lifecycle rules")
    bucket.client.put_bucket_versioning(Bucket=bucket.bucket, VersioningConfiguration={"Status": "Enabled"})
    found = verdicts(f"s3://{bucket.bucket}/jobs")
    assert found["versions of objects"] == "warning"
    assert found["lifecycle rules"] == "unfit"


def _has_rules(bucket: Store) -> bool:
    rule = {"ID": "tidy", "Status": "Enabled", "Filter": {"Prefix": "jobs/"}, "Expiration": {"Days": 30}}
    try:
        bucket.client.put_bucket_lifecycle_configuration(Bucket=bucket.bucket, LifecycleConfiguration={"Rules": [rule]})
    except bucket.client.exceptions.ClientError:
        return False
    return True


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        ({"Filter": {"Prefix": "jobs/"}, "Expiration": {"Days": 30}}, "unfit"),
        ({"Prefix": "", "Expiration": {"Date": datetime(2027, 1, 1, tzinfo=UTC)}}, "unfit"),
        ({"Filter": {"Prefix": "jobs/state/snapshots"}, "Transitions": [{"StorageClass": "GLACIER"}]}, "unfit"),
        ({"Filter": {"And": {"Prefix": "jobs/", "ObjectSizeLessThan": 9}}, "Expiration": {"Days": 1}}, "unfit"),
        ({"Filter": {"Prefix": "logs/"}, "Expiration": {"Days": 30}}, "fit"),
        ({"Filter": {"Tag": {"Key": "old", "Value": "yes"}}, "Expiration": {"Days": 30}}, "fit"),
        ({"Filter": {}, "NoncurrentVersionExpiration": {"NoncurrentDays": 1}}, "fit"),
        ({"Filter": {}, "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}}, "fit"),
        ({"Filter": {}, "Transitions": [{"StorageClass": "STANDARD_IA"}]}, "fit"),
    ],
)
def test_rules_that_eat_a_state_are_found(rule: Mapping[str, object], verdict: str) -> None:
    assert storage_probe._rules([{"Status": "Enabled", **rule}], _OURS).verdict == verdict
    assert storage_probe._rules([{"Status": "Disabled", **rule}], _OURS).verdict == "fit"


def test_uploads_that_were_never_finished_are_reported() -> None:
    now = datetime(2026, 11, 29, tzinfo=UTC)
    found = storage_probe._uploads([now - timedelta(hours=30), now - timedelta(hours=2)], now)
    assert found.verdict == "warning"
    assert found.text.startswith("1 for more than a day")


def test_folder_is_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "storage", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("\nfit ") == 4


def test_url_that_names_no_storage_is_refused() -> None:
    with pytest.raises(SettingError, match="s3://"):
        open_storage("gs://bucket/prefix")
