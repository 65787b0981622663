-- A view of a lookup is a relation like any other.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE customers (id TEXT PRIMARY KEY, name TEXT, tier INT, rate DECIMAL(5, 2), since TIMESTAMP, vip BOOLEAN)
WITH (connector = 'filesystem', path = '$inputs/keys.csv', format = 'csv');
CREATE VIEW named AS SELECT key, name, value FROM events LEFT JOIN customers ON key = id;
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT name, value FROM named WHERE value > 0 UNION ALL SELECT key, value * 10 FROM named WHERE name IS NULL;
