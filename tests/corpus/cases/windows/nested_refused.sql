-- Windowed rows are grouped by their own window.
--: error sql.window_mismatch 11:31 must have window in aggregate. Make sure you are calling one of the windowing functions (hop, tumble, session) or using the window field of the input
--: error sql.window_mismatch 12:31 window in group by does not match input window: can't window by both tumble(2 minutes) and tumble(1 minute)
--: error sql.window_mismatch 13:31 window in group by does not match input window: can't window by both hop(1 minute, 2 minutes) and tumble(1 minute)
--: error sql.window_mismatch 14:31 can't reinvoke session window in nested aggregates
--: error sql.window_mismatch 15:34 window in group by does not match input window: can't window by both tumble(2 minutes) and tumble(1 minute)
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW t AS SELECT tumble('1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;
CREATE VIEW s AS SELECT session('1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;
SELECT max(n) FROM t GROUP BY key;
SELECT max(n) FROM t GROUP BY tumble('2 minutes');
SELECT max(n) FROM t GROUP BY hop('1 minute', '2 minutes');
SELECT max(n) FROM s GROUP BY session('1 minute');
SELECT max(n) FROM t GROUP BY w, tumble('2 minutes');
