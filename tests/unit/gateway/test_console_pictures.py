"""Each page of the console has its pictures: wide and on a phone, light and dark, small enough to be kept."""

from gateway.console.plan import VIEWS
from tests.browser.conftest import OTHER_SCHEMES, WINDOWS
from tests.browser.console_pages import KEPT, name_of

MOST_BYTES = 3_000_000


def test_each_page_has_its_pictures_and_no_picture_is_of_a_page_that_is_gone() -> None:
    """`make pictures` takes them anew."""
    names = {name_of(view.path) for view in VIEWS}
    for window in (*WINDOWS, *OTHER_SCHEMES):
        kept = {picture.stem for picture in (KEPT / window.name).glob("*.png")}
        assert kept - {"login"} == names, window.name


def test_the_pictures_are_small() -> None:
    assert sum(picture.stat().st_size for picture in KEPT.glob("*/*.png")) <= MOST_BYTES
