"""Calls of Flink, Spark, Postgres and DuckDB that mean an expression of declared functions.

    year(t) = date_part('year', t)

A call with these arguments is read as the expression behind the sign. Names in the call stand for its arguments; `unit`
may be a bare word, `interval` fits only an INTERVAL, and a constant fits only itself. A name alone is another name for
a function. A function of the user's with one of these names keeps its meaning.
"""

from __future__ import annotations

_TIME = """
year(t) = date_part('year', t)
quarter(t) = date_part('quarter', t)
month(t) = date_part('month', t)
week(t) = date_part('week', t)
weekofyear(t) = date_part('week', t)
day(t) = date_part('day', t)
dayofmonth(t) = date_part('day', t)
dayofyear(t) = date_part('doy', t)
dayofweek(t) = date_part('dow', t) + 1
weekday(t) = date_part('isodow', t) - 1
hour(t) = date_part('hour', t)
minute(t) = date_part('minute', t)
second(t) = date_part('second', t)
dayname(t) = to_char(t, '%a')
monthname(t) = to_char(t, '%b')
last_day(t) = CAST(date_trunc('month', t) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)
date_add(t, interval) = t + interval
date_sub(t, interval) = t - interval
date_add(d, n) = CAST(CAST(d AS DATE) + n * INTERVAL '1 day' AS DATE)
date_sub(d, n) = CAST(CAST(d AS DATE) - n * INTERVAL '1 day' AS DATE)
dateadd(d, n) = CAST(CAST(d AS DATE) + n * INTERVAL '1 day' AS DATE)
timestampadd(unit, n, t) = timestampadd(unit, n, t)
timestampdiff(unit, a, b) = timestampdiff(unit, a, b)
date_diff(unit, a, b) = date_diff(unit, a, b)
date_add(unit, n, t) = timestampadd(unit, n, t)
dateadd(unit, n, t) = timestampadd(unit, n, t)
timestamp_add(unit, n, t) = timestampadd(unit, n, t)
datediff(a, b) = timestampdiff('day', CAST(b AS DATE), CAST(a AS DATE))
date_diff(a, b) = timestampdiff('day', CAST(b AS DATE), CAST(a AS DATE))
datediff(unit, a, b) = date_diff(unit, a, b)
timestamp_diff(unit, a, b) = timestampdiff(unit, a, b)
datesub(unit, a, b) = timestampdiff(unit, a, b)
from_unix_timestamp(n) = to_timestamp_seconds(n)
timestamp_seconds(n) = to_timestamp_seconds(n)
timestamp_millis(n) = to_timestamp_millis(n)
timestamp_micros(n) = to_timestamp_micros(n)
to_timestamp_ltz(n, 0) = to_timestamp_seconds(n)
to_timestamp_ltz(n, 3) = to_timestamp_millis(n)
to_timestamp_ltz = to_timestamp
to_timestamp_ntz = to_timestamp
unix_timestamp() = to_unixtime(now())
unix_timestamp = to_unixtime
to_unix_timestamp = to_unixtime
unix_seconds(t) = to_unixtime(t)
unix_millis(t) = CAST(date_trunc('millisecond', t) AS BIGINT) / 1000000
unix_micros(t) = CAST(CAST(t AS TIMESTAMP) AS BIGINT) / 1000
epoch_ms(t) = CAST(date_trunc('millisecond', t) AS BIGINT) / 1000000
unix_date(d) = timestampdiff('day', DATE '1970-01-01', CAST(d AS DATE))
date_from_unix_date(n) = to_date(n)
make_timestamp(y, m, d, h, mi, s) = CAST(make_date(y, m, d) AS TIMESTAMP) + h * INTERVAL '1 hour'
    + mi * INTERVAL '1 minute' + s * INTERVAL '1 second'
make_timestamp_ntz(y, m, d, h, mi, s) = CAST(make_date(y, m, d) AS TIMESTAMP) + h * INTERVAL '1 hour'
    + mi * INTERVAL '1 minute' + s * INTERVAL '1 second'
time_bucket(width, t) = date_bin(width, t, TIMESTAMP '2000-01-03 00:00:00')
time_bucket(width, t, origin) = date_bin(width, t, origin)
try_to_timestamp(t) = TRY_CAST(t AS TIMESTAMP)
try_to_date(t) = TRY_CAST(t AS DATE)
current_row_timestamp() = now()
localtimestamp = current_timestamp
localtime = current_time
curdate = current_date
current_timezone() = 'UTC'
date_trunc(part, t, zone) = to_utc_timestamp(date_trunc(part, from_utc_timestamp(t, zone)), zone)
date_part(part, t, zone) = date_part(part, from_utc_timestamp(t, zone))
to_char(t, format, zone) = to_char(from_utc_timestamp(t, zone), format)
date_format(t, format, zone) = to_char(from_utc_timestamp(t, zone), format)
convert_tz(t, a, b) = to_char(from_utc_timestamp(to_utc_timestamp(CAST(t AS TIMESTAMP), a), b), '%Y-%m-%d %H:%M:%S')
make_timestamp_ltz(y, m, d, h, mi, s) = CAST(make_date(y, m, d) AS TIMESTAMP) + h * INTERVAL '1 hour'
    + mi * INTERVAL '1 minute' + s * INTERVAL '1 second'
make_dt_interval(d, h, mi, s) = d * INTERVAL '1 day' + h * INTERVAL '1 hour' + mi * INTERVAL '1 minute'
    + s * INTERVAL '1 second'
to_varchar(t, format) = to_char(t, format)
proctime() = now()
rowtime() = row_time()
convert_timezone(a, b, t) = from_utc_timestamp(to_utc_timestamp(t, a), b)
"""

