-- A column must be there.
--: error sql.unknown_column 6:3 no column 'kee' here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT
  kee AS k
FROM events;
