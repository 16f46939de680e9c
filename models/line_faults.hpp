// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::models {

/// Collects the errors of a file with one record per line. Only the first errors are kept: a file
/// of another kind has one in each line.
class line_faults {
public:
  explicit line_faults(std::string path) : path_{std::move(path)} {}

  /// Adds the error of a line, counted from 1.
  void add(std::size_t line, std::string_view why) {
    constexpr auto faults_max = 20;
    if (++count_ <= faults_max)
      text_ += (text_.empty() ? "" : "\n") + path_ + ':' + std::to_string(line) + ": " +
               std::string{why};
  }

  /// Returns the errors, one per line; nullopt if there are none.
  [[nodiscard]] std::optional<error> take() && {
    if (text_.empty())
      return std::nullopt;
    return error{model_errc::bad_configuration, std::move(text_)};
  }

private:
  std::string path_;
  std::string text_;
  int count_ = 0;
};

} // namespace superstep::models
