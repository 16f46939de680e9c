// SPDX-License-Identifier: Apache-2.0
// superstep threads VERB DATABASE …: inspects, copies and removes saved threads.
#include "base/error_words.hpp"
#include "base/utf8.hpp"
#include "checkpoint/open_database.hpp"
#include "checkpoint/partly_pruned.hpp"
#include "cli/commands.hpp"
#include "cli/file_start.hpp"
#include "cli/imported_thread.hpp"
#include "cli/langgraph_database.hpp"
#include "cli/usage.hpp"
#include "cli/written_file.hpp"

#include <superstep/checkpoint/postgres.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace superstep::cli {

namespace {

struct threads_arguments {
  std::string database;
  std::string thread;
  std::string to;
  std::string ns;
  std::string at;
  std::string file;
  std::string from; ///< database of LangGraph
  std::string from_thread;
  std::string form = "superstep";
  std::uint64_t limit = 100;
  std::uint64_t keep_last = 1;
  std::optional<std::int64_t> older_than_hours;
  bool whole_threads = false;
};

/// Throws if the folder of a file that will be created does not exist.
void check_folder(const char* option, const std::string& path) {
  if (const auto checked = check_folder_of(option, path); !checked)
    throw std::runtime_error{checked.error().text};
}

/// Opens the database. Unless `may_be_new` is set, a missing or empty file is an error: a command
/// that reads threads must not create a database.
std::shared_ptr<superstep::checkpointer> open(const threads_arguments& given,
                                              bool may_be_new = false) {
  if (superstep::is_postgres_url(given.database))
    return detail::open_threads(given.database);
  if (!may_be_new && !std::filesystem::exists(given.database))
    throw std::runtime_error{given.database + ": no such file; check the path of the database"};
  if (!may_be_new && std::filesystem::is_regular_file(given.database) &&
      std::filesystem::file_size(given.database) == 0)
    throw std::runtime_error{given.database + ": is empty and not a database; check the path"};
  check_folder("DATABASE", given.database);
  return detail::open_threads(given.database);
}

/// Whether a thread has a checkpoint, which may be damaged.
/// @param id id of the checkpoint; empty for any
bool has_checkpoint(superstep::checkpointer& saved, const thread_key& key, const std::string& id) {
  auto query = checkpoint_query{};
  query.limit = 1;
  if (!id.empty())
    query.before = id + '\x01'; // sorts after the id, and before all longer ids
  const auto found = saved.history(key, query);
  return !found.empty() && (id.empty() || found.front().at("id") == json::string_view{id});
}

/// Whether the database has the thread, possibly with checkpoints of subgraphs only.
/// @param thread not empty
bool has_thread(superstep::checkpointer& saved, const std::string& thread) {
  try {
    if (has_checkpoint(saved, {thread, {}}, {}))
      return true;
  } catch (const checkpoint_error&) {
    return true; // a damaged thread can still be removed
  }
  // The id without its last character sorts shortly before it, so the first page is usually enough.
  constexpr auto page_size = std::size_t{100};
  for (auto after = std::string{utf8_prefix(thread, thread.size() - 1)};;) {
    const auto page = saved.threads(after, page_size);
    if (std::ranges::any_of(page, [&](const auto& t) { return t.thread_id == thread; }))
      return true;
    if (page.size() < page_size || page.back().thread_id > thread)
      return false;
    after = page.back().thread_id;
  }
}

/// Opens the database. Throws if it does not have the thread, namespace and checkpoint that the
/// user named.
std::shared_ptr<superstep::checkpointer> open_with_thread(const threads_arguments& given) {
  auto saved = open(given);
  const auto refuse = [&](const std::string& text) {
    throw std::runtime_error{given.database + ": thread '" + given.thread + "' " + text};
  };
  const auto key = thread_key{given.thread, given.ns};
  if (!has_thread(*saved, given.thread))
    refuse("does not exist; 'superstep threads list' shows all threads");
  if (!given.ns.empty() && !has_checkpoint(*saved, key, {}))
    refuse("has no namespace '" + given.ns + "'");
  if (!given.at.empty() && !has_checkpoint(*saved, key, given.at))
    refuse("has no checkpoint '" + given.at + "'; 'superstep threads history' shows all");
  return saved;
}

int list(const threads_arguments& given) {
  auto checkpointer = open(given);
  for (auto after = std::string{};;) {
    const auto page = checkpointer->threads(after, 1'000);
    for (const auto& t : page)
      std::cout << to_text(json::object{{"thread", t.thread_id},
                                        {"head", t.head},
                                        {"checkpoints", t.checkpoints},
                                        {"bytes", t.bytes},
                                        {"created", t.created}})
                << '\n';
    if (page.empty())
      return 0;
    after = page.back().thread_id;
  }
}

int show(const threads_arguments& given) {
  auto checkpointer = open_with_thread(given);
  const auto shown = checkpointer->show({given.thread, given.ns}, given.at);
  if (!shown)
    throw std::runtime_error{given.database + ": thread '" + given.thread +
                             "' has only checkpoints of subgraphs; specify a namespace with --ns"};
  std::cout << to_text(*shown) << '\n';
  return 0;
}

int history(const threads_arguments& given) {
  auto checkpointer = open_with_thread(given);
  auto query = checkpoint_query{};
  if (given.limit > 0)
    query.limit = given.limit;
  query.before = given.at;
  for (const auto& checkpoint : checkpointer->history({given.thread, given.ns}, query))
    std::cout << to_text(checkpoint) << '\n';
  return 0;
}

/// Throws if the output file is a database, or belongs to the opened database. An export must not
/// overwrite a database, whatever its name.
void check_output(const threads_arguments& given) {
  auto ignored = std::error_code{};
  auto is_of_database = false;
  for (const auto* ending : {"", "-wal", "-shm", "-lease", "-journal"})
    is_of_database =
        is_of_database || std::filesystem::equivalent(given.file, given.database + ending, ignored);
  constexpr auto magic = std::string_view{"SQLite format 3"};
  if (is_of_database || file_start(given.file, magic.size()) == magic)
    throw std::runtime_error{given.file + ": is a database, or belongs to one, and is not "
                                          "overwritten; use another --output"};
}

/// Throws if a file that an export would replace is not an earlier export of the same form.
void check_replaced(const std::string& path, std::string_view exported) {
  const auto start = exported.substr(0, exported.find(':'));
  const auto found = file_start(path, start.size());
  if (!found || (!found->empty() && *found != start))
    throw std::runtime_error{path + ": is not an exported thread and is not overwritten; use "
                                    "another --output, or remove the file"};
}

int export_one(const threads_arguments& given) {
  if (!given.file.empty()) {
    check_folder("--output", given.file);
    check_output(given);
  }
  auto checkpointer = open_with_thread(given);
  auto bytes = std::string{};
  if (given.form == "superstep") {
    bytes = checkpointer->export_thread(given.thread);
  } else {
    const auto shown = checkpointer->show({given.thread, {}});
    if (!shown)
      throw std::runtime_error{given.database + ": thread '" + given.thread +
                               "' has only checkpoints of subgraphs, which --form langgraph cannot "
                               "export"};
    bytes = to_text(to_langgraph_form(*shown)) + '\n';
  }
  if (given.file.empty()) {
    std::cout << bytes;
    return 0;
  }
  check_replaced(given.file, bytes);
  if (const auto written = write_file(given.file, bytes); !written)
    throw std::runtime_error{written.error().text};
  return 0;
}

/// Returns the content of the file, or of standard input for `-`.
std::string read_exported(const std::string& path) {
  auto failed = std::error_code{};
  if (path != "-" && !std::filesystem::exists(path, failed) && !failed)
    throw std::runtime_error{path + ": no such file; check --input"};
  if (std::filesystem::is_directory(path, failed))
    throw std::runtime_error{path + ": is a directory, not an exported thread"};
  auto from = std::ifstream{path == "-" ? "/dev/stdin" : path, std::ios::binary};
  auto bytes = std::ostringstream{};
  if (!from || (from.peek() != std::ifstream::traits_type::eof() && !(bytes << from.rdbuf())) ||
      from.bad())
    throw std::runtime_error{path + ": cannot be read; check the permissions of the file"};
  if (bytes.view().empty())
    throw std::runtime_error{path + ": is empty and contains no thread"};
  return std::move(bytes).str();
}

/// Throws if the text is compressed, in another encoding, or an export in the other form.
void check_format(const std::string& form, const std::string& text) {
  if (const auto fault = find_encoding_fault(text))
    throw std::runtime_error{fault->text + "; " + fault->advice};
  const auto is_export = text.starts_with(R"({"superstep_thread")");
  if (is_export && form != "superstep")
    throw std::runtime_error{"is an export in superstep's form; import it without --form " + form};
  const auto start = text.find_first_not_of(" \t\r\n[");
  const auto is_object = start != std::string::npos && text[start] == '{';
  if (form == "superstep" && !is_export && is_object &&
      (text.find(R"("channel_values")") != std::string::npos || parse_json(text).has_value()))
    throw std::runtime_error{
        "is not an export in superstep's form; for a thread in LangGraph's form, use --form "
        "langgraph"};
}

/// Returns the name of the thread's origin, for texts.
std::string origin_of(const threads_arguments& given) {
  return given.from.empty() ? given.file : "thread '" + given.from_thread + "' of LangGraph";
}

/// Returns the thread in a database of LangGraph, in superstep's form.
imported_thread read_langgraph(const threads_arguments& given) {
  auto out = from_langgraph_form(read_langgraph_thread(given.from, given.from_thread));
  out.text = cut_thread(out.text, {});
  return out;
}

/// Returns the thread in the input file, in superstep's form. Rejects invalid input before a
/// database is created.
imported_thread read_import(const threads_arguments& given) {
  if (!given.from.empty())
    return read_langgraph(given);
  auto out = imported_thread{read_exported(given.file), {}};
  try {
    check_format(given.form, out.text);
    if (given.form != "superstep")
      out = from_langgraph_form(out.text);
    out.text = cut_thread(out.text, {});
  } catch (const std::runtime_error& e) {
    throw std::runtime_error{given.file + ": " + e.what()};
  }
  return out;
}

/// Throws if the database has a thread with the id of the new thread.
void check_is_new(superstep::checkpointer& saved, const std::string& database,
                  const std::string& thread) {
  if (has_thread(saved, thread))
    throw std::runtime_error{database + ": thread '" + thread +
                             "' already exists; choose another id, or remove the thread with "
                             "'superstep threads prune " +
                             database + " --thread " + thread + " --whole-threads'"};
}

int import_one(const threads_arguments& given) {
  const auto imported = read_import(given);
  const auto checkpointer = open(given, true);
  check_is_new(*checkpointer, given.database, given.thread);
  checkpointer->import_thread(given.thread, imported.text);
  for (const auto& one : imported.placeholders)
    std::cerr << "superstep threads: " << origin_of(given) << ": " << to_text(json::value(one))
              << " (JSON cannot represent this value, so the thread has LangChain's placeholder; "
                 "convert it in Python before the export)\n";
  return 0;
}

int fork(const threads_arguments& given) {
  if (given.thread == given.to)
    throw std::runtime_error{"thread '" + given.thread +
                             "' cannot be forked into itself; choose another id for the copy"};
  auto checkpointer = open_with_thread(given);
  check_is_new(*checkpointer, given.database, given.to);
  checkpointer->import_thread(given.to,
                              detail::export_until(*checkpointer, given.thread, given.at));
  return 0;
}

int print_removed(std::size_t checkpoints) {
  std::cout << to_text(json::object{{"removed", checkpoints}}) << '\n';
  return 0;
}

/// Prunes each thread by itself. Reports the threads with damaged checkpoints and continues.
/// @param removed the number of checkpoints that were removed before
int prune_one_by_one(superstep::checkpointer& saved, prune_options what, std::size_t removed) {
  auto exit_code = 0;
  for (auto after = std::string{};;) {
    const auto page = saved.threads(after, 1'000);
    if (page.empty())
      break;
    for (const auto& thread : page) {
      what.thread_id = thread.thread_id;
      try {
        removed += saved.prune(what);
      } catch (const checkpoint_error& e) {
        if (e.code() != checkpoint_errc::corrupt)
          throw;
        std::cerr << "superstep threads: thread '" << thread.thread_id
                  << "' is not pruned: " << e.what() << '\n';
        exit_code = 1;
      }
    }
    after = page.back().thread_id;
  }
  print_removed(removed);
  return exit_code;
}

int prune(const threads_arguments& given) {
  if (given.whole_threads && given.thread.empty() && !given.older_than_hours)
    throw std::runtime_error{"--whole-threads removes threads with all their checkpoints; select "
                             "them with --thread or --older-than-hours (0: all threads)"};
  auto checkpointer = given.thread.empty() ? open(given) : open_with_thread(given);
  auto what = prune_options{};
  what.thread_id = given.thread;
  what.keep_last = given.keep_last;
  what.older_than = std::chrono::hours{given.older_than_hours.value_or(0)};
  what.whole_threads = given.whole_threads;
  try {
    return print_removed(checkpointer->prune(what));
  } catch (const checkpoint_error& e) {
    if (!what.thread_id.empty() || e.code() != checkpoint_errc::corrupt)
      throw;
    const auto* partly = dynamic_cast<const detail::partly_pruned*>(&e);
    return prune_one_by_one(*checkpointer, what, partly == nullptr ? 0 : partly->deleted);
  }
}

using arguments_ptr = std::shared_ptr<threads_arguments>;

/// Adds a verb with the argument DATABASE.
CLI::App& add_verb(CLI::App& threads, action& chosen, const arguments_ptr& given, const char* name,
                   const char* text, int (*run)(const threads_arguments&)) {
  auto& verb = *threads.add_subcommand(name, text);
  verb.add_option("DATABASE", given->database,
                  "The database of the threads: a file, or postgresql://...")
      ->required()
      ->check(named_file());
  verb.callback([given, run, &chosen] { chosen = [given, run] { return run(*given); }; });
  return verb;
}

/// Adds the argument THREAD to a verb.
CLI::App& with_thread(CLI::App& verb, const arguments_ptr& given) {
  verb.add_option("THREAD", given->thread, "The id of the thread")->required()->check(thread_id());
  return verb;
}

/// Adds the option --form to a verb.
void add_form(CLI::App& verb, const arguments_ptr& given) {
  verb.add_option("--form", given->form,
                  "langgraph: values and messages of one checkpoint in the form of LangGraph's "
                  "Python library; superstep: the complete thread")
      ->check(one_of({"superstep", "langgraph"}))
      ->capture_default_str();
}

void add_import(CLI::App& threads, action& chosen, const arguments_ptr& given) {
  auto& imported = with_thread(
      add_verb(threads, chosen, given, "import", "Read an exported thread", import_one), given);
  auto& input = *imported
                     .add_option("-i,--input", given->file,
                                 "File with the exported thread; - for standard input")
                     ->check(not_empty());
  auto& from = *imported
                    .add_option("--from", given->from,
                                "Database of LangGraph's PostgresSaver or SqliteSaver: "
                                "postgresql://... or a file")
                    ->excludes(&input)
                    ->check(not_empty());
  imported
      .add_option("--from-thread", given->from_thread,
                  "The id of the thread in that database; default: THREAD")
      ->needs(&from)
      ->check(not_empty());
  imported.callback([given, &chosen] {
    if (given->file.empty() && given->from.empty())
      throw CLI::RequiredError{"--input or --from"};
    if (given->from_thread.empty())
      given->from_thread = given->thread;
    chosen = [given] { return import_one(*given); };
  });
  add_form(imported, given);
}

constexpr auto threads_examples = R"(Each line printed is a JSON object. Examples:
  superstep threads list chat.db
  superstep threads show chat.db conversation-17
  superstep threads show postgresql://db.example.com/chat conversation-17
  superstep threads export chat.db conversation-17 --output thread.jsonl
  superstep threads import other.db conversation-17 --input thread.jsonl
  superstep threads import chat.db from-python --input checkpoint.json --form langgraph
  superstep threads import chat.db conversation-17 --from postgresql://db.example.com/langgraph
  superstep threads fork chat.db conversation-17 second-try --at 00000012
  superstep threads prune chat.db --keep 1 --older-than-hours 720)";

} // namespace

void add_threads(CLI::App& program, action& chosen) {
  const auto given = std::make_shared<threads_arguments>();
  auto& threads = *program.add_subcommand("threads", "Inspect, copy and remove saved threads");
  threads.require_subcommand(1);
  threads.footer(threads_examples);
  add_verb(threads, chosen, given, "list", "List all threads, one per line", list);
  const auto at = [&](CLI::App& verb, const char* text) {
    verb.add_option("--at", given->at, text)->type_name("CHECKPOINT")->check(not_empty());
  };
  const auto ns = [&](CLI::App& verb) {
    verb.add_option("--ns", given->ns, "Namespace of a subgraph; default: the outermost graph");
  };
  auto& shown = with_thread(add_verb(threads, chosen, given, "show",
                                     "Show one checkpoint: values, next nodes, interrupts", show),
                            given);
  at(shown, "Show this checkpoint instead of the newest");
  ns(shown);
  auto& past = with_thread(add_verb(threads, chosen, given, "history",
                                    "List the checkpoints of a thread, newest first", history),
                           given);
  at(past, "List only checkpoints that are older than this one");
  ns(past);
  add_number(past, "--limit", given->limit, "Maximum number of checkpoints; 0 = all", 0,
             1'000'000'000'000);
  auto& exported = with_thread(
      add_verb(threads, chosen, given, "export", "Write a thread as text", export_one), given);
  exported.add_option("-o,--output", given->file, "Output file; default and -: standard output")
      ->check(not_empty());
  exported.callback([given, &chosen] {
    if (given->file == "-")
      given->file.clear();
    chosen = [given] { return export_one(*given); };
  });
  add_form(exported, given);
  add_import(threads, chosen, given);
  auto& forked =
      with_thread(add_verb(threads, chosen, given, "fork", "Copy a thread", fork), given);
  forked.add_option("TO", given->to, "The id of the copy")->required()->check(thread_id());
  at(forked, "Copy only up to this checkpoint");
  auto& pruned = add_verb(threads, chosen, given, "prune", "Remove old checkpoints", prune);
  pruned.add_option("--thread", given->thread, "Remove checkpoints of this thread only")
      ->check(thread_id());
  add_number(pruned, "--keep", given->keep_last,
             "Number of newest checkpoints to keep in each thread", 1, 1'000'000'000);
  constexpr auto hours_max = std::uint64_t{24} * 366 * 10'000;
  add_number(pruned, "--older-than-hours", given->older_than_hours,
             "Also keep checkpoints younger than this many hours", 0, hours_max);
  pruned.add_flag("--whole-threads", given->whole_threads,
                  "Remove threads with all their checkpoints if the newest one is not younger than "
                  "--older-than-hours; requires that option or --thread");
}

} // namespace superstep::cli
