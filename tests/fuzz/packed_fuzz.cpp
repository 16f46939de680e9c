// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a gzip stream gives the same bytes however it is split, and no read returns more
// bytes than requested. The first byte selects the split. The input is also parsed as a proxy
// address.
#include "fuzz_input.hpp"
#include "net/gunzip.hpp"
#include "net/proxy.hpp"

#include <algorithm>
#include <string>

namespace {

using namespace superstep;

constexpr auto out_max = std::size_t{1} << 20;

/// Returns the unpacked bytes with a final mark for how the stream ended.
std::string unpacked(std::string_view text, std::size_t piece) {
  auto reader = gunzip{};
  auto out = std::string{};
  auto buffer = std::string(1'000, '\0');
  while (!text.empty()) {
    reader.feed(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
    for (;;) {
      const auto got = reader.read(buffer.data(), buffer.size());
      if (!got)
        return out + "!";
      fuzz::must(*got <= buffer.size());
      if (*got == 0)
        break;
      out.append(buffer, 0, *got);
      if (out.size() > out_max)
        return out.substr(0, out_max);
    }
  }
  return out + (reader.is_cut() ? "-" : ".");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const auto text = fuzz::text_of(data + 1, size - 1);
  (void)parse_proxy(text);
  const auto whole = unpacked(text, std::max(text.size(), std::size_t{1}));
  const auto pieces = unpacked(text, std::size_t{1} + data[0] % 16);
  // Damage may be detected before or after the preceding bytes are returned.
  fuzz::must(whole == pieces || (whole.ends_with('!') && pieces.ends_with('!')));
  return 0;
}
