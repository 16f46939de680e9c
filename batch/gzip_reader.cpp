// SPDX-License-Identifier: Apache-2.0
// Copies inputs that cannot be read at any position: pipes and compressed files.
#include "gzip_reader.hpp"

#include <cerrno>
#include <new>
#include <optional>
#include <string>

#include <poll.h>
#include <unistd.h>
#include <zlib.h>

namespace superstep::detail {
namespace {

constexpr auto gzip_block_bytes = std::size_t{256} << 10U;
constexpr auto gzip_magic = std::string_view{"\x1F\x8B"};

/// Decompresses gzip data that arrives in blocks.
class gunzip {
public:
  explicit gunzip(const std::string& path) : path_{path} {
    constexpr auto gzip_only = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK)
      throw std::bad_alloc{};
  }
  ~gunzip() { ::inflateEnd(&stream_); }
  gunzip(const gunzip&) = delete;
  gunzip& operator=(const gunzip&) = delete;

  /// Appends the decompressed bytes of a block to `to`.
  result<void> add(std::string_view block, file& to) {
    // zlib does not change the input, but its interface is not const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
    stream_.avail_in = static_cast<uInt>(block.size());
    while (stream_.avail_in > 0 && at_ != place::padding) {
      if (at_ == place::between && *stream_.next_in == 0) {
        at_ = place::padding;
        break;
      }
      if (at_ == place::between)
        ::inflateReset(&stream_);
      at_ = place::within;
      if (auto added = inflate_some(to); !added)
        return added;
    }
    if (at_ == place::padding)
      for (auto i = uInt{0}; i < stream_.avail_in; ++i)
        if (stream_.next_in[i] != 0)
          return damaged("has other data after its gzip data");
    return {};
  }

  /// Fails if the data ends within a member.
  [[nodiscard]] result<void> finish() const {
    return at_ == place::within ? result<void>{damaged("ends in the middle of its gzip data")}
                                : result<void>{};
  }

private:
  /// The place of the next input byte.
  enum class place : std::uint8_t { within, between, padding };

  result<void> inflate_some(file& to) {
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
    stream_.avail_out = static_cast<uInt>(out_.size());
    const auto code = ::inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR)
      throw std::bad_alloc{};
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return damaged(std::string{"has damaged gzip data"} +
                     (stream_.msg != nullptr ? std::string{" ("} + stream_.msg + ")" : ""));
    if (code == Z_STREAM_END)
      at_ = place::between;
    return to.append(std::string_view{out_}.substr(0, out_.size() - stream_.avail_out));
  }

  [[nodiscard]] error damaged(const std::string& what) const {
    return {errc::parse_failed,
            path_ + " " + what + "; nothing was run. Copy or download it again"};
  }

  const std::string& path_;
  z_stream stream_{};
  place at_ = place::within;
  std::string out_ = std::string(gzip_block_bytes, '\0');
};

/// Waits until a read does not block. Returns false if `is_stopped` returns true before.
bool wait_for_data(const file& from, const std::function<bool()>& is_stopped) {
  constexpr auto period_ms = 200; // a signal may arrive after the check and before the wait
  auto waited = pollfd{.fd = from.fd(), .events = POLLIN, .revents = 0};
  while (!is_stopped || !is_stopped()) {
    const auto ready = ::poll(&waited, 1, period_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) // read() reports an error
      return true;
  }
  return false;
}

} // namespace

bool is_gzip(std::string_view bytes) noexcept {
  return bytes.starts_with(gzip_magic);
}

result<void> copy_decompressed(const file& from, file& to,
                               const std::function<bool()>& is_stopped) {
  auto block = std::string(gzip_block_bytes, '\0');
  auto unzip = std::optional<gunzip>{};
  auto size = std::size_t{0}; // of the bytes in the block
  auto is_started = false;
  while (true) {
    if (!wait_for_data(from, is_stopped))
      return error{errc::cancelled, "stopped while " + from.path() + " was being read"};
    const auto got = ::read(from.fd(), block.data() + size, block.size() - size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return disk_error("read", from.path(), errno);
    size += static_cast<std::size_t>(got);
    if (got > 0 && size < gzip_magic.size() && !is_started)
      continue; // a pipe may return a single byte
    const auto bytes = std::string_view{block}.substr(0, size);
    if (!is_started && is_gzip(bytes))
      unzip.emplace(from.path());
    is_started = true;
    auto added = unzip ? unzip->add(bytes, to) : to.append(bytes);
    if (!added)
      return added;
    size = 0;
    if (got == 0)
      return unzip ? unzip->finish() : result<void>{};
  }
}

} // namespace superstep::detail
