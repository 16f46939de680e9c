// SPDX-License-Identifier: Apache-2.0
// Texts that are made to be costly: every protocol reads or refuses 10 MB of them within a second
// of CPU and 100 MB of memory, whole and as a stream.
// SUPERSTEP_HOSTILE_MB: their length in MB (2, so that all tests together stay quick).
#include <superstep/models/protocols/make_protocol.hpp>
#include <superstep/models/protocols/parse_answer.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <new>

#include <malloc.h>

namespace {

// What is allocated now, and the most it has been.
std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> peak_bytes{0};

void* counted(std::size_t size) {
  auto* p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr)
    throw std::bad_alloc{};
  const auto now = live_bytes += malloc_usable_size(p);
  if (now > peak_bytes)
    peak_bytes = now;
  return p;
}

void uncounted(void* p) noexcept {
  if (p != nullptr)
    live_bytes -= malloc_usable_size(p);
  std::free(p);
}

} // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  uncounted(p);
}
void operator delete(void* p) noexcept {
  uncounted(p);
}
void operator delete(void* p, std::size_t) noexcept {
  uncounted(p);
}

namespace {

using namespace superstep;

// Builds for debuggers and sanitizers are slower, but not without bounds.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr auto cpu_seconds_max = 1.0;
#else
constexpr auto cpu_seconds_max = 30.0;
#endif
constexpr auto memory_max = std::size_t{100} * 1024 * 1024;

std::size_t length() {
  const auto* given = std::getenv("SUPERSTEP_HOSTILE_MB");
  return std::size_t{1'000'000} * (given != nullptr ? std::strtoull(given, nullptr, 10) : 2U);
}

std::string repeated(std::string_view unit, std::string_view before = "",
                     std::string_view after = "") {
  auto out = std::string{before};
  out.reserve(length() + unit.size() + after.size());
  while (out.size() < length())
    out += unit;
  return out += after;
}

/// Each alias stands for ten of the one before.
std::string alias_bomb() {
  auto out = std::string{"<f>\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"};
  for (auto i = 1; i < 30; ++i) {
    const auto name = std::to_string(i);
    const auto alias = "*a" + std::to_string(i - 1);
    out += "a" + name + ": &a" + name + " [" + alias;
    for (auto n = 1; n < 10; ++n)
      out += "," + alias;
    out += "]\n";
  }
  return out + "</f>";
}

std::vector<std::string> hostile_texts() {
  return {
      repeated("<"),
      repeated(">"),
      repeated("<>"),
      repeated("{"),
      repeated("{}"),
      repeated("```"),
      repeated("<", "<f>"),
      repeated("<f>"),
      repeated("<f/>"),
      repeated("f\n"),
      repeated("</f>", "<f>"),
      repeated("</f ", "<f>"),
      repeated("<o>", "<f>", "</f>"),
      repeated("<b/>", "<f>", "</f>"),
      repeated("&lt;", "<f><a>", "</a></f>"),
      repeated("&", "<f><a>", "</a></f>"),
      repeated("<f><a>x</a></f>"),
      repeated("<tool_call>"),
      repeated("<tool_call>{"),
      repeated("<tool_call>\""),
      repeated("<tool_call></tool_call>"),
      repeated(R"(<tool_call>{"name":"f","arguments":{}}</tool_call>)"),
      repeated("[", R"(<tool_call>{"name":"f","arguments":{"o":)", "</tool_call>"),
      repeated("\"", R"(<tool_call>{"name":"f","arguments":{"a":")", "\"}}</tool_call>"),
      repeated("<function=f>"),
      repeated("<function=f></function>"),
      repeated("<tool><name>"),
      repeated("<parameter=a>", "<tool_call><function=f>"),
      repeated("<parameter=b>1</parameter>", "<tool_call><function=f>", "</function></tool_call>"),
      repeated("<![CDATA[", "<tool_call><function=f><parameter=a>"),
      repeated(" ", "<function=f></function>"),
      repeated("- ", "<f>\n", "\n</f>"),
      repeated("[", "<f>\na: ", "\n</f>"),
      repeated("{a: ", "<f>\n", "\n</f>"),
      repeated("a: 1\n", "<f>\n", "</f>"),
      repeated("\n", "<f>\n", "</f>"),
      repeated("&a ", "<f>\na: ", "\n</f>"),
      repeated("*a,", "<f>\na: &a x\nb: [", "]\n</f>"),
      alias_bomb(),
  };
}

std::vector<protocol_tool> tools() {
  auto out = std::vector<protocol_tool>(1);
  out.front().name = "f";
  out.front().schema = json::parse(R"({"type":"object","properties":{"a":{"type":"string"},
      "b":{"type":"array","items":{"type":"integer"}},"o":{"type":"object"}}})");
  return out;
}

/// Runs it and says what it cost.
template <class Read>
void check_cost(std::string_view what, std::string_view text, const Read& read) {
  const auto bytes_before = live_bytes.load();
  peak_bytes = bytes_before;
  const auto cpu_before = std::clock();
  read();
  const auto cpu = static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC;
  const auto begin = std::string{text.substr(0, 40)};
  BOOST_TEST(cpu < cpu_seconds_max, what << " of " << begin << " takes " << cpu << " s");
  BOOST_TEST(peak_bytes - bytes_before < memory_max,
             what << " of " << begin << " takes " << (peak_bytes - bytes_before) << " bytes");
}

} // namespace

BOOST_AUTO_TEST_CASE(hostile_texts_are_read_or_refused_within_bounds) {
  const auto known = tools();
  for (const auto* name : {"hermes", "morph_xml", "yaml_xml", "qwen3_coder"}) {
    const auto protocol = make_protocol(name).value();
    for (const auto& text : hostile_texts()) {
      check_cost(std::string{name} + ", all at once,", text,
                 [&] { (void)parse_answer(*protocol, text, known, {}); });
      check_cost(std::string{name} + ", streamed,", text, [&] {
        const auto stream = protocol->stream(known, {}, [](const auto&) {}, {});
        constexpr auto piece = std::size_t{1'000};
        for (auto at = std::size_t{0}; at < text.size(); at += piece)
          stream->write(std::string_view{text}.substr(at, piece));
        stream->finish();
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(an_answer_has_a_bounded_number_of_calls) {
  auto text = std::string{};
  for (auto i = 0; i < 10'050; ++i)
    text += "<f/>";
  const auto known = tools();
  const auto protocol = make_protocol("morph_xml").value();
  const auto parts = parse_answer(*protocol, text, known, {});
  BOOST_TEST(parts.size() == 10'001U);
  BOOST_TEST(std::get<parsed_text>(parts.back()).text.size() == 50 * 4U);
  auto calls = 0;
  auto rest = std::string{};
  const auto stream = protocol->stream(known, {},
                                       [&](const protocol_event& e) {
                                         calls += std::holds_alternative<stream_call>(e) ? 1 : 0;
                                         if (const auto* t = std::get_if<stream_text>(&e))
                                           rest += t->text;
                                       },
                                       {});
  stream->write(text);
  stream->finish();
  BOOST_TEST(calls == 10'000);
  BOOST_TEST(rest.size() == 50 * 4U);
}
