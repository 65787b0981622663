r"""`@task.streaming_sql`: deploys the script that a function returns.

@task.streaming_sql(pipeline="orders")
def orders(shops):
    return "\n".join(f"INSERT INTO {shop} SELECT ... ;" for shop in shops)

orders(find_shops())
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.bases.decorator import DecoratedOperator, TaskDecorator, task_decorator_factory
from airflow.sdk.definitions._internal.types import SET_DURING_EXECUTION

from airflow_provider_arroyo.airflow_versions import determine_kwargs
from airflow_provider_arroyo.errors import ScriptFunctionError
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator

if TYPE_CHECKING:
    from airflow.sdk import Context


class _StreamingSqlDecoratedOperator(DecoratedOperator, StreamingSqlOperator):
    """Deploys the script that a function returns.

    :param python_callable: the function.
    :param op_args: its arguments (templated).
    :param op_kwargs: its arguments by name (templated).
    """

    template_fields: Sequence[str] = (*DecoratedOperator.template_fields, *StreamingSqlOperator.template_fields)
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **DecoratedOperator.template_fields_renderers,
        **StreamingSqlOperator.template_fields_renderers,
    }
    custom_operator_name = "@task.streaming_sql"
    overwrite_rtif_after_execution = True

    def __init__(
        self,
        *,
        python_callable: Callable[..., str],
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs.pop("multiple_outputs", None):
            raise ValueError("the result of a task that runs a script is one value: leave multiple_outputs out")
        super().__init__(
            python_callable=python_callable,
            op_args=op_args,
            op_kwargs=op_kwargs,
            sql=SET_DURING_EXECUTION,
            **kwargs,
        )

    def execute(self, context: Context) -> dict[str, Any]:
        """Ask the function for the script, render it, and deploy."""
        self._ask_for_script(context)
        return StreamingSqlOperator.execute(self, context)

    def execute_approved(self, context: Context, event: Any = None) -> dict[str, Any]:
        """Complete the deployment with a person's answer; since this is another process, call the function again."""
        self._ask_for_script(context)
        return StreamingSqlOperator.execute_approved(self, context, event)

    def _ask_for_script(self, context: Context) -> None:
        arguments = determine_kwargs(self.python_callable, self.op_args, {**context, **self.op_kwargs})
        script = self.python_callable(*self.op_args, **arguments)
        if not isinstance(script, str) or not script.strip():
            name = getattr(self.python_callable, "__name__", "the function")
            raise ScriptFunctionError(f"{name} returned {script!r}, and not a script")
        self.sql = self.render_template(script, context)


def streaming_sql_task(python_callable: Callable[..., str] | None = None, **kwargs: Any) -> TaskDecorator:
    """Return the decorator; it takes the arguments of `StreamingSqlOperator` except `sql`."""
    return task_decorator_factory(
        python_callable=python_callable, decorated_operator_class=_StreamingSqlDecoratedOperator, **kwargs
    )
