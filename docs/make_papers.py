"""Put the results of a full run of ``warner reproduce`` into docs/papers: pages, pictures, tables.

warner reproduce --all --data FOLDER -o reproduced
python docs/make_papers.py reproduced
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

PAPERS = Path(__file__).parent / "papers"
LARGEST_TABLE = 200_000  # bytes; larger tables are maps, which the pictures show


def main(folder: Path) -> None:
    """Copy the pages, the pictures and the tables of a full run."""
    full = folder / "full"
    for page in sorted(full.glob("P?.md")):
        target = PAPERS / page.stem
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (PAPERS / page.name).write_text(page.read_text())
        for result in sorted((full / page.stem).glob("*/*")):
            small = result.suffix == ".csv" and result.stat().st_size <= LARGEST_TABLE
            if result.suffix == ".png" or small:
                shutil.copyfile(result, target / f"{result.parent.name}-{result.name}")
        print(f"{page.stem}: {len(list(target.iterdir()))} files")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
