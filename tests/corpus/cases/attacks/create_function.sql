-- No function is defined from a class.
--: error sql.unsupported_statement 5:1 CREATE FUNCTION is not supported
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE FUNCTION evil AS 'com.example.Evil' USING JAR '/tmp/evil.jar';
SELECT key FROM events;
