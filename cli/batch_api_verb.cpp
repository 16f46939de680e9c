// SPDX-License-Identifier: Apache-2.0
// superstep batch-api export and import: run the rows of a job through a provider's batch API.
#include "base/error_words.hpp"
#include "base/visible_text.hpp"
#include "batch/usd_text.hpp"
#include "cli/agent_runner.hpp"
#include "cli/batch_api.hpp"
#include "cli/commands.hpp"
#include "cli/inspect.hpp"
#include "cli/run_options.hpp"
#include "cli/score.hpp"
#include "cli/usage.hpp"
#include "results/report.hpp"

#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include <stdlib.h> // mkdtemp()

namespace superstep::cli {

namespace {

struct batch_api_arguments {
  inspect_arguments agent;
  std::string input;
  std::string id_field;  // empty: id or custom_id
  char delimiter = '\0'; // '\0': a comma
  selection_arguments rows;
  batch_options selected; // the options of --sample, --seed and --repeat
  std::string output;
  std::vector<std::string> answers; // import only
  request_files::limits limits;     // export only
  bool fresh = false;               // import only
};

constexpr auto export_verb = std::string_view{"export"};
constexpr auto import_verb = std::string_view{"import"};

int fail_verb_of_batch_api(std::string_view verb, const std::string& text) {
  std::cerr << "superstep batch-api " << verb << ": " << text << '\n';
  return static_cast<int>(exit_code::failed);
}

int fail_export(const std::string& text) {
  return fail_verb_of_batch_api(export_verb, text);
}

int fail_import(const std::string& text) {
  return fail_verb_of_batch_api(import_verb, text);
}

/// Returns an error if the agent needs more than one call of OpenAI's chat completions per row.
result<provider_model_options> provider_of(const agent_spec& spec) {
  const auto refused = [&](const std::string& why) {
    return error{errc::invalid_argument,
                 spec.file + ": " + why + "; the batch API makes one model call for each row"};
  };
  const auto* const provider = std::get_if<provider_model_options>(&spec.model);
  if (provider == nullptr || provider->api != provider_api::openai_chat)
    return refused("model: must have the provider openai with api: chat");
  if (!spec.tools.empty())
    return refused("tools: must be empty; disable them with --set tools=");
  if (!spec.protocol.empty() || spec.summarise || !spec.store.empty() || !spec.reviews.empty())
    return refused("the keys protocol, review, store and hooks.summarise are not supported");
  auto out = *provider;
  out.stream = false;
  return out;
}

/// Runs the rows through an agent with another model.
result<batch_summary> run_rows(agent_spec spec, chat_model_ptr model,
                               const batch_api_arguments& given, const std::string& output) {
  spec.response_retries = 0; // the batch API gives one answer for each row
  if (spec.response)
    spec.response_request = response_request::in_answer;
  const auto runs = agent{spec, std::move(model), {}};
  auto options = given.selected;
  select_rows(given.rows, options);
  options.input = given.input;
  options.id_field = given.id_field;
  options.delimiter = given.delimiter;
  options.input_template = spec.input;
  options.output = output;
  options.format = output.ends_with(".csv") ? output_format::csv : output_format::jsonl;
  options.response_fields = response_fields_of(runs);
  options.fresh = given.fresh;
  options.rules.without_success = false; // no further request would be saved
  options.recursion_limit = spec.recursion_limit;
  options.fingerprint.agent = runs.fingerprint();
  options.fingerprint.tools = runs.tools_fingerprint();
  options.fingerprint.model = runs.model()->fingerprint();
  auto lanes = engine{};
  // The built-in prices are those of calls, and the Batch API has lower prices.
  auto runner = agent_runner{runs, lanes, nullptr, nullptr, {}, spec.prices};
  runner.pass_seeds(); // provider_of() accepts only an API that has them
  const auto progress = make_progress_sink(progress_mode::none, std::cerr);
  const auto stop = stop_request{};
  return run_batch(options, runner, *progress, stop);
}

/// A folder that is removed at the end.
class temporary_folder_of_export {
public:
  temporary_folder_of_export() {
    auto name = (std::filesystem::temp_directory_path() / "superstep-export-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr)
      path_ = name;
  }
  temporary_folder_of_export(const temporary_folder_of_export&) = delete;
  temporary_folder_of_export& operator=(const temporary_folder_of_export&) = delete;
  ~temporary_folder_of_export() {
    auto ignored = std::error_code{};
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
  std::string path_;
};

/// Builds the agent of the arguments and the options of its model; prints errors.
std::optional<std::pair<agent, provider_model_options>>
agent_of(std::string_view verb, const batch_api_arguments& given,
         const std::shared_ptr<io_runtime>& io, int& code) {
  auto built = build_to_show(given.agent, io);
  if (!built.agent) {
    code = failure_code(built);
    return std::nullopt;
  }
  auto provider = provider_of(built.agent->spec());
  if (!provider) {
    code = fail_verb_of_batch_api(verb, provider.error().text);
    return std::nullopt;
  }
  return std::pair{*std::move(built.agent), *std::move(provider)};
}

int run_export(const batch_api_arguments& given) {
  const auto io = std::make_shared<io_runtime>();
  auto code = 0;
  const auto made = agent_of(export_verb, given, io, code);
  if (!made)
    return code;
  if (detail::exists(given.output))
    return fail_export("'" + given.output +
                       "' exists; it is not overwritten. Use another --output");
  const auto folder = temporary_folder_of_export{};
  if (folder.path().empty())
    return fail_export("cannot create a temporary folder; check TMPDIR");
  const auto files = std::make_shared<request_files>(given.output, given.limits);
  const auto scratch = folder.path() + "/out.jsonl";
  auto spec = made->first.spec();
  spec.model = std::monostate{}; // no server answers
  const auto ran = run_rows(std::move(spec), std::make_shared<request_writer>(made->second, files),
                            given, scratch);
  if (const auto closed = files->close(); !closed) // the error of the job would advise to resume
    return fail_export(closed.error().text);
  if (!ran)
    return fail_export(ran.error().text);
  for (const auto& [path, lines] : files->files())
    std::cout << path << ": " << lines << (lines == 1 ? " request\n" : " requests\n");
  const auto rows = ran->rows - ran->left(); // --limit leaves rows
  if (files->count() == rows)
    return 0;
  // Empty answers fail if a structured response is required; these rows have a request.
  if (const auto read = results::report::of_file(scratch))
    for (const auto& [kind, same] : read->errors) {
      if (kind == "invalid_response")
        continue;
      for (const auto& row : same.examples)
        std::cerr << "superstep batch-api export: row " << row.key << ": " << row.text << '\n';
      if (same.rows > same.examples.size())
        std::cerr << "superstep batch-api export: and "
                  << counted(same.rows - same.examples.size(), "further row") << " with " << kind
                  << '\n';
    }
  return fail_export(std::to_string(rows - files->count()) + " of " + std::to_string(rows) +
                     " rows have no request");
}

/// Returns the summary of an import. It has no rates, because no model was called.
std::string imported_text(const batch_summary& s, const batch_api_arguments& given) {
  constexpr auto error_bytes_max = std::size_t{300};
  auto text = fmt::format("{}: {} ok, {} failed", counted(s.rows, "row"), s.ok, s.failed);
  if (s.already_finished)
    return "nothing to do: " + text + "; output in " + s.output +
           (s.failed > 0 ? "\nother answer files are read with --fresh, which starts again" : "");
  text += fmt::format("\n{} ({} in, {} out)",
                      counted(static_cast<std::uint64_t>(s.total_tokens), "token"), s.input_tokens,
                      s.output_tokens);
  if (s.cost)
    text += ", " + detail::usd_text(*s.cost);
  if (s.cost && s.rows_unpriced > 0)
    text += " without " + counted(s.rows_unpriced, "row");
  for (const auto& [code, count] : s.errors)
    text +=
        fmt::format("{}{} {}", code == s.errors.begin()->first ? "\nfailed: " : ", ", code, count);
  if (s.failed > 0 && !s.last_error.empty())
    text += "\nlast error: " + one_line(s.last_error, error_bytes_max);
  if (s.stop.cause != stop_cause::none)
    text += "\nstopped: " + s.stop.text;
  text += "\noutput in " + s.output;
  if (s.failed > 0 && !s.dead.empty())
    text += fmt::format(", failed rows in {}\nrun them as another job: superstep run {} -i {} -o "
                        "OUTPUT{}",
                        s.dead, given.agent.agent, s.dead,
                        given.id_field.empty() ? "" : " --id-field " + given.id_field);
  return text;
}

int run_import(const batch_api_arguments& given) {
  const auto io = std::make_shared<io_runtime>();
  auto code = 0;
  const auto made = agent_of(import_verb, given, io, code);
  if (!made)
    return code;
  const auto answers = answer_files::open(given.answers);
  if (!answers)
    return fail_import(answers.error().text);
  const auto ran = run_rows(made->first.spec(), *answers, given, given.output);
  if (!ran)
    return fail_import(ran.error().text);
  std::cout << imported_text(*ran, given) << '\n';
  return static_cast<int>(ran->code);
}

void add_common(CLI::App& verb, batch_api_arguments& into) {
  add_agent_options(verb, into.agent);
  verb.add_option("-i,--input", into.input, "File with the rows, as of superstep run")
      ->required()
      ->check(named_file());
  verb.add_option("--id-field", into.id_field, "Member or column with the id of a row")
      ->check(not_empty());
  add_delimiter(verb, into.delimiter);
  add_selection_options(verb, into.rows, into.selected);
}

} // namespace

void add_batch_api(CLI::App& program, action& chosen) {
  auto given = std::make_shared<batch_api_arguments>();
  auto& verb = *program.add_subcommand(
      "batch-api", "Write and read the files of OpenAI's Batch API, for agents without tools");
  verb.require_subcommand(1);
  auto& out = *verb.add_subcommand("export", "Write the rows as requests of the Batch API");
  add_common(out, *given);
  out.add_option("-o,--output", given->output,
                 "File for the requests; further files get a number before the extension")
      ->required()
      ->check(named_file());
  constexpr auto lines_max = std::uint64_t{1'000'000'000};
  constexpr auto bytes_max = std::uint64_t{1'000'000'000'000};
  add_number(out, "--max-lines", given->limits.lines_max, "Maximum number of requests of a file", 1,
             lines_max);
  add_number(out, "--max-bytes", given->limits.bytes_max, "Maximum size of a file in bytes", 1,
             bytes_max);
  out.footer("Example:\n  superstep batch-api export agent.yaml -i rows.jsonl -o requests.jsonl");
  out.callback([given, &chosen] { chosen = [given] { return run_export(*given); }; });
  auto& in = *verb.add_subcommand("import", "Read the answers and write the output of a job");
  add_common(in, *given);
  in.add_option("-a,--answers", given->answers, "The output and error files of the batch")
      ->required()
      ->check(named_file());
  in.add_option("-o,--output", given->output, "File for the results, as of superstep run")
      ->required()
      ->check(named_file());
  in.add_flag("--fresh", given->fresh, "Move the files of an earlier job aside and start again");
  in.footer("Example:\n  superstep batch-api import agent.yaml -i rows.jsonl -o out.jsonl "
            "-a batch_output.jsonl batch_errors.jsonl");
  in.callback([given, &chosen] { chosen = [given] { return run_import(*given); }; });
}

} // namespace superstep::cli
