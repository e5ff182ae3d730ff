"""Draw the pictures of README and docs: ``make pictures``."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from dropgnn.data.pairs import named_pair
from dropgnn.report.demo import SHOWN, P
from dropgnn.report.pictures import PAIR, U, law_picture, pair_picture, runs_picture, svg
from dropgnn.report.verdict import verdict_picture
from dropgnn.theory.distinguish import distinguish
from dropgnn.theory.paper.example1 import view_law

FOLDER = Path(__file__).parent / "pictures"


def main() -> None:
    laws = {name: view_law(neighbors, U, P) for name, neighbors in PAIR.items()}
    pictures = {
        "pair": pair_picture(),
        "runs": runs_picture(SHOWN),
        "law": law_picture(laws),
        "example2": _verdict("example2"),
        "figure3": _verdict("figure3:5", nodes=(10, 10), depth=2),
    }
    for name, figure in pictures.items():
        figure.set_facecolor("white")
        (FOLDER / f"{name}.svg").write_text(svg(figure), encoding="utf-8")


def _verdict(name: str, nodes: tuple[int, int] | None = None, depth: int | None = None) -> Figure:
    a, b = named_pair(name)
    return verdict_picture(distinguish(a, b, nodes=nodes, depth=depth), a, b)


if __name__ == "__main__":
    main()
