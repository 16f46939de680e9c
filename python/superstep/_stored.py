# SPDX-License-Identifier: Apache-2.0
"""The stored form of values in checkpoints that JSON cannot represent.

Such a value is stored as MessagePack, in the extensions of LangGraph's JsonPlusSerializer: the module
and the name of a class, and its arguments. Only classes of an allow list are stored and read. Reading
never imports a module, and nothing is pickled.
"""

from __future__ import annotations

from typing import Any, Callable, TypeVar, overload

from . import _msgpack
from ._functions import with_article

ClassT = TypeVar("ClassT", bound=type)

# The codes of langgraph/checkpoint/serde/jsonplus.py: what is called with the stored content.
_ONE_ARGUMENT = 0
_ARGUMENTS = 1
_KEYWORDS = 2
_METHOD = 3
_MODEL = 5  # pydantic


class _Form:  # a NamedTuple would compile its annotations when the package is imported
    """How objects of a class are stored.

    ``keywords`` returns the arguments for objects that ``dump`` would not store exactly, and None for
    other objects.
    """

    __slots__ = ("code", "dump", "load", "method", "keywords")

    def __init__(
        self,
        code: int,
        dump: Callable[[Any], Any],
        load: Callable[[Any], Any],
        method: str = "",
        keywords: "Callable[[Any], dict[str, Any] | None]" = lambda _: None,
    ) -> None:
        self.code = code
        self.dump = dump
        self.load = load
        self.method = method
        self.keywords = keywords


Name = tuple[str, str]
_forms: dict[type, _Form] = {}
_loaders: dict[Name, Callable[[Any], Any]] = {}
_has_standard = False


def _name_of(cls: type) -> Name:
    return cls.__module__, cls.__qualname__


def _full_name(cls: type) -> str:
    """Returns the name of a class for an error, with its module: numpy has a class ``bool``, too."""
    module, name = _name_of(cls)
    return name if module == "builtins" else f"{module}.{name}"


def _register(cls: type, form: _Form, name: "Name | None" = None) -> None:
    _loaders[name or _name_of(cls)] = form.load
    _forms[cls] = form  # last: other threads look here whether the class is registered


@overload
def storable(cls: ClassT, /) -> ClassT: ...
@overload
def storable(
    cls: ClassT, /, *, dump: Callable[[Any], Any], load: Callable[[Any], Any]
) -> ClassT: ...
def storable(
    cls: ClassT,
    /,
    *,
    dump: "Callable[[Any], Any] | None" = None,
    load: "Callable[[Any], Any] | None" = None,
) -> ClassT:
    """Allows checkpoints to contain objects of a class, and returns the class.

    Can be used as a decorator of dataclasses, named tuples, enumerations and models of pydantic. Other
    classes need ``dump``, which returns a value that can be stored, and ``load``, which makes an
    object of it. The class must be registered before a checkpoint with its objects is read.
    """
    if dump is not None and load is not None:
        _register(cls, _Form(_ONE_ARGUMENT, dump, load))
        return cls
    import enum

    if issubclass(cls, enum.Enum):
        _register(cls, _Form(_ONE_ARGUMENT, lambda o: o.value, cls))
    elif hasattr(cls, "__dataclass_fields__"):
        _register(cls, _dataclass_form(cls))
    elif issubclass(cls, tuple) and hasattr(cls, "_fields"):
        _register(cls, _Form(_KEYWORDS, lambda o: dict(o._asdict()), lambda kw: cls(**kw)))
    elif hasattr(cls, "model_validate") and hasattr(cls, "model_dump"):
        _register(cls, _model_form(cls))
    else:
        raise TypeError(
            f"storable: {cls.__qualname__} is not a dataclass, named tuple, enumeration or model of "
            "pydantic; pass dump= and load="
        )
    return cls


def _dataclass_form(cls: Any) -> _Form:
    import dataclasses

    kinds = {f.name: f.init for f in dataclasses.fields(cls)}

    def load(content: dict[str, Any]) -> Any:
        made = cls(**{n: v for n, v in content.items() if kinds.get(n, True)})
        for name, value in content.items():
            if not kinds.get(name, True):
                object.__setattr__(made, name, value)  # the class may be frozen
        return made

    return _Form(_KEYWORDS, lambda o: {n: getattr(o, n) for n in kinds if hasattr(o, n)}, load)


