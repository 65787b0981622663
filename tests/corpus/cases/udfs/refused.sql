-- Calls that do not fit a function of the user's are refused at their place.
--: error sql.type_mismatch 11:19 a condition must be BOOLEAN, not DOUBLE
--: error sql.function_arguments 12:24 most does not take (TEXT)
--: error sql.unsupported 13:29 an aggregate cannot stand inside another one
--: error sql.updating 14:13 input is updating, but sink is not configured as an updating sink (hint: use `format = 'debezium_json'`)
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out
SELECT half('x'), half(1, 2), halve(1), half(value) OVER (PARTITION BY key), most(value)
FROM events WHERE half(value);
INSERT INTO out SELECT most(key) FROM events GROUP BY tumble('1 minute');
INSERT INTO out SELECT most(most(value)) FROM events GROUP BY tumble('1 minute');
INSERT INTO out SELECT half(most(value)) FROM events;
