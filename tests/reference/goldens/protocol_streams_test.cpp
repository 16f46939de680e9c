// SPDX-License-Identifier: Apache-2.0
// Properties of the streams of all protocols, tested on all recorded texts: the answer does not
// depend on where its text is split, and the deltas of a call join to its arguments.
// SUPERSTEP_SPLITS sets the random splits per text (20).
#include "goldens/protocol_recorded.hpp"
#include "goldens/protocol_stream_cases.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

namespace {

using namespace superstep;

/// One text with its tools, read by one protocol.
struct subject {
  std::string id;
  tool_protocol_ptr protocol;
  std::vector<protocol_tool> tools;
  std::string text;
};

std::vector<subject> subjects() {
  auto out = std::vector<subject>{};
  auto seen = std::set<std::string>{};
  for (const auto* kind : {".parse", ".matrix"})
    for (const auto& c : conformance::recorded(kind)) {
      const auto& input = c.at("input").as_object();
      auto s = subject{conformance::string_of(c, "id"), conformance::protocol_of(input),
                       conformance::tools_of(input), conformance::string_of(input, "text")};
      if (seen.insert(s.id).second)
        out.push_back(std::move(s));
    }
  return out;
}

/// The texts, calls and errors of a stream, in order.
struct answer {
  std::vector<parsed_part> parts;
  std::vector<std::string> errors;
  friend bool operator==(const answer&, const answer&) = default;
};

/// Collects the events of a stream. Checks the order of events within a call and the type of its
/// deltas.
class listener {
public:
  void on_event(const protocol_event& event) {
    std::visit([this](const auto& e) { take(e); }, event);
  }
  [[nodiscard]] answer take() && { return std::move(answer_); }
  std::vector<std::string>& errors() { return answer_.errors; }

private:
  void take(const stream_text& t) {
    BOOST_TEST_REQUIRE(!t.text.empty());
    if (!answer_.parts.empty())
      if (auto* last = std::get_if<parsed_text>(&answer_.parts.back())) {
        last->text += t.text;
        return;
      }
    answer_.parts.emplace_back(parsed_text{t.text});
  }
  void take(const tool_input_start& s) {
    BOOST_TEST_REQUIRE(s.call == inputs_.size());
    inputs_[s.call] = {};
  }
  void take(const tool_input_delta& d) {
    BOOST_TEST_REQUIRE(!inputs_.at(d.call).ended);
    BOOST_TEST_REQUIRE(d.text.size() <= 512U);
    inputs_.at(d.call).text += d.text;
  }
  void take(const tool_input_end& e) { inputs_.at(e.call).ended = true; }
  void take(const stream_call& c) {
    BOOST_TEST_REQUIRE(inputs_.at(c.call).ended);
    BOOST_TEST_REQUIRE(inputs_.at(c.call).text == c.parsed.arguments);
    answer_.parts.emplace_back(c.parsed);
  }

  struct input {
    std::string text;
    bool ended = false;
  };
  std::map<std::size_t, input> inputs_;
  answer answer_;
};

/// @param longest maximum length of the pieces, whose lengths are random
answer streamed(const subject& s, std::minstd_rand& luck, std::size_t longest) {
  auto heard = listener{};
  const auto stream = s.protocol->stream(
      s.tools, {}, [&](const protocol_event& e) { heard.on_event(e); },
      [&](const protocol_error& e) {
        heard.errors().push_back(e.code + ' ' + e.tool_name + ' ' + e.segment);
      });
  const auto text = std::string_view{s.text};
  for (auto begin = std::size_t{0}; begin < text.size();) {
    const auto length = std::min<std::size_t>(text.size() - begin, 1 + luck() % longest);
    stream->write(text.substr(begin, length));
    begin += length;
  }
  stream->finish();
  return std::move(heard).take();
}

int splits() {
  const auto* given = std::getenv("SUPERSTEP_SPLITS");
  return given != nullptr ? std::atoi(given) : 20;
}

} // namespace

BOOST_AUTO_TEST_CASE(streamed_calls_do_not_depend_on_text_splits) {
  auto luck = std::minstd_rand{11};
  auto calls = std::size_t{0};
  for (const auto& s : subjects()) {
    const auto whole = streamed(s, luck, 1U << 30);
    for (const auto& part : whole.parts)
      calls += std::holds_alternative<parsed_call>(part) ? 1U : 0U;
    BOOST_TEST_REQUIRE((streamed(s, luck, 1) == whole), s.id << " byte by byte");
    for (auto i = 0; i < splits(); ++i)
      BOOST_TEST_REQUIRE((streamed(s, luck, i % 2 == 0 ? 3 : 17) == whole), s.id);
  }
  BOOST_TEST(calls > 1000U);
}
