-- FILTER counts for its aggregate alone.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble('1 minute') AS w, count(*) FILTER (WHERE active) AS a, sum(value) FILTER (WHERE value > 1) AS b, count(*) AS c
FROM events GROUP BY w;
