"""Which browser is taken, and what is said when there is none."""

import pytest

from tests.page.browser import chromium


def test_a_browser_is_looked_for_by_its_usual_names():
    assert chromium({}, {"google-chrome": "/usr/bin/google-chrome"}.get) == "/usr/bin/google-chrome"


def test_one_that_is_named_is_taken_before_all_others():
    there = {"chromium": "/usr/bin/chromium", "/opt/chrome": "/opt/chrome"}
    assert chromium({"PANJOIN_CHROMIUM": "/opt/chrome"}, there.get) == "/opt/chrome"


def test_without_one_the_remedy_is_said():
    with pytest.raises(FileNotFoundError, match=r"need a Chromium, .* run: make browser .*apt-get install chromium"):
        chromium({}, {}.get)
    with pytest.raises(
        FileNotFoundError, match=r"PANJOIN_CHROMIUM names '/nowhere', which is no program; .*make browser"
    ):
        chromium({"PANJOIN_CHROMIUM": "/nowhere"}, {"chromium": "/usr/bin/chromium"}.get)
