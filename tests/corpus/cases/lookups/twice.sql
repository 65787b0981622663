-- A table may be looked up twice, and a looked up column can be the next key.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE customers (id TEXT PRIMARY KEY, name TEXT, tier INT, rate DECIMAL(5, 2), since TIMESTAMP, vip BOOLEAN)
WITH (connector = 'filesystem', path = '$inputs/keys.csv', format = 'csv');
CREATE TABLE numbers (id BIGINT PRIMARY KEY, label TEXT, tags TEXT[], inside STRUCT<n INT>, file TEXT METADATA FROM 'filename')
WITH (connector = 'filesystem', path = '$inputs/lookup_parts', format = 'json', type = 'lookup');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT c.name, a.label AS tier, b.label AS value
FROM events AS e JOIN customers AS c ON e.key = c.id LEFT JOIN numbers AS a ON c.tier = a.id LEFT JOIN numbers AS b ON e.value = b.id;
