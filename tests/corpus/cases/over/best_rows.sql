-- ORDER BY with LIMIT gives the best rows so far, DISTINCT ON the first row of each key.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE changes WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO changes SELECT key, value FROM events ORDER BY value DESC NULLS LAST LIMIT 2;
INSERT INTO changes SELECT key, 0 FROM events ORDER BY value NULLS LAST, 1 LIMIT 2 OFFSET 1;
INSERT INTO changes SELECT key, 1 FROM events ORDER BY at LIMIT 0;
INSERT INTO changes SELECT DISTINCT ON (active) key, length(key)::BIGINT FROM events ORDER BY active, at DESC;
