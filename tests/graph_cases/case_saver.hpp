// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <memory>

namespace superstep::graph_cases {

/// Where the threads of one case are kept: in memory, or with SUPERSTEP_SAVER=sqlite in a database
/// of its own that is closed and opened again between any two calls.
class case_saver : public saver {
public:
  [[nodiscard]] static std::shared_ptr<case_saver> make();
  virtual void reopen() = 0;
};

} // namespace superstep::graph_cases
