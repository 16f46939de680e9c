// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/assert.hpp>
#include <superstep/base/digest.hpp>

#include <openssl/evp.h>

#include <array>

namespace superstep {

struct digest::impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~impl() { EVP_MD_CTX_free(context); }
};

digest::digest() : impl_{std::make_unique<impl>()} {
  [[maybe_unused]] auto begun = EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr);
  SUPERSTEP_ASSERT(begun == 1);
}

digest::~digest() = default;

void digest::add(std::string_view bytes) {
  EVP_DigestUpdate(impl_->context, bytes.data(), bytes.size());
}

std::string digest::finish() {
  auto bytes = std::array<unsigned char, EVP_MAX_MD_SIZE>{};
  auto size = 0U;
  EVP_DigestFinal_ex(impl_->context, bytes.data(), &size);
  auto out = std::string{};
  for (auto i = 0U; i < size; ++i) {
    out += "0123456789abcdef"[bytes[i] >> 4U];
    out += "0123456789abcdef"[bytes[i] & 15U];
  }
  return out;
}

std::string digest_text(std::string_view text) {
  auto sum = digest{};
  sum.add(text);
  return sum.finish();
}

} // namespace superstep
