-- Columns go by position, and become a type that holds all.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT NULL AS n, key FROM events
UNION ALL SELECT value, key FROM events
UNION ALL (SELECT 1.5, 'x' FROM events WHERE active);
