-- A sample of each feature that a script may want to use. The page of supported SQL is found out by compiling them.
-- The table of the first block is declared for all of them. `--+` is one that only we
-- accept, `--!` one that only Arroyo accepts.

CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, tags TEXT[], body JSON)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');

--# Statements

--: CREATE TABLE ... WITH
SELECT key FROM events;

--: INSERT INTO ... SELECT
CREATE TABLE o (k TEXT)
WITH (connector = 'blackhole');
INSERT INTO o SELECT key FROM events;

--: several INSERTs into one sink
CREATE TABLE o (k TEXT)
WITH (connector = 'blackhole');
INSERT INTO o SELECT key FROM events;
INSERT INTO o SELECT 'x' FROM events;

--: CREATE TABLE ... AS SELECT
CREATE TABLE o
WITH (connector = 'blackhole') AS SELECT key FROM events;

--: CREATE TABLE ... AS
CREATE TABLE o AS SELECT key FROM events;
SELECT key FROM o;


--: CREATE VIEW
CREATE VIEW v AS SELECT key FROM events;
SELECT key FROM v;

--: memory table
CREATE TABLE m (k TEXT);
INSERT INTO m SELECT key FROM events;
SELECT k FROM m;

--: SET updating_ttl
SET updating_ttl = '1 hour';
SELECT key FROM events;

--: SET sink_prefix
SET sink_prefix = 'january';
SELECT key FROM events;

--: SET sinks
SET sinks = 'preview';
SELECT key FROM events;

--: SET of anything else
SET parallelism = 4;
SELECT key FROM events;

--: EXPLAIN (the command line has it: `arroyo explain`)
EXPLAIN SELECT key FROM events;

--: DELETE, UPDATE, MERGE
DELETE FROM events;


--# Tables

--: generated column
CREATE TABLE t (a BIGINT, b BIGINT GENERATED ALWAYS AS (a + 1) STORED)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
SELECT b FROM t;

--: METADATA FROM
CREATE TABLE t (a BIGINT, f TEXT METADATA FROM 'filename')
WITH (connector = 'filesystem', path = '/t', format = 'json', type = 'source');
SELECT f FROM t;

--: WATERMARK FOR ... AS
CREATE TABLE t (a TIMESTAMP NOT NULL, WATERMARK FOR a AS a - INTERVAL '5 seconds')
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
SELECT a FROM t;

--: PRIMARY KEY
CREATE TABLE t (a BIGINT PRIMARY KEY)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
SELECT a FROM t;

--: PRIMARY KEY of several columns, table constraints
CREATE TABLE t (a BIGINT, b BIGINT, PRIMARY KEY (a, b))
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
SELECT a FROM t;

--: change stream in, format debezium_json
CREATE TABLE t (a BIGINT PRIMARY KEY, b TEXT)
WITH (connector = 'single_file', path = '/t', format = 'debezium_json', type = 'source');
SELECT b FROM t;

--: change stream out, format debezium_json
CREATE TABLE o (k TEXT, n BIGINT)
WITH (connector = 'single_file', path = '/o', format = 'debezium_json', type = 'sink');
INSERT INTO o SELECT key, count(*) FROM events GROUP BY key;

--: changes into a sink without changes
CREATE TABLE o (k TEXT, n BIGINT)
WITH (connector = 'single_file', path = '/o', format = 'json', type = 'sink');
INSERT INTO o SELECT key, count(*) FROM events GROUP BY key;

--: types of columns
CREATE TABLE t (a BOOLEAN, b INT, c BIGINT UNSIGNED, d REAL, e DOUBLE, f DECIMAL(10, 2), g TEXT, h BYTEA, i TIMESTAMP, j JSON, k STRUCT<x INT>, l INT[])
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
SELECT a FROM t;

--: json.unstructured
CREATE TABLE t (value JSON)
WITH (connector = 'single_file', path = '/t', format = 'json', 'json.unstructured' = true, type = 'source');
SELECT value ->> 'a' AS a FROM t;


--# Queries

--: WHERE
SELECT key FROM events WHERE value > 1;

--: CASE
SELECT CASE WHEN value > 1 THEN 'a' ELSE 'b' END AS c FROM events;

