-- HAVING may use any aggregate, the window, and names of the SELECT list.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT count(*) AS n, sum(value) AS total FROM events
GROUP BY tumble('1 minute') HAVING max(value) > 1 AND n > 0 AND tumble('1 minute').start >= '2024-01-01';
