-- No directory is written by its path.
--: error sql.syntax 5:37 unexpected 'USING'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
INSERT OVERWRITE DIRECTORY '/tmp/x' USING parquet SELECT key FROM events;
