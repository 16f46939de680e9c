// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>

namespace superstep::detail {

/// Sets the members of a request that name the run which asks.
inline void set_run(model_request& request, const runtime& rt) {
  request.run_key = rt.config().run_id;
  request.config = runtime_access::share_config(rt);
}

} // namespace superstep::detail
