-- Flink's window table functions are windows in GROUP BY.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT window_start, window_end, key, sum(value) AS total
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '1' MINUTE)) AS t
GROUP BY window_start, window_end, key;