def _model_form(cls: Any) -> _Form:
    """Returns how models of pydantic are stored: their fields by name, without computed fields."""
    import inspect

    is_root = getattr(cls, "__pydantic_root_model__", False)
    fields = {} if is_root else cls.model_fields
    hidden = [name for name, field in fields.items() if field.exclude]
    allows_more = is_root or cls.model_config.get("extra") == "allow"
    by_name: dict[str, bool] = {}
    if "by_name" in inspect.signature(cls.model_validate).parameters:
        by_name = {"by_name": True, "by_alias": False}
    elif any(f.alias or f.validation_alias for f in fields.values()):  # before pydantic 2.11
        if not cls.model_config.get("populate_by_name"):
            raise TypeError(
                f"storable: {cls.__qualname__} has fields with an alias; set populate_by_name=True in its "
                "model_config, or pass dump= and load="
            )

    def dump(model: Any) -> Any:
        content = model.model_dump(round_trip=True)
        for name in hidden:
            content[name] = getattr(model, name)
        return content

    def load(content: Any) -> Any:
        if not allows_more:  # checkpoints of earlier versions contain computed fields
            content = {name: value for name, value in content.items() if name in fields}
        return cls.model_validate(content, **by_name)

    return _Form(_MODEL, dump, load, "model_validate_json")


def _add_standard() -> None:
    """Adds the classes of the standard library to the allow list. They are imported when needed.

    Several threads may do so at the same time. Forms that the program has registered stay.
    """
    global _has_standard
    if _has_standard:
        return
    import collections
    import datetime
    import decimal
    import fractions
    import ipaddress
    import pathlib
    import re
    import uuid
    import zoneinfo

    def add(cls: type, form: _Form, name: "Name | None" = None) -> None:
        if cls not in _forms:
            _register(cls, form, name)

    one = _ONE_ARGUMENT
    add(tuple, _Form(one, list, tuple))
    deque = collections.deque
    add(
        deque,
        _Form(
            one,
            list,
            lambda c: deque(**c) if isinstance(c, dict) else deque(c),
            keywords=lambda o: None if o.maxlen is None else {"iterable": list(o), "maxlen": o.maxlen},
        ),
    )
    for unordered in (set, frozenset):
        add(unordered, _Form(one, _sorted, unordered))
    add(int, _Form(one, str, int))
    add(bytearray, _Form(one, bytes, bytearray))
    for named in (
        decimal.Decimal,
        ipaddress.IPv4Address,
        ipaddress.IPv6Address,
        ipaddress.IPv4Network,
        ipaddress.IPv6Network,
    ):
        add(named, _Form(one, str, named))
    add(zoneinfo.ZoneInfo, _Form(one, _zone_key, zoneinfo.ZoneInfo))
    add(uuid.UUID, _Form(one, lambda o: o.hex, uuid.UUID))
    for path in (pathlib.Path, type(pathlib.Path()), pathlib.PurePosixPath, pathlib.PureWindowsPath):
        add(path, _Form(one, str, path))
    add(complex, _Form(_ARGUMENTS, lambda o: [o.real, o.imag], lambda a: complex(*a)))
    add(
        fractions.Fraction,
        _Form(_ARGUMENTS, lambda o: [o.numerator, o.denominator], lambda a: fractions.Fraction(*a)),
    )
    pattern = _Form(_ARGUMENTS, lambda o: [o.pattern, o.flags], lambda a: re.compile(*a))
    add(re.Pattern, pattern, ("re", "compile"))
    for moment in (datetime.datetime, datetime.time):
        add(moment, _moment_form(moment))
    date = datetime.date
    add(date, _Form(_ARGUMENTS, lambda o: [o.year, o.month, o.day], lambda a: date(*a)))
    delta = datetime.timedelta
    add(
        delta, _Form(_ARGUMENTS, lambda o: [o.days, o.seconds, o.microseconds], lambda a: delta(*a))
    )
    zone = datetime.timezone
    add(zone, _Form(_ARGUMENTS, lambda o: list(o.__getinitargs__()), lambda a: zone(*a)))
    _has_standard = True


def _zone_key(zone: Any) -> str:
    if zone.key is None:
        raise TypeError("a ZoneInfo without a key cannot be stored in a checkpoint")
    key: str = zone.key
    return key


