"""Events of an Airflow asset, over its REST API: the newest one, those of a delivery, and creating one.

Requests go to the checked address, follow no redirect, and take neither proxies nor credentials from the environment.
An expired token is renewed once per request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import httpx
from pydantic import BaseModel, SecretStr

from engine.connectors.addresses import Resolve, check_url, resolve
from engine.connectors.secret_values import fill_in
from engine.control.limited_time import LimitedTransport
from engine.errors import PushRefusedError, PushUnclearError, PushUnreachableError, TargetUnavailableError
from engine.jobs.decisions.partitions import Push
from engine.jobs.processes.probes import HIDDEN

_TIMEOUT = httpx.Timeout(15.0, connect=5.0)
_LIMIT = 30.0
"""Deadline of one request in seconds."""
_LONGEST_ANSWER = 8 * 1024 * 1024
_PAGE = 100
_PAGES = 50
"""Largest number of pages of later events to read."""
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
_UNAUTHORIZED = 401
_SKEW = timedelta(hours=1)
"""Largest delay of Airflow's clock."""
Environ = Callable[[], Mapping[str, str]]
"""Current values for references to secrets."""


@dataclass(frozen=True, slots=True)
class AssetPlace:
    """An asset in Airflow, and its newest event; 0 without any."""

    id: int
    newest: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An asset event in Airflow, and its delivery."""

    id: int
    extra: Mapping[str, object]


class _Login(BaseModel):
    """Credentials of a push."""

    password: SecretStr | None = None
    token: SecretStr | None = None


class AirflowEvents:
    """Events of one asset."""

    def __init__(
        self,
        push: Push,
        environ: Environ,
        transport: httpx.BaseTransport | None = None,
        lookup: Resolve = resolve,
    ) -> None:
        self.push = push
        self._environ = environ
        self._lookup = lookup
        self._token: str | None = None
        self._sent: set[str] = set()
        self._http = httpx.Client(
            timeout=_TIMEOUT,
            follow_redirects=False,
            trust_env=False,
            transport=transport or LimitedTransport(push.url, _LIMIT),
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def place(self) -> AssetPlace:
        """Return the asset; raise if Airflow has none of that name or URI."""
        for parameter in ("uri_pattern", "name_pattern"):
            query: dict[str, str | int] = {parameter: self.push.asset, "limit": _PAGE}
            for asset in _listed(self._get("/api/v2/assets", query), "assets"):
                if self.push.asset in (asset.get("uri"), asset.get("name")):
                    newest = asset.get("last_asset_event") or {}
                    return AssetPlace(int(asset["id"]), int(newest.get("id") or 0))
        raise PushRefusedError(
            f"Airflow at {self.push.url} knows no active asset {self.push.asset!r}",
            hint="Airflow knows the assets that DAGs name; check the spelling of the URI, and that the user may see it",
        )

    def find(self, place: AssetPlace, delivery: str, after: int, since: datetime | None = None) -> StoredEvent | None:
        """Return the event of a delivery that was created after another event, and not long before an instant."""
        if place.newest <= after:
            return None
        for number in range(_PAGES):
            query: dict[str, str | int] = {
                "asset_id": place.id,
                "order_by": "-timestamp",
                "limit": _PAGE,
                "offset": number * _PAGE,
            }
            events = _listed(self._get("/api/v2/assets/events", query), "asset_events")
            for event in events:
                extra = event.get("extra") or {}
                if extra.get("delivery") == delivery:
                    return StoredEvent(int(event["id"]), extra)
            if len(events) < _PAGE or all(int(event["id"]) <= after or _is_before(event, since) for event in events):
                return None
        raise PushRefusedError(
            f"{self.push.asset!r} has too many new events to tell whether {delivery} is among them",
            hint="let no one else make events of this asset so often, or give the consumer an asset of its own",
        )

    def tell(self, place: AssetPlace, key: str | None, extra: Mapping[str, object]) -> int | None:
        """Create an event of the asset, with a partition key or without; return its number, if Airflow reports it."""
        body = {"asset_id": place.id, "extra": extra, **({} if key is None else {"partition_key": key})}
        answer = self._authorized("POST", "/api/v2/assets/events", body)
        if answer.status_code >= 500:
            raise PushUnclearError(
                f"Airflow at {self.push.url} answers {self._said(answer)}", hint="see the log of its API server"
            )
        self._check(answer)
        try:
            return int(json.loads(answer.content)["id"])
        except (ValueError, KeyError, TypeError):
            return None

    def _get(self, path: str, query: Mapping[str, str | int]) -> httpx.Response:
        try:
            answer = self._authorized("GET", f"{path}?{urlencode(query)}", None)
        except PushUnclearError as error:  # nothing was to be stored
            raise PushUnreachableError(error.message, hint=error.hint) from error
        return self._check(answer)

    def _authorized(self, method: str, path: str, body: Mapping[str, object] | None) -> httpx.Response:
        is_fresh = self._token is None
        if self._token is None:
            self._token = self._log_in()
        answer = self._send(method, path, body, self._token)
        if answer.status_code == _UNAUTHORIZED and not is_fresh:
            self._token = self._log_in()
            answer = self._send(method, path, body, self._token)
        if answer.status_code == _UNAUTHORIZED:
            self._token = None
        return answer

    def _log_in(self) -> str:
        """Return a token: the configured one, or one that Airflow gives to the user, or to anyone."""
        push = self.push
        login = fill_in(
            _Login(
                password=None if push.password is None else SecretStr(push.password),
                token=None if push.token is None else SecretStr(push.token),
            ),
            self._environ(),
        )
        self._sent |= {each.get_secret_value() for each in (login.password, login.token) if each is not None}
        if login.token is not None:
            return login.token.get_secret_value()
        if login.password is None:
            method, body = "GET", None
        else:
            method, body = "POST", {"username": push.username, "password": login.password.get_secret_value()}
        try:
            answer = self._check(self._send(method, "/auth/token", body, None))
        except PushUnclearError as error:
            raise PushUnreachableError(error.message, hint=error.hint) from error
        token = _json(answer).get("access_token")
        if not isinstance(token, str):
            raise PushRefusedError(
                f"{push.url}/auth/token gives no token", hint="is it the API server of an Airflow 3?"
            )
        self._sent.add(token)
        return token

    def _send(self, method: str, path: str, body: Mapping[str, object] | None, token: str | None) -> httpx.Response:
        """Return an answer, whatever its status."""
        try:
            target = check_url(f"{self.push.url}{path}", self._environ(), self._lookup)
        except TargetUnavailableError as error:
            raise PushUnreachableError(error.message, hint=error.hint) from error
        headers = {"host": target.host, "accept": "application/json"}
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        request = self._http.build_request(
            method, target.url, json=body, headers=headers, extensions={"sni_hostname": target.server_name}
        )
        try:
            return self._read(self._http.send(request, stream=True))
        except _NOT_SENT as error:
            raise PushUnreachableError(
                f"Airflow at {self.push.url} cannot be reached: {type(error).__name__} {error}".rstrip(),
                hint="see that its API server runs there",
            ) from error
        except httpx.HTTPError as error:
            raise PushUnclearError(
                f"Airflow at {self.push.url} has not answered: {type(error).__name__} {error}".rstrip(),
                hint="before anything is posted again it is asked what it has stored",
            ) from error

    def _read(self, answer: httpx.Response) -> httpx.Response:
        parts, length = [], 0
        try:
            for part in answer.iter_bytes():
                parts.append(part)
                length += len(part)
                if length > _LONGEST_ANSWER:
                    raise httpx.ReadError("the answer is too long")
        finally:
            answer.close()
        return httpx.Response(answer.status_code, content=b"".join(parts))

    def _check(self, answer: httpx.Response) -> httpx.Response:
        if answer.is_success:
            return answer
        words = f"Airflow at {self.push.url} answers {self._said(answer)}"
        if answer.status_code >= 500:
            raise PushUnreachableError(words, hint="see the log of its API server")
        hint = "see the URL, and what the user may do: see assets and their events, and make such events"
        if answer.is_redirect:
            hint = "name the URL that it leads to: redirects are not followed"
        raise PushRefusedError(words, hint=hint)

    def _said(self, answer: httpx.Response) -> str:
        """Return the beginning of an answer, without the secrets that were sent: a refusal may repeat the request."""
        text = answer.text
        for secret in sorted(self._sent - {""}, key=len, reverse=True):
            for spelled in (secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
                text = text.replace(spelled, HIDDEN)
        return f"{answer.status_code} {text[:200]}".strip()


def _json(answer: httpx.Response) -> dict[str, Any]:
    try:
        content = json.loads(answer.content)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise PushRefusedError("the answer is no JSON of Airflow's", hint="see the URL: is it that of an API server?")
    return content


def _listed(answer: httpx.Response, name: str) -> list[dict[str, Any]]:
    rows = _json(answer).get(name)
    if not isinstance(rows, list):
        raise PushRefusedError(f"the answer has no {name}", hint="see the URL: is it the API server of an Airflow 3?")
    return rows


def _is_before(event: Mapping[str, Any], since: datetime | None) -> bool:
    """Whether an event was certainly created before an instant."""
    try:
        at = datetime.fromisoformat(str(event.get("timestamp")))
    except ValueError:
        return False
    return since is not None and (at if at.tzinfo else at.replace(tzinfo=UTC)) < since - _SKEW
