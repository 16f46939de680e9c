// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::models {

/// An answer or an event of a stream, parsed.
struct answer_json {
  json::value value;
  /// The part that was lost and its byte; empty if all was read. A call with arguments as an
  /// object may not run then: the tool would get other arguments than the model wrote.
  std::string loss;
};

/// Parses what a server sent. Beyond parse_json() it reads what the SDKs of the providers read: a
/// byte order mark in front and a key that appears twice, whose last value counts. A lone surrogate
/// becomes U+FFFD and an integer that does not fit 64 bits a double, which `loss` reports. In the
/// text of a call's arguments a lone surrogate stays the escape that it was: its other half may
/// come with the next piece, and the reader of the arguments reports it otherwise.
/// @param spare readable bytes behind the text; see parse_padded_json()
[[nodiscard]] result<answer_json>
parse_answer_json(std::string_view text, json::storage_ptr memory = {}, std::size_t spare = 0);

} // namespace superstep::models
