-- What takes dead letters is a sink of the same script that nothing else writes to, with columns that a letter has.
--: error sql.unknown_table 8:130 there is no table 'nowhere'
--: error option.bad_value 9:130 dead_letter.table 'a' is not a sink
--: error option.bad_value 10:130 written takes dead letters and cannot be the target of an INSERT as well
--: error option.bad_value 11:130 misspelt takes dead letters, which have no column 'errors'
--: error option.bad_value 12:130 column record of counted must be TEXT or BYTEA, not BIGINT
--: error option.bad_value 13:130 bare takes dead letters and needs columns
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
