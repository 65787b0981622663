-- The one setting of a script.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SET updating_ttl = '1 day';
SET updating_ttl TO INTERVAL '5' SECOND;
SELECT key FROM events;
