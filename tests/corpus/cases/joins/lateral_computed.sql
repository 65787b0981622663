-- A LATERAL query without FROM names what is computed of a row, for the rest of the query.
--: plan yes
--: rows yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT key, twice, four FROM events AS e, LATERAL (SELECT e.value * 2 AS twice) AS a, LATERAL (SELECT twice * 2 AS four WHERE twice > 2) AS b;
INSERT INTO out SELECT key, -1 AS twice, some AS four FROM events LEFT JOIN LATERAL (SELECT value WHERE active) AS a(some) ON true;
INSERT INTO out SELECT key, -2 AS twice, v AS four FROM events JOIN LATERAL (SELECT value * 10) AS a(v) ON v > 10 WHERE key IS NOT NULL;
