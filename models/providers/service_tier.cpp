// SPDX-License-Identifier: Apache-2.0
// Counts the tokens of service tiers that have prices of their own.
#include "models/providers/service_tier.hpp"

#include "models/providers/json_parts.hpp"

namespace superstep::providers {

void service_tier::count_rest(token_usage& usage) const {
  if (separate_.empty())
    return;
  usage.input_details[separate_] =
      usage.input_tokens - count_in(usage.input_details, key_of("cache_read"));
  usage.output_details[separate_] =
      usage.output_tokens - count_in(usage.output_details, key_of("reasoning"));
}

} // namespace superstep::providers
