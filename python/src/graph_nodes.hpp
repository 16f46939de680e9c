// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph.hpp"

namespace superstep::python {

/// The branches of a node.
using branches_ref = std::shared_ptr<const std::vector<python_branch>>;

/// A node whose code is a Python function.
struct python_node {
  python_function function;
  std::vector<std::uint32_t> reads; ///< channels in its input; empty: all
  branches_ref branches;            ///< of this node; may be empty
};

/// Makes the body of a node.
[[nodiscard]] std::unique_ptr<const detail::node_body> make_body(layout_ref layout,
                                                                 python_node node);
/// Makes the function that computes the cache key of a node's input; see cache_policy::key. It
/// waits for the GIL.
/// @param reads see python_node
/// @param key a Python function of the input that returns a str or bytes; empty: the stored form of
/// the input is the key
[[nodiscard]] std::function<std::string(const body_input&)>
make_cache_key(layout_ref layout, std::vector<std::uint32_t> reads, shared_object key);
/// Makes the body of a node that runs another Python graph, and then its routers.
/// @param branches see python_node
[[nodiscard]] std::unique_ptr<const detail::node_body> make_subgraph_body(layout_ref layout,
                                                                          layout_ref child_layout,
                                                                          detail::program_ptr child,
                                                                          branches_ref branches);
/// Makes the router of a branch. Usually it only returns what Python code has chosen before: the
/// activation of the node, or the start of the run. Otherwise it waits for the GIL.
/// @param number position of the branch among those of its source
[[nodiscard]] std::unique_ptr<const detail::router>
make_router(layout_ref layout, branches_ref branches, std::size_t number);

/// Calls a router with a state. The caller holds the GIL. The result may be a coroutine.
/// @param runtime that of the node, for a router with a parameter `runtime`; an invalid object
/// where there is no node, which is an error for such a router
[[nodiscard]] nb::object call_router(const python_branch& branch, nb::handle state,
                                     nb::handle runtime = {});

} // namespace superstep::python
