"""Administration and settings in a real browser: what one does there is what another user sees next."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, before_the_script, choosing_a_file, tab_to
from tests.web import PASSWORD, add_user, site_of

pytestmark = pytest.mark.browser


def test_a_shared_dataset_that_is_switched_off_is_gone_for_a_second_user(
    site: Site, open_page: Callable[..., Page], picture: Callable[[Page, str], None]
) -> None:
    add_user(site.app, "Mia")
    page = open_page("admin/shared")
    page.get_by_label("Name", exact=True).fill("Lab notes")
    page.get_by_label("Everyone").check()
    page.get_by_text("Advanced").click()
    page.get_by_label("Collection").fill("shared_lab")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Lab notes")
    mia = open_page("search", cookies=[site.cookie("Mia")])
    expect(mia.get_by_label("Lab notes")).to_be_visible()
    page.get_by_role("button", name="Turn off Lab notes").click()
    expect(page.get_by_role("status")).to_contain_text("Nobody can search it now")
    picture(page, "admin-shared")
    mia.reload()
    expect(mia.get_by_label("Lab notes")).to_have_count(0)
    page.get_by_role("link", name="Lab notes", exact=True).click()
    page.get_by_label("Type the name to confirm").fill("Lab notes")
    page.get_by_role("button", name="Delete with all documents").click()
    expect(page.get_by_role("table")).not_to_contain_text("Lab notes")


def test_a_change_of_the_file_is_seen_before_it_is_saved(site: Site, open_page: Callable[..., Page]) -> None:
    page = open_page("admin/shared/file", viewport={"width": 360, "height": 740})
    text = page.get_by_label("The list of shared datasets")
    before = text.input_value()
    text.fill(before.replace("Braid guide", "Guide to Braid"))
    page.get_by_role("button", name="Check").click()
    expect(page.locator("ins")).to_contain_text("Guide to Braid")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("status")).to_contain_text("in effect")
    assert site.braid.registry.entries()[0].name == "Guide to Braid"
    site.braid.registry.replace_text(before)


def test_settings_are_saved_at_once_and_the_balance_is_said_in_words(
    site: Site, open_page: Callable[..., Page], picture: Callable[[Page, str], None]
) -> None:
    noa = add_user(site.app, "Noa")
    page = open_page("settings", cookies=[site.cookie("Noa")])
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    page.get_by_label("By score").check()
    expect(page.locator("#expert .saved")).to_have_text("Saved")
    page.get_by_role("slider", name="Balance").fill("0.4")
    expect(page.locator("output[for=alpha]")).to_have_text("40% meaning, 60% keywords")
    page.get_by_label("Theme").select_option("dark")
    expect(page.locator("#look .saved")).to_have_text("Saved")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    picture(page, "settings")
    page.reload()
    expect(page.get_by_label("By score")).to_be_checked()
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
    stored = site_of(site.app).accounts.get(noa.id).preferences
    assert dict(stored) == {"fusion": "weighted", "alpha": 0.4, "theme": "dark"}
    page.locator("#language").select_option("ja")
    expect(page.get_by_role("heading", level=1)).to_have_text("設定")


def test_a_setting_that_is_changed_before_the_script_runs_can_be_saved(
    site: Site, open_page: Callable[..., Page]
) -> None:
    add_user(site.app, "Eva")
    page = open_page("search", cookies=[site.cookie("Eva")])
    with before_the_script(page, "settings"):
        page.goto(site.url + "settings", wait_until="commit")
        page.locator("#language").select_option("ko")
    expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(1)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("설정")


def test_a_setting_that_cannot_be_is_said_beside_it(site: Site, open_page: Callable[..., Page]) -> None:
    add_user(site.app, "Kai")
    page = open_page("settings", cookies=[site.cookie("Kai")])
    page.get_by_label("Only these").check()
    expect(page.locator("#search .saved")).to_have_text("Select at least one dataset, or choose all.")
    page.locator(".these input").first.check()
    expect(page.locator("#search .saved")).to_have_text("Saved")


def test_settings_without_scripts_have_a_button_in_each_section(site: Site, open_page: Callable[..., Page]) -> None:
    add_user(site.app, "Uma")
    page = open_page("settings", cookies=[site.cookie("Uma")], java_script_enabled=False)
    page.get_by_label("Theme").select_option("dark")
    page.locator("#look").get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("saved")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_an_examination_shows_its_end_by_itself(open_page: Callable[..., Page]) -> None:
    page = open_page("admin/indexes")
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_text("Database and indexes agree")).to_be_visible()


def test_on_a_phone_the_open_section_the_places_and_the_language_are_in_view(open_page: Callable[..., Page]) -> None:
    page = open_page("admin/audit", viewport={"width": 390, "height": 844})
    expect(page.locator(".sections [aria-current]")).to_be_in_viewport(ratio=1)
    for place in page.locator(".places a").all():
        expect(place).to_be_in_viewport(ratio=1)
    page.locator("#me-button").click()
    page.locator("#languages").get_by_text("日本語").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("監査ログ")


@pytest.mark.parametrize("path", ["audit", "shared", "jobs", "folders"])
def test_on_a_phone_no_part_of_a_table_is_out_of_sight(open_page: Callable[..., Page], path: str) -> None:
    page = open_page(f"admin/{path}", viewport={"width": 390, "height": 844})
    hidden = page.locator(".scroll").evaluate_all("all => all.map((one) => one.scrollWidth - one.clientWidth)")
    assert hidden
    assert max(hidden) <= 0


def test_people_are_chosen_one_after_the_other_with_the_keyboard(site: Site, open_page: Callable[..., Page]) -> None:
    for name in ("Noor Ada", "Noor Bea"):
        add_user(site.app, name)
    page = open_page("admin/group?name=board", viewport={"width": 390, "height": 844})
    for part, name in (("noor a", "Noor Ada"), ("noor b", "Noor Bea"), ("noor b", "Noor Bea")):
        page.locator("#user").press_sequentially(part)
        expect(page.locator("#user-list option")).to_have_count(1)  # more are offered before all is typed
        expect(page.locator("#user-list option")).to_have_attribute("value", name)
        page.locator("#user").fill(name)  # as the list of offers does
        page.keyboard.press("Enter")
        expect(page.get_by_label(name, exact=True)).to_be_checked()
    expect(page.locator(".people-field .check")).to_have_count(2)
    page.get_by_role("button", name="Add", exact=True).press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("2 people are now in “board”.")
    page.locator("summary", has_text="Delete group").press("Enter")
    expect(page.locator(".confirmed")).to_contain_text("It cannot be undone.")
    page.get_by_role("button", name="Delete group").click()


def test_the_audit_log_offers_oneself_and_suspended_people_whatever_is_filtered(
    site: Site, open_page: Callable[..., Page]
) -> None:
    accounts = site_of(site.app).accounts
    accounts.set_disabled(add_user(site.app, "Odile").id, True)
    oneself = next(account.name for account in accounts.all() if account.is_admin)
    page = open_page("admin/audit?kind=people")
    for name in ("Odile", oneself):
        page.get_by_label("Person").fill("")
        page.get_by_label("Person").press_sequentially(name[:3])
        expect(page.locator(f'#people option[value="{name}"]')).to_have_count(1)


def test_many_groups_are_narrowed_by_a_part_of_the_name(site: Site, open_page: Callable[..., Page]) -> None:
    user = add_user(site.app, "Ines", groups=tuple(f"team {letter}" for letter in "abcdefghijklm"))
    page = open_page(f"admin/users/{user.id}")
    page.get_by_label("team c").uncheck()
    page.get_by_label("Find a group").fill("TEAM C")
    expect(page.get_by_label("team c")).to_be_visible()
    expect(page.get_by_label("team d")).to_be_visible()  # it is ticked
    page.get_by_label("team d").uncheck()
    page.get_by_label("Find a group").fill("user")
    expect(page.get_by_label("team d")).to_be_hidden()  # how many users it has is no part of its name
    page.get_by_label("Find a group").fill("")
    expect(page.get_by_label("team d")).to_be_visible()
    page.get_by_label("Find a group").fill("c")
    expect(page.get_by_label("team d")).to_be_hidden()
    page.locator("section", has=page.get_by_label("Find a group")).get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_have_text("Groups saved.")
    now = site_of(site.app).accounts.get(user.id).groups
    assert now == {f"team {letter}" for letter in "abefghijklm"}
    site_of(site.app).accounts.remove(user.id)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_file_is_chosen_by_a_button_in_the_language_of_the_page(
    open_page: Callable[..., Page], language: str
) -> None:
    page = open_page("admin/users/add", locale=language)
    told = page.locator(".file-field output")
    expect(told).to_have_text({"en": "No file chosen", "ko": "선택된 파일 없음"}[language])
    tab_to(page, page.locator("#csv-file"))
    expect(page.locator("label.button[for=csv-file]")).to_have_css("outline-style", "solid")
    with choosing_a_file(page) as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files({"name": "people.csv", "mimeType": "text/csv", "buffer": b"name\nOda\n"})
    expect(told).to_have_text("people.csv")


def test_what_is_done_to_several_users_is_offered_by_their_state(site: Site, open_page: Callable[..., Page]) -> None:
    accounts = site_of(site.app).accounts
    accounts.sign_up("Wanda Waits", PASSWORD, waiting=True)
    accounts.add("Wanda Works", PASSWORD)
    page = open_page("admin/users?q=wanda")
    bar = page.locator(".shelf-acts")
    expect(bar).to_be_hidden()
    page.get_by_label("Wanda Works", exact=True).check()
    expect(bar.get_by_role("status")).to_have_text("1 selected")
    expect(bar.get_by_role("button", name="Approve")).to_be_hidden()
    expect(bar.get_by_role("button", name="Suspend")).to_be_visible()
    page.get_by_label("Wanda Works", exact=True).uncheck()
    page.get_by_label("Wanda Waits", exact=True).check()
    expect(bar.get_by_role("button", name="Suspend")).to_be_hidden()
    bar.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status").first).to_have_text("1 account can sign in now.")
    for account in map(accounts.named, ("Wanda Waits", "Wanda Works")):
        assert account
        assert account.state == "active"
        accounts.remove(account.id)


@pytest.mark.parametrize("scripted", [True, False])
def test_enter_on_a_tick_does_nothing_to_anybody(site: Site, open_page: Callable[..., Page], *, scripted: bool) -> None:
    accounts = site_of(site.app).accounts
    waiting, ticked = accounts.sign_up("Enid Waits", PASSWORD, waiting=True), accounts.add("Enid Ticked")
    page = open_page("admin/users?q=enid", java_script_enabled=scripted)
    tick = page.get_by_label("Enid Ticked", exact=True)
    tick.check()
    tick.press("Enter")
    expect(tick).to_be_checked()
    page.get_by_role("link", name="Active").click()
    assert [accounts.get(each.id).state for each in (waiting, ticked)] == ["waiting", "new"]
    for account in (waiting, ticked):
        accounts.remove(account.id)


def test_enter_on_a_tick_takes_no_label_from_a_conversation(site: Site, open_page: Callable[..., Page]) -> None:
    store, me = site_of(site.app).conversations, site.braid.ledger.users()[0].id
    one = store.create(me, "Ticked by keyboard").id
    store.arrange(me, [one], label="kept")
    page = open_page("chat/shelf")
    tick = page.get_by_label("Select Ticked by keyboard")
    tick.check()
    tick.press("Enter")
    expect(tick).to_be_checked()
    page.reload()
    expect(page.locator("li", has_text="Ticked by keyboard").locator(".chip")).to_have_text("kept")
    page.get_by_label("Select Ticked by keyboard").check()
    page.locator("#label").fill("new")
    page.locator("#label").press("Enter")
    expect(page.locator("li", has_text="Ticked by keyboard").locator(".chip")).to_have_text("new")
    store.delete(me, one)


def test_the_list_of_users_follows_what_is_typed_and_links_are_copied(
    site: Site, open_page: Callable[..., Page]
) -> None:
    accounts = site_of(site.app).accounts
    added = [accounts.add(name) for name in ("Ulla Upper", "=Ulf Upper")]
    page = open_page("admin/users")
    page.get_by_label("Name or group contains").press_sequentially("upper")
    expect(page.locator(".people tbody tr")).to_have_count(2)
    expect(page.get_by_label("Name or group contains")).to_be_focused()
    assert page.url.endswith("?q=upper")
    page.get_by_label("Select all").check()
    bar = page.locator(".shelf-acts")
    expect(bar.get_by_role("status")).to_have_text("2 selected")
    bar.get_by_role("button", name="Invite").click()
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.taken = text }")
    page.get_by_role("button", name="Copy: Ulla Upper").click()
    link = page.get_by_label("Invitation link: Ulla Upper").input_value()
    expect(page.get_by_role("button", name="Copy: Ulla Upper")).to_have_text("Copied")
    assert page.evaluate("window.taken") == link
    page.get_by_role("button", name="Copy all").click()
    expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible()
    lines = page.evaluate("window.taken").split("\n")
    assert sorted(line.split("\t")[0] for line in lines) == ["'=Ulf Upper", "Ulla Upper"]
    assert f"Ulla Upper\t{link}" in lines
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    assert download.value.suggested_filename == "invitations.csv"
    assert "invitation" not in download.value.url
    assert f"Ulla Upper,{link}" in download.value.path().read_text("utf-8-sig").splitlines()
    for account in added:
        accounts.remove(account.id)
