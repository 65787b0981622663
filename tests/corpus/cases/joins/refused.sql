-- Joins that there are not.
--: error sql.window_mismatch 26:36 the right side of the join has a window and the left side has none
--: error sql.window_mismatch 27:26 the left side of the join has a window and the right side has none
--: error sql.window_mismatch 28:26 rows of different windows cannot be joined: tumble(1 minute) and tumble(2 minutes)
--: error sql.window_mismatch 29:36 sessions are joined by their window, which one side does not pass on
--: error sql.join 30:42 a join without windows needs an equality of its sides
--: error sql.join 31:36 a join without windows needs an equality of its sides
--: error sql.join 32:41 LEFT JOIN needs a condition
--: error sql.join 33:41 SEMI JOIN is not supported
--: error sql.join 34:41 ASOF JOIN is not supported
--: error sql.join 35:36 'events' appears twice in FROM
--: error sql.ambiguous_column 36:8 column 'key' is in more than one of the tables: clicks, events
--: error sql.unknown_column 37:36 there is no column 'value' here
--: error sql.unknown_column 38:59 there is no column 'nothing' here
--: error sql.function_arguments 39:51 = does not take (BIGINT, TEXT)
--: error sql.unknown_table 40:36 there is no table 'nothing'
--: error sql.unknown_table 40:72 there is no table 'nowhere'
--: error sql.unsupported 41:51 aggregate count is not allowed here
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '/events.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE clicks (at TIMESTAMP NOT NULL, key TEXT, page TEXT)
WITH (connector = 'single_file', path = '/clicks.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE VIEW w AS SELECT tumble('1 minute') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW two AS SELECT tumble('2 minutes') AS window, key, count(*) AS n FROM events GROUP BY window, key;
CREATE VIEW sessions AS SELECT count(*) AS n FROM events GROUP BY session('1 minute');
SELECT e.key FROM events AS e JOIN w ON e.key = w.key;
SELECT e.key FROM w JOIN events AS e ON e.key = w.key;
SELECT w.key FROM w JOIN two ON w.key = two.key;
SELECT a.n FROM sessions AS a JOIN sessions AS b ON a.n = b.n;
SELECT e.key FROM events AS e CROSS JOIN clicks AS c;
SELECT e.key FROM events AS e JOIN clicks AS c ON e.value > 1;
SELECT e.key FROM events AS e LEFT JOIN clicks AS c;
SELECT e.key FROM events AS e SEMI JOIN clicks AS c ON e.key = c.key;
SELECT e.key FROM events AS e ASOF JOIN clicks AS c ON e.key = c.key;
SELECT events.key FROM events JOIN events ON events.key = events.key;
SELECT key FROM events JOIN clicks ON events.key = clicks.key;
SELECT e.key FROM events AS e JOIN clicks AS c USING (value);
SELECT e.key FROM events AS e JOIN clicks AS c ON e.key = c.nothing;
SELECT e.key FROM events AS e JOIN clicks AS c ON e.value = c.page = 3;
SELECT e.key FROM events AS e JOIN nothing ON e.key = nothing.key JOIN nowhere ON e.key = nowhere.key;
SELECT e.key FROM events AS e JOIN clicks AS c ON count(*) = 1;
