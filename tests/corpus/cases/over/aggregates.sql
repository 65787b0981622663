-- Aggregates over frames, with FILTER, and by more than the window.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
INSERT INTO out SELECT window.start, key, n,
  sum(n) OVER (PARTITION BY window) AS total,
  sum(n) OVER (PARTITION BY window ORDER BY key) AS running,
  count(*) OVER (PARTITION BY window, n > 1) AS alike,
  count(*) FILTER (WHERE v > 1) OVER (PARTITION BY window) AS more,
  avg(v) OVER (PARTITION BY window ORDER BY key ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS around,
  max(v) OVER (PARTITION BY window ORDER BY key ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS greatest_after
FROM e;
