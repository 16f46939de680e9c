// SPDX-License-Identifier: Apache-2.0
// Decompresses gzip bodies with zlib in bounded memory. exchange.cpp uses it.
#include "net/gunzip.hpp"

#include <superstep/base/detail/assert.hpp>

#include <limits>
#include <new>

#include <zlib.h>

namespace superstep {

struct gunzip::state {
  z_stream z{};
  std::string packed;

  state() {
    constexpr auto gzip_only = 16;
    const auto made = ::inflateInit2(&z, gzip_only + MAX_WBITS);
    if (made == Z_MEM_ERROR)
      throw std::bad_alloc{};
    SUPERSTEP_ASSERT(made == Z_OK);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { ::inflateEnd(&z); }
};

gunzip::gunzip() : state_{std::make_unique<state>()} {}
gunzip::~gunzip() = default;

void gunzip::feed(std::string_view packed) {
  SUPERSTEP_ASSERT(state_->z.avail_in == 0 && packed.size() < std::numeric_limits<uInt>::max());
  if (at_ == place::after_last || packed.empty())
    return;
  if (at_ == place::before_first)
    at_ = place::in_member;
  state_->packed = packed;
  state_->z.next_in = reinterpret_cast<Bytef*>(state_->packed.data());
  state_->z.avail_in = static_cast<uInt>(state_->packed.size());
}

result<std::size_t> gunzip::read(char* into, std::size_t size) {
  auto& z = state_->z;
  z.next_out = reinterpret_cast<Bytef*>(into);
  z.avail_out = static_cast<uInt>(size);
  for (;;) {
    if (at_ == place::between && z.avail_in > 0)
      start_next_member();
    if (at_ != place::in_member)
      return std::size_t{0};
    const auto end = ::inflate(&z, Z_NO_FLUSH);
    if (end == Z_STREAM_END)
      at_ = place::between;
    else if (end != Z_OK && end != Z_BUF_ERROR) // Z_BUF_ERROR: more input is needed
      return end == Z_MEM_ERROR ? error{errc::shortage, "out of memory for a gzip stream"}
                                : error{errc::parse_failed, "the body is not a valid gzip stream"};
    // A result of 0 would mean that all input was read, so an empty member is skipped here.
    if (const auto got = size - z.avail_out; got > 0 || end != Z_STREAM_END)
      return got;
  }
}

void gunzip::start_next_member() {
  constexpr auto first_byte = Bytef{0x1f}; // of each member (RFC 1952, section 2.3.1)
  auto& z = state_->z;
  if (*z.next_in == first_byte) {
    [[maybe_unused]] const auto reset = ::inflateReset(&z);
    SUPERSTEP_ASSERT(reset == Z_OK);
    at_ = place::in_member;
  } else {
    z.avail_in = 0;
    at_ = place::after_last;
  }
}

} // namespace superstep
