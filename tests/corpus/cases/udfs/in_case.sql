-- A function is called for the rows that take its branch of a CASE, and for no other.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT value, CASE WHEN value > 2 THEN over_two(value) WHEN value > 1 THEN over_two(value + 5) ELSE -1 END AS a,
       CASE key WHEN 'a' THEN CASE WHEN value > 2 THEN over_two(value) END END AS b
FROM events;
