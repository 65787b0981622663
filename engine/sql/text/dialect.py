"""Arroyo's SQL as a dialect of the parser.

It is Postgres with DDL of its own. Calls are left as bare names: what they mean is decided by our own list of
functions, never by the parser's.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import Token, TokenType


class WatermarkFor(exp.Expression):
    """`WATERMARK FOR column [AS expression]` in a column list."""

    arg_types = {"this": True, "expression": False}  # noqa: RUF012 - the parser's own convention


class MetadataFrom(exp.Expression):
    """`METADATA FROM 'key'` behind a column."""

    arg_types = {"this": True}  # noqa: RUF012 - the parser's own convention


class BareOption(exp.Expression):
    """An entry of a WITH clause that is not of the form `name = value`."""

    arg_types = {"this": True}  # noqa: RUF012 - the parser's own convention


_SPECIAL_CALLS = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY")


def _typed_literal(_: object, value: exp.Expression, to: exp.DataType) -> exp.Expression:
    """`DATE '2024-01-01'::TEXT` is the text of a day, though the parser has the cast applied to the text first."""
    literal = value
    while not isinstance(literal, exp.Literal):
        literal = literal.this
    typed = exp.Cast(this=literal.copy(), to=to)
    if literal is value:
        return typed
    literal.replace(typed)
    return value


class Arroyo(Postgres):
    """The dialect; see the module. Arrays keep the subscripts that are written, and JSON the keys."""

    INDEX_OFFSET = 0

    class Tokenizer(Postgres.Tokenizer):
        """Postgres tokens, with `session` and `window` as plain names, since windows are called so; FLOAT is REAL."""

        KEYWORDS = {  # noqa: RUF012
            **{word: kind for word, kind in Postgres.Tokenizer.KEYWORDS.items() if word not in ("SESSION", "WINDOW")},
            "FLOAT": TokenType.FLOAT,
        }

    class Parser(Postgres.Parser):  # type: ignore[misc, valid-type]  # the parser's classes are made at run time
        """Postgres grammar plus our DDL, minus everything the parser thinks it knows of functions."""

        LAMBDAS = {}  # type: ignore[var-annotated]  # noqa: RUF012 - `f(json -> 'key')` is no function of json
        FUNCTIONS = {}  # type: ignore[var-annotated]  # noqa: RUF012
        NO_PAREN_FUNCTIONS = {}  # type: ignore[var-annotated]  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser for name, parser in Postgres.Parser.FUNCTION_PARSERS.items() if name in _SPECIAL_CALLS
        }
        JSON_OPERATORS = {  # noqa: RUF012
            **Postgres.Parser.JSON_OPERATORS,
            TokenType.ARROW: lambda self, json, key: self.expression(exp.JSONExtract(this=json, expression=key)),
            TokenType.DARROW: lambda self, json, key: self.expression(exp.JSONExtractScalar(this=json, expression=key)),
        }
        TYPE_LITERAL_PARSERS = dict.fromkeys(exp.DataType.Type, _typed_literal)
        CONSTRAINT_PARSERS = {  # noqa: RUF012
            **Postgres.Parser.CONSTRAINT_PARSERS,
            "METADATA": lambda self: self.expression(
                MetadataFrom(this=(self._match_text_seq("FROM") and self._parse_string()) or None)
            ),
        }
        PROPERTY_PARSERS = {  # noqa: RUF012
            name: Postgres.Parser.PROPERTY_PARSERS[name] for name in ("WITH", "TEMPORARY", "TEMP")
        }

        def raise_error(self, message: str, token: Token | None = None) -> None:
            """Stop at the first thing that cannot be read, and remember where it stands."""
            found = token or self._curr
            last = found or self._prev
            where = {"description": message, "start": last.start if last else 0}
            raise ParseError(message, [{**where, "highlight": found.text if found else ""}])

        def _parse_create(self) -> exp.Expression:
            if self._curr is None or self._curr.text.upper() != "CONNECTION":
                found: exp.Expression = super()._parse_create()
                return found
            self._advance()
            name = self._parse_table_parts()
            own: exp.Expression = self.expression(
                exp.Create(this=name, kind="CONNECTION", properties=self._parse_properties())
            )
            return own

        def _parse_unary(self) -> exp.Expression | None:
            token = self._curr
            return _placed(super()._parse_unary(), token)

        def _parse_select(self, *args: object, **kwargs: object) -> exp.Expression | None:
            token = self._curr
            return _placed(super()._parse_select(*args, **kwargs), token)

        def _parse_interval_span(self, this: exp.Expression, *args: object, **kwargs: object) -> exp.Expression:
            """The parser keeps the first length of a text only, so the text is remembered as it is."""
            found: exp.Expression = super()._parse_interval_span(this, *args, **kwargs)
            if this.is_string:
                found.meta["written"] = this.name
            return found

        def _parse_property(self) -> exp.Expression | None:
            token = self._curr
            return _placed(super()._parse_property(), token)

        def _parse_key_value_property(self, *args: object, **kwargs: object) -> exp.Expression | None:
            found: exp.Expression | None = super()._parse_key_value_property(*args, **kwargs)
            ends = self._next is not None and self._next.token_type in (TokenType.COMMA, TokenType.R_PAREN)
            if found is None and self._curr and ends:
                text = self._curr.text
                self._advance()
                found = self.expression(BareOption(this=text))
            return found

        def _parse_constraint(self) -> exp.Expression | None:
            if self._curr and self._next and (self._curr.text.upper(), self._next.text.upper()) == ("WATERMARK", "FOR"):
                token = self._curr
                self._advance(2)
                column = self._parse_column()
                value = self._match(TokenType.ALIAS) and self._parse_assignment()
                return _placed(self.expression(WatermarkFor(this=column, expression=value or None)), token)
            token = self._curr
            return _placed(super()._parse_constraint(), token)

        def _parse_generated_as_identity(self) -> exp.Expression:
            """`GENERATED ALWAYS AS (expression)`, which may be followed by STORED; with us both are the same."""
            found: exp.Expression = super()._parse_generated_as_identity()
            self._match_texts({"STORED", "VIRTUAL"})
            value = found.args.get("expression")
            others = [name for name, part in found.args.items() if part and name not in ("this", "expression")]
            if isinstance(found, exp.GeneratedAsIdentityColumnConstraint) and found.this and value and not others:
                found = self.expression(exp.ComputedColumnConstraint(this=value))
            return found


def _placed(found: exp.Expression | None, token: Token | None) -> exp.Expression | None:
    """The expression, remembering where its first token stands."""
    if isinstance(found, exp.Expression) and token is not None and "start" not in found.meta:
        found.meta["start"] = token.start
    return found
