-- What a watermark cannot be.
--: error sql.event_time 10:38 WATERMARK FOR field `x` does not exist in table
--: error sql.event_time 11:38 WATERMARK FOR field `n` has type INT, but expected TIMESTAMP
--: error sql.event_time 12:58 WATERMARK FOR expression must be TIMESTAMP, but was INT
--: error sql.event_time 13:58 WATERMARK FOR expression must be NOT NULL
--: error sql.unknown_column 14:67 no column 'notfield' here
--: error sql.function_arguments 15:67 - does not take (TIMESTAMP, BIGINT)
--: error sql.event_time 16:58 Only one WATERMARK FOR constraint is allowed per table
--: error sql.event_time 17:68 WATERMARK FOR expression must be NOT NULL
CREATE TABLE a (at TIMESTAMP, n INT, WATERMARK FOR x) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE b (at TIMESTAMP, n INT, WATERMARK FOR n) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE c (at TIMESTAMP, n INT, WATERMARK FOR at AS n) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE d (at TIMESTAMP, n INT, WATERMARK FOR at AS at - INTERVAL '1 minute') WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE e (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at AS notfield) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE f (at TIMESTAMP NOT NULL, n INT, WATERMARK FOR at AS at - 5) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE g (at TIMESTAMP NOT NULL, WATERMARK FOR at, WATERMARK FOR at) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
CREATE TABLE h (at TIMESTAMP NOT NULL, n TEXT, WATERMARK FOR at AS CAST(upper(n) AS TIMESTAMP)) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT 1 FROM a;
