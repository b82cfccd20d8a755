"""The auditor's pages, asked as a browser does, over tables that delta-rs wrote."""

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import httpx
import pytest
from httpx import Response
from starlette.testclient import TestClient

from jobs.audit import audit_label
from jobs.errors import MissingRequirementError
from jobs.hold import approve
from jobs.input_hold import place_hold
from jobs.ledger import HELD, append_event
from jobs.settings import Settings
from jobs.web.facts import flat, sections_of
from jobs.web.login import create_app_with_login, login_token
from jobs.web.serve import listen, login_link
from tests.audited_store import PROFILE, RUN_ID, SLASHED, write_audited_store, write_many_labels
from tests.published_run import make_tables, write_run
from tests.world import settings_under

TOKEN = "a-token-of-enough-characters"
HOST = "http://127.0.0.1:8070"
REPORT = "<p>the report</p>"
PAGES = (
    "/",
    "/search?q=q1",
    "/member?id=ann",
    "/qualification?id=q1",
    "/label?member=ann&qualification=q1",
    "/runs",
    f"/run?id={RUN_ID}",
    f"/report?run={RUN_ID}",
    "/catalog",
    "/style.css",
)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    found = settings_under(tmp_path_factory.mktemp("web"))
    write_audited_store(found.tables)
    found.reports.mkdir()
    (found.reports / f"{RUN_ID}.html").write_text(REPORT)
    (found.home / "secret.html").write_text("never this")
    return found


@pytest.fixture(scope="module")
def stranger(settings: Settings) -> TestClient:
    return TestClient(create_app_with_login(settings, TOKEN), base_url=HOST, follow_redirects=False)


@pytest.fixture(scope="module")
def client(settings: Settings) -> TestClient:
    return client_of(settings)


def client_of(settings: Settings) -> TestClient:
    """A client that has the token."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return TestClient(create_app_with_login(settings, TOKEN), base_url=HOST, headers=headers)


@pytest.fixture(scope="module")
def pages(client: TestClient) -> dict[str, Response]:
    """Every page, asked once."""
    return {path: client.get(path) for path in PAGES}


def words_of(page: str) -> str:
    """The text that a reader sees, its white space made single."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def links_of(page: str) -> list[str]:
    return [unescape(found) for found in re.findall(r'href="(/[^"]*)"', page)]


