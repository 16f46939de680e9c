// SPDX-License-Identifier: Apache-2.0
// `wire_driver requests` prints requests to all providers, one JSON line each, for all kinds of
// messages, tools, options and answer formats. `wire_driver read` reads lines {"api", "stream",
// "text"} with answers of providers and prints the parsed messages. wire_check.py compares both
// with the providers' SDKs.
#include "models/http/answer_stream.hpp"
#include "models/http/wire_request.hpp"

#include <superstep/base/json.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace superstep;

const auto apis =
    std::map<std::string, provider_api>{{"anthropic", provider_api::anthropic},
                                        {"chat", provider_api::openai_chat},
                                        {"ollama", provider_api::ollama},
                                        {"responses", provider_api::openai_responses}};

struct history {
  std::string name;
  std::string messages;
};

constexpr auto image = R"({"type":"image","base64":"iVBORw0KGgo=","mime_type":"image/png"})";
constexpr auto calls =
    R"({"role":"assistant","content":"","tool_calls":[)"
    R"({"name":"weather","args":{"city":"Oslo","days":2},"id":"c1"},{"name":"now","args":{},"id":"c2"}]},)"
    R"({"role":"tool","content":"12C","tool_call_id":"c1","name":"weather"},)"
    R"({"role":"tool","content":"noon","tool_call_id":"c2","name":"now","status":"error"})";

std::vector<history> histories() {
  const auto list = [](const std::string& rest) {
    return R"([{"role":"user","content":"hi"},)" + rest + "]";
  };
  return {
      {"text", R"([{"role":"system","content":"be brief"},{"role":"user","content":"hi"}])"},
      {"developer",
       R"([{"role":"developer","content":"be brief"},{"role":"user","content":"hi"}])"},
      {"named", R"([{"role":"user","content":"hi","name":"ann"},{"role":"user","content":"ho"}])"},
      {"turns",
       list(R"({"role":"assistant","content":"hello"},{"role":"user","content":"again"})")},
      {"calls", list(calls)},
      {"calls_with_text",
       list(
           R"({"role":"assistant","content":"one moment","tool_calls":[{"name":"now","args":{},"id":"c1"}]},)"
           R"({"role":"tool","content":"noon","tool_call_id":"c1"},{"role":"assistant","content":"noon"},)"
           R"({"role":"user","content":"thanks"})")},
      {"invalid_calls",
       list(
           R"({"type":"ai","content":"","invalid_tool_calls":[{"name":"now","args":"{\"a\":","id":"c1","error":"e"}]},)"
           R"({"role":"tool","content":"not valid","tool_call_id":"c1","name":"now"})")},
      {"images",
       R"([{"role":"user","content":[{"type":"text","text":"what"},)" + std::string{image} + "]}]"},
      {"image_url",
       R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}])"},
      {"file",
       R"([{"role":"user","content":[{"type":"file","base64":"JVBERi0=","mime_type":"application/pdf","filename":"a.pdf"}]}])"},
      {"result_blocks",
       list(
           R"({"role":"assistant","content":"","tool_calls":[{"name":"now","args":{},"id":"c1"}]},)"
           R"({"role":"tool","content":[{"type":"text","text":"noon"}],"tool_call_id":"c1","name":"now"})")},
      {"anthropic_blocks",
       list(
           R"({"type":"ai","content":[{"type":"thinking","thinking":"hm","signature":"s"},)"
           R"({"type":"redacted_thinking","data":"d"},{"type":"text","text":"well"},)"
           R"({"type":"tool_use","id":"c1","name":"now","input":{}}],)"
           R"("tool_calls":[{"name":"now","args":{},"id":"c1"}],"response_metadata":{"model_provider":"anthropic"}},)"
           R"({"role":"tool","content":"noon","tool_call_id":"c1","name":"now"})")},
      {"responses_blocks",
       list(
           R"({"type":"ai","content":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}]},)"
           R"({"type":"text","text":"well","annotations":[],"id":"msg_1"},)"
           R"({"type":"function_call","id":"fc_1","call_id":"c1","name":"now","arguments":"{}"}],)"
           R"("tool_calls":[{"name":"now","args":{},"id":"c1"}],"response_metadata":{"model_provider":"openai"}},)"
           R"({"role":"tool","content":"noon","tool_call_id":"c1","name":"now"})")},
      {"standard_blocks",
       list(
           R"({"type":"ai","content":[{"type":"text","text":"well"},)"
           R"({"type":"tool_call","id":"c1","name":"now","args":{}}],)"
           R"("tool_calls":[{"name":"now","args":{},"id":"c1"}],"response_metadata":{"output_version":"v1"}},)"
           R"({"role":"tool","content":"noon","tool_call_id":"c1","name":"now"})")},
      {"reasoning",
       list(
           R"({"type":"ai","content":"well","additional_kwargs":{"reasoning_content":"hm"}},{"role":"user","content":"so?"})")},
  };
}

