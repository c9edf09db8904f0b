"""Put the results of a full run of ``python -m papers`` into docs/papers: pages, pictures, tables.

    python -m papers --all --data FOLDER -o reproduced
    python docs/make_papers.py reproduced

Pictures are made small by Pillow where it is installed, and copied as they are where it is not.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

PAPERS = Path(__file__).parent / "papers"
LARGEST_TABLE = 60_000  # bytes; the pictures show larger tables, which are maps
WIDTH, COLOURS = 1000, 48


def main(folder: Path) -> None:
    """Copy the pages, the pictures and the tables of a full run."""
    full = folder / "full"
    for page in sorted(full.glob("P?.md")):
        target = PAPERS / page.stem
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        text = page.read_text()
        (PAPERS / page.name).write_text(text)
        for result in sorted((full / page.stem).glob("*/*")):
            copy = target / result.parent.name / result.name
            copy.parent.mkdir(exist_ok=True)
            # A picture that the page does not show is left from an earlier form of an experiment.
            if result.suffix == ".png" and f"({copy.relative_to(PAPERS)})" in text:
                shrink(result, copy)
            elif result.suffix == ".csv" and result.stat().st_size <= LARGEST_TABLE:
                shutil.copyfile(result, copy)
        print(f"{page.stem}: {sum(1 for _ in target.glob('*/*'))} files")


def shrink(picture: Path, copy: Path) -> None:
    """Write a picture at most WIDTH wide, of COLOURS colours."""
    try:
        from PIL import Image
    except ImportError:
        shutil.copyfile(picture, copy)
        return
    image = Image.open(picture).convert("RGB")
    scale = min(1.0, WIDTH / image.width)
    size = (round(image.width * scale), round(image.height * scale))
    small = image.resize(size, Image.Resampling.LANCZOS)
    small.quantize(COLOURS, dither=Image.Dither.NONE).save(copy, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
