// SPDX-License-Identifier: Apache-2.0
// Texts designed to be expensive to parse. Every protocol parses or rejects 10 MB of them within a
// second of CPU time and 100 MB of memory, whole and as a stream. Four times the text costs at most
// ten times the CPU time. SUPERSTEP_HOSTILE_MB sets their length in MB; by default they are short,
// so that the test is quick.
#include "protocols/protocol_parts.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <new>

#include <malloc.h>

namespace {

// The bytes allocated now, and their maximum so far.
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

// Debug builds and sanitizers are slower, but still have a limit.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr auto cpu_seconds_max = 1.0;
constexpr auto length_unless_given = std::size_t{400'000};
#else
constexpr auto cpu_seconds_max = 30.0;
constexpr auto length_unless_given = std::size_t{96'000};
#endif
constexpr auto memory_max = std::size_t{100} * 1024 * 1024;
constexpr auto length_ratio = std::size_t{4};
// Quadratic work would take 16 times as long. Short times cannot be measured and do not matter.
constexpr auto cpu_ratio_max = 10.0;
constexpr auto cpu_seconds_ignored = 0.05;
constexpr auto measurements_max = 3; // other processes disturb the measurement

std::size_t length() {
  const auto* given = std::getenv("SUPERSTEP_HOSTILE_MB");
  return given != nullptr ? std::size_t{1'000'000} * std::strtoull(given, nullptr, 10)
                          : length_unless_given;
}

struct hostile_text {
  std::string_view unit;
  std::string_view before = {};
  std::string_view after = {};
};

std::string repeated(const hostile_text& text, std::size_t size) {
  auto out = std::string{text.before};
  out.reserve(size + text.unit.size() + text.after.size());
  while (out.size() < size)
    out += text.unit;
  return out += text.after;
}

/// Returns YAML in which each alias contains ten of the previous one.
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

constexpr hostile_text hostile_texts[] = {
    {"<"},
    {">"},
    {"<>"},
    {"{"},
    {"{}"},
    {"```"},
    {"<", "<f>"},
    {"<f>"},
    {"<f/>"},
    {"f\n"},
    {"</f>", "<f>"},
    {"</f ", "<f>"},
    {"<o>", "<f>", "</f>"},
    {"<b/>", "<f>", "</f>"},
    {"&lt;", "<f><a>", "</a></f>"},
    {"&", "<f><a>", "</a></f>"},
    {"<f><a>x</a></f>"},
    {"<tool_call>"},
    {"<tool_call>{"},
    {"<tool_call>\""},
    {"<tool_call></tool_call>"},
    {R"(<tool_call>{"name":"f","arguments":{}}</tool_call>)"},
    {"[", R"(<tool_call>{"name":"f","arguments":{"o":)", "</tool_call>"},
    {"\"", R"(<tool_call>{"name":"f","arguments":{"a":")", "\"}}</tool_call>"},
    {"<function=f>"},
    {"<function=f></function>"},
    {"<tool><name>"},
    {"<parameter=a>", "<tool_call><function=f>"},
    {"<function=f><parameter=a>"},
    {"<function=f><parameter=a>", "<tool_call>", "</function></tool_call>"},
    {"<function=f><parameter=a><tool=f><parameter=a></function>"},
    {"<parameter=a><tool_call>", "<function=f>"},
    {"</tool_call> ", "<function=f><parameter=a>"},
    {"</tool_call>"},
    {"<parameter=b>1</parameter>", "<tool_call><function=f>", "</function></tool_call>"},
    {"<![CDATA[", "<tool_call><function=f><parameter=a>"},
    {" ", "<function=f></function>"},
    {"- ", "<f>\n", "\n</f>"},
    {"[", "<f>\na: ", "\n</f>"},
    {"{a: ", "<f>\n", "\n</f>"},
    {"a: 1\n", "<f>\n", "</f>"},
    {"\n", "<f>\n", "</f>"},
    {"&a ", "<f>\na: ", "\n</f>"},
    {"*a,", "<f>\na: &a x\nb: [", "]\n</f>"},
    // Elements, comments and character data that open, close or nest endlessly.
    {"<![CDATA[", "<f><a>"},
    {"<![CDATA[", "<f><a>", "</a></f>"},
    {"<a><![CDATA[x</a>", "<f>", "</f>"},
    {"<![CDATA[x]]>", "<f><a>", "</a></f>"},
    {"<!--", "<f><a>", "</a></f>"},
    {"<l><!-- x</l>", "<f>", "</f>"},
    {"</b>", "<f><a>", "</a></f>"},
    {"<b>", "<f><a>", "</a></f>"},
    {"<b></c>", "<f><a>", "</a></f>"},
    {"</b", "<f><a>", "</a></f>"},
    {"x <b ", "<f><a>"},
    {"<b>", "<f><a>", "</b"},
    {"<l>a</l>", "<f>", "</f>"},
    {"<l>[1]</l>", "<f>", "</f>"},
    {"<a>x</a>", "<g><command>c</command>", "</g>"},
    {"<a>", "<g><command>c</command>", "</g>"},
    {"x ", "<f><e>", "</e></f>"},
    {"<e>x  y</e>", "<f>", "</f>"},
    {"<parameter=l>[1]</parameter>", "<tool_call><function=f>", "</function></tool_call>"},
    {" x", "<tool_call><function=f><parameter=e>", "</parameter></function></tool_call>"},
    {"a &amp", "<tool_call><function=f><parameter=a>", "</parameter></function></tool_call>"},
    {"<parameter=a>x", "<tool_call><function=f>"},
    {"\\\"", R"(<tool_call>{"name":"f","arguments":{"a":")", R"("}}</tool_call>)"},
    {"\"a\":\"x\",", R"(<tool_call>{"name":"f","arguments":{)", R"(}}</tool_call>)"},
    {"\"a\":[", R"(<tool_call>{"name":"f","arguments":{)"},
    {"<tool_call> "},
    {"a: x\n", "<f>\n", "</f>"},
    {"  word\n", "<f>\na: |\n", "</f>"},
    {"it''s ", "<f>\na: '", "'\n</f>"},
    {"x, ", "<f>\nl: [", "y]\n</f>"},
    {"word \"q\" ", "<f>\na: ", "\n</f>"},
    {"\"\n", "<f>\na: 1\n", "</f>"},
    {"some text < 5 "},
};

std::vector<protocol_tool> tools() {
  auto out = std::vector<protocol_tool>(2);
  out[0].name = "f";
  out[0].schema = json::parse(R"({"type":"object","properties":{"a":{"type":"string"},
      "b":{"type":"array","items":{"type":"integer"}},"o":{"type":"object"},
      "l":{"type":"array","items":{"type":"string"}},
      "e":{"type":"string","enum":["x y","z"]}}})");
  out[1] = out[0];
  out[1].name = "g"; // a shell tool, for which repeated elements are read
  out[1].schema.at("properties").as_object()["command"] =
      json::parse(R"({"type":"array","items":{"type":"string"}})");
  return out;
}

