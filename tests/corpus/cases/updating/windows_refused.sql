-- Windows and changes do not mix: what is windowed needs its window, and what changes cannot be windowed.
--: error sql.window_mismatch 13:40 an aggregate of rows that have a window must be grouped by the window
--: error sql.window_mismatch 14:8 an aggregate of rows that have a window must be grouped by the window
--: error sql.window_mismatch 15:8 an aggregate of rows that have a window must be grouped by the window
--: error sql.window_mismatch 16:23 an aggregate of rows that have a window must be grouped by the window
--: error sql.window_mismatch 17:8 an aggregate of rows that have a window must be grouped by the window
--: error sql.updating 18:63 a time window cannot be closed over rows that are changed afterwards
--: error sql.updating 19:118 a time window cannot be closed over rows that are changed afterwards
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW hours AS SELECT tumble(INTERVAL '1 hour') AS w, key, count(*) AS n FROM events GROUP BY w, key;
CREATE VIEW counts AS SELECT key, count(*) AS n FROM events GROUP BY key;
SELECT key, sum(n) FROM hours GROUP BY key;
SELECT sum(n) FROM hours;
SELECT DISTINCT key FROM hours;
SELECT key FROM hours UNION SELECT key FROM hours;
SELECT DISTINCT key FROM (SELECT key FROM hours UNION ALL SELECT key FROM events);
SELECT tumble(INTERVAL '1 hour'), sum(n) FROM counts GROUP BY 1;
SELECT session(INTERVAL '1 hour'), key FROM (SELECT key, n FROM counts UNION ALL SELECT key, 1 FROM events) GROUP BY 1, 2;
