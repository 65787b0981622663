-- EXCEPT ALL and INTERSECT ALL count equal rows, without a window.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'debezium_json', type = 'sink');
INSERT INTO out
SELECT 'except' AS what, key FROM (SELECT key FROM events EXCEPT ALL SELECT key FROM events WHERE value < 3)
UNION ALL
SELECT 'intersect' AS what, key FROM (SELECT key FROM events INTERSECT ALL SELECT key FROM events WHERE value > 2 OR value IS NULL);
