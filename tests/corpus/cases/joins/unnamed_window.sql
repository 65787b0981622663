-- A window without an alias gives way to the other side's, which has the name.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT window.start, a.key, b.n FROM (SELECT tumble(INTERVAL '1 minute'), key, count(*) FROM events GROUP BY 1, 2) a
JOIN (SELECT tumble(INTERVAL '1 minute') AS window, key, count(*) AS n FROM clicks GROUP BY 1, 2) b ON a.key = b.key;
