// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/batch/row_runner.hpp>
#include <superstep/messages/messages.hpp>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace superstep::cli {

/// Records the calls of a row with a deadline. If the deadline ends the row within a super-step,
/// the row's state lacks the calls of this super-step.
/// @par Threads
/// All members may be called by any thread.
class row_calls {
public:
  /// Records a call. For agent_context::observe.
  void observe(const call_event& event);

  /// Adds the calls that the state lacks to the outcome of a row, which contains those of the
  /// state.
  /// @param next_call number of the first call that the state lacks
  /// @param has_server whether a server reports the tokens of the answers
  /// @return whether the tokens of one of these calls are not known, because the deadline cut it
  /// off
  [[nodiscard]] bool add_to(row_outcome& out, std::uint32_t next_call, bool has_server) const;

private:
  struct model_call {
    std::uint32_t number = 0; ///< see call_event::call_id
    bool is_answered = false;
    std::optional<token_usage> usage{}; ///< not set: the server has not reported it
  };

  mutable std::mutex mutex_;
  std::vector<model_call> model_calls_;           ///< by their start
  std::set<std::string, std::less<>> tool_calls_; ///< ids of the calls that have started
};

} // namespace superstep::cli
