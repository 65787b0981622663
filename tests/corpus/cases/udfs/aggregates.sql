-- Aggregates of the user's get the values of a window: all of them, those of a FILTER, without NULLs or with them.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble('1 minute') AS w, middle(value) AS m, middle(value) FILTER (WHERE value > 1) AS f,
       joined(key, value) AS j, spread(value * 2) + 1 AS s, count(*) AS n
FROM events GROUP BY w HAVING spread(value * 2) >= 0;
