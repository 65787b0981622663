-- Only a source has letters that a table can take.
--: error option.bad_value 4:155 dead_letter.table is for sources, and out is none
CREATE TABLE letters (error TEXT) WITH (connector = 'single_file', path = '/1', type = 'sink', format = 'json');
CREATE TABLE out (n INT) WITH (connector = 'webhook', endpoint = 'https://example.com/', type = 'sink', format = 'json', bad_data = 'dead_letter',        dead_letter.table = 'letters');
CREATE TABLE a (n INT) WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json');
INSERT INTO out SELECT n FROM a;
