-- A name is declared once.
--: error sql.duplicate_name 5:13 table 'events' is declared twice
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW events AS SELECT 1 AS one FROM events;
