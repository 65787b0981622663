"""Object stores on loopback: moto and versitygw, so that nothing fits one of them alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import boto3
import pytest
from moto.server import ThreadedMotoServer

from engine.spark.jvm.class_archive import cache_dir
from tests.ports import free_ports

USER, PASSWORD, REGION = "me", "mine-is-longer", "us-east-1"
KINDS = tuple(os.environ.get("STORES", "moto").split(","))
"""The servers that tests run against. `make test-all` has versitygw, too, which Go builds."""
_VERSITYGW = "1.8.0"


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """A bucket that is empty at first, and how it is reached."""

    client: Any
    endpoint: str
    bucket: str

    @property
    def url(self) -> str:
        """Return the bucket as `state_url` names it."""
        return f"s3://{self.bucket}"

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables by which clients find the store."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": USER,
            "AWS_SECRET_ACCESS_KEY": PASSWORD,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def keys(self, prefix: str = "") -> list[str]:
        """Return the names of all objects."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", ())]


@contextmanager
def serving(kind: str, folder: Path) -> Iterator[str]:
    """Start a store of a kind, and give its URL."""
    if kind == "moto":
        running = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        running.start()
        host, port = running.get_host_and_port()
        try:
            yield f"http://{host}:{port}"
        finally:
            running.stop()
        return
    with _versitygw(folder) as url:
        yield url


def new_bucket(url: str, name: str) -> ObjectStore:
    """Make a bucket."""
    client = boto3.client(
        "s3", endpoint_url=url, region_name=REGION, aws_access_key_id=USER, aws_secret_access_key=PASSWORD
    )
    client.create_bucket(Bucket=name)
    return ObjectStore(client, url, name)


@contextmanager
def _versitygw(folder: Path) -> Iterator[str]:
    program, [port] = _program(), free_ports(1)
    objects, beside = folder / "objects", folder / "beside"
    for path in (objects, beside):
        path.mkdir(parents=True)
    # what it knows of an object beside its bytes goes into files: temporary folders may know no extended attributes
    command = [str(program), "--port", f"127.0.0.1:{port}", "--quiet", "posix", "--sidecar", str(beside), str(objects)]
    environment = {"ROOT_ACCESS_KEY": USER, "ROOT_SECRET_KEY": PASSWORD, "VGW_REGION": REGION, "PATH": os.defpath}
    with (folder / "versitygw.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(process, url, folder / "versitygw.log")
        yield url
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urlopen(url, timeout=5)
        except HTTPError:
            return  # it refuses who has no key
        except (URLError, OSError):
            time.sleep(0.05)
        else:
            return
    raise AssertionError(f"versitygw is not up: {log.read_text()[-2000:]}")


def _program() -> Path:
    """Return the program, built once and kept outside of the repository. Without Go a laptop skips; CI fails."""
    folder = cache_dir(os.environ).with_name("arroyo-tests") / f"versitygw-{_VERSITYGW}"
    program = folder / "versitygw"
    if program.exists():
        return program
    if shutil.which("go") is None and not os.environ.get("CI"):
        pytest.skip("versitygw is built with Go, which is not on the PATH")
    made = subprocess.run(
        ["go", "install", f"github.com/versity/versitygw/cmd/versitygw@v{_VERSITYGW}"],
        env={**os.environ, "GOBIN": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, f"versitygw cannot be built: {made.stderr[-2000:]}"
    return program
