// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// The part of a stream that has not been dealt with yet. Taking from its front is cheap: the
/// bytes behind are moved once for many takings.
class text_window {
public:
  void append(std::string_view piece) { bytes_ += piece; }
  [[nodiscard]] std::string_view view() const noexcept {
    return std::string_view{bytes_}.substr(begin_);
  }
  [[nodiscard]] bool empty() const noexcept { return begin_ == bytes_.size(); }
  void take(std::size_t n) {
    begin_ += n;
    if (begin_ == bytes_.size()) {
      bytes_.clear();
      begin_ = 0;
    } else if (begin_ > bytes_.size() / 2) {
      bytes_.erase(0, begin_);
      begin_ = 0;
    }
  }

private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

} // namespace superstep
