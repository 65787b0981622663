-- The older options are held to the same.
--: error sql.event_time 6:81 event_time_field names 'x', which is no column of the table
--: error sql.event_time 8:81 event_time_field must be TIMESTAMP, not INT
--: error sql.event_time 10:81 watermark_field must be TIMESTAMP, not INT
CREATE TABLE a (at TIMESTAMP, n INT)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source', event_time_field = 'x');
CREATE TABLE b (at TIMESTAMP, n INT)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source', event_time_field = n);
CREATE TABLE c (at TIMESTAMP, n INT)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source', watermark_field = 'n');
SELECT 1 FROM a;
