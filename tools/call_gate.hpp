// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/limiter.hpp>
#include <superstep/tools/tool_node.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace superstep::detail {

/// Where calls of one tool wait for each other.
///
/// @par Threads
/// Every member from any thread.
class call_gate {
public:
  explicit call_gate(tool_limit limit);

  /// What this call has to enter, and holds while it is under way.
  [[nodiscard]] std::shared_ptr<const limiter> for_call(const json::object& args);

private:
  void drop_unused();

  tool_limit limit_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const limiter>> by_key_; // one entry without a key
  std::size_t sweep_at_ = 64;
};

} // namespace superstep::detail
