-- Without a window the best rows change; only so many are kept as are wanted, and a place that nobody reads is not told.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
CREATE VIEW ranked AS SELECT *, row_number() OVER (PARTITION BY key ORDER BY value DESC NULLS LAST, at) AS place FROM events;
INSERT INTO changes SELECT key, value FROM ranked WHERE place = 1;
INSERT INTO changes SELECT key, place FROM ranked WHERE place < 3 AND active;
