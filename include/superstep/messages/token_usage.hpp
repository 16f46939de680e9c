// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message.hpp>

#include <string_view>

namespace superstep {

/// Adds two usages. Details and other members are added key by key, at any depth. Returns an error
/// if one of them is not an integer.
///
/// Source: `add_usage` in langchain-core 1.7.2, messages/ai.py.
[[nodiscard]] result<token_usage> add_usage(const token_usage&, const token_usage&);
/// Subtracts the counts of `part` from those of `all`, with 0 as the minimum. Returns an error if a
/// detail is not an integer.
[[nodiscard]] result<token_usage> subtract_usage(const token_usage& all, const token_usage& part);

/// Returns the JSON form: `{input_tokens, output_tokens, total_tokens, input_token_details?,
/// output_token_details?}`, followed by the members of `others`.
[[nodiscard]] json::object to_json(const token_usage&);
/// Reads the JSON form. Absent and null counts are 0; unknown members go to `others`.
///
/// @param path the prefix of the location in error texts
[[nodiscard]] result<token_usage> usage_from_json(const json::value&,
                                                  std::string_view path = "usage_metadata");

} // namespace superstep
