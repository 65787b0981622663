-- The event time is a column that the table has.
--: error sql.event_time 4:81 event_time_field names 'at', which is no column of the table
CREATE TABLE events (key TEXT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events;
