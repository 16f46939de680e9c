// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <string>
#include <string_view>

namespace superstep::providers {

/// The service tier of an answer of OpenAI. The tokens of the tiers flex and priority have other
/// prices, so their details are counted separately: under keys that begin with the tier's name.
class service_tier {
public:
  /// @param name `service_tier` of the answer; "" if it has none
  explicit service_tier(std::string_view name)
      : separate_{name == "flex" || name == "priority" ? name : ""} {}

  /// Returns the key of a detail, such as "cache_read" or "flex_cache_read".
  [[nodiscard]] std::string key_of(const char* detail) const {
    return separate_.empty() ? detail : separate_ + '_' + detail;
  }
  /// Adds the tokens that the details `cache_read` and `reasoning` do not contain, if they are
  /// counted separately.
  void count_rest(token_usage& usage) const;

private:
  std::string separate_; // the tier's name if its tokens are counted separately
};

} // namespace superstep::providers
