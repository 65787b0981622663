-- Two columns of one name cannot be written where the output takes its names from the query.
--: error sql.duplicate_name 8:21 two columns of the output have the name 'id'
--: error sql.duplicate_name 9:35 two columns of the output have the name 'ID'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE o WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE TABLE p (a BIGINT, b TEXT) WITH (connector = 'single_file', path = '$output.2', format = 'json', type = 'sink');
SELECT value AS id, key AS id FROM events;
INSERT INTO o SELECT value AS id, key AS "ID" FROM events;
INSERT INTO p SELECT value AS id, key AS id FROM events;
