// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message.hpp>

#include <string_view>

namespace superstep {

/// The sums of all counts; details and other members key by key, at any depth. An error when one of
/// these is no integer.
[[nodiscard]] result<token_usage> add_usage(const token_usage&, const token_usage&);
/// What `all` counts beyond `part`; no count falls below zero.
[[nodiscard]] result<token_usage> subtract_usage(const token_usage& all, const token_usage& part);

/// `{input_tokens, output_tokens, total_tokens, input_token_details?, output_token_details?, …}`,
/// the other members behind these.
[[nodiscard]] json::object to_json(const token_usage&);
[[nodiscard]] result<token_usage> usage_from_json(const json::value&,
                                                  std::string_view path = "usage_metadata");

} // namespace superstep
