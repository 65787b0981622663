"""Environment variables that drivers inherit from the control plane: those they need, and no secrets of others.

    PATH, LC_ALL, AWS_REGION, ARROYO_VAR_HOST       inherited
    ARROYO_SECRET_KAFKA                             inherited by drivers whose script names the secret KAFKA
    ARROYO_TOKEN, ARROYO__API__TOKEN                not inherited: they are the control plane's own
    AIRFLOW_CONN_SHOP, DATABASE_URL                 not inherited, unless a setting names them

A worker of Airflow may have started the control plane, with passwords of all users in its environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from engine.values.secret_references import SECRET_PREFIX, secrets_named

INHERITED: tuple[str, ...] = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME"),
    *("JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "LD_LIBRARY_PATH", "SPARK_*", "PYSPARK_*", "PYTHON*"),
    *("VIRTUAL_ENV", "AWS_*", "ARROYO_*", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
"""Variables that every driver inherits; `*` matches any suffix."""
_OWN = ("ARROYO__*", "ARROYO_TOKEN", "ARROYO_URL", "ARROYO_SECRETS_KEY", f"{SECRET_PREFIX}*")
"""Variables with our prefix that belong only to the control plane."""


def driver_environment(
    environ: Mapping[str, str],
    names: Sequence[str] = (),
    script: str = "",
    secrets: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment of a driver: the inherited variables, those that `names` adds, the secrets that its script
    names, and its pipeline's own secrets, which take precedence."""
    inherited = {name: value for name, value in environ.items() if _is_inherited(name, names)}
    named = {f"{SECRET_PREFIX}{name}" for name in secrets_named(script)}
    machines = {name: value for name, value in environ.items() if name in named}
    pipelines = {f"{SECRET_PREFIX}{name}": value for name, value in (secrets or {}).items()}
    return {**inherited, **machines, **pipelines}


def _is_inherited(name: str, names: Sequence[str]) -> bool:
    if _fits(name, names):
        return True
    return _fits(name, INHERITED) and not _fits(name, _OWN)


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
