"""Push settings in requests."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from urllib.parse import urlsplit

from pydantic import Field

from engine.api.http.bodies import Body
from engine.connectors.addresses import WebUrl, check_url
from engine.errors import PushLoginError, TargetUnavailableError
from engine.jobs.decisions.partitions import Push
from engine.values.secret_references import NAME, references, replace_references


class PushRequest(Body):
    """An asset of an Airflow that gets an event for each delivery."""

    url: WebUrl = Field(
        max_length=2000, description="The API server of the Airflow, such as `https://airflow.example`."
    )
    asset: str = Field(min_length=1, max_length=1500, description="The asset, by URI or name.")
    with_keys: bool = Field(
        default=True,
        description="Whether events have partition keys: those start DAGs by partitions, the others DAGs by assets.",
    )
    username: str | None = Field(default=None, min_length=1, max_length=500, description="The user who logs in.")
    password: str | None = Field(
        default=None,
        max_length=300,
        description="The secret that has the password of the user, as `{{ secret:NAME }}`.",
    )
    token: str | None = Field(
        default=None, max_length=300, description="The secret that has a token, instead of a user with a password."
    )

    def read(self) -> Push:
        """The push that is asked for; refused when it cannot be, or would reach what pipelines may not."""
        if (self.username is None) != (self.password is None) or (self.password and self.token):
            raise PushLoginError(
                "credentials are a username with a password, or a token alone",
                hint="name the one or the other, or neither where Airflow lets everybody in",
            )
        for name, value in (("password", self.password), ("token", self.token)):
            if value is not None:
                _check_reference(name, value)
        if urlsplit(self.url).query or urlsplit(self.url).fragment:
            raise PushLoginError("the URL of an API server has no query", hint="leave out what follows the `?`")
        with suppress(TargetUnavailableError):  # a name that nobody knows may be known later
            check_url(self.url, os.environ)
        return Push(
            self.url.rstrip("/"),
            self.asset,
            self.with_keys,
            self.username,
            _spelled(self.password),
            _spelled(self.token),
        )


def _check_reference(name: str, value: str) -> None:
    named = references(value)
    rest = replace_references(value, lambda _: "").strip()
    if rest or len(named) != 1 or not named[0].is_secret or not re.fullmatch(NAME, named[0].name):
        raise PushLoginError(
            f"the {name} has to be a reference to a secret, since it is kept and shown",
            hint="write {{ secret:NAME }}, and deploy the pipeline with that secret, or set ARROYO_SECRET_NAME "
            "where the control plane is started",
        )


def _spelled(value: str | None) -> str | None:
    """A reference in its usual spelling."""
    return None if value is None else f"{{{{ secret:{references(value)[0].name} }}}}"
