-- QUALIFY keeps the rows for which a condition over OVER is true.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT w, key, n FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, sum(value) AS n FROM events GROUP BY 1, 2) AS t
QUALIFY row_number() OVER (PARTITION BY w ORDER BY n DESC, key) = 1;
