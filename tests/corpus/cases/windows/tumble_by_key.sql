-- NULL is a key as any other; several keys and an expression.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT key, active IS TRUE AS a, count(*) AS n FROM events GROUP BY key, tumble(INTERVAL '1 minute'), active IS TRUE;
