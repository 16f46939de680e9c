// SPDX-License-Identifier: Apache-2.0
// A model that takes its answers from a file of messages in the form of chat completions. The text
// of the file is kept in memory and searched with simdjson.
#include "base/padded_json.hpp"
#include "base/utf8.hpp"
#include "messages/openai_json.hpp"
#include "models/hash.hpp"
#include "models/line_faults.hpp"
#include "models/read_text_file.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/recorded_model.hpp>

#include <simdjson.h>

#include <algorithm>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// The position of a turn's JSON in the file.
struct recorded_turn {
  std::size_t begin = 0;
  std::size_t size = 0;
};

/// The turns of one row, and the line of the row for errors.
struct recorded_row {
  std::size_t first_turn = 0;
  std::size_t turns = 0;
  std::size_t line = 0;
};

/// The text of a file, followed by padding for the parser, and an index of it. A turn is parsed
/// each time it is requested: parsed messages would need several times the memory of the text.
struct recording {
  std::string path;
  std::string text;
  std::uint64_t content_hash = 0;
  std::vector<recorded_turn> turns;
  std::unordered_map<std::string, recorded_row> rows;
};

/// Parses one turn, which must be a message with the role assistant.
result<message> read_turn(const recording& from, recorded_turn turn, json_keys keys) {
  const auto rest = std::string_view{from.text}.substr(turn.begin);
  return from_openai(rest.substr(0, turn.size), rest.size() - turn.size, keys);
}

/// Builds the index line by line. Reports the first invalid lines of the file together.
class recording_reader {
public:
  explicit recording_reader(recording& into) : into_{into}, bytes_{into.text.size()} {
    into_.text.resize(bytes_ + json_padding, ' ');
  }

  std::optional<error> read() {
    auto line = std::size_t{0};
    for (auto begin = std::size_t{0}; begin < bytes_;) {
      const auto end = std::min(into_.text.find('\n', begin), bytes_);
      ++line;
      const auto text = std::string_view{into_.text}.substr(begin, end - begin);
      if (text.find_first_not_of(" \t\r") != std::string_view::npos)
        if (const auto why = read_line(begin, text, line); !why.empty()) {
          // A crash of the writer can leave an incomplete last line, which ends with neither a
          // newline nor a closing brace. It is ignored if the file has other rows.
          if (end < bytes_ || into_.rows.empty() || text.ends_with('}'))
            faults_.add(line, why);
          else
            torn_line = line; // its turns remain in the list, but no row refers to them
        }
      begin = end + 1;
    }
    auto fault = std::move(faults_).take();
    if (!fault && into_.rows.empty())
      fault = error{model_errc::bad_configuration, into_.path + ": has no recorded rows"};
    return fault;
  }

  std::size_t torn_line = 0; ///< number of the incomplete last line; 0 = none

private:
  std::string read_line(std::size_t begin, std::string_view text, std::size_t line) {
    try { // simdjson reports errors as exceptions
      auto document = parser_.iterate(text.data(), text.size(), into_.text.size() - begin);
      auto key = std::string{};
      auto row = recorded_row{into_.turns.size(), 0, line};
      auto has_turns = false;
      auto fields = document.get_object();
      if (fields.error() == simdjson::INCORRECT_TYPE)
        return "a row must be an object with \"custom_id\" and \"turns\"";
      for (auto field : fields) {
        const auto name = std::string{std::string_view{field.unescaped_key()}};
        if (name == "custom_id" || (name == "id" && key.empty())) {
          if (!read_key(field.value(), key))
            return '"' + name + "\" must be a string or an integer";
        } else if (name == "turns") {
          has_turns = true;
          auto turns = field.value().get_array();
          if (turns.error() == simdjson::INCORRECT_TYPE)
            return "\"turns\" must be a list";
          for (auto turn : turns)
            if (auto why = add_turn(simdjson::to_json_string(turn.value())); !why.empty())
              return "turn " + std::to_string(into_.turns.size() - row.first_turn - 1) + ": " + why;
        }
      }
      if (key.empty() || !has_turns)
        return "a row needs a \"custom_id\" (or \"id\") and \"turns\"";
      row.turns = into_.turns.size() - row.first_turn;
      const auto [place, is_new] = into_.rows.emplace(key, row);
      return is_new ? std::string{}
                    : "duplicate row \"" + key + "\", first in line " +
                          std::to_string(place->second.line);
    } catch (const simdjson::simdjson_error& e) {
      if (e.error() == simdjson::MEMALLOC)
        throw std::bad_alloc{};
      if (const auto fault = find_encoding_fault(text))
        return "the text " + fault->text;
      return std::string{"invalid JSON: "} + e.what();
    }
  }