--: * EXCEPT (columns)
SELECT * EXCEPT (body, tags) FROM events;

--: DISTINCT ON
SELECT DISTINCT ON (key) key, value FROM events;

--: WITH (common table expressions)
WITH e AS (SELECT key FROM events) SELECT key FROM e;

--: sub-query in FROM
SELECT key
FROM (SELECT key FROM events) AS e;

--: UNION ALL
SELECT key FROM events UNION ALL SELECT 'x' FROM events;

--: UNION
SELECT key FROM events UNION SELECT 'x' FROM events;

--: EXCEPT, INTERSECT
SELECT key FROM events EXCEPT SELECT 'x' FROM events INTERSECT SELECT key FROM events;

--: EXCEPT ALL, INTERSECT ALL
SELECT key FROM events EXCEPT ALL SELECT 'x' FROM events;

--: SELECT DISTINCT
SELECT DISTINCT key FROM events;

--: ORDER BY
SELECT key FROM events ORDER BY key;

--: LIMIT
SELECT key FROM events LIMIT 1;

--+ ORDER BY with LIMIT
SELECT key, value FROM events ORDER BY value DESC LIMIT 10;

--: IN (sub-query)
SELECT key FROM events WHERE key IN (SELECT key FROM events);

--: (values) IN (sub-query), = ANY (sub-query)
SELECT key FROM events WHERE (key, value) IN (SELECT key, value FROM events) AND key = ANY (SELECT key FROM events);

--: NOT IN (sub-query)
SELECT key FROM events WHERE key NOT IN (SELECT key FROM events);

--: sub-query for one value
SELECT key FROM events WHERE value > (SELECT avg(value) FROM events);

--: sub-query for one value of the rows that match
SELECT key, (SELECT max(value) FROM events AS f WHERE f.key = e.key) AS most FROM events AS e;

--: sub-query for one value in HAVING, and beside GROUP BY
SELECT key, (SELECT max(value) FROM events AS f WHERE f.key = e.key) AS most FROM events AS e
GROUP BY key HAVING count(*) > (SELECT avg(value) FROM events);

--: sub-query for one value that is no aggregate
SELECT key, (SELECT value FROM events AS f WHERE f.key = e.key) AS v FROM events AS e;

--: EXISTS, NOT EXISTS
SELECT key FROM events AS e
WHERE EXISTS (SELECT 1 FROM events AS f WHERE f.key = e.key AND f.value > e.value)
AND NOT EXISTS (SELECT 1 FROM events AS g WHERE g.key = e.key AND g.value = 0);

--: EXISTS without an equality
SELECT key FROM events AS e WHERE EXISTS (SELECT 1 FROM events AS f WHERE f.value > e.value);

--: recursive WITH
WITH RECURSIVE e AS (SELECT key FROM events UNION ALL SELECT key FROM e) SELECT key FROM e;

--: GROUP BY ALL
SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY ALL;

--+ QUALIFY
SELECT key, value FROM events QUALIFY row_number() OVER (PARTITION BY key ORDER BY value DESC) = 1;

--+ JOIN (VALUES ...)
SELECT e.key, t.name FROM events AS e JOIN (VALUES ('a', 'first'), ('b', 'second')) AS t(key, name) ON e.key = t.key;

--+ Flink's TUMBLE, HOP, CUMULATE and SESSION of a table, and RisingWave's
SELECT window_start, window_end, key, count(*) AS n
FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, key;
SELECT window_start, window_end, count(*) AS n FROM TABLE(CUMULATE(TABLE events, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)) GROUP BY window_start, window_end;
SELECT window_start, key, count(*) AS n FROM TABLE(SESSION(TABLE events PARTITION BY key, DESCRIPTOR(at), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, key;
SELECT window_start, count(*) AS n FROM TUMBLE(events, at, INTERVAL '1 minute') GROUP BY window_start;

--: Flink's TUMBLE of a table without GROUP BY (aggregate by its window)
SELECT * FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '1' MINUTE));

--: PIVOT (write sum(n) FILTER (WHERE key = 'a') AS a)
SELECT key FROM events PIVOT (sum(value) FOR key IN ('a'));

