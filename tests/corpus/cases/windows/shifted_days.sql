-- Days that begin at eight in the morning.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/summer_time.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT tumble(INTERVAL '1 day', INTERVAL '8 hours') AS w, key, sum(value) AS total FROM events GROUP BY 1, 2;
