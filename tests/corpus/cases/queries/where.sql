-- A condition over any columns, also those that are not selected.
--: plan yes
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events WHERE value == 1 AND (active OR NOT at > '2024-01-01') AND key IS NOT NULL AND value IN (1, NULL);
