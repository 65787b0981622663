-- The branches fit together, and the tests are conditions.
--: error sql.type_mismatch 8:18 a condition must be BOOLEAN, not BIGINT
--: error sql.type_mismatch 9:8 the branches of CASE are of types BIGINT and TEXT
--: error sql.type_mismatch 10:8 'a' is not a BIGINT
--: error sql.unknown_function 11:30 there is no function 'reflect'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT CASE WHEN value THEN 1 END FROM events;
SELECT CASE WHEN active THEN 1 ELSE 'a' END FROM events;
SELECT CASE value WHEN 'a' THEN 1 END FROM events;
SELECT CASE WHEN active THEN reflect('x') ELSE nothing END FROM events;
