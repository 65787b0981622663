-- A row is in several windows; the slide comes first.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT w.start AS start, w.end AS "end", n
FROM (SELECT hop(INTERVAL '30 seconds', INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1) AS t;
