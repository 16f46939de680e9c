// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_chunk.hpp>

#include <string_view>

namespace superstep {

/// Returns the stored form of langchain-core, `{type, data}`. `data` contains every member of the
/// message type; empty ones are null, [] or {}.
///
/// Source: `messages_to_dict` in langchain-core 1.7.2, messages/base.py.
[[nodiscard]] json::object to_dict(const message&);
[[nodiscard]] json::object to_dict(const message_chunk&);

/// Reads the `{type, data}` form. A chunk is converted to the message it adds up to.
///
/// @param path the prefix of the location in error texts
[[nodiscard]] result<message> message_from_dict(const json::value&,
                                                std::string_view path = "message");

} // namespace superstep
