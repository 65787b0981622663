-- The values of a window become an array, NULLs included; without a row there is no array.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble('1 minute') AS w, array_agg(value) AS a, array_agg(key) FILTER (WHERE value > 2) AS b
FROM events GROUP BY w;
