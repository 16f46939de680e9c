// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

namespace superstep::providers {

/// The blocks of an answer in the standard form as the items they came from: reasoning that was
/// taken apart is put together, calls and what the provider ran are items again.
[[nodiscard]] json::array responses_blocks(const json::array& standard, const message& m);

} // namespace superstep::providers
