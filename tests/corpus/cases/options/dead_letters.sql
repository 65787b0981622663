-- Dead letters need a place, and a table that reads records.
--: error option.bad_value 5:14 'dead_letter.path' or 'dead_letter.table' is required with bad_data = 'dead_letter', and only there
--: error option.bad_value 6:14 'dead_letter.path' or 'dead_letter.table' is required with bad_data = 'dead_letter', and only there
--: error option.bad_value 7:102 bad_data = 'dead_letter' is not supported for c: it is only for sources, and for sinks that can refuse a row
CREATE TABLE a (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', bad_data = 'dead_letter');
CREATE TABLE b (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', 'dead_letter.path' = '/l');
CREATE TABLE c (n INT) WITH (connector = 'single_file', path = '/t', type = 'sink', format = 'json', bad_data = 'dead_letter', 'dead_letter.path' = '/l');
SELECT n FROM a;
