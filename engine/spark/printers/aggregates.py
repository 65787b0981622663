"""How the aggregates that Spark has not, or has with other results, are spelt in Spark SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.plan.nodes import Aggregate
from engine.spark.columns import to_sql


@dataclass(frozen=True, slots=True)
class Spelling:
    """An aggregate with its arguments already printed."""

    aggregate: Aggregate
    arguments: Sequence[str]
    over: str = ""
    """What stands behind the call when it is one among the rows of a window."""

    def of(self, name: str, *arguments: str, behind: str = "") -> str:
        """Spark's aggregate of that name over the rows that take part; `behind` stands after its filter."""
        distinct = "DISTINCT " if self.aggregate.distinct else ""
        condition = self.aggregate.condition
        where = "" if condition is None else f" FILTER (WHERE {to_sql(condition)})"
        return f"{name}({distinct}{', '.join(arguments)}){where}{behind}{self.over}"


Form: TypeAlias = Callable[[Spelling], str]


def aggregate_to_sql(aggregate: Aggregate, over: str = "") -> str:
    """The aggregate as text; without a form it has the same name, arguments and meaning in Spark."""
    spelling = Spelling(aggregate, [to_sql(argument) for argument in aggregate.arguments], over)
    form = FORMS.get(aggregate.function)
    return spelling.of(aggregate.function, *spelling.arguments or ["1"]) if form is None else form(spelling)


def _array_agg(call: Spelling) -> str:
    gathered = call.of("collect_list", *call.arguments, behind=" RESPECT NULLS")
    return f"CASE WHEN size({gathered}) > 0 THEN {gathered} END"


FORMS: Mapping[str, Form] = {"array_agg": _array_agg}
