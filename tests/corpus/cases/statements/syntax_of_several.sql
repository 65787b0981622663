-- A statement that cannot be read does not hide what is wrong with the others.
--: error sql.syntax 10:30 nothing follows this comma
--: error sql.syntax 11:24 the statement ends too early
--: error sql.syntax 12:1 SELECT needs a list of columns
--: error sql.syntax 13:34 the statement ends too early
--: error sql.unknown_table 14:21 there is no table 'nowhere'
--: error sql.syntax 15:8 '`' is not allowed here
--: error sql.syntax 16:30 unexpected 'key'
--: error sql.syntax 17:13 view v has no query
CREATE TABLE events (key TEXT,, value BIGINT) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT key FROM events WHERE;
SELECT FROM events;
SELECT key FROM (SELECT key FROM events;
SELECT nothing FROM nowhere;
SELECT `key` FROM events;
SELECT key FROM events GROUP key;
CREATE VIEW v AS;
