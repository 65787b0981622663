-- Java methods are not called.
--: error sql.unknown_function 5:8 there is no function 'reflect'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT reflect('java.lang.Runtime', 'getRuntime') AS x FROM events;
