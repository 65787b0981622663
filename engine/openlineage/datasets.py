"""OpenLineage datasets of a program, with columns and column lineage.

OpenLineage names of the datasets of tables.

    file:///lake/orders        file              /lake/orders
    s3://lake/orders           s3://lake         orders
    kafka://broker:9092/o      kafka://broker:9092   o
    none, for a webhook        arroyo            shop.told      the job's namespace, the pipeline and the table

Other systems use the same names, so that their graphs connect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field

from engine.connectors import connector_of, kind_of
from engine.connectors.base import Table, row_schema
from engine.plan.column_lineage import ColumnLineage, Origin, Use

if TYPE_CHECKING:
    from engine.compile import Program

PRODUCER = "https://github.com/airflow-provider-arroyo/airflow-provider-arroyo"
_FACETS = "https://openlineage.io/spec/facets"
SCHEMAS = f"{PRODUCER}/blob/main/docs/openlineage"
"""URL of the schemas of our own facets."""


class Shape(BaseModel):
    """Base class of OpenLineage objects."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)


class Facet(Shape):
    """A facet of a dataset, a job or a run."""

    producer: str = Field(default=PRODUCER, alias="_producer", description="What has made it.")


class SchemaField(Shape):
    """A column."""

    name: str = Field(description="Its name.")
    type: str = Field(description="Its type in SQL.")


class SchemaFacet(Facet):
    """The columns of a dataset."""

    schema_url: str = Field(
        default=f"{_FACETS}/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    fields: list[SchemaField] = Field(description="The columns, in order.")


class Transformation(Shape):
    """Use of a column."""

    type: Literal["DIRECT", "INDIRECT"] = Field(description="Whether its values are in the result, or decide on it.")
    subtype: Use = Field(description="In which way.")
    description: str = Field(default="", description="Always empty: no words are made up.")
    masking: bool = Field(description="Whether its values cannot be read off the result.")


class InputField(Shape):
    """An input column."""

    namespace: str = Field(description="The namespace of its dataset.")
    name: str = Field(description="The name of its dataset.")
    field: str = Field(description="The column.")
    transformations: list[Transformation] = Field(description="The ways in which it is used.")


class InputFields(Shape):
    """Input columns of a column."""

    input_fields: list[InputField] = Field(alias="inputFields", description="The columns it comes from.")


class ColumnLineageFacet(Facet):
    """Column lineage of a dataset."""

    schema_url: str = Field(
        default=f"{_FACETS}/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    fields: dict[str, InputFields] = Field(description="For each column what it comes from.")
    dataset: list[InputField] = Field(description="What decides which rows there are, and so is behind all columns.")


class TableFacet(Facet):
    """Table of the script that corresponds to a dataset."""

    schema_url: str = Field(
        default=f"{SCHEMAS}/ArroyoTableDatasetFacet.json#/$defs/ArroyoTableDatasetFacet",
        alias="_schemaURL",
        description="What describes this facet.",
    )
    table: str = Field(description="What the script calls it.")
    connector: str = Field(description="What it is read or written with.")
    direction: Literal["source", "sink", "lookup"] = Field(description="Whether it is read, written or looked up in.")
    uri: str | None = Field(description="Its place as others name it; null where that is not known.")


class DatasetFacets(Shape):
    """Facets of a dataset."""

    columns: SchemaFacet = Field(alias="schema", description="Its columns.")
    column_lineage: ColumnLineageFacet | None = Field(
        default=None,
        alias="columnLineage",
        description="Where its columns come from. Null of what is read, and of a table of dead letters.",
    )
    arroyo_table: TableFacet = Field(description="The table of the script that it is.")


class Dataset(Shape):
    """A dataset that is read or written."""

    namespace: str = Field(description="The system that has it.")
    name: str = Field(description="Its name there.")
    facets: DatasetFacets = Field(description="What is known of it.")


class Datasets(Shape):
    """All inputs and outputs of a program."""

    inputs: list[Dataset] = Field(description="What is read, and looked up in.")
    outputs: list[Dataset] = Field(description="What is written.")


def datasets_of(program: Program, job: JobName) -> Datasets:
    """Return the tables that a program reads and writes. Column lineage is that of its plan."""
    lineages = program.column_lineage
    looked_up = {origin.table for lineage in lineages.values() for origin in lineage.all_origins} - set(program.scans)
    names = {name: dataset_name(table, job) for name, table in program.declared.items()}
    inputs = [_dataset(program.declared[name], names, None) for name in sorted({*program.scans, *looked_up})]
    outputs = [_dataset(program.declared[name], names, lineages.get(name)) for name in program.target_names]
    return Datasets(inputs=inputs, outputs=outputs)


def _dataset(table: Table, names: Mapping[str, DatasetName], lineage: ColumnLineage | None) -> Dataset:
    columns = row_schema(table, connector_of(table).metadata)
    facets = DatasetFacets(
        columns=SchemaFacet(fields=[SchemaField(name=field.name, type=str(field.type)) for field in columns]),
        column_lineage=None if lineage is None else _facet(lineage, names),
        arroyo_table=TableFacet(
            table=table.name, connector=table.connector, direction=table.direction, uri=known_place(table)
        ),
    )
    name = names[table.name]
    return Dataset(namespace=name.namespace, name=name.name, facets=facets)


def _facet(lineage: ColumnLineage, names: Mapping[str, DatasetName]) -> ColumnLineageFacet:
    fields = {
        column: InputFields(input_fields=list(_fields(origins, names))) for column, origins in lineage.columns.items()
    }
    return ColumnLineageFacet(fields=fields, dataset=list(_fields(lineage.rows, names)))


def _fields(origins: Iterable[Origin], names: Mapping[str, DatasetName]) -> Iterator[InputField]:
    """Yield the columns among some origins, each once with all its uses, also where several tables read one place."""
    uses: dict[tuple[DatasetName, str], list[Transformation]] = {}
    for origin in sorted(origins):
        kind: Literal["DIRECT", "INDIRECT"] = "DIRECT" if origin.is_direct else "INDIRECT"
        transformation = Transformation(type=kind, subtype=origin.use, masking=origin.is_masked)
        known = uses.setdefault((names[origin.table], origin.column), [])
        if transformation not in known:
            known.append(transformation)
    for (name, column), transformations in uses.items():
        yield InputField(namespace=name.namespace, name=name.name, field=column, transformations=transformations)


JOB_NAMESPACE = "arroyo"
"""Default namespace of jobs."""


@dataclass(frozen=True, slots=True)
class JobName:
    """OpenLineage name of a pipeline."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class DatasetName:
    """OpenLineage name of a dataset."""

    namespace: str
    name: str


def dataset_name(table: Table, job: JobName) -> DatasetName:
    """Return the name of the place of a table. One without a place, or with one that only its driver knows, is
    called after the job."""
    place = known_place(table)
    if place is not None:
        scheme, _, rest = place.partition("://")
        if scheme == "file":
            return DatasetName("file", rest or "/")
        server, _, path = rest.partition("/")
        return DatasetName(f"{scheme}://{server}", unquote(path) if scheme == "kafka" else path or "/")
    return DatasetName(job.namespace, f"{job.name}.{table.name}")


def known_place(table: Table) -> str | None:
    """Return the URI by which others know the place of a table; None where it has none, or has a variable of the
    driver's environment or a secret in it."""
    place = kind_of(table).place(table.options)
    return None if place is None or "${" in unquote(place) or "{{" in unquote(place) else place
