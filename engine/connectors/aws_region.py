"""Region of Amazon's services, found the same way for each connector.

option        AWS_REGION    AWS_DEFAULT_REGION    region
eu-west-1     us-west-2     us-east-2             eu-west-1
us-west-2     us-east-2             us-west-2
us-east-2             us-east-2
none: boto3 looks into the profile
"""

from __future__ import annotations

import os

ANY_REGION = "us-east-1"
"""Region for servers at an endpoint of their own, which mostly ignore it."""


def region_of(option: str | None = None, endpoint: str | None = None) -> str | None:
    """Return the region of an option, or of the environment; behind an endpoint any region, if there is none. boto3
    itself reads AWS_DEFAULT_REGION only, and other libraries both variables."""
    chosen = option or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return chosen or (None if endpoint is None else ANY_REGION)
