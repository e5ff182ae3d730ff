"""The demonstration's page stands alone and says what its pictures show."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from dropgnn.experiments.beyond_wl import METHODS, Result, Trial
from dropgnn.experiments.demo import EPOCHS, summarize, trials
from dropgnn.experiments.paper import Printed
from dropgnn.report.demo import demo_page

VOID = {"meta", "path", "use", "br"}


def made_up_results() -> dict[Trial, Result]:
    return {
        trial: Result(train=1.0, test=0.25 * (trial.seed + 1), exact={}, by_runs={}, seconds=1.0)
        for trial in trials(seeds=3)
    }


class Balanced(HTMLParser):
    """Every tag that opens closes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_summary_has_the_papers_values_beside_ours() -> None:
    table = summarize(made_up_results())
    cell = table["four_cycles"]["ports"]
    assert (cell.mean, round(cell.deviation, 3), cell.paper) == (0.5, 0.204, Printed(0.84, 0.07))
    assert {task: list(row) for task, row in table.items()} == {task: list(METHODS) for task in EPOCHS}


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = demo_page(summarize(made_up_results()), seeds=3, seconds=1.0)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", page)
    assert "<script" not in page
    assert "url(http" not in page
    assert not re.search(r"@import|@font-face", page)


def test_the_page_is_well_formed_and_the_same_every_time() -> None:
    first, again = (demo_page(summarize(made_up_results()), seeds=3, seconds=1.0) for _ in range(2))
    assert first == again
    parser = Balanced()
    parser.feed(first)
    assert parser.open == []


def test_the_caption_says_what_the_law_is() -> None:
    page = demo_page(summarize(made_up_results()), seeds=3, seconds=1.0)
    assert "An 8 occurs in 17% of the runs on the 8-cycle and never on the 4-cycles" in page
    assert "a 7 is 8 times as likely on the 4-cycles" in page


def test_wide_tables_scroll_by_themselves() -> None:
    """Or the whole page would, on a phone."""
    page = demo_page(summarize(made_up_results()), seeds=3, seconds=1.0)
    assert page.count("<table>") == page.count('<div class="scrolling">\n<table>') == 1
