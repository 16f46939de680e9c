// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep::cli {

/// Decodes a value that a checkpointer of LangGraph has stored with its default serializer
/// (`JsonPlusSerializer`): MessagePack with extensions for objects of Python classes, or JSON.
///
/// The result has the form that LangChain's `dumpd` gives to a value, so from_langgraph_form() can
/// read it: messages are constructors (`{"lc": 1, "type": "constructor", …}`), and what JSON cannot
/// represent is a placeholder. It differs in objects with an obvious JSON form:
/// - datetime, date, UUID, Decimal, Path and addresses are texts, and an enum is its value
/// - tuple, set and deque are arrays
/// - objects of pydantic models, dataclasses and named tuples are objects with their fields
///
/// @param type the serializer's name of the encoding, for example `msgpack`
/// @throws std::runtime_error if the bytes are damaged or the encoding is not supported
[[nodiscard]] json::value from_langgraph_value(std::string_view type, std::string_view bytes);

} // namespace superstep::cli
