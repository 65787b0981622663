-- No setting of Spark is changed.
--: error sql.unknown_setting 5:5 invalid option 'spark.sql.extensions'; supported options are 'updating_ttl'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SET spark.sql.extensions = 'com.example.Evil';
SELECT key FROM events;
