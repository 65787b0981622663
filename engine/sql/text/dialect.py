"""Arroyo's SQL as a dialect of the parser: Postgres with additional DDL.

    f(x)                                  Anonymous: the parser has hundreds of functions of its own, and rewrites some;
                                          ours are the functions that `engine/functions` declares
    a[1], json -> 'key'                   as written: the parser would shift subscripts and rewrite keys
    WATERMARK FOR at AS at - INTERVAL ..  WatermarkFor, among the columns
    topic TEXT METADATA FROM 'topic'      MetadataFrom, among the constraints of a column
    WITH ('abc')                          BareOption, to be refused with its text
    CREATE CONNECTION c WITH (...)        Create of kind CONNECTION
    SELECT /*+ id(visits) */              Hint, with its text in `meta`; elsewhere it is an ordinary comment

It also records where nodes begin (`pieces.py`), and what the parser would lose: the text of an INTERVAL with several
units, and the column's expression in GENERATED ALWAYS AS.
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
    """`METADATA FROM 'key'` after a column."""

    arg_types = {"this": True}  # noqa: RUF012 - the parser's own convention


class WindowedTable(exp.Expression):
    """`TUMBLE(TABLE name, DESCRIPTOR(column), length, ...)` in FROM, alone or inside `TABLE(...)`; or as RisingWave
    writes it, `TUMBLE(name, column, length, ...)`."""

    arg_types = {"this": True, "kind": True, "column": True, "lengths": True, "alias": False, "partition": False}  # noqa: RUF012 - the parser's own convention


class BareOption(exp.Expression):
    """An entry of a WITH clause that is not `name = value`."""

    arg_types = {"this": True}  # noqa: RUF012 - the parser's own convention


_WINDOWED = ("tumble", "hop", "session", "cumulate")
_SPECIAL_CALLS = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY")


def _typed_literal(_: object, value: exp.Expression, to: exp.DataType) -> exp.Expression:
    """Parse `DATE '2024-01-01'::TEXT` as the text of a day, although the parser applies the cast to the literal
    first."""
    literal = value
    while not isinstance(literal, exp.Literal):
        literal = literal.this
    typed = exp.Cast(this=literal.copy(), to=to)
    if literal is value:
        return typed
    literal.replace(typed)
    return value


class Arroyo(Postgres):
    """The dialect; see the module."""

    INDEX_OFFSET = 0

    class Tokenizer(Postgres.Tokenizer):
        """Postgres tokens, with `session` and `window` as plain names, because windows use them; FLOAT is REAL."""

        KEYWORDS = {  # noqa: RUF012
            **{word: kind for word, kind in Postgres.Tokenizer.KEYWORDS.items() if word not in ("SESSION", "WINDOW")},
            "FLOAT": TokenType.FLOAT,
            "/*+": TokenType.HINT,
        }

    class Parser(Postgres.Parser):  # type: ignore[misc, valid-type]  # the parser's classes are made at run time
        """Postgres grammar with our DDL, without the parser's own functions."""

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
            name: Postgres.Parser.PROPERTY_PARSERS[name] for name in ("WITH", "TEMPORARY", "TEMP", "PARTITIONED BY")
        }

        def raise_error(self, message: str, token: Token | None = None) -> None:
            """Stop at the first syntax error, and record its position."""
            unread = token or self._curr
            nearest = unread or self._prev
            where = {"description": message, "start": nearest.start if nearest else 0}
            raise ParseError(message, [{**where, "highlight": unread.text if unread else ""}])

        def _parse_create(self) -> exp.Expression:
            if self._curr is None or self._curr.text.upper() != "CONNECTION":
                create: exp.Expression = super()._parse_create()
                return create
            self._advance()
            name = self._parse_table_parts()
            connection: exp.Expression = self.expression(
                exp.Create(this=name, kind="CONNECTION", properties=self._parse_properties())
            )
            return connection

        def _parse_table(self, *args: object, **kwargs: object) -> exp.Expression | None:
            return self._parse_windowed_table() or super()._parse_table(*args, **kwargs)

        def _parse_windowed_table(self) -> exp.Expression | None:
            """Parse a window table function of Flink's; return None, at the same place, for everything else."""
            token, index = self._curr, self._index
            is_inside_table = self._match(TokenType.TABLE) and self._match(TokenType.L_PAREN)
            kind = self._curr.text.lower() if self._curr else ""
            if kind not in _WINDOWED:
                self._retreat(index)
                return None
            self._advance()
            if not self._match(TokenType.L_PAREN):
                self._retreat(index)
                return None
            self._skip_name_of_argument()
            is_of_flink = self._match(TokenType.TABLE)
            table = self._parse_table_parts()
            partition = [self._parse_column()] if self._match(TokenType.PARTITION_BY) else []
            while self._match(TokenType.COMMA) and partition and not self._is_at_descriptor():
                partition.append(self._parse_column())
            self._skip_name_of_argument()
            if is_of_flink and not self._match_text_seq("DESCRIPTOR"):
                self.raise_error("Expecting DESCRIPTOR")
            column = self._parse_wrapped(self._parse_id_var) if is_of_flink else self._parse_id_var()
            lengths = []
            while self._match(TokenType.COMMA):
                self._skip_name_of_argument()
                lengths.append(self._parse_assignment())
            self._match_r_paren()
            if is_inside_table:
                self._match_r_paren()
            windowed = WindowedTable(this=table, kind=kind, column=column, lengths=lengths, partition=partition)
            windowed.set("alias", self._parse_table_alias())
            return _starting_at(windowed, token)

        def _is_at_descriptor(self) -> bool:
            words = [token.text.upper() for token in self._tokens[self._index : self._index + 3]]
            return "DESCRIPTOR" in words[:1] or ("DESCRIPTOR" in words[2:] and words[1] == "=>")

        def _skip_name_of_argument(self) -> None:
            if self._next is not None and self._next.token_type == TokenType.FARROW:
                self._advance(2)

        def _parse_table_alias(self, *args: object, **kwargs: object) -> exp.Expression | None:
            if self._begins_named_windows():
                return None
            alias: exp.Expression | None = super()._parse_table_alias(*args, **kwargs)
            return alias

        def _parse_query_modifiers(self, this: exp.Expression | None) -> exp.Expression | None:
            """Parse the clauses of a query, with `WINDOW name AS (...)` among them."""
            query: exp.Expression | None = super()._parse_query_modifiers(this)
            if isinstance(query, exp.Select) and self._begins_named_windows():
                self._advance()
                query.set("windows", self._parse_csv(self._parse_named_window))
                query = super()._parse_query_modifiers(query)
            return query

        def _begins_named_windows(self) -> bool:
            """Whether the clause `WINDOW name AS (` begins here; elsewhere the word is a plain name."""
            words = [token.text.upper() for token in self._tokens[self._index : self._index + 4]]
            return words[:1] == ["WINDOW"] and words[2:] == ["AS", "("]

        def _parse_hint(self) -> exp.Expression | None:
            token = self._curr
            if not self._match(TokenType.HINT) or token is None:
                return None
            hint: exp.Expression = exp.Hint()
            hint.meta["written"] = token.text
            return _starting_at(hint, token)

        def _parse_unary(self) -> exp.Expression | None:
            token = self._curr
            return _starting_at(super()._parse_unary(), token)

        def _parse_select(self, *args: object, **kwargs: object) -> exp.Expression | None:
            token = self._curr
            return _starting_at(super()._parse_select(*args, **kwargs), token)

        def _parse_interval_span(self, this: exp.Expression, *args: object, **kwargs: object) -> exp.Expression:
            """Parse an interval, and store its text: the parser reads only the first length of a text such as "1 day 2
            hours"."""
            interval: exp.Expression = super()._parse_interval_span(this, *args, **kwargs)
            if this.is_string:
                interval.meta["written"] = this.name
            return interval

        def _parse_property(self) -> exp.Expression | None:
            token = self._curr
            return _starting_at(super()._parse_property(), token)

        def _parse_key_value_property(self, *args: object, **kwargs: object) -> exp.Expression | None:
            option: exp.Expression | None = super()._parse_key_value_property(*args, **kwargs)
            ends = self._next is not None and self._next.token_type in (TokenType.COMMA, TokenType.R_PAREN)
            if option is None and self._curr and ends:
                text = self._curr.text
                self._advance()
                option = self.expression(BareOption(this=text))
            return option

        def _parse_constraint(self) -> exp.Expression | None:
            if self._curr and self._next and (self._curr.text.upper(), self._next.text.upper()) == ("WATERMARK", "FOR"):
                token = self._curr
                self._advance(2)
                column = self._parse_column()
                value = self._match(TokenType.ALIAS) and self._parse_assignment()
                return _starting_at(self.expression(WatermarkFor(this=column, expression=value or None)), token)
            token = self._curr
            return _starting_at(super()._parse_constraint(), token)

        def _parse_generated_as_identity(self) -> exp.Expression:
            """Parse `GENERATED ALWAYS AS (expression)`, with an optional STORED or VIRTUAL, which mean the same
            here."""
            constraint: exp.Expression = super()._parse_generated_as_identity()
            self._match_texts({"STORED", "VIRTUAL"})
            value = constraint.args.get("expression")
            details = [name for name, part in constraint.args.items() if part and name not in ("this", "expression")]
            is_identity = isinstance(constraint, exp.GeneratedAsIdentityColumnConstraint)
            if is_identity and constraint.this and value and not details:
                constraint = self.expression(exp.ComputedColumnConstraint(this=value))
            return constraint


def _starting_at(node: exp.Expression | None, token: Token | None) -> exp.Expression | None:
    """Return the node with the position of its first token."""
    if isinstance(node, exp.Expression) and token is not None and "start" not in node.meta:
        node.meta["start"] = token.start
    return node
