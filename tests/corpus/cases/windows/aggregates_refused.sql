-- What aggregates do not take.
--: error sql.unsupported 22:44 sum is the same in any order
--: error sql.unsupported 23:44 count is the same in any order
--: error sql.unsupported 24:44 sum never looks at NULLs
--: error sql.function_arguments 25:44 argument 2 of approx_percentile_cont must be a constant that it accepts
--: error sql.unsupported 26:44 approx_percentile_cont takes one ascending order
--: error sql.function_arguments 27:44 argument 2 of nth_value must be a constant that it accepts
--: error sql.function_arguments 28:44 argument 2 of nth_value must be a constant that it accepts
--: error sql.function_arguments 29:44 argument 2 of string_agg must be a constant that it accepts
--: error sql.function_arguments 30:44 bit_and does not take (TEXT)
--: error sql.function_arguments 31:44 bool_and does not take (BIGINT)
--: error sql.function_arguments 32:44 corr does not take (BIGINT)
--: error sql.function_arguments 33:44 median does not take (TEXT)
--: error sql.function_arguments 34:44 first_value does not take (*)
--: error sql.unsupported 35:56 an aggregate cannot stand inside another one
--: error sql.unsupported 36:73 an aggregate cannot stand inside another one
--: error sql.unknown_function 37:44 there is no function 'grouping'
--: error sql.function_arguments 38:8 sum does not take ()
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT, active BOOLEAN)
WITH (connector = 'single_file', path = '$inputs/events.jsonl', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE out WITH (connector = 'single_file', path = '$output', format = 'json', type = 'sink');
INSERT INTO out SELECT tumble('1 minute'), sum(value) WITHIN GROUP (ORDER BY at) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), count(*) WITHIN GROUP (ORDER BY value) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), sum(value) IGNORE NULLS FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), approx_percentile_cont(value, 1.5) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY value DESC) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), nth_value(value, value) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), nth_value(value, 0) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), string_agg(key, key) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), bit_and(key) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), bool_and(value) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), corr(value) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), median(key) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), first_value(*) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), first_value(sum(value)) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), string_agg(key, ',' ORDER BY count(*)) FROM events GROUP BY 1;
INSERT INTO out SELECT tumble('1 minute'), grouping(key) FROM events GROUP BY 1;
SELECT sum(ORDER BY at DESC) FROM events GROUP BY tumble(INTERVAL '1 minute');
