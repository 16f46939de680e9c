// SPDX-License-Identifier: Apache-2.0
// Every recorded stream, as the bytes a server sends, gives the same message however these are cut.
#include "conformance/message_form.hpp"
#include "models/providers/line_parser.hpp"
#include "models/sse_parser.hpp"

#include <superstep/models/protocols/relaxed_json.hpp>
#include <superstep/models/providers/anthropic.hpp>
#include <superstep/models/providers/ollama.hpp>
#include <superstep/models/providers/openai_chat.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace {

using namespace superstep;

constexpr auto bytes_max = std::size_t{1} << 20;

using event_reader = std::function<chunk_result(const json::object&)>;

struct stream_case {
  std::string id;
  std::string kind;
  json::object input;
};

std::vector<stream_case> recorded_streams() {
  auto out = std::vector<stream_case>{};
  for (const auto& entry : std::filesystem::directory_iterator{SUPERSTEP_GOLDEN_CASES}) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("message.") || name.find("_stream") == name.npos)
      continue;
    auto in = std::ifstream{entry.path()};
    for (auto line = std::string{}; std::getline(in, line);) {
      const auto c = parse_lenient_json(line).value().as_object();
      if (c.at("input").as_object().contains("events"))
        out.push_back({std::string{c.at("id").as_string()}, std::string{c.at("kind").as_string()},
                       c.at("input").as_object()});
    }
  }
  return out;
}

bool is_lines(const stream_case& c) {
  return c.kind.find("ollama") != c.kind.npos;
}

std::string bytes_of(const stream_case& c) {
  auto bytes = std::string{};
  for (const auto& event : c.input.at("events").as_array())
    bytes += is_lines(c) ? to_text(event) + "\n" : "data: " + to_text(event) + "\r\n\r\n";
  return bytes;
}

event_reader reader_of(const stream_case& c) {
  if (is_lines(c))
    return
        [r = ollama::line_reader{true}](const json::object& line) mutable { return r.read(line); };
  if (c.kind.find("anthropic") != c.kind.npos)
    return
        [r = anthropic::event_reader{false}](const json::object& e) mutable { return r.read(e); };
  return openai_chat::read_event;
}

/// Server-sent events or lines, by the case.
class event_splitter {
public:
  explicit event_splitter(bool lines) : lines_{lines} {}

  void feed(std::string_view bytes, std::vector<std::string>& out) {
    BOOST_REQUIRE((lines_ ? line_.feed(bytes, out) : sse_.feed(bytes, out)).has_value());
  }

private:
  bool lines_;
  providers::line_parser line_{bytes_max};
  models::sse_parser sse_{bytes_max};
};

/// The message that the bytes make when they come in pieces of 1 to `longest`.
json::value streamed(const stream_case& c, std::string_view bytes, std::minstd_rand& luck,
                     std::size_t longest) {
  auto splitter = event_splitter{is_lines(c)};
  const auto read = reader_of(c);
  auto sum = std::optional<message_chunk>{};
  auto events = std::vector<std::string>{};
  while (!bytes.empty()) {
    const auto n = std::min(bytes.size(), 1 + luck() % longest);
    splitter.feed(bytes.substr(0, n), events);
    bytes.remove_prefix(n);
    for (const auto& event : events)
      if (auto chunk = read(parse_json(event).value().as_object()).value()) {
        if (sum)
          append(*sum, *std::move(chunk)).value();
        else
          sum = std::move(chunk);
      }
    events.clear();
  }
  return conformance::form_of(to_message(*std::move(sum)));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_stream_of_events_gives_the_same_message_however_its_bytes_are_cut) {
  auto luck = std::minstd_rand{21};
  const auto streams = recorded_streams();
  BOOST_TEST(streams.size() >= 15U);
  for (const auto& c : streams) {
    const auto bytes = bytes_of(c);
    const auto whole = streamed(c, bytes, luck, bytes.size());
    for (auto i = 0; i < 60; ++i) {
      const auto longest = i == 0 ? std::size_t{1} : std::size_t{2} + luck() % 60;
      BOOST_TEST_REQUIRE((streamed(c, bytes, luck, longest) == whole), c.id);
    }
  }
}
