#include "feroma/core/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr std::string_view kKeyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// A TOML basic string on one line, whatever the text holds.
std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\u{:04X}", code);
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

std::string place(const std::string& name, const toml::node& node) {
  return fmt::format("{}:{}", name, node.source().begin.line);
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& name, Settings& out);

void flatten_node(const toml::node& node, const std::string& key, const std::string& name, Settings& out) {
  const std::string where = place(name, node);
  if (const auto* table = node.as_table()) {
    flatten(*table, key + ".", name, out);
  } else if (const auto* array = node.as_array()) {
    require(array->is_array_of_tables(), ErrorCode::invalid_config, "{}: {} must be one value, got a list of {}", where,
            key, array->size());
    for (std::size_t i = 0; i < array->size(); ++i) {
      require(!array->get(i)->as_table()->empty(), ErrorCode::invalid_config, "{}: this [[{}]] table is empty",
              place(name, *array->get(i)), key);
      flatten(*array->get(i)->as_table(), fmt::format("{}.{}.", key, i), name, out);
    }
  } else if (const auto* flag = node.as_boolean()) {
    out[key] = {flag->get(), where};
  } else if (const auto* integer = node.as_integer()) {
    out[key] = {integer->get(), where};
  } else if (const auto* number = node.as_floating_point()) {
    out[key] = {number->get(), where};
  } else if (const auto* text = node.as_string()) {
    out[key] = {text->get(), where};
  } else {
    fail(ErrorCode::invalid_config, "{}: {} must be a boolean, number or string, got a date or time", where, key);
  }
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& name, Settings& out) {
  for (const auto& [key, node] : table) {
    // A quoted key could hold a dot and so pass for a key of another table.
    require(!key.empty() && key.str().find_first_not_of(kKeyLetters) == std::string_view::npos,
            ErrorCode::invalid_config, "{}: a key must be made of letters, digits, _ and -, got {}{}",
            place(name, node), prefix, toml_string(key.str()));
    flatten_node(node, prefix + std::string(key.str()), name, out);
  }
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Reads the right side of an override as TOML, and as a plain string where that fails.
SettingValue parse_value(const std::string& key, std::string_view text) {
  toml::table table;
  try {
    table = toml::parse(fmt::format("value = {}", text));
  } catch (const toml::parse_error&) {
    // `--set scenario.level=low` needs no quotes. What is still no TOML then could not be saved with the run either.
    try {
      table = toml::parse(fmt::format("value = {}", toml_string(text)));
    } catch (const toml::parse_error& error) {
      fail(ErrorCode::invalid_config, "--set {}: not a valid value: {}", key, error.description());
    }
  }
  Settings parsed;
  const toml::node* value = table.get("value");
  if (table.size() == 1 && value->is_value() && !value->is_date() && !value->is_time() && !value->is_date_time()) {
    flatten_node(*value, key, "--set", parsed);
  }
  require(parsed.size() == 1, ErrorCode::invalid_config, "--set {} must be one boolean, number or string, got {}", key,
          text);
  return parsed.at(key).value;
}

/// Where a dotted key is written: table "algorithm", index 0, name "profile.encoder".
struct TableKey {
  std::string table;
  int index = -1;  ///< -1: not in an array of tables
  std::string name;
};

TableKey table_and_key(const std::string& key) {
  const std::size_t first = key.find('.');
  if (first == std::string::npos) {
    return {"", -1, key};
  }
  TableKey place{key.substr(0, first), -1, key.substr(first + 1)};
  const char* end = key.data() + key.size();
  int index = 0;
  const auto [rest, error] = std::from_chars(key.data() + first + 1, end, index);
  if (error == std::errc() && rest != end && *rest == '.' && index >= 0) {
    place.index = index;
    place.name = std::string(rest + 1, end);
  }
  return place;
}

}  // namespace

Settings load_settings(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  require(in.good() && std::filesystem::is_regular_file(file), ErrorCode::invalid_config,
          "{}: cannot read the config file", file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return parse_settings(text.str(), file.string());
}

Settings parse_settings(std::string_view text, const std::string& name) {
  Settings settings;
  try {
    flatten(toml::parse(text, name), "", name, settings);
  } catch (const toml::parse_error& error) {
    // toml++ throws its own type; ours names the file and line.
    fail(ErrorCode::invalid_config, "{}:{}: not valid TOML: {}", name, error.source().begin.line, error.description());
  }
  return settings;
}

void apply_override(Settings& settings, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  require(equals != std::string_view::npos && equals > 0, ErrorCode::invalid_config,
          "--set must be key=value, got \"{}\"", assignment);
  const std::string key(trimmed(assignment.substr(0, equals)));
  settings[key] = {parse_value(key, trimmed(assignment.substr(equals + 1))), "--set"};
}

std::string to_string(const SettingValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    return *flag ? "true" : "false";
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return fmt::format("{}", *integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    const std::string text = fmt::format("{}", *number);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return toml_string(std::get<std::string>(value));
}

std::string to_toml(const Settings& settings) {
  // Ordered, so the same settings give the same text; the tenth table of an array comes after the ninth.
  std::map<std::pair<std::string, int>, std::string> tables;
  for (const auto& [key, setting] : settings) {
    const TableKey place = table_and_key(key);
    tables[{place.table, place.index}] += fmt::format("{} = {}\n", place.name, to_string(setting.value));
  }
  std::string text;
  for (const auto& [table, body] : tables) {
    const auto& [name, index] = table;
    if (!name.empty()) {
      text += text.empty() ? "" : "\n";
      text += index < 0 ? fmt::format("[{}]\n", name) : fmt::format("[[{}]]\n", name);
    }
    text += body;
  }
  return text;
}

}  // namespace feroma
