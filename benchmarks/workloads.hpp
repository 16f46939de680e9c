// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "measure.hpp"
#include "parameters.hpp"

namespace superstep::bench {

// Each workload is a function that reads its parameters, calls done() and then measures.

[[nodiscard]] report floor_figures(parameters&); // floor.cpp
[[nodiscard]] report sequential(parameters&);    // chains.cpp: W1
[[nodiscard]] report sequential_messages(parameters&);
[[nodiscard]] report chain3(parameters&);
[[nodiscard]] report loop(parameters&); // W3
[[nodiscard]] report fan5(parameters&);
[[nodiscard]] report concurrent_runs(parameters&);
[[nodiscard]] report fan_out(parameters&); // fan_out.cpp: W2
[[nodiscard]] report send_state(parameters&);
[[nodiscard]] report wide_step(parameters&);
[[nodiscard]] report append(parameters&);     // append.cpp
[[nodiscard]] report wide_state(parameters&); // wide_state.cpp: W5k
[[nodiscard]] report wide_lists(parameters&); // wide_lists.cpp: W5
[[nodiscard]] report kept_loop(parameters&);  // checkpoints.cpp: W8
[[nodiscard]] report kept_chat(parameters&);
[[nodiscard]] report resumed_chat(parameters&);    // resumed_chat.cpp
[[nodiscard]] report long_term_store(parameters&); // store.cpp: W11
[[nodiscard]] report cpu_tools(parameters&);       // cpu_tools.cpp: W9
[[nodiscard]] report mixed_runs(parameters&);      // mixed_runs.cpp
[[nodiscard]] report react(parameters&);           // react.cpp: W4
[[nodiscard]] report batch(parameters&);           // W7
[[nodiscard]] report early_dispatch(parameters&);  // early.cpp
[[nodiscard]] report subgraphs(parameters&);       // subgraphs.cpp: W6
[[nodiscard]] report streaming(parameters&);       // streaming.cpp: W10
[[nodiscard]] report model_http(parameters&);      // model_http.cpp: W13
[[nodiscard]] report http_requests(parameters&);   // http_requests.cpp
[[nodiscard]] report batch_rows(parameters&);      // batch_rows.cpp
[[nodiscard]] report idle(parameters&);            // parked.cpp
[[nodiscard]] report cancel(parameters&);
[[nodiscard]] report start_up(parameters&);    // start_up.cpp: W12
[[nodiscard]] report actor_nodes(parameters&); // actor_nodes.cpp

} // namespace superstep::bench
