-- A set of keys has groups of its own, in which the other keys are NULL.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n, sum(value) AS total, grouping(key) AS g
FROM events GROUP BY 1, ROLLUP (key);
