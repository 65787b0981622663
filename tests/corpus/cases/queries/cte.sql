-- CTEs see the ones before them; one hides a table of its name, within its query only.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
WITH a AS (SELECT key, value FROM events), b AS (WITH a AS (SELECT key FROM a WHERE value > 1) SELECT key AS k FROM a)
SELECT k FROM b UNION ALL SELECT key FROM a;
WITH events AS (SELECT key FROM events WHERE active) SELECT * FROM events;
SELECT value FROM events;
