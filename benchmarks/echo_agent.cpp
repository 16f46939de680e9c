// SPDX-License-Identifier: Apache-2.0
// The scripted model and the echo tool that the agent workloads use.
#include "echo_agent.hpp"

#include "measure.hpp"

#include <superstep/base/await.hpp>
#include <superstep/tools/make_tool.hpp>

#include <boost/describe/class.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::bench {

struct echo_arguments {
  std::string query;
};
BOOST_DESCRIBE_STRUCT(echo_arguments, (), (query))

namespace {

constexpr auto large_query = std::size_t{3'600};
constexpr auto large_results = 10;

/// Returns `start` and the numbers, with the separator between them.
std::string numbered(std::string_view start, char separator,
                     std::initializer_list<std::int64_t> numbers) {
  auto text = std::array<char, 96>{};
  auto* at = std::ranges::copy(start, text.data()).out;
  for (const auto& number : numbers) {
    if (&number != numbers.begin())
      *at++ = separator;
    at = std::to_chars(at, text.data() + text.size(), number).ptr;
  }
  return {text.data(), at};
}

class scripted final : public chat_model {
public:
  explicit scripted(script s) : script_{s} {}

  task<result<message>> complete(model_request request) const override {
    co_return answer(request.messages);
  }
  std::string fingerprint() const override { return "bench"; }

private:
  struct counts {
    std::int64_t humans = 0;
    std::int64_t answers = 0; // model answers after the last human message
    std::int64_t results = 0;
  };
  [[nodiscard]] static counts read(const message_list& messages) {
    auto out = counts{};
    messages.for_each_type([&out](message_type type) {
      if (type == message_type::human) {
        ++out.humans;
        out.answers = 0;
      } else if (type == message_type::ai) {
        ++out.answers;
      } else if (type == message_type::tool) {
        ++out.results;
      }
    });
    return out;
  }
  [[nodiscard]] counts read_and_tell(const message_list& messages) const {
    if (script_.reading_ns == nullptr)
      return read(messages);
    const auto begin = thread_cpu_seconds();
    const auto out = read(messages);
    *script_.reading_ns += static_cast<std::int64_t>((thread_cpu_seconds() - begin) * 1e9);
    return out;
  }

  [[nodiscard]] message answer(const message_list& messages) const {
    const auto [humans, answers, results] = read_and_tell(messages);
    if (answers >= script_.rounds)
      return ai_message("done " + std::to_string(humans) + ' ' + std::to_string(results));
    auto calls = std::vector<tool_call>{};
    calls.reserve(static_cast<std::size_t>(script_.calls));
    for (auto j = std::int64_t{0}; j < script_.calls; ++j) {
      auto& call = calls.emplace_back();
      call.id = numbered("call_", '_', {humans, answers, j});
      call.name = "echo";
      call.args["query"] = query(numbered("q", '-', {humans, answers, j}));
    }
    return ai_message({}, std::move(calls));
  }

  [[nodiscard]] std::string query(std::string name) const {
    if (!script_.large)
      return name;
    auto out = std::string{};
    out.reserve(large_query + name.size());
    while (out.size() < large_query)
      out += name;
    out.resize(large_query);
    return out;
  }

  script script_;
};

std::string echo_of(const std::string& query, bool large) {
  if (!large)
    return "result for " + query;
  auto out = std::string{};
  for (auto i = 0; i < large_results; ++i)
    out += "result for query: " + query;
  return out;
}

task<std::string> echo_later(const echo_arguments& a, std::chrono::milliseconds latency,
                             bool large) {
  co_await sleep_for{latency};
  co_return echo_of(a.query, large);
}

} // namespace

chat_model_ptr make_scripted(script s) {
  return std::make_shared<const scripted>(s);
}

tool_ptr make_echo(std::chrono::milliseconds latency, bool large) {
  constexpr auto description = "Repeats what it is asked.";
  if (latency.count() == 0)
    return make_tool<echo_arguments>(
        "echo", description, [large](const echo_arguments& a) { return echo_of(a.query, large); });
  return make_tool<echo_arguments>(
      "echo", description, [=](const echo_arguments& a) { return echo_later(a, latency, large); });
}

compiled_graph<chat_state> make_echo_agent(script s, react_version version, tool_ptr echo) {
  auto options = react_agent_options<chat_state>{};
  options.model = make_scripted(s);
  options.tools = {std::move(echo)};
  options.version = version;
  return create_react_agent(std::move(options));
}

chat_state hi() {
  auto input = chat_state{};
  input.messages = {human_message("hi")};
  return input;
}

std::string joined_contents(const message_list& messages) {
  auto out = std::string{};
  auto first = true;
  for (const auto& m : messages) {
    if (!std::exchange(first, false))
      out += '|';
    out += m.content;
  }
  return out;
}

} // namespace superstep::bench
