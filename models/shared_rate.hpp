// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/rate_limiter.hpp>
#include <superstep/models/provider_model.hpp>

#include <functional>
#include <memory>
#include <string>

namespace superstep::models {

/// Limits that the processes of several machines share.
struct limit_sharing {
  std::string where; ///< identifies the place that shares the limits; empty: they are not shared
  /// Opens the limits with a key.
  std::function<result<std::shared_ptr<limit_source>>(const std::string& key)> open;
};

/// Returns the rate limiter that all models of this process with the same provider, address and API
/// key share, because the provider enforces its limits for the key. If another model has other
/// limits, the lower ones apply. With `sharing`, other processes use the same limits; the key that
/// identifies them contains only a digest of the API key. May be called from any thread; reads the
/// environment.
[[nodiscard]] result<rate_limiter> shared_rate(const provider_model_options& options,
                                               const rate_limits& limits,
                                               const limit_sharing& sharing = {});

} // namespace superstep::models
