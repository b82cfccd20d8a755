"""The page of a run in a real browser: nothing from outside, all by keyboard, on a phone, in the dark and on paper."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from jobs.report_run import report_of
from jobs.run_page import write_page
from jobs.table_reader import pins_of
from tests.published_run import make_tables, write_run
from tests.world import settings_under


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = settings_under(tmp_path_factory.mktemp("page"))
    make_tables(settings.tables)
    write_run(settings.tables, "weekly_full-1", at=datetime(2026, 11, 1, tzinfo=UTC))
    write_page(settings.home / "run.html", report_of(settings, pins_of(settings.tables, "weekly_full-1")))
    return settings.home / "run.html"


@pytest.fixture
def page(browser: Browser, path: Path) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 380, "height": 800})
    opened.goto(path.as_uri())
    yield opened
    opened.close()


def test_it_asks_for_nothing_but_itself_and_complains_of_nothing(browser: Browser, path: Path) -> None:
    """Under the policy that Airflow's page of it has too: no script, no font, no picture from anywhere."""
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:"}
    page = browser.new_page()
    page.route(
        "http://report.test/**", lambda route: route.fulfill(path=path, headers=policy, content_type="text/html")
    )
    asked, said = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto("http://report.test/run.html")
    asked = [url for url in asked if not url.endswith("/favicon.ico")]  # the browser's own wish
    assert (asked, said) == (["http://report.test/run.html"], [])
    page.close()


def test_tab_goes_to_all_that_can_be_followed_or_scrolled(page: Page) -> None:
    wanted = page.eval_on_selector_all("a, [tabindex]", "all => all.length")
    focused = []
    for _ in range(wanted):
        page.keyboard.press("Tab")
        focused.append(
            page.evaluate("(document.activeElement.getAttribute('href') || document.activeElement.ariaLabel)")
        )
    assert focused[0] == "#quality", "first of all, the way past the contents"
    assert len(set(focused[1:])) == wanted - 1 and "Rounds" in focused and None not in focused
    targets = {target[1:] for target in focused if target.startswith("#")}
    assert targets == set(page.eval_on_selector_all("section", "all => all.map(one => one.id)"))


def test_a_phone_scrolls_tables_and_not_the_page(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == 380
    assert page.evaluate(
        "[...document.querySelectorAll('.table')].some(table => table.scrollWidth > table.clientWidth)"
    )


def test_every_plot_says_in_words_what_it_shows(page: Page) -> None:
    told = page.eval_on_selector_all("figure svg", "all => all.map(one => [one.role, one.ariaLabel])")
    assert len(told) == 4 and all(role == "img" and len(label) > 20 for role, label in told)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_either_scheme(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    ink, ground = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert contrast(ink, ground) > 7


def test_paper_gets_the_figures_without_the_contents(page: Page) -> None:
    page.emulate_media(media="print")
    assert not page.is_visible("nav") and page.is_visible("#quality table") and page.is_visible("#pins")
    assert page.pdf(format="A4").startswith(b"%PDF")


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2 of two colours, given as `rgb(r, g, b)`."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
