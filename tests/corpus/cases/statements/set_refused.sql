-- Other settings, and times that are none.
--: error sql.unknown_setting 8:5 invalid option 'spark.sql.variable.substitute'; supported options are 'updating_ttl'
--: error sql.bad_duration 9:20 the length of '1 month' varies, since 'month' is not always equally long
--: error sql.bad_duration 10:20 '5' is not a length of time
--: error sql.bad_duration 11:20 updating_ttl cannot be negative
--: error sql.unsupported_statement 12:1 invalid syntax for `SET` call
--: error sql.unsupported_statement 13:1 invalid syntax for `SET` call
SET spark.sql.variable.substitute = true;
SET updating_ttl = '1 month';
SET updating_ttl = 5;
SET updating_ttl = '-5 seconds';
SET updating_ttl;
SET updating_ttl = '1 day', '2 days';