--: MATCH_RECOGNIZE (join the table with itself, once per step)
SELECT key FROM events MATCH_RECOGNIZE (PARTITION BY key ORDER BY at PATTERN (A B) DEFINE A AS value > 1);

--+ JOIN of versions: FOR SYSTEM_TIME AS OF the event time
SELECT e.key, r.value FROM events AS e LEFT JOIN events FOR SYSTEM_TIME AS OF e.at AS r ON e.key = r.key;

--: FOR SYSTEM_TIME AS OF in FROM (write it after a table that is joined)
SELECT key FROM events FOR SYSTEM_TIME AS OF at AS e;

--+ IF, IIF, DECODE
SELECT IF(value > 1, 'a', 'b') AS x, DECODE(value, 1, 'one', 'other') AS y FROM events;

--+ time zones in functions
SELECT date_trunc('day', at, 'Europe/Berlin') AS day, from_utc_timestamp(at, 'Asia/Tokyo') AS clock FROM events;

--+ AT TIME ZONE, twice
SELECT at AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo' AS clock FROM events;

--: AT TIME ZONE, once (write from_utc_timestamp or to_utc_timestamp)
SELECT at AT TIME ZONE 'UTC' AS clock FROM events;

--: GROUPING SETS, ROLLUP, CUBE
SELECT tumble(INTERVAL '1 minute') AS w, key, grouping(key) AS g, count(*) AS n FROM events
GROUP BY w, ROLLUP (key);


--: UNNEST
SELECT UNNEST(tags) AS tag FROM events;

--: UNNEST inside an expression
SELECT upper(UNNEST(tags)) AS tag FROM events;

--+ UNNEST in FROM
SELECT key, tag FROM events CROSS JOIN UNNEST(tags) AS t(tag);

--+ LATERAL, LEFT JOIN of elements
SELECT key, tag FROM events LEFT JOIN LATERAL UNNEST(events.tags) AS tag ON true;

--: UNNEST WITH ORDINALITY
SELECT key, tag FROM events CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t(tag, place);

--: LATERAL (sub-query)
SELECT e.key FROM events AS e, LATERAL (SELECT key FROM events AS f WHERE f.value = e.value) AS g;

--: LATERAL (sub-query) of groups, or of one row
SELECT e.key, g.*, n FROM events AS e
LEFT JOIN LATERAL (SELECT tags, max(value) AS most FROM events AS f WHERE f.key = e.key GROUP BY tags) AS g ON true
CROSS JOIN LATERAL (SELECT count(*) AS n FROM events AS f WHERE f.key = e.key) AS h;

--+ LATERAL (sub-query) without FROM
SELECT key, twice FROM events AS e, LATERAL (SELECT e.value * 2 AS twice) AS g;

--: LATERAL (sub-query) with LIMIT or OVER
SELECT e.key, g.value FROM events AS e, LATERAL (SELECT value FROM events AS f WHERE f.key = e.key LIMIT 1) AS g;

--: several UNNESTs in one SELECT
SELECT UNNEST(tags) AS tag, UNNEST([1, 2]) AS n FROM events;

--# Windows

--: tumble
SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1;

--: hop
SELECT hop(INTERVAL '1 minute', INTERVAL '1 hour') AS w, count(*) AS n FROM events GROUP BY w;

