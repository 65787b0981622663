-- The next rows of a key, by event time and without a window: rows wait for them. WINDOW gives the words of OVER a name.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT key, at, value,
  lead(value) OVER w AS next,
  lead(value, 2, -1) OVER w AS next_but_one,
  sum(value) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS of_three,
  count(*) OVER (w RANGE BETWEEN CURRENT ROW AND INTERVAL '1 minute' FOLLOWING) AS of_next_minute,
  last_value(value) IGNORE NULLS OVER w AS last_known,
  first_value(value IGNORE NULLS) OVER w AS first_known
FROM events WINDOW keys AS (PARTITION BY key), w AS (keys ORDER BY at);
