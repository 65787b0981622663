-- Where a window cannot stand, and what it cannot be.
--: error sql.window_context 19:8 tumble(1 minute) is selected, but GROUP BY has no window
--: error sql.window_context 20:8 tumble(1 minute) is selected, but GROUP BY has no window
--: error sql.window_mismatch 21:28 GROUP BY has two different windows
--: error sql.window_mismatch 22:18 tumble(2 minutes) is not the window of GROUP BY
--: error sql.window_argument 23:38 value is not a constant length of time
--: error sql.window_argument 24:38 5 is not a constant length of time
--: error sql.window_argument 25:38 a window is months or days, not both
--: error sql.window_argument 26:38 the length of a window must be greater than zero
--: error sql.window_argument 27:38 the length of a window must be greater than zero
--: error sql.window_argument 28:38 tumble does not take 0 arguments
--: error sql.window_argument 29:38 hop does not take 1 arguments
--: error sql.window_argument 30:38 hop() slides by 2:00:00 over a width of 1:00:00, so rows between the windows would be lost
--: error sql.window_argument 31:38 session does not take 2 arguments
--: error sql.window_context 32:44 window function tumble is not allowed here
--: error sql.bad_duration 33:38 '99999999999999999 days' is too long a time
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
SELECT tumble('1 minute') FROM events;
SELECT tumble('1 minute') AS w, count(*) FROM events GROUP BY key;
SELECT tumble('1 minute'), hop('1 minute', '2 minutes') FROM events GROUP BY 1, 2;
SELECT count(*), tumble('2 minutes') FROM events GROUP BY tumble('1 minute');
SELECT count(*) FROM events GROUP BY tumble(value);
SELECT count(*) FROM events GROUP BY tumble(5);
SELECT count(*) FROM events GROUP BY tumble('1 month 2 days');
SELECT count(*) FROM events GROUP BY tumble('0 seconds');
SELECT count(*) FROM events GROUP BY tumble('-1 minute');
SELECT count(*) FROM events GROUP BY tumble();
SELECT count(*) FROM events GROUP BY hop('1 minute');
SELECT count(*) FROM events GROUP BY hop('2 hours', '1 hour');
SELECT count(*) FROM events GROUP BY session('1 minute', '2 minutes');
SELECT count(*) FROM events GROUP BY upper(tumble('1 minute'));
SELECT count(*) FROM events GROUP BY tumble('99999999999999999 days');
