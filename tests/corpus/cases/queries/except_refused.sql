-- EXCEPT and INTERSECT of relations that cannot be compared.
--: error sql.column_count 9:24 the sides of INTERSECT have 1 and 2 columns
--: error sql.type_mismatch 10:24 the sides of EXCEPT have TEXT and TIMESTAMP in column 'key'
--: error sql.window_mismatch 11:24 the right side of the join has a window and the left side has none
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT key FROM events INTERSECT SELECT key, page FROM clicks;
SELECT key FROM events EXCEPT SELECT at FROM clicks;
SELECT key FROM events EXCEPT SELECT key FROM (SELECT tumble('1 minute') AS w, key FROM clicks GROUP BY 1, 2);