--+ hop whose width is no multiple of its slide
SELECT hop(INTERVAL '40 seconds', INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY w;


--: session
SELECT session(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;

--: window.start, window.end
SELECT w.start AS s, n
FROM (SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1) AS t;

--: aggregate over a window's result
SELECT w, sum(n) AS s
FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t GROUP BY w;

--: aggregate over a window's result, by calling the window again
SELECT tumble(INTERVAL '1 minute') AS w, sum(n) AS s
FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t GROUP BY 1;

--: several windows in one GROUP BY
SELECT count(*) AS n FROM events GROUP BY tumble(INTERVAL '1 minute'), tumble(INTERVAL '2 minutes');

--+ windows of months, of local days, and with an offset
SELECT tumble(INTERVAL '1 month') AS w, count(*) AS n FROM events GROUP BY 1;
SELECT tumble(INTERVAL '1 day', 'Europe/Berlin') AS w, count(*) AS n FROM events GROUP BY 1;
SELECT hop(INTERVAL '1 day', INTERVAL '7 days', 'America/New_York', INTERVAL '6 hours') AS w, count(*) AS n FROM events GROUP BY 1;

--+ windows that add up: cumulate
SELECT cumulate(INTERVAL '1 hour', INTERVAL '1 day') AS w, count(*) AS n FROM events GROUP BY 1;

--: windows of hours in a time zone (leave out the zone, or shift them by an offset)
SELECT tumble(INTERVAL '1 hour', 'Europe/Berlin') AS w, count(*) AS n FROM events GROUP BY 1;

--: windows made of the rows of others (aggregate by the larger window directly)
SELECT tumble(INTERVAL '1 hour') AS w, sum(n) AS n FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t GROUP BY 1;


--: HAVING
SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1 HAVING count(*) > 1;

--: aggregate FILTER
SELECT tumble(INTERVAL '1 minute') AS w, count(*) FILTER (WHERE value > 1) AS n FROM events GROUP BY 1;

--: COUNT(DISTINCT)
SELECT tumble(INTERVAL '1 minute') AS w, count(DISTINCT key) AS n FROM events GROUP BY 1;

--: ROW_NUMBER() OVER
SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC) AS place
FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t) AS u
WHERE place = 1;

