// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {
class program;
class program_builder;
class node_body;
class router;
class runtime;
struct run_config;
struct node_output;
struct super_step;
class run_state;
template <class State>
class graph;
template <class State>
class compiled_graph;
} // namespace superstep
