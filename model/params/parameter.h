// SPDX-License-Identifier: Apache-2.0
// Parameters, each declared once: name, type with unit, sentence. From the declaration come the
// file key, the command line option, the help text and the dump at the head of results.
#pragma once

#include "model/params/ini_file.h"
#include "model/params/value.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Program_options' headers cost more to compile than all of ours; only the sources need them.
namespace boost::program_options {
class options_description;
template <class Char>
class basic_parsed_options;
typedef basic_parsed_options<char> parsed_options;
}  // namespace boost::program_options

namespace cxsim::model {

class ParameterGroup;

/// What a group knows of a parameter without its type.
class ParameterBase {
  public:
    ParameterBase(const ParameterBase&) = delete;
    ParameterBase& operator=(const ParameterBase&) = delete;

    /// "section.key" inside its group.
    std::string_view name() const { return name_; }
    std::string_view description() const { return description_; }
    bool is_set() const { return set_; }
    Source source() const { return source_; }
    const std::string& note() const { return note_; }

    /// Type and unit in words: "TIME such as 430ns".
    virtual std::string type_name() const = 0;
    /// The value as it was written.
    const std::string& text() const { return text_; }

    /// Throws ConfigError when `value.text` is none of the type.
    void set(const SourcedText& value);

  protected:
    ParameterBase(ParameterGroup& group, std::string_view name, std::string_view description);
    virtual ~ParameterBase() = default;

  private:
    /// Throws ValueError.
    virtual void parse(std::string_view text) = 0;

    std::string_view name_;
    std::string_view description_;
    bool set_ = false;
    std::string text_;
    Source source_ = Source::guess;
    std::string note_;
};

/// A typed parameter, a member of a struct derived from ParameterGroup. There is no default: a
/// value that no file gives is a ConfigError of ParameterGroup::load.
template <class T>
class Parameter final : public ParameterBase {
  public:
    /// `name` is "section.key", `description` one sentence; both must be literals.
    Parameter(ParameterGroup& group, std::string_view name, std::string_view description)
        : ParameterBase(group, name, description) {}

    const T& operator()() const { return value_; }
    std::string type_name() const override { return ValueTraits<T>::type_name(); }

  private:
    void parse(std::string_view text) override { value_ = ValueTraits<T>::parse(text); }

    T value_{};
};

/// `key = value` from the command line, a scenario or Python; beats the file.
struct Override {
    std::string key;
    std::string value;
};

/// One row of the dump at the head of a result.
struct ParameterRow {
    std::string name;
    std::string value;
    Source source;
    std::string note;
};

/// The parameters of one file. Derived structs declare them as members.
class ParameterGroup {
  public:
    explicit ParameterGroup(std::string_view name) : name_(name) {}
    virtual ~ParameterGroup() = default;
    ParameterGroup(const ParameterGroup&) = delete;
    ParameterGroup& operator=(const ParameterGroup&) = delete;

    /// Prefix of its overrides: "timing" in "timing.command.query".
    std::string_view name() const { return name_; }
    std::span<ParameterBase* const> parameters() const { return parameters_; }

    /// Reads all parameters from `file`, then the overrides of this group (their keys start with
    /// "<name>."; others are ignored). Throws ConfigError for an unknown or missing key or a bad
    /// value; then the group must not be used.
    void load(const IniFile& file, std::span<const Override> overrides = {});

    /// Adds one Program_options entry "<name>.<section>.<key>" for each parameter.
    void describe(boost::program_options::options_description& options) const;

    /// Value and source word of each parameter, in the order of declaration.
    std::vector<ParameterRow> rows() const;

  protected:
    /// A key without a parameter: accept it by returning true. The group refuses by default.
    virtual bool accept_unknown(const IniEntry& entry);
    /// Rows for what accept_unknown took.
    virtual void append_rows(std::vector<ParameterRow>&) const {}

  private:
    friend class ParameterBase;
    ParameterBase* find(std::string_view key) const;
    [[noreturn]] void refuse_unknown(const Place& place, const std::string& key) const;

    std::string_view name_;
    std::vector<ParameterBase*> parameters_;
};

/// The overrides among parsed Program_options: every unregistered or registered "a.b.c=value".
std::vector<Override> overrides_from(const boost::program_options::parsed_options& parsed);

}  // namespace cxsim::model
