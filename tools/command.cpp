// SPDX-License-Identifier: Apache-2.0
// Tools that run programs. This file builds the environment, the sandbox and the results;
// net/child_process.cpp runs the programs.
#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/net/detail/child_process.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/detail/argument_schema.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace superstep {

namespace {

using environment = std::vector<std::pair<std::string, std::string>>;

bool is_passed(std::string_view name, const command_options& options) {
  static constexpr auto always =
      std::array<std::string_view, 5>{"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
  return name.starts_with("LC_") || std::ranges::find(always, name) != always.end() ||
         std::ranges::find(options.env_names, name) != options.env_names.end();
}

void set_variable(environment& all, std::string name, std::string value) {
  std::erase_if(all, [&name](const auto& one) { return one.first == name; });
  all.emplace_back(std::move(name), std::move(value));
}

/// Returns the environment for the program: some common variables and those that the options name.
/// Other variables are not passed, because they may contain the API keys of models.
environment environment_of(const command_options& options) {
  auto all = environment{};
  for (auto** entry = environ; entry && *entry; ++entry) {
    const auto text = std::string_view{*entry};
    const auto name = text.substr(0, text.find('='));
    if (name.size() < text.size() && is_passed(name, options))
      all.emplace_back(name, text.substr(name.size() + 1));
  }
  for (const auto& [name, value] : options.env_values)
    set_variable(all, name, value);
  return all;
}

/// Returns the command line of bwrap up to the program that it runs.
std::vector<std::string> sandbox_of(const command_options& options) {
  auto out = std::vector<std::string>{"bwrap",
                                      "--unshare-all",
                                      "--die-with-parent",
                                      "--new-session",
                                      "--ro-bind",
                                      "/",
                                      "/",
                                      "--dev",
                                      "/dev",
                                      "--proc",
                                      "/proc",
                                      "--tmpfs",
                                      "/tmp"};
  if (options.sandbox.has_network)
    out.insert(out.begin() + 2, "--share-net");
  const auto bind = [&out](const char* how, const std::string& folder) {
    out.insert(out.end(), {how, folder, folder});
  };
  // These folders are bound after /tmp was replaced, because they may be inside /tmp.
  if (const auto slash = options.argv.front().rfind('/');
      slash != std::string::npos && options.argv.front().front() == '/')
    bind("--ro-bind", options.argv.front().substr(0, std::max<std::size_t>(slash, 1)));
  if (!options.cwd.empty())
    bind("--ro-bind", options.cwd);
  for (const auto& folder : options.sandbox.writable)
    bind("--bind", folder);
  if (!options.cwd.empty())
    out.insert(out.end(), {"--chdir", options.cwd});
  out.emplace_back("--");
  return out;
}

/// Returns the parts of a process request that are the same in all calls.
process_request request_of(const command_options& options) {
  auto out = process_request{};
  out.argv = options.argv;
  if (options.sandbox.is_on) {
    out.argv = sandbox_of(options);
    out.argv.insert(out.argv.end(), options.argv.begin(), options.argv.end());
  }
  out.environment = environment_of(options);
  out.working_directory = options.cwd;
  out.limits = options.limits;
  out.output_bytes_max = options.max_output_bytes;
  return out;
}

class command_tool final : public tool {
public:
  command_tool(std::shared_ptr<io_runtime> io, tool_definition definition, command_options options)
      : io_{std::move(io)}, definition_{std::move(definition)}, options_{std::move(options)} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override { return definition_; }

  [[nodiscard]] std::optional<std::chrono::milliseconds> time_limit() const noexcept override {
    return options_.timeout;
  }

  [[nodiscard]] task<tool_output> run(tool_call call, tool_context context) const override {
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
  static void name_call(environment& into, const tool_context& context) {
    set_variable(into, "SUPERSTEP_RUN_KEY", context.run_key);
    set_variable(into, "SUPERSTEP_TOOL_CALL_ID", context.tool_call_id);
    set_variable(into, "SUPERSTEP_IDEMPOTENCY_KEY", context.idempotency_key());
    set_variable(into, "SUPERSTEP_ATTEMPT", std::to_string(context.attempt));
  }

  [[nodiscard]] std::chrono::milliseconds time_left(std::chrono::nanoseconds left) const noexcept {
    return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left),
                      std::chrono::milliseconds{1}, options_.timeout);
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
    return refused("name: is missing; it is required");
  if (options.argv.empty() || options.argv.front().empty())
    return refused("argv: is empty; it must contain the program to run");
  if (options.timeout.count() <= 0 || options.max_output_bytes == 0)
    return refused("timeout and max_output_bytes must be greater than 0");
  if (options.args_schema.empty())
    options.args_schema = json::object{{"type", "object"}};
  if (const auto schema = argument_schema::compile(options.args_schema); !schema)
    return refused("args_schema: " + schema.error().text);
  auto definition = tool_definition{options.name, options.description, options.args_schema};
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
