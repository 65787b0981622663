-- A hint where a query is not one of its own, and names that are taken.
--: error sql.hint 10:61 id(tested) names no operator: its SELECT is taken together with the one around it
--: error sql.hint 11:8 id(Users) is the name of a table
--: error sql.hint 12:8 id(out) is the name of a table
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE users (key TEXT, age BIGINT)
WITH (connector = 'single_file', path = '/users.json', format = 'json', type = 'source');
CREATE TABLE out WITH (connector = 'blackhole');
INSERT INTO out SELECT key FROM events WHERE key IN (SELECT /*+ id(tested) */ key FROM users);
SELECT /*+ id(Users) */ tumble('1 minute'), count(*) FROM events GROUP BY 1;
SELECT /*+ id(out) */ tumble('2 minutes'), count(*) FROM events GROUP BY 1;
