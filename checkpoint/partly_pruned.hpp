// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <cstddef>
#include <string>

namespace superstep::detail {

/// The error of a prune that has already deleted checkpoints of other threads.
class partly_pruned : public checkpoint_error {
public:
  partly_pruned(const checkpoint_error& why, std::size_t checkpoints)
      : checkpoint_error{why.code(), why.what() + std::string{"; "} + std::to_string(checkpoints) +
                                         " checkpoints of other threads were deleted before"},
        deleted{checkpoints} {}
  std::size_t deleted; ///< number of deleted checkpoints
};

} // namespace superstep::detail
