// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::models {

/// A parsed answer, or a parsed event of a stream.
struct answer_json {
  json::value value;
  /// A description of what was lost, with its byte; empty if nothing was. A call whose arguments
  /// are an object must not run then: the tool would get other arguments than the model wrote.
  std::string loss;
};

/// Parses the text of a server. In addition to parse_json() it accepts what the providers' SDKs
/// accept: a byte order mark, and duplicate keys, of which the last counts. A lone surrogate
/// becomes U+FFFD and an integer beyond 64 bits a double; `loss` reports both. Within the text of
/// call arguments a lone surrogate stays an escape: its other half may be in the next piece, and
/// the parser of the arguments reports it otherwise.
/// @param spare readable bytes after the text; see parse_padded_json()
[[nodiscard]] result<answer_json>
parse_answer_json(std::string_view text, json::storage_ptr memory = {}, std::size_t spare = 0);

} // namespace superstep::models
