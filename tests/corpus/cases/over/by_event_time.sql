-- Functions over the earlier rows of a key, by event time and without a window.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT key, at, value,
  lag(value) OVER (PARTITION BY key ORDER BY at) AS before,
  value - lag(value, 1, 0) OVER (PARTITION BY key ORDER BY at) AS step,
  row_number() OVER (PARTITION BY key ORDER BY at) AS number,
  sum(value) OVER (PARTITION BY key ORDER BY at) AS so_far,
  avg(value) OVER (PARTITION BY key ORDER BY at ROWS 1 PRECEDING) AS of_two,
  count(*) OVER (PARTITION BY key ORDER BY at RANGE BETWEEN INTERVAL '1 minute' PRECEDING AND CURRENT ROW) AS of_a_minute,
  first_value(at) OVER (PARTITION BY key ORDER BY at) AS first,
  max(value) FILTER (WHERE active) OVER (PARTITION BY key ORDER BY at) AS active
FROM events;
