# SPDX-License-Identifier: Apache-2.0
"""Compares JSON values with type hints: those of TypedDicts, dataclass-like models and plain types.

Pydantic cannot be used for this: it does not check Iterable members, and accepts unknown members of
most of these types.
"""
import collections.abc
import types
import typing

import pydantic
import typing_extensions as te

UNIONS = (typing.Union, types.UnionType)
LISTS = (list, collections.abc.Iterable, collections.abc.Sequence)
MAPPINGS = (dict, collections.abc.Mapping)


def strip(hint):
    """Returns a hint without Required, NotRequired and Annotated, and the alias of the latter."""
    alias = None
    while te.get_origin(hint) in (te.Required, te.NotRequired, te.Annotated, typing.Required,
                                  typing.NotRequired, typing.Annotated):
        for extra in getattr(hint, "__metadata__", ()):
            alias = getattr(extra, "alias", None) or alias
        hint = te.get_args(hint)[0]
    return hint, alias


def members_of(hint):
    """Returns {name on the wire: (hint, is required)} of a class with members, or None."""
    if te.is_typeddict(hint):
        out = {}
        for name, inner in te.get_type_hints(hint, include_extras=True).items():
            _, alias = strip(inner)
            # Hints written as text hide Required and NotRequired from __required_keys__.
            says = te.get_origin(inner)
            required = says in (te.Required, typing.Required) or (
                says not in (te.NotRequired, typing.NotRequired)
                and name in hint.__required_keys__)
            out[alias or name] = (inner, required)
        return out
    if isinstance(hint, type) and issubclass(hint, pydantic.BaseModel):
        return {(field.alias or name): (field.annotation, field.is_required())
                for name, field in hint.model_fields.items()}
    return None


def faults(value, hint, path="", also=None):
    """Yields the faults of a JSON value.

    `also` lists additional members that a path may have: {"path with [] for each element": {names}}.
    """
    hint, _ = strip(hint)
    origin = te.get_origin(hint)
    if hint in (object, typing.Any):
        return
    if isinstance(hint, te.TypeAliasType):
        yield from faults(value, hint.__value__, path, also)
        return
    if origin in UNIONS:
        choices = [one for one in te.get_args(hint) if strip(one)[0] is not type(None)]
        if value is None and len(choices) < len(te.get_args(hint)):
            return
        # A union of a model and a mapping would accept anything, so only the model counts.
        if any(members_of(strip(one)[0]) for one in choices):
            choices = [one for one in choices if te.get_origin(strip(one)[0]) not in MAPPINGS]
        all_faults = [list(faults(value, one, path, also)) for one in choices]
        if all(all_faults):
            yield min(all_faults, key=len)[0] if len(all_faults) == 1 else (
                f"{path}: fits none of {len(all_faults)} types; the nearest: {nearest(all_faults)}")
        return
    if origin in (typing.Literal, te.Literal):
        if value not in te.get_args(hint):
            yield f"{path}: {value!r} is not one of {te.get_args(hint)}"
        return
    if origin in LISTS:
        if not isinstance(value, list):
            yield f"{path}: not a list: {value!r:.80}"
            return
        for element in value:
            yield from faults(element, te.get_args(hint)[0], path + "[]", also)
        return
    if origin in MAPPINGS or hint in (dict, collections.abc.Mapping):
        if not isinstance(value, dict):
            yield f"{path}: not an object: {value!r:.80}"
            return
        for name, inner in value.items():
            if te.get_args(hint):
                yield from faults(inner, te.get_args(hint)[1], f"{path}.{name}", also)
        return
    members = members_of(hint)
    if getattr(hint, "__name__", "") == "Image" and isinstance(value, str):
        return  # a class of Ollama's SDK that is a text on the wire
    if members is None:
        yield from plain_faults(value, hint, path)
        return
    if not isinstance(value, dict):
        yield f"{path}: not an object of {hint.__name__}: {value!r:.80}"
        return
    for name, (inner, required) in members.items():
        if name in value:
            yield from faults(value[name], inner, f"{path}.{name}", also)
        elif required:
            yield f"{path}.{name}: is missing ({hint.__name__})"
    for name in value.keys() - members.keys() - (also or {}).get(path, set()):
        yield f"{path}.{name}: is not a member of {hint.__name__}"


def nearest(all_faults):
    """Returns the faults of the best matching type: the one whose faults are deepest in the value."""
    best = max(all_faults, key=lambda found: (max(len(f.split(":")[0]) for f in found),
                                              -len(found)))
    return "; ".join(best[:3])


def plain_faults(value, hint, path):
    if hint is None or hint is type(None):
        right = value is None
    elif hint is bool:
        right = isinstance(value, bool)
    elif hint is int:
        right = isinstance(value, int) and not isinstance(value, bool)
    elif hint is float:
        right = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif hint is str:
        right = isinstance(value, str)
    elif isinstance(origin := te.get_origin(hint) or hint, type):
        right = isinstance(value, origin)  # files and paths, which are not JSON values
    else:
        raise TypeError(f"{path}: {hint!r} is not understood")
    if not right:
        yield f"{path}: {value!r:.80} is not of type {hint}"
