-- A hop may be of any width; Arroyo wants a multiple of the slide.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT w.start, w.end, n FROM (SELECT hop('40 seconds', '1 minute') AS w, count(*) AS n FROM events GROUP BY w);
