// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// What the caller says about one run. The same for all its nodes, read-only while it runs.
struct run_config {
  std::string
      run_id; ///< names the run in errors and events; seeds ids. Empty: the engine numbers it
  std::string thread_id;                 ///< the conversation it belongs to; empty: none
  std::uint32_t recursion_limit = 25;    ///< super-steps before the run is given up
  std::chrono::milliseconds deadline{0}; ///< of the whole run, from its start; 0 = none
  std::vector<std::string> tags;
  json::object metadata;
  json::object configurable;
  std::shared_ptr<const void> context; ///< typed context of the caller; see runtime::context<T>()
};

} // namespace superstep
