// SPDX-License-Identifier: Apache-2.0
// The environment, the sandbox and the command line of the programs that tools run.
#include "tools/command_request.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <unistd.h>

namespace superstep {

namespace {

bool is_passed(std::string_view name, const command_options& options) {
  static constexpr auto always =
      std::array<std::string_view, 5>{"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
  return name.starts_with("LC_") || std::ranges::find(always, name) != always.end() ||
         std::ranges::find(options.env_names, name) != options.env_names.end();
}

} // namespace

void set_variable(command_environment& all, std::string name, std::string value) {
  std::erase_if(all, [&name](const auto& one) { return one.first == name; });
  all.emplace_back(std::move(name), std::move(value));
}

command_environment environment_of(const command_options& options) {
  auto all = command_environment{};
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

} // namespace superstep
