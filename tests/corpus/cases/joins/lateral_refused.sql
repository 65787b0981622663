-- LATERAL queries that cannot become joins, and joins that they cannot stand in.
--: error sql.unsupported 31:40 a LATERAL query with ORDER BY, LIMIT or OVER cannot look at the rows before it
--: error sql.unsupported 32:40 a LATERAL query with ORDER BY, LIMIT or OVER cannot look at the rows before it
--: error sql.unsupported 33:40 a LATERAL query with HAVING but without GROUP BY cannot look at the rows before it
--: error sql.unsupported 34:40 a LATERAL query with DISTINCT ON cannot look at the rows before it
--: error sql.unsupported 35:54 a LATERAL query that groups its rows cannot look at the rows before it like this
--: error sql.unsupported 36:76 a LATERAL query that groups its rows cannot look at the rows before it like this
--: error sql.join 37:40 a join without windows needs an equality of its sides
--: error sql.unsupported 38:40 aggregates of a sub-query match the rows around it with = only
--: error sql.unsupported 39:84 a LATERAL query looks at the rows before it in its SELECT list and its WHERE alone
--: error sql.unsupported 40:98 a LATERAL query looks at the rows before it in its SELECT list and its WHERE alone
--: error sql.unsupported 41:105 a LATERAL query looks at the rows before it in its SELECT list and its WHERE alone
--: error sql.unknown_column 42:48 there is no column 'nothing' here
--: error sql.unknown_column 43:84 there is no column 'nothing' here
--: error sql.join 44:40 'e' appears twice in FROM
--: error sql.column_count 45:94 the relation has 1 column, and names are given for 2
--: error sql.column_count 46:99 the relation has 1 column, and names are given for 2
--: error sql.join 47:50 a LATERAL query is joined with CROSS JOIN, or JOIN or LEFT JOIN ... ON true
--: error sql.join 48:49 a LATERAL query is joined with CROSS JOIN, or JOIN or LEFT JOIN ... ON true
--: error sql.join 49:49 a LATERAL query is joined with CROSS JOIN, or JOIN or LEFT JOIN ... ON true
--: error sql.join 50:44 a LATERAL query is joined with CROSS JOIN, or JOIN or LEFT JOIN ... ON true
--: error sql.unsupported 51:40 a query without FROM computes columns, and * is none
--: error sql.unsupported 52:40 a query without FROM computes columns
--: error sql.unsupported 53:48 unnest is not supported here
--: error sql.unsupported 54:25 cannot read from LATERAL (SELECT key FROM events) AS g
--: error sql.too_large 58:41 LATERAL queries are nested too deeply
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key ORDER BY page LIMIT 1) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT row_number() OVER (PARTITION BY page ORDER BY at) FROM clicks AS c WHERE c.key = e.key) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT count(*) FROM clicks AS c WHERE c.key = e.key HAVING count(*) > 1) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT DISTINCT ON (page) page FROM clicks AS c WHERE c.key = e.key) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page, value FROM clicks AS c WHERE c.key = e.key GROUP BY page) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.key > e.key GROUP BY page) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.page > e.key) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT max(page) FROM clicks AS c WHERE c.page > e.key) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key UNION ALL SELECT page FROM clicks) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c JOIN events AS f ON f.key = e.key) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key GROUP BY page, e.value) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT nothing FROM clicks AS c WHERE c.key = e.key) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.nothing) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key) AS e;
SELECT e.key FROM events AS e, LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key) AS g(a, b);
SELECT e.key FROM events AS e, LATERAL (SELECT max(page) FROM clicks AS c WHERE c.key = e.key) AS g(a, b);
SELECT e.key FROM events AS e RIGHT JOIN LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key) AS g ON true;
SELECT e.key FROM events AS e LEFT JOIN LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key) AS g;
SELECT e.key FROM events AS e LEFT JOIN LATERAL (SELECT max(page) AS p FROM clicks AS c WHERE c.key = e.key) AS g ON p > 'a';
SELECT e.key FROM events AS e JOIN LATERAL (SELECT page FROM clicks AS c WHERE c.key = e.key) AS g USING (key);
SELECT e.key FROM events AS e, LATERAL (SELECT *) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT value GROUP BY value) AS g;
SELECT e.key FROM events AS e, LATERAL (SELECT unnest([value])) AS g;
SELECT key FROM LATERAL (SELECT key FROM events) AS g;
SELECT a.key FROM events AS a, LATERAL (SELECT b.key FROM events AS b, LATERAL (SELECT c.key FROM events AS c, LATERAL (SELECT d.key FROM events AS d, LATERAL
(SELECT e.key FROM events AS e WHERE e.key = d.key) AS f WHERE d.key = c.key) AS g WHERE c.key = b.key) AS h WHERE b.key = a.key) AS i;
SELECT a.key FROM events AS a, LATERAL (SELECT b.key FROM events AS b, LATERAL (SELECT c.key FROM events AS c, LATERAL (SELECT d.key FROM events AS d, LATERAL
(SELECT e.key FROM events AS e, LATERAL (SELECT 1 WHERE e.active) AS f WHERE e.key = d.key) AS f WHERE d.key = c.key) AS g WHERE c.key = b.key) AS h WHERE b.key = a.key) AS i;
