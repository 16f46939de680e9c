// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"
#include "results.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <memory>

#include <nanobind/nanobind.h>

namespace superstep::python {

// Python objects that share an object of C++. They are not shared_ptr casts of nanobind, because
// the last reference may be dropped by a thread without the GIL.

/// The class Results of the module.
struct result_source {
  result_queue_ptr queue = std::make_shared<result_queue>();
};

using checkpointer_ptr = std::shared_ptr<superstep::checkpointer>;

/// The class Checkpointer of the module.
struct saved_threads {
  checkpointer_ptr checkpointer;
  kept_in_child<checkpointer_ptr> kept{checkpointer};
};

/// Adds the classes of graphs to the module.
void add_graphs(nb::module_& m);
/// Adds the class LangThreads, for checkpointers of LangGraph.
void add_lang_threads(nb::module_& m);

} // namespace superstep::python
