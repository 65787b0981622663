-- A column must be there.
--: error sql.unknown_column 9:3 there is no column 'kee' here
--: error sql.unknown_column 12:8 there is no column '' here
--: error sql.unknown_column 13:13 there is no column '' here
--: error sql.unknown_column 13:19 there is no column '' here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT
  kee AS k
FROM events;

SELECT "" FROM events;
SELECT key, "".x, events."" FROM events;
