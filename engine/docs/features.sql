-- A sample of each feature that a script may want to use. The page of supported SQL is found out by compiling them.
-- The table of the first block is declared for all of them.

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

--# Queries

--: WHERE
SELECT key FROM events WHERE value > 1;

--: CASE
SELECT CASE WHEN value > 1 THEN 'a' ELSE 'b' END AS c FROM events;

--: WITH (common table expressions)
WITH e AS (SELECT key FROM events) SELECT key FROM e;

--: sub-query in FROM
SELECT key
FROM (SELECT key FROM events) AS e;

--: UNION ALL
SELECT key FROM events UNION ALL SELECT 'x' FROM events;

--: UNION, EXCEPT, INTERSECT
SELECT key FROM events UNION SELECT 'x' FROM events;

--: SELECT DISTINCT
SELECT DISTINCT key FROM events;

--: ORDER BY
SELECT key FROM events ORDER BY key;

--: LIMIT
SELECT key FROM events LIMIT 1;

--: IN (sub-query)
SELECT key FROM events WHERE key IN (SELECT key FROM events);

--: UNNEST
SELECT UNNEST(tags) AS tag FROM events;

--# Windows

--: tumble
SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1;

--: hop
SELECT hop(INTERVAL '1 minute', INTERVAL '1 hour') AS w, count(*) AS n FROM events GROUP BY w;

--: session
SELECT session(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;

--: window.start, window.end
SELECT w.start AS s, n
FROM (SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1) AS t;

--: aggregate over a window's result
SELECT w, sum(n) AS s
FROM (SELECT tumble(INTERVAL '1 minute') AS w, key, count(*) AS n FROM events GROUP BY 1, 2) AS t GROUP BY w;

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

--: join of windows
SELECT a.n AS n
FROM (SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1) AS a
JOIN (SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY 1) AS b ON a.w = b.w;

--# Lookups

--: CREATE TEMPORARY TABLE, left lookup
CREATE TEMPORARY TABLE t (id TEXT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '/t.csv', format = 'csv');
SELECT value, name FROM events LEFT JOIN t ON key = t.id;

--: inner lookup, conditions on what was found
CREATE TEMPORARY TABLE t (id TEXT PRIMARY KEY, name TEXT)
WITH (connector = 'filesystem', path = '/t', format = 'parquet');
SELECT value FROM events JOIN t ON lower(key) = t.id WHERE t.name IS NOT NULL;

--# Updating queries

--: GROUP BY without a window
SELECT key, count(*) AS n FROM events GROUP BY key;

--: join without a window
SELECT a.key AS k FROM events AS a JOIN events AS b ON a.key = b.key;

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
