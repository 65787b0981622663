-- A day in a time zone: the one in March has 23 hours, the one in October 25.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/summer_time.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT w.start AS begins, w.end AS ends, total FROM
(SELECT tumble(INTERVAL '1 day', 'Europe/Berlin') AS w, sum(value) AS total FROM events GROUP BY 1);
