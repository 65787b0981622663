-- Nor in a WITH.
--: error sql.unknown_function 6:10 there is no function 'java_method'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
WITH c AS (
  SELECT java_method('java.lang.System', 'exit', 0) AS x FROM events
) SELECT x FROM c;
