-- A function gets the arguments that it takes.
--: error sql.function_arguments 6:3 abs does not take (TEXT)
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT
  abs(key) AS a
FROM events;
