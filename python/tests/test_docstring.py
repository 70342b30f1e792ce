from __future__ import annotations

import pytest

from toolgate.docstring import Docstring, parse

GOOGLE = """Place an order
    that runs over two lines.

    More about it.

    Args:
        item: What to buy.
        count (int, optional): How many,
            at least one.
        *rest: Ignored stars.

    Returns:
        note: this is no parameter.
    """
NUMPY = """Place an order.

    Parameters
    ----------
    item : str
        What to buy.
    count, spare : int, optional
        How many,

        at least one.

    Returns
    -------
    note : int
        No parameter.
    """
REST = """Place an order.

    :param item: What to buy.
    :param int count: How many,
        at least one.
    :returns: note
    :rtype: int
    """


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, Docstring()),
        ("  ", Docstring()),
        ("One line.", Docstring("One line.")),
        ("\n    One line.\n    ", Docstring("One line.")),
        (GOOGLE, Docstring("Place an order that runs over two lines.",
                           {"item": "What to buy.", "count": "How many, at least one.", "rest": "Ignored stars."})),
        (NUMPY, Docstring("Place an order.", {"item": "What to buy.", "count": "How many, at least one.",
                                              "spare": "How many, at least one."})),
        (REST, Docstring("Place an order.", {"item": "What to buy.", "count": "How many, at least one."})),
        ("\nArgs:\n    a: First.", Docstring("", {"a": "First."})),
        (":param a: First.", Docstring("", {"a": "First."})),
        ("See: this.\nAnd: that.", Docstring("See: this. And: that.")),
    ],
)  # fmt: skip
def test_styles(text: str | None, expected: Docstring) -> None:
    assert parse(text) == expected