--: aggregate OVER, frames
SELECT w, sum(n) OVER (PARTITION BY w ORDER BY key ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s
FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t;

--+ several functions OVER in one SELECT
SELECT w, rank() OVER (PARTITION BY w ORDER BY n) AS a, lag(n) OVER (PARTITION BY w ORDER BY key) AS b
FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t;

--+ OVER of session windows
SELECT w, rank() OVER (PARTITION BY w ORDER BY n) AS a
FROM (SELECT session(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t;

--+ ROW_NUMBER, RANK, DENSE_RANK without a window
SELECT key, value FROM (SELECT *, row_number() OVER (PARTITION BY key ORDER BY value DESC) AS place FROM events) WHERE place <= 3;

--: LAG, FIRST_VALUE, LAST_VALUE and aggregates OVER event time, without a window
SELECT lag(value) OVER (PARTITION BY key ORDER BY at) AS a, sum(value) OVER (PARTITION BY key ORDER BY at) AS b FROM events;
SELECT avg(value) OVER (PARTITION BY key ORDER BY at RANGE BETWEEN INTERVAL '10 minutes' PRECEDING AND CURRENT ROW) AS a FROM events;
SELECT max(value) OVER (PARTITION BY key ORDER BY at ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS a FROM events;

--: LEAD OVER event time, and frames that look ahead: rows wait for the next ones
SELECT lead(value) OVER (PARTITION BY key ORDER BY at) AS a FROM events;
SELECT sum(value) OVER (PARTITION BY key ORDER BY at ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a FROM events;
SELECT max(value) OVER (PARTITION BY key ORDER BY at RANGE BETWEEN CURRENT ROW AND INTERVAL '1 minute' FOLLOWING) AS a FROM events;

--: OVER event time with a frame up to the end of the stream (aggregate by a window)
SELECT max(value) OVER (PARTITION BY key ORDER BY at ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a FROM events;

--: WINDOW name AS (...)
SELECT lag(value) OVER w AS a, sum(value) OVER (w ROWS 2 PRECEDING) AS b FROM events WINDOW w AS (PARTITION BY key ORDER BY at);

--: IGNORE NULLS of FIRST_VALUE and LAST_VALUE OVER event time
SELECT last_value(value) IGNORE NULLS OVER (PARTITION BY key ORDER BY at) AS a FROM events;

--: other functions OVER another order without a window
SELECT lag(value) OVER (PARTITION BY key ORDER BY value) AS a FROM events;

--+ ORDER BY, LIMIT within a window
SELECT w, key, n FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t ORDER BY n DESC LIMIT 3;


--: join of windows
SELECT a.n AS n
FROM (SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1) AS a
JOIN (SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1) AS b ON a.w = b.w;

--: left, right and full join of windows
SELECT a.n AS n FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS a FULL JOIN (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS b ON a.w = b.w AND a.key = b.key;

--: USING
SELECT a.n AS n FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS a JOIN (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS b USING (w, key);

--+ aggregate over a join of windows
SELECT w, sum(n) AS s FROM (SELECT a.w AS w, b.n AS n FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS a JOIN (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS b ON a.w = b.w) AS t GROUP BY w;

--+ join of session windows
SELECT a.n AS n FROM (SELECT session(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS a JOIN (SELECT session(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS b ON a.w = b.w AND a.key = b.key;

--: join of a window with rows that have none
SELECT a.n AS n FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS a JOIN events AS b ON a.key = b.key;


--# Lookups

--+ left lookup in files (CSV, JSON, Parquet)
CREATE TEMPORARY TABLE t (id TEXT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '/t.csv', format = 'csv');
SELECT value, name FROM events LEFT JOIN t ON key = t.id;

--+ inner lookup in files, conditions on what was found
CREATE TEMPORARY TABLE t (id TEXT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '/t', format = 'parquet');
SELECT value FROM events JOIN t ON lower(key) = t.id WHERE t.name IS NOT NULL;

--: CREATE TEMPORARY TABLE, lookup in Redis
CREATE TEMPORARY TABLE t (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT)
WITH (connector = 'redis', address = 'redis://localhost:6379', format = 'json');
SELECT value, name FROM events JOIN t ON key = t.id;

--: right and full lookup
CREATE TEMPORARY TABLE t (id TEXT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '/t', format = 'parquet');
SELECT value FROM events RIGHT JOIN t ON key = t.id;


--# Updating queries

--: GROUP BY without a window
SELECT key, count(*) AS n FROM events GROUP BY key;

--: join without a window
SELECT a.key AS k FROM events AS a JOIN events AS b ON a.key = b.key;

--: join without an equality
SELECT a.key AS k FROM events AS a JOIN events AS b ON a.value > b.value;

--: HAVING without a window
SELECT key, count(*) AS n FROM events GROUP BY key HAVING count(*) > 1;

--: aggregate over an aggregate
SELECT n, count(*) AS keys FROM (SELECT key, count(*) AS n FROM events GROUP BY key) AS t GROUP BY n;

--: aggregate over a change stream
CREATE TABLE t (a BIGINT PRIMARY KEY, b TEXT)
WITH (connector = 'single_file', path = '/t', format = 'debezium_json', type = 'source');
SELECT b, count(*) AS n FROM t GROUP BY b;

--: DISTINCT aggregate without a window
SELECT key, count(DISTINCT value) AS n FROM events GROUP BY key;

--+ left, right and full join without a window
SELECT a.key AS k, b.value AS v FROM events AS a LEFT JOIN events AS b ON a.key = b.key;

--+ join with rows that are taken back
SELECT a.value AS v, b.n AS n FROM events AS a JOIN (SELECT key, count(*) AS n FROM events GROUP BY key) AS b ON a.key = b.key;

--: lookup behind rows that are taken back
CREATE TEMPORARY TABLE t (id TEXT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '/t', format = 'parquet');
SELECT n, name FROM (SELECT key, count(*) AS n FROM events GROUP BY key) AS e JOIN t ON e.key = t.id;

--: window over rows that are taken back
SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS m
FROM (SELECT key, count(*) AS n FROM events GROUP BY key) AS t GROUP BY 1;


--# Values

--: CAST, TRY_CAST
SELECT CAST(value AS TEXT) AS a, TRY_CAST(key AS BIGINT) AS b FROM events;

--: JSON operators
SELECT body -> 'a' ->> 'b' AS v FROM events;

--: arrays
SELECT tags[1] AS t FROM events;

--: STRUCT
CREATE TABLE t (a STRUCT<b BIGINT>)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
SELECT t.a.b AS b FROM t;

--: array literals, slices, ||, @>
SELECT [1, 2] || value AS a, tags[2:3] AS b, tags @> ['a'] AS c FROM events;

--: struct(), named_struct(), {name: value}
SELECT struct(key AS k) AS a, named_struct('k', key) AS b, {k: key} AS c FROM events;

--: raw bytes
SELECT key::BYTEA = x'00ff' AS same FROM events;

--+ parts of intervals
SELECT INTERVAL '1 day' / 2 AS a, INTERVAL '1 hour' * 1.5 AS b FROM events;

--+ columns of DATE, TINYINT and SMALLINT
CREATE TABLE t (a DATE, b TINYINT, c SMALLINT UNSIGNED)
WITH (connector = 'single_file', path = '/t', format = 'json', type = 'source');
SELECT a FROM t;

--: == for =
SELECT key FROM events WHERE value == 1;

--: ::, LIKE, ILIKE, IN, BETWEEN, regular expressions
SELECT value::TEXT AS t FROM events WHERE key LIKE 'a%' OR key ILIKE 'b' OR value IN (1, 2) OR value BETWEEN 3 AND 4 OR key ~ '^c';

--: LIKE ... ESCAPE, SIMILAR TO
SELECT key FROM events WHERE key LIKE 'a!%' ESCAPE '!' OR key SIMILAR TO '(a|b)_%';

--: BETWEEN SYMMETRIC, IS DISTINCT FROM
SELECT key FROM events WHERE value BETWEEN SYMMETRIC 5 AND 1 OR value IS DISTINCT FROM 7;

--: rows of values
SELECT key FROM events WHERE (key, value) IN (('a', 1), ('b', 2)) OR (key, value) > ('c', 3);

--: = ANY(array)
SELECT key FROM events WHERE 'a' = ANY(tags) OR value <> ALL([1, 2]);

--: TIMESTAMP(0), TIMESTAMP(3)
SELECT at::TIMESTAMP(0) AS a, at::TIMESTAMP(3) AS b FROM events;

--: JSONPath
SELECT extract_json_string(body, '$.a[0].b') AS v FROM events;

--: intervals
SELECT at + INTERVAL '1 hour' AS a, at - at AS b FROM events;

--: intervals of months, beside a time
SELECT at + INTERVAL '1 month' AS a, at - INTERVAL '2 years 3 days' AS b FROM events;

--: formats of strftime
SELECT to_char(at, '%-d %B, %H:%M') AS a, to_timestamp(key, '%d.%m.%Y', '%+') AS b FROM events;

--: now(), CURRENT_DATE, CURRENT_TIMESTAMP
SELECT key FROM events WHERE at < now() AND at::DATE = CURRENT_DATE AND at < CURRENT_TIMESTAMP;

--: row_time()
SELECT row_time() AS t FROM events;

--: bits
SELECT value & 6 | 1 # 3 AS a, value << 2 >> 1 AS b FROM events;

--+ SELECT /*+ id(name) */ ...
SELECT /*+ id(visits) */ key, count(*) AS n FROM events GROUP BY key, tumble(INTERVAL '1 minute');

--: arrow_cast, arrow_typeof
SELECT arrow_cast(value, 'Int32') AS a, arrow_typeof(value) AS b FROM events;

--: EXTRACT, POSITION, SUBSTRING, TRIM, OVERLAY with words
SELECT EXTRACT(hour FROM at) AS a, POSITION('b' IN key) AS b, SUBSTRING(key FROM 2 FOR 3) AS c, TRIM(LEADING 'x' FROM key) AS d, OVERLAY(key PLACING 'y' FROM 1 FOR 2) AS e FROM events;

--: exact percentiles and modes, in windows and over all rows
SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY value) AS a, mode() WITHIN GROUP (ORDER BY key) AS b FROM events GROUP BY tumble(INTERVAL '1 minute');
SELECT key, percentile_disc(0.5) WITHIN GROUP (ORDER BY value) AS a FROM events GROUP BY key;

--: aggregate with ORDER BY, WITHIN GROUP
SELECT array_agg(key ORDER BY value) AS a, approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS b FROM events GROUP BY tumble(INTERVAL '1 minute');


--# Never

--: Java methods
SELECT reflect('java.lang.System', 'exit') AS x FROM events;

--: scripts of the shell
SELECT TRANSFORM(key) USING 'cat' AS x FROM events;

--: files by their path
SELECT * FROM text.`/etc/passwd`;

--: loading of code
CREATE FUNCTION f AS 'x';
SELECT key FROM events;
