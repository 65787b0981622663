-- The same without the rows that have no version.
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE rates (at TIMESTAMP NOT NULL, name TEXT PRIMARY KEY, rate DOUBLE)
WITH (connector = 'single_file', path = '$inputs/rates.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT e.key, value * rate AS worth FROM events AS e JOIN rates FOR SYSTEM_TIME AS OF e.at AS r ON r.name = e.key;
