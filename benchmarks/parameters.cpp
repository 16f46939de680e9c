// SPDX-License-Identifier: Apache-2.0
// Parses the command-line parameters of workloads.
#include "parameters.hpp"

#include "base/malloc_arenas.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace superstep::bench {

parameters::parameters(const std::vector<std::string>& words) {
  for (const auto& word : words) {
    const auto middle = word.find('=');
    if (middle == 0 || middle == std::string::npos)
      throw usage_error{"'" + word + "' is not a parameter; write key=value"};
    auto key = word.substr(0, middle);
    if (!given_.emplace(key, word.substr(middle + 1)).second)
      throw usage_error{"parameter '" + key + "' is given twice"};
  }
  // Programs of other projects have a synchronous and an asynchronous engine, and scripts pass the
  // mode to all programs. superstep has one engine and ignores it.
  if (const auto mode = take("mode"); mode && *mode != "sync" && *mode != "async")
    throw usage_error{"mode must be sync or async, not '" + *mode + "'"};
}

std::optional<std::string> parameters::take(std::string_view key) {
  const auto found = given_.find(key);
  if (found == given_.end())
    return std::nullopt;
  auto value = std::move(found->second);
  given_.erase(found);
  return value;
}

std::int64_t parameters::integer(std::string_view key, std::int64_t default_value, bounds allowed) {
  auto value = default_value;
  if (const auto word = take(key)) {
    const auto* const last = word->data() + word->size();
    const auto [end, fault] = std::from_chars(word->data(), last, value);
    if (fault != std::errc{} || end != last || value < allowed.min || value > allowed.max)
      throw usage_error{std::string{key} + " must be an integer from " +
                        std::to_string(allowed.min) + " to " + std::to_string(allowed.max) +
                        ", not '" + *word + "'"};
  }
  effective_[key] = value;
  return value;
}

std::size_t parameters::count(std::string_view key, std::int64_t default_value, bounds allowed) {
  return static_cast<std::size_t>(integer(key, default_value, allowed));
}

bool parameters::flag(std::string_view key, bool default_value) {
  return integer(key, default_value ? 1 : 0, {.min = 0, .max = 1}) == 1;
}

std::string parameters::text(std::string_view key, std::string_view default_value) {
  auto value = take(key).value_or(std::string{default_value});
  effective_[key] = value;
  return value;
}

std::string parameters::choice(std::string_view key, const std::vector<std::string>& choices) {
  auto value = text(key, choices.front());
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    auto all = std::string{};
    for (const auto& c : choices)
      all += (all.empty() ? "" : " or ") + c;
    throw usage_error{std::string{key} + " must be " + all + ", not '" + value + "'"};
  }
  return value;
}

engine_options parameters::engine() {
  auto options = engine_options{};
  options.workers = count("workers", 0, {.min = 0, .max = 1'024});
  options.cores = count("cores", 0, {.min = 0, .max = 1'024});
  limit_malloc_arenas(options.workers); // as the program superstep does
  return options;
}

void parameters::done() const {
  if (!given_.empty())
    throw usage_error{"this workload has no parameter '" + given_.begin()->first + "'; see --help"};
}

} // namespace superstep::bench
