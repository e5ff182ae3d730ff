"""Values printed in the paper: Papp, Martinkus, Faber, Wattenhofer, "DropGNN", NeurIPS 2021."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """Mean and standard deviation, where there is one, as printed, and a mark for what the paper has in bold."""

    mean: float
    deviation: float | None
    digits: int = 2
    mark: str = ""

    def __str__(self) -> str:
        mean = f"{self.mean:.{self.digits}f}"
        return (mean if self.deviation is None else f"{mean} ± {self.deviation:.{self.digits}f}") + self.mark


def _row(*pairs: tuple[float, float, float, float]) -> dict[str, dict[str, Printed]]:
    methods = ("gin", "ports", "ids", "random", "dropout")
    return {
        method: {"train": Printed(*pair[:2]), "test": Printed(*pair[2:])}
        for method, pair in zip(methods, pairs, strict=True)
    }


TABLE1 = {
    "limits1": _row(
        (0.50, 0.00, 0.50, 0.00),
        (0.50, 0.00, 0.50, 0.00),
        (1.00, 0.00, 0.59, 0.19),
        (0.66, 0.19, 0.66, 0.22),
        (1.00, 0.00, 1.00, 0.00),
    ),
    "limits2": _row(
        (0.50, 0.00, 0.50, 0.00),
        (0.50, 0.00, 0.50, 0.00),
        (1.00, 0.00, 0.61, 0.26),
        (0.72, 0.17, 0.64, 0.19),
        (1.00, 0.00, 1.00, 0.00),
    ),
    "four_cycles": _row(
        (0.50, 0.00, 0.50, 0.00),
        (1.00, 0.01, 0.84, 0.07),
        (1.00, 0.00, 0.58, 0.07),
        (0.75, 0.05, 0.77, 0.05),
        (0.99, 0.03, 1.00, 0.01),
    ),
    "lcc": _row(
        (0.41, 0.09, 0.38, 0.08),
        (1.00, 0.00, 0.39, 0.09),
        (1.00, 0.00, 0.42, 0.08),
        (0.45, 0.16, 0.46, 0.08),
        (1.00, 0.00, 0.99, 0.02),
    ),
    "triangles": _row(
        (0.53, 0.15, 0.52, 0.15),
        (1.00, 0.00, 0.54, 0.11),
        (1.00, 0.00, 0.63, 0.08),
        (0.57, 0.08, 0.67, 0.05),
        (0.93, 0.12, 0.93, 0.13),
    ),
    "skip_circles": _row(
        (0.10, 0.00, 0.10, 0.00),
        (1.00, 0.00, 0.14, 0.08),
        (1.00, 0.00, 0.10, 0.09),
        (0.16, 0.11, 0.16, 0.05),
        (0.81, 0.28, 0.82, 0.28),
    ),
}
"""Table 1, accuracy over 10 seeds and 1,000 epochs: for each method mean and deviation in training and in testing."""


DATASETS = ("MUTAG", "PTC", "PROTEINS", "IMDB-B", "IMDB-M")
"""The columns of Table 2."""

ALSO = {"PTC_MR": "PTC"}
"""Datasets of ours that a column may be about, too: for PTC the paper prints the statistics of PTC_MR."""


class Reported(NamedTuple):
    """A row of Table 2: accuracies in percent, dataset by dataset, ``None`` where none was reported."""

    complexity: str
    accuracies: tuple[Printed | None, ...]
    remark: str = ""

    def on(self, dataset: str) -> Printed | None:
        return self.accuracies[DATASETS.index(ALSO.get(dataset, dataset))]


BEST = "†"
"""The best model of its complexity class, in bold in the paper."""


def _percent(*pairs: tuple[float, float | None] | None, best: str = "") -> tuple[Printed | None, ...]:
    """``best`` has a star under every dataset on which the row is the best."""
    marks = (BEST * (mark == "*") for mark in best.ljust(len(pairs)))
    return tuple(None if pair is None else Printed(*pair, 1, mark) for pair, mark in zip(pairs, marks, strict=True))


TABLE2 = {
    "WL subtree": Reported("O(n)", _percent((90.4, 5.7), (59.9, 4.3), (75.0, 3.1), (73.8, 3.9), (50.9, 3.8))),
    "DCNN": Reported("O(n)", _percent(None, None, (61.3, 1.6), (49.1, 1.4), (33.5, 1.4))),
    "PatchySan": Reported("O(n)", _percent((89.0, 4.4), (62.3, 5.7), (75.0, 2.5), (71.0, 2.3), (45.2, 2.8))),
    "DGCNN": Reported("O(n)", _percent((85.8, 1.7), (58.6, 2.5), (75.5, 0.9), (70.0, 0.9), (47.8, 0.9))),
    "GIN": Reported("O(n)", _percent((89.4, 5.6), (64.6, 7.0), (76.2, 2.8), (75.1, 5.1), (52.3, 2.8), best="    *")),
    "DropGIN": Reported(
        "O(rn), r about 20", _percent((90.4, 7.0), (66.3, 8.6), (76.3, 6.1), (75.7, 4.2), (51.4, 2.8), best="****")
    ),
    "1-2-3 GNN": Reported(
        "O(n^4)", _percent((86.1, None), (60.9, None), (75.5, None), (74.2, None), (49.5, None), best="   *")
    ),
    "PPGN*": Reported(
        "O(n^3)",
        _percent((90.6, 8.7), (66.2, 6.5), (77.2, 4.7), (73.0, 5.8), (50.5, 3.6), best="*** *"),
        "* the best of the three versions of the model",
    ),
}
"""Table 2, accuracy over the 10 folds in the protocol of the GIN paper, and how the model's cost grows."""

MOLECULE_MODELS = ("MPNN", "1-GNN", "1-2-3 GNN", "PPGN", "DropMPNN", "Drop-1-GNN")


def _errors(*printed: str) -> dict[str, Printed]:
    """With as many decimals as are printed."""
    found = (Printed(float(value), None, len(value.partition(".")[2])) for value in printed)
    return dict(zip(MOLECULE_MODELS, found, strict=True))


TABLE3 = {
    "mu": _errors("0.358", "0.493", "0.473", "0.0934", "0.059", "0.453"),
    "alpha": _errors("0.89", "0.78", "0.27", "0.318", "0.173", "0.767"),
    "homo": _errors("0.00541", "0.00321", "0.00337", "0.00174", "0.00193", "0.00306"),
    "lumo": _errors("0.00623", "0.00350", "0.00351", "0.0021", "0.00177", "0.00306"),
    "gap": _errors("0.0066", "0.0049", "0.0048", "0.0029", "0.00282", "0.0046"),
    "r2": _errors("28.5", "34.1", "22.9", "3.78", "0.392", "30.83"),
    "zpve": _errors("0.00216", "0.00124", "0.00019", "0.000399", "0.000112", "0.000895"),
    "u0": _errors("2.05", "2.32", "0.0427", "0.022", "0.0409", "1.80"),
    "u": _errors("2.0", "2.08", "0.111", "0.0504", "0.0536", "1.86"),
    "h": _errors("2.02", "2.23", "0.0419", "0.0294", "0.0481", "2.00"),
    "g": _errors("2.02", "1.94", "0.0469", "0.24", "0.0508", "2.12"),
    "cv": _errors("0.42", "0.27", "0.0944", "0.0144", "0.0596", "0.259"),
}
"""Table 3: mean absolute errors on QM9, in the units of the targets."""
