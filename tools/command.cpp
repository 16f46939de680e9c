// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/assert.hpp>
#include <superstep/net/child_process.hpp>
#include <superstep/tools/argument_schema.hpp>
#include <superstep/tools/command.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace superstep {

namespace {

using environment = std::vector<std::pair<std::string, std::string>>;

environment environment_of(const tool_context& context) {
  constexpr auto ours = std::string_view{"SUPERSTEP_"};
  auto all = environment{};
  for (auto** entry = environ; entry && *entry; ++entry) {
    const auto text = std::string_view{*entry};
    const auto name = text.substr(0, text.find('='));
    if (name.size() < text.size() && !name.starts_with(ours))
      all.emplace_back(name, text.substr(name.size() + 1));
  }
  all.emplace_back("SUPERSTEP_RUN_KEY", context.run_key);
  all.emplace_back("SUPERSTEP_TOOL_CALL_ID", context.tool_call_id);
  all.emplace_back("SUPERSTEP_IDEMPOTENCY_KEY", context.idempotency_key());
  all.emplace_back("SUPERSTEP_ATTEMPT", std::to_string(context.attempt));
  return all;
}

class command_tool final : public tool {
public:
  command_tool(std::shared_ptr<io_runtime> io, tool_definition definition, command_options options)
      : io_{std::move(io)}, definition_{std::move(definition)}, options_{std::move(options)} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }

  [[nodiscard]] std::chrono::milliseconds time_limit() const noexcept override {
    return std::chrono::milliseconds{options_.timeout_ms};
  }

  [[nodiscard]] task<tool_output> run(tool_call call, tool_context context) const override {
    auto request = process_request{};
    request.argv = options_.argv;
    request.stdin_text = to_text(call.args);
    request.environment = environment_of(context);
    request.timeout_ms = left_of(context.spent);
    request.output_bytes_max = options_.max_output_bytes;
    auto running = run_process(*io_, std::move(request));
    auto ended = co_await running;
    if (!ended)
      co_return failed(ended.error().text);
    co_return output_of(*std::move(ended));
  }

private:
  [[nodiscard]] std::uint32_t left_of(std::chrono::milliseconds spent) const noexcept {
    const auto left = std::max<std::int64_t>(options_.timeout_ms - spent.count(), 1);
    return static_cast<std::uint32_t>(left);
  }

  [[nodiscard]] tool_output failed(const std::string& text) const {
    auto out = tool_output{};
    out.content = "Error: command '" + options_.argv.front() + "': " + text;
    out.is_error = true;
    return out;
  }

  [[nodiscard]] tool_output output_of(process_result ended) const {
    if (ended.is_output_truncated)
      return failed("wrote more than " + std::to_string(options_.max_output_bytes) +
                    " bytes and was killed");
    if (!ended.ok()) {
      auto how = ended.signal != 0 ? "was killed by signal " + std::to_string(ended.signal)
                                   : "ended with status " + std::to_string(ended.exit_status);
      return failed(how + (ended.stderr_text.empty() ? "" : ":\n" + ended.stderr_text));
    }
    auto out = tool_output{};
    out.content = std::move(ended.stdout_text);
    if (out.content.ends_with('\n'))
      out.content.pop_back();
    return out;
  }

  std::shared_ptr<io_runtime> io_;
  tool_definition definition_;
  command_options options_;
};

} // namespace

result<tool_ptr> make_command(std::shared_ptr<io_runtime> io, command_options options) {
  SUPERSTEP_ASSERT(io != nullptr);
  const auto refused = [](std::string text) {
    return error{errc::invalid_argument, "command: " + std::move(text)};
  };
  if (options.name.empty())
    return refused("name: a tool needs a name");
  if (options.argv.empty() || options.argv.front().empty())
    return refused("argv: name the program to run");
  if (options.timeout_ms == 0 || options.max_output_bytes == 0)
    return refused("timeout_ms and max_output_bytes must not be 0");
  if (options.args_schema.empty())
    options.args_schema = json::object{{"type", "object"}};
  if (const auto schema = argument_schema::compile(options.args_schema); !schema)
    return refused("args_schema: " + schema.error().text);
  auto definition = tool_definition{options.name, options.description, options.args_schema};
  return tool_ptr{std::make_shared<const command_tool>(std::move(io), std::move(definition),
                                                       std::move(options))};
}

} // namespace superstep
