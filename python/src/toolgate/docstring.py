"""Docstrings: the first paragraph, and what is said about each parameter.

Three styles are understood, told apart by what they look like: Google (`Args:` and indented lines), NumPy (`Parameters`
underlined with dashes) and reST (`:param name:`). Descriptions may run over several lines. What is not recognised is
left alone: a docstring is prose, and a wrong guess would put nonsense before a model.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_GOOGLE_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters):\s*$")
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\))?\s*:\s?(?P<text>.*)$")
_NUMPY_SECTIONS = {"Parameters", "Other Parameters"}
_NUMPY_ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_REST_ENTRY = re.compile(
    r"^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<name>\w+)\s*:\s?(?P<text>.*)$"
)
_REST_FIELD = re.compile(r"^:\w+[^:]*:")


@dataclass(frozen=True)
class Docstring:
    """What a docstring says."""

    summary: str = ""
    """The first paragraph, on one line."""
    parameters: dict[str, str] = field(default_factory=dict)
    """What is said about each parameter, on one line each."""


def parse(text: str | None) -> Docstring:
    """Read a docstring of any of the three styles, or of none."""
    if not text or not text.strip():
        return Docstring()
    lines = inspect.cleandoc(text).splitlines()
    parameters = _rest(lines)
    for index, line in enumerate(lines):
        if _GOOGLE_SECTION.match(line):
            parameters = {**_google(lines[index + 1 :]), **parameters}
        elif line.strip() in _NUMPY_SECTIONS and _is_underline(lines, index + 1):
            parameters = {**_numpy(lines[index + 2 :]), **parameters}
    return Docstring(_summary(lines), parameters)


def _summary(lines: list[str]) -> str:
    paragraph: list[str] = []
    for index, line in enumerate(lines):
        starts_section = _GOOGLE_SECTION.match(line) or _REST_FIELD.match(line) or _is_underline(lines, index + 1)
        if starts_section or (not line.strip() and paragraph):
            break
        paragraph.append(line)
    return _joined(paragraph)


def _google(lines: list[str]) -> dict[str, str]:
    """Read the entries of a section: lines at one depth begin an entry, deeper ones carry it on."""
    found: dict[str, list[str]] = {}
    depth: int | None = None
    current: list[str] | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        if indent == 0:
            break
        depth = indent if depth is None else depth
        entry = _GOOGLE_ENTRY.match(line.strip()) if indent <= depth else None
        if entry:
            current = found.setdefault(entry["name"], [])
            current.append(entry["text"])
        elif current is not None and indent > depth:
            current.append(line)
    return {name: _joined(text) for name, text in found.items()}


def _numpy(lines: list[str]) -> dict[str, str]:
    """Read the entries of a section: names at the margin, what is said about them indented."""
    found: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for index, line in enumerate(lines):
        if _is_underline(lines, index + 1):
            break
        if not line.strip():
            continue
        if not line[0].isspace():
            entry = _NUMPY_ENTRY.match(line)
            names = re.findall(r"\w+", entry["names"]) if entry else []
            current = [found.setdefault(name, []) for name in names]
        else:
            for text in current:
                text.append(line)
    return {name: _joined(text) for name, text in found.items()}


def _rest(lines: list[str]) -> dict[str, str]:
    """Read fields: each begins at the margin, and indented lines carry it on."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        entry = _REST_ENTRY.match(line)
        if entry:
            current = found.setdefault(entry["name"], [])
            current.append(entry["text"])
        elif line[:1].isspace() and current is not None:
            current.append(line)
        else:
            current = None
    return {name: _joined(text) for name, text in found.items()}


def _is_underline(lines: list[str], index: int) -> bool:
    return index < len(lines) and len(lines[index].strip()) >= 3 and set(lines[index].strip()) == {"-"}


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
