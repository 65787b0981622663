-- No file is read by its path.
--: error sql.syntax 5:20 '`' is not allowed here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT * FROM text.`/etc/passwd`;
