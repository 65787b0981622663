-- The event time is a column that the table has.
--: error sql.event_time 3:14
CREATE TABLE events (key TEXT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events;
