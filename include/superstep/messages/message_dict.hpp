// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_chunk.hpp>

#include <string_view>

namespace superstep {

/// The stored form of other frameworks: `{type, data}`, data holding every member of that type,
/// empty ones as null, [] or {}.
[[nodiscard]] json::object to_dict(const message&);
[[nodiscard]] json::object to_dict(const message_chunk&);

/// Reads that form. A chunk gives the message it makes.
[[nodiscard]] result<message> message_from_dict(const json::value&,
                                                std::string_view path = "message");

} // namespace superstep
