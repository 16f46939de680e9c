// SPDX-License-Identifier: Apache-2.0
// Recording and replaying of answers, and damaged or foreign journal files.
#include "models/journal_format.hpp"
#include "models/scripted_answers.hpp"
#include "models/whole_chunk.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/recorded_model.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

using namespace superstep;
using test::scripted_answers;

namespace {

/// A temporary file path; the file is removed by the destructor.
struct journal_path {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("superstep_journal_" + std::to_string(::getpid()) + ".jsonl"))
                         .string();
  journal_path() { std::filesystem::remove(path); }
  journal_path(const journal_path&) = delete;
  journal_path& operator=(const journal_path&) = delete;
  ~journal_path() { std::filesystem::remove(path); }
};

model_request question(std::string run, std::uint32_t turn, std::string text) {
  auto out = model_request{};
  out.run_key = std::move(run);
  out.turn = turn;
  out.messages.push_back(human_message(std::move(text)));
  return out;
}

result<message> ask_model(const chat_model_ptr& model, model_request request) {
  return sync_wait(model->complete(std::move(request)));
}

chat_model_ptr replay(const std::string& path) {
  auto options = replayed_model_options{};
  options.path = path;
  auto made = make_replayed_model(options);
  BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().text));
  return *made;
}

} // namespace

BOOST_AUTO_TEST_CASE(recorded_answers_are_replayed_for_equal_requests) {
  const auto file = journal_path{};
  auto call = tool_call{"c", "f", {}};
  call.args["n"] = 1.5;
  auto rich = ai_message("é", {call});
  rich.usage = token_usage{1, 2, 3, {}, {}};
  rich.response_metadata["model_name"] = "m";
  const auto inner = std::make_shared<const scripted_answers>(
      std::vector<result<message>>{rich, error{model_errc::rate_limited, "slow down"},
                                   ai_message("second"), ai_message("third")});
  const auto recorder = record_model(inner, file.path).value();
  BOOST_TEST(ask_model(recorder, question("r1", 0, "a")).has_value());
  BOOST_TEST(ask_model(recorder, question("r1", 1, "b")).has_error());
  BOOST_TEST(ask_model(recorder, question("r2", 0, "a")).has_value());
  BOOST_TEST(ask_model(recorder, question("r2", 0, "a")).has_value());

  const auto player = replay(file.path);
  BOOST_TEST((ask_model(player, question("r1", 0, "a")).value() == rich));
  const auto refused = ask_model(player, question("r1", 1, "b"));
  BOOST_TEST((refused.error() == error{model_errc::rate_limited, "slow down"}));
  for (const auto* text : {"second", "third", "second"})
    BOOST_TEST(ask_model(player, question("r2", 0, "a"))->content == text);
  for (const auto& other : {question("r1", 0, "b"), question("r1", 2, "a"), question("r3", 0, "a")})
    BOOST_TEST(
        (ask_model(player, other).error().code == make_error_code(model_errc::missing_turn)));
}

BOOST_AUTO_TEST_CASE(latest_start_of_a_run_is_replayed) {
  const auto file = journal_path{};
  const auto recorder =
      record_model(std::make_shared<const scripted_answers>(std::vector<result<message>>{
                       ai_message("one"), ai_message("two"), ai_message("two again"),
                       error{model_errc::quota_exhausted, "no quota"}, ai_message("end")}),
                   file.path)
          .value();
  const auto ask_at = [&](std::uint32_t attempt, std::uint32_t turn, const char* text) {
    auto request = question("r", turn, text);
    request.attempt = attempt;
    return ask_model(recorder, request);
  };
  BOOST_TEST(ask_at(1, 0, "a").has_value()); // the process is killed during turn 1
  BOOST_TEST(ask_at(2, 0, "a").has_value());
  BOOST_TEST(ask_at(2, 0, "a").has_value());
  BOOST_TEST(ask_at(2, 1, "two").has_error());
  BOOST_TEST(ask_at(3, 1, "two").has_value()); // resumed at turn 1
  const auto player = replay(file.path);
  for (const auto* text : {"two", "two again", "two"})
    BOOST_TEST(ask_model(player, question("r", 0, "a"))->content == text);
  BOOST_TEST(ask_model(player, question("r", 1, "two"))->content == "end");
}