_TEXT = """
startswith = starts_with
endswith = ends_with
ucase = upper
lcase = lower
char = chr
len = length
locate(part, text) = strpos(text, part)
charindex(part, text) = strpos(text, part)
space(n) = repeat(' ', n)
split_index(text, delimiter, n) = array_element(string_to_array(text, delimiter), n + 1)
elt(n, a, b) = array_element(make_array(a, b), n)
elt(n, a, b, c) = array_element(make_array(a, b, c), n)
elt(n, a, b, c, d) = array_element(make_array(a, b, c, d), n)
to_base64(value) = encode(value, 'base64pad')
base64(value) = encode(value, 'base64pad')
from_base64(text) = CAST(decode(text, 'base64') AS TEXT)
unbase64(text) = decode(text, 'base64')
unhex(text) = decode(text, 'hex')
from_hex(text) = decode(text, 'hex')
sha(value) = sha1(value)
sha2(value, 224) = encode(sha224(value), 'hex')
sha2(value, 256) = encode(sha256(value), 'hex')
sha2(value, 0) = encode(sha256(value), 'hex')
sha2(value, 384) = encode(sha384(value), 'hex')
sha2(value, 512) = encode(sha512(value), 'hex')
regexp_matches(text, regex) = regexp_like(text, regex)
regexp_extract(text, regex) = regexp_extract(text, regex, 0)
regexp_extract_all(text, regex) = regexp_extract_all(text, regex, 0)
is_alpha(text) = regexp_like(text, '^[A-Za-z]+$')
is_digit(text) = regexp_like(text, '^[0-9]+$')
is_decimal(text) = regexp_like(text, '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)$')
to_binary(text) = decode(text, 'hex')
to_binary(text, 'hex') = decode(text, 'hex')
to_binary(text, 'base64') = decode(text, 'base64')
to_binary(text, 'utf-8') = CAST(text AS BYTEA)
try_parse_url = parse_url
try_url_decode = url_decode
host(url) = parse_url(url, 'HOST')
"""