def _moment_form(cls: Any) -> _Form:
    """Returns how a datetime or time is stored: as its ISO text, unless this would lose its time zone,
    the name of the zone, or the fold."""
    import datetime

    names = ["hour", "minute", "second", "microsecond", "tzinfo", "fold"]
    if cls is datetime.datetime:
        names = ["year", "month", "day", *names]

    def keywords(moment: Any) -> "dict[str, Any] | None":
        zone = moment.tzinfo
        arguments: Any = getattr(zone, "__getinitargs__", tuple)()  # the offset, and the name if any
        is_plain = zone is None or type(zone) is datetime.timezone and len(arguments) == 1
        return None if is_plain and not moment.fold else {name: getattr(moment, name) for name in names}

    return _Form(
        _METHOD,
        lambda o: o.isoformat(),
        lambda c: cls(**c) if isinstance(c, dict) else cls.fromisoformat(c),
        "fromisoformat",
        keywords,
    )


def _sorted(items: Any) -> list[Any]:
    """Returns the items of a set, in the same order for equal sets: caches compare stored forms."""
    return sorted(items, key=lambda item: _msgpack.pack(item, _to_extension, True))


def _plain(value: Any) -> Any:
    """Returns an object of a subclass of a plain value as its base class; other objects unchanged."""
    if type(value) in _forms or _is_enum(value):
        return value
    of_base: Any = (
        (str, str.__str__),
        (int, int.__int__),
        (float, float.__float__),
        (list, list),
        (dict, dict),
    )
    for base, convert in of_base:
        if isinstance(value, base) and type(value) not in (base, bool):
            return convert(value)
    return value


def _is_json(plain: Any) -> bool:
    """Whether JSON represents a plain value exactly, apart from the objects in it."""
    if isinstance(plain, float):
        return plain - plain == 0
    if isinstance(plain, int):
        return -(1 << 63) <= plain < 1 << 63
    if isinstance(plain, dict):
        return all(isinstance(key, str) for key in plain) and "$msgpack" not in plain
    return True


def _to_extension(value: Any) -> "tuple[int | None, Any]":
    form = _forms.get(type(value))
    if form is None:
        plain = _plain(value)
        if plain is not value:
            return None, plain
        raise TypeError(
            f"{with_article(_full_name(type(value)))} cannot be stored in a checkpoint; store plain "
            "values, or register the class with superstep.storable()"
        )
    name = ("re", "compile") if type(value).__name__ == "Pattern" else _name_of(type(value))
    keywords = form.keywords(value)
    if keywords is not None:
        return _KEYWORDS, [*name, keywords]
    content = [*name, form.dump(value)]
    return form.code, [*content, form.method] if form.method else content


def _of_extension(code: int, content: Any) -> Any:
    if not isinstance(content, list) or len(content) not in (3, 4):
        raise ValueError(f"the packed value is damaged: extension {code} has no class")
    load = _loaders.get((content[0], content[1]))
    if load is None:
        raise ValueError(
            f"the checkpoint contains {with_article(f'{content[0]}.{content[1]}')}, which is not "
            "registered; call superstep.storable() with this class before"
        )
    return load(content[2])


def pack_key(value: Any, where: str) -> "str | None":
    """Returns what pack() returns, with all dicts sorted: equal values have the same form."""
    return pack(value, where, True)


def pack(value: Any, where: str, sorts: bool = False) -> "str | None":
    """Returns the stored form of a value that is not JSON, as base64.

    None: the value is stored as its base class, str, int, float, list or dict. ``where`` names the
    value in errors. ``sorts`` sorts the keys of dicts.
    """
    import binascii

    _add_standard()
    plain = _plain(value)
    if plain is not value and _is_json(plain):
        return None
    try:
        packed = _msgpack.pack(plain, _to_extension, sorts)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}: {error}") from None
    return binascii.b2a_base64(packed, newline=False).decode()


def _is_enum(value: Any) -> bool:
    import enum

    return isinstance(value, enum.Enum)


def unpack(text: str) -> Any:
    """Returns the value of a stored form. Raises ValueError for a class that is not allowed."""
    import binascii

    _add_standard()
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except binascii.Error as error:
        raise ValueError(f"the packed value is damaged: {error}") from None
    return _msgpack.unpack(data, _of_extension)
