// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/checkpointer_contract.hpp"

#include <superstep/checkpoint/write_cache.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

// Helpers of the contract of superstep::write_cache, whose test cases are in cache_cases.hpp.
namespace cache_contract {

namespace ss = superstep;

inline ss::task_output going_to(std::uint32_t node) {
  auto out = ss::task_output{};
  out.targets = {node};
  return out;
}

inline const auto layout = checkpointer_contract::usual_layout();

} // namespace cache_contract
