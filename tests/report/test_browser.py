"""The page in a real browser."""

import shutil

import pytest

from tests.report.conftest import SCRIPT

playwright_api = pytest.importorskip("playwright.sync_api")

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser found; one of {', '.join(NAMES)} is needed")
    with playwright_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, page):
    """Opens the page, with console messages in `complaints`."""
    contexts = []

    def visit(**options):
        contexts.append(browser.new_context(**options))
        tab = contexts[-1].new_page()
        tab.complaints, tab.requests = [], []
        tab.on("console", lambda message: tab.complaints.append(message.text))
        tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.goto(page.as_uri())
        return tab

    yield visit
    for context in contexts:
        context.close()


def ranks(tab):
    """The ranks of the visible rows, from top to bottom."""
    rows = tab.locator("#top-table tbody tr:visible td:first-child")
    return [int(text) for text in rows.all_inner_texts()]


def header(tab, name):
    return tab.get_by_role("columnheader", name=name)


def test_the_page_opens_without_errors_or_network_requests(visit, page):
    tab = visit()
    tab.get_by_role("button", name="Show all").click()
    assert tab.complaints == []
    requests = [url for url in tab.requests if not url.startswith("data:")]
    assert requests == [page.as_uri()]


def test_a_script_in_the_data_is_shown_but_not_run(visit):
    tab = visit()
    assert tab.title() == "Outliers in people & more.csv"
    assert tab.get_by_text(SCRIPT, exact=True).first.is_visible()


def test_the_page_runs_only_its_own_script(visit):
    tab = visit()
    tab.evaluate(
        "document.body.insertAdjacentHTML('beforeend',"
        "`<img src='x' onerror='document.title = \"taken over\"'>`)"
    )
    tab.wait_for_timeout(100)
    assert tab.title() == "Outliers in people & more.csv"
    assert any("Content Security Policy" in text for text in tab.complaints)


def test_sorting_by_click(visit):
    tab = visit()
    assert ranks(tab) == list(range(1, 11))
    assert header(tab, "Rank").get_attribute("aria-sort") == "ascending"
    tab.get_by_role("button", name="Rank").click()
    assert ranks(tab) == list(range(20, 10, -1))
    assert header(tab, "Rank").get_attribute("aria-sort") == "descending"
    tab.get_by_role("button", name="Loss").click()
    assert ranks(tab) == list(range(1, 11))
    assert header(tab, "Loss").get_attribute("aria-sort") == "descending"
    assert header(tab, "Rank").get_attribute("aria-sort") is None
    assert tab.get_by_role("status").inner_text() == "Sorted by Loss, descending."


def test_names_with_numbers_are_sorted_numerically(visit):
    tab = visit()
    tab.get_by_role("button", name="Row", exact=True).click()
    names = tab.locator("#top-table tbody th").all_inner_texts()
    numbers = [int(name.removeprefix("p")) for name in names]
    assert numbers == sorted(numbers)


def test_sorting_by_keyboard(visit):
    tab = visit()
    tab.get_by_role("searchbox", name="Search").focus()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent.trim()") == "Rank"
    tab.keyboard.press("Enter")
    assert ranks(tab) == list(range(20, 10, -1))
    tab.keyboard.press("Space")
    assert ranks(tab) == list(range(1, 11))
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert tab.evaluate(outline) == "solid"


def test_the_first_tab_stop_skips_to_the_content(visit):
    tab = visit()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"


def test_searching(visit):
    tab = visit()
    search = tab.get_by_role("searchbox", name="Search")
    search.fill("260.5  HEIGHT")
    assert tab.locator("#top-table tbody tr:visible th").all_inner_texts() == ["p3"]
    assert tab.get_by_role("status").inner_text() == "1 of 20 rows shown."
    search.fill("no such thing")
    assert ranks(tab) == []
    search.fill("")
    assert ranks(tab) == list(range(1, 21))


def test_all_rows_can_be_shown(visit):
    tab = visit()
    tab.get_by_role("button", name="Show all 20 rows").click()
    assert ranks(tab) == list(range(1, 21))
    assert tab.evaluate("document.activeElement.id") == "rank-11"


def test_all_rows_are_visible_without_javascript(visit):
    tab = visit(java_script_enabled=False)
    assert ranks(tab) == list(range(1, 21))
    assert not tab.locator("#search").is_visible()


@pytest.mark.parametrize("width", [320, 375, 768, 1280])
def test_the_page_fits_the_screen(visit, width):
    tab = visit(viewport={"width": width, "height": 700}, is_mobile=width < 700)
    tab.get_by_role("button", name="Show all").click()
    for details in tab.locator("details:not([open]) summary").all():
        details.click()
    assert tab.evaluate("document.documentElement.scrollWidth") == width


def test_the_table_keeps_its_roles_on_a_phone(visit):
    tab = visit(viewport={"width": 375, "height": 700}, is_mobile=True)
    table = tab.get_by_role("table").first
    assert table.get_by_role("columnheader").count() == 6
    assert table.get_by_role("row").count() == 11
    assert table.get_by_role("rowheader", name="p3", exact=True).count() == 1


def background(tab):
    return tab.evaluate("getComputedStyle(document.body).backgroundColor")


def test_dark_mode_is_dark(visit):
    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    assert background(light) == "rgb(255, 255, 255)"
    assert background(dark) == "rgb(17, 21, 26)"


def test_print_is_light_and_complete(visit):
    tab = visit(color_scheme="dark")
    tab.emulate_media(media="print")
    assert background(tab) == "rgb(255, 255, 255)"
    assert ranks(tab) == list(range(1, 21))
    for control in ("nav", "#search", "#unfold"):
        assert not tab.locator(control).is_visible()
