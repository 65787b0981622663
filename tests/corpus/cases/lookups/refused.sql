-- Lookups that there are not.
--: error sql.join 17:18 a lookup table can only be read by a join
--: error sql.join 18:18 a lookup table must be on the right side of an inner or left join
--: error sql.join 19:36 RIGHT JOIN of a lookup table is not supported
--: error sql.join 20:35 FULL JOIN of a lookup table is not supported
--: error sql.join 21:30 a lookup join needs an equality with the table's key, and takes no other condition
--: error sql.join 22:30 a lookup join needs an equality with the table's key, and takes no other condition
--: error sql.join 23:30 column 'name' is not the primary key of the lookup table
--: error sql.join 24:30 the key of a lookup table must be compared as it is
--: error sql.join 25:30 a lookup join matches rows by the key alone
--: error sql.function_arguments 26:35 = does not take (BIGINT, TEXT)
--: error sql.wrong_direction 27:13 table 'c' is a lookup table and cannot be inserted into
--: error sql.join 28:81 a lookup join cannot follow rows that are taken back, which might find another row then
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE c (id TEXT PRIMARY KEY, name TEXT) WITH (connector = 'filesystem', path = '/c', format = 'json');
SELECT name FROM c;
SELECT name FROM c JOIN events ON id = key;
SELECT name FROM events RIGHT JOIN c ON id = key;
SELECT name FROM events FULL JOIN c ON id = key;
SELECT name FROM events JOIN c ON id > key;
SELECT name FROM events JOIN c ON key = id AND value > 3;
SELECT name FROM events JOIN c ON key = name;
SELECT name FROM events JOIN c ON key = lower(id);
SELECT name FROM events JOIN c ON key = id AND key = name;
SELECT name FROM events JOIN c ON value = id;
INSERT INTO c SELECT key, key FROM events;
SELECT name FROM (SELECT key, count(*) AS n FROM events GROUP BY key) AS e JOIN c ON e.key = c.id;
