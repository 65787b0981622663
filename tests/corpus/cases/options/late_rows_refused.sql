-- What takes late rows is a sink of the same script that nothing else writes to, for rows that one window takes as they are.
--: error sql.unknown_table 12:145 there is no table 'nowhere'
--: error option.bad_value 13:145 late_rows 'a' is not a sink
--: error option.bad_value 14:145 written takes the late rows of c and cannot be the target of an INSERT as well
--: error option.bad_value 15:145 misspelt takes late rows, which have no column 'event_tim'
--: error option.bad_value 16:145 column watermark of mistyped must be TIMESTAMP, not BIGINT
--: error option.bad_value 17:145 bare takes late rows and needs columns
--: error option.bad_value 18:145 no window reads g, so none of its rows is late
--: error option.bad_value 19:145 fine takes the late rows of h and cannot be the table for those of g as well
--: error option.bad_value 20:145 several windows read i, and a row may be late for one of them and not for another
--: error option.bad_value 21:145 the rows of j are joined, united or unnested before a window takes them, so which of them are late is not known
CREATE TABLE a (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'nowhere');
CREATE TABLE b (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'a');
CREATE TABLE c (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'written');
CREATE TABLE d (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'misspelt');
CREATE TABLE e (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'mistyped');
CREATE TABLE f (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'bare');
CREATE TABLE g (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'fine');
CREATE TABLE h (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'fine');
CREATE TABLE i (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'several');
CREATE TABLE j (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', late_rows = 'joined');
CREATE TABLE written (n INT) WITH (connector = 'single_file', path = '/1', type = 'sink', format = 'json');
CREATE TABLE misspelt (event_tim TIMESTAMP) WITH (connector = 'single_file', path = '/2', type = 'sink', format = 'json');
CREATE TABLE mistyped (watermark BIGINT) WITH (connector = 'single_file', path = '/3', type = 'sink', format = 'json');
CREATE TABLE bare WITH (connector = 'single_file', path = '/4', type = 'sink', format = 'json');
CREATE TABLE fine (n INT) WITH (connector = 'single_file', path = '/5', type = 'sink', format = 'json');
CREATE TABLE several (n INT) WITH (connector = 'single_file', path = '/6', type = 'sink', format = 'json');
CREATE TABLE joined (n INT) WITH (connector = 'single_file', path = '/7', type = 'sink', format = 'json');
INSERT INTO written SELECT n FROM g;
SELECT count(*) FROM i GROUP BY tumble(INTERVAL '1 hour');
SELECT count(*) FROM i GROUP BY tumble(INTERVAL '1 day');
SELECT count(*) FROM (SELECT n FROM j UNION ALL SELECT n FROM a) GROUP BY tumble(INTERVAL '1 day');
