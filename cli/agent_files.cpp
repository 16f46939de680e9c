// SPDX-License-Identifier: Apache-2.0
// Collects the files that an agent uses, so that no verb of the command line overwrites one of
// them.
#include "cli/agent_files.hpp"

#include "agents/model_fields.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <sys/stat.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

using use = used_file::use;

/// The files of an agent and of its sub-agents. Several agents may call the same sub-agent, so each
/// agent is visited only once.
class agent_file_list {
public:
  void add(const agent& a) {
    if (!seen_.insert(&a).second)
      return;
    const auto& spec = a.spec();
    const auto of = " of " + spec.file;
    add("the agent file", spec.file);
    if (const auto path = detail::path_of_model(spec.model); !path.empty())
      add("model.path" + of, path);
    for (const auto& tool : spec.tools)
      add_tool(tool, of);
    if (!spec.record.empty() && records_.insert(spec.record).second)
      files.push_back({"record" + of, spec.record, use::written});
    // A store or cache counts as only read: agents may share one, and SQLite refuses to write to a
    // file that is not a database.
    if (!spec.store.empty() && !superstep::is_postgres_url(spec.store))
      add_database(files, "store" + of, spec.store, use::read);
    if (spec.cache)
      add_database(files, "cache" + of, spec.cache->path, use::read);
    for (const auto& below : a.sub_agents())
      add(*below.agent);
  }

  std::vector<used_file> files;

private:
  void add(std::string what, std::string path) {
    files.push_back({std::move(what), std::move(path), use::read});
  }

  void add_tool(const tool_spec& tool, const std::string& of) {
    const auto what = tool.key + of;
    if (const auto* query = std::get_if<sqlite_query_options>(&tool.options))
      add(what, query->path);
    if (const auto* command = std::get_if<command_options>(&tool.options))
      for (const auto& argument : command->argv) { // an argument may be a script for an interpreter
        auto failed = std::error_code{};
        if (std::filesystem::is_regular_file(argument, failed))
          add(what, argument);
      }
  }

  std::set<const agent*> seen_;
  std::set<std::string> records_; // listed once, because several agents may append to one recording
};

} // namespace

std::vector<used_file> files_of(const agent& a) {
  auto list = agent_file_list{};
  list.add(a);
  return std::move(list.files);
}

void add_database(std::vector<used_file>& into, const std::string& what, const std::string& path,
                  used_file::use how) {
  for (const auto* ending : {"", "-wal", "-shm", "-lease", "-journal"})
    into.push_back({what, path + ending, how});
}

void add_standard_outputs(std::vector<used_file>& into) {
  struct stat out {};
  struct stat err {};
  const auto has_out = ::fstat(STDOUT_FILENO, &out) == 0;
  if (has_out)
    into.push_back({"standard output", "/dev/stdout", use::written});
  const auto has_err = ::fstat(STDERR_FILENO, &err) == 0;
  if (has_err && !(has_out && out.st_dev == err.st_dev && out.st_ino == err.st_ino))
    into.push_back({"standard error", "/dev/stderr", use::written});
}

} // namespace superstep::cli
