"""Arroyo's SQL as a dialect of the parser.

It is Postgres with DDL of its own. Calls are left as bare names: what they mean is decided by our own list of
functions, never by the parser's.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import TokenType


class WatermarkFor(exp.Expression):
    """`WATERMARK FOR column [AS expression]` in a column list."""

    arg_types = {"this": True, "expression": False}  # noqa: RUF012 - the parser's own convention


class MetadataFrom(exp.Expression):
    """`METADATA FROM 'key'` behind a column."""

    arg_types = {"this": True}  # noqa: RUF012 - the parser's own convention


_SPECIAL_CALLS = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION")


class Arroyo(Postgres):
    """The dialect; see the module."""

    class Tokenizer(Postgres.Tokenizer):
        """Postgres tokens, with `session` and `window` as plain names: everybody calls their window so."""

        KEYWORDS = {  # noqa: RUF012
            word: kind for word, kind in Postgres.Tokenizer.KEYWORDS.items() if word not in ("SESSION", "WINDOW")
        }

    class Parser(Postgres.Parser):  # type: ignore[misc, valid-type]  # the parser's classes are made at run time
        """Postgres grammar plus our DDL, minus everything the parser thinks it knows of functions."""

        FUNCTIONS = {}  # type: ignore[var-annotated]  # noqa: RUF012
        NO_PAREN_FUNCTIONS = {}  # type: ignore[var-annotated]  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser for name, parser in Postgres.Parser.FUNCTION_PARSERS.items() if name in _SPECIAL_CALLS
        }
        CONSTRAINT_PARSERS = {  # noqa: RUF012
            **Postgres.Parser.CONSTRAINT_PARSERS,
            "METADATA": lambda self: self.expression(
                MetadataFrom(this=self._match_text_seq("FROM") and self._parse_string())
            ),
        }
        PROPERTY_PARSERS = {"WITH": Postgres.Parser.PROPERTY_PARSERS["WITH"]}  # noqa: RUF012

        def _parse_property(self) -> exp.Expression | None:
            token = self._curr
            found: exp.Expression | None = super()._parse_property()
            if isinstance(found, exp.Property) and token is not None:
                found.meta["start"] = token.start
            return found

        def _parse_constraint(self) -> exp.Expression | None:
            if self._curr and self._next and (self._curr.text.upper(), self._next.text.upper()) == ("WATERMARK", "FOR"):
                start = self._curr.start
                self._advance(2)
                column = self._parse_column()
                value = self._match(TokenType.ALIAS) and self._parse_assignment()
                found: exp.Expression = self.expression(WatermarkFor(this=column, expression=value or None))
                found.meta["start"] = start
                return found
            constraint: exp.Expression | None = super()._parse_constraint()
            return constraint

        def _parse_generated_as_identity(self) -> exp.Expression:
            constraint: exp.Expression = super()._parse_generated_as_identity()
            self._match_texts({"STORED", "VIRTUAL"})
            return constraint
