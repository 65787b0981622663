-- Windows of months, three of them every month by the clocks of a zone.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/summer_time.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT hop(INTERVAL '1 month', INTERVAL '3 months', 'Europe/Berlin') AS w, sum(value) AS total FROM events GROUP BY 1;
