// SPDX-License-Identifier: Apache-2.0
// Compresses rows with zlib, and computes checksums. sqlite_db.cpp compresses every row before it
// encrypts the row (row_cipher.cpp).
#include "row_bytes.hpp"

#include "checkpoint_codec.hpp"

#include <array>
#include <new>

#include <zlib.h>

namespace superstep::detail {

namespace {

constexpr auto header_size = std::size_t{5};
constexpr auto short_row = std::size_t{8} << 10U;
constexpr auto few_tables = 5;   // zlib memory level for short rows: 8 KB of tables
constexpr auto usual_tables = 8; // zlib's default level: 64 KB of tables

/// A zlib stream that one operating-system thread reuses for all its rows, because allocating the
/// tables of a stream costs more than compressing a row. zlib also clears the tables before each
/// row, so short rows use a stream with small tables.
class deflater {
public:
  explicit deflater(int memory_level) {
    is_ready_ = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS, memory_level,
                             Z_DEFAULT_STRATEGY) == Z_OK;
  }
  deflater(const deflater&) = delete;
  deflater& operator=(const deflater&) = delete;
  ~deflater() {
    if (is_ready_)
      deflateEnd(&stream_);
  }

  /// Returns the compressed form with its header; empty if it would exceed `bytes_max`.
  std::string pack(std::string_view text, std::size_t bytes_max) {
    auto out = std::string(bytes_max, '\0');
    if (!is_ready_ || deflateReset(&stream_) != Z_OK)
      return {};
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + header_size);
    stream_.avail_out = static_cast<uInt>(out.size() - header_size);
    if (deflate(&stream_, Z_FINISH) != Z_STREAM_END)
      return {};
    out[0] = 'z';
    for (auto i = 0U; i < 4; ++i)
      out[1 + i] = static_cast<char>(text.size() >> (8 * i) & 0xffU);
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

private:
  z_stream stream_{};
  bool is_ready_ = false;
};

} // namespace

std::string pack_row(std::string text) {
  // Checkpoints are JSON, but the result of an effect is arbitrary text. If it starts with `z`, the
  // marker of compressed rows, it is always compressed. So `z` on disk always means compressed.
  constexpr auto room = std::size_t{64};
  const auto must_be = text.starts_with('z');
  if (text.size() < packed_min && !must_be)
    return text;
  thread_local auto for_short = deflater{few_tables};
  thread_local auto for_long = deflater{usual_tables};
  auto packed = (text.size() < short_row ? for_short : for_long)
                    .pack(text, must_be ? text.size() + text.size() / 8 + room : text.size());
  return packed.empty() ? std::move(text) : packed;
}

result<std::string> unpack_row(std::string_view bytes) {
  if (!bytes.starts_with('z'))
    return std::string{bytes};
  auto size = std::size_t{0};
  for (auto i = std::size_t{0}; i < 4 && bytes.size() >= header_size; ++i)
    size |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[1 + i])) << (8 * i);
  if (size == 0 || size > row_bytes_max)
    return error{errc::parse_failed, "the header of a compressed row has an invalid length"};
  auto out = std::string(size, '\0');
  auto length = static_cast<uLongf>(size);
  const auto code = uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                               reinterpret_cast<const Bytef*>(bytes.data()) + header_size,
                               static_cast<uLong>(bytes.size() - header_size));
  if (code == Z_MEM_ERROR)
    throw std::bad_alloc{}; // too little memory does not mean a damaged row
  if (code != Z_OK || length != size)
    return error{errc::parse_failed, "a compressed row cannot be decompressed"};
  return out;
}

std::uint32_t checksum_of(std::initializer_list<std::string_view> parts) noexcept {
  auto sum = crc32(0, nullptr, 0);
  for (const auto part : parts) {
    if (!part.empty()) // crc32() with a null pointer would reset the sum
      sum = crc32(sum, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
    sum = crc32(sum, reinterpret_cast<const Bytef*>("\0"), 1);
  }
  return static_cast<std::uint32_t>(sum);
}

} // namespace superstep::detail
