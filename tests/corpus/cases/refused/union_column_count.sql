-- Both sides of a UNION ALL have as many columns.
--: error sql.column_count 5:34 the sides of UNION ALL have 1 and 2 columns
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events UNION ALL SELECT key, value FROM events;