_MATH = """
mod(a, b) = a % b
pmod(a, b) = (a % b + b) % b
positive(x) = x
negative(x) = - x
e() = exp(1.0)
hypot(a, b) = sqrt(a * a + b * b)
sec(x) = 1.0 / cos(x)
csc(x) = 1.0 / sin(x)
nullifzero(x) = nullif(x, 0)
zeroifnull(x) = coalesce(x, 0)
truncate = trunc
div(a, b) = CAST(trunc(a / b) AS BIGINT)
uniform(a, b) = a + random() * (b - a)
rand_integer(n) = CAST(floor(random() * n) AS BIGINT)
shiftleft(a, n) = a << n
shiftright(a, n) = a >> n
bitwise_not(a) = - a - 1
bit_get(a, n) = (a >> n) & 1
getbit(a, n) = (a >> n) & 1
try_divide(a, b) = CASE WHEN b <> 0 THEN a / b END
try_mod(a, b) = CASE WHEN b <> 0 THEN a % b END
haversine(lat1, lon1, lat2, lon2) = 12742.0 * asin(least(1.0, sqrt(power(sin(radians(lat2 - lat1) / 2.0), 2.0)
    + cos(radians(lat1)) * cos(radians(lat2)) * power(sin(radians(lon2 - lon1) / 2.0), 2.0))))
"""

_OTHERS = """
isnull(x) = x IS NULL
isnotnull(x) = x IS NOT NULL
equal_null(a, b) = a IS NOT DISTINCT FROM b
element(array) = array_element(array, 1)
typeof = arrow_typeof
element_at = array_element
try_element_at = array_element
get(array, n) = array_element(array, n + 1)
size(array) = cardinality(array)
array_size(array) = cardinality(array)
slice(array, start, length) = array_slice(array, start, start + length - 1)
sequence(a, b) = generate_series(a, b)
sequence(a, b, step) = generate_series(a, b, step)
sort_array(array) = array_sort(array)
array_exists(array, x) = array_has(array, x)
is_json(json) = coalesce(json_exists(json, '$'), false)
json_unquote(json) = coalesce(json_as_text(json), json)
json_array_length(json) = json_length(json)
json_extract(json, path) = get_first_json_object(json, path)
json_extract_string(json, path) = get_json_object(json, path)
json_extract_path_text = json_as_text
"""

_AGGREGATES = """
count_if(condition) = count(*) FILTER (WHERE condition)
countif(condition) = count(*) FILTER (WHERE condition)
collect(x) = array_agg(x) FILTER (WHERE x IS NOT NULL)
try_avg = avg
explode(array) = unnest(array)
count_distinct(x) = count(DISTINCT x)
sum_distinct(x) = sum(DISTINCT x)
any_value(x) = first_value(x) FILTER (WHERE x IS NOT NULL)
first(x) = first_value(x)
last(x) = last_value(x)
arbitrary(x) = first_value(x) FILTER (WHERE x IS NOT NULL)
max_by(x, y) = first_value(x ORDER BY y DESC) FILTER (WHERE y IS NOT NULL)
min_by(x, y) = first_value(x ORDER BY y) FILTER (WHERE y IS NOT NULL)
arg_max(x, y) = first_value(x ORDER BY y DESC) FILTER (WHERE y IS NOT NULL)
arg_min(x, y) = first_value(x ORDER BY y) FILTER (WHERE y IS NOT NULL)
collect_list(x) = array_agg(x) FILTER (WHERE x IS NOT NULL)
collect_set(x) = array_agg(DISTINCT x) FILTER (WHERE x IS NOT NULL)
listagg(x) = string_agg(x, ',')
listagg = string_agg
group_concat(x) = string_agg(x, ',')
group_concat = string_agg
every = bool_and
some = bool_or
logical_and = bool_and
logical_or = bool_or
std = stddev
variance = var_samp
approx_count_distinct = approx_distinct
percentile_approx = approx_percentile_cont
approx_percentile = approx_percentile_cont
"""


def _lines(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the calls by name, each with its meaning. A line that begins with a space belongs to the one before."""
    spellings: dict[str, list[tuple[str, str]]] = {}
    for line in text.replace("\n    ", " ").splitlines():
        call, sign, meaning = line.partition(" = ")
        if sign:
            spellings.setdefault(call.split("(")[0], []).append((call, meaning))
    return spellings


SPELLINGS = _lines(_TIME + _TEXT + _MATH + _OTHERS + _AGGREGATES)
