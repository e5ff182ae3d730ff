"""Draw the pictures of README and docs: ``make pictures``."""

from __future__ import annotations

from pathlib import Path

from dropgnn.report.demo import SHOWN, P
from dropgnn.report.pictures import PAIR, U, law_picture, pair_picture, runs_picture, svg
from dropgnn.theory.paper.example1 import view_law

FOLDER = Path(__file__).parent / "pictures"


def main() -> None:
    laws = {name: view_law(neighbors, U, P) for name, neighbors in PAIR.items()}
    pictures = {"pair": pair_picture(), "runs": runs_picture(SHOWN), "law": law_picture(laws)}
    for name, figure in pictures.items():
        figure.set_facecolor("white")
        (FOLDER / f"{name}.svg").write_text(svg(figure), encoding="utf-8")


if __name__ == "__main__":
    main()
