// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on the files of a folder: `PROGRAM FOLDER`. Each file is passed whole,
// truncated, and with a changed byte at some places. This keeps the targets working where libFuzzer
// is not available.
#include "fuzz_input.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

void run(const std::string& text) {
  static_cast<void>(
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: PROGRAM FOLDER\n", stderr);
    return 2;
  }
  constexpr auto places = std::size_t{64};
  auto files = 0;
  for (const auto& entry : std::filesystem::directory_iterator{argv[1]}) {
    auto stream = std::ifstream{entry.path(), std::ios::binary};
    const auto text = std::string{std::istreambuf_iterator<char>{stream}, {}};
    ++files;
    run(text);
    for (auto i = std::size_t{1}; i < places; ++i) {
      const auto at = text.size() * i / places;
      run(text.substr(0, at));
      if (at < text.size()) {
        auto changed = text;
        changed[at] = static_cast<char>(changed[at] ^ (1U << (i % 8U)));
        run(changed);
      }
    }
  }
  if (files == 0) {
    std::fprintf(stderr, "%s holds no files\n", argv[1]);
    return 1;
  }
  return 0;
}
