-- A left lookup keeps every row; a key that is NULL or not there gives NULL columns.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE customers (id TEXT PRIMARY KEY, name TEXT, tier INT, rate DECIMAL(5, 2), since TIMESTAMP, vip BOOLEAN)
WITH (connector = 'filesystem', path = '$inputs/keys.csv', format = 'csv');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT key, value, name, tier, rate, since, vip FROM events LEFT JOIN customers ON key = customers.id;
