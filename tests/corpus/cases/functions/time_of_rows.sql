-- The event time of a row can be asked for, of plain rows as of those of a closed window, and be aggregated.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW minutes AS SELECT tumble('1 minute') AS w, max(row_time()) AS last FROM events GROUP BY w;
INSERT INTO out SELECT row_time() AS closed, last FROM minutes;
INSERT INTO out SELECT row_time(), at FROM events WHERE row_time() < '2024-01-01T00:00:30';
INSERT INTO out SELECT max(row_time()), max(last) FROM minutes GROUP BY w;
