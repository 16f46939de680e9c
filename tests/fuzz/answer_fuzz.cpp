// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a provider's answer, complete or streamed, is accepted or rejected. A stream gives
// the same message however its bytes are split. The first byte selects the provider and the split.
#include "fuzz_input.hpp"
#include "models/http/answer_stream.hpp"

#include <algorithm>
#include <random>

namespace {

using namespace superstep;

struct outcome {
  bool is_wrong = false;
  std::string said;

  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome stream(provider_api api, std::string_view text, std::size_t longest, std::uint32_t seed) {
  auto luck = std::minstd_rand{seed};
  auto told = std::size_t{0};
  auto answer = models::answer_stream{api,
                                      models::wire_request{},
                                      seed % 2 == 0 ? output_version::v0 : output_version::v1,
                                      [&](const message_chunk&) { ++told; },
                                      {std::size_t{1} << 20, 100}};
  while (!text.empty()) {
    const auto n = std::min(text.size(), std::size_t{1} + luck() % longest);
    if (answer.feed(text.substr(0, n)))
      return {true, {}};
    text.remove_prefix(n);
  }
  if (answer.end() || !answer.is_whole())
    return {true, {}};
  const auto m = answer.finish();
  fuzz::must(!m || m->type == message_type::ai);
  return {m.has_error(), m ? text_of(*m) : std::string{}};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const auto api = static_cast<provider_api>(data[0] % 4);
  const auto text = fuzz::text_of(data + 1, size - 1);
  if (const auto whole = models::read_answer(api, text))
    fuzz::must(whole->type == message_type::ai);
  fuzz::must(models::read_fault(text).text.size() <= 500);
  const auto seed = data[0] + 2U;
  fuzz::must(stream(api, text, 7, seed) == stream(api, text, std::max(size, std::size_t{1}), seed));
  return 0;
}
