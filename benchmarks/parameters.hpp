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

/// Thrown for an invalid command line; the text names the parameter and the reason.
class usage_error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Range of an integer parameter.
struct bounds {
  std::int64_t min = 0;
  std::int64_t max = 1'000'000'000;
};

/// The `key=value` words of the command line. A workload reads the parameters it knows, then calls
/// done(), which rejects the rest. The report shows all values that were read, including defaults.
class parameters {
public:
  /// Throws usage_error for a word without `=` and for a repeated key.
  explicit parameters(const std::vector<std::string>& words);

  // Each throws usage_error for a value of another type.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t default_value,
                                     bounds allowed = {});
  [[nodiscard]] std::size_t count(std::string_view key, std::int64_t default_value,
                                  bounds allowed = {.min = 1});
  [[nodiscard]] bool flag(std::string_view key, bool default_value);
  [[nodiscard]] std::string text(std::string_view key, std::string_view default_value);
  /// Returns one of `choices`, the first of which is the default.
  [[nodiscard]] std::string choice(std::string_view key, const std::vector<std::string>& choices);

  // Parameters of every workload.
  [[nodiscard]] std::size_t repetitions() { return count("reps", 3, {.min = 1, .max = 10'000}); }
  /// Reads `workers=`: lanes of the engine; 0, the default, is one per core.
  [[nodiscard]] engine_options engine();

  /// Throws usage_error if a key is left that the workload has not read.
  void done() const;
  [[nodiscard]] const json::object& effective() const noexcept { return effective_; }

private:
  [[nodiscard]] std::optional<std::string> take(std::string_view key);

  std::map<std::string, std::string, std::less<>> given_;
  json::object effective_;
};

} // namespace superstep::bench
