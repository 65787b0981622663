"""Random aggregates, each written for us and for the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.fuzz.expressions import Columns, condition, expression


@dataclass(frozen=True)
class Aggregate:
    """One aggregate in both dialects, and the type it has."""

    engine_sql: str
    oracle_sql: str
    kind: str


def random_aggregate(random: Random, columns: Columns, unique: Sequence[str]) -> Aggregate:
    """An aggregate over those columns; one that heeds an order has one that is total."""
    where = f" FILTER (WHERE {condition(random, columns)})" if columns and random.random() < 0.2 else ""
    kind = random.choice("iidtn")
    value = expression(random, columns, kind, 1)
    order = f"ORDER BY {value}{random.choice([' NULLS LAST', ' NULLS FIRST'])}"
    number, second_number = (
        f"CAST({expression(random, columns, random.choice('idn'), 1)} AS DOUBLE)" for _ in range(2)
    )
    truth = expression(random, columns, "b", 1)
    share = random.choice(["0", "0.1", "0.25", "0.5", "0.9", "0.99", "1"])
    whole, exact = expression(random, columns, "i", 1), expression(random, columns, "n", 1)

    def same(call: str, kind: str) -> Aggregate:
        return Aggregate(f"{call}{where}", f"{call}{where}", kind)

    def cast(call: str, kind: str, to: str) -> Aggregate:
        return Aggregate(f"{call}{where}", f"CAST({call}{where} AS {to})", kind)

    def other_name(engine_sql: str, oracle_sql: str, kind: str) -> Aggregate:
        return Aggregate(f"{engine_sql}{where}", oracle_sql.replace("@", where), kind)

    sort = f"ORDER BY {', '.join(f'{name} NULLS LAST' for name in unique)}" if unique and "w" not in unique else ""
    plain = next((name for name, its_kind in columns.items() if its_kind in ("i", "d", "n", "t", "b")), "")
    choices = [
        same("count(*)", "i"),
        same("count(*)", "i"),
        same(f"count({value})", "i"),
        cast(f"sum({whole})", "i", "BIGINT"),
        cast(f"sum({whole})", "i", "BIGINT"),
        same(f"sum({number})", "d"),
        same(f"sum({exact})", "n"),
        same(f"avg({whole})", "d"),
        same(f"min({value})", kind),
        same(f"max({value})", kind),
        same(f"bit_{random.choice(['and', 'or', 'xor'])}(CAST({whole} AS BIGINT))", "i"),
        same(f"bool_{random.choice(['and', 'or'])}({truth})", "b"),
        same(f"median({number})", "d"),
        other_name(f"median({whole})", f"CAST(trunc(median({whole})@) AS BIGINT)", "i"),
        other_name(f"approx_median({whole})", f"CAST(trunc(median({whole})@) AS BIGINT)", "i"),
        # of a column, since the oracle takes a constant that it orders by for a number
        other_name(f"mode({plain})", f"mode({plain} ORDER BY {plain})@", columns[plain])
        if plain
        else same("count(*)", "i"),
        other_name(f"own_span({whole})", f"(max({whole})@ - min({whole})@)", "i"),
        other_name(f"approx_distinct({value})", f"count(DISTINCT {value})@", "i"),
        other_name(f"array_agg({value} {order})", f"list({value} {order})@", f"[{kind}]"),
        same(f"string_agg({expression(random, columns, 't', 1)}, '/' {sort})", "t") if sort else same("count(*)", "i"),
        same(f"{random.choice(['stddev', 'stddev_pop', 'var_samp', 'var_pop'])}({whole})", "d"),
        same(f"{random.choice(['covar_samp', 'covar_pop', 'regr_sxy'])}({number}, {second_number})", "d"),
        same(f"{random.choice(['regr_avgx', 'regr_avgy', 'regr_sxx'])}({number}, {second_number})", "d"),
        cast(f"regr_count({number}, {second_number})", "i", "BIGINT"),
    ]
    if columns:
        # of columns, since the oracle takes the share of a constant for another argument
        name, its_kind = random.choice(list(columns.items()))
        choices.append(other_name(f"percentile_disc({name}, {share})", f"quantile_disc({name}, {share})@", its_kind))
        if its_kind in ("i", "d", "n"):
            ours = f"percentile_cont({share}) WITHIN GROUP (ORDER BY {name})"
            choices.append(other_name(ours, f"quantile_cont(CAST({name} AS DOUBLE), {share})@", "d"))
    if sort:
        edge = random.choice(["first", "last"])
        choices.append(other_name(f"{edge}_value({value} {sort})", f"{edge}({value} {sort})@", kind))
    return random.choice(choices)
