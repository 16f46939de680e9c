// SPDX-License-Identifier: Apache-2.0
// Base64 by OpenSSL.
#include "base64.hpp"

#include <openssl/evp.h>

#include <cstddef>

namespace superstep {

namespace {

constexpr auto base64_group = std::size_t{4};
constexpr auto byte_group = std::size_t{3};

} // namespace

std::string to_base64(std::string_view bytes) {
  auto out = std::string((bytes.size() + byte_group - 1) / byte_group * base64_group, '\0');
  // The terminating zero goes to the byte behind the string, which is zero.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return out;
}

std::string from_base64(std::string_view text) {
  if (text.empty() || text.size() % base64_group != 0)
    return {};
  auto out = std::string(text.size() / base64_group * byte_group, '\0');
  const auto size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (size < 0)
    return {};
  const auto padding = text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

} // namespace superstep
