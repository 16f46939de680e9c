// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/rate_limiter.hpp>
#include <superstep/models/provider_model.hpp>

namespace superstep::models {

/// Returns the rate limiter that all models of this process with the same provider, address and API
/// key share, because the provider enforces its limits for the key. If another model has other
/// limits, the lower ones apply. May be called from any thread; reads the environment.
[[nodiscard]] rate_limiter shared_rate(const provider_model_options& options,
                                       const rate_limits& limits);

} // namespace superstep::models
