-- Other settings, and times that are none.
--: error sql.unknown_setting 12:5 invalid option 'spark.sql.variable.substitute'; supported options are 'updating_ttl'
--: error sql.bad_duration 13:20 the length of '1 month' varies, since 'month' is not always equally long
--: error sql.bad_duration 14:20 updating_ttl is a length of time, not 5
--: error sql.bad_duration 15:20 updating_ttl cannot be negative
--: error sql.unsupported_statement 16:1 invalid syntax for `SET` call
--: error sql.unsupported_statement 17:1 invalid syntax for `SET` call
--: error sql.unsupported_statement 18:20 invalid syntax for `SET` call; expected exactly one expression
--: error sql.bad_duration 19:20 updating_ttl is a length of time, not '1 day' + '1 day'
--: error sql.bad_duration 20:1 updating_ttl is a length of time, not day
--: error sql.bad_duration 21:20 updating_ttl is 36500 days at most
SET spark.sql.variable.substitute = true;
SET updating_ttl = '1 month';
SET updating_ttl = 5;
SET updating_ttl = '-5 seconds';
SET updating_ttl;
SET updating_ttl = '1 day', '2 days';
SET updating_ttl = ('1 day', '2 days');
SET updating_ttl = '1 day' + '1 day';
SET updating_ttl = day;
SET updating_ttl = INTERVAL '40000' DAY;
