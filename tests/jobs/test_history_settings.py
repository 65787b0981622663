"""Where a pipeline's runs begin, and what history they read, as its settings say it."""

from __future__ import annotations

import pytest

from engine.errors import BackfillError, SettingError
from engine.values.run_settings import read_run_settings


def test_settings_say_where_tables_begin() -> None:
    settings = read_run_settings({"start_from": 'clicks=earliest; orders = offsets:{"0": 1};'})

    assert {name: str(start) for name, start in settings.start_from.items()} == {
        "clicks": "earliest",
        "orders": 'offsets:{"0": 1}',
    }
    assert settings.backfill is None


def test_settings_say_what_history_is_read() -> None:
    bounded = read_run_settings(
        {"history_from": "2026-01-01", "history_to": "2026-01-02", "partial_windows": "on"}
    ).backfill
    goes_on = read_run_settings({"then_continue": "on"}).backfill

    assert bounded is not None
    assert (str(bounded.since), str(bounded.until)) == ("2026-01-01 00:00:00+00:00", "2026-01-02 00:00:00+00:00")
    assert bounded.partial_windows
    assert goes_on is not None
    assert goes_on.goes_on


@pytest.mark.parametrize(
    "texts",
    [
        {"start_from": "clicks"},
        {"then_continue": "maybe"},
        {"history_from": "soon"},
        {"history_to": "2026-01-01", "then_continue": "on"},
        {"partial_windows": "on"},
    ],
)
def test_backfill_settings_without_effect_are_refused(texts: dict[str, str]) -> None:
    with pytest.raises((SettingError, BackfillError)):
        read_run_settings(texts)
