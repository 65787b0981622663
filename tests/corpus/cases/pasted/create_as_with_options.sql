-- CREATE TABLE ... AS SELECT with options is a sink and an INSERT; a table may name its key at the end.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, CONSTRAINT one PRIMARY KEY (at) NOT ENFORCED)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json') AS
SELECT key, year(at) AS y FROM events WHERE value = 2;
