-- An aggregation without a window of what OVER by event time gives, and a condition on it.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO out
SELECT key, max(step) AS most FROM (
  SELECT key, value - lag(value) OVER (PARTITION BY key ORDER BY at) AS step FROM events
) WHERE step > 0 GROUP BY key;
