"""Report files that other programs made, with checksums that fit; and the command line that reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

import warner
from warner import Categorical
from warner._core.text import canonical
from warner.app.cli import main
from warner.io.file_format import UNSEALED, seal
from warner.mechanisms import Mechanism

YES = Categorical(["no", "yes"])


COIN = warner.RandomizedResponse(YES, 1.0)


def run(*args: str, ok: bool = True) -> str:
    result = CliRunner().invoke(main, list(args))
    assert (result.exit_code == 0) is ok and "Traceback" not in result.output, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def sealed(path: str, mechanism: Any, columns: Mapping[str, Any], n: Any) -> str:
    """A report file of columns that its mechanism may not have sent, with a checksum that fits."""
    header = mechanism.header if isinstance(mechanism, Mechanism) else mechanism
    head = json.dumps(
        {"format": "warner-reports", "schema": 1, "attributes": {"a": header}},
        separators=(",", ":"),
    )
    end = canonical({"n": n, "sha256": UNSEALED})
    if path.endswith(".csv"):
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        Path(path).write_text("\n".join([f"#warner {head}", *lines, f"#end {end}", ""]))
    else:
        table = pa.table(dict(columns)).replace_schema_metadata({"warner": head, "warner.end": end})
        pq.write_table(table, path)
    seal(path)
    return path


def header(mechanism: Mechanism, **changes: Any) -> dict[str, Any]:
    return {**mechanism.header, **changes}