class TestLogin:
    def test_every_page_wants_the_token(self, stranger: TestClient) -> None:
        answers = {path: stranger.get(path) for path in PAGES if path != "/style.css"}  # the login has the style
        assert {answer.status_code for answer in answers.values()} == {401}
        assert all("ann" not in words_of(answer.text) for answer in answers.values())

    def test_no_route_is_left_out_of_the_list_of_pages(self, settings: Settings) -> None:
        inner = create_app_with_login(settings, TOKEN).routes[-1].app  # type: ignore[attr-defined]
        assert {route.path for route in inner.routes} == {path.partition("?")[0] for path in PAGES}

    @pytest.mark.parametrize("sent", ["", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}"])
    def test_another_token_is_none(self, stranger: TestClient, sent: str) -> None:
        assert stranger.get("/runs", headers={"Authorization": sent}).status_code == 401

    def test_the_link_leaves_a_cookie_and_no_token_in_the_address(self, settings: Settings) -> None:
        browser = TestClient(create_app_with_login(settings, TOKEN), base_url=HOST)
        opened = browser.get("/login", params={"token": TOKEN})
        assert opened.status_code == 200 and opened.url == f"{HOST}/"
        cookie = opened.history[0].headers["Set-Cookie"].lower()
        assert "httponly" in cookie and "samesite=lax" in cookie
        assert browser.get("/member?id=ann").status_code == 200

    def test_the_form_goes_on_to_the_page_that_was_asked_for(self, settings: Settings) -> None:
        browser = TestClient(create_app_with_login(settings, TOKEN), base_url=HOST)
        refused = browser.get("/member?id=ann")
        (login,) = (path for path in links_of(refused.text) if path.startswith("/login"))
        assert 'value="/member?id=ann"' in browser.get(login).text
        assert browser.post("/login", data={"token": "wrong", "next": "/member?id=ann"}).status_code == 403
        opened = browser.post("/login", data={"token": TOKEN, "next": "/member?id=ann"})
        assert opened.url == f"{HOST}/member?id=ann" and opened.status_code == 200

    @pytest.mark.parametrize(
        "next", ["//evil.test", "https://evil.test/", "/\\evil.test", "\\evil", "javascript:x", ""]
    )
    def test_a_login_never_leads_to_another_site(self, stranger: TestClient, next: str) -> None:
        assert stranger.post("/login", data={"token": TOKEN, "next": next}).headers["Location"] == "/"

    def test_the_token_is_made_once_and_read_by_its_owner_alone(self, tmp_path: Path) -> None:
        made = login_token(settings_under(tmp_path))
        file = settings_under(tmp_path).deployment / "web-token"
        assert len(made) >= 32 and login_token(settings_under(tmp_path)) == made
        assert file.stat().st_mode & 0o077 == 0
        file.write_text("")
        with pytest.raises(MissingRequirementError, match="delete it"):
            login_token(settings_under(tmp_path))

    def test_the_printed_link_names_where_it_listens(self) -> None:
        with listen("127.0.0.1", 0) as listening:
            port = listening.getsockname()[1]
            assert login_link(listening, "127.0.0.1", "a b") == f"http://127.0.0.1:{port}/login?token=a+b"
            with pytest.raises(MissingRequirementError, match="another --host or --port"):
                listen("127.0.0.1", port)


def test_the_command_prints_a_link_that_opens_the_pages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jobs.cli", "web", "--port", "0"]
    env = dict(os.environ) | {"SEMLABEL_HOME": str(tmp_path)}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = [process.stderr.readline() for _ in range(2)]
        try:
            page = httpx.get(told[1].strip(), follow_redirects=True, timeout=60)
        finally:
            process.terminate()
    assert page.status_code == 200 and "token" not in str(page.url) and "Why does a member" in page.text


class TestHeaders:
    def test_a_page_runs_nothing_loads_nothing_and_is_not_kept(
        self, client: TestClient, pages: dict[str, Response]
    ) -> None:
        for path, page in (pages | {path: client.get(path) for path in ("/nothing", "/login")}).items():
            policy = page.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "script-src" not in policy and "frame-ancestors 'none'" in policy
            assert page.headers["X-Frame-Options"] == "DENY" and page.headers["X-Content-Type-Options"] == "nosniff"
            assert page.headers["Referrer-Policy"] == "no-referrer"
            assert page.headers["Cache-Control"] == ("private, max-age=300" if path == "/style.css" else "no-store")

    def test_pages_are_only_read(self, client: TestClient) -> None:
        assert {client.request(method, "/member?id=ann").status_code for method in ("POST", "PUT", "DELETE")} == {405}


class TestPages:
    def test_a_search_finds_members_by_start_and_entries_by_text(self, client: TestClient) -> None:
        assert "/member?id=ann" in links_of(client.get("/search?q=an").text)
        found = links_of(client.get("/search?q=WELD").text)
        assert [path for path in found if path.startswith("/qualification")] == [
            "/qualification?id=http%3A%2F%2Fexample.org%2Fskill%3Fa%3D1%26b%3D%3C2%3E"
        ]

    @pytest.mark.parametrize("typed", ["nobody", "%", "_", "'", "' OR 1=1 --", "<script>"])
    def test_a_search_takes_what_is_typed_as_it_stands(self, client: TestClient, typed: str) -> None:
        page = client.get("/search", params={"q": typed})
        assert page.status_code == 200 and "Nothing found" in page.text and "<script" not in page.text

    def test_a_member_has_the_labels_and_their_history(self, client: TestClient) -> None:
        page = client.get("/member?id=ann").text
        assert "3 labels" in words_of(page) and "text 5" in page
        label = "/label?member=ann&qualification=q5"
        assert {label, f"{label}&as_of={RUN_ID}"} <= set(links_of(page)), "the label, and as it was after its change"
        assert "added" in page and "first time" in page

    def test_an_id_with_a_slash_has_its_pages(self, client: TestClient) -> None:
        page = client.get("/qualification", params={"id": SLASHED}).text
        assert "<h1>Weld &lt;b&gt;steel&lt;/b&gt;</h1>" in page and "No member has it." in page
        asked = client.get("/label", params={"member": "ann", "qualification": SLASHED}).text
        assert "Not evaluated" in words_of(asked) and "<b>" not in asked

    def test_an_accepted_label_shows_the_whole_way(self, client: TestClient) -> None:
        page = client.get("/label?member=ann&qualification=q1").text
        seen = words_of(page)
        assert "Accepted score >= threshold: 0.900000 against 0.500000." in seen
        assert page.count('class="box reached') == 7
        assert {"2.2", "0.9", "scorer", RUN_ID, "cascade"} <= set(re.split(r"[ ,]", seen))
        assert "Text of entry 1" in seen and "added" in seen

    def test_every_fact_of_the_audit_is_on_the_page(self, client: TestClient, settings: Settings) -> None:
        seen = words_of(client.get("/label?member=ann&qualification=q1").text)
        audit = flat(audit_label(settings, "ann", "q1"))
        facts = {key: f"{value:.10g}" for key, value in audit.items() if isinstance(value, float)}
        facts |= {
            key: value.replace("T", " ")[:16] for key, value in audit.items() if key.endswith(("_at", ".at")) and value
        }
        facts |= {key: value for key, value in audit.items() if isinstance(value, str) and key not in facts}
        assert len(facts) > 30 and {key for key, fact in facts.items() if fact not in seen} == set()

    def test_a_fact_that_the_page_does_not_know_yet_comes_last(self) -> None:
        sections = sections_of({"state": "accepted", "rank": 3, "verdict.by": "ann", "verdict.at": None})
        assert [section.name for section in sections if section.facts] == ["retrieval", "further"]
        assert sections[-1].facts == (("verdict.by", "ann"),)

    @pytest.mark.parametrize(
        ("pair", "state", "reason", "ended"),
        [
            (("ann", "q3"), "Rejected", "score < threshold", "No label"),
            (("ann", "q9"), "Not evaluated", "stopped early", "Round"),
            (("ann", SLASHED), "Not evaluated", "not among the 10 candidates", "Retrieval"),
            (("cat", "q1"), "Not evaluated", f"quarantined in {RUN_ID}: profile_text holds no <text>", "Profile"),
            (("ann", "q99"), "Not in the catalog", "its status is retired", "Catalog entry"),
            (("ann", "unknown"), "Not in the catalog", "no such entry", "Catalog entry"),
        ],
    )
    def test_an_absent_label_shows_where_the_way_ended(
        self, client: TestClient, pair: tuple[str, str], state: str, reason: str, ended: str
    ) -> None:
        page = client.get("/label", params={"member": pair[0], "qualification": pair[1]}).text
        assert f"{state} {reason}" in words_of(page)
        (told,) = re.findall(r'aria-label="(Reached[^"]*)"', page)
        assert ended in told.partition("The way ended at: ")[2]

    def test_a_profile_is_text_and_on_the_page_of_a_label_alone(self, pages: dict[str, Response]) -> None:
        assert not any("<script" in page.text for page in pages.values())
        shown = [path for path, page in pages.items() if PROFILE in unescape(page.text)]
        assert shown == ["/label?member=ann&qualification=q1"]

    def test_a_member_and_a_label_are_shown_as_of_a_moment(self, client: TestClient) -> None:
        before = {"as_of": "2026-10-31T12:00"}
        assert "This member had no label." in client.get("/member", params={"id": "ann"} | before).text
        asked = client.get("/label", params={"member": "ann", "qualification": "q1"} | before).text
        assert "Not evaluated no run had covered this member by then" in words_of(asked)
        after = client.get("/member", params={"id": "ann", "as_of": RUN_ID}).text
        assert "3 labels as of" in after and f"/label?member=ann&qualification=q1&as_of={RUN_ID}" in links_of(after)
        wrong = client.get("/member", params={"id": "ann", "as_of": "<yesterday>"})
        assert wrong.status_code == 400 and "neither a run nor a time" in wrong.text and "<yesterday>" not in wrong.text

    def test_a_run_shows_its_changes_and_its_report(self, client: TestClient) -> None:
        assert f"/run?id={RUN_ID}" in links_of(client.get("/runs").text)
        page = client.get(f"/run?id={RUN_ID}").text
        assert f"/report?run={RUN_ID}" in links_of(page) and "/label?member=ann&qualification=q5" in links_of(page)
        assert "Published weekly full" in words_of(page)
        report = client.get(f"/report?run={RUN_ID}")
        assert report.text == REPORT and "default-src 'none'" in report.headers["Content-Security-Policy"]

    def test_a_held_run_says_why_and_how_it_goes_on_until_it_is_approved(self, tmp_path: Path) -> None:
        settings, run_id = settings_under(tmp_path), "weekly_full-0123456789ab"
        make_tables(settings.tables)
        write_run(settings.tables, run_id, at=datetime.now(UTC) - timedelta(hours=1), published=False)
        append_event(settings.tables, run_id, HELD, {"reasons": ["labels removed: <6> of 6"], "figures": {}})
        page = client_of(settings).get(f"/run?id={run_id}").text
        assert "labels removed: &lt;6&gt; of 6" in page and f"semlabel approve {run_id}" in page
        approve(settings, run_id)
        assert "semlabel approve" not in client_of(settings).get(f"/run?id={run_id}").text

    def test_what_is_on_hold_stands_above_the_runs(self, tmp_path: Path) -> None:
        held = settings_under(tmp_path)
        pins = write_audited_store(held.tables)
        assert "On hold" not in client_of(held).get("/runs").text
        place_hold(held.tables, pins, "artifact", undone=pins, reason="<bad> labels", who="ann")
        seen = client_of(held).get("/runs").text
        assert "On hold" in seen and "by ann: &lt;bad&gt; labels" in seen and pins.artifact_id in seen

    def test_the_catalog_shows_versions_and_plans(self, client: TestClient) -> None:
        page = client.get("/catalog").text
        assert f"/run?id={RUN_ID}" in links_of(page) and "8 (30)" in page and "180 (900)" in page

    def test_two_catalog_versions_are_compared(self, client: TestClient) -> None:
        page = client.get("/catalog", params={"then": "1", "now": "2"}).text
        assert "0 retired" in words_of(page) and "1 added." in words_of(page)
        assert "Weld &lt;b&gt;steel" in page and "No plan has said" in page
        assert "No entry differs." in client.get("/catalog?then=2&now=2").text
        assert client.get("/catalog?then=999&now=2").status_code == 404

    def test_all_links_of_all_pages_lead_somewhere(self, client: TestClient, pages: dict[str, Response]) -> None:
        followed = {path for page in pages.values() for path in links_of(page.text)}
        assert len(followed) > 10
        broken = {path for path in followed - pages.keys() if client.get(path).status_code != 200}
        assert broken == {"/run?id=earlier"}, "which the fixture's plan names and nobody wrote"

    @pytest.mark.parametrize(
        "path",
        [
            "/member?id=nobody",
            "/qualification?id=none",
            "/run?id=none",
            "/report?run=..%2Fsecret",
            "/report?run=x",
            "/x",
        ],
    )
    def test_what_is_not_there_is_said_on_a_page(self, client: TestClient, path: str) -> None:
        page = client.get(path)
        assert page.status_code == 404 and "<h1>Not Found</h1>" in page.text and "never this" not in page.text

    @pytest.mark.parametrize("path", ["/label", "/member", "/runs?page=0", "/runs?page=x", "/member?id="])
    def test_an_address_that_makes_no_sense_is_said_on_a_page(self, client: TestClient, path: str) -> None:
        page = client.get(path)
        assert page.status_code == 400 and "cannot be understood" in page.text


def test_pages_say_that_no_run_has_made_a_table_yet(tmp_path: Path) -> None:
    fresh = client_of(settings_under(tmp_path))
    assert fresh.get("/").status_code == fresh.get("/search?q=ann").status_code == 200
    for path in ("/runs", "/catalog"):
        assert "semlabel refresh weekly_full" in fresh.get(path).text
    assert fresh.get("/member?id=ann").status_code == 404


def test_pages_stay_small_however_many_labels_there_are(tmp_path: Path) -> None:
    large = settings_under(tmp_path)
    write_many_labels(large.tables, 100_000)
    client = client_of(large)
    first = client.get("/qualification?id=q7").text
    assert "1,000 members have this label" in first and first.count("<tr>") == 101
    (following,) = re.findall(r'rel="next" href="([^"]*)"', first)
    assert "member-000100" in client.get(unescape(following)).text
    assert 'rel="next"' not in client.get("/qualification?id=q7&page=10").text
    assert len(re.findall("/member[?]id", client.get("/search?q=member-").text)) == 25
    assert "100 labels" in client.get("/member?id=member-000999").text
