// SPDX-License-Identifier: Apache-2.0
#include "digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <stdexcept>

namespace superstep::bench {

std::string digest(std::string_view text) {
  auto bytes = std::array<unsigned char, EVP_MAX_MD_SIZE>{};
  if (EVP_Digest(text.data(), text.size(), bytes.data(), nullptr, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error{"OpenSSL has no SHA-256"};
  constexpr auto digits = std::string_view{"0123456789abcdef"};
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < 8; ++i) {
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return out;
}

} // namespace superstep::bench