tool_definitions make_tools() {
  auto weather = tool_definition{};
  weather.name = "weather";
  weather.description = "The weather of a city.";
  weather.parameters =
      parse_json(R"({"type":"object","properties":{"city":{"type":"string","description":"d"},)"
                 R"("days":{"type":"integer"}},"required":["city"]})")
          ->get_object();
  auto now = tool_definition{};
  now.name = "now";
  now.description = "The time.";
  now.parameters = parse_json(R"({"type":"object","properties":{}})")->get_object();
  return std::make_shared<const std::vector<tool_definition>>(
      std::vector<tool_definition>{weather, now});
}

/// Variant of a request: its parameters, and whether it has tools and a format.
struct manner {
  std::string name;
  std::string parameters = "{}";
  bool has_tools = false;
  bool has_format = false;
  answer_mode mode = answer_mode::json_schema;
};

const auto manners = std::vector<manner>{
    {"plain"},
    {"limits", R"({"max_tokens":50,"temperature":0.5,"top_p":0.9,"stop":["END"]})"},
    {"tools", "{}", true},
    {"format", "{}", false, true},
    {"json_object", "{}", false, true, answer_mode::json_object},
    {"tools_and_format", "{}", true, true},
    {"auto", R"({"tool_choice":"auto"})", true},
    {"any", R"({"tool_choice":"any","parallel_tool_calls":false})", true},
    {"none", R"({"tool_choice":"none"})", true},
    {"by_name", R"({"tool_choice":"now","parallel_tool_calls":true})", true},
    {"strict", R"({"strict":true})", true},
    {"not_strict", R"({"strict":false})", true},
};

void print_request(const std::string& api, const history& said, const manner& how,
                   const std::string& base_url, bool stream) {
  auto options = provider_model_options{};
  options.api = apis.at(api);
  options.model = "m";
  options.base_url = base_url;
  options.stream = stream;
  auto request = model_request{};
  request.messages = messages_from_json(parse_json(said.messages).value(), said.name).value();
  request.parameters = parse_json(how.parameters)->get_object();
  if (how.has_tools)
    request.tools = make_tools();
  if (how.has_format) {
    auto format = answer_schema{};
    format.schema = parse_json(R"({"type":"object","properties":{"n":{"type":"integer"}},)"
                               R"("required":["n"],"additionalProperties":false})")
                        ->get_object();
    format.mode = how.mode;
    request.format = std::make_shared<const answer_schema>(format);
  }
  const auto written = models::write_request(options, request);
  auto line = json::object{{"api", api}, {"name", said.name + '/' + how.name}, {"stream", stream}};
  if (written)
    line["body"] = parse_json(written->body, {.depth_max = 1'000}).value();
  else
    line["error"] = written.error().text;
  std::cout << to_text(line) << '\n';
}

void print_requests() {
  for (const auto& [api, _] : apis)
    for (const auto& said : histories())
      for (const auto& how : manners)
        for (const auto stream : {false, true}) {
          print_request(api, said, how, "", stream);
          if (api == "chat")
            print_request(api, said, how, "http://localhost:8000/v1", stream);
        }
}

result<message> read_stream(provider_api api, std::string_view text) {
  auto asked = models::wire_request{};
  asked.with_reasoning = true;
  auto answer = models::answer_stream{api, asked, output_version::v0, nullptr, {}};
  auto wrong = std::optional<models::fault>{};
  constexpr auto piece = std::size_t{11}; // does not divide any of the sizes
  for (auto at = std::size_t{0}; at < text.size() && !wrong; at += piece)
    wrong = answer.feed(text.substr(at, piece));
  if (!wrong)
    wrong = answer.end();
  if (wrong)
    return error{errc::parse_failed, wrong->text};
  if (!answer.is_whole())
    return error{errc::parse_failed, "the stream is not whole"};
  return answer.finish();
}

json::object understood(const json::object& given) {
  const auto api = apis.at(std::string{given.at("api").as_string()});
  const auto text = std::string_view{given.at("text").as_string()};
  const auto answer =
      given.at("stream").as_bool() ? read_stream(api, text) : models::read_answer(api, text);
  if (!answer)
    return {{"error", answer.error().text}};
  auto out = json::object{{"text", text_of(*answer)}, {"message", to_json(*answer)}};
  auto& list = out["calls"].emplace_array();
  for (const auto& call : answer->tool_calls)
    list.push_back({{"id", call.id}, {"name", call.name}, {"args", call.args}});
  if (answer->usage)
    out["usage"] = to_json(*answer->usage);
  return out;
}

} // namespace

int main(int argc, char** argv) {
  const auto verb = std::string{argc == 2 ? argv[1] : ""};
  if (verb == "requests") {
    print_requests();
    return 0;
  }
  if (verb != "read") {
    std::cerr << "usage: wire_driver requests|read\n";
    return 2;
  }
  for (auto line = std::string{}; std::getline(std::cin, line);)
    std::cout << to_text(understood(parse_json(line)->get_object())) << std::endl;
}
