-- However it is quoted.
--: error sql.unsupported 5:15 cannot read from "text"."/etc/passwd"
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT * FROM "text"."/etc/passwd";
