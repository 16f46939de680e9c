# SPDX-License-Identifier: Apache-2.0
"""The format MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md).

Packs None, bool, int, float, str, bytes, list and dict of exactly these types. Other objects become
extensions: a code and the packed form of a value, which the caller chooses.
"""

from __future__ import annotations

import struct
from typing import Any, Callable

#: Returns the code and the content of an extension for an object of another type. Without a code, the
#: content is packed in place of the object.
ToExtension = Callable[[Any], "tuple[int | None, Any]"]
#: Returns the object of an extension.
OfExtension = Callable[[int, Any], Any]

DEPTH_MAX = 200


def pack(value: Any, to_extension: ToExtension, sorts: bool = False) -> bytes:
    """Returns the packed form of a value. Raises ValueError if it is nested too deeply.

    ``sorts`` sorts the items of dicts by the packed forms of their keys.
    """
    out = bytearray()
    _pack(out, value, to_extension, 0, sorts)
    return bytes(out)


def _pack(out: bytearray, value: Any, other: ToExtension, depth: int, sorts: bool) -> None:
    if depth > DEPTH_MAX:
        raise ValueError(f"the value has more than {DEPTH_MAX} nested objects")
    kind = type(value)
    if value is None:
        out.append(0xC0)
    elif kind is bool:
        out.append(0xC3 if value else 0xC2)
    elif kind is int and -(1 << 63) <= value < 1 << 64:
        _pack_int(out, value)
    elif kind is float:
        out += struct.pack(">Bd", 0xCB, value)
    elif kind is str:
        try:
            data = value.encode()
        except UnicodeEncodeError:
            raise ValueError("a str contains a lone surrogate, which UTF-8 cannot represent") from None
        _head(out, len(data), (0xA0, 32), (0xD9, 0xDA, 0xDB))
        out += data
    elif kind is bytes:
        _head(out, len(value), None, (0xC4, 0xC5, 0xC6))
        out += value
    elif kind is list:
        _head(out, len(value), (0x90, 16), (None, 0xDC, 0xDD))
        for item in value:
            _pack(out, item, other, depth + 1, sorts)
    elif kind is dict:
        _head(out, len(value), (0x80, 16), (None, 0xDE, 0xDF))
        items: Any = value.items()
        if sorts:
            items = sorted(items, key=lambda pair: pack(pair[0], other, True))
        for key, item in items:
            _pack(out, key, other, depth + 1, sorts)
            _pack(out, item, other, depth + 1, sorts)
    else:
        code, content = other(value)
        if code is None:
            _pack(out, content, other, depth + 1, sorts)
            return
        data = bytearray()
        _pack(data, content, other, depth + 1, sorts)
        _head(out, len(data), None, (0xC7, 0xC8, 0xC9))
        out.append(code)
        out += data


def _pack_int(out: bytearray, value: int) -> None:
    if 0 <= value < 0x80 or -32 <= value < 0:
        out.append(value & 0xFF)
        return
    for code, form, least, most in (
        (0xCC, "B", 0, 0xFF),
        (0xCD, "H", 0, 0xFFFF),
        (0xCE, "I", 0, 0xFFFF_FFFF),
        (0xCF, "Q", 0, 0xFFFF_FFFF_FFFF_FFFF),
        (0xD0, "b", -0x80, 0),
        (0xD1, "h", -0x8000, 0),
        (0xD2, "i", -0x8000_0000, 0),
        (0xD3, "q", -0x8000_0000_0000_0000, 0),
    ):
        if least <= value <= most:
            out += struct.pack(">B" + form, code, value)
            return


def _head(
    out: bytearray, size: int, short: "tuple[int, int] | None", codes: "tuple[int | None, int, int]"
) -> None:
    """Appends the code and the length of a text, list, dict or extension."""
    if short is not None and size < short[1]:
        out.append(short[0] | size)
    elif size < 0x100 and codes[0] is not None:
        out += struct.pack(">BB", codes[0], size)
    elif size < 0x1_0000:
        out += struct.pack(">BH", codes[1], size)
    else:
        out += struct.pack(">BI", codes[2], size)


def unpack(data: bytes, of_extension: OfExtension) -> Any:
    """Returns the value of a packed form. Raises ValueError if it is damaged."""
    reader = _Reader(data, of_extension)
    try:
        value = reader.value(0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"the packed value is damaged: {error}") from None
    if reader.at != len(data):
        raise ValueError("the packed value is damaged: it has bytes after its end")
    return value


class _Reader:
    """The position in a packed form."""

    _NUMBERS = {
        0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
        0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
    }  # fmt: skip
    _BYTES = {0xC4: ">B", 0xC5: ">H", 0xC6: ">I"}
    _TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}
    _LISTS = {0xDC: ">H", 0xDD: ">I"}
    _DICTS = {0xDE: ">H", 0xDF: ">I"}
    _EXTENSIONS = {0xC7: ">B", 0xC8: ">H", 0xC9: ">I"}

    def __init__(self, data: bytes, of_extension: OfExtension) -> None:
        self.data = data
        self.at = 0
        self.of_extension = of_extension

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise IndexError("it ends early")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise ValueError("the packed value is nested too deeply")
        code = self.take(1)[0]
        if code < 0x80:
            return code
        if code < 0x90:
            return self.pairs(code & 0x0F, depth)
        if code < 0xA0:
            return self.items(code & 0x0F, depth)
        if code < 0xC0:
            return self.take(code & 0x1F).decode()
        if code >= 0xE0:
            return code - 0x100
        if code in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[code]
        return self.long_value(code, depth)

    def long_value(self, code: int, depth: int) -> Any:
        if code in self._NUMBERS:
            return self.number(self._NUMBERS[code])
        if code in self._BYTES:
            return self.take(self.number(self._BYTES[code]))
        if code in self._TEXTS:
            return self.take(self.number(self._TEXTS[code])).decode()
        if code in self._LISTS:
            return self.items(self.number(self._LISTS[code]), depth)
        if code in self._DICTS:
            return self.pairs(self.number(self._DICTS[code]), depth)
        if code in self._EXTENSIONS or 0xD4 <= code <= 0xD8:
            fixed = code not in self._EXTENSIONS
            size = 1 << (code - 0xD4) if fixed else self.number(self._EXTENSIONS[code])
            kind = self.take(1)[0]
            end = self.at + size
            content = self.value(depth + 1)
            if self.at != end:
                raise IndexError("an extension has another length")
            return self.of_extension(kind, content)
        raise IndexError(f"{code:#x} is not a code")

    def items(self, count: int, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(count)]

    def pairs(self, count: int, depth: int) -> dict[Any, Any]:
        return {self.value(depth + 1): self.value(depth + 1) for _ in range(count)}
