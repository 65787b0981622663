-- A table has one watermark.
--: error sql.event_time 3:63 a table takes only one WATERMARK FOR
CREATE TABLE events (at TIMESTAMP NOT NULL, WATERMARK FOR at, WATERMARK FOR at AS at - INTERVAL '1 second')
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source');
SELECT at FROM events;
