-- Where OVER and ORDER BY cannot stand, and what they cannot take.
--: error sql.over 49:38 values of type BIGINT[] have no order
--: error sql.over 50:8 OVER must be partitioned by the window of the rows
--: error sql.over 51:8 OVER must be partitioned by the window of the rows
--: error sql.window_mismatch 52:8 tumble(1 minute) is not the window that the input has: tumble(2 minutes)
--: error sql.unknown_column 53:40 there is no column 'window' here
--: error sql.over 54:8 there is no WINDOW 'w'
--: error sql.over 55:8 row_number needs OVER
--: error sql.unknown_function 56:8 there is no window function 'nothing'
--: error sql.unknown_function 57:8 there is no window function 'upper'
--: error sql.function_arguments 58:8 row_number does not take (BIGINT)
--: error sql.function_arguments 58:50 argument 1 of ntile cannot be 0
--: error sql.function_arguments 58:87 argument 2 of lag must be a whole number
--: error sql.over 59:8 rank takes no FILTER
--: error sql.over 59:64 rank takes no IGNORE NULLS
--: error sql.over 59:112 sum takes no IGNORE NULLS
--: error sql.function_arguments 60:8 argument 2 of approx_percentile_cont must be a constant that it accepts
--: error sql.over 61:8 count(DISTINCT ...) cannot be used with OVER
--: error sql.function_arguments 61:54 sum does not take (TEXT)
--: error sql.over 62:8 the frame ends before it starts
--: error sql.over 63:8 RANGE goes from or to the current row, or without an end
--: error sql.over 64:8 only frames of ROWS or RANGE are supported
--: error sql.over 65:8 a frame is counted in whole rows
--: error sql.unsupported 66:25 row_number() OVER (PARTITION BY window) is not supported here
--: error sql.unsupported 67:57 rank() OVER (PARTITION BY window) is not supported here
--: error sql.unsupported 68:12 rank() OVER (PARTITION BY window) is not supported here
--: error sql.unsupported 69:24 ORDER BY is not supported
--: error sql.unsupported 69:37 OFFSET is not supported
--: error sql.unsupported 70:24 LIMIT is not supported
--: error sql.unsupported 70:32 OFFSET is not supported
--: error sql.over 71:33 values of type TEXT[] have no order
--: error sql.unsupported 72:1 DISTINCT ON of windows, or beside LIMIT, is not supported
--: error sql.unsupported 73:1 DISTINCT ON of windows, or beside LIMIT, is not supported
--: error sql.unsupported 74:1 DISTINCT ON takes one value or more
--: error sql.column_count 75:28 ORDER BY 2 is not the number of a column
--: error sql.unknown_column 76:28 there is no column 'nothing' here
--: error sql.unsupported 77:19 LIMIT is not supported
--: error sql.unsupported 78:19 FETCH is not supported
--: error sql.over 79:25 LIMIT takes a whole number up to 2147483647
--: error sql.unsupported 80:1 ORDER BY beside DISTINCT is not supported
--: error sql.unsupported 81:47 ORDER BY is not supported
--: error sql.over 82:1 the input has a window and does not pass it on
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '$inputs/clicks.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
CREATE VIEW e AS SELECT tumble('2 minutes') AS window, key, count(*) AS n, max(value) AS v FROM events GROUP BY window, key;
SELECT lag(key) OVER (ORDER BY key), rank() OVER (ORDER BY [value]) FROM events;
SELECT row_number() OVER (ORDER BY key) FROM e;
SELECT row_number() OVER (PARTITION BY key) FROM e;
SELECT row_number() OVER (PARTITION BY tumble('1 minute')) FROM e;
SELECT row_number() OVER (PARTITION BY window) FROM (SELECT key, n FROM e);
SELECT row_number() OVER w FROM e;
SELECT row_number() FROM e;
SELECT nothing() OVER (PARTITION BY window) FROM e;
SELECT upper(key) OVER (PARTITION BY window) FROM e;
SELECT row_number(1) OVER (PARTITION BY window), ntile(0) OVER (PARTITION BY window), lag(key, n) OVER (PARTITION BY window) FROM e;
SELECT rank() FILTER (WHERE n > 1) OVER (PARTITION BY window), rank() IGNORE NULLS OVER (PARTITION BY window), sum(n) IGNORE NULLS OVER (PARTITION BY window) FROM e;
SELECT approx_percentile_cont(n, n) OVER (PARTITION BY window) FROM e;
SELECT count(DISTINCT n) OVER (PARTITION BY window), sum(key) OVER (PARTITION BY window) FROM e;
SELECT sum(n) OVER (PARTITION BY window ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING) FROM e;
SELECT sum(n) OVER (PARTITION BY window ORDER BY n RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM e;
SELECT sum(n) OVER (PARTITION BY window ORDER BY n GROUPS 1 PRECEDING) FROM e;
SELECT sum(n) OVER (PARTITION BY window ROWS BETWEEN n PRECEDING AND CURRENT ROW) FROM e;
SELECT key FROM e WHERE row_number() OVER (PARTITION BY window) = 1;
SELECT key, count(*) FROM e GROUP BY window, key HAVING rank() OVER (PARTITION BY window) = 1;
SELECT sum(rank() OVER (PARTITION BY window)) OVER (PARTITION BY window) FROM e;
SELECT key FROM events ORDER BY key OFFSET 2;
SELECT key FROM events LIMIT 3 OFFSET 2;
SELECT key FROM events ORDER BY [key] LIMIT 3;
SELECT DISTINCT ON (key) key FROM events LIMIT 3;
SELECT DISTINCT ON (n) key FROM e;
SELECT DISTINCT ON () key FROM events;
SELECT key FROM e ORDER BY 2;
SELECT key FROM e ORDER BY nothing;
SELECT key FROM e LIMIT n;
SELECT key FROM e FETCH FIRST 3 ROWS ONLY;
SELECT key FROM e LIMIT 99999999999;
SELECT DISTINCT key FROM e ORDER BY key;
SELECT key FROM e UNION ALL SELECT key FROM e ORDER BY key;
SELECT n FROM (SELECT count(*) AS n FROM events GROUP BY session('1 minute')) ORDER BY n;
