// SPDX-License-Identifier: Apache-2.0
// Generates the texts for the parser benchmarks.
#include "benchmarks/protocol_texts.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/protocols/tool_protocol.hpp>

namespace superstep::bench {

namespace {

constexpr auto prose = std::string_view{
    "The harbour was quiet when the ferry came in, and nobody on the pier looked up.\n"
    "Prices rose by 3.5 % in March; wages did not. \"That,\" she said, \"is the whole story.\"\n"
    "First sort the rows by key, then walk both lists at once and keep what stands in one only.\n"
    "    for (i = 0; i < rows; ++i) total += price[i] * count[i];  // a loop, not a tag\n"
    "Es grünt so grün, 東京は雨, et voilà: text is not ASCII alone, and no parser may mind.\n"};

json::object small_arguments(std::size_t i) {
  static constexpr const char* cities[] = {"Seoul", "Lisbon", "São Paulo", "New York, NY"};
  auto out = json::object{{"location", cities[i % std::size(cities)]}};
  out["unit"] = i % 2 == 0 ? "celsius" : "fahrenheit";
  out["days"] = static_cast<std::int64_t>(i % 14 + 1);
  return out;
}

json::object large_arguments(std::size_t i) {
  constexpr auto content_bytes = std::size_t{4096};
  auto out = json::object{{"path", "notes/" + std::to_string(i) + ".txt"}};
  auto content = std::string{};
  while (content.size() < content_bytes)
    content += prose;
  out["content"] = content;
  return out;
}

} // namespace

std::vector<protocol_tool> parser_tools() {
  auto small = json::parse(R"({"type":"function","name":"get_weather","description":"Forecast.",
    "inputSchema":{"type":"object","properties":{"location":{"type":"string"},
    "unit":{"type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer"}},
    "required":["location"]}})");
  auto large = json::parse(R"({"type":"function","name":"write_file","description":"Writes.",
    "inputSchema":{"type":"object","properties":{"path":{"type":"string"},
    "content":{"type":"string"}},"required":["path","content"]}})");
  return {make_protocol_tool(small.as_object()), make_protocol_tool(large.as_object())};
}

std::string parser_text(const tool_protocol& protocol, std::string_view kind,
                        std::size_t bytes_min) {
  SUPERSTEP_ASSERT(kind == "plain" || kind == "small" || kind == "large");
  auto out = std::string{};
  for (auto i = std::size_t{0}; out.size() < bytes_min; ++i)
    if (kind == "plain")
      out += prose;
    else if (kind == "small")
      out += "I look that up.\n" +
             protocol.format_call("get_weather", json::serialize(small_arguments(i))) + '\n';
    else
      out += "I write it down.\n" +
             protocol.format_call("write_file", json::serialize(large_arguments(i))) + '\n';
  return out;
}

} // namespace superstep::bench
