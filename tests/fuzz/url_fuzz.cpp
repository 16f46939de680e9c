// SPDX-License-Identifier: Apache-2.0
// Fuzz target: an accepted URL has a host, a port and a target that fits into a request line.
#include "fuzz_input.hpp"
#include "net/url.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto read = parse_url(fuzz::text_of(data, size));
  if (!read)
    return 0;
  fuzz::must(!read->host.empty() && read->port != 0 && read->target.starts_with('/'));
  fuzz::must(read->target.find_first_of(" \r\n") == std::string::npos);
  fuzz::must(read->authority().find_first_of(" \r\n@/") == std::string::npos);
  return 0;
}
