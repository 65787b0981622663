-- Both sides of a UNION ALL fit together.
--: error sql.type_mismatch 5:36 the sides of UNION ALL have BIGINT and BOOLEAN in column 'value'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT value FROM events UNION ALL SELECT active FROM events;
