// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace superstep {

/// SHA-256 over any number of pieces.
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

/// The digest of one text: 64 hexadecimal digits.
[[nodiscard]] std::string digest_text(std::string_view text);

} // namespace superstep
