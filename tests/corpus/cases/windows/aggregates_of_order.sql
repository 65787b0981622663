-- Aggregates of rows in an order, in windows that close in different epochs.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble('1 minute') AS w, array_agg(key ORDER BY value DESC) AS keys, string_agg(key, '-' ORDER BY value) AS text,
  first_value(key ORDER BY active, value) AS first, last_value(value ORDER BY value NULLS FIRST) AS last,
  nth_value(value, 2 ORDER BY at) AS second, first_value(value ORDER BY at) IGNORE NULLS AS there
FROM events GROUP BY w;
