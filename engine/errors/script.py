"""Errors of scripts, of the options of tables, and of Python functions. Nothing has run yet."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors.base import EngineError, TextPosition


class ScriptRefused(EngineError):  # noqa: N818 - it is not one error but the list of them
    """A script with at least one complaint; `complaints` has all of them, in the order of the text."""

    code = "sql.refused"

    def __init__(self, complaints: Sequence[EngineError]) -> None:
        self.complaints = tuple(sorted(complaints, key=lambda complaint: complaint.at or TextPosition(0, 0)))
        super().__init__("\n".join(str(complaint) for complaint in self.complaints))

    def __str__(self) -> str:
        return self.message


class SqlError(EngineError):
    """The text of a script is wrong; nothing has run."""

    code = "sql.error"


class SyntaxRefusedError(SqlError):
    """The text is not SQL of this dialect."""

    code = "sql.syntax"


class EmptyScriptError(SqlError):
    """The script has no statement, or none that moves rows."""

    code = "sql.no_query"


class UnsupportedStatementError(SqlError):
    """A pipeline cannot contain this statement."""

    code = "sql.unsupported_statement"


class UnsupportedClauseError(SqlError):
    """A streaming query cannot have this clause or expression, or it is not built yet."""

    code = "sql.unsupported"


class UnknownTableError(SqlError):
    """A table, view or CTE is not declared before its use."""

    code = "sql.unknown_table"


class SinkPrefixError(SqlError):
    """A script cannot write under the prefix that it names, or one of its tables cannot."""

    code = "sql.sink_prefix"


class StandInError(SqlError):
    """A table of a script cannot be replaced by a file of rows of a test."""

    code = "sql.stand_in"


class SharedTargetError(SqlError):
    """Two tables of a script write to the same place."""

    code = "sql.shared_target"


class DuplicateNameError(SqlError):
    """Two tables or two columns have the same name."""

    code = "sql.duplicate_name"


class UnknownColumnError(SqlError):
    """The relation has no column of this name."""

    code = "sql.unknown_column"


class UnusableNameError(SqlError):
    """The name of a column or member is one that Spark would look up as a variable."""

    code = "sql.unusable_name"


class AmbiguousColumnError(SqlError):
    """More than one relation in reach has a column of this name."""

    code = "sql.ambiguous_column"


class UnknownFunctionError(SqlError):
    """The function does not exist."""

    code = "sql.unknown_function"


class FunctionArgumentsError(SqlError):
    """A function is called with arguments that it does not take."""

    code = "sql.function_arguments"


class TypeMismatchError(SqlError):
    """A value has a type that is not allowed here."""

    code = "sql.type_mismatch"


class UnknownTypeError(SqlError):
    """A column cannot have this type."""

    code = "sql.unknown_type"


class WindowContextError(SqlError):
    """A time window is used where none is allowed."""

    code = "sql.window_context"


class WindowArgumentError(SqlError):
    """A time window has an impossible length."""

    code = "sql.window_argument"


class WindowMismatchError(SqlError):
    """A time window groups rows that already belong to another one."""

    code = "sql.window_mismatch"


class JoinError(SqlError):
    """The join cannot run as it is written."""

    code = "sql.join"


class OverError(SqlError):
    """OVER is used where it is not allowed, or with unsupported arguments."""

    code = "sql.over"


class NotGroupedError(SqlError):
    """A column is neither grouped by nor aggregated."""

    code = "sql.not_grouped"


class UpdatingQueryError(SqlError):
    """Rows that may still change go where only final rows can go."""

    code = "sql.updating"


class ColumnCountError(SqlError):
    """A query has more or fewer columns than its target."""

    code = "sql.column_count"


class WrongDirectionError(SqlError):
    """A query reads from a sink, or writes into a source."""

    code = "sql.wrong_direction"


class MemoryTableError(SqlError):
    """A memory table needs exactly one INSERT, before the first query that reads it."""

    code = "sql.memory_table"


class EventTimeError(SqlError):
    """The event time or the watermark of a table cannot be what the table says."""

    code = "sql.event_time"


class TableColumnError(SqlError):
    """This kind of table cannot have such a column."""

    code = "sql.table_column"


class UnknownSettingError(SqlError):
    """SET names something that is not a setting."""

    code = "sql.unknown_setting"


class HintError(SqlError):
    """A comment `/*+ ... */` is no hint that we know, or names nothing."""

    code = "sql.hint"


class TooLargeError(SqlError):
    """The script is larger or more deeply nested than the limits allow."""

    code = "sql.too_large"


class OptionError(SqlError):
    """An option of a WITH clause is wrong; nothing has run."""

    code = "option.error"


class UdfError(EngineError):
    """A Python function of the user is wrong."""

    code = "udf.error"


class UdfSyntaxError(UdfError):
    """A file of functions is not valid Python, or has no function in it."""

    code = "udf.syntax"


class UdfSignatureError(UdfError):
    """The decorator or the type hints of a function do not say what the engine has to know."""

    code = "udf.signature"


class UdfNameError(UdfError):
    """A function has the name of a built-in function or of another function of the user."""

    code = "udf.name"


class UdfDependenciesError(UdfError):
    """Packages that a file of functions declares are not installed, or in other versions."""

    code = "udf.missing_dependencies"


class UdfLoadError(UdfError):
    """A file of functions raises an exception while it is loaded."""

    code = "udf.load"


class UdfFailedError(UdfError):
    """A function raises an exception."""

    code = "udf.failed"


class UdfResultError(UdfError):
    """A function returns something else than its type hint says."""

    code = "udf.result"


class UdfTimeoutError(UdfError):
    """An async function takes longer than it may."""

    code = "udf.timeout"


class UnknownOptionError(OptionError):
    """A WITH clause has options that the table does not know; the message names all of them."""

    code = "option.unknown"


class MissingOptionError(OptionError):
    """A WITH clause lacks an option that the table needs."""

    code = "option.missing"


class OptionTypeError(OptionError):
    """The value of an option is of another kind than the option."""

    code = "option.wrong_type"


class OptionValueError(OptionError):
    """The value of an option is of the right kind and still cannot be used."""

    code = "option.bad_value"


class SecretValueError(OptionError):
    """An option that is to be kept holds what cannot be kept as a secret, or shows one."""

    code = "option.secret_value"


class LiteralSecretError(OptionError):
    """A script that would be stored and shown contains a secret as plain text."""

    code = "option.literal_secret"


class DurationError(SqlError):
    """A text is not a length of time, or has months or years, whose length varies."""

    code = "sql.bad_duration"
