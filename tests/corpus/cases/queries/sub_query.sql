-- A query in FROM, with and without a name, and with names for its columns.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT a, b FROM (SELECT key, value FROM events WHERE active) AS s(a, b) WHERE s.b > 1;
SELECT key FROM (SELECT key FROM (SELECT * FROM events));
(SELECT key FROM events);
