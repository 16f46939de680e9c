// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/base/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::bench {

/// Error of the command line. The text names the parameter and the reason.
class usage_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The range of an integer parameter.
struct bounds {
  std::int64_t min = 0;
  std::int64_t max = 1'000'000'000;
};

/// The `key=value` parameters of the command line. A workload reads the parameters it knows and
/// then calls done(), which rejects all others. The report shows all values that were read,
/// including defaults.
class parameters {
public:
  /// Throws usage_error if a word has no `=` or if a key is repeated.
  explicit parameters(const std::vector<std::string>& words);

  // Each reader returns the default if the key is missing, and throws usage_error if the value is
  // invalid.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t default_value,
                                     bounds allowed = {});
  [[nodiscard]] std::size_t count(std::string_view key, std::int64_t default_value,
                                  bounds allowed = {.min = 1});
  [[nodiscard]] bool flag(std::string_view key, bool default_value);
  [[nodiscard]] std::string text(std::string_view key, std::string_view default_value);
  /// Reads one of `choices`. The first is the default.
  [[nodiscard]] std::string choice(std::string_view key, const std::vector<std::string>& choices);

  // Parameters that every workload has.
  [[nodiscard]] std::size_t repetitions() { return count("reps", 3, {.min = 1, .max = 10'000}); }
  /// Reads `workers=`, the number of lanes of the engine. The default 0 means one lane per core.
  [[nodiscard]] engine_options engine();

  /// Throws usage_error if the command line has a parameter that the workload did not read.
  void done() const;
  [[nodiscard]] const json::object& effective() const noexcept { return effective_; }

private:
  [[nodiscard]] std::optional<std::string> take(std::string_view key);

  std::map<std::string, std::string, std::less<>> given_;
  json::object effective_;
};

} // namespace superstep::bench
