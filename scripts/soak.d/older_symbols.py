#!/usr/bin/env python3
"""scripts/soak.d/older_symbols.py FILE

Makes a shared library that was built with GCC 12 load with the libstdc++ of GCC 11. Replaces the version
of std::condition_variable::wait(), GLIBCXX_3.4.30, by that of the same function in GCC 4.4 and later,
GLIBCXX_3.4.11. Fails if the library uses another symbol of the newer version.
"""
import pathlib
import struct
import sys

NEW, OLD = b"GLIBCXX_3.4.30", b"GLIBCXX_3.4.11"
SYMBOL = b"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
DYNSYM, VERSYM, VERNEED = 11, 0x6FFFFFFF, 0x6FFFFFFE


def sections(data):
    """Returns the sections of an ELF file by type: (offset, size, offset of the linked section)."""
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQII", data, table + i * size) for i in range(count)]
    return {h[1]: (h[4], h[5], headers[h[6]][4]) for h in headers if h[1] in (DYNSYM, VERSYM, VERNEED)}


def text(data, at):
    return bytes(data[at : data.index(b"\0", at)])


def needed(data, at, names):
    """Yields the places of the versions that a library needs, with their names and indices."""
    while True:
        _, count, _, first, following = struct.unpack_from("<HHIII", data, at)
        place = at + first
        for _ in range(count):
            _, _, index, name, step = struct.unpack_from("<IHHII", data, place)
            yield place, text(data, names + name), index
            place += step
        if not following:
            return
        at += following


def main():
    path = pathlib.Path(sys.argv[1])
    data = bytearray(path.read_bytes())
    found = sections(data)
    at, _, names = found[VERNEED]
    versions = list(needed(data, at, names))
    new = [(place, index) for place, name, index in versions if name == NEW]
    old = [place for place, name, _ in versions if name == OLD]
    if not new:
        return
    symbols, size, strings = found[DYNSYM]
    for i in range(size // 24):
        (index,) = struct.unpack_from("<H", data, found[VERSYM][0] + 2 * i)
        if index & 0x7FFF == new[0][1]:
            (name,) = struct.unpack_from("<I", data, symbols + 24 * i)
            if text(data, strings + name) != SYMBOL:
                sys.exit(f"{path}: {text(data, strings + name).decode()} needs {NEW.decode()}")
    if not old:
        sys.exit(f"{path}: no symbol of {OLD.decode()}, so its name is missing")
    place = new[0][0]
    data[place : place + 4] = data[old[0] : old[0] + 4]  # the hash of the name
    data[place + 8 : place + 12] = data[old[0] + 8 : old[0] + 12]  # the name
    path.write_bytes(data)


if __name__ == "__main__":
    main()
