-- Constant rows are joined to a stream.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT e.value, t.name FROM events AS e JOIN (VALUES ('a', 'first'), ('b', NULL), ('a', 'again')) AS t(key, name)
ON e.key = t.key;
