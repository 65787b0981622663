-- A script can set little.
--: error sql.unknown_setting 5:5 there is no setting 'spark.driver.memory'; a script can set 'updating_ttl', 'sink_prefix' and 'sinks'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SET spark.driver.memory = '100g';
SELECT key FROM events;
