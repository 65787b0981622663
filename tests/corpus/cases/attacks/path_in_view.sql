-- Nor behind a view.
--: error sql.unsupported 5:32 cannot read from json."/etc/passwd"
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW v AS SELECT * FROM json."/etc/passwd";
SELECT * FROM v;
