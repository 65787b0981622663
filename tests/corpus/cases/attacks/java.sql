-- No spelling of the functions that call Java is known.
--: error sql.unknown_function 27:8 there is no function 'reflect'
--: error sql.unknown_function 28:8 there is no function 'reflect'
--: error sql.unknown_function 28:22 there is no function 'reflect'
--: error sql.unknown_function 28:38 there is no function 'try_reflect'
--: error sql.unknown_function 28:56 there is no function 'java_method'
--: error sql.unknown_function 29:8 there is no function 'reflect'
--: error sql.syntax 30:19 unexpected '('
--: error sql.unsupported 31:8 system.builtin.reflect('a') is not supported
--: error sql.unknown_function 32:8 there is no function 'rеflect'
--: error sql.unknown_function 32:22 there is no function 'ｒｅｆｌｅｃｔ'
--: error sql.unknown_function 32:36 there is no function 'reflect\u200b'
--: error sql.syntax 33:10 unexpected '\\'
--: error sql.unknown_function 34:18 there is no function 'reflect'
--: error sql.unknown_function 35:36 there is no function 'reflect'
--: error sql.unknown_function 36:58 there is no function 'reflect'
--: error sql.unknown_function 37:31 there is no function 'reflect'
--: error sql.unknown_function 37:92 there is no function 'java_method'
--: error sql.unknown_function 38:12 there is no function 'reflect'
--: error sql.unknown_function 39:23 there is no function 'reflect'
--: error sql.unknown_function 40:34 there is no function 'reflect'
--: error sql.unsupported 41:8 a sub-query used as a value must return one row
--: error sql.unknown_function 42:41 there is no function 'reflect'
--: error sql.unknown_function 43:26 there is no function 'reflect'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT reflect('java.lang.System', 'exit', 0) FROM events;
SELECT REFLECT('a'), "reflect"('a'), try_reflect('a'), java_method('a') FROM events;
SELECT reflect/* x */('a') FROM events;
SELECT ref/**/lect('a') FROM events;
SELECT system.builtin.reflect('a') FROM events;
SELECT rеflect('a'), ｒｅｆｌｅｃｔ('a'), reflect​('a') FROM events;
SELECT re\u0066lect('a') FROM events;
SELECT CASE WHEN reflect('a') THEN 1 END FROM events;
SELECT key FROM events WHERE upper(reflect('a')) = 'A';
SELECT count(*) FROM events GROUP BY tumble('1 minute'), reflect('a');
SELECT count(*) FILTER (WHERE reflect('a')) FROM events GROUP BY tumble('1 minute') HAVING java_method('a');
SELECT max(reflect('a')) FROM events GROUP BY tumble('1 minute');
SELECT x FROM (SELECT reflect('a') AS x FROM events);
SELECT x FROM (WITH c AS (SELECT reflect('a') AS x FROM events) SELECT x FROM c);
SELECT (SELECT reflect('a') FROM events) FROM events;
SELECT key FROM events UNION ALL SELECT reflect('a') FROM events;
CREATE TABLE a AS SELECT reflect('a') AS x FROM events;
