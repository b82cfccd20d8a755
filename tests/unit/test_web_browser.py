"""The auditor's pages in a real browser that runs no scripts: search, open, deep link, no result, by keyboard alone."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from jobs.settings import Settings
from jobs.web.login import create_app_with_login
from jobs.web.serve import listen, login_link
from tests.audited_store import RUN_ID, write_audited_store, write_many_labels
from tests.world import settings_under

TOKEN = "a-token-of-enough-characters"
Open = Callable[[str], Page]


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """Serve the pages and yield the link that logs in; whoever asks early waits at the socket."""
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app_with_login(settings, TOKEN), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield login_link(listening, "127.0.0.1", TOKEN)
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = settings_under(tmp_path_factory.mktemp("web"))
    write_audited_store(settings.tables)
    with served(settings) as link:
        yield link


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens addresses in a new session; fails the test where a page asks for anything from elsewhere, or complains."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1000, "height": 800})
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))

    def opened(url: str) -> Page:
        page.goto(url)
        return page

    yield opened
    assert all(url.startswith(("http://127.0.0.1:", "data:")) for url in asked)
    assert [text for text in said if "401" not in text] == []  # the browser's own word on a refusal
    context.close()


def press_until(page: Page, selector: str, *, key: str = "Tab", at_most: int = 60) -> None:
    """Press a key until what is chosen has the focus."""
    for _ in range(at_most):
        page.keyboard.press(key)
        if page.locator(f"{selector}:focus").count():
            return
    raise AssertionError(f"{at_most} times {key} do not reach {selector}")


def test_from_the_search_to_a_step_of_a_label_by_keyboard_alone(open_page: Open, login: str) -> None:
    page = open_page(login)
    page.keyboard.press("Tab")
    assert page.locator("a.skip:focus").is_visible(), "first of all, the way past the navigation"
    press_until(page, "#q")
    page.keyboard.type("an")
    page.keyboard.press("Enter")
    press_until(page, "a[href='/member?id=ann']")
    page.keyboard.press("Enter")
    press_until(page, "main a[href='/label?member=ann&qualification=q5']")
    page.keyboard.press("Enter")
    assert page.locator("h1").inner_text() == "text 5" and page.locator(".answer").inner_text().startswith("Accepted")
    press_until(page, "svg a[href='#judgment']")
    page.keyboard.press("Enter")
    assert page.url.endswith("#judgment") and page.locator("#judgment").is_visible()
    assert page.locator("svg.lineage rect").count() == 7


def test_a_deep_link_opens_after_the_login_that_it_asks_for(open_page: Open, login: str) -> None:
    deep = f"/label?member=ann&qualification=q3&as_of={RUN_ID}"
    page = open_page(login.partition("/login")[0] + deep)
    assert page.locator("h1").inner_text() == "Unauthorized"
    page.get_by_role("link", name="Log in").click()
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    assert page.url.endswith(deep) and page.locator(".answer").inner_text().startswith("Rejected")


def test_a_search_without_a_result_says_so_and_how_to_search(open_page: Open, login: str) -> None:
    page = open_page(login)
    page.get_by_label("Member or qualification").fill("<script>alert(1)</script>")
    page.get_by_role("button", name="Search").click()
    assert "Nothing found" in page.get_by_role("status").inner_text()
    assert page.get_by_label("Member or qualification").input_value() == "<script>alert(1)</script>"


def test_a_phone_scrolls_pictures_and_tables_and_not_the_page(open_page: Open, login: str) -> None:
    page = open_page(login)
    page.set_viewport_size({"width": 380, "height": 800})
    for path in ("member?id=ann", "label?member=ann&qualification=q1", "runs", f"run?id={RUN_ID}", "catalog"):
        page.goto(login.partition("login")[0] + path)
        box = page.locator("main").bounding_box()
        assert box is not None and box["width"] <= 380
        assert page.evaluate("document.documentElement.scrollWidth") == 380, path


def test_a_hundred_thousand_labels_make_small_pages(open_page: Open, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = settings_under(tmp_path_factory.mktemp("large"))
    write_many_labels(settings.tables, 100_000)
    with served(settings) as link:
        page = open_page(link)
        page.get_by_label("Member or qualification").fill("member-0009")
        page.get_by_role("button", name="Search").click()
        assert page.locator("main li, main tbody tr").count() == 25
        page.goto(link.partition("login")[0] + "qualification?id=q7")
        page.get_by_role("link", name="Next").click()
        assert (
            page.locator("tbody tr").count() == 100 and page.locator("tbody th").first.inner_text() == "member-000100"
        )
