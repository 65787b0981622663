-- A sink of changes takes rows that are never taken back: all of them are new. Times are milliseconds, decimals bytes.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE output (at TIMESTAMP, key TEXT, value DECIMAL(10, 2))
WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO output SELECT at, key, value % 100 FROM events WHERE value >= 0;
