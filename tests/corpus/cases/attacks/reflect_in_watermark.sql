-- Nor in a watermark.
--: error sql.unknown_function 3:65 there is no function 'reflect'
CREATE TABLE events (at TIMESTAMP NOT NULL, WATERMARK FOR at AS reflect('java.lang.System', 'exit'))
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source');
SELECT at FROM events;