BOOST_AUTO_TEST_CASE(replay_ignores_seed_that_was_not_recorded) {
  const auto file = journal_path{};
  const auto recorder =
      record_model(std::make_shared<const scripted_answers>(
                       std::vector<result<message>>{ai_message("without"), ai_message("with")}),
                   file.path)
          .value();
  const auto seeded = [](const char* run, int seed) {
    auto out = question(run, 0, "a");
    out.parameters["seed"] = seed;
    return out;
  };
  BOOST_TEST(ask_model(recorder, question("r#1", 0, "a")).has_value());
  BOOST_TEST(ask_model(recorder, seeded("r#2", 2)).has_value());
  const auto player = replay(file.path);
  BOOST_TEST(ask_model(player, seeded("r#1", 1))->content == "without");
  BOOST_TEST(ask_model(player, seeded("r#2", 2))->content == "with");
  BOOST_TEST(ask_model(player, seeded("r#2", 3)).has_error());
}

BOOST_AUTO_TEST_CASE(error_states_which_part_of_recording_is_missing) {
  const auto file = journal_path{};
  const auto recorder =
      record_model(std::make_shared<const scripted_answers>(
                       std::vector<result<message>>{ai_message("x"), ai_message("y")}),
                   file.path)
          .value();
  BOOST_TEST(ask_model(recorder, question("r", 1, "a")).has_value());
  BOOST_TEST(ask_model(recorder, question("s", 0, "a")).has_value());
  const auto player = replay(file.path);
  const auto why = [&](const model_request& request) {
    return ask_model(player, request).error().text.substr(file.path.size());
  };
  BOOST_TEST(why(question("q", 0, "a")) == " has no answers of run \"q\"");
  BOOST_TEST(why(question("r", 0, "a")) == " has no answer in turn 0 of run \"r\"");
  BOOST_TEST(why(question("r", 2, "a")) == " has no answer in turn 2 of run \"r\"");
  BOOST_TEST(why(question("r", 1, "b")).starts_with(" has no answer to this request in turn 1"));
}