std::string begin_of(std::string_view text) {
  return std::string{text.substr(0, 40)};
}

/// Parses a text within the limits and returns the CPU seconds it took.
template <class Read>
double check_cost(const std::string& what, std::string_view text, const Read& read) {
  const auto bytes_before = live_bytes.load();
  peak_bytes = bytes_before;
  const auto cpu_before = std::clock();
  read(text);
  const auto cpu = static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC;
  BOOST_TEST(cpu < cpu_seconds_max, what << " of " << begin_of(text) << " takes " << cpu << " s");
  BOOST_TEST(peak_bytes - bytes_before < memory_max, what << " of " << begin_of(text) << " takes "
                                                          << (peak_bytes - bytes_before)
                                                          << " bytes");
  return cpu;
}

/// Checks the cost of a text and of one four times as long.
template <class Read>
void check_growth(const std::string& what, std::string_view part, std::string_view whole,
                  const Read& read) {
  auto of_part = check_cost(what, part, read);
  auto of_whole = check_cost(what, whole, read);
  const auto grows = [&] { return of_whole > cpu_ratio_max * of_part + cpu_seconds_ignored; };
  for (auto n = 1; n < measurements_max && grows(); ++n) {
    of_part = std::max(of_part, check_cost(what, part, read));
    of_whole = std::min(of_whole, check_cost(what, whole, read));
  }
  BOOST_TEST(!grows(), what << " of " << begin_of(whole) << ": " << part.size() << " bytes take "
                            << of_part << " s, " << whole.size() << " bytes " << of_whole << " s");
}

} // namespace

BOOST_AUTO_TEST_CASE(parsing_hostile_text_takes_bounded_time_and_memory) {
  const auto known = tools();
  const auto bomb = alias_bomb();
  for (const auto* name : {"hermes", "morph_xml", "yaml_xml", "qwen3_coder"}) {
    const auto protocol = make_protocol(name).value();
    const auto at_once = [&](std::string_view text) {
      (void)parse_answer(*protocol, text, known, {});
    };
    const auto in_pieces = [&](std::string_view text) {
      const auto stream = protocol->stream(known, {}, [](const auto&) {}, {});
      constexpr auto piece = std::size_t{64};
      for (auto at = std::size_t{0}; at < text.size(); at += piece)
        stream->write(text.substr(at, piece));
      stream->finish();
    };
    for (const auto& text : hostile_texts) {
      const auto whole = repeated(text, length());
      const auto part = repeated(text, length() / length_ratio);
      check_growth(std::string{name} + ", all at once,", part, whole, at_once);
      check_growth(std::string{name} + ", streamed,", part, whole, in_pieces);
    }
    check_cost(std::string{name} + ", all at once,", bomb, at_once);
    check_cost(std::string{name} + ", streamed,", bomb, in_pieces);
  }
}

BOOST_AUTO_TEST_CASE(calls_after_the_10000th_are_returned_as_text) {
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
