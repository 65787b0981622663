"""Access to a bucket (endpoint, region and keys), resolved once for boto3 and for Spark's S3A.

    AWS_ENDPOINT_URL=http://store:9000, AWS_PROFILE=jobs      endpoint http://store:9000, keys of the profile
    a machine with a role, no variables                       no endpoint, no keys: each process asks for its own

boto3 decides, so the usual variables and files count, in their usual order. The keys of a role are not passed on, since
they expire: S3A finds them on its own machine, and renews them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from engine.connectors.addresses import ALLOWED, check_url
from engine.connectors.aws_region import ANY_REGION, region_of
from engine.connectors.files.s3_client import errors_explained
from engine.connectors.files.storage import Prefix
from engine.errors import MissingPackageError

try:
    import boto3
    from botocore.config import Config
except ImportError as missing:
    raise MissingPackageError(
        "buckets need the Python package boto3", hint="pip install 'airflow-provider-arroyo[s3]'"
    ) from missing

_ROLES = frozenset({"iam-role", "container-role", "assume-role", "assume-role-with-web-identity", "sso"})
"""What boto3 calls the sources of keys that expire and are renewed."""
ATTEMPTS = 5
_CONNECT_SECONDS = 10
READ_SECONDS = 60


@dataclass(frozen=True, slots=True)
class S3Keys:
    """An access key, perhaps a temporary one."""

    id: str = field(repr=False)
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class S3Access:
    """Access to a bucket. Without an endpoint it is one of Amazon's; without keys each machine uses its role."""

    endpoint: str | None
    region: str
    keys: S3Keys | None


def s3_access(prefix: Prefix) -> S3Access:
    """Infer how to reach a bucket. An endpoint in its URL must be one that scripts may reach."""
    if prefix.endpoint is not None:
        check_url(prefix.endpoint, {ALLOWED: os.environ.get(ALLOWED, "")})
    with errors_explained(prefix):
        session = boto3.session.Session()
        meta = session.client("s3", region_name=region_of() or session.region_name or ANY_REGION).meta
        found = session.get_credentials()
        keys = None
        if found is not None and found.method not in _ROLES:
            frozen = found.get_frozen_credentials()
            keys = S3Keys(frozen.access_key, frozen.secret_key, frozen.token)
    is_amazons = meta.endpoint_url.rstrip("/").endswith((".amazonaws.com", ".amazonaws.com.cn"))
    endpoint = prefix.endpoint or (None if is_amazons else meta.endpoint_url)
    return S3Access(endpoint, meta.region_name, keys)


def s3_client(access: S3Access) -> Any:
    """Return a client of boto3."""
    # others than Amazon know neither buckets as host names nor checksums that no request needs
    other = {} if access.endpoint is None else {"s3": {"addressing_style": "path"}}
    sums = {} if access.endpoint is None else {"request_checksum_calculation": "when_required"}
    keys = access.keys
    return boto3.session.Session().client(
        "s3",
        endpoint_url=access.endpoint,
        region_name=access.region,
        aws_access_key_id=keys and keys.id,
        aws_secret_access_key=keys and keys.secret,
        aws_session_token=keys and keys.token,
        config=Config(
            retries={"mode": "standard", "max_attempts": ATTEMPTS},
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            **other,
            **sums,
        ),
    )
