// SPDX-License-Identifier: Apache-2.0
// Tools that run programs, one process for each call. This file builds the results;
// net/child_process.cpp runs the programs. command_worker.cpp serves many calls with one process.
#include "base/utf8.hpp"
#include "tools/command_request.hpp"
#include "tools/failed_call.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/net/detail/child_process.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/detail/argument_schema.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

/// Returns the value of an environment variable for an id. Ids come from models and from the rows
/// of a batch, and may have texts that the system does not accept. Such an id must not prevent the
/// start of the program, which ends a whole batch.
std::string variable_of(std::string_view id) {
  constexpr auto bytes_max = std::size_t{32} << 10U; // Linux accepts 128 KiB; U+FFFD has 3 bytes
  const auto kept = is_utf8(id) ? utf8_prefix(id, bytes_max) : id.substr(0, bytes_max);
  auto out = std::string{};
  for (const auto c : kept)
    c == '\0' ? out.append("\uFFFD") : out.append(1, c);
  return out;
}

class command_tool final : public tool {
public:
  command_tool(std::shared_ptr<io_runtime> io, tool_definition definition, command_options options)
      : io_{std::move(io)}, definition_{std::move(definition)}, options_{std::move(options)} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }

  [[nodiscard]] std::optional<std::chrono::milliseconds> timeout() const noexcept override {
    return options_.timeout;
  }

  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    const auto& at = co_await this_context{};
    auto ended = std::optional<result<process_result>>{};
    try {
      auto request = request_of(options_);
      request.stdin_text = to_text(call.args);
      request.timeout = options_.timeout;
      if (context.deadline)
        request.timeout = time_left(*context.deadline - at.where->now());
      name_call(*request.environment, context);
      auto running = run_process(*io_, std::move(request));
      ended.emplace(co_await running);
    } catch (const std::bad_alloc&) { // the program was not started; see run_process()
      throw tool_unavailable{
          error{errc::shortage, "tool '" + definition_.name + "': out of memory"}};
    }
    if (*ended)
      co_return output_of(**std::move(ended));
    const auto code = ended->error().code;
    // After any other error the program was not started. The run then fails, and the model gets no
    // result.
    if (code != errc::timed_out && code != errc::cancelled)
      throw tool_unavailable{
          error{code, "tool '" + definition_.name + "': " + ended->error().text}};
    co_return failed(ended->error().text);
  }

private:
  static void name_call(command_environment& into, const tool_context& context) {
    set_variable(into, "SUPERSTEP_RUN_KEY", variable_of(context.run_key));
    set_variable(into, "SUPERSTEP_TOOL_CALL_ID", variable_of(context.tool_call_id));
    set_variable(into, "SUPERSTEP_IDEMPOTENCY_KEY", context.idempotency_key());
    set_variable(into, "SUPERSTEP_ATTEMPT", std::to_string(context.attempt));
  }

  [[nodiscard]] std::chrono::milliseconds time_left(std::chrono::nanoseconds left) const noexcept {
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                      std::chrono::milliseconds{1}, options_.timeout);
  }

  [[nodiscard]] tool_output failed(const std::string& text) const {
    return error_output("Error: command '" + options_.argv.front() + "': " + text);
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
    return refused("name: is missing; it is required");
  if (options.argv.empty() || options.argv.front().empty())
    return refused("argv: is empty; it must contain the program to run");
  if (options.timeout.count() <= 0 || options.max_output_bytes == 0)
    return refused("timeout and max_output_bytes must be greater than 0");
  if (options.workers > 0 && options.protocol != command_protocol::jsonl)
    return refused("workers: requires the protocol jsonl");
  if (options.workers > command_workers_max)
    return refused("workers: must be at most " + std::to_string(command_workers_max));
  if (options.args_schema.empty())
    options.args_schema = json::object{{"type", "object"}};
  if (const auto schema = argument_schema::compile(options.args_schema); !schema)
    return refused("args_schema: " + schema.error().text);
  auto definition = tool_definition{options.name, options.description, options.args_schema};
  if (options.protocol == command_protocol::jsonl)
    return make_worker_tool(std::move(io), std::move(definition), options);
  return tool_ptr{std::make_shared<const command_tool>(std::move(io), std::move(definition),
                                                       std::move(options))};
}

tool_ptr make_tool(std::string name, std::string description, command_options options) {
  options.name = std::move(name);
  options.description = std::move(description);
  auto made = make_command(shared_io_runtime(), std::move(options));
  if (!made)
    throw std::system_error{made.error().code, made.error().text};
  return *std::move(made);
}

std::optional<error> find_command_fault(io_runtime& io, const command_options& options) {
  auto request = process_request{};
  request.argv = options.argv;
  request.environment = environment_of(options);
  request.working_directory = options.cwd;
  if (auto fault = find_start_fault(request))
    return fault;
  if (!options.sandbox.is_on)
    return std::nullopt;
  request.argv = sandbox_of(options);
  if (auto fault = find_start_fault(request))
    return error{fault->code, "sandbox: install Debian's package bubblewrap: " + fault->text};
  request.argv.emplace_back("true");
  const auto tried = sync_wait(run_process(io, std::move(request)));
  if (!tried && is_shortage(tried.error().code))
    return std::nullopt;
  if (!tried)
    return error{tried.error().code, "sandbox: " + tried.error().text};
  if (tried->ok())
    return std::nullopt;
  auto text = tried->stderr_text;
  if (text.ends_with('\n'))
    text.pop_back();
  return error{errc::io_failed, "sandbox: bwrap cannot create the sandbox: " + text +
                                    " (this system may forbid unprivileged user namespaces)"};
}

} // namespace superstep
