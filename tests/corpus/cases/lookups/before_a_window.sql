-- What was looked up can be grouped by; the watermark goes past the lookup.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE customers (id TEXT PRIMARY KEY, name TEXT, tier INT, rate DECIMAL(5, 2), since TIMESTAMP, vip BOOLEAN)
WITH (connector = 'filesystem', path = '$inputs/keys.csv', format = 'csv');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble('1 minute') AS w, coalesce(tier, 0) AS tier, count(*) AS n, sum(value) AS total
FROM events LEFT JOIN customers ON key = id GROUP BY 1, 2;
