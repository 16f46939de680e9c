// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/postgres.hpp>

#include <functional>
#include <memory>
#include <string>

namespace superstep::detail {

/// Returns a postgres_checkpointer() whose operations can be cancelled.
/// @param is_cancelled called often, by several threads, while an operation waits for the server.
/// If it returns true, all operations fail. May be empty
[[nodiscard]] std::shared_ptr<checkpointer>
cancellable_checkpointer(const std::string& url, postgres_checkpointer_options options,
                         std::function<bool()> is_cancelled);

} // namespace superstep::detail
