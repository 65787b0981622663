-- What does not fit, and what would have to compare all rows for ever.
--: error sql.type_mismatch 8:34 the sides of UNION ALL have TEXT and BIGINT in column 'key'
--: error sql.column_count 9:34 the sides of UNION ALL have 1 and 2 columns
--: error sql.unknown_column 11:8 there is no column 'nothing' here
--: error sql.unknown_column 11:45 there is no column 'nowhere' here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events UNION ALL SELECT value FROM events;
SELECT key FROM events UNION ALL SELECT key, value FROM events;
SELECT key FROM events EXCEPT SELECT key FROM events;
SELECT nothing FROM events UNION ALL SELECT nowhere FROM events;
