"""The tools of a worker, and their list as it is sent: written once per change, cut into pages."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic_core import to_json

from toolgate.errors import HandlerError
from toolgate.tool import Tool

PAGE = 100
"""How many tools a page of the list has."""


class Registry:
    """Tools by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._version = 0
        self._pages: list[bytes] | None = None

    @property
    def version(self) -> int:
        """A number that changes whenever the tools do."""
        return self._version

    def add(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            HandlerError: Another one has its name.

        """
        other = self._tools.get(tool.name)
        if other is not None:
            raise HandlerError(
                f"handler '{tool.name}' ({tool.place}): the name is taken by {other.place}; give one of them another name"
            )
        self._tools[tool.name] = tool
        self._changed()

    def remove(self, name: str) -> bool:
        """Take a tool out; false where there was none of this name."""
        if self._tools.pop(name, None) is None:
            return False
        self._changed()
        return True

    def get(self, name: object) -> Tool | None:
        """Find a tool by its name."""
        return self._tools.get(name) if isinstance(name, str) else None

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def page(self, cursor: object = None) -> bytes | None:
        """Write one page of the list, as the members of a result; nothing where the cursor is none of ours.

        A cursor names the version it belongs to: after a change, the client has to begin anew instead of missing a tool.
        """
        if self._pages is None:
            self._pages = self._written()
        if cursor is None:
            return self._pages[0]
        version, _, number = cursor.partition(".") if isinstance(cursor, str) else ("", "", "")
        if version != str(self._version) or not (number.isascii() and number.isdigit() and len(number) < 9):
            return None
        index = int(number)
        return self._pages[index] if 0 < index < len(self._pages) else None

    def _changed(self) -> None:
        self._version += 1
        self._pages = None

    def _written(self) -> list[bytes]:
        entries = [to_json(tool.definition) for tool in self]
        pages = []
        for start in range(0, max(len(entries), 1), PAGE):
            members = b'"tools":[' + b",".join(entries[start : start + PAGE]) + b"]"
            if start + PAGE < len(entries):
                members += f',"nextCursor":"{self._version}.{start // PAGE + 1}"'.encode()
            pages.append(members)
        return pages
