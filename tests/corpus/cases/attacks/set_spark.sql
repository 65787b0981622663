-- No setting of Spark is changed.
--: error sql.unknown_setting 5:5 there is no setting 'spark.sql.extensions'; a script can set 'updating_ttl', 'sink_prefix' and 'sinks'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SET spark.sql.extensions = 'com.example.Evil';
SELECT key FROM events;
