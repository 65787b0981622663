-- The values of rows before and after, and those of a frame.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
INSERT INTO out SELECT window.start, key, v,
  lag(v) OVER (PARTITION BY window ORDER BY key) AS before,
  lead(v, 2, -1) OVER (PARTITION BY window ORDER BY key) AS after,
  lag(v) IGNORE NULLS OVER (PARTITION BY window ORDER BY key) AS known,
  first_value(v) OVER (PARTITION BY window ORDER BY key DESC) AS first,
  last_value(v) OVER (PARTITION BY window ORDER BY key) AS last,
  last_value(v) OVER (PARTITION BY window ORDER BY key ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS very_last,
  nth_value(v, 2) OVER (PARTITION BY window ORDER BY key) AS second
FROM e;
