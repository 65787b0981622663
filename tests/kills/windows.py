"""Events in a file, and the windows that an undisturbed run makes of them."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROWS = 4500
QUERY = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, n BIGINT, WATERMARK FOR ts AS ts)
WITH (connector = 'single_file', path = '{events}', format = 'json', type = 'source');
CREATE TABLE sums (start TIMESTAMP, n BIGINT, total BIGINT)
WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO sums SELECT window.start, n, total FROM (
  SELECT tumble(INTERVAL '1 second') AS window, count(*) AS n, sum(n) AS total FROM events GROUP BY window
);
"""


def write_events(path: Path) -> Counter[tuple[str, int, int]]:
    """Write events, 100 to a second, and say which windows they make."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    counts, totals = Counter[str](), Counter[str]()
    with path.open("w") as file:
        for number in range(ROWS):
            ts = start + timedelta(milliseconds=10 * number)
            file.write(json.dumps({"ts": ts.isoformat(timespec="milliseconds"), "n": number}) + "\n")
            counts[second := ts.strftime("%Y-%m-%dT%H:%M:%S")] += 1
            totals[second] += number
    return Counter((second, count, totals[second]) for second, count in counts.items())


def windows_of(path: Path) -> Counter[tuple[str, int, int]]:
    """The windows that were written."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return Counter((row["start"], row["n"], row["total"]) for row in rows)
