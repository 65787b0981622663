-- What a watermark cannot be.
--: error sql.event_time 10:38 WATERMARK FOR names 'x', which is no column of the table
--: error sql.event_time 11:38 column 'n' of WATERMARK FOR must be TIMESTAMP, not INT
--: error sql.event_time 12:58 the expression of WATERMARK FOR must be TIMESTAMP, not INT
--: error sql.event_time 13:58 the expression of WATERMARK FOR must be NOT NULL
--: error sql.unknown_column 14:67 there is no column 'notfield' here
--: error sql.function_arguments 15:67 - does not take (TIMESTAMP, BIGINT)
--: error sql.event_time 16:58 a table takes only one WATERMARK FOR
--: error sql.event_time 17:68 the expression of WATERMARK FOR must be NOT NULL
CREATE TABLE a (at TIMESTAMP, n INT, WATERMARK FOR x) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE b (at TIMESTAMP, n INT, WATERMARK FOR n) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE c (at TIMESTAMP, n INT, WATERMARK FOR at AS n) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE d (at TIMESTAMP, n INT, WATERMARK FOR at AS at - INTERVAL '1 minute') WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE e (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at AS notfield) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE f (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at AS at - 5) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE g (at TIMESTAMP NOT NULL, WATERMARK FOR at, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE h (at TIMESTAMP NOT NULL, n TEXT, WATERMARK FOR at AS CAST(upper(n) AS TIMESTAMP)) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT 1 FROM a;
