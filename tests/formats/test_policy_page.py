"""The tables of the page about policy files are those of the code and its tests."""

from tests.formats.policy_tables import PAGE, page_with_tables


def test_the_tables_of_the_page() -> None:
    assert PAGE.read_text() == page_with_tables(PAGE.read_text()), "python -m tests.formats.policy_tables"