  /// Reads a key as text. Keys may also be integers. Returns false if the value has another type.
  static bool read_key(simdjson::ondemand::value value, std::string& into) {
    auto text = std::string_view{};
    if (value.get_string().get(text) == simdjson::SUCCESS) {
      into = text;
      return true;
    }
    auto number = std::int64_t{0};
    if (value.get_int64().get(number) != simdjson::SUCCESS)
      return false;
    into = std::to_string(number);
    return true;
  }

  /// Adds a turn to the index. It is parsed now only to report errors, and again when it is
  /// requested.
  std::string add_turn(std::string_view text) {
    into_.turns.push_back({static_cast<std::size_t>(text.data() - into_.text.data()), text.size()});
    const auto checked = read_turn(into_, into_.turns.back(), json_keys::unchecked);
    return checked ? std::string{} : checked.error().text;
  }

  recording& into_;
  std::size_t bytes_;
  models::line_faults faults_{into_.path};
  simdjson::ondemand::parser parser_;
};

class recorded_model final : public chat_model {
public:
  recorded_model(recording r, std::chrono::milliseconds latency)
      : recording_{std::move(r)}, latency_{latency} {}

  [[nodiscard]] task<result<message>> complete(model_request request) const override {
    if (latency_.count() > 0) {
      auto rest = sleep_for{latency_};
      co_await rest;
    }
    co_return answer(request);
  }

  [[nodiscard]] std::string fingerprint() const override {
    return fmt::format("recorded {:016x}", recording_.content_hash);
  }

private:
  [[nodiscard]] result<message> answer(const model_request& request) const {
    const auto row = recording_.rows.find(request.run_key);
    if (row == recording_.rows.end())
      return error{model_errc::missing_turn,
                   recording_.path + " has no row \"" + request.run_key + '"'};
    if (request.turn >= row->second.turns)
      return error{model_errc::missing_turn,
                   fmt::format("{} has {} turn{} for row \"{}\", but turn {} (counted from 0) was "
                               "requested",
                               recording_.path, row->second.turns,
                               row->second.turns == 1 ? "" : "s", request.run_key, request.turn)};
    const auto turn = recording_.turns[row->second.first_turn + request.turn];
    return read_turn(recording_, turn, json_keys::unique); // add_turn() has checked it
  }

  recording recording_;
  std::chrono::milliseconds latency_;
};

} // namespace

result<chat_model_ptr> make_recorded_model(recorded_model_options options) {
  auto text = models::read_text_file(options.path, options.file_bytes_max);
  if (!text)
    return text.error();
  auto loaded = recording{};
  loaded.path = std::move(options.path);
  loaded.text = std::move(*text);
  loaded.content_hash = models::hash(loaded.text);
  auto reader = recording_reader{loaded};
  if (auto fault = reader.read())
    return std::move(*fault);
  if (reader.torn_line > 0 && options.note != nullptr)
    *options.note = fmt::format("{}:{}: the last line is incomplete and was ignored", loaded.path,
                                reader.torn_line);
  return std::make_shared<const recorded_model>(std::move(loaded), options.latency);
}

} // namespace superstep
