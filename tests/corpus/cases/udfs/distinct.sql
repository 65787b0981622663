-- An aggregate of the user's may look at different values only.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble('1 day') AS w, joined(DISTINCT key) AS keys, count(*) AS n, sum(value) AS s FROM events GROUP BY w;
