"""Functions of Arroyo, Flink and Spark, crossed with ours.

Not listed are functions that have no meaning on a stream or outside of their engine: sketches as values, XML, CSV, Avro
and variants, partitions and files of an input, sessions and users, and calls of Java.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.docs.models import code, page, section, table
from engine.functions import find_aggregate, find_function, find_over
from engine.functions.elsewhere import instead_of
from engine.functions.spellings import SPELLINGS

ARROYO = """
abs acos acosh approx_distinct approx_median approx_percentile_cont approx_percentile_cont_with_weight array_agg
array_append array_cat array_concat array_contains array_dims array_distinct array_element array_except
array_extract array_fill array_has array_has_all array_has_any array_indexof array_intersect array_join array_length
array_ndims array_pop_back array_pop_front array_position array_positions array_prepend array_push_back
array_push_front array_remove array_remove_all array_remove_n array_repeat array_replace array_replace_all
array_replace_n array_resize array_reverse array_slice array_sort array_to_string array_union arrow_cast
arrow_typeof ascii asin asinh atan atan2 atanh avg bit_and bit_length bit_or bit_xor bool_and bool_or btrim
cardinality cbrt ceil char_length character_length chr coalesce concat concat_ws corr cos cosh count covar covar_pop
covar_samp cume_dist current_date current_time date_bin date_part date_trunc datepart datetrunc decode degrees
dense_rank digest empty encode ends_with exp extract extract_json extract_json_string factorial find_in_set
first_value flatten floor from_unixtime gcd generate_series get_first_json_object grouping hop ifnull initcap instr
isnan iszero json_as_text json_contains json_get json_get_bool json_get_float json_get_int json_get_json
json_get_str json_length lag last_value lcm lead left length levenshtein list_append list_cat list_concat
list_contains list_dims list_distinct list_element list_except list_extract list_has list_has_all list_has_any
list_indexof list_intersect list_join list_length list_ndims list_pop_back list_pop_front list_position
list_positions list_prepend list_push_back list_push_front list_remove list_remove_all list_remove_n list_repeat
list_replace list_replace_all list_replace_n list_resize list_reverse list_slice list_sort list_to_string list_union
ln log log10 log2 lower lpad ltrim make_array make_date make_list max md5 mean median min multi_hash named_struct
nanvl now nth_value ntile nullif nvl nvl2 octet_length overlay percent_rank pi position pow power radians random
range rank regexp_like regexp_match regexp_replace regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
regr_sxx regr_sxy regr_syy repeat replace reverse right round row_number row_time rpad rtrim session sha224 sha256
sha384 sha512 signum sin sinh split_part sqrt starts_with stddev stddev_pop stddev_samp string_agg string_to_array
string_to_list strpos struct substr substr_index sum tan tanh to_char to_date to_hex to_local_time to_timestamp
to_timestamp_micros to_timestamp_millis to_timestamp_nanos to_timestamp_seconds to_unixtime translate trim trunc
tumble unnest upper uuid var var_pop var_samp
"""

FLINK = """
abs acos any_value approx_count_distinct array array_agg array_append array_concat array_contains array_distinct
array_except array_intersect array_join array_max array_min array_position array_prepend array_remove array_reverse
array_slice array_sort array_union ascii asin atan atan2 avg between bin bool_and bool_or btrim cardinality cast
ceil ceiling char_length character_length chr coalesce collect concat concat_ws convert_tz cos cosh cot count
count_distinct cume_dist current_date current_row_timestamp current_time current_timestamp current_watermark
date_format dayofmonth dayofweek dayofyear decode degrees dense_rank e element elt encode endswith exp extract
first_value floor from_base64 from_unixtime greatest grouping grouping_id hex hop hour if ifnull initcap instr
is_alpha is_decimal is_digit is_json json_array json_arrayagg json_exists json_object json_objectagg json_query
json_quote json_string json_unquote json_value lag last_value lead least left listagg ln localtime localtimestamp
locate log log10 log2 lower lpad ltrim map map_entries map_from_arrays map_keys map_union map_values max md5 min
minute mod month now ntile nullif nvl overlay parse_url percent_rank percentile pi position power printf proctime
quarter radians rand rand_integer rank regexp_count regexp_extract regexp_extract_all regexp_instr regexp_replace
regexp_substr repeat replace reverse right round row row_number rowtime rpad rtrim second session sha1 sha2 sha224
sha256 sha384 sha512 sign sin sinh split split_index sqrt startswith stddev_pop stddev_samp str_to_map substr
substring sum sum_distinct tan tanh timestampadd timestampdiff to_base64 to_date to_timestamp to_timestamp_ltz
translate trim truncate try_cast tumble typeof unhex unix_timestamp unnest upper url_decode url_encode uuid var_pop
var_samp variance week year
"""

SPARK = """
abs acos acosh add_months aggregate any_value approx_count_distinct approx_percentile array array_agg array_append
array_compact array_contains array_distinct array_except array_insert array_intersect array_join array_max array_min
array_position array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap arrays_zip
ascii asin asinh atan atan2 atanh avg base64 bin bit_and bit_count bit_get bit_length bit_or bit_xor bitwise_not
bool_and bool_or bround btrim cardinality cbrt ceil ceiling char char_length character_length chr coalesce
collect_list collect_set concat concat_ws contains conv convert_timezone corr cos cosh cot count count_if covar_pop
covar_samp crc32 create_map csc cume_dist curdate current_date current_time current_timestamp current_timezone
date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day
dayname dayofmonth dayofweek dayofyear decode degrees dense_rank e element_at elt encode endswith equal_null every
exists exp explode explode_outer expm1 extract factorial filter find_in_set first first_value flatten floor forall
format_number format_string from_json from_unixtime from_utc_timestamp get get_json_object getbit greatest grouping
grouping_id hash hex hour hypot ifnull ilike initcap inline inline_outer instr isnan isnotnull isnull
json_array_length json_object_keys json_tuple kurtosis lag last last_day last_value lcase lead least left length
levenshtein like listagg ln localtimestamp locate log log10 log1p log2 lower lpad ltrim make_date make_dt_interval
make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval map_concat
map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values map_zip_with mask max
max_by md5 mean median min min_by minute mode month monthname months_between named_struct nanvl negative next_day
now nth_value ntile nullif nullifzero nvl nvl2 octet_length overlay parse_url percent_rank percentile
percentile_approx pi pmod posexplode posexplode_outer position positive pow power printf product quarter quote
radians rand randn random randstr rank reduce regexp_count regexp_extract regexp_extract_all regexp_instr
regexp_like regexp_replace regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy repeat replace reverse right rint round row_number rpad rtrim sec second sequence sha sha1 sha2
shiftleft shiftright shiftrightunsigned shuffle sign signum sin sinh size skewness slice some sort_array soundex
split split_part sqrt stack startswith std stddev stddev_pop stddev_samp str_to_map string_agg struct substr
substring substring_index sum tan tanh time_bucket time_diff time_from_micros time_from_millis time_from_seconds
time_to_micros time_to_millis time_to_seconds time_trunc timestamp_add timestamp_diff timestamp_micros
timestamp_millis timestamp_seconds to_binary to_char to_date to_json to_number to_time to_timestamp to_timestamp_ltz
to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar transform transform_keys transform_values translate
trim trunc try_add try_avg try_divide try_element_at try_make_interval try_make_timestamp try_make_timestamp_ltz
try_make_timestamp_ntz try_mod try_multiply try_parse_url try_subtract try_sum try_to_binary try_to_date
try_to_number try_to_time try_to_timestamp try_url_decode typeof ucase unbase64 unhex uniform unix_date unix_micros
unix_millis unix_seconds unix_timestamp upper url_decode url_encode uuid var_pop var_samp variance weekday
weekofyear width_bucket xxhash64 year zeroifnull zip_with
"""

ENGINES: Mapping[str, frozenset[str]] = {
    "Arroyo": frozenset(ARROYO.split()),
    "Flink": frozenset(FLINK.split()),
    "Spark": frozenset(SPARK.split()),
}

_SYNTAX = {
    "any": "value = ANY(array)",
    "array": "ARRAY[a, b]",
    "between": "a BETWEEN b AND c",
    "cast": "CAST(value AS type)",
    "extract": "EXTRACT(part FROM timestamp)",
    "grouping": "GROUPING(key), beside GROUPING SETS",
    "grouping_id": "GROUPING_ID(key, ...), beside GROUPING SETS",
    "hop": "hop(slide, width) in GROUP BY",
    "if": "IF(condition, value, otherwise)",
    "position": "POSITION(part IN text)",
    "row": "row(a, b), to compare rows",
    "session": "session(gap) in GROUP BY",
    "try_cast": "TRY_CAST(value AS type)",
    "tumble": "tumble(width) in GROUP BY",
    "unnest": "unnest(array) in the SELECT list or in FROM",
    "regexp": "text ~ regex",
    "localtime": "LOCALTIME",
    "localtimestamp": "LOCALTIMESTAMP",
}


def ours(name: str) -> str | None:
    """Return how a function of that name is called here; None if it cannot be called."""
    if name in _SYNTAX:
        return _SYNTAX[name]
    declared = find_function(name) or find_aggregate(name) or find_over(name)
    if declared is not None:
        return declared.usage
    if name in SPELLINGS:
        return f"{SPELLINGS[name][0][0]}: {SPELLINGS[name][0][1]}"
    return None


def share(engine: str) -> tuple[int, int]:
    """Return how many functions of an engine can be called here, and how many it has."""
    names = ENGINES[engine]
    return sum(ours(name) is not None for name in names), len(names)


def dialects_page() -> str:
    """Return a line for each function of another engine."""
    names = sorted(frozenset.union(*ENGINES.values()))
    rows = [
        [code(name), *("yes" if name in known else "" for known in ENGINES.values()), _answer(name)] for name in names
    ]
    shares = [
        [engine, f"{called} of {total}", f"{called / total:.0%}"] for engine, (called, total) in _shares().items()
    ]
    introduction = (
        "A function that is called in the words of another engine is read as ours. Where both differ for special "
        "values, ours is as on [the page of functions](functions.md). Functions that have no meaning on a stream are "
        "left out: sketches as values, XML, CSV and variants, partitions and files of an input, sessions and users."
    )
    return page(
        "Functions of other engines",
        introduction,
        [
            section("How many there are", table(["engine", "can be called", "share"], shares)),
            section("All", table(["function", *ENGINES, "here"], rows)),
        ],
    )


def _shares() -> dict[str, tuple[int, int]]:
    return {engine: share(engine) for engine in ENGINES}


def _answer(name: str) -> str:
    called = ours(name)
    return code(called) if called is not None else f"no: {instead_of(name) or 'compute it in a function in Python'}"
