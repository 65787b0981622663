-- The name of a table is no path, and one that is declared can be called anything.
--: error sql.unknown_table 5:15 there is no table '../../y'
--: error sql.unknown_column 6:31 there is no column 'nothing' here
CREATE TABLE "../../x" (a TEXT) WITH (connector = 'single_file', path = '/t.json', format = 'json', type = 'source');
SELECT * FROM "../../y";
SELECT * FROM "../../X" WHERE nothing;
