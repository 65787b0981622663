"""The servers that targets need, each as a process of its own: the loop forks, and must not have threads."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

BUCKET = "chaos"


@contextmanager
def s3(root: Path) -> Iterator[str]:
    """A store that speaks S3, with a bucket; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (root / "s3.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    address = f"http://127.0.0.1:{port}"
    try:
        bucket_client(address).create_bucket(Bucket=BUCKET)
        yield address
    finally:
        server.kill()
        server.wait()


@contextmanager
def kafka(root: Path) -> Iterator[str]:
    """A broker; its address."""
    folder = root / "kafka"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.chaos.broker", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address, "the broker did not start"
        yield address
        server.stdin.close()


def bucket_client(address: str) -> Any:
    """A client of the store; it waits until there is an answer."""
    from botocore.config import Config

    keys = {"aws_access_key_id": "me", "aws_secret_access_key": "mine", "region_name": "us-east-1"}
    patient = Config(retries={"total_max_attempts": 20, "mode": "standard"})
    return boto3.client("s3", endpoint_url=address, config=patient, **keys)
