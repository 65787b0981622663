-- Windowed rows are grouped by their own window.
--: error sql.window_mismatch 11:31 an aggregate of rows that have a window must be grouped by the window
--: error sql.window_mismatch 12:31 tumble(90 seconds) is not the window that the input has: tumble(1 minute)
--: error sql.window_mismatch 13:31 hop(30 seconds, 2 minutes) is not the window that the input has: tumble(1 minute)
--: error sql.window_mismatch 14:31 a session cannot be called over rows that have a window
--: error sql.window_mismatch 15:34 tumble(2 minutes) is not the window that the input has: tumble(1 minute)
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW t AS SELECT tumble('1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;
CREATE VIEW s AS SELECT session('1 minute') AS w, key, count(*) AS n FROM events GROUP BY w, key;
SELECT max(n) FROM t GROUP BY key;
SELECT max(n) FROM t GROUP BY tumble('90 seconds');
SELECT max(n) FROM t GROUP BY hop('30 seconds', '2 minutes');
SELECT max(n) FROM s GROUP BY session('1 minute');
SELECT max(n) FROM t GROUP BY w, tumble('2 minutes');
