-- Tables may have days and small whole numbers, which Arroyo refuses; days are text, or counted from 1970.
--: rows yes
CREATE TABLE types (
  at TIMESTAMP NOT NULL, i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, u16 SMALLINT UNSIGNED, day DATE, number DATE
) WITH (connector = 'single_file', path = '$inputs/types.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out (i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, u16 SMALLINT UNSIGNED, day DATE, number DATE, next DATE)
WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT i8, u8, i16, u16, day, number, day + 1 FROM types;
