-- Lookup tables are not there yet, and cannot be anything else.
--: error option.bad_value 4:24 connector 'single_file' has no type 'lookup'
--: error option.bad_value 5:110 Cannot have a temporary table with type 'sink'; temporary tables must be type 'lookup'
CREATE TEMPORARY TABLE a (id INT PRIMARY KEY) WITH (connector = 'single_file', path = '/t', format = 'json');
CREATE TEMPORARY TABLE b (id INT PRIMARY KEY) WITH (connector = 'single_file', path = '/t', format = 'json', type = 'sink');
SELECT id FROM a;
