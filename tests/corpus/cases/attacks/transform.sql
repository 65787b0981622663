-- No shell is started.
--: error sql.syntax 5:23 unexpected 'USING'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT TRANSFORM(key) USING 'cat /etc/passwd' AS x FROM events;
