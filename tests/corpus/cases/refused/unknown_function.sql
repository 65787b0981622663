-- What is not on the list cannot be called.
--: error sql.unknown_function 6:3 there is no function 'uper'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT
  uper(key) AS k
FROM events;
