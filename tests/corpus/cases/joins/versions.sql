-- Each row with the version of another table that was valid at its event time; a version of the same time counts.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE rates (at TIMESTAMP NOT NULL, name TEXT PRIMARY KEY, rate DOUBLE)
WITH (connector = 'single_file', path = '$inputs/rates.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT e.key, e.at, value, r.at AS since, rate, name IS NOT NULL AS is_found
FROM events AS e LEFT JOIN rates FOR SYSTEM_TIME AS OF e.at AS r ON e.key = r.name;
