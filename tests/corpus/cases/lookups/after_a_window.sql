-- Rows of a window can be looked up, in the stream part and in the epoch part.
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
SELECT w, n, name, label FROM (
  SELECT w, key, max(n) AS n FROM (SELECT tumble('1 minute') AS w, key, value, count(*) AS n FROM events GROUP BY w, key, value) GROUP BY w, key
) LEFT JOIN customers ON key = customers.id LEFT JOIN numbers ON n = numbers.id;
