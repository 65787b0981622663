-- Lookups that there are not.
--: error sql.join 17:18 lookup tables must be used directly within a join
--: error sql.join 18:18 lookup sources must be on the right side of an inner or left join
--: error sql.join 19:36 right join is not supported for lookup tables; must be a left or inner join
--: error sql.join 20:35 full join is not supported for lookup tables; must be a left or inner join
--: error sql.join 21:30 filter join conditions are not supported for lookup joins; must have an equality condition
--: error sql.join 22:30 filter join conditions are not supported for lookup joins; must have an equality condition
--: error sql.join 23:30 the right-side of a look-up join condition must be a PRIMARY KEY column, but 'name' is not
--: error sql.join 24:30 invalid right-side condition for lookup join: it must be the column alone
--: error sql.join 25:30 multiple filters found in lookup join
--: error sql.function_arguments 26:35 = does not take (BIGINT, TEXT)
--: error sql.wrong_direction 27:13 lookup (temporary) tables cannot be inserted into
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
