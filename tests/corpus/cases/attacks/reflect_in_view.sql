-- Nor in a view.
--: error sql.unknown_function 5:25 there is no function 'reflect'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW v AS SELECT reflect('java.lang.System', 'exit') AS x FROM events;
SELECT x FROM v;
