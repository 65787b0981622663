-- A table can be asked only whether a key is there.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE known (id TEXT PRIMARY KEY, name TEXT) WITH (connector = 'filesystem', path = '$inputs/keys.csv', format = 'csv');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT key, value FROM events JOIN known ON key = id;
