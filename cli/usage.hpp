// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace superstep::cli {

/// The longest duration of an option, in milliseconds: 49 days, as in agent files.
constexpr auto duration_ms_max = std::uint64_t{4'294'967'295};

/// Accepts decimal numbers from `min` to `max`. CLI11 itself wraps negative numbers of unsigned
/// options and reads a leading 0 as octal. For CLI::Option::transform().
[[nodiscard]] CLI::Validator whole_number(std::uint64_t min, std::uint64_t max);

/// Accepts only one of these words. The help text of the option lists them.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& words);

/// Rejects an empty text, e.g. from an unset shell variable.
[[nodiscard]] CLI::Validator not_empty();

/// Rejects an id that is empty or not UTF-8. An empty thread id would select all threads.
[[nodiscard]] CLI::Validator thread_id();

/// Rejects an empty path and `-`. It is for options whose file is read twice, resumed or replaced,
/// which is not possible with standard input and output.
[[nodiscard]] CLI::Validator named_file();

/// Adds an option with a decimal number from `min` to `max`. The help text shows the value of
/// `into` as default.
template <class T>
void add_number(CLI::App& verb, const std::string& name, T& into, const std::string& text,
                std::uint64_t min, std::uint64_t max) {
  verb.add_option(name, into, text)
      ->transform(whole_number(min, max))
      ->type_name("N")
      ->capture_default_str();
}

/// Returns the error text for an invalid command line: the verb, what is wrong, and where to find
/// help. For CLI::App::failure_message() of the program.
[[nodiscard]] std::string usage_error(const CLI::App* program, const CLI::Error& failed);

} // namespace superstep::cli
