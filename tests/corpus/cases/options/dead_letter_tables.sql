-- What takes dead letters is a sink of the same script that nothing else writes to, with columns that a letter has.
--: error sql.unknown_table 8:130 there is no table 'nowhere'
--: error option.bad_value 9:130 dead_letter.table 'a' is no sink
--: error option.bad_value 10:130 written takes dead letters, and an INSERT writes to it as well
--: error option.bad_value 11:130 a dead letter has no 'errors', which is a column of misspelt
--: error option.bad_value 12:130 the column record of counted is BIGINT, and must be TEXT or BYTEA
--: error option.bad_value 13:130 bare takes dead letters, and has no columns
CREATE TABLE a (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'nowhere');
CREATE TABLE b (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'a');
CREATE TABLE c (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'written');
CREATE TABLE d (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'misspelt');
CREATE TABLE e (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'counted');
CREATE TABLE f (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'bare');
CREATE TABLE written (error TEXT) WITH (connector = 'single_file', path = '/1', type = 'sink', format = 'json');
CREATE TABLE misspelt (errors TEXT) WITH (connector = 'single_file', path = '/2', type = 'sink', format = 'json');
CREATE TABLE counted (record BIGINT) WITH (connector = 'single_file', path = '/3', type = 'sink', format = 'json');
CREATE TABLE bare WITH (connector = 'single_file', path = '/4', type = 'sink', format = 'json');
INSERT INTO written SELECT CAST(n AS TEXT) FROM a;
