// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/limiter.hpp>
#include <superstep/tools/tool_node.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace superstep::detail {

/// Limits the concurrent calls of one tool. Further calls wait.
///
/// @par Threads
/// All members may be called by any thread.
class call_gate {
public:
  explicit call_gate(tool_limit limit);

  /// Returns the limiter that a call with these arguments must acquire before it runs.
  [[nodiscard]] std::shared_ptr<const limiter> for_call(const json::object& args);

private:
  void drop_unused();

  tool_limit limit_;
  std::mutex mutex_;
  // Limiters by the value of the argument `limit_.key`; a single entry if the limit has no key.
  std::map<std::string, std::shared_ptr<const limiter>> by_key_;
  std::size_t sweep_at_ = 64; // number of entries at which unused ones are removed
};

} // namespace superstep::detail
