// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "objects.hpp"
#include "python_value.hpp"

#include <superstep/runtime/detail/program.hpp>

#include <string>
#include <vector>

namespace superstep::python {

/// A destination that Python code has chosen: a node, or a Send if it has an input.
struct python_target {
  std::string node;
  value_ref input{};
};
using python_targets = std::vector<python_target>;

/// The data that Python code gives a run when it starts it: the object in run_config::context.
struct python_run {
  shared_object context{};                ///< that of the caller; see caller_context()
  const detail::program* table = nullptr; ///< the graph of the choices
  std::vector<python_targets> first{};    ///< the targets of each branch of START
};

} // namespace superstep::python
