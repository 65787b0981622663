-- OVER without a window that goes by something else, looks too far ahead, or needs what is not kept.
--: error sql.over 21:24 OVER without a window goes by event time
--: error sql.over 22:24 OVER without a window goes by event time
--: error sql.over 23:24 OVER without a window goes by event time
--: error sql.over 24:24 nth_value cannot be used by event time
--: error sql.over 25:24 lag takes no negative distance by event time
--: error sql.unsupported 26:24 median cannot be used by event time
--: error sql.over 27:24 lead takes no IGNORE NULLS by event time
--: error sql.over 28:24 a frame by event time cannot reach to the end of the stream
--: error sql.over 29:24 this frame ends before the current row, and is not counted in rows
--: error sql.over 30:24 RANGE with an interval begins at the row or before it, and ends there or an interval after it
--: error sql.over 31:24 RANGE with an interval goes by event time alone
--: error sql.over 32:24 functions by event time need the same PARTITION BY and ORDER BY in one SELECT
--: error sql.updating 33:24 OVER by event time needs rows that are not changed afterwards
--: error sql.over 34:24 OVER by event time needs the rows of sources
--: error sql.window_mismatch 35:119 a time window cannot be opened over OVER by event time: its rows come when the watermark has passed them
--: error sql.over 36:24 there is no WINDOW 'v'
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'blackhole');
INSERT INTO out SELECT sum(value) OVER (PARTITION BY key ORDER BY value) FROM events;
INSERT INTO out SELECT sum(value) OVER (PARTITION BY key) FROM events;
INSERT INTO out SELECT sum(value) OVER (PARTITION BY key ORDER BY at DESC) FROM events;
INSERT INTO out SELECT nth_value(value, 2) OVER (PARTITION BY key ORDER BY at) FROM events;
INSERT INTO out SELECT lag(value, -1) OVER (PARTITION BY key ORDER BY at) FROM events;
INSERT INTO out SELECT median(value) OVER (PARTITION BY key ORDER BY at) FROM events;
INSERT INTO out SELECT lead(value) IGNORE NULLS OVER (PARTITION BY key ORDER BY at) FROM events;
INSERT INTO out SELECT sum(value) OVER (ORDER BY at ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) FROM events;
INSERT INTO out SELECT sum(value) OVER (ORDER BY at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) FROM events;
INSERT INTO out SELECT sum(value) OVER (ORDER BY at RANGE BETWEEN INTERVAL '1 minute' PRECEDING AND INTERVAL '1 second' PRECEDING) FROM events;
INSERT INTO out SELECT sum(value) OVER (ORDER BY at, key RANGE BETWEEN INTERVAL '1 minute' PRECEDING AND CURRENT ROW) FROM events;
INSERT INTO out SELECT sum(value) OVER (ORDER BY at), sum(value) OVER (PARTITION BY key ORDER BY at) FROM events;
INSERT INTO out SELECT sum(n) OVER (ORDER BY key) FROM (SELECT key, count(*) AS n FROM events GROUP BY key);
INSERT INTO out SELECT sum(n) OVER (ORDER BY at) FROM (SELECT at, count(*) OVER (ORDER BY at) AS n FROM events);
INSERT INTO out SELECT tumble('1 minute'), sum(n) FROM (SELECT count(*) OVER (ORDER BY at) AS n FROM events) GROUP BY 1;
INSERT INTO out SELECT sum(value) OVER v FROM events WINDOW w AS (ORDER BY at);
