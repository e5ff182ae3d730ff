"""Figures as pictures and on the terminal: curves alone, and several in one panel."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from dropgnn.experiments.summary import Curve, Figure
from dropgnn.report import studies
from dropgnn.report.curves import draw
from dropgnn.report.terminal import show

POINTS = ((1.0, (0.5, 0.7)), (2.0, (0.8, 0.8)))
ALONE = Figure("Alone", "runs", (Curve("one", POINTS), Curve("two", ((1.0, ()), (2.0, (0.9,))))), "A note")
LONG = (*POINTS, (3.0, (0.9, 0.9)))
SHARED = Figure(
    "Shared",
    "epoch",
    (
        Curve("one", POINTS, panel="here", level=0.875),
        Curve("two", LONG, panel="here"),
        Curve("two", POINTS, panel="there"),
    ),
    "A note",
)


def printed(figure: Figure) -> list[str]:
    text = StringIO()
    show(Console(file=text, width=80), [figure])
    return [" ".join(line.split()) for line in text.getvalue().splitlines() if line.strip()]


def test_a_curve_alone_has_a_band_and_a_column() -> None:
    one, two = draw(ALONE).axes
    assert [ax.get_title() for ax in (one, two)] == ["one", "two"]
    assert [len(ax.collections) for ax in (one, two)] == [1, 1]
    assert one.get_ylim() == two.get_ylim()
    lines = printed(ALONE)
    assert "1 0.60 ± 0.10 -" in lines
    assert "2 0.80 ± 0.00 0.90" in lines
    assert lines[-1] == "A note"


def test_curves_that_share_a_panel_share_a_table() -> None:
    picture = draw(SHARED)
    here, there = picture.axes
    assert [ax.get_title() for ax in (here, there)] == ["here", "there"]
    assert not here.collections
    assert [line.get_linestyle() for line in here.lines] == ["-", ":", "-"]
    assert [line.get_color() for line in there.lines] == [
        here.lines[-1].get_color()
    ]  # as it is called, not as it comes
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["one", "two"]
    lines = printed(SHARED)
    assert [line for line in lines if line.startswith("Shared")] == ["Shared, here", "Shared, there"]
    assert "1 0.600 ± 0.100 0.600 ± 0.100" in lines
    assert "3 - 0.900 ± 0.000" in lines
    assert "dotted 0.875 -" in lines
    assert lines.count("A note") == 1


def test_a_panel_to_be_shared_may_have_one_curve_so_far() -> None:
    """A study that has just begun."""
    figure = Figure("Begun", "epoch", tuple(Curve("GIN", POINTS, panel=name, level=0.9) for name in ("MUTAG", "PTC")))
    assert [ax.get_title() for ax in draw(figure).axes] == ["MUTAG", "PTC"]
    assert [line for line in printed(figure) if line.startswith("Begun")] == ["Begun, MUTAG", "Begun, PTC"]


@pytest.mark.parametrize(("figure", "has_bands"), [(ALONE, True), (SHARED, False)])
def test_the_caption_says_whether_there_are_bands(figure: Figure, has_bands: bool) -> None:
    assert ("bands" in studies._figure(figure)) == has_bands
