// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::models {

/// A parsed answer, or a parsed event of a stream.
struct answer_json {
  json::value value;
  /// A description of the data that the conversion lost, with the byte offset; empty if nothing was
  /// lost. If it is not empty, tool calls must not run, because their arguments may differ from
  /// what the model wrote.
  std::string loss;
};

/// Parses the text of a server. It also accepts what the providers' SDKs accept: a byte order mark,
/// and duplicate keys, of which the last one counts. A lone surrogate becomes U+FFFD, and an
/// integer that does not fit 64 bits becomes a double; `loss` reports both.
/// In the text of call arguments a lone surrogate remains an escape, because the other half may be
/// in the next piece. If it is not, the parser of the arguments reports an error.
/// @param spare number of readable bytes after the text; see parse_padded_json()
[[nodiscard]] result<answer_json>
parse_answer_json(std::string_view text, json::storage_ptr memory = {}, std::size_t spare = 0);

} // namespace superstep::models
