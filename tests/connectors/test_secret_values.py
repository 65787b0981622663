"""References in options: what may be referred to, and what it becomes when a driver starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from engine.connectors.base import Options
from engine.connectors.secret_values import complaint_about, fill_in
from engine.errors import SecretNotFoundError
from engine.values.secret_references import secrets_named


class Place(Options):
    address: str = ""
    password: SecretStr | None = None


def password(text: str) -> Place:
    return Place(address="plain", password=SecretStr(text))


def told(options: Place) -> str:
    assert options.password is not None
    return options.password.get_secret_value()


SPELLINGS = ["{{ secret:KAFKA }}", "${secret:KAFKA}", "${ secret:KAFKA }"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_has_a_spelling_that_templates_leave_alone(spelling: str) -> None:
    filled = fill_in(password(f"{spelling}!"), {"ARROYO_SECRET_KAFKA": "open sesame"})

    assert told(filled) == "open sesame!"


def test_a_variable_has_it_too() -> None:
    filled = fill_in(Place(address="redis://${ARROYO_VAR_HOST}:1"), {"ARROYO_VAR_HOST": "here"})

    assert filled.address == "redis://here:1"


@pytest.mark.parametrize("text", ["${HOME}", "${}", "$secret:KAFKA", "a${b}c", "${ARROYO_SECRET_KAFKA}"])
def test_other_dollars_are_text(text: str) -> None:
    options = password(text)

    assert complaint_about(Place.model_fields["address"], text) is None
    assert fill_in(options, {"HOME": "/root", "ARROYO_SECRET_KAFKA": "open sesame"}) is options


def test_the_references_of_a_script_are_found_in_every_spelling() -> None:
    script = "'{{ secret:A }}' '${secret:B}' '{{ARROYO_VAR_C}}' '${ARROYO_VAR_D}' '${E}' {{ secret:A }}"

    assert secrets_named(script) == {"A", "B"}


def test_a_secret_comes_from_its_variable_and_does_not_print() -> None:
    filled = fill_in(password("{{ secret:KAFKA }}!"), {"ARROYO_SECRET_KAFKA": "open sesame"})

    assert told(filled) == "open sesame!"
    assert "sesame" not in repr(filled) + filled.model_dump_json()


def test_a_secret_comes_from_its_file_when_there_is_no_variable(tmp_path: Path) -> None:
    (tmp_path / "KAFKA").write_text("from a file\n")

    assert told(fill_in(password("{{secret:KAFKA}}"), {"ARROYO_SECRETS_DIR": str(tmp_path)})) == "from a file"


def test_a_plain_variable_is_filled_in() -> None:
    filled = fill_in(Place(address="redis://{{ ARROYO_VAR_HOST }}:1"), {"ARROYO_VAR_HOST": "here"})

    assert filled.address == "redis://here:1"


@pytest.mark.parametrize("text", ["{{ secret:MISSING }}", "{{ ARROYO_VAR_MISSING }}"])
def test_missing_secret_is_named(text: str) -> None:
    with pytest.raises(SecretNotFoundError, match="MISSING"):
        fill_in(password(text), {"MISSING": "x", "ARROYO_SECRETS_DIR": "/nowhere"})


def test_forbidden_variable_is_not_read_even_without_the_check() -> None:
    with pytest.raises(SecretNotFoundError):
        fill_in(password("{{ HOME }}"), {"HOME": "/root"})


@pytest.mark.parametrize(
    ("field", "text", "wrong"),
    [
        ("password", "{{ secret:A }} {{ ARROYO_VAR_B }}", None),
        ("address", "{{ ARROYO_VAR_B }}", None),
        ("address", "{{ secret:A }}", "must not contain a secret"),
        ("address", "{{ AWS_SECRET_ACCESS_KEY }}", "only variables that begin with ARROYO_VAR_"),
        ("password", "{{ secret:../../etc/passwd }}", "not a valid secret"),
        ("password", "${secret:A} ${ARROYO_VAR_B}", None),
        ("address", "${secret:A}", "must not contain a secret"),
        ("password", "${secret:../../etc/passwd}", "not a valid secret"),
    ],
)
def test_references_are_checked_when_a_script_is_read(field: str, text: str, wrong: str | None) -> None:
    complaint = complaint_about(Place.model_fields[field], text)

    assert complaint is None if wrong is None else complaint is not None and wrong in complaint


def test_options_without_references_stay_the_same_object() -> None:
    options = password("plain")

    assert fill_in(options, {}) is options
