// SPDX-License-Identifier: Apache-2.0
// Compresses rows with Zstandard, and computes checksums. sqlite_db.cpp compresses every row before
// it encrypts the row (row_cipher.cpp).
#include "row_bytes.hpp"

#include "checkpoint_codec.hpp"
#include "row_dictionary.hpp"

#include <memory>
#include <new>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace superstep::detail {

namespace {

constexpr auto header_size = std::size_t{5};
/// Set in the length of a row that Zstandard has compressed; not set for a zlib stream. Lengths are
/// at most row_bytes_max, so the bit is free.
constexpr auto zstd_bit = std::uint32_t{1} << 31U;
static_assert(row_bytes_max < zstd_bit);
constexpr auto level = 1;

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

/// Returns the owner of a new Zstandard object. Throws bad_alloc if memory was short for it, so
/// that the initialization of a static object is repeated at its next use.
template <auto Free, class T>
std::unique_ptr<T, freed_by<Free>> owned(T* created) {
  if (created == nullptr)
    throw std::bad_alloc{};
  return std::unique_ptr<T, freed_by<Free>>{created};
}

/// Writes a compressed row with its header to `out`. Returns its size; 0 if `out` is too small or
/// Zstandard lacks memory, and the text is then stored as it is.
std::size_t compress_into(std::string& out, std::string_view text) {
  static const auto dictionary =
      owned<ZSTD_freeCDict>(ZSTD_createCDict(row_dictionary.data(), row_dictionary.size(), level));
  // A thread reuses its context, because creating one costs more than compressing a row.
  thread_local const auto context = owned<ZSTD_freeCCtx>(ZSTD_createCCtx());
  const auto size =
      ZSTD_compress_usingCDict(context.get(), out.data() + header_size, out.size() - header_size,
                               text.data(), text.size(), dictionary.get());
  if (ZSTD_isError(size) != 0)
    return 0;
  out[0] = 'z';
  const auto length = static_cast<std::uint32_t>(text.size()) | zstd_bit;
  for (auto i = 0U; i < 4; ++i)
    out[1 + i] = static_cast<char>(length >> (8 * i) & 0xffU);
  return header_size + size;
}

/// Decompresses a Zstandard frame. Returns whether its text has exactly the size of `out`.
bool decompress_zstd(std::string_view frame, std::string& out) {
  static const auto dictionary =
      owned<ZSTD_freeDDict>(ZSTD_createDDict(row_dictionary.data(), row_dictionary.size()));
  thread_local const auto context = owned<ZSTD_freeDCtx>(ZSTD_createDCtx());
  const auto size = ZSTD_decompress_usingDDict(context.get(), out.data(), out.size(), frame.data(),
                                               frame.size(), dictionary.get());
  if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation)
    throw std::bad_alloc{}; // too little memory does not mean a damaged row
  return ZSTD_isError(size) == 0 && size == out.size();
}

/// Decompresses a zlib stream, the form of rows in files of version 3 and earlier. Returns whether
/// its text has exactly the size of `out`.
bool decompress_zlib(std::string_view stream, std::string& out) {
  auto length = static_cast<uLongf>(out.size());
  const auto code =
      uncompress(reinterpret_cast<Bytef*>(out.data()), &length,
                 reinterpret_cast<const Bytef*>(stream.data()), static_cast<uLong>(stream.size()));
  if (code == Z_MEM_ERROR)
    throw std::bad_alloc{};
  return code == Z_OK && length == out.size();
}

} // namespace

std::string pack_row(std::string text) {
  // Checkpoints are JSON, but the result of an effect is arbitrary text. If it starts with `z`, the
  // marker of compressed rows, it is always compressed. So `z` on disk always means compressed.
  const auto must_be = text.starts_with('z');
  if ((text.size() < packed_min || text.size() > row_bytes_max) && !must_be)
    return text;
  auto packed =
      std::string(must_be ? header_size + ZSTD_compressBound(text.size()) : text.size(), '\0');
  const auto size = compress_into(packed, text);
  if (size == 0) {
    if (must_be)
      throw std::bad_alloc{};
    return text;
  }
  packed.resize(size);
  return packed;
}

result<std::string> unpack_row(std::string_view bytes) {
  if (!bytes.starts_with('z'))
    return std::string{bytes};
  auto length = std::uint32_t{0};
  for (auto i = std::size_t{0}; i < 4 && bytes.size() >= header_size; ++i)
    length |= std::uint32_t{static_cast<unsigned char>(bytes[1 + i])} << (8 * i);
  const auto size = std::size_t{length & ~zstd_bit};
  if (size == 0 || size > row_bytes_max)
    return error{errc::parse_failed, "the header of a compressed row has an invalid length"};
  const auto body = bytes.substr(header_size);
  const auto is_zstd = (length & zstd_bit) != 0;
  // the frame contains the size too, so that a damaged length allocates nothing
  if (!is_zstd || ZSTD_getFrameContentSize(body.data(), body.size()) == size) {
    auto out = std::string(size, '\0');
    if (is_zstd ? decompress_zstd(body, out) : decompress_zlib(body, out))
      return out;
  }
  return error{errc::parse_failed, "a compressed row cannot be decompressed"};
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
