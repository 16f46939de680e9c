// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <memory>
#include <string>
#include <string_view>

// Encryption of rows: AES-256-GCM, a random nonce for each. What is sealed for one place of the
// database cannot be read at another.
namespace superstep::detail {

class row_cipher {
public:
  /// Without a key rows are as they are. Throws saver_error{wrong_key}: it has another length.
  explicit row_cipher(std::string_view key = {});

  [[nodiscard]] bool is_on() const noexcept { return !key_.empty(); }
  /// `e`, 12 bytes of nonce, the text encrypted, 16 bytes of tag; without a key the text.
  [[nodiscard]] std::string seal(std::string text, std::string_view place) const;
  [[nodiscard]] result<std::string> open(std::string_view bytes, std::string_view place) const;

private:
  std::string key_;
};

} // namespace superstep::detail
