-- What a table of changes cannot have, and what it must.
--: error sql.table_column 8:103 a source of changes cannot have computed columns
--: error sql.event_time 10:7 a source of changes cannot have event_time_field
--: error sql.event_time 10:30 a source of changes cannot have watermark_field
--: error sql.event_time 11:64 a source of changes cannot have WATERMARK FOR
--: error sql.table_column 13:14 a source of changes needs a PRIMARY KEY
--: error option.bad_value 15:14 table whole: 'json.unstructured' is not supported for debezium_json, whose rows need columns
CREATE TABLE orders (id INT PRIMARY KEY, at TIMESTAMP, late TIMESTAMP, twice INT GENERATED ALWAYS AS (id * 2) STORED)
WITH (connector = 'single_file', path = '/orders.json', format = 'debezium_json', type = 'source',
      event_time_field = at, watermark_field = late);
CREATE TABLE timed (id INT PRIMARY KEY, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '1 minute')
WITH (connector = 'single_file', path = '/orders.json', format = 'debezium_json', type = 'source');
CREATE TABLE nameless (id INT NOT NULL, customer TEXT)
WITH (connector = 'single_file', path = '/orders.json', format = 'debezium_json', type = 'source');
CREATE TABLE whole (value JSON PRIMARY KEY)
WITH (connector = 'single_file', path = '/orders.json', format = 'debezium_json', 'json.unstructured' = true, type = 'source');
