-- A table function gives any number of rows for each row; a class makes structs of them.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT key, word.text AS text, word.size + 1 AS size
FROM (SELECT key, words(key || ' ' || CAST(value AS TEXT)) AS word FROM events);