namespace {

std::string read_all(const std::string& path) {
  auto in = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

std::shared_ptr<const scripted_answers> answers(int count) {
  auto out = std::vector<result<message>>{};
  for (auto i = 0; i < count; ++i)
    out.emplace_back(ai_message("answer"));
  return std::make_shared<const scripted_answers>(std::move(out));
}

} // namespace

BOOST_AUTO_TEST_CASE(secrets_split_over_recorded_chunks_are_masked) {
  const auto key = std::string{"sk-0123456789abcdef"};
  const auto other = std::string{"9abcdef-and-then-this"}; // overlaps the end of the key
  const auto said = "a " + key + " b " + key + key + " c " + other + " sk-0 " +
                    key.substr(0, key.size() - 7) + other + " d";
  const auto seen = std::string{"a *** b *** c *** sk-0 *** d"};
  for (const auto size :
       {std::size_t{1}, std::size_t{3}, std::size_t{7}, key.size(), said.size()}) {
    auto entry = models::journal_entry{};
    for (auto at = std::size_t{0}; at < said.size(); at += size) {
      auto text = message_chunk{};
      text.part.content = said.substr(at, size);
      entry.chunks.emplace_back(1.0, std::move(text));
      // Two interleaved calls: the arguments of each are one text.
      for (const auto index : {0, 1}) {
        auto call = message_chunk{};
        auto arguments = tool_call_chunk{};
        arguments.index = index;
        arguments.args = said.substr(at, size);
        call.call_chunks.push_back(std::move(arguments));
        entry.chunks.emplace_back(1.0, std::move(call));
      }
    }
    entry.answer = ai_message(said);
    const auto read = models::read_line(models::to_line(entry, {key, other})).value();
    BOOST_REQUIRE(read.chunks.size() == entry.chunks.size());
    auto content = std::string{};
    auto arguments = std::vector<std::string>(2);
    for (const auto& [time, piece] : read.chunks) {
      content += piece.part.content;
      for (const auto& call : piece.call_chunks)
        arguments.at(static_cast<std::size_t>(call.index.as_int64())) += call.args.value_or("");
    }
    BOOST_TEST(content == seen);
    BOOST_TEST(arguments.at(0) == seen);
    BOOST_TEST(arguments.at(1) == seen);
    BOOST_TEST(models::to_line(entry).find(key + " b ") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(recorder_removes_incomplete_last_line_of_recording) {
  const auto file = journal_path{};
  BOOST_TEST(
      ask_model(record_model(answers(1), file.path).value(), question("r", 0, "a")).has_value());
  const auto whole = read_all(file.path);
  BOOST_TEST(((std::filesystem::status(file.path).permissions() & std::filesystem::perms::all) ==
              (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)));
  for (const auto size : {std::size_t{1}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    write_all(file.path, whole + whole.substr(0, size));
    auto note = std::string{};
    auto options = replayed_model_options{};
    options.path = file.path;
    options.note = &note;
    BOOST_TEST(make_replayed_model(options).has_value()); // replaying does not modify the file
    BOOST_TEST(note.find(":2: the last line is incomplete") != std::string::npos, note);
    const auto recorder = record_model(answers(1), file.path, &note);
    BOOST_REQUIRE(recorder.has_value());
    BOOST_TEST(note.find("the last line was incomplete (" + std::to_string(size)) !=
               std::string::npos);
    BOOST_TEST(read_all(file.path) == whole);
    BOOST_TEST(ask_model(*recorder, question("r", 1, "b")).has_value());
    BOOST_TEST(ask_model(replay(file.path), question("r", 1, "b")).has_value());
  }
  write_all(file.path, whole.substr(0, 20)); // only a part of the first line
  BOOST_TEST(record_model(answers(1), file.path).has_value());
  BOOST_TEST(read_all(file.path).empty());
}

BOOST_AUTO_TEST_CASE(damaged_line_of_recording_is_reported_by_number) {
  const auto file = journal_path{};
  BOOST_TEST(
      ask_model(record_model(answers(1), file.path).value(), question("r", 0, "a")).has_value());
  const auto whole = read_all(file.path);
  write_all(file.path, whole + "damage\n" + whole);
  auto options = replayed_model_options{};
  options.path = file.path;
  const auto refused = make_replayed_model(options);
  BOOST_REQUIRE(refused.has_error());
  BOOST_TEST(refused.error().text.find(file.path + ":2: ") == 0U, refused.error().text);
}

BOOST_AUTO_TEST_CASE(at_most_twenty_damaged_recording_lines_are_reported) {
  const auto file = journal_path{};
  auto options = replayed_model_options{};
  options.path = file.path;
  write_all(file.path, "x\n[]\n");
  const auto refused = make_replayed_model(options);
  BOOST_REQUIRE(refused.has_error());
  const auto& text = refused.error().text;
  BOOST_TEST(text.starts_with(file.path + ":1: "), text);
  BOOST_TEST(text.find('\n' + file.path + ":2: ") != std::string::npos, text);
  auto many = std::string{};
  for (auto i = 0; i < 1'000; ++i)
    many += "x\n";
  write_all(file.path, many);
  const auto bounded = make_replayed_model(options).error().text;
  BOOST_TEST(std::count(bounded.begin(), bounded.end(), '\n') == 19);
}

BOOST_AUTO_TEST_CASE(recording_without_answers_is_rejected) {
  const auto file = journal_path{};
  auto options = replayed_model_options{};
  options.path = file.path;
  for (const auto* text : {"", R"({"run":)"}) {
    write_all(file.path, text);
    const auto refused = make_replayed_model(options);
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().text == file.path + ": has no recorded answers");
  }
}

BOOST_AUTO_TEST_CASE(recorder_rejects_file_that_is_not_a_recording) {
  const auto file = journal_path{};
  for (const auto* content :
       {"mine\n", "mine", "{}\n", "{\"rows\":1}\n", "{\"id\":\"a\",\"turns\":[]}\n"}) {
    write_all(file.path, content);
    const auto refused = record_model(answers(1), file.path);
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().text.find(":1: is not a line of a recording") != std::string::npos);
    BOOST_TEST(read_all(file.path) == content);
  }
}

BOOST_AUTO_TEST_CASE(recording_file_is_created_by_first_answer) {
  const auto file = journal_path{};
  const auto first = record_model(answers(1), file.path).value();
  const auto second = record_model(answers(1), file.path).value();
  BOOST_TEST(!std::filesystem::exists(file.path));
  BOOST_TEST(ask_model(first, question("r", 0, "a")).has_value());
  BOOST_TEST(ask_model(second, question("s", 0, "a")).has_value());
  BOOST_TEST(ask_model(replay(file.path), question("r", 0, "a")).has_value());
  BOOST_TEST(ask_model(replay(file.path), question("s", 0, "a")).has_value());
}

BOOST_AUTO_TEST_CASE(recording_fails_if_unrelated_file_appears_meanwhile) {
  const auto file = journal_path{};
  const auto recorder = record_model(answers(2), file.path).value();
  std::ofstream{file.path} << "mine\n";
  for (auto turn = 0U; turn < 2; ++turn)
    BOOST_TEST((ask_model(recorder, question("r", turn, "a")).error().code ==
                make_error_code(errc::io_failed)));
  BOOST_TEST(std::filesystem::file_size(file.path) == 5U);
}

BOOST_AUTO_TEST_CASE(recording_at_uncreatable_path_is_rejected) {
  const auto file = journal_path{};
  std::ofstream{file.path} << '\n';
  for (const auto& path :
       {std::string{"/no/such/folder/a.jsonl"}, file.path + "/a.jsonl", std::string{"/no-folder/"}})
    BOOST_TEST((record_model(answers(1), path).error().code ==
                make_error_code(model_errc::bad_configuration)),
               path);
}

BOOST_AUTO_TEST_CASE(recording_on_full_disk_fails_with_io_error) {
  const auto recorder = record_model(answers(1), "/dev/full");
  BOOST_REQUIRE(recorder.has_value());
  const auto failed = ask_model(*recorder, question("r", 0, "a"));
  BOOST_REQUIRE(failed.has_error());
  BOOST_TEST((failed.error().code == errc::io_failed));
  BOOST_TEST(failed.error().text.find("No space left on device") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(recorded_stream_is_replayed_chunk_by_chunk) {
  const auto file = journal_path{};
  const auto inner =
      std::make_shared<const scripted_answers>(std::vector<result<message>>{ai_message("hello")});
  auto heard = std::vector<message_chunk>{};
  const auto hear = [&](const message_chunk& piece) { heard.push_back(piece); };
  BOOST_TEST(sync_wait(ask(record_model(inner, file.path).value(), "?", hear)).has_value());
  const auto first = std::exchange(heard, {});
  BOOST_TEST(sync_wait(ask(replay(file.path), "?", hear)).has_value());
  BOOST_TEST((heard == first));
  BOOST_TEST(heard.size() == 1U);
}

BOOST_AUTO_TEST_CASE(recorded_pieces_of_calls_are_read_unchanged) {
  auto entry = models::journal_entry{};
  auto piece = message_chunk{};
  piece.part.type = message_type::ai;
  for (const auto* args : {"", R"({"n":)", "1}"}) {
    piece.call_chunks = {{std::nullopt, args, std::nullopt, 0}};
    entry.chunks.emplace_back(1.0, piece);
  }
  entry.chunks.emplace_back(2.0, models::whole_chunk(ai_message("a", {{"c", "f", {}}})));
  entry.answer = ai_message("a");
  BOOST_TEST((models::read_line(models::to_line(entry)).value().chunks == entry.chunks));
}

BOOST_AUTO_TEST_CASE(replay_ignores_only_an_incomplete_last_line) {
  const auto file = journal_path{};
  auto entry = models::journal_entry{};
  entry.run = "r";
  entry.question = models::hash_of(question("r", 0, "a"));
  entry.answer = ai_message("whole");
  const auto line = models::to_line(entry);
  std::ofstream{file.path} << line << '\n' << line.substr(0, 20);
  BOOST_TEST(ask_model(replay(file.path), question("r", 0, "a"))->content == "whole");
  for (const auto* bad : {"{", "[]", "{}", R"({"run":"r","question":"q"})",
                          R"({"run":"r","question":"q","error":{"kind":"odd"}})"}) {
    std::ofstream{file.path} << line << '\n' << bad << "\n\n";
    auto options = replayed_model_options{};
    options.path = file.path;
    const auto refused = make_replayed_model(options);
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().text.find(file.path + ":2: ") == 0U, refused.error().text);
  }
  BOOST_TEST(record_model(std::make_shared<const scripted_answers>(
                              std::vector<result<message>>{ai_message("x")}),
                          "/no/such/folder/journal")
                 .has_error());
}

BOOST_AUTO_TEST_CASE(request_hash_ignores_message_ids_but_not_parameters) {
  auto one = question("r", 0, "a");
  auto same = question("r", 0, "a");
  auto with_id = human_message("a");
  with_id.id = "m1";
  same.messages.replace(0, std::make_shared<const message>(with_id));
  BOOST_TEST(models::hash_of(one) == models::hash_of(same));
  same.parameters["temperature"] = 1;
  BOOST_TEST(models::hash_of(one) != models::hash_of(same));
}

BOOST_AUTO_TEST_CASE(request_hash_depends_on_answer_mode) {
  auto by_schema = question("r", 0, "a");
  auto format = answer_schema{};
  format.schema["type"] = "object";
  by_schema.format = std::make_shared<const answer_schema>(format);
  format.mode = answer_mode::json_object;
  auto by_mode = question("r", 0, "a");
  by_mode.format = std::make_shared<const answer_schema>(format);
  BOOST_TEST(models::hash_of(by_schema) != models::hash_of(by_mode));
}
