// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace superstep::detail {

/// SHA-256 over any number of pieces: what a job is recognised by.
class digest {
public:
  digest();
  ~digest();
  digest(const digest&) = delete;
  digest& operator=(const digest&) = delete;

  void add(std::string_view bytes);
  /// Hexadecimal. The last call.
  [[nodiscard]] std::string finish();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

[[nodiscard]] std::string digest_text(std::string_view text);

} // namespace superstep::detail
