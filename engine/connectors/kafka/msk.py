"""Login to Amazon MSK with IAM: the token is a request that is signed with the AWS credentials of the machine."""

from __future__ import annotations

from engine.errors import MissingPackageError, OptionValueError

try:
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
    from botocore.session import Session
except ImportError as missing:
    raise MissingPackageError(
        "auth.type = 'aws_msk_iam' needs the Python package aws-msk-iam-sasl-signer-python",
        hint="pip install 'airflow-provider-arroyo[msk]'",
    ) from missing


def sign_in(region: str, _: str = "") -> tuple[str, float]:
    """Return a token for the brokers of a region, and when it expires, in seconds since 1970. The client requests it,
    and again before it expires."""
    if Session().get_credentials() is None:
        raise OptionValueError(
            "auth.type = 'aws_msk_iam' finds no AWS credentials",
            hint="give this machine a role, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )
    token, ends = MSKAuthTokenProvider.generate_auth_token(region)
    return token, ends / 1000
