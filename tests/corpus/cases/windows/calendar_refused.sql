-- Windows of months, in time zones, with offsets, and windows that add up: what they cannot be.
--: error sql.window_argument 17:38 there is no time zone 'Europe/Berlinn'
--: error sql.window_argument 18:38 a window has one time zone
--: error sql.window_argument 19:38 a window in a time zone is a number of days or months
--: error sql.window_argument 20:38 an offset of months has no fixed length
--: error sql.window_argument 21:38 a window of months cannot be counted in days
--: error sql.window_argument 22:38 hop() slides by 3 months over a width of 1 month, so rows between the windows would be lost
--: error sql.window_argument 23:38 the width of cumulate() is a multiple of its step
--: error sql.window_argument 24:38 a step of months has no fixed length
--: error sql.window_argument 25:38 cumulate does not take 1 arguments
--: error sql.over 26:8 OVER must be partitioned by the window of the rows
--: error sql.window_mismatch 27:8 the input has a window and does not pass it on
--: error sql.window_mismatch 28:8 tumble(INTERVAL '1 day', 'Asia/Kathmandu') is not the window that the input has: tumble(1 hour)
--: error sql.unsupported 29:1 SESSION with a PARTITION BY of other keys than GROUP BY is not supported
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT count(*) FROM events GROUP BY tumble('1 day', 'Europe/Berlinn');
SELECT count(*) FROM events GROUP BY tumble('1 day', 'UTC', 'Europe/Berlin');
SELECT count(*) FROM events GROUP BY tumble('1 hour', 'Europe/Berlin');
SELECT count(*) FROM events GROUP BY tumble('1 day', INTERVAL '1 month');
SELECT count(*) FROM events GROUP BY hop('1 day', '3 months');
SELECT count(*) FROM events GROUP BY hop('3 months', '1 month');
SELECT count(*) FROM events GROUP BY cumulate('7 minutes', '1 hour');
SELECT count(*) FROM events GROUP BY cumulate('1 month', '1 year');
SELECT count(*) FROM events GROUP BY cumulate('1 hour');
SELECT row_number() OVER (PARTITION BY w.start ORDER BY n) FROM (SELECT cumulate('1 hour', '1 day') AS w, count(*) AS n FROM events GROUP BY 1);
SELECT tumble('1 month'), max(n) FROM (SELECT n FROM (SELECT tumble('1 month') AS w, key, count(*) AS n FROM events GROUP BY 1, 2)) GROUP BY 1;
SELECT tumble('1 day', 'Asia/Kathmandu'), max(n) FROM (SELECT tumble('1 hour') AS w, count(*) AS n FROM events GROUP BY 1) GROUP BY 1;
SELECT window_start, key, count(*) FROM TABLE(SESSION(TABLE events, DESCRIPTOR(at), INTERVAL '1' MINUTE)) GROUP BY window_start, key;
