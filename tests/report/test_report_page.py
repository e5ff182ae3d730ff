"""The report builds from no, some and all results, and needs nothing from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from dropgnn.experiments.archive import save_archive
from dropgnn.experiments.studies import STUDIES
from dropgnn.report.markdown import write_markdown
from dropgnn.report.studies import archives_in, heading, report_page
from tests.experiments.test_studies import archive_of
from tests.report.test_demo_page import Balanced

SHARES = {"empty": 0.0, "partial": 0.3, "full": 1.0}


@pytest.fixture(params=SHARES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Results of all studies, or of some with some trials missing, beside a file that is not ours; or none."""
    (tmp_path / "brec_certificate.json").write_text("{}")
    for name in STUDIES if SHARES[request.param] else ():
        save_archive(tmp_path, archive_of(name, share=SHARES[request.param]))
    return tmp_path


def test_the_page_is_whole(folder: Path) -> None:
    archives = archives_in(folder)
    page = report_page(archives)
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", page)
    assert "<script" not in page
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    for archive in archives:
        assert archive.command in page
    assert ("There are no results yet" in page) == (not archives)
    assert page == report_page(archives)


def test_a_heading_says_what_is_special() -> None:
    whole = archive_of("table2", share=0.1)
    assert heading(replace(whole, command="dropgnn reproduce table2")).endswith("(settings of the published code)")
    part = replace(
        whole, command="dropgnn reproduce table2 --dataset PTC_MR --grid --batch-size 32 --drops none,random"
    )
    assert heading(part).endswith("code; dataset PTC_MR; grid; batch size 32; drops none, random)")


def test_the_document_is_whole(folder: Path) -> None:
    archives = archives_in(folder)
    write_markdown(folder / "results.md", archives)
    text = (folder / "results.md").read_text()
    assert all(STUDIES[archive.study].title in text for archive in archives)
    for picture in re.findall(r"\]\((pictures/.*?)\)", text):
        assert (folder / picture).read_text().startswith("<svg")


def test_the_page_opens_in_a_browser(tmp_path: Path) -> None:
    """Rendered without network by a real browser: a picture with something on it."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    (tmp_path / "page.html").write_text(report_page([archive_of(name) for name in STUDIES]))
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1200,2000", f"--screenshot={tmp_path / 'page.png'}",
         (tmp_path / "page.html").as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    assert (tmp_path / "page.png").stat().st_size > 50_000
