// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::providers {

/// Returns "" if a model stopped by itself, given the reason that its provider names, else a text
/// for errors: `the answer was cut (length)`. Servers have many words for a limit or a filter, so
/// every reason counts as one that is not known to be the model's own.
[[nodiscard]] std::string why_cut(std::string_view reason);

/// Returns that text for the metadata of an answer in any provider's form.
[[nodiscard]] std::string why_cut(const json::object& metadata);

/// Returns that text for a stream, which has to name its reason at the end.
[[nodiscard]] std::string why_cut_stream(const json::object& metadata);

} // namespace superstep::providers
