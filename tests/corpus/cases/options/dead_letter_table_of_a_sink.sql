-- What takes the dead letters of a sink is a sink of the same script that names no table for letters of its own.
--: error option.bad_value 4:139 letters takes dead letters and cannot name a table for its own dead letters
--: error sql.unknown_table 5:139 there is no table 'nowhere'
CREATE TABLE one (n INT) WITH (connector = 'webhook', endpoint = 'https://example.com/', format = 'json', bad_data = 'dead_letter',       dead_letter.table = 'letters');
CREATE TABLE other (n INT) WITH (connector = 'webhook', endpoint = 'https://example.com/', format = 'json', bad_data = 'dead_letter',     dead_letter.table = 'nowhere');
CREATE TABLE letters (error TEXT) WITH (connector = 'webhook', endpoint = 'https://example.com/', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'more');
CREATE TABLE more (error TEXT) WITH (connector = 'single_file', path = '/1', type = 'sink', format = 'json');
CREATE TABLE a (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json');
INSERT INTO one SELECT n FROM a;
