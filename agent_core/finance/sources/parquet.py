"""Parquet files as rows of text, through pyarrow (extra `parquet`): it is large, and CSV does as well."""

from collections.abc import Sequence
from pathlib import Path

from agent_core.finance.sources.source import NoData


def rows(path: Path) -> tuple[list[str], list[Sequence[str]]]:
    """Header and rows of a file. Blocks. Raises NoData without pyarrow, ValueError for what is no Parquet file."""
    try:
        from pyarrow import ArrowInvalid, parquet  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError as error:
        cure = "pip install 'swarmgate[parquet]', or write the prices as CSV"
        raise NoData(f"{path.name} needs the package pyarrow", "folder", cure) from error
    try:
        table = parquet.read_table(path)
    except ArrowInvalid as error:
        raise ValueError(f"it is no Parquet file ({error})") from error
    columns = [[str(value) for value in column.to_pylist()] for column in table.columns]
    return list(table.column_names), list(zip(*columns, strict=True))
